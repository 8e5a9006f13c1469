//! What a command leaves behind when its own process has ended.

use std::time::{Duration, Instant};

use creel::Collected;
use creel::runner::Death;

use crate::case::{sh, table};
use crate::lab::{Lab, text};

/// Runs shell text over init and holds its duration against the default drain time and the leftovers' grace.
async fn quick(lab: &Lab, script: &str) -> Collected {
    let start = Instant::now();
    let done = lab.init.exec(script).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(2), "{script}: {:?}", start.elapsed());
    assert_eq!((done.outcome.death, done.outcome.code), (Death::Exit, Some(0)), "{script}");
    done
}

/// I099 and its kin, over both roads: the result does not wait for what was left behind.
#[tokio::test]
async fn a_background_child_does_not_hang_the_result() {
    let lab = Lab::new().await;
    let cases = vec![
        sh("it holds stdout", "sleep 7001 & echo done").out("done\n"),
        sh("it holds stderr", "sleep 7002 >/dev/null & echo done").out("done\n"),
        sh("a pipeline", "sleep 7003 | cat & exit 0"),
        sh("in a session of its own", "setsid sleep 7004 & echo done; exit 3").out("done\n").status(3),
        sh("it goes on printing", "(while :; do echo x >&2; sleep 0.05; done) 2>/dev/null & echo done")
            .out("done\n"),
        sh("a child that ends in time is waited for", "(sleep 0.1; echo late) & echo early")
            .out("early\nlate\n"),
    ];
    let start = Instant::now();
    let results = table(&lab, cases).await;
    assert!(start.elapsed() < Duration::from_mins(1));
    for [init, _] in &results {
        let processes = init.outcome.processes.unwrap();
        assert!(processes.proven_gone, "{processes:?}");
    }
    lab.await_processes("sleep 700", 0).await;
}

/// I099, I014: leftovers are counted and ended, and the bound on the drain holds.
#[tokio::test]
async fn leftovers_are_told_and_ended() {
    let lab = Lab::new().await;
    let done = quick(&lab, "sleep 7001 | cat & exit 0").await;
    let processes = done.outcome.processes.unwrap();
    assert_eq!((processes.leftovers, processes.held_output, processes.proven_gone), (2, true, true));
    assert!(processes.termed >= 1);

    let done = quick(&lab, "sleep 300 & kill %1; true").await;
    assert!(done.outcome.processes.unwrap().proven_gone);

    let done = quick(&lab, "sleep 300 & true").await;
    assert_eq!(done.outcome.processes.unwrap().leftovers, 1, "I014");

    let done = quick(&lab, "sleep 7002 >/dev/null 2>&1 </dev/null & echo done").await;
    let processes = done.outcome.processes.unwrap();
    assert_eq!((processes.leftovers, processes.held_output, processes.proven_gone), (1, false, true));
    assert!(done.outcome.wall < Duration::from_millis(250), "nothing to drain: {:?}", done.outcome.wall);

    let done = quick(&lab, "(trap '' TERM; sleep 7003) & true").await;
    let processes = done.outcome.processes.unwrap();
    assert!(processes.killed >= 1 && processes.proven_gone, "{processes:?}");
    assert_eq!(lab.processes().await, Vec::<String>::new());
}

/// Where the caller asks for it, they live on, and the result does not wait for them either.
#[tokio::test]
async fn leftovers_may_be_kept() {
    let lab = Lab::new().await;
    let mut call = lab.init.call("sleep 7001 & echo done");
    call.options.keep_leftovers = true;
    let start = Instant::now();
    let done = lab.init.run(&call).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(2));
    let processes = done.outcome.processes.unwrap();
    assert_eq!((text(&done.stdout), processes.leftovers), ("done\n".to_owned(), 1));
    assert_eq!((processes.termed, processes.killed, processes.proven_gone), (0, 0, false));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(lab.processes().await.len(), 1, "it lives on");
    let mut call = lab.engine.call("sleep 7002 & echo done");
    call.options.keep_leftovers = true;
    let done = lab.engine.run(&call).await.unwrap();
    assert_eq!(text(&done.stdout), "done\n");
    assert_eq!(lab.processes().await.len(), 2);
}

/// Orphans are reaped: by the command's supervisor while it runs, by PID 1 after it.
#[tokio::test]
async fn no_zombies() {
    let lab = Lab::new().await;
    for sandbox in lab.roads() {
        let count = "ps -o stat | grep -c ^Z";
        let script = format!("i=0; while [ $i -lt 100 ]; do (true &); i=$((i+1)); done; sleep 0.3; {count}");
        let done = sandbox.exec(script).await.unwrap();
        assert_eq!(text(&done.stdout), "0\n", "{:?}", sandbox.transport());
        sandbox.exec("for i in 1 2 3 4 5 6 7 8 9; do (sleep 0.01 &); done").await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(lab.processes().await, Vec::<String>::new());
}
