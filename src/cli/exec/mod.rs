//! `creel exec`: one command, in a sandbox unless another host is named.

mod args;
mod host;
mod input;
pub(super) mod output;
pub(super) mod terminal;

use std::io::Write as _;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

pub use args::Args;

use super::print;
use crate::approvals::Command;
use crate::client::{Call, Sandbox, Way};
use crate::error::{EXIT_CREEL, Failure};
use crate::keeper;
use crate::runner::{Aggregate, Asked, Death, ExecResult, Outcome, Progress, Running};
use input::Input;
use output::{Output, Unwritten};
use terminal::Raw;

/// Time between TERM and KILL once the user asks a second time.
const IMPATIENT: Duration = Duration::ZERO;

/// Runs the command and returns the exit status of the documented table.
pub async fn run(args: Args) -> u8 {
    let json = args.json;
    match Box::pin(follow(args)).await {
        Ok(status) => status,
        Err(failure) => {
            print::failure(&failure, json);
            EXIT_CREEL
        }
    }
}

async fn follow(args: Args) -> Result<u8, Failure> {
    match args.host.as_str() {
        "sandbox" => {}
        "node" => return Err(args::node()),
        "auto" => return Box::pin(host::run(&args, None)).await,
        named => return Box::pin(host::run(&args, Some(named))).await,
    }
    let (mut signals, mut resized) = (Signals::listen()?, listen(SignalKind::window_change())?);
    let (options, wishes, engine) = (args.sandbox(), args.wishes()?, args.common.engine.clone());
    let opened = tokio::select! {
        opened = options.open() => opened?,
        // Nothing runs yet; what was half made is removed by its lock's next holder.
        signal = signals.next() => return Ok(128 + signal),
    };
    notices(&opened, args.json);
    keep(&opened, engine.as_deref());
    let call = wishes.call(&opened);
    let asked = asked(&opened, &call);
    let raw = if call.options.tty.is_some() { Raw::enter() } else { None };
    let mut running = opened.start(&call).await?;
    let mut session = Session {
        input: Input::open(args.stdin || args.tty),
        output: Output::open(args.json),
        aggregate: Aggregate::default(),
        json: args.json,
        tty: args.tty,
        stopped_by: None,
    };
    let outcome = session.follow(&mut running, &mut signals, &mut resized).await?;
    let Session { output, aggregate, stopped_by, json, .. } = session;
    let unwritten = output.close().err();
    drop(raw);
    let detour = opened.detour().map(str::to_owned);
    Ok(conclude(&outcome, &asked, Ending { aggregate, json, stopped_by, unwritten, detour }))
}

/// Starts a keeper where a pool is wanted and nobody keeps it. The command does not wait for that, nor fail with it.
fn keep(sandbox: &Sandbox, engine: Option<&str>) {
    if sandbox.pool_size() == 0 {
        return;
    }
    let started = std::env::current_exe()
        .map_err(|error| error.to_string())
        .and_then(|exe| keeper::start(sandbox.layout(), &exe, engine).map_err(|error| error.to_string()));
    if let Err(error) = started {
        tracing::warn!(error, "no keeper");
    }
}

/// What the operator should know of the sandbox, once for each that is made; drift every time.
fn notices(sandbox: &Sandbox, json: bool) {
    let ready = sandbox.ready();
    if json {
        return;
    }
    let mut err = std::io::stderr().lock();
    for warning in ready.warnings.iter().filter(|_| ready.created || ready.pooled) {
        let _ = writeln!(err, "creel: {warning}");
    }
    if let Way::Engine { reason, .. } = &ready.link
        && reason != "asked for"
    {
        let _ = writeln!(err, "creel: over the engine's exec API, kill is not proven: {reason}");
    }
    if let Some(keys) = &ready.drift {
        let keys = keys.join(", ");
        let _ = writeln!(
            err,
            "creel: the sandbox was in use within the last 5 minutes and still has its older configuration ({keys}); `{}` applies the new one",
            crate::session::recreate_hint(&ready.scope_key)
        );
    }
}

fn asked(sandbox: &Sandbox, call: &Call) -> Asked {
    let program = match &call.command {
        Command::Argv(argv) => argv.first().cloned().unwrap_or_default(),
        Command::Shell(_) => "/bin/sh".to_owned(),
    };
    Asked {
        program,
        workdir: call.workdir.clone().unwrap_or_else(|| sandbox.setting().workdir.clone()),
        timeout: call.options.timeout,
        silence: call.options.silence,
        image: sandbox.image().to_owned(),
    }
}

struct Session {
    input: Input,
    output: Output,
    aggregate: Aggregate,
    json: bool,
    tty: bool,
    stopped_by: Option<u8>,
}

impl Session {
    /// Carries bytes and signals back and forth until the command has ended.
    async fn follow(
        &mut self,
        running: &mut Running,
        signals: &mut Signals,
        resized: &mut Signal,
    ) -> Result<Outcome, Failure> {
        if !self.input.is_open() {
            self.input.end_if_wanted(running).await?;
        }
        loop {
            tokio::select! {
                biased;
                signal = signals.next() => self.on_signal(signal, running)?,
                progress = running.next() => match progress? {
                    Progress::Output(stream, data) => {
                        if self.json {
                            self.aggregate.push(stream, &data);
                        } else if !self.output.write(stream, data).await && self.stopped_by.is_none() {
                            self.stopped_by = Some(13);
                            running.kill()?;
                        }
                    }
                    Progress::Input { taken, closed } => self.input.taken(taken, closed),
                    Progress::Started(_) => {}
                    Progress::Done(outcome) => return Ok(*outcome),
                },
                chunk = self.input.next(), if self.input.wants() => match chunk {
                    Some(data) => running.write(data).await?,
                    None => running.close_input().await?,
                },
                _ = resized.recv(), if self.tty => {
                    let (rows, cols) = terminal::size();
                    running.resize(rows, cols).await?;
                }
            }
        }
    }

    /// The first signal ends the command's tree in its own time, the second at once.
    fn on_signal(&mut self, signal: u8, running: &mut Running) -> Result<(), Failure> {
        match self.stopped_by.replace(signal) {
            None => running.kill()?,
            Some(_) => running.kill_within(IMPATIENT)?,
        }
        Ok(())
    }
}

/// Prints the result object, or what a person should know; returns the exit status.
fn conclude(outcome: &Outcome, asked: &Asked, ending: Ending) -> u8 {
    let report = outcome.describe(asked);
    if ending.json {
        let mut result = ExecResult::new(outcome, &asked.workdir, ending.aggregate.finish(), report);
        result.transport_reason = ending.detour;
        print::json(&result);
    } else if let Some(report) = report.filter(|_| ending.unwritten.is_none()) {
        let _ = writeln!(std::io::stderr(), "creel: {report}");
    }
    if let Some(Unwritten::Failed(error)) = ending.unwritten {
        // What was lost is not what the command said; its status would pass for the whole truth.
        print::broken(error.kind(), &format!("{error}; the command was ended"));
    }
    match ending.stopped_by {
        Some(signal) if outcome.death == Death::Cancelled => 128 + signal,
        _ => outcome.exit_status(),
    }
}

/// What is known besides the outcome when a command has ended.
struct Ending {
    aggregate: Aggregate,
    json: bool,
    stopped_by: Option<u8>,
    unwritten: Option<Unwritten>,
    detour: Option<String>,
}

/// The signals that end a command instead of creel alone.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

pub(super) fn listen(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| {
        Failure(crate::error::Report {
            code: "CRL-CLI-001",
            message: format!("signals cannot be listened to: {error}"),
            rule: Some("built-in: a signal ends the command before it ends creel".to_owned()),
            fix: "raise the limit of open files (ulimit -n)".to_owned(),
        })
    })
}

impl Signals {
    pub(super) fn listen() -> Result<Self, Failure> {
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    /// The number of the next signal that asks for an end.
    pub(super) async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => 2,
            _ = self.terminate.recv() => 15,
            _ = self.hangup.recv() => 1,
        }
    }
}
