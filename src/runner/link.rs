//! The connection to one init: requests out, events in, both bounded.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, mpsc, oneshot};

use super::channel::Channel;
use super::peer::Peer;
use super::{Awaited, LinkError, meet};
use crate::wire::{
    Assembler, CommandId, Entry, Exit, Facts, FromInit, Hello, MAX_FROM_INIT, OUTPUT_KIND, OUTPUT_PREFIX,
    Refusal, Spawn, Stream, ToInit, VERSION, output_fields,
};

/// Bytes asked of the socket at once.
const READ: usize = 256 * 1024;
/// After so much in one go the reader lets others run.
const MANY: usize = 32 * 1024;
/// Output that a command may have under way before it is acknowledged; init's ring is this large.
pub(super) const WINDOW: u32 = 512 * 1024;
/// Acknowledge after so much has been taken: often enough that the ring never fills while somebody reads.
pub(super) const ACK_EVERY: u64 = 128 * 1024;
/// Events of one command that may wait to be dealt with: one for each byte of a full window, and some.
const MAX_EVENTS: usize = 1024 * 1024;
/// How long after the connection's end the end of init may show.
const ENDED_WITHIN: Duration = Duration::from_secs(2);
/// How long an answer to a question may take.
const ANSWER: Duration = Duration::from_secs(10);
/// Bytes of requests that init may leave unread.
const MAX_UNSENT: usize = 8 * 1024 * 1024;

/// Something that happened to a command.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// It runs, as this process in the container.
    Started {
        /// Process id.
        pid: i32,
        /// It had been started before; this is a repeated request or an attachment.
        known: bool,
        /// Bytes of standard input that init has: where the next goes on.
        input: u64,
        /// Standard input takes more.
        open: bool,
    },
    /// It printed.
    Output {
        /// Where.
        stream: Stream,
        /// Position in that stream.
        offset: u64,
        /// Position in the order of both.
        seq: u64,
        /// What.
        data: Bytes,
    },
    /// Standard input was taken up to here.
    StdinTaken {
        /// Bytes since the start.
        offset: u64,
        /// It takes no more.
        closed: bool,
    },
    /// It ended; no more events follow.
    Exit(Box<Exit>),
    /// Init refused a request about it.
    Refused {
        /// Why.
        reason: Refusal,
        /// The operating system's number, 0 where none.
        errno: i32,
    },
}

/// A connection to a sandbox's init. Clones share it; it closes with the last clone.
#[derive(Debug, Clone)]
pub struct Link {
    pub(super) shared: Arc<Shared>,
    /// The init itself, to tell its end from a connection that broke.
    peer: Arc<Peer>,
    /// It stands beside the gateway, with one command, and not in a sandbox.
    pub(super) beside: bool,
    /// Stops the two tasks of the connection with the last clone.
    _tasks: Arc<tokio::task::JoinSet<()>>,
}

#[derive(Debug)]
pub(super) struct Shared {
    out: Mutex<Outgoing>,
    more: Notify,
    pub(super) table: Mutex<Table>,
    boot: Mutex<[u8; 16]>,
}

#[derive(Debug)]
struct Outgoing {
    half: OwnedWriteHalf,
    unsent: BytesMut,
}

/// Who waits for what. `closed` is the reason after which nothing comes any more.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) commands: HashMap<CommandId, Watcher>,
    facts: Vec<oneshot::Sender<Facts>>,
    tables: Vec<oneshot::Sender<Vec<Entry>>>,
    pongs: Vec<(u64, oneshot::Sender<()>)>,
    hello: Option<oneshot::Sender<Hello>>,
    closed: Option<String>,
}

#[derive(Debug)]
pub(super) struct Watcher {
    events: mpsc::Sender<Event>,
    next: u64,
    /// Bytes of output handed over and not acknowledged.
    pub(super) outstanding: u64,
}

impl Watcher {
    /// Passes an event on. A receiver that is gone is no error; more events than a well-behaved init can send is.
    fn tell(&self, event: Event) -> Result<(), String> {
        match self.events.try_send(event) {
            Err(mpsc::error::TrySendError::Full(_)) => Err("init floods its host with events".to_owned()),
            _ => Ok(()),
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere does not make the table wrong: every change is one assignment.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link {
    /// Meets the init that is `awaited` and whose rendezvous directory is `dir`.
    pub async fn meet(dir: &Path, awaited: impl Into<Awaited>, within: Duration) -> Result<Self, LinkError> {
        let awaited = awaited.into();
        let stream = meet::meet(dir, awaited, within).await?;
        // It has just dialled, so the number still means the same process. In a container there is no number for it.
        let peer = Arc::new(match awaited {
            Awaited::Kernel(pid1) => Peer::of(pid1),
            Awaited::Nonce(_) => Peer::unknown(),
        });
        let (mut reading, writing) = stream.into_split();
        let (hello, greeted) = oneshot::channel();
        let shared = Arc::new(Shared {
            out: Mutex::new(Outgoing { half: writing, unsent: BytesMut::new() }),
            more: Notify::new(),
            table: Mutex::new(Table { hello: Some(hello), ..Table::default() }),
            boot: Mutex::default(),
        });
        let mut tasks = tokio::task::JoinSet::new();
        let reader = Arc::clone(&shared);
        tasks.spawn(async move {
            let reason = reader.read(&mut reading).await;
            reader.close(reason);
        });
        let writer = Arc::clone(&shared);
        tasks.spawn(async move { writer.write().await });
        let link = Self { shared, peer, beside: false, _tasks: Arc::new(tasks) };
        link.send(&ToInit::Hello(Hello::ours([0; 16])))?;
        let hello = link.answer(greeted).await?;
        if hello.version != VERSION {
            return Err(LinkError::Version { theirs: hello.version });
        }
        *lock(&link.shared.boot) = hello.boot;
        Ok(link)
    }

    /// Drawn by init at its start: the same number is the same init with the same commands.
    pub fn boot(&self) -> [u8; 16] {
        *lock(&self.shared.boot)
    }

    /// What the kernel tells init about the container and about `paths` in it.
    pub async fn facts(&self, paths: Vec<String>) -> Result<Facts, LinkError> {
        let (sender, answer) = oneshot::channel();
        lock(&self.shared.table).facts.push(sender);
        self.send(&ToInit::Probe { paths })?;
        self.answer(answer).await
    }

    /// The commands that init knows.
    pub async fn table(&self) -> Result<Vec<Entry>, LinkError> {
        let (sender, answer) = oneshot::channel();
        lock(&self.shared.table).tables.push(sender);
        self.send(&ToInit::List)?;
        self.answer(answer).await
    }

    /// Waits for a sign of life.
    pub async fn ping(&self) -> Result<(), LinkError> {
        let (sender, answer) = oneshot::channel();
        let nonce = {
            let mut table = lock(&self.shared.table);
            let nonce = table.pongs.last().map_or(1, |(last, _)| last.wrapping_add(1));
            table.pongs.push((nonce, sender));
            nonce
        };
        self.send(&ToInit::Ping { nonce })?;
        self.answer(answer).await
    }

    /// Whether the connection is over.
    pub fn is_over(&self) -> bool {
        lock(&self.shared.table).closed.is_some()
    }

    /// Whether init has ended; asked when the connection is over. A little time is given: the kernel closes what a
    /// process had open before it counts as ended.
    pub async fn has_ended(&self) -> bool {
        self.peer.has_ended(ENDED_WITHIN).await
    }

    async fn answer<T>(&self, answer: oneshot::Receiver<T>) -> Result<T, LinkError> {
        match tokio::time::timeout(ANSWER, answer).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(self.lost()),
            Err(_) => Err(LinkError::Silent { after: ANSWER }),
        }
    }

    /// Starts a command. The only caller is the runner, which holds a permit.
    pub(super) fn spawn(&self, mut spawn: Spawn) -> Result<Channel, LinkError> {
        spawn.ring = WINDOW;
        let channel = self.watch(spawn.id, true, 0)?;
        self.send(&ToInit::Spawn(Box::new(spawn)))?;
        Ok(channel)
    }

    /// Takes over, or with `own` false observes, a command that runs already; output starts at `from`.
    pub fn attach(&self, id: CommandId, own: bool, from: u64) -> Result<Channel, LinkError> {
        let channel = self.watch(id, own, from)?;
        self.send(&ToInit::Attach { id, own, from })?;
        Ok(channel)
    }

    fn watch(&self, id: CommandId, own: bool, from: u64) -> Result<Channel, LinkError> {
        let (sender, events) = mpsc::channel(MAX_EVENTS);
        let mut table = lock(&self.shared.table);
        if let Some(reason) = &table.closed {
            return Err(LinkError::Lost { reason: reason.clone() });
        }
        table.commands.insert(id, Watcher { events: sender, next: from, outstanding: 0 });
        drop(table);
        Ok(Channel {
            link: self.clone(),
            id,
            own,
            events,
            taken: from,
            acked: from,
            unacked: 0,
            forgets: true,
        })
    }

    /// Sends at once what the socket takes, and leaves the rest to the writer.
    pub(super) fn send(&self, message: &ToInit) -> Result<(), LinkError> {
        let mut encoded = Vec::new();
        message.encode(&mut encoded);
        let mut out = lock(&self.shared.out);
        if out.unsent.len() + encoded.len() > MAX_UNSENT {
            return Err(LinkError::Silent { after: Duration::ZERO });
        }
        let waits = !out.unsent.is_empty();
        out.unsent.extend_from_slice(&encoded);
        if !waits && !out.flush() {
            self.shared.more.notify_one();
        }
        drop(out);
        if lock(&self.shared.table).closed.is_some() { Err(self.lost()) } else { Ok(()) }
    }

    pub(super) fn lost(&self) -> LinkError {
        let reason = lock(&self.shared.table).closed.clone();
        LinkError::Lost { reason: reason.unwrap_or_else(|| "closed".to_owned()) }
    }
}

impl Outgoing {
    /// Writes without waiting. True when nothing is left; a failed socket shows on the reading side.
    fn flush(&mut self) -> bool {
        while !self.unsent.is_empty() {
            match self.half.try_write(&self.unsent) {
                Ok(count) => self.unsent.advance(count),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return false,
                Err(_) => {
                    self.unsent.clear();
                }
            }
        }
        true
    }
}

impl Shared {
    /// Writes what did not fit at once.
    async fn write(&self) {
        loop {
            self.more.notified().await;
            loop {
                // Waiting for the socket needs the half; nobody else waits for it, and senders do not wait at all.
                let ready = std::future::poll_fn(|context| {
                    let out = lock(&self.out);
                    out.half.as_ref().poll_write_ready(context)
                });
                if ready.await.is_err() || lock(&self.out).flush() {
                    break;
                }
            }
        }
    }

    /// Reads until the connection ends and returns why.
    async fn read(&self, half: &mut OwnedReadHalf) -> String {
        let mut buffer = BytesMut::with_capacity(READ);
        let mut assembler = Assembler::new(MAX_FROM_INIT);
        loop {
            let before = buffer.len();
            if let Err(reason) = self.take_messages(&mut buffer, &mut assembler) {
                return reason;
            }
            if before - buffer.len() >= MANY {
                // Whoever takes the output goes first: the memory it drops is used again, instead of more.
                tokio::task::yield_now().await;
            }
            buffer.reserve(READ);
            match half.read_buf(&mut buffer).await {
                Ok(0) => return "init closed the connection".to_owned(),
                Ok(_) => {}
                Err(error) => return error.to_string(),
            }
        }
    }

    /// Dispatches every whole message at the front of `buffer`. Output is passed on without a copy.
    fn take_messages(&self, buffer: &mut BytesMut, assembler: &mut Assembler) -> Result<(), String> {
        loop {
            let (used, message) = assembler.next(buffer).map_err(|error| error.to_string())?;
            let Some(message) = message else {
                buffer.advance(used);
                return Ok(());
            };
            if message.kind == OUTPUT_KIND {
                let (id, stream, offset, seq) = output_fields(&message.payload).map_err(|e| e.to_string())?;
                let size = message.payload.len() - OUTPUT_PREFIX;
                let mut data = buffer.split_to(used).freeze();
                data.advance(used - size);
                self.output(id, stream, offset, seq, data)?;
                continue;
            }
            let decoded =
                FromInit::decode(message.kind, &message.payload).map_err(|error| error.to_string())?;
            buffer.advance(used);
            self.dispatch(decoded)?;
        }
    }

    /// Checks that output continues where it stopped and stays within the window, then passes it on.
    fn output(
        &self,
        id: CommandId,
        stream: Stream,
        offset: u64,
        seq: u64,
        data: Bytes,
    ) -> Result<(), String> {
        let mut table = lock(&self.table);
        let Some(watcher) = table.commands.get_mut(&id) else { return Ok(()) };
        let end = seq.saturating_add(u64::try_from(data.len()).unwrap_or(u64::MAX));
        if seq < watcher.next {
            return Err(format!("output of {id} repeats byte {seq}"));
        }
        watcher.outstanding += end - seq;
        if watcher.outstanding > u64::from(WINDOW) * 2 {
            return Err(format!("output of {id} exceeds its window"));
        }
        watcher.next = end;
        watcher.tell(Event::Output { stream, offset, seq, data })
    }

    fn dispatch(&self, message: FromInit) -> Result<(), String> {
        let mut table = lock(&self.table);
        let (id, event) = match message {
            FromInit::Started { id, pid, known, input, open } => {
                (id, Event::Started { pid, known, input, open })
            }
            FromInit::StdinTaken { id, offset, closed } => (id, Event::StdinTaken { offset, closed }),
            FromInit::Refused { id, reason, errno } => (id, Event::Refused { reason, errno }),
            FromInit::Exit(exit) => {
                let id = exit.id;
                return table.commands.remove(&id).map_or(Ok(()), |watcher| watcher.tell(Event::Exit(exit)));
            }
            other => {
                table.answer(other);
                return Ok(());
            }
        };
        table.commands.get(&id).map_or(Ok(()), |watcher| watcher.tell(event))
    }

    /// The connection is over: every waiting part learns it by its closed channel.
    fn close(&self, reason: String) {
        tracing::debug!(%reason, "link closed");
        let mut table = lock(&self.table);
        *table = Table { closed: Some(reason), ..Table::default() };
    }
}

impl Table {
    /// Hands an answer to the oldest question of its kind.
    fn answer(&mut self, message: FromInit) {
        fn oldest<T>(waiting: &mut Vec<T>) -> Option<T> {
            (!waiting.is_empty()).then(|| waiting.remove(0))
        }
        match message {
            FromInit::Hello(hello) => {
                let _ = self.hello.take().map(|sender| sender.send(hello));
            }
            FromInit::Facts(facts) => {
                let _ = oldest(&mut self.facts).map(|sender| sender.send(*facts));
            }
            FromInit::Table(entries) => {
                let _ = oldest(&mut self.tables).map(|sender| sender.send(entries));
            }
            FromInit::Pong { nonce } => {
                if let Some(place) = self.pongs.iter().position(|(asked, _)| *asked == nonce) {
                    let _ = self.pongs.swap_remove(place).1.send(());
                }
            }
            _ => {}
        }
    }
}
