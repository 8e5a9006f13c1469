//! The engine is killed and started again under running commands.

use std::time::{Duration, Instant};

use creel::Sandbox;
use creel::runner::{Death, Outcome, Progress, Running, Transport};

use super::home::{Home, assert_usable, call, text, until};
use super::private_engine::PrivateEngine;
use super::processes::Namespace;

async fn home_on(engine: &PrivateEngine) -> Home {
    let home = Home::on(engine.address());
    engine.load().await;
    home
}

async fn under_way(sandbox: &Sandbox, script: &str) -> Running {
    let mut running = sandbox.start(&call(sandbox, script)).await.unwrap();
    while !matches!(running.next().await.unwrap(), Progress::Output(..)) {}
    running
}

async fn end(mut running: Running) -> (Outcome, String) {
    let follow = async {
        let mut out = String::new();
        loop {
            match running.next().await.unwrap() {
                Progress::Output(_, data) => out.push_str(&text(&data)),
                Progress::Done(outcome) => return (*outcome, out),
                Progress::Started(_) | Progress::Input { .. } => {}
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), follow).await.unwrap()
}

/// Containers outlive the daemon: over init a command does not even notice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_live_restore_commands_over_init_go_on() {
    let mut engine = PrivateEngine::start(true).await;
    let home = home_on(&engine).await;
    let sandbox = home.open().await;
    let over_exec = home.open().await.over(Transport::Engine);
    assert_usable(&over_exec).await;
    let (id, started) = (sandbox.container().clone(), Instant::now());
    let script = "echo up; i=0; while [ $i -lt 40 ]; do echo $i; i=$((i+1)); sleep 0.1; done; exit 21";
    let running = under_way(&sandbox, script).await;
    let silent = under_way(&over_exec, "echo up; sleep 3; exit 4").await;

    engine.crash().await;
    let (outcome, _) = end(silent).await;
    assert_eq!(outcome.death, Death::EngineLost, "{outcome:?}");
    assert_eq!((outcome.code, outcome.exit_status()), (None, 125), "{outcome:?}");
    // Init needs no engine; every call to the engine is a clear failure, at once.
    assert_usable(&sandbox).await;
    let begin = Instant::now();
    for error in [home.options().open().await.unwrap_err(), over_exec.exec("true").await.unwrap_err()] {
        assert!(error.0.code.starts_with("CRL-ENGINE-"), "{error}");
        assert!(!error.0.fix.is_empty(), "{error}");
    }
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());

    engine.up().await;
    let (outcome, out) = end(running).await;
    assert!(started.elapsed() > Duration::from_secs(4));
    assert_eq!((outcome.death, outcome.code), (Death::Exit, Some(21)), "{outcome:?}");
    assert!(out.ends_with("38\n39\n") && out.lines().count() >= 39, "{out}");
    // The same start of the same container: the proof still holds.
    let again = home.open().await;
    assert!(!again.ready().created && *again.container() == id);
    assert_usable(&again).await;
    drop((sandbox, over_exec, again));
    home.assert_nothing_leaks().await;
    drop(home);
    engine.down().await;
}

/// The daemon ends its containers when it comes back: lost is said, and nothing of the old one is trusted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_live_restore_the_container_is_made_anew() {
    let mut engine = PrivateEngine::start(false).await;
    let home = home_on(&engine).await;
    let sandbox = home.open().await;
    let (id, space) = (sandbox.container().clone(), Namespace::of(sandbox.ready().pid1));
    let mut running = under_way(&sandbox, "echo up; sleep 1000").await;
    let over_exec = home.open().await.over(Transport::Engine);
    let second = under_way(&over_exec, "trap '' TERM; echo up; while :; do sleep 1; done").await;
    engine.crash().await;
    let (outcome, _) = end(second).await;
    assert_eq!(outcome.death, Death::EngineLost, "{outcome:?}");
    assert_usable(&sandbox).await;
    engine.up().await;
    // By TERM, in order, or by KILL: in both cases the truth is told.
    let told = tokio::time::timeout(Duration::from_secs(20), async {
        loop {
            match running.next().await {
                Ok(Progress::Done(outcome)) => return Ok(*outcome),
                Ok(_) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
    });
    match told.await.unwrap() {
        Ok(outcome) => assert_eq!(outcome.death, Death::SandboxStopped, "{outcome:?}"),
        Err(error) => assert!(error.contains("lost"), "{error}"),
    }
    assert!(
        until(Duration::from_secs(15), || space.everything().is_empty()).await,
        "{:?}",
        space.everything()
    );
    let next = home.open().await;
    assert!(next.ready().created && *next.container() != id);
    assert_usable(&next).await;
    drop((sandbox, over_exec, next));
    home.assert_nothing_leaks().await;
    drop(home);
    engine.down().await;
}

/// A fresh engine has no image: the error names the command that makes it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_fresh_engine_the_missing_image_is_named() {
    let engine = PrivateEngine::start(false).await;
    let home = Home::on(engine.address());
    let error = home.options().open().await.unwrap_err();
    assert_eq!(error.0.fix, "creel images build minimal", "{error}");
    let error = home.options().image("openclaw-sandbox:bookworm-slim").open().await.unwrap_err();
    assert_eq!(error.0.fix, "creel images build sandbox", "{error}");
    assert_eq!(home.list().await, []);
    drop(home);
    engine.down().await;
}
