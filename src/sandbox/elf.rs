//! Just enough ELF to tell a static binary of this machine from anything else. Pure.

const MAGIC: &[u8] = b"\x7fELF";
const CLASS_64: u8 = 2;
const LITTLE: u8 = 1;
const PT_INTERP: u32 = 3;

/// Why these bytes cannot be PID 1 in any image on this machine; `None` when they can.
pub(super) fn objection(bytes: &[u8], arch: &str) -> Option<String> {
    if bytes.get(..4) != Some(MAGIC) {
        return Some("it is not an ELF binary".to_owned());
    }
    let ident = |at: usize| bytes.get(at).copied();
    if ident(4) != Some(CLASS_64) || ident(5) != Some(LITTLE) {
        return Some("it is not a 64-bit little-endian binary".to_owned());
    }
    let Some(machine) = number::<2>(bytes, 18) else {
        return Some("it is cut off".to_owned());
    };
    if Some(machine) != machine_of(arch) {
        return Some(format!("it is for another processor than {arch} (ELF machine {machine})"));
    }
    match has_interpreter(bytes) {
        Some(false) => None,
        Some(true) => Some("it is linked dynamically: the image would have to hold its libraries".to_owned()),
        None => Some("its program headers are cut off".to_owned()),
    }
}

/// `e_machine` by Rust's name of the architecture.
fn machine_of(arch: &str) -> Option<u64> {
    match arch {
        "x86_64" => Some(62),
        "aarch64" => Some(183),
        "riscv64" => Some(243),
        "loongarch64" => Some(258),
        "powerpc64" => Some(21),
        _ => None,
    }
}

/// `None` where the header table does not lie within the bytes.
fn has_interpreter(bytes: &[u8]) -> Option<bool> {
    let table = number::<8>(bytes, 32)?;
    let size = number::<2>(bytes, 54)?;
    let count = number::<2>(bytes, 56)?;
    for index in 0..count {
        let at = usize::try_from(table.checked_add(index.checked_mul(size)?)?).ok()?;
        if number::<4>(bytes, at)? == u64::from(PT_INTERP) {
            return Some(true);
        }
    }
    Some(false)
}

/// A little-endian number of `N` ≤ 8 bytes.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let part = bytes.get(at..at.checked_add(N)?)?;
    Some(part.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header with program headers of the given types.
    fn binary(machine: u16, types: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0_u8; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
        bytes[54..56].copy_from_slice(&56_u16.to_le_bytes());
        bytes[56..58].copy_from_slice(&u16::try_from(types.len()).unwrap().to_le_bytes());
        for kind in types {
            let mut header = [0_u8; 56];
            header[..4].copy_from_slice(&kind.to_le_bytes());
            bytes.extend(header);
        }
        bytes
    }

    #[test]
    fn static_binaries_of_this_machine_only() {
        assert_eq!(objection(&binary(62, &[1, 2, 1]), "x86_64"), None);
        let refused = [
            (b"#!/bin/sh\n".to_vec(), "not an ELF"),
            (binary(62, &[1, 3, 1]), "dynamically"),
            (binary(183, &[1]), "another processor"),
            (binary(62, &[1, 3])[..100].to_vec(), "cut off"),
            (binary(62, &[])[..17].to_vec(), "cut off"),
        ];
        for (bytes, reason) in refused {
            let objection = objection(&bytes, "x86_64").unwrap();
            assert!(objection.contains(reason), "{objection}");
        }
        let mut narrow = binary(62, &[]);
        narrow[4] = 1;
        assert!(objection(&narrow, "x86_64").is_some());
    }

    #[test]
    fn never_panics_on_any_header() {
        let whole = binary(62, &[1, 3]);
        for at in 0..64 {
            let mut bytes = whole.clone();
            bytes[at] = 0xff;
            let _ = objection(&bytes, "x86_64");
            let _ = objection(&whole[..at], "x86_64");
        }
    }

    #[test]
    fn this_test_is_no_init() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(objection(&own, std::env::consts::ARCH).unwrap().contains("dynamically"));
    }
}
