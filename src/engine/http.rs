//! The requests that bollard does not serve well: a ping whose headers are read, answers whose words differ between
//! engines, and the hand-over of the raw connection that exec needs.
//!
//! bollard refuses a whole answer for one unknown word (Podman's `stopped`), guesses from the first byte whether output
//! is framed, which a program on a terminal can spoof, and hides the status of a refused upgrade.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::task::Poll;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper::{Method, Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpStream, UnixStream};
use tokio_util::either::Either;

use super::Endpoint;

/// Longest body that is read: a list of thousands of containers.
const BODY_MAX: usize = 64 * 1024 * 1024;

/// A connection to an engine.
pub(super) type Socket = Either<UnixStream, TcpStream>;
/// HTTP on such a connection.
type Connection = http1::Connection<TokioIo<Socket>, Full<Bytes>>;

/// Why a request failed before there was an answer.
#[derive(Debug)]
pub(super) enum HttpError {
    /// The connection could not be made.
    Connect(io::Error),
    /// The connection ended, or what came back is not HTTP.
    Broken(String),
}

/// An answer with its whole body.
#[derive(Debug)]
pub(super) struct Answer {
    /// HTTP status.
    pub(super) status: StatusCode,
    /// Headers.
    pub(super) headers: hyper::HeaderMap,
    /// Body, at most [`BODY_MAX`].
    pub(super) body: Bytes,
}

impl Answer {
    /// The engine's error text: the `message` of its JSON, else the body as it is.
    pub(super) fn message(&self) -> String {
        let json: Option<serde_json::Value> = serde_json::from_slice(&self.body).ok();
        let message = json.as_ref().and_then(|json| json.get("message")).and_then(serde_json::Value::as_str);
        message.map_or_else(|| String::from_utf8_lossy(&self.body).trim().to_owned(), str::to_owned)
    }
}

/// Connects.
pub(super) async fn dial(endpoint: &Endpoint) -> io::Result<Socket> {
    match endpoint {
        Endpoint::Unix(path) => UnixStream::connect(path).await.map(Either::Left),
        Endpoint::Tcp(address) => {
            let stream = TcpStream::connect(address).await?;
            // Keystrokes and short answers must not wait for a full segment.
            stream.set_nodelay(true)?;
            Ok(Either::Right(stream))
        }
    }
}

/// One GET and its whole answer.
pub(super) async fn get(endpoint: &Endpoint, path: &str) -> Result<Answer, HttpError> {
    let socket = dial(endpoint).await.map_err(HttpError::Connect)?;
    let (mut sender, mut connection) = http1::handshake(TokioIo::new(socket)).await.map_err(broken)?;
    let request = Request::builder()
        .method(Method::GET)
        .uri(path)
        .header(header::HOST, "engine")
        .body(Full::default())
        .map_err(broken)?;
    let response = drive(&mut connection, sender.send_request(request)).await.map_err(broken)?;
    whole(&mut connection, response).await
}

/// What came of asking for the raw connection.
pub(super) enum Upgrade {
    /// Handed over, with the bytes that came behind the answer.
    Done(Socket, Bytes),
    /// Refused.
    Refused(Answer),
}

/// POSTs `body` (JSON) and takes over the connection.
pub(super) async fn upgrade(endpoint: &Endpoint, path: &str, body: String) -> Result<Upgrade, HttpError> {
    let socket = dial(endpoint).await.map_err(HttpError::Connect)?;
    let (mut sender, mut connection) = http1::handshake(TokioIo::new(socket)).await.map_err(broken)?;
    let request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(header::HOST, "engine")
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "tcp")
        .body(Full::new(Bytes::from(body)))
        .map_err(broken)?;
    let response = drive(&mut connection, sender.send_request(request)).await.map_err(broken)?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        drop(response);
        let parts = connection.into_parts();
        return Ok(Upgrade::Done(parts.io.into_inner(), parts.read_buf));
    }
    let status = response.status();
    let headers = response.headers().clone();
    // A success that is not an upgrade may be an endless stream: its body is not waited for.
    if status.is_success() {
        return Ok(Upgrade::Refused(Answer { status, headers, body: Bytes::new() }));
    }
    whole(&mut connection, response).await.map(Upgrade::Refused)
}

/// Reads the body of an answer.
async fn whole(
    connection: &mut Connection,
    response: hyper::Response<hyper::body::Incoming>,
) -> Result<Answer, HttpError> {
    let status = response.status();
    let headers = response.headers().clone();
    let body = drive(connection, Limited::new(response.into_body(), BODY_MAX).collect()).await;
    let body = body.map_err(broken)?.to_bytes();
    Ok(Answer { status, headers, body })
}

/// Runs `work` while moving the bytes of the connection that it waits for; no task is left behind.
async fn drive<F: Future>(connection: &mut Connection, work: F) -> F::Output {
    let mut work = pin!(work);
    let mut open = true;
    std::future::poll_fn(|context| {
        if let Poll::Ready(output) = work.as_mut().poll(context) {
            return Poll::Ready(output);
        }
        if open && connection.poll_without_shutdown(context).is_ready() {
            // Ended: `work` learns of it through its channel.
            open = false;
        }
        work.as_mut().poll(context)
    })
    .await
}

/// An error on an established connection.
fn broken(error: impl std::fmt::Display) -> HttpError {
    HttpError::Broken(error.to_string())
}
