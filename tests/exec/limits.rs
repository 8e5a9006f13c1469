//! Time limits, cancelling and signals: the whole tree ends, nothing else does, and what was printed is kept.

use std::time::{Duration, Instant};

use creel::runner::{Death, Options, Transport};
use creel::{Call, Collected, Sandbox};
use futures_util::future::join_all;

use crate::case::{End, argv, sh, table};
use crate::lab::{Lab, finish, read_until, text};

const GRACE: Duration = Duration::from_millis(500);

/// A call with a time limit and a short grace.
fn limited(sandbox: &Sandbox, text: &str, limit: Duration) -> Call {
    let mut call = sandbox.call(text);
    call.options = Options { timeout: Some(limit), grace: GRACE, ..Options::default() };
    call
}

/// Runs it and holds its end against the clock: the engine's kill is an exec of its own, twice.
async fn timed(sandbox: &Sandbox, text: &str, limit: Duration) -> Collected {
    let start = Instant::now();
    let done = sandbox.run(&limited(sandbox, text, limit)).await.unwrap();
    let slack = Duration::from_secs(if sandbox.transport() == Transport::Init { 1 } else { 5 });
    let took = start.elapsed();
    assert!(took >= limit && took < limit + GRACE + slack, "{text}: {took:?} over {:?}", sandbox.transport());
    assert_eq!((done.outcome.death, done.outcome.exit_status()), (Death::Timeout, 124), "{text}");
    if let Some(processes) = done.outcome.processes {
        assert!(processes.proven_gone, "{text}: {processes:?}");
    }
    done
}

/// I002, I008, I013: every way out of a process group that a workload has, and TERM ignored all over.
#[tokio::test]
async fn a_timeout_ends_the_whole_tree_and_nothing_else() {
    let lab = Lab::new().await;
    let bystander = lab.init.start(&lab.init.call("sleep 8001")).await.unwrap();
    let other = lab.engine.start(&lab.engine.call("sleep 8002")).await.unwrap();
    lab.await_processes("sleep 800", 2).await;
    let trees = [
        "trap '' TERM; echo before; sleep 7001",
        "trap '' TERM; echo before; (setsid sh -c 'sleep 7002 & sleep 7003' </dev/null >/dev/null 2>&1 &); sleep 7004",
        "echo before; setsid sh -c '(trap \"\" TERM HUP INT; sleep 7005 &) & sleep 7006' & wait; sleep 7007",
        "echo before; (yes | sha256sum >/dev/null &); sleep 7008",
        "echo before; sh -c 'kill -STOP $$; sleep 7009'; sleep 7010",
        "echo before; trap '' TERM; while :; do (sleep 7011 &) ; sleep 0.05; done",
    ];
    for sandbox in lab.roads() {
        for tree in trees {
            let done = timed(sandbox, tree, Duration::from_secs(1)).await;
            assert_eq!(text(&done.stdout), "before\n", "I008: output before the limit is kept");
            // Over init the result means that they are gone; a supervisor itself is reaped a moment later.
            let tries = if sandbox.transport() == Transport::Init { 10 } else { 40 };
            let strays = strays(&lab, tries).await;
            assert!(strays.is_empty(), "{tree} over {:?} leaves {strays:?}", sandbox.transport());
        }
    }
    lab.await_processes("sleep 800", 2).await;
    for mut running in [bystander, other] {
        running.kill().unwrap();
        assert_eq!(finish(running).await.outcome.death, Death::Cancelled);
    }
}

/// What runs beside the bystanders, after so many looks.
async fn strays(lab: &Lab, tries: u32) -> Vec<String> {
    let mut found = Vec::new();
    for _ in 0..tries {
        found = lab.processes().await;
        found.retain(|line| !line.contains("sleep 800"));
        if found.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    found
}

/// I012: commands that time out do not pile up.
#[tokio::test]
async fn five_timeouts_leave_as_many_processes_as_before() {
    let lab = Lab::new().await;
    for sandbox in lab.roads() {
        // The look before this one has a supervisor too, which is reaped a moment later.
        let before = strays(&lab, 40).await;
        let one = || timed(sandbox, "trap '' TERM; sleep 300", Duration::from_secs(1));
        join_all((0..5).map(|_| one())).await;
        assert!(before.is_empty());
        // Over init the result means that they are gone; a supervisor itself is reaped a moment later.
        let tries = if sandbox.transport() == Transport::Init { 10 } else { 40 };
        assert_eq!(strays(&lab, tries).await, before, "{:?}", sandbox.transport());
    }
}

/// I015: the error comes at the limit, not when the command would have ended.
#[tokio::test]
async fn a_timeout_is_told_in_time() {
    let lab = Lab::new().await;
    for sandbox in lab.roads() {
        let start = Instant::now();
        let done = sandbox.run(&limited(sandbox, "exec sleep 5", Duration::from_secs(2))).await.unwrap();
        assert_eq!(done.outcome.death, Death::Timeout);
        let limit = if sandbox.transport() == Transport::Init { 3000 } else { 4500 };
        assert!(start.elapsed() < Duration::from_millis(limit), "{:?}", start.elapsed());
    }
}

/// A command that never stops printing is no less limited, and what it printed counts.
#[tokio::test]
async fn a_flood_is_limited_too() {
    let lab = Lab::new().await;
    for sandbox in lab.roads() {
        let done = timed(sandbox, "yes", Duration::from_secs(1)).await;
        assert!(done.stdout.starts_with(b"y\ny\n") || done.truncated, "{:?}", sandbox.transport());
        assert!(done.outcome.stdout_bytes >= done.stdout.len() as u64);
    }
    lab.await_processes("yes", 0).await;
}

/// A command that uses its grace well, and limits that are not reached.
#[tokio::test]
async fn limits_in_a_table() {
    let lab = Lab::new().await;
    let short = |options: &mut Options| {
        options.timeout = Some(Duration::from_secs(1));
        options.grace = Duration::from_secs(3);
    };
    let silent = |options: &mut Options| {
        options.silence = Some(Duration::from_secs(1));
        options.grace = GRACE;
    };
    let cases = vec![
        sh("last words", "trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.1; done")
            .options(short)
            .out("up\nbye\n")
            .err("Terminated\n")
            .end(End::Timeout, 124),
        sh(
            "a status of 0 at the limit is a timeout all the same",
            "trap \'exit 0\' TERM; while :; do sleep 0.1 & wait; done",
        )
        .options(short)
        .end(End::Timeout, 124),
        sh("closed streams do not escape the limit", "exec >&- 2>&-; sleep 300")
            .options(short)
            .end(End::Timeout, 124),
        argv("argv", &["sleep", "300"]).options(short).end(End::Timeout, 124),
        sh("a command in time", "sleep 0.2; echo ok").options(short).out("ok\n"),
        sh("no limit", "sleep 0.2; echo ok").options(|options| options.timeout = None).out("ok\n"),
        sh("silence from the start", "sleep 300").options(silent).end(End::Silence, 124),
        sh("silence after some words", "echo a; sleep 0.3; echo b >&2; sleep 300")
            .options(silent)
            .out("a\n")
            .err("b\n")
            .end(End::Silence, 124),
        sh("words now and then", "for i in 1 2 3 4 5 6 7 8; do sleep 0.3; printf $i; done")
            .options(silent)
            .out("12345678"),
        sh("words on stderr count", "for i in 1 2 3 4 5; do sleep 0.4; printf $i >&2; done")
            .options(silent)
            .err("12345"),
    ];
    let results = table(&lab, cases).await;
    assert_eq!(results[0][0].outcome.code, Some(5), "the command's own code is told beside the limit");
}

#[tokio::test]
async fn cancelling_ends_the_tree() {
    let lab = Lab::new().await;
    for sandbox in lab.roads() {
        let mut call = sandbox.call("trap '' TERM; (setsid sleep 7001 &); echo up; sleep 7002");
        call.options.grace = GRACE;
        let mut running = sandbox.start(&call).await.unwrap();
        read_until(&mut running, "up").await;
        running.kill().unwrap();
        let done = finish(running).await;
        assert_eq!((done.outcome.death, done.outcome.exit_status()), (Death::Cancelled, 130));
        if let Some(processes) = done.outcome.processes {
            assert!(processes.proven_gone && processes.termed >= 2 && processes.killed >= 1, "{processes:?}");
        }
        // Over init the result means that they are gone; a supervisor itself is reaped a moment later.
        let tries = if sandbox.transport() == Transport::Init { 10 } else { 40 };
        assert_eq!(strays(&lab, tries).await, Vec::<String>::new(), "{:?}", sandbox.transport());
    }
}

#[tokio::test]
async fn a_command_that_is_dropped_is_ended() {
    let lab = Lab::new().await;
    for sandbox in lab.roads() {
        let mut call = sandbox.call("echo up; exec sleep 7001");
        call.options.grace = GRACE;
        let mut running = sandbox.start(&call).await.unwrap();
        read_until(&mut running, "up").await;
        drop(running);
        lab.await_processes("sleep 7001", 0).await;
    }
}

#[tokio::test]
async fn signals_reach_every_process_of_the_command() {
    let lab = Lab::new().await;
    for sandbox in lab.roads() {
        let child = "trap 'echo child; exit 0' USR1; while :; do sleep 0.1; done";
        let script = format!("trap 'got=1' USR1; sh -c \"{child}\" & echo up; wait; wait; echo parent $got");
        let mut running = sandbox.start(&sandbox.call(script)).await.unwrap();
        read_until(&mut running, "up").await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        running.signal(10).await.unwrap();
        let done = finish(running).await;
        assert_eq!(text(&done.stdout), "child\nparent 1\n", "{:?} {done:?}", sandbox.transport());
        assert_eq!(done.outcome.death, Death::Exit);
    }
}
