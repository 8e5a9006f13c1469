//! Whether the process of a badge still lives.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::wire::{Badge, parse_id};

/// What is known of a badge's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It lives, or nothing proves that it does not.
    Lives,
    /// It has ended.
    Ended,
    /// Its number means nothing here.
    Elsewhere,
}

/// The badge in `dir`; `None` where there is none.
pub(super) fn read(dir: &Path) -> std::io::Result<Option<Badge>> {
    let text = match std::fs::read_to_string(dir.join(Badge::FILE)) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // It is written whole or not at all.
    Badge::parse(&text).map(Some).ok_or_else(|| std::io::Error::other("it is no badge of a supervisor"))
}

/// Looks for the process.
pub(super) fn standing(badge: &Badge) -> Standing {
    let machine = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    if parse_id(machine.trim()).is_some_and(|machine| machine != badge.machine) {
        return Standing::Ended;
    }
    if std::fs::metadata("/proc/self/ns/pid").is_ok_and(|meta| meta.ino() != badge.space) {
        return Standing::Elsewhere;
    }
    let stat = std::fs::read(format!("/proc/{}/stat", badge.pid)).ok();
    match stat.as_deref().and_then(fields) {
        Some((state, started)) => {
            let same = started == badge.started && !matches!(state, b'Z' | b'X' | b'x');
            if same { Standing::Lives } else { Standing::Ended }
        }
        // Nothing there, or a `/proc` that hides it (`hidepid`).
        None => match nix::sys::signal::kill(nix::unistd::Pid::from_raw(badge.pid), None) {
            Err(nix::errno::Errno::ESRCH) => Standing::Ended,
            _ => Standing::Lives,
        },
    }
}

/// State and start time.
fn fields(stat: &[u8]) -> Option<(u8, u64)> {
    let mut fields = behind_name(stat)?;
    let state = fields.next()?.bytes().next()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}

/// The fields of a process's `stat` behind its name, which may hold anything: state, parent, ….
pub(super) fn behind_name(stat: &[u8]) -> Option<std::str::SplitAsciiWhitespace<'_>> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    Some(std::str::from_utf8(stat.get(end + 1..)?).ok()?.split_ascii_whitespace())
}

/// Removes what a supervisor that has ended left in its directory, and the directory if it is empty then.
pub(super) fn clean_up(dir: &Path, badge: &Badge) {
    if !matches!(read(dir), Ok(Some(there)) if there == *badge) {
        return;
    }
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let draft = name.starts_with(".h-") || name.starts_with(&format!(".{}-", Badge::FILE));
        if draft || (name.starts_with("h-") && name.ends_with(".sock")) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
    let _ = std::fs::remove_file(dir.join(Badge::FILE));
    let _ = std::fs::remove_dir(dir);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_start_is_another_process() {
        let pid = i32::try_from(std::process::id()).unwrap();
        let (_, started) = fields(&std::fs::read("/proc/self/stat").unwrap()).unwrap();
        let machine = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let own = Badge {
            pid,
            started,
            space: std::fs::metadata("/proc/self/ns/pid").unwrap().ino(),
            machine: parse_id(machine.trim()).unwrap(),
            boot: [1; 16],
        };
        assert_eq!(standing(&own), Standing::Lives);
        for other in [
            Badge { started: started + 1, ..own },
            Badge { machine: [0; 16], ..own },
            Badge { pid: i32::MAX, ..own },
        ] {
            assert_eq!(standing(&other), Standing::Ended, "{other:?}");
        }
        assert_eq!(standing(&Badge { space: 1, ..own }), Standing::Elsewhere);
    }

    #[test]
    fn only_what_is_left_of_a_supervisor_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("d");
        std::fs::create_dir(&path).unwrap();
        let badge = Badge { pid: 9, started: 1, space: 2, machine: [3; 16], boot: [4; 16] };
        for name in ["h-00.sock", ".h-00", ".supervisor-9", "spool"] {
            std::fs::write(path.join(name), "").unwrap();
        }
        std::fs::write(path.join(Badge::FILE), badge.line()).unwrap();
        clean_up(&path, &Badge { pid: 8, ..badge });
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 5);
        clean_up(&path, &badge);
        let left: Vec<_> =
            std::fs::read_dir(&path).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["spool"]);
    }
}
