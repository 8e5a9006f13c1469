//! What a host command left when its supervisor was killed: found by the mark that every process of it carries in its
//! environment, and ended (design §3: what is attributable is killed).

use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::wire::CommandId;

/// Rounds until no process is found; one that forks without end makes more of them.
const ROUNDS: usize = 200;
/// Bytes of an environment that are read: the kernel's own limit on arguments and environment together.
const MOST: u64 = 6 * 1024 * 1024;

/// Ends every process of this user that carries the command's mark, and returns how many were found and whether none
/// is left. A process that has changed its environment is not found.
///
/// It reads `/proc`: call it where blocking is allowed.
pub fn end_orphans(command: CommandId) -> (usize, bool) {
    let mark = format!("CREEL_COMMAND_ID={command}").into_bytes();
    let mut ended = std::collections::BTreeSet::new();
    for _ in 0..ROUNDS {
        let found: Vec<i32> = processes().filter(|pid| carries(*pid, &mark)).collect();
        if found.is_empty() {
            return (ended.len(), true);
        }
        for pid in found {
            if kill(pid, &mark) {
                ended.insert(pid);
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    (ended.len(), false)
}

fn processes() -> impl Iterator<Item = i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether a process of this user carries the mark. One that has ended has no environment.
fn carries(pid: i32, mark: &[u8]) -> bool {
    let Ok(file) = std::fs::File::open(format!("/proc/{pid}/environ")) else { return false };
    let own = file.metadata().is_ok_and(|meta| meta.uid() == rustix::process::geteuid().as_raw());
    let mut environment = Vec::new();
    own && file.take(MOST).read_to_end(&mut environment).is_ok()
        && environment.split(|byte| *byte == 0).any(|entry| entry == mark)
}

/// Ends a process by a descriptor, and only if what it means carries the mark: the number may be another's by now.
fn kill(pid: i32, mark: &[u8]) -> bool {
    let handle = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let Some(handle) = handle.filter(|_| carries(pid, mark)) else { return false };
    pidfd_send_signal(&handle, Signal::KILL).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test needs processes of its own")]
    fn only_what_carries_the_mark_is_ended() {
        let command = crate::runner::fresh_id().unwrap();
        let start = |id: String| {
            let mut sleep = std::process::Command::new("sleep");
            sleep.arg("60").env("CREEL_COMMAND_ID", id).spawn().unwrap()
        };
        let (mut marked, mut other) = (start(command.to_string()), start("0".repeat(32)));
        let (ended, none_left) = end_orphans(command);
        assert_eq!((ended, none_left), (1, true));
        assert!(!marked.wait().unwrap().success());
        assert!(other.try_wait().unwrap().is_none(), "another command's process was ended");
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(end_orphans(command), (0, true));
    }
}
