//! One connection: lines in, lines out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::Value;
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::delivered::Handed;
use super::{CONNECTIONS, REQUESTS, Shared, delivered, methods};
use crate::keeper::KeeperError;
use crate::keeper::error::Told;
use crate::keeper::lines::{self, Line};
use crate::keeper::message::{Answer, Greeting, Hello, MAX_REQUEST, PROTOCOL, Request, line};
use crate::keeper::socket::trusted;
use crate::process::record::SessionId;

/// Lines that wait for a reader; a sender waits when they are so many.
const QUEUE: usize = 64;

/// A line on its way.
#[derive(Debug)]
struct Out {
    line: Vec<u8>,
    /// Told when the caller's kernel has it: it then arrives also when the keeper dies.
    written: Option<oneshot::Sender<()>>,
}

impl From<Vec<u8>> for Out {
    fn from(line: Vec<u8>) -> Self {
        Self { line, written: None }
    }
}

/// A foreground command with its result.
#[derive(Debug, Clone)]
pub(super) struct Delivered {
    pub(super) id: SessionId,
    /// Its caller named the call, and may make it again.
    pub(super) named: bool,
}

/// Where the answers to one request go.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    id: Value,
    lines: mpsc::Sender<Out>,
    /// The caller's process, as the kernel told it when the connection was made.
    pub(super) peer: Option<i32>,
    /// The caller takes the request back.
    pub(super) cancelled: CancellationToken,
    /// Whose result was delivered once the last word was written.
    pub(super) delivers: Arc<OnceLock<Delivered>>,
    /// Output that the last word brings.
    pub(super) hands: Arc<OnceLock<Handed>>,
}

impl Reply {
    /// Sends something on the way, when there is room. False when the connection is over.
    pub(super) async fn update(&self, update: Value) -> bool {
        self.lines.send(line(&Answer::update(self.id.clone(), update)).into()).await.is_ok()
    }

    /// Sends something on the way that the next one replaces: dropped where the caller does not read.
    pub(super) fn glimpse(&self, update: Value) {
        let _ = self.lines.try_send(line(&Answer::update(self.id.clone(), update)).into());
    }

    /// Sends the last word. True when it was written.
    async fn done(&self, done: Result<Value, Told>) -> bool {
        let (sender, written) = oneshot::channel();
        let line = line(&Answer::done(self.id.clone(), done));
        self.lines.send(Out { line, written: Some(sender) }).await.is_ok() && written.await.is_ok()
    }
}

/// Serves one connection to its end.
pub(super) async fn run(stream: UnixStream, shared: &Arc<Shared>) {
    let refused = trusted(&stream).err().or_else(|| {
        (shared.clients() > CONNECTIONS)
            .then_some(KeeperError::Busy { what: "connections", limit: CONNECTIONS })
    });
    let peer = stream.peer_cred().ok().and_then(|peer| peer.pid());
    let (read, write) = stream.into_split();
    let (lines, queue) = mpsc::channel(QUEUE);
    let closed = CancellationToken::new();
    let mut writing = JoinSet::new();
    writing.spawn(write_all(write, queue, closed.clone()));
    if let Some(error) = refused {
        let _ = lines.send(line(&Answer::done(Value::Null, Err(error.into()))).into()).await;
    } else {
        let hello = Hello {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            build: shared.build.clone(),
            process: std::process::id(),
        };
        let _ = lines.send(line(&Greeting { hello }).into()).await;
        let mut talk = Talk { shared, peer, lines, open: Arc::default(), requests: JoinSet::new() };
        talk.read(BufReader::new(read), &closed).await;
    }
    // The queue's senders are gone: the writer ends when it has written what waits, or cannot.
    let last = std::time::Duration::from_secs(1);
    let _ = tokio::time::timeout(last, writing.join_next()).await;
}

struct Talk<'a> {
    shared: &'a Arc<Shared>,
    peer: Option<i32>,
    lines: mpsc::Sender<Out>,
    open: Arc<Mutex<HashMap<String, CancellationToken>>>,
    requests: JoinSet<()>,
}

impl Talk<'_> {
    /// Reads requests until the caller leaves, says something malformed, or the keeper ends.
    async fn read(
        &mut self,
        mut reader: BufReader<tokio::net::unix::OwnedReadHalf>,
        closed: &CancellationToken,
    ) {
        loop {
            let next = tokio::select! {
                next = lines::next(&mut reader, MAX_REQUEST) => next,
                () = closed.cancelled() => return,
            };
            while self.requests.try_join_next().is_some() {}
            let request = match next {
                Ok(Line::Whole(text)) if text.iter().all(u8::is_ascii_whitespace) => continue,
                Ok(Line::Whole(text)) => Request::parse(&text),
                Ok(Line::TooLong) => Err(KeeperError::TooLong(MAX_REQUEST)),
                Ok(Line::End) | Err(_) => return,
            };
            match request {
                Ok(request) => self.begin(request).await,
                Err(error) => {
                    let refusal = line(&Answer::done(Value::Null, Err(error.into())));
                    let _ = self.lines.send(refusal.into()).await;
                    return;
                }
            }
        }
    }

    async fn begin(&mut self, request: Request) {
        let cancelled = CancellationToken::new();
        let reply = Reply {
            id: request.id.clone(),
            lines: self.lines.clone(),
            peer: self.peer,
            cancelled: cancelled.clone(),
            delivers: Arc::default(),
            hands: Arc::default(),
        };
        if request.method == "cancel" {
            let named = request.params.get("id").map(Value::to_string).unwrap_or_default();
            let found = self.open.lock().unwrap_or_else(PoisonError::into_inner).get(&named).cloned();
            if let Some(token) = &found {
                token.cancel();
            }
            reply.done(Ok(serde_json::json!({ "cancelled": found.is_some() }))).await;
            return;
        }
        if self.requests.len() >= REQUESTS {
            reply.done(Err(KeeperError::Busy { what: "requests", limit: REQUESTS }.into())).await;
            return;
        }
        let key = request.id.to_string();
        let entered = Entered { open: Arc::clone(&self.open), key: key.clone() };
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(key, cancelled);
        let shared = Arc::clone(self.shared);
        self.requests.spawn(async move {
            let _entered = entered;
            let polled = delivered::polled(&request);
            let done = Box::pin(methods::answer(&shared, &request.method, request.params, &reply)).await;
            let told = polled.filter(|_| delivered::tells_end(&done));
            if reply.done(done).await {
                delivered::after(&shared, &request.method, told.as_deref(), &reply);
            }
        });
    }
}

/// A request that can be taken back.
struct Entered {
    open: Arc<Mutex<HashMap<String, CancellationToken>>>,
    key: String,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

async fn write_all(mut write: OwnedWriteHalf, mut queue: mpsc::Receiver<Out>, closed: CancellationToken) {
    while let Some(out) = queue.recv().await {
        if write.write_all(&out.line).await.is_err() {
            break;
        }
        if let Some(written) = out.written {
            let _ = written.send(());
        }
    }
    closed.cancel();
}
