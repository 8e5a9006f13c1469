//! What a command prints, how it ends, and what surrounds it.

use creel::runner::{Death, Progress, StartFailure, fresh_id};

use super::ground::{Ground, follow, next, read_until, start, start_argv};

#[tokio::test]
async fn output_and_codes() {
    let ground = Ground::new();
    let run = ground.run("echo out; echo err >&2; exit 3", |_| {}).await;
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("out\n", "err\n"));
    assert_eq!((run.outcome.death, run.outcome.code), (Death::Exit, Some(3)));
    assert!(run.outcome.processes.unwrap().proven_gone, "{:?}", run.outcome);
    assert!(run.outcome.usage.unwrap().peak_kib > 0, "{:?}", run.outcome);
    let run = ground.run("kill -9 $$", |_| {}).await;
    assert_eq!((run.outcome.death, run.outcome.signal), (Death::Signal, Some(9)));
    let run = ground
        .run("sleep 1000", |options| options.timeout = Some(std::time::Duration::from_millis(200)))
        .await;
    assert_eq!(run.outcome.death, Death::Timeout, "{:?}", run.outcome);
}

#[tokio::test]
async fn what_cannot_be_started_is_said() {
    let ground = Ground::new();
    let link = ground.launch().await;
    let argv = vec!["/does/not/exist".to_owned()];
    let mut running = start_argv(fresh_id().unwrap(), &link, argv, |_| {}).await;
    let run = follow(&mut running).await;
    assert_eq!(run.outcome.start_failure, Some(StartFailure::NotFound), "{:?}", run.outcome);
    ground.assert_gone().await;
}

/// Its own session, no terminal, nothing of creel's descriptors, sane signals, and it goes first when memory is short.
#[tokio::test]
async fn surroundings() {
    let ground = Ground::new();
    let script = "tr '\\0' '\\n' </proc/self/environ | grep -c CREEL_TEST; ls /proc/self/fd | wc -l; \
                  cat /proc/self/oom_score_adj; grep -E 'Sig(Blk|Ign)' /proc/self/status | cut -f2; \
                  ps -o sid=,tty= -p $$ 2>/dev/null || cut -d' ' -f6,7 /proc/$$/stat";
    let run = ground.run(script, |_| {}).await;
    let lines: Vec<&str> = run.stdout.lines().collect();
    // `ls` itself has the directory open.
    assert_eq!(lines[..5], ["0", "4", "1000", "0000000000000000", "0000000000000000"], "{run:?}");
}

#[tokio::test]
async fn the_supervisor_does_not_go_first() {
    let ground = Ground::new();
    let link = ground.launch().await;
    let mut running = start(&link, "echo up; read x", |options| options.stdin = true).await;
    read_until(&mut running, "up\n").await;
    let of = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap();
    let supervisor = ground.badge().unwrap().pid;
    assert_eq!(of(supervisor), of(i32::try_from(std::process::id()).unwrap()));
    running.close_input().await.unwrap();
    assert_eq!(follow(&mut running).await.outcome.code, Some(1));
    ground.assert_gone().await;
}

#[tokio::test]
async fn one_supervisor_is_for_one_command() {
    let ground = Ground::new();
    let link = ground.launch().await;
    let mut running = start(&link, "read x", |options| options.stdin = true).await;
    let mut second = start(&link, "echo no", |_| {}).await;
    let error = second.next().await.unwrap_err();
    assert!(error.to_string().contains("too many commands"), "{error}");
    drop(second);
    running.close_input().await.unwrap();
    while !matches!(next(&mut running).await, Progress::Done(_)) {}
    ground.assert_gone().await;
}

/// Asked for twice, it is there once.
#[tokio::test]
async fn a_directory_has_one_supervisor() {
    let ground = Ground::new();
    let first = ground.launch().await;
    let second = ground.launch().await;
    assert_eq!(first.boot(), second.boot());
    let mut running = start(&second, "exit 4", |_| {}).await;
    assert_eq!(follow(&mut running).await.outcome.code, Some(4));
    ground.assert_gone().await;
}
