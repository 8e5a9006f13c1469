//! `creel-init probe`: tries what must not work, as an ordinary command of the sandbox, and tells what came of it.
//!
//! Nothing of the image is needed. It decides nothing: the lines go to the host, which knows what is configured. What
//! an attempt makes, it takes away again. The attempts at PID 1 come late: should one of them succeed, the rest is told
//! already. The limit on processes comes last: it needs threads, and nothing may be forked beside threads.

mod files;
mod init_itself;
mod kernel;
mod limits;
mod network;
mod privileges;
mod search;

use std::io::Write as _;

use nix::errno::Errno;
use nix::sys::wait::{WaitStatus, waitpid};

use super::InitError;
use crate::sys::{self, Forked};
use crate::wire::probe::{self, Attempt, Outcome, Tried};

/// What the host asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted {
    /// Part of the names of files that are made.
    nonce: String,
    /// Directories and files to write to.
    write: Vec<String>,
    /// Paths of the host.
    host: Vec<String>,
    /// Mounts to look for files of the host below.
    search: Vec<String>,
    /// Device and inode of those files.
    denied: Vec<(u64, u64)>,
    /// Sockets of engines.
    sockets: Vec<String>,
    /// The limit on processes; `None` leaves it untried.
    pids: Option<usize>,
}

/// Gathers lines and prints each at once: a probe that is cut short has told what it found.
struct Teller {
    count: usize,
}

impl Teller {
    fn tell(&mut self, attempt: Attempt, subject: &str, outcome: Outcome, detail: &str) {
        let tried = Tried { attempt, subject: subject.to_owned(), outcome, detail: detail.to_owned() };
        self.count += 1;
        say(&tried.line());
    }

    fn result(&mut self, attempt: Attempt, subject: &str, result: nix::Result<()>) {
        self.tell(attempt, subject, outcome(result), "");
    }

    fn saw(&mut self, attempt: Attempt, subject: &str, detail: &str) {
        self.tell(attempt, subject, Outcome::Saw, detail);
    }
}

/// Runs the probe.
pub(super) fn run(args: &[String]) -> Result<(), InitError> {
    let wanted = parse(args).ok_or(InitError::Usage)?;
    let mut teller = Teller { count: 0 };
    files::run(&wanted, &mut teller);
    search::run(&wanted, &mut teller);
    kernel::run(&wanted, &mut teller);
    privileges::run(&wanted, &mut teller);
    network::run(&wanted, &mut teller);
    init_itself::run(&mut teller);
    limits::run(&wanted, &mut teller);
    say(&probe::end(teller.count));
    Ok(())
}

fn parse(args: &[String]) -> Option<Wanted> {
    let mut wanted = Wanted::default();
    let mut args = args.iter();
    while let Some(flag) = args.next() {
        let value = args.next()?.clone();
        match flag.as_str() {
            "--nonce" if value.bytes().all(|b| b.is_ascii_alphanumeric()) => wanted.nonce = value,
            "--write" => wanted.write.push(value),
            "--host" => wanted.host.push(value),
            "--search" => wanted.search.push(value),
            "--denied" => {
                let (dev, ino) = value.split_once(':')?;
                wanted.denied.push((dev.parse().ok()?, ino.parse().ok()?));
            }
            "--socket" => wanted.sockets.push(value),
            "--pids" => wanted.pids = Some(value.parse().ok()?),
            _ => return None,
        }
    }
    Some(wanted)
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Without a reader there is nobody to tell that there is no reader.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn outcome(result: nix::Result<()>) -> Outcome {
    match result {
        Ok(()) => Outcome::Worked,
        Err(Errno::ENOENT) => Outcome::Absent,
        Err(errno) => Outcome::Refused(errno as i32),
    }
}

/// An error of the standard library by its number.
fn errno(error: &std::io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(nix::libc::EIO))
}

/// Tries something in a copy of this process, which then ends: what it changes of itself goes with it.
fn in_child(attempt: impl FnOnce() -> nix::Result<()>) -> nix::Result<()> {
    match sys::fork()? {
        Forked::Child => {
            let code = attempt().map_or_else(|errno| errno as i32, |()| 0);
            sys::exit_now(code.clamp(0, 255))
        }
        Forked::Parent(pid) => loop {
            return match waitpid(pid, None) {
                Ok(WaitStatus::Exited(_, 0)) => Ok(()),
                Ok(WaitStatus::Exited(_, code)) => Err(Errno::from_raw(code)),
                // A filter that kills refuses too.
                Ok(WaitStatus::Signaled(..)) => Err(Errno::EPERM),
                Ok(_) | Err(Errno::EINTR) => continue,
                Err(errno) => Err(errno),
            };
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        let parse = |text: &str| parse(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let wanted = parse("--nonce ab1 --write / --write /etc --host /root --socket /s --pids 9").unwrap();
        assert_eq!((wanted.nonce.as_str(), wanted.write.len(), wanted.pids), ("ab1", 2, Some(9)));
        let wanted = parse("--search /w --denied 9:12 --denied 9:13").unwrap();
        assert_eq!((wanted.search.len(), &wanted.denied[..]), (1, &[(9, 12), (9, 13)][..]));
        for bad in ["--nonce ../x", "--write", "--pids x", "--fly 1", "--denied 9", "--denied x:1"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
