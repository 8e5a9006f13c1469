//! Starts a command and takes over its connection.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio_util::codec::FramedRead;
use tokio_util::either::Either;

use super::classify::{classify_http, refusal};
use super::frames::Output;
use super::http::{self, Socket, Upgrade};
use super::{Engine, EngineError, ExecId, Stdio, name};

/// Read buffer: two of the engine's largest pieces.
const BUFFER: usize = 64 * 1024;

/// A running command's streams. Dropping it leaves the command running: the engine has no way to end one.
pub struct ExecStream {
    /// What the command writes, until it and all that inherited its output have closed it.
    pub output: ExecOutput,
    /// The command's standard input, where it was asked for. Shutting it down, or dropping it, ends the input.
    pub input: Pin<Box<dyn AsyncWrite + Send + Sync>>,
}

impl std::fmt::Debug for ExecStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExecStream").finish_non_exhaustive()
    }
}

/// What a command writes, in order of arrival. An error is the end: the connection was lost.
pub struct ExecOutput(FramedRead<Box<dyn AsyncRead + Send + Sync + Unpin>, Output>);

impl std::fmt::Debug for ExecOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExecOutput").finish_non_exhaustive()
    }
}

impl Stream for ExecOutput {
    type Item = Result<(Stdio, Bytes), EngineError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.0).poll_next(context).map_err(|error| EngineError::Lost {
            what: "the output of a command".to_owned(),
            reason: error.to_string(),
        })
    }
}

impl Engine {
    /// Starts the command; `tty` as it was created. The deadline covers the start, not the command.
    ///
    /// # Errors
    ///
    /// [`EngineError::UpgradeRefused`] where a proxy or an incompatible engine keeps the connection;
    /// [`EngineError::Refused`] where the container stopped meanwhile.
    pub async fn exec_start(&self, exec: &ExecId, tty: bool) -> Result<ExecStream, EngineError> {
        let what = "start of a command";
        let path = format!("/v{}/exec/{}/start", self.facts().api_version, name::container(&exec.0)?);
        let body = format!(r#"{{"Detach":false,"Tty":{tty}}}"#);
        let limit = self.deadlines().slow;
        let call = http::upgrade(&self.facts().endpoint, &path, body);
        match tokio::time::timeout(limit, call).await {
            Err(_) => Err(EngineError::NotResponding { what: what.to_owned(), after: limit }),
            Ok(Err(error)) => Err(classify_http(what, error)),
            Ok(Ok(Upgrade::Done(socket, early))) => Ok(stream(socket, early, tty)),
            Ok(Ok(Upgrade::Refused(answer))) => {
                let (status, message) = (answer.status.as_u16(), answer.message());
                // Podman reports a command that cannot be started by refusing the upgrade: its message is the news.
                if answer.status.is_success() || message.is_empty() {
                    return Err(EngineError::UpgradeRefused { what: what.to_owned(), status, message });
                }
                Err(refusal(what.to_owned(), status, &message))
            }
        }
    }
}

/// The two directions of a connection; `early` is output that came with the answer and is read first.
fn stream(socket: Socket, early: Bytes, tty: bool) -> ExecStream {
    type Halves = (Box<dyn AsyncRead + Send + Sync + Unpin>, Pin<Box<dyn AsyncWrite + Send + Sync>>);
    let early = std::io::Cursor::new(early);
    let (reader, input): Halves = match socket {
        Either::Left(unix) => {
            let (reader, writer) = unix.into_split();
            (Box::new(early.chain(reader)), Box::pin(writer))
        }
        Either::Right(tcp) => {
            let (reader, writer) = tcp.into_split();
            (Box::new(early.chain(reader)), Box::pin(writer))
        }
    };
    let framed = FramedRead::with_capacity(reader, Output::new(tty), BUFFER);
    ExecStream { output: ExecOutput(framed), input }
}
