//! What to tell a person about a command that did not simply exit: the thing, the rule, the fix. Pure.

use std::time::Duration;

use super::outcome::{Certainty, Death, Outcome, StartFailure, Transport};
use crate::error::Report;

/// What was asked for, as far as the words need it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// The program, for argv commands; `/bin/sh` otherwise.
    pub program: String,
    /// Working directory in the container.
    pub workdir: String,
    /// The time limit.
    pub timeout: Option<Duration>,
    /// The limit on time without output.
    pub silence: Option<Duration>,
    /// The image.
    pub image: String,
}

impl Outcome {
    /// A report where there is something to say; `None` for a plain exit.
    pub fn describe(&self, asked: &Asked) -> Option<Report> {
        if let Some(failure) = self.start_failure {
            return Some(not_started(failure, self.errno, asked));
        }
        let seconds = |limit: Option<Duration>| limit.unwrap_or_default().as_secs_f64();
        let report = |code, message: String, rule: &str, fix: &str| {
            Some(Report { code, message, rule: Some(rule.to_owned()), fix: fix.to_owned() })
        };
        match self.death {
            Death::Timeout => report(
                "CRL-EXEC-001",
                format!(
                    "the command ran into its time limit of {} s and was ended{}",
                    seconds(asked.timeout),
                    self.tree()
                ),
                "--timeout, tools.exec.timeoutSec",
                "check what it has done before running it again; raise the limit, or 0 for none",
            ),
            Death::NoOutputTimeout => report(
                "CRL-EXEC-002",
                format!(
                    "the command printed nothing for {} s and was ended{}",
                    seconds(asked.silence),
                    self.tree()
                ),
                "the limit on time without output",
                "check whether it waits for input",
            ),
            Death::Memory => report(
                "CRL-EXEC-003",
                format!("the sandbox's memory limit ended the command{}", self.doubt()),
                "agents.defaults.sandbox.docker.memory",
                "raise the limit, or use less memory; the sandbox is still usable",
            ),
            Death::Pids => report(
                "CRL-EXEC-004",
                format!(
                    "the command could not fork: the sandbox's limit of processes was reached{}",
                    self.doubt()
                ),
                "agents.defaults.sandbox.docker.pidsLimit",
                "raise the limit, or start fewer processes at a time",
            ),
            Death::SupervisorLost => report(
                "CRL-EXEC-005",
                format!("the command's supervisor was killed{}", self.tree()),
                "built-in: the loss of a supervisor ends its command",
                "something kills processes that are not its own; see what the command does",
            ),
            Death::SandboxStopped => report(
                "CRL-EXEC-006",
                "the sandbox was stopped under the command".to_owned(),
                "built-in: a command ends with its sandbox",
                "run it again",
            ),
            Death::EngineLost => report(
                "CRL-EXEC-007",
                "the container or the engine was lost under the command; how far it got is not known"
                    .to_owned(),
                "built-in: a command ends with its sandbox",
                "check `creel engine status`, then what the command has done, before running it again",
            ),
            Death::OwnerLost => report(
                "CRL-EXEC-008",
                "the command was ended because creel was gone for longer than its lease".to_owned(),
                "built-in: a command without its creel ends when its lease is over",
                "run it again",
            ),
            Death::OutputLimit | Death::CpuLimit | Death::MemoryLimit | Death::ProcessLimit => self.limit(),
            Death::Exit if !self.full.is_empty() && self.code != Some(0) => report(
                "CRL-EXEC-016",
                format!("{} had no space left when the command failed", self.full.join(", ")),
                "agents.defaults.sandbox.docker.tmpfs",
                "remove files there, or give it a larger size: \"/tmp:size=1g\"",
            ),
            Death::Exit if self.code == Some(126) => report(
                "CRL-EXEC-017",
                "the program could not be executed".to_owned(),
                "agents.defaults.sandbox.docker.tmpfs",
                "check its mode; files in /tmp, /var/tmp and /run cannot be executed (mounted noexec)",
            ),
            Death::Exit | Death::Signal | Death::Cancelled | Death::NotStarted => None,
        }
    }

    /// What is said of a limit of the call's own.
    fn limit(&self) -> Option<Report> {
        let (code, what, limit, fix) = match self.death {
            Death::OutputLimit => (
                "CRL-EXEC-018",
                "printed more",
                "output",
                "print less (for example into a file), or raise the limit",
            ),
            Death::CpuLimit => (
                "CRL-EXEC-019",
                "used more CPU time",
                "CPU time",
                "check what it has done before running it again; raise the limit",
            ),
            Death::MemoryLimit => {
                ("CRL-EXEC-020", "used more memory", "memory", "use less memory, or raise the limit")
            }
            Death::ProcessLimit => (
                "CRL-EXEC-021",
                "had more processes",
                "processes",
                "start fewer processes at a time, or raise the limit",
            ),
            _ => return None,
        };
        Some(Report {
            code,
            message: format!("the command {what} than its limit allows and was ended{}", self.tree()),
            rule: Some(format!("the call's limit on {limit}")),
            fix: fix.to_owned(),
        })
    }

    fn doubt(&self) -> &'static str {
        match self.certainty {
            Certainty::Certain => "",
            Certainty::Likely => " (likely: another command ran in the sandbox at the same time)",
        }
    }

    /// What happened to its processes.
    fn tree(&self) -> String {
        match self.processes {
            Some(all) if all.proven_gone => {
                format!("; {} processes were sent TERM, {} KILL, none is left", all.termed, all.killed)
            }
            None if self.transport == Transport::Engine => {
                "; the engine cannot prove that all its processes are gone".to_owned()
            }
            Some(_) | None => "; whether all its processes are gone could not be proven".to_owned(),
        }
    }
}

/// What stood there when the command was decided about stands there no more.
fn changed(code: &'static str, what: &str, reason: &str) -> (&'static str, String, &'static str, String) {
    (
        code,
        format!("SYSTEM_RUN_DENIED: {what} changed before execution{reason}; nothing was executed"),
        "built-in: what was decided about is what runs, or nothing does",
        "find out what changes it, then ask again: the new decision is about what is there now".to_owned(),
    )
}

fn not_started(failure: StartFailure, errno: i32, asked: &Asked) -> Report {
    let reason =
        if errno == 0 { String::new() } else { format!(": {}", std::io::Error::from_raw_os_error(errno)) };
    let Asked { program, workdir, image, .. } = asked;
    let (code, message, rule, fix) = match failure {
        StartFailure::Process => (
            "CRL-EXEC-010",
            format!("no process could be made in the sandbox{reason}"),
            "agents.defaults.sandbox.docker.pidsLimit, memory",
            "the sandbox's pids or memory limit is used up by other commands: end some".to_owned(),
        ),
        StartFailure::Setup => (
            "CRL-EXEC-011",
            format!("the command's session or terminal could not be set up{reason}"),
            "built-in: a command has a session of its own",
            "try without --tty; else recreate the sandbox: `creel sandbox recreate`".to_owned(),
        ),
        StartFailure::Workdir => (
            "CRL-EXEC-012",
            format!("working directory {workdir} cannot be entered{reason}; nothing was executed"),
            "built-in: a command runs in its working directory or not at all (--workdir)",
            "name an existing directory of the container (paths are literal), or leave --workdir out".to_owned(),
        ),
        StartFailure::Shell => (
            "CRL-EXEC-013",
            format!("image {image} has no shell at /bin/sh{reason}; nothing was executed"),
            "built-in: shell text is run by the image's /bin/sh",
            "pass the program and its arguments as several operands after --, or use an image with a shell".to_owned(),
        ),
        StartFailure::NotFound => (
            "CRL-EXEC-014",
            format!("program {program} was not found{reason}"),
            "built-in: programs are looked up in the sandbox's PATH (tools.exec.pathPrepend, then the image's)",
            format!(
                "image {image} may not have it: use one that has, or name its full path, or add its directory to \
                 tools.exec.pathPrepend"
            ),
        ),
        StartFailure::NotExecutable => (
            "CRL-EXEC-015",
            format!("program {program} cannot be executed{reason}"),
            "built-in: the kernel decides by mode, format and mount (agents.defaults.sandbox.docker.tmpfs)",
            "check its mode and its first line; files in /tmp, /var/tmp and /run cannot be executed (mounted noexec)"
                .to_owned(),
        ),
        StartFailure::DirectoryChanged => changed("CRL-EXEC-022", "approval cwd", &reason),
        StartFailure::ProgramChanged => changed("CRL-EXEC-023", "approval executable", &reason),
        StartFailure::ScriptChanged => changed("CRL-EXEC-024", "approval script operand", &reason),
    };
    Report { code, message, rule: Some(rule.to_owned()), fix }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_names_its_rule_and_the_image_that_may_lack_a_program() {
        let asked = Asked { program: "make".to_owned(), image: "small:1".to_owned(), ..Asked::default() };
        for failure in [
            StartFailure::Process,
            StartFailure::Setup,
            StartFailure::Workdir,
            StartFailure::Shell,
            StartFailure::NotFound,
            StartFailure::NotExecutable,
            StartFailure::DirectoryChanged,
            StartFailure::ProgramChanged,
            StartFailure::ScriptChanged,
        ] {
            let report = not_started(failure, 0, &asked);
            assert!(report.rule.is_some_and(|rule| !rule.is_empty()), "{}", report.code);
        }
        let fix = not_started(StartFailure::NotFound, 2, &asked).fix;
        assert!(fix.starts_with("image small:1 may not have it"), "{fix}");
        for death in [
            Death::Timeout,
            Death::NoOutputTimeout,
            Death::Memory,
            Death::Pids,
            Death::SupervisorLost,
            Death::SandboxStopped,
            Death::EngineLost,
            Death::OwnerLost,
            Death::OutputLimit,
            Death::CpuLimit,
            Death::MemoryLimit,
            Death::ProcessLimit,
        ] {
            let stopped = Outcome::stopped(crate::runner::Transport::Init, Duration::ZERO, [0; 2]);
            let report = Outcome { death, ..stopped }.describe(&asked).unwrap();
            assert!(report.rule.is_some_and(|rule| !rule.is_empty()), "{}", report.code);
        }
    }
}
