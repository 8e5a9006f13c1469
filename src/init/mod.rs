//! PID 1 of a sandbox, the supervisor beside the gateway, and the supervisor of each command. No async runtime, one
//! thread.
//!
//! PID 1 is the only process that the workload cannot kill, so everything that must survive a hostile command is
//! here: the table, the pipes, the rings, the timers. What has to sit above the command's own processes — a
//! subreaper that keeps double forks below itself — is a forked copy of PID 1, one for each command.
//!
//! It never: decides what may run, listens anywhere, reads a file that the workload can write. It holds one secret
//! at most, see `nonce`.

mod beside;
mod cgroup;
mod command;
mod control;
mod daemon;
mod facts;
mod group;
mod host;
mod meet;
mod nonce;
mod notice;
mod packet;
mod pins;
mod probe;
mod reap;
mod request;
mod ring;
mod role;
mod spares;
mod stream;
mod supervisor;
mod tree;
mod watch;

pub use facts::{LIMIT_FILES, interface_names};

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// What creel-init was called for.
#[derive(Debug, PartialEq, Eq)]
enum Call {
    /// `pid1 --meet DIR [--idle SECONDS] [--nonce stdin]`: be PID 1.
    Pid1 {
        /// The rendezvous directory.
        meet: PathBuf,
        /// End after this long without a command and without a host; zero is never.
        idle: Duration,
        /// Read a nonce from standard input before anything else.
        nonce: bool,
    },
    /// `host --meet DIR [--expendable yes]`: be the supervisor of one command beside the gateway, see [`beside`].
    Host {
        /// The rendezvous directory.
        meet: PathBuf,
        /// The command goes first when memory is short.
        expendable: bool,
    },
    /// `probe …`: try what must not work, see [`probe`].
    Probe(Vec<String>),
    /// `control …`: the other side of a measurement, see [`control`].
    Control(Vec<String>),
}

/// Why creel-init gives up.
#[derive(Debug, thiserror::Error)]
enum InitError {
    /// The arguments make no sense.
    #[error(
        "usage: creel-init pid1 --meet DIR [--idle SECONDS] [--nonce stdin] | creel-init host --meet DIR \
         [--expendable yes] | creel-init probe … | creel-init control spawn|pipe …"
    )]
    Usage,
    /// A system call failed.
    #[error("{0}: {1}")]
    System(&'static str, nix::errno::Errno),
    /// Nobody told the nonce.
    #[error("no nonce on standard input: {0}")]
    Nonce(&'static str),
    /// The supervisor beside the gateway has not come up.
    #[error("the supervisor did not start")]
    NotReady,
    /// The supervisor cannot be made known.
    #[error("no badge in the rendezvous directory: {0}")]
    Badge(String),
}

/// Entry point of `creel-init`.
pub fn main() -> ExitCode {
    match parse(std::env::args().skip(1)).and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The engine keeps this as the container's log, and creel shows its end when a start fails.
            let _ = writeln!(std::io::stderr(), "creel-init: {error}");
            ExitCode::from(125)
        }
    }
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Call, InitError> {
    match args.next().as_deref() {
        Some("pid1") => {
            let (mut meet, mut idle, mut nonce) = (None, Duration::ZERO, false);
            while let Some(flag) = args.next() {
                let value = args.next().ok_or(InitError::Usage)?;
                match flag.as_str() {
                    "--meet" => meet = Some(PathBuf::from(value)),
                    "--idle" => idle = Duration::from_secs(value.parse().map_err(|_| InitError::Usage)?),
                    "--nonce" if value == "stdin" => nonce = true,
                    _ => return Err(InitError::Usage),
                }
            }
            Ok(Call::Pid1 { meet: meet.ok_or(InitError::Usage)?, idle, nonce })
        }
        Some("host") => {
            let (mut meet, mut expendable) = (None, false);
            while let Some(flag) = args.next() {
                let value = args.next().ok_or(InitError::Usage)?;
                match flag.as_str() {
                    "--meet" => meet = Some(PathBuf::from(value)),
                    "--expendable" if value == "yes" => expendable = true,
                    _ => return Err(InitError::Usage),
                }
            }
            Ok(Call::Host { meet: meet.ok_or(InitError::Usage)?, expendable })
        }
        Some("probe") => Ok(Call::Probe(args.collect())),
        Some("control") => Ok(Call::Control(args.collect())),
        _ => Err(InitError::Usage),
    }
}

fn run(call: Call) -> Result<(), InitError> {
    match call {
        Call::Pid1 { meet, idle, nonce } => pid1(&meet, idle, nonce),
        Call::Host { meet, expendable } => beside::run(&meet, expendable),
        Call::Probe(args) => probe::run(&args),
        Call::Control(args) => control::run(&args),
    }
}

fn pid1(meet: &Path, idle: Duration, nonce: bool) -> Result<(), InitError> {
    crate::sys::default_signals();
    // Same-uid processes of the workload must not trace or read PID 1 and its copies.
    nix::sys::prctl::set_dumpable(false).map_err(|errno| InitError::System("prctl", errno))?;
    let secret = if nonce { Some(nonce::Secret::from_stdin()?) } else { None };
    let mut daemon = daemon::Daemon::new(meet, role::Role::Pid1(idle))
        .map_err(|errno| InitError::System("start", errno))?;
    daemon.secret = secret;
    daemon.run().map_err(|errno| InitError::System("event loop", errno))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        let parse = |text: &str| parse(text.split_whitespace().map(str::to_owned));
        let call = parse("pid1 --meet /m --idle 9").unwrap();
        assert_eq!(call, Call::Pid1 { meet: "/m".into(), idle: Duration::from_secs(9), nonce: false });
        let call = parse("pid1 --meet /m --nonce stdin").unwrap();
        assert_eq!(call, Call::Pid1 { meet: "/m".into(), idle: Duration::ZERO, nonce: true });
        let call = parse("host --meet /m --expendable yes").unwrap();
        assert_eq!(call, Call::Host { meet: "/m".into(), expendable: true });
        for wrong in [
            "",
            "host",
            "host --meet /m --idle 3",
            "pid1",
            "pid1 --meet",
            "pid1 --meet /m --idle x",
            "pid1 --meet /m --nonce /f",
            "serve",
        ] {
            assert!(matches!(parse(wrong), Err(InitError::Usage)), "{wrong}");
        }
    }
}
