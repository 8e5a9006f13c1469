//! Follows one command to its end: output into the spool before init may forget it, requests to the command, the end
//! into the database before init may forget that.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::ProcessError;
use super::adopt::{Found, find, without_init};
use super::core::Core;
use super::entry::{Entry, Order};
use super::finish::{finish, lost_outcome, never_ran, not_started};
use super::input::Sent;
use super::insist::insist;
use super::query::{ANSWER, Queries};
use crate::process::record::Phase;
use crate::process::store::now_ms;
use crate::runner::{Death, LinkError, Outcome, Progress, RunError, Running};
use crate::wire::{Refusal, Stream};

/// How long a request to write waits for a program that does not read.
const INPUT_PATIENCE: Duration = Duration::from_secs(10);
/// Pause before output that could not be stored is tried again.
const RETRY: Duration = Duration::from_millis(250);
/// Without output for so long, the spool's file is closed: thousands of quiet sessions need no descriptor each.
const QUIET: Duration = Duration::from_secs(2);
/// Input larger than this goes in parts.
const INPUT_PART: usize = 32 * 1024;

/// Follows a command; `None` where it is to be found again first.
pub(super) async fn follow(core: Arc<Core>, entry: Arc<Entry>, running: Option<Running>) {
    let Some(mut orders) = entry.lock().waiting.take() else { return };
    if let Some(limit) = entry.begin.timeout_ms {
        let passed = now_ms().saturating_sub(entry.started_ms);
        insist(&entry, Duration::from_millis(limit.saturating_sub(passed)));
    }
    let (mut next, mut sent) = (running, Sent::default());
    loop {
        let (running, place) = match next.take() {
            Some(running) => (running, Some(0)),
            None => match find(&core, &entry).await {
                Found::Running(running, place) => (*running, place),
                Found::NeverRan => return never_ran(&core, &entry),
                Found::Lost(outcome, reason) => {
                    return finish(&core, &entry, outcome, Some(reason), None).await;
                }
            },
        };
        let mut following = Following::new(&core, &entry, running, &mut sent);
        if let Some(place) = place {
            following.go_on_with_input(place).await;
        }
        match following.run(&mut orders).await {
            Last::Done(outcome, lost) => {
                let lost = match lost {
                    Some(reason) => Some(without_init(&entry, reason).await),
                    None => None,
                };
                return finish(&core, &entry, outcome, lost, Some(&mut following.running)).await;
            }
            Last::Broken(reason) => {
                tracing::debug!(session = %entry.id, %reason, "connection lost");
                entry.lock().trouble = Some(reason);
            }
        }
    }
}

/// Why the following stopped.
enum Last {
    /// The command ended; or its end is not to be had, and why.
    Done(Outcome, Option<String>),
    /// The connection is over, the command may run on.
    Broken(String),
}

/// A request to write that is not done.
#[derive(Debug)]
struct Writing {
    data: Vec<u8>,
    sent: usize,
    eof: bool,
    until: Instant,
    answer: oneshot::Sender<Result<(), ProcessError>>,
}

struct Following<'a> {
    core: &'a Core,
    entry: &'a Entry,
    running: Running,
    /// Came, and could not be stored.
    unstored: Option<(Stream, u64, Bytes)>,
    retry_at: Instant,
    queries: Queries,
    writes: VecDeque<Writing>,
    sent: &'a mut Sent,
    /// Where its input goes on is known, and what was lost with another connection is on its way.
    in_step: bool,
    last_output: Instant,
    file_open: bool,
}

impl<'a> Following<'a> {
    fn new(core: &'a Core, entry: &'a Entry, running: Running, sent: &'a mut Sent) -> Self {
        let (unstored, queries, writes) = (None, Queries::default(), VecDeque::new());
        let (retry_at, last_output) = (Instant::now(), Instant::now());
        let (in_step, file_open) = (false, false);
        Self {
            core,
            entry,
            running,
            unstored,
            retry_at,
            queries,
            writes,
            sent,
            in_step,
            last_output,
            file_open,
        }
    }

    async fn run(&mut self, orders: &mut mpsc::UnboundedReceiver<Order>) -> Last {
        self.catch_up_with_wishes();
        loop {
            self.store_again();
            self.write_on().await;
            let timer = self.next_timer();
            tokio::select! {
                Some(order) = orders.recv() => self.obey(order).await,
                // Asking for the next event says that the one before is stored.
                progress = self.running.next(), if self.unstored.is_none() => match progress {
                    Ok(Progress::Done(outcome)) => return done(*outcome),
                    Ok(progress) => self.take(progress).await,
                    Err(error) => return self.failed(&error),
                },
                () = sleep_until(timer) => self.on_time(),
            }
        }
    }

    /// What was asked for before this connection was there.
    fn catch_up_with_wishes(&mut self) {
        let (unwanted, background) = {
            let mut state = self.entry.lock();
            state.trouble = None;
            (state.requested || state.deserted, state.backgrounded)
        };
        if background {
            self.release();
        }
        if unwanted {
            self.kill();
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        let retry = self.unstored.is_some().then_some(self.retry_at);
        let input = self.writes.front().map(|writing| writing.until);
        let quiet = self.file_open.then(|| self.last_output + QUIET);
        [retry, input, quiet].into_iter().flatten().min()
    }

    fn on_time(&mut self) {
        let now = Instant::now();
        if self.file_open && now >= self.last_output + QUIET {
            self.entry.lock().spool.rest();
            self.file_open = false;
        }
        if self.writes.front().is_some_and(|writing| now >= writing.until)
            && let Some(writing) = self.writes.pop_front()
        {
            let (taken, of) = (writing.sent, writing.data.len());
            let full = ProcessError::InputFull { id: self.entry.id.clone(), taken, of };
            let _ = writing.answer.send(Err(full));
        }
    }

    async fn take(&mut self, progress: Progress) {
        self.core.confirm(self.entry);
        match progress {
            Progress::Started(pid) => {
                self.entry.lock().pid = Some(pid);
                self.entry.touch();
            }
            Progress::Output(stream, data) => {
                self.answer_queries(&data).await;
                let seq = self.running.position().saturating_sub(u64::try_from(data.len()).unwrap_or(0));
                self.unstored = Some((stream, seq, data));
                self.retry_at = Instant::now();
                self.store_again();
            }
            Progress::Input { taken, closed } => {
                if self.in_step {
                    self.sent.taken(taken);
                } else {
                    self.go_on_with_input(taken).await;
                }
                if closed {
                    self.close_input();
                }
            }
            Progress::Done(_) => {}
        }
    }

    /// Sends what an earlier connection may have lost.
    async fn go_on_with_input(&mut self, place: u64) {
        self.in_step = true;
        let (bytes, ended) = self.sent.again(place);
        if !bytes.is_empty() {
            let _ = self.running.write(bytes).await;
        }
        if ended {
            let _ = self.running.close_input().await;
        }
    }

    /// Stores what came. Nothing else is asked of init before: its ring fills, and the command waits.
    fn store_again(&mut self) {
        if Instant::now() < self.retry_at {
            return;
        }
        let Some((stream, seq, data)) = &self.unstored else { return };
        let mut state = self.entry.lock();
        match state.append(*stream, *seq, data) {
            Ok(()) => {
                state.last_output_ms = now_ms();
                state.trouble = None;
                drop(state);
                self.unstored = None;
                self.last_output = Instant::now();
                self.file_open = true;
                self.entry.touch();
            }
            Err(error) => {
                if state.trouble.is_none() {
                    tracing::error!(session = %self.entry.id, %error, "output cannot be stored; the command waits");
                    self.entry.touch();
                }
                state.trouble = Some(error.to_string());
                drop(state);
                self.retry_at = Instant::now() + RETRY;
            }
        }
    }

    async fn answer_queries(&mut self, data: &[u8]) {
        if self.entry.begin.tty.is_none() {
            return;
        }
        for _ in 0..self.queries.feed(data).min(16) {
            // A terminal whose input is full gets no answer, as with any other.
            if self.running.write(ANSWER.to_vec()).await.is_ok() {
                self.sent.push(ANSWER);
            }
        }
    }

    async fn obey(&mut self, order: Order) {
        match order {
            Order::Write { data, eof, answer } => {
                let until = Instant::now() + INPUT_PATIENCE;
                self.writes.push_back(Writing { data, sent: 0, eof, until, answer });
            }
            Order::Kill => self.kill(),
            Order::Resize { rows, cols } => {
                let _ = self.running.resize(rows, cols).await;
            }
            Order::Release => self.release(),
        }
    }

    fn kill(&mut self) {
        // A connection that is over tells so by itself, and the wish is in the state.
        let _ = self.running.kill();
    }

    fn release(&mut self) {
        let _ = self.running.hold(None);
    }

    /// Sends what its init has room for.
    async fn write_on(&mut self) {
        while self.in_step
            && let Some(writing) = self.writes.front_mut()
        {
            if writing.sent == 0 && writing.answer.is_closed() {
                // Whoever asked has given up, and may ask again.
                self.writes.pop_front();
                continue;
            }
            if !self.entry.lock().takes_input(&self.entry.begin) {
                let Some(writing) = self.writes.pop_front() else { return };
                let _ = writing.answer.send(Err(ProcessError::InputClosed { id: self.entry.id.clone() }));
                continue;
            }
            let room = usize::try_from(self.running.input_room()).unwrap_or(usize::MAX).min(INPUT_PART);
            let rest = writing.data.get(writing.sent..).unwrap_or_default();
            let part = rest.get(..room.min(rest.len())).unwrap_or_default().to_vec();
            if part.is_empty() && !rest.is_empty() {
                return;
            }
            writing.sent += part.len();
            if !part.is_empty() {
                self.sent.push(&part);
                let _ = self.running.write(part).await;
            }
            if writing.sent == writing.data.len() {
                self.written().await;
            }
        }
    }

    /// The first request is on its way as a whole.
    async fn written(&mut self) {
        let Some(writing) = self.writes.pop_front() else { return };
        if writing.eof {
            self.sent.end();
            let _ = self.running.close_input().await;
            self.close_input();
        }
        let _ = writing.answer.send(Ok(()));
    }

    fn close_input(&mut self) {
        self.entry.lock().input_closed = true;
        self.core.store.note_input_closed(&self.entry.id);
        self.entry.touch();
    }

    /// What an error means for the command.
    fn failed(&mut self, error: &RunError) -> Last {
        let lost = |outcome| Last::Done(outcome, Some(error.to_string()));
        match error {
            RunError::Link(LinkError::Refused { reason: Refusal::NotOwner, .. }) => {
                Last::Broken("another connection owns it".to_owned())
            }
            // Requests about a command that runs are not told here: its start was refused.
            RunError::Link(LinkError::Refused { errno, .. }) => {
                lost(not_started(self.running.transport(), *errno))
            }
            RunError::Link(_) | RunError::Unknown { .. } => Last::Broken(error.to_string()),
            _ => lost(lost_outcome(self.entry, Death::EngineLost)),
        }
    }
}

impl Drop for Following<'_> {
    /// Requests that are not done are answered, whatever the end was.
    fn drop(&mut self) {
        for writing in self.writes.drain(..) {
            let id = self.entry.id.clone();
            let error = if self.entry.lock().phase == Phase::Finished {
                ProcessError::Ended { id }
            } else {
                ProcessError::Unreachable { id, reason: "the connection was lost".to_owned() }
            };
            let _ = writing.answer.send(Err(error));
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// The end as the runner gave it.
fn done(outcome: Outcome) -> Last {
    let why = match outcome.death {
        Death::SandboxStopped => Some("its sandbox was stopped"),
        Death::SupervisorLost => Some("the supervisor of commands on this host was ended"),
        _ => None,
    };
    // With a word of its init there is a result.
    let lost = why.filter(|_| outcome.usage.is_none()).map(str::to_owned);
    Last::Done(outcome, lost)
}
