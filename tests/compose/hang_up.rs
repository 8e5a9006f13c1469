//! A caller that hangs up in the midst of a start: what must follow the start follows all the same. The engine is a stand-in
//! that starts when the test says so.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use creel::engine::proxy::{self, Allowed, Rules};
use creel::engine::{Endpoint, Engine};
use creel::paths::DenyEnv;
use creel::sandbox::labels;
use creel::state::StateDir;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// What the stand-in and the test tell each other.
#[derive(Default)]
struct Signals {
    asked: Notify,
    go: Notify,
    removed: Notify,
}

async fn head(stream: &mut UnixStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(head).unwrap()
}

/// Answers one call.
async fn engine(mut stream: UnixStream, inspected: Arc<String>, signals: Arc<Signals>) {
    let head = head(&mut stream).await;
    let line = head.lines().next().unwrap_or_default();
    let (status, body) = match line {
        _ if line.contains("/_ping ") => ("200 OK", "OK"),
        _ if line.starts_with("GET") => ("200 OK", inspected.as_str()),
        _ if line.contains("/start ") => {
            signals.asked.notify_one();
            signals.go.notified().await;
            ("204 No Content", "")
        }
        _ if line.starts_with("DELETE") => {
            signals.removed.notify_one();
            ("204 No Content", "")
        }
        other => panic!("{other}"),
    };
    let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    let answer = format!(
        "HTTP/1.1 {status}\r\nApi-Version: 1.41\r\nServer: Docker/20.10.0 (linux)\r\nOSType: linux\r\n{length}Connection: \
         close\r\n\r\n{body}"
    );
    let _ = stream.write_all(answer.as_bytes()).await;
}

async fn ask(socket: &Path, request: &str) -> UnixStream {
    let mut stream = UnixStream::connect(socket).await.unwrap();
    stream
        .write_all(format!("{request} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").as_bytes())
        .await
        .unwrap();
    stream
}

fn files(dir: &Path) -> (PathBuf, StateDir) {
    let source = dir.join("root/source");
    std::fs::create_dir_all(&source).unwrap();
    (source, StateDir::at(dir.join("root/state")))
}

#[tokio::test]
async fn an_exchange_is_found_although_the_caller_hangs_up() {
    let dir = tempfile::Builder::new().prefix("creel-proxy-").tempdir_in("/tmp").unwrap();
    let (source, state) = files(dir.path());
    let id = "0a".repeat(32);
    let inspected = Arc::new(
        json!({
            "Id": id,
            "Config": { "Labels": { labels::INSTALLATION: state.installation().unwrap().as_str() } },
            "HostConfig": { "Mounts": [{ "Source": source }] },
        })
        .to_string(),
    );
    let signals = Arc::new(Signals::default());
    let mut tasks = JoinSet::new();
    let upstream = dir.path().join("upstream.sock");
    let listener = UnixListener::bind(&upstream).unwrap();
    let told = Arc::clone(&signals);
    tasks.spawn(async move {
        let mut calls = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            calls.spawn(engine(stream, Arc::clone(&inspected), Arc::clone(&told)));
        }
    });
    let engine = Engine::connect(Endpoint::Unix(upstream)).await.unwrap();
    let allowed = Allowed { roots: vec![dir.path().join("root")], ..Allowed::default() };
    let rules = Rules::new(state, allowed, DenyEnv::default()).unwrap();
    let (socket, ready) = (dir.path().join("engine.sock"), Arc::new(Notify::new()));
    let (listen, is_ready) = (socket.clone(), Arc::clone(&ready));
    tasks.spawn(async move {
        let ready = || is_ready.notify_one();
        proxy::serve(&engine, &listen, rules, ready, std::future::pending()).await.unwrap();
    });
    ready.notified().await;

    let caller = ask(&socket, &format!("POST /containers/{id}/start")).await;
    signals.asked.notified().await;
    std::fs::rename(&source, dir.path().join("root/other")).unwrap();
    std::os::unix::fs::symlink("/etc", &source).unwrap();
    drop(caller);
    // By the time others were served, the proxy knows that this one is gone.
    for _ in 0..5 {
        let mut answer = String::new();
        ask(&socket, "GET /_ping").await.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    signals.go.notify_one();
    let removed = tokio::time::timeout(Duration::from_mins(1), signals.removed.notified()).await;
    assert!(removed.is_ok(), "what may have mounted the host still runs");
}
