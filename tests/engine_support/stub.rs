//! An engine that says what a test wants it to say.

#![expect(clippy::expect_used, reason = "helpers of tests: a failure here is a failed test")]

use std::path::PathBuf;
use std::time::Duration;

use creel::engine::{Discovery, Endpoint};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

/// A ping's answer as Docker 20.10 gives it.
pub(crate) const PING: &str = "HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nOstype: linux\r\n\
    Server: Docker/20.10.24 (linux)\r\nContent-Length: 2\r\n\r\nOK";

/// Listens on a socket of its own until it is dropped.
pub(crate) struct Stub {
    dir: tempfile::TempDir,
    _serving: JoinSet<()>,
}

impl Stub {
    /// `answer` gets the request line; what it returns is sent as it is, `None` leaves the caller waiting.
    pub(crate) fn new(answer: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        let dir = tempfile::tempdir().expect("directory");
        let listener = UnixListener::bind(dir.path().join("s")).expect("listen");
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut waiting = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                match answer(&request_line(&mut stream).await) {
                    Some(text) => drop(stream.write_all(text.as_bytes()).await),
                    None => waiting.push(stream),
                }
            }
        });
        Self { dir, _serving: serving }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("s")
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::Unix(self.path())
    }

    /// A search that this stub was named for.
    pub(crate) fn named(&self) -> Discovery {
        Discovery {
            explicit: Some(self.path().display().to_string()),
            env: [].into(),
            uid: 0,
            probe_timeout: Duration::from_millis(200),
        }
    }
}

/// Reads the head of a request and returns its first line.
async fn request_line(stream: &mut UnixStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).await.is_ok_and(|count| count == 1) {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).lines().next().unwrap_or_default().to_owned()
}
