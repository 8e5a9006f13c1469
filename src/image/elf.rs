//! Tells whether a program needs a loader, and which. Pure.

/// Program header type of a loadable segment, which every program has.
const PT_LOAD: u32 = 1;
/// Program header type of the loader's path.
const PT_INTERP: u32 = 3;

/// True for a 64-bit little-endian ELF program without a loader. Everything else, damaged files included, is
/// false: such a file must not become the only program of an image.
pub(super) fn is_static(file: &[u8]) -> bool {
    segment_types(file).is_some_and(|types| types.contains(&PT_LOAD) && !types.contains(&PT_INTERP))
}

/// Where the program looks for its loader; `None` for a static program, and for what is no program.
pub(super) fn interpreter(file: &[u8]) -> Option<String> {
    let number = |at: usize| usize::try_from(u64::from_le_bytes(*file.get(at..)?.first_chunk()?)).ok();
    let segment = segments(file)?.into_iter().find(|(kind, _)| *kind == PT_INTERP)?.1;
    let (start, size) = (number(segment.checked_add(8)?)?, number(segment.checked_add(32)?)?);
    let text = file.get(start..start.checked_add(size)?)?;
    let text = std::str::from_utf8(text).ok()?.trim_end_matches('\0');
    (text.starts_with('/') && size < 4096).then(|| text.to_owned())
}

fn segment_types(file: &[u8]) -> Option<Vec<u32>> {
    Some(segments(file)?.into_iter().map(|(kind, _)| kind).collect())
}

/// Type and place of each program header; `None` where the file is no such ELF.
fn segments(file: &[u8]) -> Option<Vec<(u32, usize)>> {
    // Magic, class 2 (64 bits), data 1 (little endian).
    if !file.starts_with(&[0x7f, b'E', b'L', b'F', 2, 1]) {
        return None;
    }
    let table = usize::try_from(u64::from_le_bytes(*file.get(32..)?.first_chunk()?)).ok()?;
    let size = usize::from(u16::from_le_bytes(*file.get(54..)?.first_chunk()?));
    let count = usize::from(u16::from_le_bytes(*file.get(56..)?.first_chunk()?));
    let header = |index: usize| {
        let start = index.checked_mul(size)?.checked_add(table)?;
        Some((u32::from_le_bytes(*file.get(start..)?.first_chunk()?), start))
    };
    (0..count).map(header).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An ELF header followed by program headers of these types, and nothing else.
    pub(crate) fn program(types: &[u32]) -> Vec<u8> {
        let mut file = vec![0_u8; 64];
        file[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
        file[32..40].copy_from_slice(&64_u64.to_le_bytes());
        file[54..56].copy_from_slice(&56_u16.to_le_bytes());
        file[56..58].copy_from_slice(&u16::try_from(types.len()).unwrap().to_le_bytes());
        for kind in types {
            file.extend(kind.to_le_bytes());
            file.extend([0; 52]);
        }
        file
    }

    #[test]
    fn loaders_are_seen() {
        assert!(is_static(&program(&[6, PT_LOAD])));
        assert!(!is_static(&program(&[6, PT_INTERP, PT_LOAD])));
        assert!(!is_static(&program(&[])));
        let this = std::fs::read("/proc/self/exe").unwrap();
        assert!(!is_static(&this), "test binaries are linked dynamically");
        assert!(interpreter(&this).unwrap().contains("ld-"));
        assert_eq!(interpreter(&program(&[PT_LOAD])), None);
        assert_eq!(interpreter(&program(&[PT_INTERP])), None);
    }

    #[test]
    fn damaged_files_are_not_programs() {
        let whole = program(&[PT_LOAD]);
        for length in 0..68 {
            assert!(!is_static(&whole[..length]), "{length}");
        }
        let mut far = whole;
        far[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(!is_static(&far));
    }
}
