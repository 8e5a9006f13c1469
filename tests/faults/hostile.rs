//! A command that turns against creel-init: same user, same namespace, every signal at hand.

use std::time::Duration;

use creel::runner::{Death, Outcome, Progress};
use creel::{Collected, Sandbox};

use super::home::{Home, assert_usable, call, text};
use super::processes::Namespace;

async fn run(sandbox: &Sandbox, script: &str) -> Collected {
    sandbox.run(&call(sandbox, script)).await.unwrap()
}

fn proven(outcome: &Outcome) -> bool {
    outcome.processes.is_some_and(|processes| processes.proven_gone)
}

/// After an attack: nothing of the command is alive, PID 1 is the same, and the sandbox works.
async fn assert_unharmed(sandbox: &Sandbox) {
    let space = Namespace::of(sandbox.ready().pid1);
    assert_eq!(space.commands(), []);
    let boot = sandbox.link().unwrap().boot();
    assert_usable(sandbox).await;
    let again =
        creel::runner::Link::meet(&sandbox.ready().rendezvous, sandbox.ready().pid1, Duration::from_secs(5));
    assert_eq!(again.await.unwrap().boot(), boot, "another init");
}

#[tokio::test]
async fn memory_and_descriptors_of_init_are_out_of_reach() {
    let home = Home::new();
    let sandbox = home.open_with_attack().await;
    for (what, target) in [("PID 1", "1"), ("the supervisor", "$PPID")] {
        let done = run(&sandbox, &format!("/attack/attack touch {target}")).await;
        let said = text(&done.stdout);
        assert_eq!(said.lines().count(), 7, "{what}: {said}");
        assert!(!said.contains("ALLOWED"), "{what}: {said}");
        assert!(said.contains("attach Operation not permitted"), "{what}: {said}");
        assert!(said.contains("mem Permission denied"), "{what}: {said}");
    }
    // The spare waits as a copy of PID 1 and is no easier prey.
    let spare = run(&sandbox, "for p in /proc/[0-9]*; do echo ${p#/proc/}; done").await;
    let shells_only = |line: &str| line.parse::<i32>().is_ok_and(|pid| pid != 1);
    for pid in text(&spare.stdout).lines().filter(|line| shells_only(line)) {
        let said = text(&run(&sandbox, &format!("/attack/attack touch {pid}")).await.stdout);
        assert!(!said.contains("ALLOWED"), "{pid}: {said}");
    }
    assert_unharmed(&sandbox).await;
    drop(sandbox);
    home.assert_nothing_leaks().await;
}

#[tokio::test]
async fn kill_everything_reaches_all_but_pid_1() {
    let home = Home::new();
    let sandbox = home.open().await;
    for _ in 0..5 {
        let done = run(&sandbox, "sleep 1000 & setsid sleep 1000 & sleep 0.1; kill -9 -1; sleep 1000").await;
        assert_eq!(done.outcome.death, Death::SupervisorLost, "{:?}", done.outcome);
        assert!(proven(&done.outcome), "{:?}", done.outcome);
        assert_eq!(done.outcome.exit_status(), 125);
        assert_unharmed(&sandbox).await;
    }
    // At once, before the supervisor has named its command.
    let done = run(&sandbox, "kill -9 -1; sleep 1000").await;
    assert_eq!(done.outcome.death, Death::SupervisorLost, "{:?}", done.outcome);
    assert_unharmed(&sandbox).await;
    drop(sandbox);
    home.assert_nothing_leaks().await;
}

#[tokio::test]
async fn kill_everything_ends_the_neighbours_truthfully() {
    let home = Home::new();
    let sandbox = home.open().await;
    let neighbour = sandbox.start(&call(&sandbox, "echo here; sleep 1000")).await.unwrap();
    let done = run(&sandbox, "sleep 0.3; kill -9 -1; sleep 1000").await;
    assert_eq!(done.outcome.death, Death::SupervisorLost, "{:?}", done.outcome);
    let (outcome, out) = follow(neighbour).await;
    assert_eq!(out, "here\n");
    assert!(matches!(outcome.death, Death::SupervisorLost | Death::Signal), "{outcome:?}");
    assert!(proven(&outcome), "{outcome:?}");
    assert_unharmed(&sandbox).await;
    drop(sandbox);
    home.assert_nothing_leaks().await;
}

async fn follow(mut running: creel::runner::Running) -> (Outcome, String) {
    let mut out = String::new();
    loop {
        match running.next().await.unwrap() {
            Progress::Output(_, data) => out.push_str(&text(&data)),
            Progress::Done(outcome) => return (*outcome, out),
            Progress::Started(_) | Progress::Input { .. } => {}
        }
    }
}

#[tokio::test]
async fn a_supervisor_that_is_stopped_again_and_again_is_given_up() {
    let home = Home::new();
    let sandbox = home.open_with_attack().await;
    let stopping = "setsid sleep 1000 & /attack/attack stop-loop $PPID";
    let done = run(&sandbox, stopping).await;
    assert_eq!(done.outcome.death, Death::SupervisorLost, "{:?}", done.outcome);
    assert!(proven(&done.outcome), "{:?}", done.outcome);
    assert!(done.outcome.wall < Duration::from_secs(10), "{:?}", done.outcome);
    assert_unharmed(&sandbox).await;
    // Once is no more than an accident.
    let done = run(&sandbox, "kill -STOP $PPID; sleep 0.2; echo on; exit 3").await;
    assert_eq!((text(&done.stdout), done.outcome.code), ("on\n".to_owned(), Some(3)), "{:?}", done.outcome);
    assert_unharmed(&sandbox).await;
    drop(sandbox);
    home.assert_nothing_leaks().await;
}

/// Everything below PID 1 that is creel-init and not the asking command's own supervisor.
const SPARES: &str = "for d in /proc/[0-9]*; do p=${d#/proc/}; [ $p != 1 ] && [ $p != $PPID ] && [ $p != $$ ] && echo $p; done";

#[tokio::test]
async fn a_waiting_supervisor_may_be_stopped_or_killed() {
    let home = Home::new();
    let sandbox = home.open().await;
    for signal in ["STOP", "KILL", "TERM", "CONT"] {
        let script = format!("for p in $({SPARES}); do kill -{signal} $p 2>/dev/null; done; exit 4");
        for _ in 0..5 {
            let done = run(&sandbox, &script).await;
            assert_eq!(done.outcome.code, Some(4), "{signal}: {:?}", done.outcome);
            assert_usable_soon(&sandbox).await;
        }
    }
    // All the time, while commands start.
    let mut chase = sandbox
        .start(&call(
            &sandbox,
            &format!("while :; do for p in $({SPARES}); do kill -STOP $p 2>/dev/null; done; done"),
        ))
        .await
        .unwrap();
    for _ in 0..20 {
        // The chase hits everything that is not itself, other commands included: an outcome comes, whichever.
        let mut call = call(&sandbox, "echo x");
        call.options.timeout = Some(Duration::from_millis(300));
        sandbox.run(&call).await.unwrap();
    }
    chase.kill().unwrap();
    let (outcome, _) = follow(chase).await;
    assert!(matches!(outcome.death, Death::Cancelled | Death::SupervisorLost), "{outcome:?}");
    assert_usable_soon(&sandbox).await;
    assert_unharmed(&sandbox).await;
    drop(sandbox);
    home.assert_nothing_leaks().await;
}

/// A command may have been handed to a supervisor in the moment in which that was killed. It is then reported as
/// lost, never run twice, and the next one works.
async fn assert_usable_soon(sandbox: &Sandbox) {
    for _ in 0..5 {
        if run(sandbox, "exit 0").await.outcome.death != Death::SupervisorLost {
            return assert_usable(sandbox).await;
        }
    }
    panic!("every command loses its supervisor");
}

#[tokio::test]
async fn pid_1_heeds_no_signal_from_inside() {
    let home = Home::new();
    let sandbox = home.open().await;
    let signals = "for s in TERM INT QUIT HUP KILL STOP ABRT SEGV USR1 USR2 ALRM CHLD TSTP; do kill -$s 1; done; echo sent";
    for _ in 0..3 {
        let done = run(&sandbox, signals).await;
        assert_eq!(
            (text(&done.stdout), done.outcome.code),
            ("sent\n".to_owned(), Some(0)),
            "{:?}",
            done.outcome
        );
        assert_unharmed(&sandbox).await;
    }
    drop(sandbox);
    home.assert_nothing_leaks().await;
}

#[tokio::test]
async fn descriptors_are_the_commands_own_business() {
    let home = Home::new();
    let sandbox = home.open().await;
    let done = run(&sandbox, "exec 0<&- 1>&- 2>&-; sleep 0.3; exit 3").await;
    assert_eq!((done.outcome.code, done.outcome.stdout_bytes), (Some(3), 0), "{:?}", done.outcome);
    let twisted =
        "exec 5>&1 6>&2 1>&6 2>&5; echo to-stderr; echo to-stdout >&2; exec 1>&5; echo back; exit 2";
    let done = run(&sandbox, twisted).await;
    assert_eq!(text(&done.stdout), "to-stdout\nback\n");
    assert_eq!((text(&done.stderr), done.outcome.code), ("to-stderr\n".to_owned(), Some(2)));
    // A thousand copies of the pipe, given back by the end of the process.
    let copies = "i=3; while [ $i -lt 200 ]; do eval \"exec $i>&1\"; i=$((i+1)); done; echo many; exit 0";
    let done = run(&sandbox, copies).await;
    assert_eq!((text(&done.stdout), done.outcome.code), ("many\n".to_owned(), Some(0)), "{:?}", done.outcome);
    // Only the three descriptors came in.
    let done = run(&sandbox, "ls /proc/self/fd | tr '\\n' ' '").await;
    assert_eq!(text(&done.stdout), "0 1 2 3 ", "the fourth is ls's own");
    // Reopened through /proc by an outsider of the command, which then keeps the pipe open.
    let holder =
        "setsid sh -c 'exec 7>/proc/'$$'/fd/1; exec 1>&- 2>&-; sleep 1000' & sleep 0.2; echo held; exit 6";
    let done = run(&sandbox, holder).await;
    assert_eq!((text(&done.stdout), done.outcome.code), ("held\n".to_owned(), Some(6)), "{:?}", done.outcome);
    assert!(proven(&done.outcome) && done.outcome.wall < Duration::from_secs(3), "{:?}", done.outcome);
    assert_unharmed(&sandbox).await;
    drop(sandbox);
    home.assert_nothing_leaks().await;
}

/// The kernel lets the same user do that; it costs the sandbox, and nothing else.
#[tokio::test]
async fn limits_put_on_pid_1_harm_only_this_sandbox() {
    let home = Home::new();
    let other = home.open().await;
    for (attack, spoils) in [("limit", "descriptors"), ("cpu", "time")] {
        let sandbox = home.open_with_attack().await;
        let first = sandbox.container().clone();
        let done = run(&sandbox, &format!("/attack/attack {attack}")).await;
        assert_eq!(text(&done.stdout), "prlimit ALLOWED\n", "{spoils}");
        let begin = std::time::Instant::now();
        if attack == "limit" {
            let error = sandbox.exec("echo no").await.unwrap_err().to_string();
            assert!(error.contains("CRL-LINK-008"), "{error}");
        } else {
            // PID 1 uses up its second of CPU time on our behalf and is ended by the kernel.
            let error = loop {
                match sandbox.exec("seq 1 200000").await {
                    Ok(_) => assert!(begin.elapsed() < Duration::from_secs(50)),
                    Err(error) => break error.to_string(),
                }
            };
            assert!(error.contains("CRL-SANDBOX-031"), "{error}");
        }
        drop(sandbox);
        let sandbox = home.open_with_attack().await;
        assert!(sandbox.container() != &first, "{spoils}");
        assert_usable(&sandbox).await;
        assert_usable(&other).await;
    }
    drop(other);
    home.assert_nothing_leaks().await;
}
