//! Limits of one call, and how each is held.

use creel::runner::{Death, HeldBy, Limits};

use super::ground::Ground;

#[tokio::test]
async fn output() {
    let ground = Ground::new();
    let limit = |bytes| {
        move |options: &mut creel::runner::Options| {
            options.limits = Limits { output_bytes: Some(bytes), ..Limits::default() };
        }
    };
    let run = ground.run("yes", limit(100_001)).await;
    assert_eq!((run.outcome.death, run.stdout.len()), (Death::OutputLimit, 100_001));
    assert_eq!(run.outcome.limits.unwrap().output, Some(HeldBy::Counting));
    assert_eq!(run.outcome.exit_status(), 124);
    assert!(run.outcome.processes.unwrap().proven_gone, "{:?}", run.outcome);
    // What prints as much as it may has passed no limit.
    let run = ground.run("printf 12345; printf 678 >&2", limit(8)).await;
    assert_eq!((run.outcome.death, run.outcome.code), (Death::Exit, Some(0)), "{run:?}");
    assert_eq!(run.stdout.len() + run.stderr.len(), 8);
}

#[tokio::test]
async fn cpu_of_the_whole_tree() {
    let ground = Ground::new();
    let script = "for i in 1 2; do (setsid sh -c 'while :; do :; done' &); done; while :; do :; done";
    let limits = Limits { cpu_seconds: Some(1), ..Limits::default() };
    let run = ground.run(script, |options| options.limits = limits).await;
    assert_eq!(run.outcome.death, Death::CpuLimit, "{run:?}");
    assert_eq!(run.outcome.limits.unwrap().cpu, Some(HeldBy::Watching));
    let usage = run.outcome.usage.unwrap();
    assert!(usage.user_us + usage.system_us >= 900_000, "{usage:?}");
}

#[tokio::test]
async fn processes() {
    let ground = Ground::new();
    let limits = Limits { processes: Some(10), ..Limits::default() };
    let few = "for i in 1 2 3 4 5; do sleep 0.2 & done; wait; echo fine";
    let run = ground.run(few, |options| options.limits = limits).await;
    assert_eq!((run.outcome.death, run.stdout.as_str()), (Death::Exit, "fine\n"), "{run:?}");
    let many = "while :; do sleep 1000 & done";
    let run = ground.run(many, |options| options.limits = limits).await;
    assert_eq!(run.outcome.death, Death::ProcessLimit, "{run:?}");
    let processes = run.outcome.processes.unwrap();
    assert!(processes.proven_gone && processes.killed > 10, "{processes:?}");
    assert_eq!(run.outcome.limits.unwrap().processes, Some(HeldBy::Watching));
}

/// Several processes, each below what one may have.
#[tokio::test]
async fn memory_of_the_whole_tree() {
    let ground = Ground::new();
    let limits = Limits { memory_bytes: Some(40 << 20), ..Limits::default() };
    let hog = "x=$(head -c 12000000 /dev/zero | tr '\\0' x); sleep 1000";
    let script = format!("for i in 1 2 3 4 5 6; do sh -c \"{}\" & done; wait", hog.replace('$', "\\$"));
    let run = ground.run(&script, |options| options.limits = limits).await;
    assert_eq!(run.outcome.death, Death::MemoryLimit, "{run:?}");
    assert_eq!(run.outcome.limits.unwrap().memory, Some(HeldBy::PerProcess));
    assert!(run.outcome.processes.unwrap().proven_gone, "{run:?}");
}

/// One process that wants more than the limit: the kernel refuses it, and the command says so itself.
#[tokio::test]
async fn memory_of_one_process() {
    let ground = Ground::new();
    let limits = Limits { memory_bytes: Some(20 << 20), ..Limits::default() };
    let script = "x=$(head -c 100000000 /dev/zero | tr '\\0' x); echo not reached";
    let run = ground.run(script, |options| options.limits = limits).await;
    assert!(matches!(run.outcome.death, Death::Exit | Death::Signal | Death::MemoryLimit), "{run:?}");
    assert!(run.outcome.code != Some(0) && run.stdout.is_empty(), "{run:?}");
}
