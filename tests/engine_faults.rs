//! The engine module against engines that misbehave.

#![expect(clippy::disallowed_methods, reason = "a test starts the program under test")]

#[path = "engine_support/stub.rs"]
mod stub;

use std::time::{Duration, Instant};

use creel::engine::{ContainerId, Deadlines, Discovery, Engine, EngineError, EngineKind, ExecId};
use creel::error::Diagnose as _;
use stub::{PING, Stub};

#[tokio::test]
async fn an_engine_that_accepts_and_is_silent_is_not_responding() {
    let stub = Stub::new(|_| None);
    let begin = Instant::now();
    let error = Engine::discover(&stub.named()).await.unwrap_err();
    assert!(matches!(error, EngineError::NotResponding { .. }), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn a_named_engine_that_is_missing_is_not_replaced() {
    let named = Discovery {
        explicit: Some("unix:///nonexistent/creel.sock".to_owned()),
        env: [("HOME".to_owned(), "/root".to_owned())].into(),
        uid: 0,
        probe_timeout: Duration::from_secs(1),
    };
    match Engine::discover(&named).await.unwrap_err() {
        EngineError::NoEngine { tried } => {
            assert_eq!(tried.len(), 1);
            assert_eq!(tried[0].endpoint, "unix:///nonexistent/creel.sock");
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_proxy_that_keeps_the_connection_is_named() {
    let stub = Stub::new(|line| {
        let upgrade = line.contains("/exec/");
        Some(if upgrade { "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" } else { PING }.to_owned())
    });
    let engine = Engine::connect(stub.endpoint()).await.unwrap();
    let error = engine.exec_start(&ExecId("abc".into()), false).await.unwrap_err();
    assert!(matches!(error, EngineError::UpgradeRefused { status: 200, .. }), "{error}");
    assert_eq!(error.report().code, "CRL-ENGINE-010");
}

#[tokio::test]
async fn a_refused_upgrade_keeps_the_engines_words() {
    let body = r#"{"message":"container is paused"}"#;
    let refusal = format!("HTTP/1.1 409 Conflict\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let stub =
        Stub::new(move |line| Some(if line.contains("/exec/") { refusal.clone() } else { PING.to_owned() }));
    let engine = Engine::connect(stub.endpoint()).await.unwrap();
    let error = engine.exec_start(&ExecId("abc".into()), false).await.unwrap_err();
    assert!(matches!(&error, EngineError::Refused { status: 409, .. }), "{error}");
    assert!(error.to_string().contains("container is paused"));
}

#[tokio::test]
async fn podman_is_recognised_by_its_own_header() {
    let stub = Stub::new(|_| {
        Some(PING.replace("Server: Docker/20.10.24", "Libpod-Api-Version: 4.3.1\r\nServer: Libpod/4.3.1"))
    });
    let engine = Engine::connect(stub.endpoint()).await.unwrap();
    assert_eq!(engine.facts().kind, EngineKind::Podman);
    assert_eq!(engine.facts().version, "4.3.1");
}

#[tokio::test]
async fn a_connection_that_ends_early_is_lost_and_silence_has_a_deadline() {
    let stub = Stub::new(|line| match line {
        line if line.contains("_ping") => Some(PING.to_owned()),
        line if line.contains("/gone/") => Some(String::new()),
        _ => None,
    });
    let quick = Deadlines { quick: Duration::from_millis(200), ..Deadlines::default() };
    let engine = Engine::connect(stub.endpoint()).await.unwrap().with_deadlines(quick);
    let error = engine.inspect("gone").await.unwrap_err();
    assert!(matches!(error, EngineError::Lost { .. }), "{error}");
    let error = engine.log_tail(&ContainerId("silent".into()), 1).await.unwrap_err();
    assert!(matches!(error, EngineError::NotResponding { .. }), "{error}");
}

#[tokio::test]
async fn every_request_names_the_negotiated_version() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let stub = Stub::new(move |line| {
        let _ = sender.send(line.to_owned());
        Some(if line.contains("_ping") {
            PING.to_owned()
        } else {
            "HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n".into()
        })
    });
    let engine = Engine::connect(stub.endpoint()).await.unwrap();
    assert_eq!(engine.inspect("x").await.unwrap(), None);
    drop(engine);
    let lines: Vec<String> = receiver.try_iter().collect();
    assert_eq!(lines[1], "GET /v1.41/containers/x/json HTTP/1.1");
}

/// As an ordinary user, because root may open any socket.
#[test]
fn a_forbidden_socket_is_named_with_its_remedy() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(dir.path(), open).unwrap();
    let socket = dir.path().join("docker.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o0)).unwrap();
    // The build directory may be closed to other users.
    let program = dir.path().join("creel");
    std::fs::copy(env!("CARGO_BIN_EXE_creel"), &program).unwrap();
    let address = format!("unix://{}", socket.display());
    let output = std::process::Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args(["engine", "status", "--engine", &address])
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains(&format!("permission denied on {}", socket.display())), "{err}");
    assert!(err.contains("group"), "{err}");
}
