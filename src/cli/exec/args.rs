//! The flags of `creel exec`, into typed values.

use std::path::PathBuf;
use std::time::Duration;

use super::terminal;
use crate::approvals::Command;
use crate::client::{Call, RoadChoice, Sandbox, SandboxOptions};
use crate::error::{Failure, Report};

/// Run a command in a sandbox.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Image instead of the configured one.
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
    /// Mount this directory as the workspace, writable; without it the sandbox has one of its own.
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// One more mount, `host:container[:ro]`; may be repeated.
    #[arg(long = "bind", value_name = "SPEC")]
    pub binds: Vec<String>,
    /// Directory in the container; the workspace by default.
    #[arg(long, value_name = "PATH")]
    pub workdir: Option<String>,
    /// Variable for the command; may be repeated.
    #[arg(long = "env", value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// End the command after so many seconds; 0 is never.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = seconds)]
    pub timeout: Option<f64>,
    /// Pass standard input; without it the command's input is at its end.
    #[arg(long)]
    pub stdin: bool,
    /// Give the command a terminal.
    #[arg(long)]
    pub tty: bool,
    /// Print the result as one JSON object instead of the output.
    #[arg(long)]
    pub json: bool,
    /// Session key (`agent:main:main`).
    #[arg(long, value_name = "KEY")]
    pub session: Option<String>,
    /// Agent id.
    #[arg(long, value_name = "ID")]
    pub agent: Option<String>,
    /// Road for the command: the sandbox's init, the engine's exec API, or whichever works.
    #[arg(long, value_name = "ROAD", value_parser = ["auto", "init", "engine"], default_value = "auto")]
    pub transport: String,
    /// Where it runs: in a sandbox of its own, beside the gateway, or where the configuration says. Outside a sandbox the
    /// approvals of this machine decide, and a person may be asked: on this terminal, or with `creel approvals`.
    #[arg(long, value_name = "HOST", value_parser = ["sandbox", "auto", "gateway", "node"], default_value = "sandbox")]
    pub host: String,
    /// Configuration and engine.
    #[command(flatten)]
    pub common: crate::cli::Common,
    /// One operand is shell text; several are a program and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

impl Args {
    /// The sandbox that is asked for.
    pub fn sandbox(&self) -> SandboxOptions {
        let mut options = Sandbox::options();
        if let Some(image) = &self.image {
            options = options.image(image);
        }
        if let Some(key) = &self.session {
            options = options.session(key);
        }
        if let Some(id) = &self.agent {
            options = options.agent(id);
        }
        if let Some(address) = &self.common.engine {
            options = options.engine(address);
        }
        if let Some(file) = &self.common.config {
            options = options.config(file);
        }
        if let Some(dir) = &self.workspace {
            options = options.workspace(dir);
        }
        for bind in &self.binds {
            options = options.bind(bind);
        }
        options.road(match self.transport.as_str() {
            "engine" => RoadChoice::Engine,
            "init" => RoadChoice::Init,
            _ => RoadChoice::Auto,
        })
    }

    /// The variables of the command.
    pub(super) fn variables(&self) -> Result<Vec<(String, String)>, Failure> {
        self.env.iter().map(|text| variable(text)).collect()
    }

    /// What can be wrong with the call itself, before a sandbox is made for it.
    pub fn wishes(&self) -> Result<Wishes, Failure> {
        Ok(Wishes {
            command: match self.command.as_slice() {
                [text] => Command::Shell(text.clone()),
                [program, ..] if program.is_empty() => {
                    return Err(bad(
                        "the first of several operands is the program, and it is empty".to_owned(),
                        "creel exec -- COMMAND",
                        "name the program, or give one operand of shell text: creel exec -- 'text'",
                    ));
                }
                argv => Command::Argv(argv.to_vec()),
            },
            workdir: self.workdir.as_deref().map(workdir).transpose()?,
            env: self.variables()?,
            timeout: self.timeout.map_or(Ok(Limit::Configured), limit)?,
            stdin: self.stdin || self.tty,
            tty: self.tty,
        })
    }
}

/// The time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    Configured,
    Never,
    After(Duration),
}

/// The call, as far as the sandbox has no say in it.
#[derive(Clone, PartialEq, Eq)]
pub struct Wishes {
    command: Command,
    workdir: Option<String>,
    env: Vec<(String, String)>,
    timeout: Limit,
    stdin: bool,
    tty: bool,
}

impl std::fmt::Debug for Wishes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wishes").field("command", &self.command).finish_non_exhaustive()
    }
}

impl Wishes {
    /// The call in this sandbox.
    pub fn call(self, sandbox: &Sandbox) -> Call {
        let mut call = sandbox.call_of(self.command);
        call.workdir = self.workdir;
        call.env = self.env;
        match self.timeout {
            Limit::Configured => {}
            Limit::Never => call.options.timeout = None,
            Limit::After(time) => call.options.timeout = Some(time),
        }
        call.options.stdin = self.stdin;
        call.options.tty = self.tty.then(terminal::size);
        call
    }
}

/// No paired machine can be reached from here.
pub(super) fn node() -> Failure {
    bad(
        "commands cannot be sent to a paired machine from here".to_owned(),
        "--host",
        "run it here with --host gateway, or on that machine",
    )
}

pub(super) fn bad(message: String, rule: &str, fix: &str) -> Failure {
    Failure(Report { code: "CRL-CLI-002", message, rule: Some(rule.to_owned()), fix: fix.to_owned() })
}

/// Literal and absolute: `~` and variables mean nothing here (spec `exec.md` §1.1).
fn workdir(path: &str) -> Result<String, Failure> {
    if path.starts_with('/') && !path.contains('\0') {
        return Ok(path.to_owned());
    }
    Err(bad(
        format!("working directory {path:?} is not an absolute path of the container"),
        "--workdir",
        "write it out, for example --workdir /workspace/src; ~ and $VARIABLES are not expanded",
    ))
}

/// `NAME=VALUE` with a portable name (spec `exec.md` §3.4).
fn variable(text: &str) -> Result<(String, String), Failure> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let mut letters = name.bytes();
    let first = letters.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    if !(first && letters.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')) {
        return Err(bad(
            format!("variable {name:?} has no portable name"),
            "--env",
            "write --env NAME=VALUE with letters, digits and _ in the name, no digit first",
        ));
    }
    if !text.contains('=') {
        return Err(bad(
            format!("variable {name:?} has no value; nothing is taken over from creel's own environment"),
            "--env",
            &format!("write --env {name}=VALUE; --env {name}= is the empty value"),
        ));
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// A number as it is written; one that is too small for a float is still not zero, which would be no limit.
fn seconds(text: &str) -> Result<f64, std::num::ParseFloatError> {
    let number: f64 = text.parse()?;
    let digits = text.split(['e', 'E']).next().unwrap_or_default();
    let vanished = number == 0.0 && digits.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    Ok(if vanished { f64::MIN_POSITIVE.copysign(number) } else { number })
}

/// Limits are kept in milliseconds, where 0 is none.
const SHORTEST: Duration = Duration::from_millis(1);

fn limit(seconds: f64) -> Result<Limit, Failure> {
    match Duration::try_from_secs_f64(seconds) {
        Ok(_) if seconds == 0.0 => Ok(Limit::Never),
        Ok(time) => Ok(Limit::After(time.max(SHORTEST))),
        Err(_) => Err(bad(
            format!("time limit {seconds} is not a number of seconds"),
            "--timeout",
            "give seconds, for example --timeout 2.5; 0 is no limit",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_literal() {
        assert_eq!(variable("A=b=c").unwrap(), ("A".to_owned(), "b=c".to_owned()));
        assert_eq!(variable("_1=").unwrap(), ("_1".to_owned(), String::new()));
        for wrong in ["", "A", "=x", "1A=x", "A-B=x"] {
            assert!(variable(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn limits_and_directories() {
        assert_eq!(limit(0.0).unwrap(), Limit::Never);
        assert_eq!(limit(1.5).unwrap(), Limit::After(Duration::from_millis(1500)));
        assert!(limit(-1.0).is_err() && limit(f64::NAN).is_err());
        for tiny in ["1e-3", "1e-9", "1e-12", "1e-400", "0.0000e-400001", "0.001e-999"] {
            let wanted = if tiny.starts_with("0.0000e") { Limit::Never } else { Limit::After(SHORTEST) };
            assert_eq!(limit(seconds(tiny).unwrap()).unwrap(), wanted, "{tiny}");
        }
        assert!(limit(seconds("-1e-400").unwrap()).is_err());
        assert!(workdir("/x").is_ok() && workdir("~/x").is_err() && workdir("").is_err());
    }
}
