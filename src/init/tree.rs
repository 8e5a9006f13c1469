//! Which processes belong to a command, read from `/proc`.

use std::ffi::CString;

use nix::unistd::Pid;

/// One line of the process table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    /// Its id.
    pub(super) pid: i32,
    /// Its parent.
    pub(super) parent: i32,
    /// Its session.
    pub(super) session: i32,
    /// Ended, not yet waited for.
    pub(super) zombie: bool,
}

/// Every process that `/proc` shows. Processes that end while it reads are left out.
pub(super) fn all() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(|pid| parse(pid, &std::fs::read(format!("/proc/{pid}/stat")).ok()?))
        .collect()
}

/// The fields after the last `)`: the name before it may hold anything.
fn parse(pid: i32, stat: &[u8]) -> Option<Process> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let text = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    Some(Process { pid, parent, session, zombie: matches!(state, "Z" | "X" | "x") })
}

/// The living processes below `root`, parents before children.
pub(super) fn descendants(table: &[Process], root: Pid) -> Vec<Pid> {
    below(table, vec![root.as_raw()])
}

/// The living processes below any of `roots`, the roots themselves left out.
fn below(table: &[Process], roots: Vec<i32>) -> Vec<Pid> {
    let (mut found, mut open) = (Vec::new(), roots);
    while let Some(parent) = open.pop() {
        for process in table.iter().filter(|process| process.parent == parent) {
            open.push(process.pid);
            if !process.zombie {
                found.push(Pid::from_raw(process.pid));
            }
        }
    }
    found
}

/// What is attributable to a command whose supervisor is gone: its session, what carries its marker in the
/// environment, what was handed to PID 1 and is nobody's, and everything below these.
pub(super) fn attributable(
    table: &[Process],
    supervisor: Pid,
    marker: &CString,
    supervisors: &[Pid],
) -> Vec<Pid> {
    let ours = |process: &&Process| {
        process.pid != 1
            && process.pid != supervisor.as_raw()
            && !supervisors.contains(&Pid::from_raw(process.pid))
            && (process.session == supervisor.as_raw()
                || process.parent == 1
                || has_marker(process.pid, marker))
    };
    let roots: Vec<i32> = table.iter().filter(ours).map(|process| process.pid).collect();
    let living = |pid: &i32| table.iter().any(|process| process.pid == *pid && !process.zombie);
    let mut found: Vec<Pid> = roots.iter().copied().filter(living).map(Pid::from_raw).collect();
    found.extend(below(table, roots));
    found.sort_unstable();
    found.dedup();
    found
}

fn has_marker(pid: i32, marker: &CString) -> bool {
    let Ok(environ) = std::fs::read(format!("/proc/{pid}/environ")) else { return false };
    environ.split(|byte| *byte == 0).any(|entry| entry == marker.as_bytes())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn process(pid: i32, parent: i32, session: i32) -> Process {
        Process { pid, parent, session, zombie: false }
    }

    #[test]
    fn names_may_hold_anything() {
        let stat = b"42 (a) R 1 (b)) S 7 40 41 0 -1 4194560";
        assert_eq!(parse(42, stat), Some(process(42, 7, 41)));
        assert_eq!(parse(42, b"42 (x"), None);
    }

    #[test]
    fn descendants_pass_through_zombies() {
        let mut table = vec![process(2, 1, 2), process(3, 2, 2), process(4, 3, 4), process(9, 1, 9)];
        table[1].zombie = true;
        assert_eq!(descendants(&table, Pid::from_raw(2)), vec![Pid::from_raw(4)]);
    }

    #[test]
    fn orphans_of_a_lost_supervisor_are_found() {
        let table =
            [process(1, 0, 1), process(5, 1, 5), process(6, 5, 5), process(7, 1, 2), process(8, 7, 8)];
        let marker = CString::new("CREEL_COMMAND_ID=none").unwrap();
        let lost = attributable(&table, Pid::from_raw(2), &marker, &[Pid::from_raw(5)]);
        assert_eq!(lost, vec![Pid::from_raw(7), Pid::from_raw(8)]);
    }
}
