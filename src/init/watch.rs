//! Limits of one command that only looking at its processes can hold, because it has no control group of its own.

use std::time::{Duration, Instant};

use super::tree::Process;
use crate::sys::Usage;
use crate::wire::Cause;

/// Between two looks where memory or processes are limited: these can grow fast.
const OFTEN: Duration = Duration::from_millis(20);
/// Between two looks where only CPU time is.
const SELDOM: Duration = Duration::from_millis(100);

/// The limits of one command, and when to look next.
#[derive(Debug)]
pub(super) struct Watch {
    memory_bytes: u64,
    cpu_ms: u64,
    processes: u64,
    next: Instant,
}

/// What the command's processes use now.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Used {
    /// Private memory in bytes.
    pub(super) memory_bytes: u64,
    /// CPU time in milliseconds, of those that have ended too.
    pub(super) cpu_ms: u64,
    /// Living processes.
    pub(super) processes: u64,
}

impl Watch {
    /// `None` where nothing is limited. The limits are bytes, milliseconds and a number; 0 is none.
    pub(super) fn new([memory_bytes, cpu_ms, processes]: [u64; 3], now: Instant) -> Option<Self> {
        let limited = memory_bytes > 0 || cpu_ms > 0 || processes > 0;
        limited.then_some(Self { memory_bytes, cpu_ms, processes, next: now })
    }

    /// When to look.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Takes a look in, and tells which limit it shows to be passed.
    pub(super) fn look(&mut self, used: Used, now: Instant) -> Option<Cause> {
        self.next = now + if self.memory_bytes > 0 || self.processes > 0 { OFTEN } else { SELDOM };
        let over = |limit: u64, used: u64| limit > 0 && used > limit;
        if over(self.processes, used.processes) {
            Some(Cause::ProcessLimit)
        } else if over(self.memory_bytes, used.memory_bytes) {
            Some(Cause::MemoryLimit)
        } else if over(self.cpu_ms, used.cpu_ms) {
            Some(Cause::CpuLimit)
        } else {
            None
        }
    }
}

impl Used {
    /// Adds up what the kernel says of `processes`, and what was waited for already.
    pub(super) fn of(processes: &[Process], waited_for: Usage) -> Self {
        let ended = waited_for.user.saturating_add(waited_for.system).as_millis();
        let mut used = Self { cpu_ms: u64::try_from(ended).unwrap_or(u64::MAX), ..Self::default() };
        for process in processes {
            used.cpu_ms = used.cpu_ms.saturating_add(cpu_ms(process.pid).unwrap_or(0));
            if !process.zombie {
                used.processes += 1;
                used.memory_bytes = used.memory_bytes.saturating_add(private_bytes(process.pid).unwrap_or(0));
            }
        }
        used
    }
}

/// CPU time of a process and of the children that it waited for.
fn cpu_ms(pid: i32) -> Option<u64> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let ticks: u64 =
        super::tree::fields(&stat)?.skip(11).take(4).filter_map(|word| word.parse::<u64>().ok()).sum();
    // The kernel counts in hundredths of a second here, whatever its own clock is.
    Some(ticks * 10)
}

/// Resident memory that a process shares with nobody: what is mapped from files or shared counts for no one.
fn private_bytes(pid: i32) -> Option<u64> {
    let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let mut pages = statm.split_ascii_whitespace().skip(1).map_while(|word| word.parse::<u64>().ok());
    let (resident, shared) = (pages.next()?, pages.next()?);
    let page = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok()??;
    Some(resident.saturating_sub(shared) * u64::try_from(page).ok()?)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_first_limit_that_is_passed_is_told() {
        let now = Instant::now();
        assert!(Watch::new([0; 3], now).is_none());
        let mut watch = Watch::new([100, 10, 2], now).unwrap();
        let used = |memory_bytes, cpu_ms, processes| Used { memory_bytes, cpu_ms, processes };
        assert_eq!(watch.look(used(100, 10, 2), now), None);
        assert_eq!(watch.next(), now + OFTEN);
        assert_eq!(watch.look(used(101, 11, 2), now), Some(Cause::MemoryLimit));
        assert_eq!(watch.look(used(0, 11, 3), now), Some(Cause::ProcessLimit));
        let mut watch = Watch::new([0, 10, 0], now).unwrap();
        assert_eq!(watch.look(used(u64::MAX, 11, 9), now), Some(Cause::CpuLimit));
        assert_eq!(watch.next(), now + SELDOM);
    }

    #[test]
    fn this_process_uses_something() {
        let own = Process { pid: nix::unistd::getpid().as_raw(), parent: 0, session: 0, zombie: false };
        let used = Used::of(&[own], Usage { user: Duration::from_secs(1), ..Usage::default() });
        assert!(used.memory_bytes > 100_000 && used.cpu_ms >= 1000, "{used:?}");
        assert_eq!(used.processes, 1);
    }
}
