//! creel, a container or a connection dies at one certain point.

use std::io::Write as _;
use std::time::Duration;

use creel::process::record::{Phase, SessionId};
use creel::process::sessions::ProcessError;
use creel::runner::Death;
use creel::sandbox::InUse;
use pretty_assertions::assert_eq;

use super::lab::{Creel, Home, LONG, Lab, begin, orders, spawn};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "another creel, started by the tests"]
async fn victim() {
    let (home, task) = orders();
    let lab = Lab::open(&home).await;
    let sandbox = lab.sandbox("a").await;
    let mut begin = begin(&sandbox, "echo one; sleep 1; echo two; exit 9");
    begin.call = Some("call".to_owned());
    begin.stdin = task == "cut";
    if task == "cut" {
        begin.command = "while read line; do echo $line; done; exit 9".to_owned();
    }
    let (id, command) = lab.sessions.begin(begin.clone()).unwrap();
    if task == "begun" {
        println!("did={id}");
        std::future::pending::<()>().await;
    }
    let mut running = spawn(&sandbox, &begin, command).await;
    if task == "spawned" {
        running.outlive();
        // It is init's when it says so.
        running.next().await.unwrap();
        println!("did={id}");
        std::future::pending::<()>().await;
    }
    lab.sessions.follow(&id, running).unwrap();
    if task == "followed" {
        lab.printed(&id, "one").await;
        println!("did={id}");
        std::future::pending::<()>().await;
    }
    // The connection is cut under both ends.
    for part in ["first", "second"] {
        lab.sessions.write(&id, format!("{part}\n").into_bytes(), false).await.unwrap();
        lab.printed(&id, part).await;
        cut_all();
    }
    lab.sessions.write(&id, b"third\n".to_vec(), true).await.unwrap();
    let end = lab.ended(&id).await.end.unwrap();
    println!("did={:?} {:?}", end.outcome.code, lab.sessions.aggregate(&id).unwrap().text);
}

/// Shuts every connection to an init down.
fn cut_all() {
    use nix::sys::socket::{Shutdown, UnixAddr, getsockname, shutdown};
    for entry in std::fs::read_dir("/proc/self/fd").unwrap().flatten() {
        let number: i32 = entry.file_name().to_str().unwrap().parse().unwrap();
        let address = getsockname::<UnixAddr>(number).ok();
        let path = address.and_then(|address| address.path().map(std::path::Path::to_owned));
        if path.is_some_and(|path| path.to_string_lossy().contains("h-")) {
            shutdown(number, Shutdown::Both).unwrap();
        }
    }
}

async fn killed_after(home: &Home, task: &str) -> SessionId {
    let mut creel = Creel::start("deaths::victim", home.path(), task);
    let id = SessionId(creel.said("did").await);
    creel.kill().await;
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn begun_and_never_spawned() {
    let home = Home::new();
    let id = killed_after(&home, "begun").await;
    let lab = home.lab().await;
    assert_eq!(lab.sessions.view(&id).unwrap().phase, Phase::Starting);
    let gone = lab.sessions.ended(&id, Some(LONG)).await;
    // Whoever waits for it may start it anew.
    assert!(matches!(gone, Err(ProcessError::NeverRan { .. })), "{gone:?}");
    assert_eq!(lab.sessions.by_call("call"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn spawned_and_not_followed() {
    let home = Home::new();
    let id = killed_after(&home, "spawned").await;
    let lab = home.lab().await;
    assert_eq!(lab.sessions.by_call("call"), Some(id.clone()));
    let view = lab.ended(&id).await;
    assert_eq!(view.end.unwrap().outcome.code, Some(9));
    assert_eq!(lab.sessions.aggregate(&id).unwrap().text, "one\ntwo\n");
}

/// What a torn write leaves at the end of the output is no output.
#[tokio::test(flavor = "multi_thread")]
async fn a_torn_piece_comes_again() {
    let home = Home::new();
    let id = killed_after(&home, "followed").await;
    let spools = home.path().join("s/creel/spool");
    let dir = std::fs::read_dir(&spools).unwrap().next().unwrap().unwrap().path();
    let segment = dir.join(format!("{:016x}.seg", 0));
    let mut file = std::fs::OpenOptions::new().append(true).open(&segment).unwrap();
    let torn = [0xc7, 1, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, b't', b'w'];
    file.write_all(&torn).unwrap();
    let stray = spools.join("0".repeat(32));
    std::fs::create_dir(&stray).unwrap();
    let lab = home.lab().await;
    assert!(!stray.exists(), "output of nobody is swept");
    lab.sessions.by_call("call").unwrap();
    let view = lab.ended(&id).await;
    assert_eq!((view.end.unwrap().outcome.code, view.written), (Some(9), 8));
    assert_eq!(lab.sessions.aggregate(&id).unwrap().text, "one\ntwo\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_connection_is_made_again() {
    let home = Home::new();
    let mut creel = Creel::start("deaths::victim", home.path(), "cut");
    assert_eq!(creel.said("did").await, r#"Some(9) "first\nsecond\nthird\n""#);
}

/// The end was stored and init does not know: it is told, and the end is not doubled.
#[tokio::test(flavor = "multi_thread")]
async fn stored_and_not_settled() {
    let home = Home::new();
    let lab = home.lab().await;
    let sandbox = lab.sandbox("a").await;
    let begin = begin(&sandbox, "exit 6");
    let other = lab.start(&sandbox, "exit 6").await;
    lab.ended(&other).await;
    let (id, command) = lab.sessions.begin(begin.clone()).unwrap();
    let mut running = spawn(&sandbox, &begin, command).await;
    running.outlive();
    while !matches!(running.next().await.unwrap(), creel::runner::Progress::Done(_)) {}
    drop(running);
    // The connection that owns it goes with the sandbox.
    drop(sandbox);
    lab.close().await;
    let database = rusqlite::Connection::open(home.path().join("s/creel/creel.db")).unwrap();
    let end = "INSERT INTO ends SELECT ?1, end_json, chars, lost_output, pid, 0 FROM ends WHERE id = ?2";
    assert_eq!(database.execute(end, [&id.0, &other.0]).unwrap(), 1);
    drop(database);
    let lab = home.lab().await;
    assert_eq!(lab.sessions.view(&id).unwrap().end.unwrap().outcome.code, Some(6));
    let sandbox = lab.sandbox("a").await;
    let told = async {
        while sandbox.link().unwrap().table().await.unwrap().iter().any(|entry| entry.id == command) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LONG, told).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_is_gone_ends_its_sessions() {
    let home = Home::new();
    let lab = home.lab().await;
    let sandbox = lab.sandbox("a").await;
    let one = lab.start(&sandbox, "echo before; sleep 1000").await;
    let two = lab.start(&sandbox, "echo before; sleep 1000").await;
    for id in [&one, &two] {
        lab.sessions.background(id).unwrap();
        lab.printed(id, "before").await;
    }
    let name = creel::sandbox::SandboxName::parse(&sandbox.ready().name).unwrap();
    let sandboxes = creel::sandbox::Sandboxes::open(
        sandbox.engine().clone(),
        &creel::state::StateDir::at(home.path().join("s")),
    );
    sandboxes.unwrap().stop(&name, InUse::Remove).await.unwrap();
    for id in [&one, &two] {
        let end = lab.ended(id).await.end.unwrap();
        assert_eq!((end.outcome.death, end.requested), (Death::SandboxStopped, false), "{end:?}");
        assert_eq!(end.outcome.stdout_bytes, 7);
        assert_eq!(lab.sessions.aggregate(id).unwrap().text, "before\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_went_meanwhile_is_no_riddle() {
    let home = Home::new();
    let lab = home.lab().await;
    let sandbox = lab.sandbox("a").await;
    let id = lab.start(&sandbox, "echo before; sleep 1000").await;
    lab.sessions.background(&id).unwrap();
    lab.printed(&id, "before").await;
    lab.close().await;
    sandbox.stop().await.unwrap();
    let lab = home.lab().await;
    let end = lab.ended(&id).await.end.unwrap();
    assert_eq!(end.outcome.death, Death::SandboxStopped);
    assert!(end.lost.unwrap().contains("removed"));
}

/// Nobody waits any more for the result of a foreground command: it is ended. One in the background goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_does_not_come_back() {
    let home = Home::new();
    let lab = home.lab().await;
    let sandbox = lab.sandbox("a").await;
    let deserted = lab.start_with(&sandbox, "sleep 1000", |begin| begin.call = Some("x".to_owned())).await;
    let claimed = lab.start_with(&sandbox, "sleep 1000", |begin| begin.call = Some("y".to_owned())).await;
    let background = lab.start(&sandbox, "sleep 1000").await;
    lab.sessions.background(&background).unwrap();
    drop(sandbox);
    lab.close().await;
    let lab = home.lab().await;
    assert_eq!(lab.sessions.by_call("y"), Some(claimed.clone()));
    let end = lab.ended(&deserted).await.end.unwrap();
    assert_eq!((end.outcome.death, end.requested), (Death::OwnerLost, false));
    for id in [&claimed, &background] {
        assert!(lab.sessions.view(id).unwrap().end.is_none());
        lab.sessions.kill(id).await.unwrap();
        assert!(lab.ended(id).await.end.unwrap().requested);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_database_is_told() {
    let home = Home::new();
    let lab = home.lab().await;
    assert_eq!(lab.sessions.warnings(), [""; 0]);
    lab.close().await;
    let database = home.path().join("s/creel/creel.db");
    std::fs::write(&database, vec![b'?'; 20_000]).unwrap();
    let lab = home.lab().await;
    assert!(lab.sessions.warnings()[0].contains("creel.db.damaged-"), "{:?}", lab.sessions.warnings());
    assert!(lab.sessions.views().is_empty());
}
