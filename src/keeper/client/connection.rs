//! One connection to a keeper: many requests at once, each with its answers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::keeper::KeeperError;
use crate::keeper::error::Told;
use crate::keeper::lines::{self, Line};
use crate::keeper::message::{Answer, Greeting, Hello, MAX_ANSWER, Request, line};

/// Answers to one request that wait; the connection waits for who does not take them.
const QUEUE: usize = 256;

/// The connection ended before the answer: the keeper has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone;

/// What comes back for a request.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// Something on the way.
    Update(Value),
    /// The last word.
    Done(Result<Value, Told>),
}

type Waiting = Arc<Mutex<HashMap<u64, mpsc::Sender<News>>>>;

/// A connection; closed when it is dropped.
pub struct Connection {
    hello: Hello,
    next: AtomicU64,
    lines: mpsc::Sender<Vec<u8>>,
    waiting: Waiting,
    closed: CancellationToken,
    _tasks: JoinSet<()>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("hello", &self.hello).finish_non_exhaustive()
    }
}

impl Connection {
    /// Waits for the greeting. `Err(None)` where the other end left before it.
    pub(super) async fn open(stream: UnixStream) -> Result<Self, Option<KeeperError>> {
        crate::keeper::socket::trusted(&stream).map_err(Some)?;
        let (read, write) = stream.into_split();
        let mut read = BufReader::new(read);
        let first = match lines::next(&mut read, MAX_ANSWER).await {
            Ok(Line::Whole(text)) => text,
            Ok(Line::TooLong) => return Err(Some(KeeperError::TooLong(MAX_ANSWER))),
            Ok(Line::End) | Err(_) => return Err(None),
        };
        let hello = match serde_json::from_slice::<Greeting>(&first) {
            Ok(greeting) => greeting.hello,
            Err(error) => {
                let refused = serde_json::from_slice::<Answer>(&first).ok().and_then(|answer| answer.error);
                return Err(Some(
                    refused.map_or_else(|| KeeperError::Strange(error.to_string()), KeeperError::Told),
                ));
            }
        };
        let (lines, queue) = mpsc::channel(QUEUE);
        let (waiting, closed) = (Waiting::default(), CancellationToken::new());
        let mut tasks = JoinSet::new();
        tasks.spawn(read_all(read, Arc::clone(&waiting), closed.clone()));
        tasks.spawn(write_all(write, queue, closed.clone()));
        Ok(Self { hello, next: AtomicU64::new(1), lines, waiting, closed, _tasks: tasks })
    }

    /// Who is at the other end.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Whether the keeper is gone.
    pub fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    /// Returns when the keeper is gone.
    pub async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Asks for something.
    ///
    /// # Errors
    ///
    /// [`Gone`] where the request was certainly not sent.
    pub async fn ask(&self, method: &str, params: Value) -> Result<Pending<'_>, Gone> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, news) = mpsc::channel(QUEUE);
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id, sender);
        let pending = Pending { connection: self, id, news };
        if self.is_closed() {
            return Err(Gone);
        }
        let request = Request { id: id.into(), method: method.to_owned(), params };
        self.lines.send(line(&request)).await.map_err(|_| Gone)?;
        Ok(pending)
    }

    /// Asks, and waits for the last word.
    ///
    /// # Errors
    ///
    /// [`Gone`] where the connection ended first.
    pub async fn request(&self, method: &str, params: Value) -> Result<Result<Value, Told>, Gone> {
        let mut pending = self.ask(method, params).await?;
        loop {
            if let News::Done(done) = pending.next().await? {
                return Ok(done);
            }
        }
    }
}

/// A request under way.
#[derive(Debug)]
pub struct Pending<'a> {
    connection: &'a Connection,
    id: u64,
    news: mpsc::Receiver<News>,
}

impl Pending<'_> {
    /// What comes next.
    ///
    /// # Errors
    ///
    /// [`Gone`] where the connection ended.
    pub async fn next(&mut self) -> Result<News, Gone> {
        tokio::select! {
            biased;
            news = self.news.recv() => news.ok_or(Gone),
            () = self.connection.closed() => self.news.try_recv().map_err(|_| Gone),
        }
    }

    /// Takes the request back; its last word still comes.
    ///
    /// # Errors
    ///
    /// [`Gone`] where the connection ended.
    pub async fn cancel(&self) -> Result<(), Gone> {
        let id = self.connection.next.fetch_add(1, Ordering::Relaxed);
        let params = serde_json::json!({ "id": self.id });
        let request = Request { id: id.into(), method: "cancel".to_owned(), params };
        self.connection.lines.send(line(&request)).await.map_err(|_| Gone)
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.connection.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

async fn read_all(mut read: BufReader<OwnedReadHalf>, waiting: Waiting, closed: CancellationToken) {
    let _closing = closed.drop_guard();
    while let Ok(Line::Whole(text)) = lines::next(&mut read, MAX_ANSWER).await {
        let Ok(answer) = serde_json::from_slice::<Answer>(&text) else { return };
        let Some(id) = answer.id.as_u64() else { continue };
        let sender = waiting.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
        let news = match (answer.update, answer.result, answer.error) {
            (Some(update), None, None) => News::Update(update),
            (None, Some(result), None) => News::Done(Ok(result)),
            (None, None, Some(error)) => News::Done(Err(error)),
            _ => return,
        };
        // Nobody waits for what was taken back.
        if let Some(sender) = sender {
            let _ = sender.send(news).await;
        }
    }
}

async fn write_all(mut write: OwnedWriteHalf, mut queue: mpsc::Receiver<Vec<u8>>, closed: CancellationToken) {
    let _closing = closed.drop_guard();
    while let Some(line) = queue.recv().await {
        if write.write_all(&line).await.is_err() {
            return;
        }
    }
}
