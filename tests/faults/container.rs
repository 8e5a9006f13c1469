//! Containers that are stopped, removed, paused or restarted under a command, by creel or behind its back.

use std::time::{Duration, Instant};

use creel::Sandbox;
use creel::error::Failure;
use creel::runner::{Death, Outcome, Progress, Running, Transport};
use creel::wire::Stream;

use super::home::{Home, assert_usable, call, docker, text, until};
use super::processes::Namespace;

/// Starts a command and waits until it has printed its first line.
async fn under_way(sandbox: &Sandbox, script: &str) -> Running {
    let mut running = sandbox.start(&call(sandbox, script)).await.unwrap();
    loop {
        if let Progress::Output(_, data) = running.next().await.unwrap() {
            assert_eq!(text(&data), "up\n");
            return running;
        }
    }
}

/// Follows a command to its result; within fifteen seconds.
async fn end(mut running: Running) -> Result<(Outcome, String), Failure> {
    let follow = async {
        let mut out = String::new();
        loop {
            match running.next().await? {
                Progress::Output(Stream::Stdout, data) => out.push_str(&text(&data)),
                Progress::Done(outcome) => return Ok((*outcome, out)),
                Progress::Output(..) | Progress::Started(_) | Progress::Input { .. } => {}
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(15), follow).await.unwrap()
}

/// A result like any other, with the cause: over both roads.
fn assert_stopped(result: Result<(Outcome, String), Failure>) {
    let (outcome, _) = result.unwrap();
    assert_eq!(outcome.death, Death::SandboxStopped, "{outcome:?}");
    assert_eq!(outcome.exit_status(), 125);
}

#[tokio::test]
async fn docker_stop_ends_init_in_order_and_tells_the_commands() {
    let home = Home::new();
    let sandbox = home.open().await;
    let script = "trap 'echo told; exit 33' TERM; echo up; while :; do sleep 0.05; done";
    let polite = under_way(&sandbox, script).await;
    let stubborn = under_way(&sandbox, "trap '' TERM; echo up; while :; do sleep 0.05; done").await;
    let begin = Instant::now();
    let (stopped, polite, stubborn) =
        tokio::join!(docker(["stop", "-t", "10", &sandbox.container().0]), end(polite), end(stubborn));
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
    assert!(stopped.trim() == sandbox.container().0);
    let (outcome, out) = polite.unwrap();
    assert_eq!((outcome.death, out.as_str()), (Death::SandboxStopped, "told\n"), "{outcome:?}");
    assert_eq!((outcome.code, outcome.exit_status()), (Some(33), 125));
    let (outcome, _) = stubborn.unwrap();
    assert_eq!((outcome.death, outcome.signal), (Death::SandboxStopped, Some(9)), "{outcome:?}");
    assert!(outcome.processes.unwrap().proven_gone, "{outcome:?}");
    let code = docker(["inspect", "--format", "{{.State.ExitCode}}", &sandbox.container().0]).await;
    assert_eq!(code.trim(), "0");
    let error = sandbox.exec("true").await.unwrap_err();
    assert_eq!(error.0.code, "CRL-SANDBOX-031", "{error}");
    drop(sandbox);
    home.assert_nothing_leaks().await;
}

/// A flood of the same signal from inside must not hide the engine's.
#[tokio::test]
async fn docker_stop_is_heard_above_signals_from_inside() {
    let home = Home::new();
    let sandbox = home.open().await;
    let noise = under_way(&sandbox, "trap '' TERM; echo up; while :; do kill -TERM 1; done").await;
    let begin = Instant::now();
    let (_, noise) = tokio::join!(docker(["stop", "-t", "10", &sandbox.container().0]), end(noise));
    assert!(begin.elapsed() < Duration::from_secs(14), "{:?}", begin.elapsed());
    assert_stopped(noise);
    drop(sandbox);
    home.assert_nothing_leaks().await;
}

#[tokio::test]
async fn creel_stop_under_a_command_of_another_user() {
    let home = Home::new();
    let (user, stopper) = (home.open().await, home.open().await);
    let running = under_way(&user, "echo up; sleep 1000").await;
    let over_the_engine = home.open().await.over(Transport::Engine);
    let second = under_way(&over_the_engine, "echo up; sleep 1000").await;
    let (stopped, first, second) = tokio::join!(stopper.stop(), end(running), end(second));
    stopped.unwrap();
    assert_stopped(first);
    assert_stopped(second);
    drop((user, over_the_engine));
    home.assert_nothing_leaks().await;
}

#[tokio::test]
async fn removed_behind_our_back_it_is_told_and_made_anew() {
    let home = Home::new();
    for transport in [Transport::Init, Transport::Engine] {
        let sandbox = home.open().await.over(transport);
        let running = under_way(&sandbox, "echo up; sleep 1000").await;
        let id = sandbox.container().clone();
        let (_, result) = tokio::join!(docker(["rm", "-f", &id.0]), end(running));
        assert_stopped(result);
        let error = sandbox.exec("true").await.unwrap_err();
        assert!(!error.0.fix.is_empty(), "{error}");
        // The first user still holds its lease on what is gone.
        let next = home.open().await;
        assert!(next.ready().created && *next.container() != id);
        assert_usable(&next).await;
        drop((sandbox, next));
    }
    home.assert_nothing_leaks().await;
}

#[tokio::test]
async fn paused_by_somebody_it_is_named_and_goes_on_later() {
    let home = Home::new();
    let sandbox = home.open().await;
    let id = sandbox.container().0.clone();
    let running = under_way(&sandbox, "echo up; sleep 0.5; echo on; exit 3").await;
    docker(["pause", &id]).await;
    let begin = Instant::now();
    let error = home.options().open().await.unwrap_err();
    assert_eq!(error.0.code, "CRL-SANDBOX-012", "{error}");
    assert!(error.0.message.contains(&sandbox.ready().name), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    docker(["unpause", &id]).await;
    let (outcome, out) = end(running).await.unwrap();
    assert_eq!((out.as_str(), outcome.code), ("on\n", Some(3)), "{outcome:?}");
    assert_usable(&sandbox).await;
    let again = home.open().await;
    assert!(!again.ready().created);
    // Stopped while paused.
    docker(["pause", &id]).await;
    drop(sandbox);
    again.stop().await.unwrap();
    home.assert_nothing_leaks().await;
}

#[tokio::test]
async fn restarted_by_the_engine_it_is_not_trusted() {
    let home = Home::new();
    let sandbox = home.open().await;
    let (id, space) = (sandbox.container().clone(), Namespace::of(sandbox.ready().pid1));
    let running = under_way(&sandbox, "echo up; sleep 1000").await;
    let (_, result) = tokio::join!(docker(["restart", "-t", "5", &id.0]), end(running));
    assert_stopped(result);
    assert!(until(Duration::from_secs(5), || space.everything().is_empty()).await);
    let next = home.open().await;
    assert!(next.ready().created && *next.container() != id);
    assert_usable(&next).await;
    drop((sandbox, next));
    home.assert_nothing_leaks().await;
}

/// PID 1 is killed from outside, as by the out-of-memory killer of the host.
#[tokio::test]
async fn init_killed_from_outside_takes_its_commands_with_it() {
    let home = Home::new();
    let sandbox = home.open().await;
    let space = Namespace::of(sandbox.ready().pid1);
    let running = under_way(&sandbox, "trap '' TERM; setsid sleep 1000 & echo up; sleep 1000").await;
    let (_, result) = tokio::join!(docker(["kill", &sandbox.container().0]), end(running));
    assert_stopped(result);
    assert!(until(Duration::from_secs(5), || space.everything().is_empty()).await);
    let next = home.open().await;
    assert!(next.ready().created);
    assert_usable(&next).await;
    drop((sandbox, next));
    home.assert_nothing_leaks().await;
}
