//! A command over the engine's exec API, made to look as much like one over init as the engine allows.
//!
//! The engine cannot end a command, says nothing when one that has ended is still waited for by others, and knows
//! neither usage nor cause. So: the end is asked for as well as listened for, and a kill is a second command that
//! finds the first one's processes by a marker in their environment.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::time::{Instant, sleep_until};

use super::engine_errand::{Errand, News, Target};
use super::engine_input::Input;
use super::outcome::{Certainty, Death, StartFailure};
use super::running::{Options, Progress};
use super::{Outcome, Plan, RunError, Transport};
use crate::engine::{ContainerId, Engine, EngineError, ExecId, ExecSpec, ExecStream, Stdio};
use crate::wire::{CommandId, Stream};

/// How often the engine is asked whether a command that is still streaming has ended.
const ASK_EVERY: Duration = Duration::from_millis(250);
/// Without a stream to watch it is asked sooner at first, then this often.
const ASK_CLOSED: Duration = Duration::from_millis(100);
/// How long the engine may take, after the command's end, to know the exit code.
const CODE_WITHIN: Duration = Duration::from_secs(5);
/// KILL is sent again after this long, so often; then the command is given up.
const KILL_AGAIN: Duration = Duration::from_secs(1);
const MAX_KILLS: u32 = 6;
/// How long output is taken from somebody else after everything of the command has been killed.
const OUTSIDER_LIMIT: Duration = Duration::from_secs(10);

/// How the engine's own complaint about a start begins; it comes as if the command had printed it.
const COMPLAINT: &str = "OCI runtime exec failed";

/// A command on its way.
#[derive(Debug)]
pub(super) struct EngineRun {
    target: Target,
    exec: ExecId,
    stream: ExecStream,
    errand: Errand,
    argv0: String,
    shell: bool,
    options: Options,
    started: Instant,
    last_output: Instant,
    ask_at: Instant,
    pause: Duration,
    /// Its process id, until that has been told.
    pid: Option<i32>,
    announced: bool,
    input: Input,
    bytes: [u64; 2],
    /// Output that begins like the engine's own complaint about a start, kept until the exit code says what it is.
    complaint: Vec<(Stream, Bytes)>,
    /// The result, once `complaint` had to be given out before it.
    last: Option<Box<Outcome>>,
    ending: Option<Ending>,
    /// More output may come, and is awaited.
    open: bool,
    /// The command's own process has ended.
    ended: Option<Ended>,
    /// How its output is awaited after that.
    drain: Option<Drain>,
    /// The container ended under it.
    stopped: bool,
    concluded: bool,
}

#[derive(Debug, Clone, Copy)]
struct Ending {
    death: Death,
    /// When KILL is due, the first time or again.
    kill_at: Instant,
    termed: bool,
    kills: u32,
}

#[derive(Debug, Clone, Copy)]
struct Ended {
    at: Instant,
    /// `None` where the engine does not say.
    code: Option<i32>,
    /// The engine or the container is gone: there is nothing to ask.
    lost: bool,
}

impl Ended {
    /// The code is there, or will not come.
    fn known(self, now: Instant) -> bool {
        self.lost || self.code.is_some() || now >= self.at + CODE_WITHIN
    }
}

#[derive(Debug, Clone, Copy)]
struct Drain {
    /// A quiet stream is not awaited longer than this.
    until: Instant,
    /// Any stream is not awaited longer than this, once what held it has been killed.
    give_up: Option<Instant>,
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
            target: Target { engine: engine.clone(), container: container.clone(), marker },
            exec,
            stream,
            errand: Errand::default(),
            argv0,
            shell: plan.shell,
            options: options.clone(),
            started: now,
            last_output: now,
            ask_at: now,
            pause: Duration::from_millis(1),
            pid: None,
            announced: false,
            input: Input::default(),
            bytes: [0; 2],
            complaint: Vec::new(),
            last: None,
            ending: None,
            open: true,
            ended: None,
            drain: None,
            stopped: false,
            concluded: false,
        })
    }

    /// What happens next.
    pub(super) async fn next(&mut self) -> Result<Progress, RunError> {
        loop {
            if let Some(progress) = self.ready() {
                return Ok(progress);
            }
            // Before the output: what prints without a pause is no less limited.
            if let Some(news) = self.errand.already_back() {
                self.learn(news);
            }
            self.on_time();
            if self.last.is_some() {
                continue;
            }
            let wake = self.wake_at();
            tokio::select! {
                biased;
                piece = self.stream.output.next(), if self.open => match piece {
                    Some(Ok((stdio, data))) => self.printed(stdio, data),
                    Some(Err(EngineError::Lost { .. })) | None => self.close(),
                    Some(Err(error)) => return Err(error.into()),
                },
                news = self.errand.back() => self.learn(news),
                () = self.input.feed(self.stream.input.as_mut()) => {}
                () = sleep_until(wake) => self.on_quiet(),
            }
        }
    }

    /// Nothing has come for a while: after the drain time, with everything killed, nothing is expected either.
    fn on_quiet(&mut self) {
        let over = |drain: Drain| drain.give_up.is_some() && Instant::now() >= drain.until;
        if !self.errand.busy() && self.drain.is_some_and(over) {
            self.close();
        }
    }

    /// What can be told now.
    fn ready(&mut self) -> Option<Progress> {
        if let Some(pid) = self.pid.take() {
            return Some(Progress::Started(pid));
        }
        if self.last.is_some() || !self.may_be_complaint() {
            if !self.complaint.is_empty() {
                let (stream, data) = self.complaint.remove(0);
                return Some(Progress::Output(stream, data));
            }
            if let Some(outcome) = self.last.take() {
                return Some(Progress::Done(outcome));
            }
        }
        self.input.news()
    }

    /// The stream is over, or not awaited any longer. The command itself may run on without one.
    fn close(&mut self) {
        if self.open {
            self.open = false;
            self.ask_at = Instant::now();
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
        !self.complaint.is_empty() && out + err < 2048 && self.complains()
    }

    fn complains(&self) -> bool {
        let text = self.complaint_text();
        text.starts_with(COMPLAINT) || text.starts_with(&format!("exec {}: ", self.argv0))
    }

    fn complaint_text(&self) -> String {
        let bytes: Vec<u8> = self.complaint.iter().flat_map(|(_, data)| data.iter().copied()).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// When something is due next, as far as that is not an errand that is under way.
    fn wake_at(&self) -> Instant {
        let far = Instant::now() + ASK_EVERY;
        let runs = self.ended.is_none();
        let limits = if runs && self.ending.is_none() { self.limits() } else { [None, None] };
        let graced = self.ending.is_none_or(|ending| ending.kills > 0);
        let drain = self.drain.filter(|_| self.open && graced);
        let mut next = limits.into_iter().flatten().min().unwrap_or(far);
        if !self.errand.busy() {
            let ending = self.ending.filter(|ending| runs || ending.kills == 0);
            let ending = ending.map(|ending| if ending.termed { ending.kill_at } else { self.started });
            let ask = self.ended.is_none_or(|ended| ended.code.is_none()).then_some(self.ask_at);
            let drain = drain.map(|drain| drain.until);
            next = [ending, ask, drain].into_iter().flatten().min().map_or(next, |at| at.min(next));
        }
        next
    }

    fn limits(&self) -> [Option<Instant>; 2] {
        [
            self.options.timeout.map(|limit| self.started + limit),
            self.options.silence.map(|limit| self.last_output + limit),
        ]
    }

    /// Acts on whatever time has come. One thing at a time: what is due beside it waits.
    fn on_time(&mut self) {
        let now = Instant::now();
        if self.ended.is_none() && self.ending.is_none() {
            let [timeout, silence] = self.limits();
            if timeout.is_some_and(|at| now >= at) {
                self.end(Death::Timeout, self.options.grace);
            } else if silence.is_some_and(|at| now >= at) {
                self.end(Death::NoOutputTimeout, self.options.grace);
            }
        }
        if self.drain.is_some_and(|drain| drain.give_up.is_some_and(|at| now >= at)) {
            self.close();
        }
        if self.errand.busy() || self.last.is_some() {
            return;
        }
        if let Some(signal) = self.due_signal(now) {
            self.errand.signal(self.target.clone(), signal);
        } else if now >= self.ask_at && self.ended.is_none_or(|ended| ended.code.is_none() && !ended.lost) {
            self.errand.ask(&self.target, &self.exec, self.ending.is_some());
        } else if !self.open && self.ended.is_some_and(|ended| ended.known(now)) {
            self.conclude();
        }
    }

    /// TERM at first, KILL when the grace is over, and again where that could not be done; and KILL for whatever
    /// holds the output of a command that has ended, once the drain time is over.
    fn due_signal(&mut self, now: Instant) -> Option<&'static str> {
        if let Some(ending) = &mut self.ending {
            if !ending.termed {
                ending.termed = true;
                return Some("TERM");
            }
            // With its own process and its output gone, what else it started may not have listened to TERM.
            let over = !self.open && self.ended.is_some_and(|ended| ended.known(now));
            let due = now >= ending.kill_at && self.ended.is_none();
            if due && ending.kills >= MAX_KILLS {
                self.ended = Some(Ended { at: now, code: None, lost: true });
                self.close();
                return None;
            }
            if due || (ending.kills == 0 && (over || now >= ending.kill_at)) {
                ending.kills += 1;
                ending.kill_at = now + KILL_AGAIN;
                return Some("KILL");
            }
        }
        let drain = self.drain.as_mut().filter(|_| self.open)?;
        let waits = self.ending.is_some_and(|ending| ending.kills == 0);
        if drain.give_up.is_some() || waits || now < drain.until {
            return None;
        }
        // What was printed before the kill is read first; only then is the stream quiet.
        drain.give_up = Some(now + OUTSIDER_LIMIT);
        let kill = self.ending.is_none() && !self.options.keep_leftovers;
        drain.until = if self.options.keep_leftovers { now } else { now + self.options.drain };
        kill.then_some("KILL")
    }

    /// Takes in what the engine answered.
    fn learn(&mut self, news: News) {
        let now = Instant::now();
        let facts = match news {
            News::Signalled => {
                self.ask_at = now;
                if let Some(drain) = self.drain.as_mut().filter(|drain| drain.give_up.is_some()) {
                    drain.until = now + self.options.drain;
                }
                return;
            }
            News::Stopped => {
                self.stopped = true;
                self.ended = Some(Ended { at: now, code: None, lost: true });
                return self.close();
            }
            News::Facts(facts) => facts,
        };
        match facts {
            Ok(facts) if facts.running => {
                // Asked too early, the engine says that it does not run.
                (self.ended, self.drain) = (None, None);
                if !self.announced && facts.pid > 0 {
                    self.announced = true;
                    self.pid = Some(facts.pid);
                }
            }
            Ok(facts) => {
                let code = facts.exit_code.and_then(|code| i32::try_from(code).ok());
                let at = self.ended.map_or(now, |ended| ended.at);
                self.ended = Some(Ended { at, code, lost: false });
                if code.is_some() {
                    self.drain.get_or_insert(Drain { until: now + self.options.drain, give_up: None });
                }
            }
            Err(error) => {
                tracing::debug!(%error, "engine lost under a command");
                self.ended = Some(Ended { at: now, code: None, lost: true });
                self.close();
            }
        }
        self.ask_at = now + if self.open { ASK_EVERY } else { self.pause };
        if !self.open {
            self.pause = (self.pause * 2).min(ASK_CLOSED);
        }
    }

    fn end(&mut self, death: Death, grace: Duration) {
        let kill_at = Instant::now() + grace;
        let ending = self.ending.get_or_insert(Ending { death, kill_at, termed: false, kills: 0 });
        if ending.kills == 0 {
            ending.kill_at = ending.kill_at.min(kill_at);
        }
    }

    /// Ends the command on behalf of its caller.
    pub(super) fn cancel(&mut self, grace: Duration) {
        self.end(Death::Cancelled, grace);
    }

    /// Sends a signal to every process of the command.
    pub(super) async fn signal(&self, signal: i32) -> Result<(), RunError> {
        Ok(self.target.signal(&signal.to_string()).await?)
    }

    /// Everything there will be is known.
    fn conclude(&mut self) {
        self.concluded = true;
        let outcome = self.outcome(self.ended.and_then(|ended| ended.code));
        if outcome.start_failure.is_some() {
            self.complaint.clear();
        }
        self.last = Some(Box::new(outcome));
    }

    fn outcome(&self, code: Option<i32>) -> Outcome {
        if self.stopped && self.ending.is_none() {
            return Outcome::stopped(Transport::Engine, self.started.elapsed(), self.bytes);
        }
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
            limits: None,
            transport: Transport::Engine,
        }
    }

    /// The engine reports a failed start as output and code 126 or 127; its words tell the step.
    fn start_failure(&self, code: i32) -> Option<StartFailure> {
        let text = self.complaint_text();
        // runc's last step fails in the command's own place: one line on its standard error, and code 1 or 255.
        if let (1 | 255, Some(reason)) = (code, text.strip_prefix(&*format!("exec {}: ", self.argv0))) {
            return match reason.trim_end() {
                "no such file or directory" => Some(StartFailure::NotFound),
                "exec format error" | "permission denied" => Some(StartFailure::NotExecutable),
                _ => None,
            };
        }
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

    /// Takes bytes for standard input.
    pub(super) fn write(&mut self, data: &[u8]) {
        self.input.push(data);
    }

    /// Ends standard input; on a terminal by its end-of-input character.
    pub(super) fn close_input(&mut self) {
        if self.options.tty.is_some() {
            self.input.push(b"\x04");
        } else {
            self.input.end();
        }
    }

    /// Gives the terminal a new size.
    pub(super) async fn resize(&self, rows: u16, cols: u16) -> Result<(), RunError> {
        match self.target.engine.exec_resize(&self.exec, rows, cols).await {
            // It has ended already: its result is on the way.
            Ok(()) | Err(EngineError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for EngineRun {
    /// The engine would let the command run on.
    fn drop(&mut self) {
        if !self.concluded {
            self.target.clone().end_alone(self.options.grace);
        }
    }
}
