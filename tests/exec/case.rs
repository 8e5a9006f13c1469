//! A table row: what to run, how, and what must come of it over either transport.

use std::time::Duration;

use creel::approvals::Command;
use creel::runner::{Death, Options, Outcome, Progress, StartFailure};
use creel::wire::Stream;
use creel::{Call, Collected, Sandbox};

use crate::lab::{Lab, text};

/// Input that a host may have under way.
const WINDOW: usize = 256 * 1024;
const CHUNK: usize = 64 * 1024;
/// No case takes longer, however slow the machine; a hang is a failure with a name.
const PATIENCE: Duration = Duration::from_mins(2);

/// Death in the terms that both transports know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself, by a signal or by a limit of the kernel: the exit status tells.
    Ended,
    Timeout,
    Silence,
    Cancelled,
    NotStarted,
    Limit,
    Lost,
}

impl End {
    pub(crate) fn of(outcome: &Outcome) -> Self {
        match outcome.death {
            Death::Exit | Death::Signal | Death::Memory | Death::Pids => Self::Ended,
            Death::Timeout => Self::Timeout,
            Death::NoOutputTimeout => Self::Silence,
            Death::Cancelled => Self::Cancelled,
            Death::NotStarted => Self::NotStarted,
            Death::OutputLimit | Death::CpuLimit | Death::MemoryLimit | Death::ProcessLimit => Self::Limit,
            Death::OwnerLost | Death::SupervisorLost | Death::SandboxStopped | Death::EngineLost => {
                Self::Lost
            }
        }
    }
}

/// What a stream must hold.
#[derive(Debug, Clone)]
enum Want {
    Exactly(Vec<u8>),
    Has(&'static str),
    Anything,
}

/// One row. Without further words it must print nothing and exit with 0.
pub(crate) struct Case {
    name: String,
    command: Command,
    workdir: Option<String>,
    env: Vec<(String, String)>,
    options: Options,
    input: Option<Vec<u8>>,
    stdout: Want,
    stderr: Want,
    status: u8,
    end: End,
    failure: Option<StartFailure>,
}

/// Shell text.
pub(crate) fn sh(name: impl Into<String>, text: impl Into<String>) -> Case {
    Case::new(name.into(), Command::Shell(text.into()))
}

/// A program and its arguments.
pub(crate) fn argv(name: impl Into<String>, words: &[&str]) -> Case {
    Case::new(name.into(), Command::Argv(words.iter().map(|word| (*word).to_owned()).collect()))
}

impl Case {
    fn new(name: String, command: Command) -> Self {
        Self {
            name,
            command,
            workdir: None,
            env: Vec::new(),
            options: Options { timeout: Some(Duration::from_mins(1)), ..Options::default() },
            input: None,
            stdout: Want::Exactly(Vec::new()),
            stderr: Want::Exactly(Vec::new()),
            status: 0,
            end: End::Ended,
            failure: None,
        }
    }

    pub(crate) fn out(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.stdout = Want::Exactly(bytes.as_ref().to_vec());
        self
    }

    pub(crate) fn err(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.stderr = Want::Exactly(bytes.as_ref().to_vec());
        self
    }

    pub(crate) fn err_has(mut self, part: &'static str) -> Self {
        self.stderr = Want::Has(part);
        self
    }

    pub(crate) fn status(mut self, status: u8) -> Self {
        self.status = status;
        self
    }

    pub(crate) fn end(mut self, end: End, status: u8) -> Self {
        (self.end, self.status) = (end, status);
        self
    }

    /// It never runs. What the streams hold then is the engine's business.
    pub(crate) fn fails(mut self, failure: StartFailure, status: u8) -> Self {
        self.failure = Some(failure);
        (self.stdout, self.stderr) = (Want::Anything, Want::Anything);
        self.end(End::NotStarted, status)
    }

    pub(crate) fn workdir(mut self, dir: &str) -> Self {
        self.workdir = Some(dir.to_owned());
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn input(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.options.stdin = true;
        self.input = Some(bytes.as_ref().to_vec());
        self
    }

    pub(crate) fn options(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(&mut self.options);
        self
    }

    fn call(&self, sandbox: &Sandbox) -> Call {
        Call {
            workdir: self.workdir.clone(),
            env: self.env.clone(),
            options: self.options.clone(),
            ..sandbox.call_of(self.command.clone())
        }
    }

    /// Everything that is not as it should be.
    fn objections(&self, done: &Collected) -> Vec<String> {
        let mut objections = Vec::new();
        let mut check = |what: &str, right: bool, found: String| {
            if !right {
                objections.push(format!("{what} is {found}"));
            }
        };
        for (what, want, found) in
            [("stdout", &self.stdout, &done.stdout), ("stderr", &self.stderr, &done.stderr)]
        {
            let right = match want {
                Want::Exactly(bytes) => bytes == found,
                Want::Has(part) => text(found).contains(part),
                Want::Anything => true,
            };
            check(what, right, format!("{} bytes, {:?}", found.len(), brief(found)));
        }
        let outcome = &done.outcome;
        check("status", outcome.exit_status() == self.status, outcome.exit_status().to_string());
        check("end", End::of(outcome) == self.end, format!("{:?}", outcome.death));
        check("start failure", outcome.start_failure == self.failure, format!("{:?}", outcome.start_failure));
        let counts = (outcome.stdout_bytes, outcome.stderr_bytes);
        let kept = (done.stdout.len() as u64, done.stderr.len() as u64);
        check("byte count", counts == kept, format!("{counts:?} for {kept:?}"));
        objections
    }
}

fn brief(bytes: &[u8]) -> String {
    let text = text(bytes);
    if text.len() > 400 { format!("{}…", text.chars().take(400).collect::<String>()) } else { text }
}

/// Runs every case over both roads; all that is wrong is told at once.
pub(crate) async fn table(lab: &Lab, cases: Vec<Case>) -> Vec<[Collected; 2]> {
    let (mut wrong, mut results) = (Vec::new(), Vec::new());
    for case in cases {
        let mut both = Vec::new();
        for sandbox in lab.roads() {
            let (road, call) = (sandbox.transport(), case.call(sandbox));
            let running = async {
                match &case.input {
                    Some(input) => Ok(feed(sandbox, &call, input).await),
                    None => sandbox.run(&call).await,
                }
            };
            match tokio::time::timeout(PATIENCE, running).await {
                Ok(Ok(done)) => {
                    let objections = case.objections(&done);
                    wrong
                        .extend(objections.iter().map(|what| format!("{} over {road:?}: {what}", case.name)));
                    both.push(done);
                }
                Ok(Err(error)) => wrong.push(format!("{} over {road:?}: {error}", case.name)),
                Err(_) => wrong.push(format!("{} over {road:?}: hangs", case.name)),
            }
        }
        if let Ok([init, engine]) = <[Collected; 2]>::try_from(both) {
            let common = |done: &Collected| {
                let started = done.outcome.start_failure.is_none();
                let output = started.then(|| (done.stdout.clone(), done.stderr.clone()));
                (output, done.outcome.exit_status(), End::of(&done.outcome))
            };
            if common(&init) != common(&engine) {
                wrong.push(format!("{}: the transports differ", case.name));
            }
            results.push([init, engine]);
        }
    }
    assert!(wrong.is_empty(), "{} objections:\n{}", wrong.len(), wrong.join("\n"));
    results
}

/// Runs a call with this input, no more of it under way than is allowed.
pub(crate) async fn feed(sandbox: &Sandbox, call: &Call, input: &[u8]) -> Collected {
    let mut running = sandbox.start(call).await.unwrap();
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let (mut sent, mut taken, mut open) = (0, 0, true);
    loop {
        while open && sent < input.len() && sent - taken + CHUNK <= WINDOW {
            let end = input.len().min(sent + CHUNK);
            running.write(input[sent..end].to_vec()).await.unwrap();
            sent = end;
        }
        if open && sent == input.len() {
            running.close_input().await.unwrap();
            open = false;
        }
        match running.next().await.unwrap() {
            Progress::Output(Stream::Stdout, data) => stdout.extend_from_slice(&data),
            Progress::Output(Stream::Stderr, data) => stderr.extend_from_slice(&data),
            Progress::Input { taken: now, closed } => {
                taken = usize::try_from(now).unwrap();
                open &= !closed;
            }
            Progress::Done(outcome) => {
                return Collected { outcome: *outcome, stdout, stderr, truncated: false };
            }
            Progress::Started(_) => {}
        }
    }
}
