//! A command over the engine's exec API, made to look as much like one over init as the engine allows.
//!
//! The engine cannot end a command, says nothing when one that has ended is still waited for by others, and knows
//! neither usage nor cause. So: the end is asked for as well as listened for, and a kill is a second command that
//! finds the first one's processes by a marker in their environment.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::io::AsyncWriteExt as _;
use tokio::time::{Instant, sleep_until};

use super::outcome::{Certainty, Death, StartFailure};
use super::running::{Options, Progress};
use super::{Outcome, Plan, RunError, Transport};
use crate::engine::{ContainerId, Engine, EngineError, ExecId, ExecSpec, ExecStream, Stdio};
use crate::wire::{CommandId, Stream};

/// How often the engine is asked whether a command that is still streaming has ended.
const ASK_EVERY: Duration = Duration::from_millis(250);
/// How long the engine may take, after the end of the stream, to know the exit code.
const CODE_WITHIN: Duration = Duration::from_secs(5);
/// Code of a command that was killed; also that of one whose container ended.
const KILLED: i64 = 137;
/// How long after such an end the engine may still call the container running.
const CONTAINER_WITHIN: Duration = Duration::from_millis(500);

/// How the engine's own complaint about a start begins; it comes as if the command had printed it.
const COMPLAINT: &str = "OCI runtime exec failed";

/// The kill command. It needs nothing but the shell's own parts and `kill`; `$1` is the marker, `$2` the signal.
const KILL: &str = "for d in /proc/[0-9]*;do while IFS= read -r l||[ -n \"$l\" ];do case \"$l\" in *\"$1\"*)kill -\"$2\" \"${d#/proc/}\";;esac;\
                    done<\"$d/environ\";done 2>/dev/null;:";

/// A command on its way.
#[derive(Debug)]
pub(super) struct EngineRun {
    engine: Engine,
    container: ContainerId,
    exec: ExecId,
    stream: ExecStream,
    marker: String,
    argv0: String,
    shell: bool,
    options: Options,
    started: Instant,
    last_output: Instant,
    ask_at: Instant,
    announced: bool,
    written: u64,
    told: u64,
    bytes: [u64; 2],
    /// Output that begins like the engine's own complaint about a start, kept until the exit code says what it is.
    complaint: Vec<(Stream, Bytes)>,
    /// The result, once `complaint` had to be given out before it.
    last: Option<Box<Outcome>>,
    ending: Option<Ending>,
    /// The engine said that it has ended; output is awaited until then.
    drain_until: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
struct Ending {
    death: Death,
    kill_at: Instant,
    termed: bool,
    killed: bool,
}

impl EngineRun {
    /// Creates and starts the command.
    pub(super) async fn start(
        engine: &Engine,
        container: &ContainerId,
        id: CommandId,
        plan: Plan,
        options: &Options,
    ) -> Result<Self, RunError> {
        let marker = format!("CREEL_COMMAND_ID={id}");
        let mut env = plan.env;
        env.push(("CREEL_COMMAND_ID".to_owned(), id.to_string()));
        let argv0 = plan.argv.first().cloned().unwrap_or_default();
        let spec = ExecSpec {
            argv: plan.argv,
            env,
            workdir: Some(plan.workdir),
            user: None,
            stdin: options.stdin || options.tty.is_some(),
            tty: options.tty,
        };
        let exec = engine.exec_create(container, &spec).await?;
        let stream = engine.exec_start(&exec, options.tty.is_some()).await?;
        if let Some((rows, cols)) = options.tty {
            // Too late for a command that has ended already; nothing is lost then.
            let _ = engine.exec_resize(&exec, rows, cols).await;
        }
        let now = Instant::now();
        Ok(Self {
            engine: engine.clone(),
            container: container.clone(),
            exec,
            stream,
            marker,
            argv0,
            shell: plan.shell,
            options: options.clone(),
            started: now,
            last_output: now,
            ask_at: now + ASK_EVERY,
            announced: false,
            written: 0,
            told: 0,
            bytes: [0; 2],
            complaint: Vec::new(),
            last: None,
            ending: None,
            drain_until: None,
        })
    }

    /// What happens next.
    pub(super) async fn next(&mut self) -> Result<Progress, RunError> {
        if !self.announced {
            self.announced = true;
            let pid = self.engine.exec_inspect(&self.exec).await.map_or(0, |facts| facts.pid);
            return Ok(Progress::Started(pid));
        }
        if self.written > self.told {
            self.told = self.written;
            return Ok(Progress::Input { taken: self.told, closed: false });
        }
        loop {
            if self.last.is_some() || !self.may_be_complaint() {
                if !self.complaint.is_empty() {
                    let (stream, data) = self.complaint.remove(0);
                    return Ok(Progress::Output(stream, data));
                }
                if let Some(outcome) = self.last.take() {
                    return Ok(Progress::Done(outcome));
                }
            }
            let wake = self.wake_at();
            tokio::select! {
                biased;
                piece = self.stream.output.next() => match piece {
                    Some(Ok((stdio, data))) => self.printed(stdio, data),
                    Some(Err(EngineError::Lost { .. })) | None => {
                        let end = self.finish(false).await;
                        self.unless_lost(end);
                    }
                    Some(Err(error)) => return Err(error.into()),
                },
                () = sleep_until(wake) => {
                    let acted = self.on_time().await;
                    self.unless_lost(acted);
                }
            }
        }
    }

    fn printed(&mut self, stdio: Stdio, data: Bytes) {
        self.last_output = Instant::now();
        let stream = if stdio == Stdio::Stderr { Stream::Stderr } else { Stream::Stdout };
        let [out, err] = &mut self.bytes;
        let total = if stream == Stream::Stdout { out } else { err };
        *total += u64::try_from(data.len()).unwrap_or(0);
        self.complaint.push((stream, data));
    }

    /// What was printed so far may be the engine's complaint: it is little, and it begins like one.
    fn may_be_complaint(&self) -> bool {
        let [out, err] = self.bytes;
        !self.complaint.is_empty() && out + err < 2048 && self.complaint_text().starts_with(COMPLAINT)
    }

    fn complaint_text(&self) -> String {
        let bytes: Vec<u8> = self.complaint.iter().flat_map(|(_, data)| data.iter().copied()).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn wake_at(&self) -> Instant {
        let limits = if self.ending.is_some() { [None, None] } else { self.limits() };
        let ending = self.ending.map(|ending| if ending.termed { ending.kill_at } else { self.started });
        let ending = ending.filter(|_| self.ending.is_some_and(|ending| !ending.killed));
        let others = [ending, self.drain_until, Some(self.ask_at)];
        limits.into_iter().chain(others).flatten().min().unwrap_or(self.ask_at)
    }

    fn limits(&self) -> [Option<Instant>; 2] {
        [
            self.options.timeout.map(|limit| self.started + limit),
            self.options.silence.map(|limit| self.last_output + limit),
        ]
    }

    /// Acts on whatever time has come.
    async fn on_time(&mut self) -> Result<(), EngineError> {
        let now = Instant::now();
        if self.drain_until.is_some_and(|until| now >= until) {
            return self.finish(true).await;
        }
        if self.ending.is_none() {
            let [timeout, silence] = self.limits();
            if timeout.is_some_and(|at| now >= at) {
                self.end(Death::Timeout, self.options.grace);
            } else if silence.is_some_and(|at| now >= at) {
                self.end(Death::NoOutputTimeout, self.options.grace);
            }
        }
        if let Some(mut ending) = self.ending {
            if !ending.termed {
                ending.termed = true;
                self.kill("TERM").await?;
            } else if now >= ending.kill_at && !ending.killed {
                ending.killed = true;
                self.kill("KILL").await?;
            }
            self.ending = Some(ending);
        }
        if now >= self.ask_at {
            self.ask_at = now + ASK_EVERY;
            let running = self.engine.exec_inspect(&self.exec).await?.running;
            if !running && self.drain_until.is_none() {
                self.drain_until = Some(Instant::now() + self.options.drain);
            }
        }
        Ok(())
    }

    fn end(&mut self, death: Death, grace: Duration) {
        let kill_at = Instant::now() + grace;
        let ending = self.ending.get_or_insert(Ending { death, kill_at, termed: false, killed: false });
        ending.kill_at = ending.kill_at.min(kill_at);
    }

    /// Ends the command on behalf of its caller.
    pub(super) fn cancel(&mut self, grace: Duration) {
        self.end(Death::Cancelled, grace);
    }

    /// Runs the kill command and waits for it. Where there is no shell, the command's own process is all that can
    /// be reached, and only from this machine.
    async fn kill(&self, signal: &str) -> Result<(), EngineError> {
        let argv = ["/bin/sh", "-c", KILL, "sh", &self.marker, signal].map(str::to_owned).to_vec();
        let spec = ExecSpec { argv, env: Vec::new(), workdir: None, user: None, stdin: false, tty: None };
        let exec = self.engine.exec_create(&self.container, &spec).await?;
        let mut stream = self.engine.exec_start(&exec, false).await?;
        while stream.output.next().await.is_some_and(|piece| piece.is_ok()) {}
        Ok(())
    }

    /// Sends a signal to every process of the command.
    pub(super) async fn signal(&self, signal: i32) -> Result<(), RunError> {
        Ok(self.kill(&signal.to_string()).await?)
    }

    /// The stream has ended, or is not awaited any longer: what does the engine say?
    async fn finish(&mut self, held: bool) -> Result<(), EngineError> {
        if held && self.ending.is_none() && !self.options.keep_leftovers {
            self.kill("KILL").await?;
        }
        let until = Instant::now() + CODE_WITHIN;
        let mut pause = Duration::from_millis(1);
        let code = loop {
            let facts = self.engine.exec_inspect(&self.exec).await?;
            match facts.exit_code {
                Some(KILLED) if !facts.running && self.container_ended().await => break None,
                Some(code) if !facts.running => break Some(code),
                _ if Instant::now() >= until => break None,
                _ => tokio::time::sleep(pause).await,
            }
            pause = (pause * 2).min(Duration::from_millis(100));
        };
        self.conclude(code);
        Ok(())
    }

    fn conclude(&mut self, code: Option<i64>) {
        let outcome = self.outcome(code.and_then(|code| i32::try_from(code).ok()));
        if outcome.start_failure.is_some() {
            self.complaint.clear();
        }
        self.last = Some(Box::new(outcome));
    }

    /// The engine or the container went away: an outcome of its own, not an error of the caller.
    fn unless_lost(&mut self, result: Result<(), EngineError>) {
        if let Err(error) = result {
            tracing::debug!(%error, "engine lost under a command");
            self.conclude(None);
        }
    }

    /// A container that ends kills its commands, and the engine passes that off as their own end. It tells of the
    /// container a moment later.
    async fn container_ended(&self) -> bool {
        let until = Instant::now() + CONTAINER_WITHIN;
        while self.ending.is_none() {
            match self.engine.inspect(&self.container.0).await {
                Ok(Some(facts)) if facts.running => {}
                _ => return true,
            }
            if Instant::now() >= until {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        false
    }

    fn outcome(&self, code: Option<i32>) -> Outcome {
        let start_failure = code.and_then(|code| self.start_failure(code));
        let death = match (self.ending, code) {
            (Some(ending), _) => ending.death,
            (None, None) => Death::EngineLost,
            (None, Some(_)) if start_failure.is_some() => Death::NotStarted,
            (None, Some(_)) => Death::Exit,
        };
        // A complaint is the engine's, not the command's.
        let [stdout_bytes, stderr_bytes] = if start_failure.is_some() { [0; 2] } else { self.bytes };
        Outcome {
            death,
            certainty: Certainty::Certain,
            code: code.filter(|_| start_failure.is_none()),
            signal: None,
            start_failure,
            errno: 0,
            wall: self.started.elapsed(),
            usage: None,
            processes: None,
            stdout_bytes,
            stderr_bytes,
            full: Vec::new(),
            transport: Transport::Engine,
        }
    }

    /// The engine reports a failed start as output and code 126 or 127; its words tell the step.
    fn start_failure(&self, code: i32) -> Option<StartFailure> {
        let text = self.complaint_text();
        if !matches!(code, 126 | 127) || !text.starts_with(COMPLAINT) {
            return None;
        }
        let missing =
            text.contains("no such file or directory") || text.contains("executable file not found");
        Some(if text.contains("chdir to cwd") || text.contains("cwd") {
            StartFailure::Workdir
        } else if missing && self.shell && text.contains(&self.argv0) {
            StartFailure::Shell
        } else if missing {
            StartFailure::NotFound
        } else {
            StartFailure::NotExecutable
        })
    }

    /// Writes to standard input; a command that takes no more is no error, it will end.
    pub(super) async fn write(&mut self, data: &[u8]) -> Result<(), RunError> {
        if self.stream.input.write_all(data).await.is_ok() && self.stream.input.flush().await.is_ok() {
            self.written += u64::try_from(data.len()).unwrap_or(0);
        }
        Ok(())
    }

    /// Ends standard input; on a terminal by its end-of-input character.
    pub(super) async fn close_input(&mut self) -> Result<(), RunError> {
        if self.options.tty.is_some() {
            return self.write(b"\x04").await;
        }
        let input: Pin<&mut _> = self.stream.input.as_mut();
        let _ = { input }.shutdown().await;
        Ok(())
    }

    /// Gives the terminal a new size.
    pub(super) async fn resize(&self, rows: u16, cols: u16) -> Result<(), RunError> {
        Ok(self.engine.exec_resize(&self.exec, rows, cols).await?)
    }
}
