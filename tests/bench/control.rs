//! The other side of each comparison: the same work without creel.

use creel::approvals::Command;
use creel::engine::{ContainerId, Engine, ExecSpec};
use creel::runner::{Progress, Running};
use creel::{Call, Sandbox};
use futures_util::StreamExt as _;

use crate::Fallible;

/// creel-init in the container, which is also the program of every control.
const INIT: &str = creel::sandbox::INIT_TARGET;

/// A call of `creel-init control …`, without any time limit.
pub(crate) fn call(sandbox: &Sandbox, words: &[&str]) -> Call {
    let argv = [INIT, "control"].iter().chain(words).map(|word| (*word).to_owned()).collect();
    let mut call = sandbox.call_of(Command::Argv(argv));
    call.options.timeout = None;
    call
}

/// Runs a control that prints one number of nanoseconds, and returns seconds.
pub(crate) async fn seconds(sandbox: &Sandbox, words: &[&str]) -> Fallible<f64> {
    let done = sandbox.run(&call(sandbox, words)).await?;
    nanos(&done.stdout).map(|nanos| nanos / 1e9)
}

fn nanos(line: &[u8]) -> Fallible<f64> {
    let text = String::from_utf8_lossy(line);
    text.trim().parse().map_err(|_| format!("the control said {text:?}").into())
}

/// Fork, exec and wait inside the container, once for each question.
pub(crate) struct Spawner {
    running: Running,
    unread: Vec<u8>,
}

impl Spawner {
    pub(crate) async fn start(sandbox: &Sandbox, argv: &[&str]) -> Fallible<Self> {
        let words: Vec<&str> = ["spawn", "--"].iter().chain(argv).copied().collect();
        let mut call = call(sandbox, &words);
        call.options.stdin = true;
        Ok(Self { running: sandbox.start(&call).await?, unread: Vec::new() })
    }

    /// Milliseconds for one, by the control's own clock.
    pub(crate) async fn once(&mut self) -> Fallible<f64> {
        self.running.write(b"\n".to_vec()).await?;
        loop {
            match self.running.next().await? {
                Progress::Output(_, data) => self.unread.extend_from_slice(&data),
                Progress::Done(outcome) => return Err(format!("the control ended: {outcome:?}").into()),
                Progress::Started(_) | Progress::Input { .. } => {}
            }
            if self.unread.ends_with(b"\n") {
                let line = std::mem::take(&mut self.unread);
                return Ok(nanos(&line)? / 1e6);
            }
        }
    }

    /// Ends it.
    pub(crate) async fn end(mut self) -> Fallible<()> {
        self.running.close_input().await?;
        while !matches!(self.running.next().await?, Progress::Done(_)) {}
        Ok(())
    }
}

/// One command through the engine's exec API and nothing else: create, start, read to the end, exit code. Returns
/// the bytes that it printed.
pub(crate) async fn engine_exec(engine: &Engine, id: &ContainerId, argv: &[&str]) -> Fallible<u64> {
    let spec = ExecSpec {
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        env: Vec::new(),
        workdir: None,
        user: None,
        stdin: false,
        tty: None,
    };
    let exec = engine.exec_create(id, &spec).await?;
    let mut stream = engine.exec_start(&exec, false).await?;
    let mut bytes = 0;
    while let Some(piece) = stream.output.next().await {
        bytes += u64::try_from(piece?.1.len())?;
    }
    let facts = engine.exec_inspect(&exec).await?;
    // The engine may need a moment to know the code; that it was asked is what belongs to the measurement.
    if facts.exit_code.is_some_and(|code| code != 0) {
        return Err(format!("{argv:?} over the engine: {facts:?}").into());
    }
    Ok(bytes)
}
