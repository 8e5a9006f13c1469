//! Trees of processes: ended completely, and nothing else with them.

use std::time::Duration;

use creel::host_tool::host_tool;
use creel::runner::Death;

use super::ground::{Ground, follow, lives, read_until, start};

/// Prints the id of a process that has left its session and its parent, and ignores TERM.
const ESCAPED: &str = "(setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1000; done' &) ; ";

fn number(text: &str) -> i32 {
    text.trim().parse().unwrap()
}

#[tokio::test]
async fn a_kill_reaches_what_has_forked_away() {
    let ground = Ground::new();
    // Of the same user, and of nobody's tree here.
    let mut stranger = host_tool("sleep").arg("1000").spawn().unwrap();
    let link = ground.launch().await;
    let mut running = start(&link, &format!("{ESCAPED} sleep 1000"), |_| {}).await;
    let escaped = number(&read_until(&mut running, "\n").await);
    assert!(lives(escaped));
    running.kill().unwrap();
    let run = follow(&mut running).await;
    assert_eq!(run.outcome.death, Death::Cancelled, "{run:?}");
    let processes = run.outcome.processes.unwrap();
    assert!(processes.proven_gone && processes.killed >= 1 && processes.termed >= 3, "{processes:?}");
    assert!(!lives(escaped));
    ground.assert_gone().await;
    assert!(stranger.try_wait().unwrap().is_none(), "somebody else's process was ended");
    stranger.kill().await.unwrap();
}

#[tokio::test]
async fn what_is_left_behind_is_ended_with_the_command() {
    let ground = Ground::new();
    let run = ground.run(&format!("{ESCAPED} sleep 0.2"), |_| {}).await;
    let processes = run.outcome.processes.unwrap();
    assert!(processes.leftovers >= 1 && processes.proven_gone && processes.held_output, "{run:?}");
    assert!(!lives(number(&run.stdout)), "{run:?}");
}

/// Left alone on purpose it stays, and its supervisor with it, until it ends.
#[tokio::test]
async fn what_is_left_on_purpose_stays() {
    let ground = Ground::new();
    let link = ground.launch().await;
    let script = "(setsid sleep 1000 >/dev/null 2>&1 & echo $!)";
    let mut running = start(&link, script, |options| options.keep_leftovers = true).await;
    let run = follow(&mut running).await;
    let kept = number(&run.stdout);
    drop((running, link));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(lives(kept) && ground.badge().is_some(), "{run:?}");
    let pid = nix::unistd::Pid::from_raw(kept);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    ground.assert_gone().await;
}

/// The process between the supervisor and the command is killed: what it had below it is found and ended.
#[tokio::test]
async fn a_killed_guard_loses_nothing() {
    let ground = Ground::new();
    let mut stranger = host_tool("sleep").arg("1000").spawn().unwrap();
    let link = ground.launch().await;
    let script = format!("{ESCAPED} kill -9 $PPID; sleep 1000");
    let mut running = start(&link, &script, |_| {}).await;
    let run = follow(&mut running).await;
    assert_eq!(run.outcome.death, Death::SupervisorLost, "{run:?}");
    assert!(run.outcome.processes.unwrap().proven_gone, "{run:?}");
    assert!(run.stdout.is_empty() || !lives(number(&run.stdout)), "{run:?}");
    assert!(stranger.try_wait().unwrap().is_none(), "somebody else's process was ended");
    stranger.kill().await.unwrap();
    ground.assert_gone().await;
}

/// TERM from outside ends the command in good order; from its own command it is not listened to.
#[tokio::test]
async fn who_may_stop_it() {
    let ground = Ground::new();
    let link = ground.launch().await;
    let supervisor = ground.badge().unwrap().pid;
    let script = format!("kill -TERM {supervisor}; sleep 0.2; echo alive; sleep 1000");
    let mut running = start(&link, &script, |_| {}).await;
    read_until(&mut running, "alive\n").await;
    let pid = nix::unistd::Pid::from_raw(supervisor);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    let run = follow(&mut running).await;
    assert_eq!(run.outcome.death, Death::SandboxStopped, "{run:?}");
    ground.assert_gone().await;
}
