//! Starts a command under a permit and follows it to its end, over either road.

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::channel::Channel;
use super::engine_run::EngineRun;
use super::host_plan::HostSetting;
use super::link::Event;
use super::{Death, Limits, Link, LinkError, Outcome, Plan, RunError, Setting, Transport};
use crate::approvals::{HostPermit, Permit};
use crate::engine::{ContainerId, Engine};
use crate::wire::{CommandId, Refusal, Spawn, Stream};

/// How a command is run. Times are limits on the whole command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Standard input stays open for [`Running::write`]; otherwise it is at its end at once.
    pub stdin: bool,
    /// A terminal of this many rows and columns instead of pipes.
    pub tty: Option<(u16, u16)>,
    /// The command is ended this long after its start; `None` is never (spec `exec.md` §5.2).
    pub timeout: Option<Duration>,
    /// The command is ended when it has printed nothing for this long.
    pub silence: Option<Duration>,
    /// Time between TERM and KILL (spec `exec.md` §5.1: 5 s).
    pub grace: Duration,
    /// How long output is awaited after the command's own process ended while something else holds it open.
    pub drain: Duration,
    /// How long the command may live without its owner (design §10: 30 s for a foreground command).
    pub lease: Option<Duration>,
    /// Background processes of a finished command are left alone instead of ended.
    pub keep_leftovers: bool,
    /// What the command may use at most.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            stdin: false,
            tty: None,
            timeout: Some(Duration::from_mins(30)),
            silence: None,
            grace: Duration::from_secs(5),
            drain: Duration::from_millis(250),
            lease: Some(Duration::from_secs(30)),
            keep_leftovers: false,
            limits: Limits::default(),
        }
    }
}

/// The way into a sandbox.
#[derive(Debug, Clone)]
pub enum Road {
    /// Its init.
    Init(Link),
    /// The engine's exec API.
    Engine(Engine, ContainerId),
}

impl Road {
    /// Its name.
    pub fn transport(&self) -> Transport {
        match self {
            Self::Init(_) => Transport::Init,
            Self::Engine(..) => Transport::Engine,
        }
    }
}

/// Something that a running command does.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// It runs as this process in the container.
    Started(i32),
    /// It printed these bytes.
    Output(Stream, Bytes),
    /// It has taken standard input up to here; with `closed` it takes no more.
    Input {
        /// Bytes since the start.
        taken: u64,
        /// It closed its end.
        closed: bool,
    },
    /// It ended. Nothing follows.
    Done(Box<Outcome>),
}

/// A command on its way. Dropped before its end, it is ended.
#[derive(Debug)]
pub struct Running {
    via: Via,
    id: CommandId,
    shell: bool,
    grace: Duration,
    input: Input,
    started: Instant,
    /// Bytes of both streams that came.
    bytes: [u64; 2],
    /// Told next, before anything else happens.
    queued: Option<Progress>,
    /// It is known to run, or to have run: what is refused from here on is a request.
    begun: bool,
    done: bool,
    /// Dropped before its end, it is ended.
    ends_with_us: bool,
}

/// Standard input of a command: how far it was sent, and taken.
#[derive(Debug, Default)]
struct Input {
    written: u64,
    taken: u64,
    ended: bool,
    /// The command takes no more: what is written is nobody's.
    gone: bool,
    /// What waits until init has said where an adopted command's input goes on.
    waiting: Option<Vec<u8>>,
}

#[derive(Debug)]
enum Via {
    Init(Channel),
    Engine(Box<EngineRun>),
}

/// Starts what the permit allows, and nothing else.
pub async fn start(
    permit: &Permit,
    setting: &Setting,
    options: &Options,
    road: &Road,
) -> Result<Running, RunError> {
    start_as(fresh_id()?, permit, setting, options, road).await
}

/// As [`start`], under an id that was recorded before: said twice, it is one command.
pub async fn start_as(
    id: CommandId,
    permit: &Permit,
    setting: &Setting,
    options: &Options,
    road: &Road,
) -> Result<Running, RunError> {
    let plan = Plan::new(permit, setting, options.tty.is_some());
    launch(id, permit, plan, options, road).await
}

/// Starts what the permit allows beside the gateway, over its own supervisor's link.
pub async fn start_on_host(
    id: CommandId,
    permit: &HostPermit,
    setting: &HostSetting,
    options: &Options,
    link: &Link,
) -> Result<Running, RunError> {
    super::pinned::in_time(permit)?;
    let plan = setting.plan(permit.command(), options.tty.is_some());
    tracing::debug!(permit = permit.digest(), %id, "start on the host");
    let (shell, mut spawn) = (plan.shell, request(id, plan, options));
    super::pinned::lay(&mut spawn, permit);
    Ok(Running::new(Via::Init(link.spawn(spawn)?), id, shell, options.grace))
}

async fn launch(
    id: CommandId,
    permit: &Permit,
    plan: Plan,
    options: &Options,
    road: &Road,
) -> Result<Running, RunError> {
    tracing::debug!(permit = permit.digest(), %id, road = ?road.transport(), "start");
    let shell = plan.shell;
    if !options.limits.is_none() && road.transport() == Transport::Engine {
        return Err(RunError::LimitsNotHeld);
    }
    let via = match road {
        Road::Init(link) => Via::Init(link.spawn(request(id, plan, options))?),
        Road::Engine(engine, container) => {
            Via::Engine(Box::new(EngineRun::start(engine, container, id, plan, options).await?))
        }
    };
    Ok(Running::new(via, id, shell, options.grace))
}

/// A name for a command that nobody can guess.
pub fn fresh_id() -> Result<CommandId, RunError> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|error| RunError::Random { reason: error.to_string() })?;
    Ok(CommandId(id))
}

fn request(id: CommandId, plan: Plan, options: &Options) -> Spawn {
    let millis = |time: Option<Duration>| {
        time.map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1))
    };
    let short = |time: Duration| u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
    Spawn {
        id,
        argv: plan.argv.into_iter().map(String::into_bytes).collect(),
        env: plan.env.into_iter().map(|(name, value)| format!("{name}={value}").into_bytes()).collect(),
        cwd: plan.workdir.into_bytes(),
        stdin: options.stdin,
        pty: options.tty.unwrap_or_default(),
        timeout_ms: millis(options.timeout),
        silence_ms: millis(options.silence),
        grace_ms: short(options.grace),
        drain_ms: short(options.drain),
        lease_ms: millis(options.lease),
        keep_leftovers: options.keep_leftovers,
        ring: 0,
        limits: options.limits.on_wire(),
        program: Vec::new(),
        pins: Vec::new(),
    }
}

/// Bytes of input that may be under way; init refuses more.
const INPUT_WINDOW: u64 = 256 * 1024;

impl Running {
    fn new(via: Via, id: CommandId, shell: bool, grace: Duration) -> Self {
        Self {
            via,
            id,
            shell,
            grace,
            input: Input::default(),
            started: Instant::now(),
            bytes: [0; 2],
            queued: None,
            begun: false,
            done: false,
            ends_with_us: true,
        }
    }

    /// Takes a command over that runs already, or has ended and waits to be told; output comes from `from` on, the
    /// number of bytes of both streams that are safe here. Dropped, it goes on.
    ///
    /// Its input goes on where it stopped; [`Progress::Input`] says where that is and whether it takes more. Where init
    /// does not know the command, [`Self::next`] fails with [`RunError::Unknown`]; where another creel owns it, with
    /// [`LinkError::Refused`].
    pub fn adopt(
        link: &Link,
        id: CommandId,
        from: u64,
        shell: bool,
        grace: Duration,
    ) -> Result<Self, RunError> {
        let mut running = Self::new(Via::Init(link.attach(id, true, from)?), id, shell, grace);
        running.input.waiting = Some(Vec::new());
        running.outlive();
        Ok(running)
    }

    /// From here on the command outlives this value, and its init keeps the result until [`Self::settle`]. Over the
    /// engine's exec API nothing changes: it can do neither.
    pub fn outlive(&mut self) {
        self.ends_with_us = false;
        if let Via::Init(channel) = &mut self.via {
            channel.forgets = false;
        }
    }

    /// Says that output and result are safe here: init forgets the command.
    pub fn settle(&mut self) -> Result<(), RunError> {
        match &mut self.via {
            Via::Init(channel) => told(channel.forget()),
            Via::Engine(_) => Ok(()),
        }
    }

    /// The road that it took.
    pub fn transport(&self) -> Transport {
        match &self.via {
            Via::Init(_) => Transport::Init,
            Via::Engine(_) => Transport::Engine,
        }
    }

    /// The command's name, for [`Link::attach`] from another process.
    pub fn id(&self) -> CommandId {
        self.id
    }

    /// How long the command may live without its owner from now on; `None` is for ever (design §10). Over the engine's exec
    /// API nothing changes.
    pub fn hold(&mut self, lease: Option<Duration>) -> Result<(), RunError> {
        match &mut self.via {
            Via::Init(channel) => told(channel.lease(lease)),
            Via::Engine(_) => Ok(()),
        }
    }

    /// Bytes of both streams that were handed out: the end of the last [`Progress::Output`] in the order of both, and
    /// where [`Self::adopt`] can go on. A piece that begins later than the one before ended tells of output that is lost.
    pub fn position(&self) -> u64 {
        match &self.via {
            Via::Init(channel) => channel.position(),
            Via::Engine(_) => self.bytes.iter().sum(),
        }
    }

    /// What happens next. After [`Progress::Done`] nothing does.
    pub async fn next(&mut self) -> Result<Progress, RunError> {
        let progress = match self.queued.take() {
            Some(progress) => progress,
            None => self.await_next().await?,
        };
        match &progress {
            Progress::Output(stream, data) => {
                let [out, err] = &mut self.bytes;
                let total = if *stream == Stream::Stderr { err } else { out };
                *total += u64::try_from(data.len()).unwrap_or(0);
            }
            Progress::Input { taken, closed } => {
                self.input.taken = self.input.taken.max(*taken);
                self.input.gone |= *closed;
            }
            Progress::Started(_) | Progress::Done(_) => {}
        }
        self.done |= matches!(progress, Progress::Done(_));
        Ok(progress)
    }

    async fn await_next(&mut self) -> Result<Progress, RunError> {
        loop {
            let event = match &mut self.via {
                Via::Engine(run) => return run.next().await,
                Via::Init(channel) => match channel.next().await {
                    Ok(event) => event,
                    Err(LinkError::Lost { .. }) if channel.link().has_ended().await => {
                        let wall = self.started.elapsed();
                        let mut outcome = Outcome::stopped(Transport::Init, wall, self.bytes);
                        if channel.link().beside {
                            outcome.death = Death::SupervisorLost;
                        }
                        return Ok(Progress::Done(Box::new(outcome)));
                    }
                    Err(error) => return Err(error.into()),
                },
            };
            if let Some(progress) = self.take(event)? {
                return Ok(progress);
            }
        }
    }

    /// Takes an event in. `None` where it is nobody else's business.
    fn take(&mut self, event: Event) -> Result<Option<Progress>, RunError> {
        if let Event::Refused { reason, errno } = event {
            return match reason {
                _ if self.begun => {
                    tracing::debug!(id = %self.id, ?reason, errno, "a request about a command was refused");
                    Ok(None)
                }
                Refusal::Unknown => Err(RunError::Unknown { id: self.id }),
                _ => Err(LinkError::Refused { reason, errno }.into()),
            };
        }
        self.begun = true;
        Ok(Some(match event {
            Event::Started { pid, input, open, .. } => {
                let place = self.go_on_with_input(input, open)?;
                if pid == 0 {
                    // Said again when it is known.
                    return Ok(place);
                }
                self.queued = place;
                Progress::Started(pid)
            }
            Event::Output { stream, data, .. } => Progress::Output(stream, data),
            Event::StdinTaken { offset, closed } => Progress::Input { taken: offset, closed },
            Event::Exit(exit) => Progress::Done(Box::new(Outcome::from_exit(*exit, self.shell))),
            Event::Refused { .. } => return Ok(None),
        }))
    }

    /// Sends what waited for the place where an adopted command's input goes on, and tells that place.
    fn go_on_with_input(&mut self, place: u64, open: bool) -> Result<Option<Progress>, RunError> {
        let Some(waiting) = self.input.waiting.take() else { return Ok(None) };
        (self.input.written, self.input.taken) = (place, place);
        if open && (!waiting.is_empty() || self.input.ended) {
            let ended = self.input.ended;
            self.send_input(waiting, ended)?;
        }
        Ok(Some(Progress::Input { taken: place, closed: !open }))
    }

    /// How many bytes [`Self::write`] takes now. More follow with [`Progress::Input`].
    pub fn input_room(&self) -> u64 {
        let kept = self.input.waiting.as_ref().map_or(0, Vec::len);
        let waiting = self.input.written.saturating_sub(self.input.taken);
        INPUT_WINDOW.saturating_sub(waiting.saturating_add(u64::try_from(kept).unwrap_or(u64::MAX)))
    }

    /// Sends bytes to standard input. Returns at once; [`Progress::Input`] tells how far they have got, and no more
    /// than 256 KiB may be under way.
    ///
    /// # Errors
    ///
    /// [`RunError::InputFull`] and [`RunError::InputEnded`]: nothing was sent, the command goes on.
    #[expect(clippy::unused_async, reason = "another transport may have to wait")]
    pub async fn write(&mut self, data: Vec<u8>) -> Result<(), RunError> {
        if let Via::Engine(run) = &mut self.via {
            run.write(&data);
            return Ok(());
        }
        if self.input.ended {
            return Err(RunError::InputEnded { id: self.id });
        }
        if self.input.gone {
            return Ok(());
        }
        let room = self.input_room();
        if u64::try_from(data.len()).unwrap_or(u64::MAX) > room {
            return Err(RunError::InputFull { id: self.id, waiting: INPUT_WINDOW - room });
        }
        match &mut self.input.waiting {
            Some(kept) => {
                kept.extend_from_slice(&data);
                Ok(())
            }
            None => self.send_input(data, false),
        }
    }

    /// Ends standard input.
    #[expect(clippy::unused_async, reason = "another transport may have to wait")]
    pub async fn close_input(&mut self) -> Result<(), RunError> {
        if let Via::Engine(run) = &mut self.via {
            run.close_input();
            return Ok(());
        }
        if std::mem::replace(&mut self.input.ended, true) || self.input.waiting.is_some() {
            return Ok(());
        }
        self.send_input(Vec::new(), true)
    }

    fn send_input(&mut self, data: Vec<u8>, ends: bool) -> Result<(), RunError> {
        let Via::Init(channel) = &self.via else { return Ok(()) };
        let offset = self.input.written;
        self.input.written += u64::try_from(data.len()).unwrap_or(0);
        told(channel.stdin(offset, data, ends))
    }

    /// Ends the command and everything it started; [`Progress::Done`] tells the result.
    pub fn kill(&mut self) -> Result<(), RunError> {
        self.kill_within(self.grace)
    }

    /// As [`Self::kill`], with another time between TERM and KILL; said again, the shorter one counts.
    pub fn kill_within(&mut self, grace: Duration) -> Result<(), RunError> {
        match &mut self.via {
            Via::Init(channel) => told(channel.kill(grace)),
            Via::Engine(run) => {
                run.cancel(grace);
                Ok(())
            }
        }
    }

    /// Sends a signal to every process of the command.
    pub async fn signal(&mut self, signal: i32) -> Result<(), RunError> {
        match &mut self.via {
            Via::Init(channel) => told(channel.signal(signal)),
            Via::Engine(run) => run.signal(signal).await,
        }
    }

    /// Gives the terminal a new size.
    pub async fn resize(&mut self, rows: u16, cols: u16) -> Result<(), RunError> {
        match &mut self.via {
            Via::Init(channel) => told(channel.resize(rows, cols)),
            Via::Engine(run) => run.resize(rows, cols).await,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let (false, true, Via::Init(channel)) = (self.done, self.ends_with_us, &self.via) {
            // Best effort: where the connection is gone, the lease ends the command.
            let _ = channel.kill(self.grace);
        }
    }
}

/// A request on a connection that is over is no failure of its own: [`Running::next`] tells what became of the command.
fn told(result: Result<(), LinkError>) -> Result<(), RunError> {
    match result {
        Err(LinkError::Lost { .. }) => Ok(()),
        other => Ok(other?),
    }
}
