//! Trees of processes that do not want to end: the kill must be complete, and what it says about that true.

use std::time::Duration;

use creel::runner::{Death, Outcome};
use creel::{Collected, Sandbox};

use super::home::{Home, assert_usable, call, text, until};
use super::processes::Namespace;

async fn run_for(sandbox: &Sandbox, script: &str, timeout: Duration) -> Collected {
    let mut call = call(sandbox, script);
    call.options.timeout = Some(timeout);
    sandbox.run(&call).await.unwrap()
}

/// What the result says about its processes is what the host sees.
fn assert_gone(sandbox: &Sandbox, outcome: &Outcome) {
    assert!(outcome.processes.is_some_and(|processes| processes.proven_gone), "{outcome:?}");
    assert_eq!(Namespace::of(sandbox.ready().pid1).commands(), [], "{outcome:?}");
}

#[tokio::test]
async fn a_fork_bomb_under_the_pids_limit_ends_with_its_time() {
    let home = Home::with_docker("pidsLimit: 64");
    let sandbox = home.open_with_attack().await;
    let bomb = "/attack/attack bomb";
    for _ in 0..2 {
        let done = run_for(&sandbox, bomb, Duration::from_secs(2)).await;
        assert_eq!(done.outcome.death, Death::Timeout, "{:?}", done.outcome);
        assert!(done.outcome.processes.unwrap().killed > 40, "it was none: {:?}", done.outcome);
        assert_gone(&sandbox, &done.outcome);
        assert_usable(&sandbox).await;
    }
    drop(sandbox);
    home.assert_nothing_leaks().await;
}

/// The sandbox is full: another command is refused or fails, it does not hang, and init lives.
#[tokio::test]
async fn beside_a_fork_bomb_a_command_has_a_clear_result() {
    let home = Home::with_docker("pidsLimit: 48");
    let sandbox = home.open().await;
    let bomb = "i=0; while [ $i -lt 100 ]; do sleep 1000 & i=$((i+1)); done 2>/dev/null; sleep 1000";
    let mut running = sandbox.start(&call(&sandbox, bomb)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    for _ in 0..5 {
        match sandbox.exec("exit 0").await {
            Ok(done) => assert!(
                matches!(done.outcome.death, Death::Exit | Death::Pids | Death::NotStarted),
                "{:?}",
                done.outcome
            ),
            Err(error) => assert!(error.to_string().contains("CRL-LINK-008"), "{error}"),
        }
    }
    running.kill().unwrap();
    while !matches!(running.next().await.unwrap(), creel::runner::Progress::Done(_)) {}
    assert_eq!(Namespace::of(sandbox.ready().pid1).commands(), []);
    assert_usable(&sandbox).await;
    drop(sandbox);
    home.assert_nothing_leaks().await;
}

#[tokio::test]
async fn a_process_that_forks_itself_away_is_caught() {
    let home = Home::new();
    let sandbox = home.open_with_attack().await;
    for comets in [1, 4] {
        let script = format!("/attack/attack comet {comets}");
        let done = run_for(&sandbox, &script, Duration::from_millis(500)).await;
        assert_eq!(done.outcome.death, Death::Timeout, "{:?}", done.outcome);
        assert_gone(&sandbox, &done.outcome);
        // As a background process of a command that has ended.
        let done = run_for(&sandbox, &format!("{script} leave"), Duration::from_mins(1)).await;
        assert_eq!((text(&done.stdout), done.outcome.code), ("launched\n".to_owned(), Some(0)));
        assert_gone(&sandbox, &done.outcome);
        // Without a supervisor above it.
        let done =
            run_for(&sandbox, &format!("{script} leave; kill -9 $PPID; sleep 9"), Duration::from_mins(1))
                .await;
        assert_eq!(done.outcome.death, Death::SupervisorLost, "{:?}", done.outcome);
        assert_gone(&sandbox, &done.outcome);
        assert_usable(&sandbox).await;
    }
    drop(sandbox);
    home.assert_nothing_leaks().await;
}

#[tokio::test]
async fn who_left_parent_session_and_environment_is_found_below_pid_1() {
    let home = Home::new();
    let sandbox = home.open_with_attack().await;
    let space = Namespace::of(sandbox.ready().pid1);
    // With its supervisor: the subreaper has it.
    let done = run_for(&sandbox, "/attack/attack escape; sleep 0.3; exit 5", Duration::from_mins(1)).await;
    assert_eq!(done.outcome.code, Some(5), "{:?}", done.outcome);
    assert!(done.outcome.processes.unwrap().leftovers >= 1, "{:?}", done.outcome);
    assert_gone(&sandbox, &done.outcome);
    // Without: PID 1 has it, and knows that it is nobody else's.
    let neighbour = sandbox.start(&call(&sandbox, "exec sleep 1000")).await.unwrap();
    assert!(until(Duration::from_secs(5), || space.commands().len() == 1).await);
    let script = "/attack/attack escape; sleep 0.3; kill -9 $PPID; sleep 1000";
    let done = run_for(&sandbox, script, Duration::from_mins(1)).await;
    assert_eq!(done.outcome.death, Death::SupervisorLost, "{:?}", done.outcome);
    assert!(done.outcome.processes.unwrap().proven_gone, "{:?}", done.outcome);
    let left: Vec<String> = space.commands().into_iter().map(|process| process.line).collect();
    assert_eq!(left, ["sleep 1000"], "the neighbour's own lives on");
    drop(neighbour);
    assert!(until(Duration::from_secs(5), || space.commands().is_empty()).await);
    assert_usable(&sandbox).await;
    drop(sandbox);
    home.assert_nothing_leaks().await;
}

/// A command whose background processes are kept is over for its caller; the next lost supervisor is not theirs.
#[tokio::test]
async fn kept_background_processes_outlive_the_result_and_a_neighbours_loss() {
    let home = Home::new();
    let sandbox = home.open().await;
    let space = Namespace::of(sandbox.ready().pid1);
    let mut keep = call(&sandbox, "sleep 1234 >/dev/null 2>&1 & exit 0");
    keep.options.keep_leftovers = true;
    let done = sandbox.run(&keep).await.unwrap();
    assert_eq!((done.outcome.code, done.outcome.processes.unwrap().leftovers), (Some(0), 1));
    tokio::time::sleep(Duration::from_millis(300)).await;
    let lines = || space.commands().into_iter().map(|process| process.line).collect::<Vec<_>>();
    assert_eq!(lines(), ["sleep 1234"], "kept after the result was taken");
    let done = sandbox.run(&call(&sandbox, "kill -9 $PPID; sleep 1000")).await.unwrap();
    assert_eq!(done.outcome.death, Death::SupervisorLost, "{:?}", done.outcome);
    assert_eq!(lines(), ["sleep 1234"], "kept after a neighbour's supervisor was killed");
    assert_usable(&sandbox).await;
    drop(sandbox);
    home.assert_nothing_leaks().await;
}
