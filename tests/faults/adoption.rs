//! A command in a sandbox changes hands: its lease, its input, its limits.

use std::time::Duration;

use creel::runner::{Death, HeldBy, Limits, Progress, RunError, Running, fresh_id};
use creel::{Call, RoadChoice, Sandbox};

use super::home::{Home, call, text};

const GRACE: Duration = Duration::from_millis(300);
const PATIENCE: Duration = Duration::from_mins(1);

async fn next(running: &mut Running) -> Progress {
    tokio::time::timeout(PATIENCE, running.next()).await.unwrap().unwrap()
}

/// Starts a script that reads, and follows it until it has printed `until`.
async fn start(sandbox: &Sandbox, script: &str, lease: Option<Duration>, until: &str) -> Running {
    let mut call: Call = call(sandbox, script);
    call.options.stdin = true;
    call.options.lease = lease;
    let mut running = sandbox.start(&call).await.unwrap();
    running.outlive();
    let mut seen = String::new();
    while !seen.ends_with(until) {
        if let Progress::Output(_, data) = next(&mut running).await {
            seen.push_str(&text(&data));
        }
    }
    running
}

/// What it prints from here on, where its input stood, and how it ended.
async fn follow(running: &mut Running) -> (String, Vec<(u64, bool)>, creel::runner::Outcome) {
    let (mut seen, mut places) = (String::new(), Vec::new());
    loop {
        match next(running).await {
            Progress::Output(_, data) => seen.push_str(&text(&data)),
            Progress::Input { taken, closed } => places.push((taken, closed)),
            Progress::Done(outcome) => return (seen, places, *outcome),
            Progress::Started(_) => {}
        }
    }
}

#[tokio::test]
async fn its_input_goes_on_where_it_stopped() {
    let home = Home::new();
    let (first, second) = (home.open().await, home.open().await);
    let mut running =
        start(&first, "echo up; read a; echo got $a; cat; exit 9", Some(Duration::from_secs(30)), "up\n")
            .await;
    let id = running.id();
    running.write(b"one\n".to_vec()).await.unwrap();
    while !matches!(next(&mut running).await, Progress::Output(..)) {}
    let place = running.position();
    // The connection goes with the last that uses it.
    drop((running, first));
    let link = second.link().unwrap();
    let mut running = loop {
        let mut running = Running::adopt(link, id, place, true, GRACE).unwrap();
        running.write(b"two\n".to_vec()).await.unwrap();
        running.close_input().await.unwrap();
        match running.next().await {
            // PID 1 has not yet seen that the first is gone.
            Err(RunError::Link(_)) => tokio::time::sleep(Duration::from_millis(10)).await,
            Ok(Progress::Started(_)) => break running,
            other => panic!("{other:?}"),
        }
    };
    let (seen, places, outcome) = follow(&mut running).await;
    assert_eq!((seen.as_str(), outcome.code), ("two\n", Some(9)), "{outcome:?}");
    assert_eq!((places.first(), places.last()), (Some(&(4, false)), Some(&(8, true))), "{places:?}");
    running.settle().unwrap();
    drop((running, second));
    home.assert_nothing_leaks().await;
}

#[tokio::test]
async fn its_lease_is_taken_away() {
    let home = Home::new();
    let (first, second) = (home.open().await, home.open().await);
    let mut running =
        start(&first, "echo up; read a; echo got $a", Some(Duration::from_millis(200)), "up\n").await;
    let id = running.id();
    running.hold(None).unwrap();
    drop((running, first));
    tokio::time::sleep(Duration::from_millis(800)).await;
    let mut running = Running::adopt(second.link().unwrap(), id, 3, true, GRACE).unwrap();
    running.write(b"one\n".to_vec()).await.unwrap();
    let (seen, _, outcome) = follow(&mut running).await;
    assert_eq!((seen.as_str(), outcome.death), ("got one\n", Death::Exit), "{outcome:?}");
    running.settle().unwrap();
    let mut unknown = Running::adopt(second.link().unwrap(), fresh_id().unwrap(), 0, true, GRACE).unwrap();
    let error = unknown.next().await.unwrap_err();
    assert!(matches!(error, RunError::Unknown { .. }), "{error}");
    drop((running, unknown, second));
    home.assert_nothing_leaks().await;
}

#[tokio::test]
async fn its_own_limits_hold_in_a_sandbox() {
    let home = Home::new();
    let sandbox = home.open().await;
    let run = async |script: &str, limits: Limits| {
        let mut call = call(&sandbox, script);
        call.options.limits = limits;
        call.options.grace = GRACE;
        sandbox.run(&call).await.unwrap()
    };
    let none = Limits::default();
    let done = run("yes", Limits { output_bytes: Some(5000), ..none }).await;
    assert_eq!((done.outcome.death, done.stdout.len()), (Death::OutputLimit, 5000));
    let done = run("while :; do :; done", Limits { cpu_seconds: Some(1), ..none }).await;
    assert_eq!(done.outcome.death, Death::CpuLimit, "{:?}", done.outcome);
    let done = run("while :; do sleep 1000 & done", Limits { processes: Some(8), ..none }).await;
    assert_eq!(done.outcome.death, Death::ProcessLimit, "{:?}", done.outcome);
    assert!(done.outcome.processes.unwrap().proven_gone, "{:?}", done.outcome);
    // The colon keeps the shell there: without it, it would become the sleep and give its memory back.
    let hog =
        "for i in 1 2 3 4; do (x=$(head -c 6000000 /dev/zero | tr '\\0' x); sleep 1000; :) & done; wait";
    let done = run(hog, Limits { memory_bytes: Some(20 << 20), ..none }).await;
    assert_eq!(done.outcome.death, Death::MemoryLimit, "{:?}", done.outcome);
    let held = done.outcome.limits.unwrap();
    assert_eq!((held.memory, held.output), (Some(HeldBy::PerProcess), None));
    let done = run("echo unlimited", none).await;
    assert_eq!((done.outcome.code, done.outcome.limits), (Some(0), None));
    drop(sandbox);
    home.assert_nothing_leaks().await;
}

#[tokio::test]
async fn the_engine_holds_no_limits_and_says_so() {
    let home = Home::new();
    let sandbox = home.note(home.options().road(RoadChoice::Engine).open().await.unwrap());
    let mut call = call(&sandbox, "touch /workspace/ran");
    call.options.limits = Limits { output_bytes: Some(1), ..Limits::default() };
    let error = sandbox.start(&call).await.unwrap_err();
    assert!(error.to_string().contains("CRL-RUN-005"), "{error}");
    drop(sandbox);
    home.assert_nothing_leaks().await;
}
