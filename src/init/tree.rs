//! Which processes belong to a command, read from `/proc`.

use std::collections::BTreeSet;
use std::ffi::CString;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid};

/// Steps up from a process before it is given up that its ancestors are found.
const MAX_DEPTH: usize = 100_000;

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

/// Which processes may be looked at and signalled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The whole pid namespace: it is the sandbox's own.
    Namespace,
    /// What descends from this process, and nothing else: the rest of the machine is other people's.
    Below,
}

impl Reach {
    /// The processes in reach; of those beside this process's own descendants only where that is allowed.
    pub(super) fn table(self) -> Vec<Process> {
        match self {
            Self::Namespace => all(),
            Self::Below => below_in_proc(getpid().as_raw()),
        }
    }

    /// This process's descendants, the ended ones that nobody has waited for included.
    pub(super) fn family(self) -> Vec<Process> {
        let table = self.table();
        let own = all_below(&table, vec![getpid().as_raw()]);
        table.into_iter().filter(|process| own.contains(&process.pid)).collect()
    }

    /// This process's living descendants, parents before children.
    pub(super) fn living(self) -> Vec<Pid> {
        descendants(&self.table(), getpid())
    }

    /// Signals a process that [`Self::table`] has shown. One that has ended meanwhile is no error.
    pub(super) fn signal(self, pid: Pid, signal: Signal) {
        let _ = match self {
            Self::Namespace => kill(pid, signal).map(|()| true),
            Self::Below => crate::sys::signal_if(pid, signal, || is_below(pid, getpid())),
        };
    }
}

/// Every process that `/proc` shows. Processes that end while it reads are left out.
pub(super) fn all() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(read)
        .collect()
}

/// Everything below `root`, found by walking down from it. The kernel's lists of children may miss some while others
/// end, so one look that finds nothing proves nothing; whoever kills looks until the kernel says that no child is left.
fn below_in_proc(root: i32) -> Vec<Process> {
    if !std::path::Path::new(&format!("/proc/{root}/task/{root}/children")).exists() {
        // A kernel without these lists shows parents only.
        return all();
    }
    let (mut found, mut seen, mut open) = (Vec::new(), BTreeSet::new(), vec![root]);
    while let Some(parent) = open.pop() {
        for pid in children(parent).into_iter().filter(|pid| seen.insert(*pid)) {
            // The number may be another's by now.
            if let Some(process) = read(pid).filter(|process| process.parent == parent) {
                found.push(process);
                open.push(pid);
            }
        }
    }
    found
}

/// Children of every thread of a process.
fn children(pid: i32) -> Vec<i32> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<_>>()
        })
        .collect()
}

/// Whether a process, ended or not, descends from `root`.
pub(super) fn is_below(pid: Pid, root: Pid) -> bool {
    let mut at = pid.as_raw();
    for _ in 0..MAX_DEPTH {
        match read(at) {
            Some(process) if process.parent == root.as_raw() => return true,
            Some(process) if process.parent > 1 => at = process.parent,
            _ => return false,
        }
    }
    false
}

/// When a process was started, in the kernel's ticks since the machine's start.
pub(super) fn started(pid: i32) -> Option<u64> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    fields(&stat)?.nth(19)?.parse().ok()
}

fn read(pid: i32) -> Option<Process> {
    parse(pid, &std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The fields after the last `)`: the name before it may hold anything.
pub(super) fn fields(stat: &[u8]) -> Option<std::str::SplitAsciiWhitespace<'_>> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    Some(std::str::from_utf8(stat.get(end + 1..)?).ok()?.split_ascii_whitespace())
}

fn parse(pid: i32, stat: &[u8]) -> Option<Process> {
    let mut fields = fields(stat)?;
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
    let lives = |pid: &i32| table.iter().any(|process| process.pid == *pid && !process.zombie);
    all_below(table, roots).into_iter().filter(lives).map(Pid::from_raw).collect()
}

/// The processes below any of `roots`, ended or not, the roots themselves left out.
fn all_below(table: &[Process], roots: Vec<i32>) -> Vec<i32> {
    let (mut found, mut open) = (Vec::new(), roots);
    while let Some(parent) = open.pop() {
        for process in table.iter().filter(|process| process.parent == parent) {
            open.push(process.pid);
            found.push(process.pid);
        }
    }
    found
}

/// What is attributable to a command whose supervisor is gone: its session, what carries its marker in the
/// environment, what was handed to `own` (this process) and is nobody's, and everything below these.
pub(super) fn attributable(
    table: &[Process],
    own: i32,
    supervisor: Pid,
    marker: &CString,
    supervisors: &[Pid],
) -> Vec<Pid> {
    let ours = |process: &&Process| {
        process.pid != own
            && process.pid != supervisor.as_raw()
            && !supervisors.contains(&Pid::from_raw(process.pid))
            && (process.session == supervisor.as_raw()
                || process.parent == own
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
        let lost = attributable(&table, 1, Pid::from_raw(2), &marker, &[Pid::from_raw(5)]);
        assert_eq!(lost, vec![Pid::from_raw(7), Pid::from_raw(8)]);
    }

    /// By the kernel's lists and by the whole table, of a child of this test and of the test's own parent.
    #[test]
    #[cfg(feature = "host")]
    fn descendants_are_told_from_the_rest() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _context = runtime.enter();
        let child = crate::host_tool::host_tool("sleep").arg("1000").spawn().unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap());
        assert!(Reach::Below.living().contains(&pid));
        assert!(descendants(&all(), getpid()).contains(&pid));
        assert!(is_below(pid, getpid()) && !is_below(nix::unistd::getppid(), getpid()));
        assert!(started(pid.as_raw()).unwrap() >= started(getpid().as_raw()).unwrap());
        assert_eq!(crate::sys::signal_if(pid, Signal::SIGKILL, || false), Ok(false));
        assert_eq!(crate::sys::signal_if(pid, Signal::SIGKILL, || is_below(pid, getpid())), Ok(true));
    }
}
