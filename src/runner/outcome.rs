//! How a command ended, as data: cause of death, code, usage, and what is known of its processes.

use std::time::Duration;

use crate::error;
use crate::wire::{Cause, Exit, Held, Means};

/// Which road a command took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// The sandbox's own init.
    Init,
    /// The engine's exec API.
    Engine,
}

impl Transport {
    /// What this road can do.
    pub fn capabilities(self) -> Capabilities {
        let init = self == Self::Init;
        Capabilities {
            proven_kill: init,
            usage: init,
            drain: init,
            restart: init,
            silence_limit: true,
            start_failure: init,
            cause_of_death: init,
        }
    }
}

/// What a transport can do; part of every result and of `explain`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// A kill reports that nothing survived, by the kernel's word.
    pub proven_kill: bool,
    /// CPU time and peak memory of each command.
    pub usage: bool,
    /// The result does not wait for background processes that hold the output.
    pub drain: bool,
    /// Commands outlive creel and can be taken over.
    pub restart: bool,
    /// A limit on time without output.
    pub silence_limit: bool,
    /// A missing directory, shell or program is told apart by the kernel's error.
    pub start_failure: bool,
    /// Memory and pids limits are recognised as the cause.
    pub cause_of_death: bool,
}

/// What ended a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Death {
    /// It exited by itself.
    Exit,
    /// A signal that creel did not send.
    Signal,
    /// Its time limit.
    Timeout,
    /// It printed nothing for too long.
    NoOutputTimeout,
    /// The memory limit.
    Memory,
    /// The pids limit.
    Pids,
    /// Whoever asked for it cancelled it.
    Cancelled,
    /// Its owner was gone for longer than its lease.
    OwnerLost,
    /// Its supervisor was killed from inside the sandbox.
    SupervisorLost,
    /// The sandbox was stopped under it.
    SandboxStopped,
    /// The engine or the container was lost under it.
    EngineLost,
    /// It never ran.
    NotStarted,
    /// The call's own limit on output.
    OutputLimit,
    /// The call's own limit on CPU time.
    CpuLimit,
    /// The call's own limit on memory.
    MemoryLimit,
    /// The call's own limit on processes.
    ProcessLimit,
}

/// How sure a cause is. Counters of the kernel are container-wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// Observed.
    Certain,
    /// Another command ran at the same time and may have been the cause.
    Likely,
}

/// Which step kept a command from running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartFailure {
    /// No process could be made: the pids or memory limit of the sandbox is reached.
    Process,
    /// Terminal, session or descriptors.
    Setup,
    /// The working directory is missing or may not be entered.
    Workdir,
    /// The image has no shell at `/bin/sh`.
    Shell,
    /// The program was not found.
    NotFound,
    /// The program is there but cannot be executed.
    NotExecutable,
    /// A directory is another one than was decided about.
    DirectoryChanged,
    /// A program is.
    ProgramChanged,
    /// A script is.
    ScriptChanged,
}

impl StartFailure {
    /// It was kept from running because something was exchanged meanwhile: a refusal, and no failure of the host.
    pub const fn denied(self) -> bool {
        matches!(self, Self::DirectoryChanged | Self::ProgramChanged | Self::ScriptChanged)
    }
}

/// Usage of a command's whole tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// CPU time in user mode, in microseconds.
    pub user_us: u64,
    /// CPU time in the kernel, in microseconds.
    pub system_us: u64,
    /// Peak resident memory of the largest process, in KiB.
    pub peak_kib: u64,
}

/// What is known of the command's processes after its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Processes {
    /// Alive when the command's own process had ended.
    pub leftovers: u32,
    /// One of these held the output open until the drain time was over.
    pub held_output: bool,
    /// Sent TERM.
    pub termed: u32,
    /// Sent KILL.
    pub killed: u32,
    /// The kernel confirmed that none is left.
    pub proven_gone: bool,
}

/// How a limit was held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeldBy {
    /// Every byte was counted: exact.
    Counting,
    /// The command's processes were looked at again and again; what is over in between is not seen.
    Watching,
    /// As [`Self::Watching`], and the kernel holds each process to it by itself (`RLIMIT_DATA`).
    PerProcess,
    /// The command had a control group of its own: exact.
    Cgroup,
}

/// How each of the call's own limits was held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HeldLimits {
    /// Memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<HeldBy>,
    /// Output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<HeldBy>,
    /// CPU time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<HeldBy>,
    /// Processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<HeldBy>,
}

impl HeldLimits {
    fn of(held: Held) -> Option<Self> {
        let by = |means| match means {
            Means::None => None,
            Means::Counted => Some(HeldBy::Counting),
            Means::Watched => Some(HeldBy::Watching),
            Means::PerProcess => Some(HeldBy::PerProcess),
            Means::Cgroup => Some(HeldBy::Cgroup),
        };
        let all = Self {
            memory: by(held.memory),
            output: by(held.output),
            cpu: by(held.cpu),
            processes: by(held.processes),
        };
        (all != Self::default()).then_some(all)
    }
}

/// The end of a command.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Outcome {
    /// What ended it.
    pub death: Death,
    /// How sure that is.
    pub certainty: Certainty,
    /// Exit code, where its own process exited.
    pub code: Option<i32>,
    /// Signal that ended its own process.
    pub signal: Option<i32>,
    /// The step that failed, for [`Death::NotStarted`].
    pub start_failure: Option<StartFailure>,
    /// The operating system's number for that step, 0 where unknown.
    pub errno: i32,
    /// From its start to the end of its own process.
    pub wall: Duration,
    /// Resources, where the transport measures them.
    pub usage: Option<Usage>,
    /// Processes, where the transport knows them.
    pub processes: Option<Processes>,
    /// Bytes of standard output (or of the terminal).
    pub stdout_bytes: u64,
    /// Bytes of standard error.
    pub stderr_bytes: u64,
    /// Temporary file systems that were full at the end.
    pub full: Vec<String>,
    /// How the call's own limits were held; absent where there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<HeldLimits>,
    /// The road it took.
    pub transport: Transport,
}

impl Outcome {
    /// Reads init's account. `shell` tells that the program was creel's login shell.
    pub fn from_exit(exit: Exit, shell: bool) -> Self {
        let certainty = if exit.alone { Certainty::Certain } else { Certainty::Likely };
        let failed = exit.code != 0;
        let death = match exit.cause {
            Cause::Timeout => Death::Timeout,
            Cause::Silence => Death::NoOutputTimeout,
            Cause::Killed => Death::Cancelled,
            Cause::OwnerLost => Death::OwnerLost,
            Cause::Stopped => Death::SandboxStopped,
            Cause::NotStarted => Death::NotStarted,
            Cause::OutputLimit => Death::OutputLimit,
            Cause::CpuLimit => Death::CpuLimit,
            Cause::MemoryLimit => Death::MemoryLimit,
            Cause::ProcessLimit => Death::ProcessLimit,
            // The out-of-memory killer ends processes; a command that failed while it struck died of it. One that
            // survived the loss of a child did not.
            Cause::Ended | Cause::SupervisorLost if exit.oom_kills > 0 && failed => Death::Memory,
            Cause::Ended if exit.pids_hits > 0 && failed => Death::Pids,
            Cause::SupervisorLost => Death::SupervisorLost,
            Cause::Ended if exit.signal != 0 => Death::Signal,
            Cause::Ended => Death::Exit,
        };
        let counted = matches!(death, Death::Memory | Death::Pids);
        Self {
            death,
            certainty: if counted { certainty } else { Certainty::Certain },
            code: (exit.code >= 0).then_some(exit.code),
            signal: (exit.signal != 0).then_some(exit.signal),
            start_failure: (exit.cause == Cause::NotStarted).then(|| start_failure(&exit, shell)),
            errno: exit.errno,
            wall: Duration::from_micros(exit.wall_us),
            usage: Some(Usage { user_us: exit.user_us, system_us: exit.system_us, peak_kib: exit.peak_kib }),
            processes: Some(Processes {
                leftovers: exit.leftovers,
                held_output: exit.held,
                termed: exit.termed,
                killed: exit.killed,
                proven_gone: exit.proven,
            }),
            stdout_bytes: exit.stdout_bytes,
            stderr_bytes: exit.stderr_bytes,
            full: exit.full,
            limits: HeldLimits::of(exit.held_limits),
            transport: Transport::Init,
        }
    }

    /// The end of a command whose sandbox ended under it, as far as it was seen from outside: no code, no usage, and
    /// the bytes of both streams that arrived.
    pub(super) fn stopped(transport: Transport, wall: Duration, bytes: [u64; 2]) -> Self {
        let [stdout_bytes, stderr_bytes] = bytes;
        Self {
            death: Death::SandboxStopped,
            certainty: Certainty::Certain,
            code: None,
            signal: None,
            start_failure: None,
            errno: 0,
            wall,
            usage: None,
            processes: None,
            stdout_bytes,
            stderr_bytes,
            full: Vec::new(),
            limits: None,
            transport,
        }
    }

    /// The exit status of `creel exec` (design §1): the command's own, 124 for a time limit, 126 and 127 as shells
    /// say it, 128 and the signal's number, 125 where creel or the sandbox failed.
    pub fn exit_status(&self) -> u8 {
        match self.death {
            Death::Timeout
            | Death::NoOutputTimeout
            | Death::OutputLimit
            | Death::CpuLimit
            | Death::MemoryLimit
            | Death::ProcessLimit => error::EXIT_TIMEOUT,
            Death::EngineLost | Death::SupervisorLost | Death::OwnerLost | Death::SandboxStopped => {
                error::EXIT_CREEL
            }
            Death::Cancelled => 130,
            Death::NotStarted => match self.start_failure {
                Some(StartFailure::NotFound) => error::EXIT_NOT_FOUND,
                Some(StartFailure::NotExecutable) => error::EXIT_NOT_EXECUTABLE,
                _ => error::EXIT_CREEL,
            },
            Death::Exit | Death::Signal | Death::Memory | Death::Pids => {
                let signal = self.signal.map(|signal| 128 + signal);
                let status = self.code.or(signal).unwrap_or(i32::from(error::EXIT_CREEL));
                u8::try_from(status).unwrap_or(error::EXIT_CREEL)
            }
        }
    }
}

fn start_failure(exit: &Exit, shell: bool) -> StartFailure {
    let missing = exit.errno == nix::libc::ENOENT || exit.errno == nix::libc::ENOTDIR;
    match exit.stage {
        1 => StartFailure::Process,
        3 => StartFailure::Workdir,
        4 if missing && shell => StartFailure::Shell,
        4 if missing => StartFailure::NotFound,
        4 => StartFailure::NotExecutable,
        5 => StartFailure::DirectoryChanged,
        6 => StartFailure::ProgramChanged,
        7 => StartFailure::ScriptChanged,
        _ => StartFailure::Setup,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn exit(cause: Cause, code: i32, signal: i32) -> Exit {
        Exit { cause, code, signal, alone: true, ..Exit::default() }
    }

    #[test]
    fn statuses_follow_the_table() {
        let status = |exit: Exit| Outcome::from_exit(exit, true).exit_status();
        assert_eq!(status(exit(Cause::Ended, 7, 0)), 7);
        assert_eq!(status(exit(Cause::Ended, -1, 9)), 137);
        assert_eq!(status(exit(Cause::Timeout, -1, 15)), 124);
        assert_eq!(status(exit(Cause::Timeout, 0, 0)), 124);
        assert_eq!(status(exit(Cause::Killed, -1, 15)), 130);
        assert_eq!(status(exit(Cause::SupervisorLost, -1, 9)), 125);
        let not_started = |stage, errno| Exit { stage, errno, ..exit(Cause::NotStarted, -1, 0) };
        assert_eq!(status(not_started(3, nix::libc::ENOENT)), 125);
        assert_eq!(Outcome::from_exit(not_started(4, nix::libc::ENOENT), false).exit_status(), 127);
        assert_eq!(Outcome::from_exit(not_started(4, nix::libc::EACCES), false).exit_status(), 126);
    }

    #[test]
    fn memory_is_the_cause_only_of_a_failure() {
        let oom = |code, signal, alone| Exit { oom_kills: 1, alone, ..exit(Cause::Ended, code, signal) };
        let of = |exit| {
            let outcome = Outcome::from_exit(exit, true);
            (outcome.death, outcome.certainty)
        };
        assert_eq!(of(oom(137, 0, true)), (Death::Memory, Certainty::Certain));
        assert_eq!(of(oom(-1, 9, false)), (Death::Memory, Certainty::Likely));
        assert_eq!(of(oom(0, 0, true)), (Death::Exit, Certainty::Certain));
    }
}
