//! A terminal: its size, its keys, its end.

use creel::runner::Death;

use super::ground::{Ground, follow, read_until, start};

#[tokio::test]
async fn size_resize_and_keys() {
    let ground = Ground::new();
    let link = ground.launch().await;
    let script = "stty size; trap 'stty size; exit 5' WINCH; trap 'echo interrupted' INT; echo ready; \
                  while :; do read line && echo got $line; done";
    let mut running = start(&link, script, |options| options.tty = Some((33, 121))).await;
    assert!(read_until(&mut running, "ready\r\n").await.starts_with("33 121\r\n"));
    running.write(b"word\r".to_vec()).await.unwrap();
    assert!(read_until(&mut running, "got word\r\n").await.starts_with("word"));
    running.write(b"\x03".to_vec()).await.unwrap();
    read_until(&mut running, "interrupted\r\n").await;
    running.resize(50, 99).await.unwrap();
    let run = follow(&mut running).await;
    assert!(run.stdout.contains("50 99"), "{run:?}");
    assert_eq!(run.outcome.code, Some(5), "{run:?}");
    ground.assert_gone().await;
}

#[tokio::test]
async fn the_end_of_input_and_the_kill() {
    let ground = Ground::new();
    let link = ground.launch().await;
    let mut running = start(&link, "cat; echo over; exit 6", |options| options.tty = Some((24, 80))).await;
    running.write(b"line\n".to_vec()).await.unwrap();
    read_until(&mut running, "line\r\nline\r\n").await;
    running.close_input().await.unwrap();
    let run = follow(&mut running).await;
    assert_eq!((run.stdout.as_str(), run.outcome.code), ("over\r\n", Some(6)));
    ground.assert_gone().await;
    let link = ground.launch().await;
    let mut running = start(&link, "echo up; sleep 1000", |options| options.tty = Some((24, 80))).await;
    read_until(&mut running, "up\r\n").await;
    running.kill().unwrap();
    let run = follow(&mut running).await;
    assert_eq!(run.outcome.death, Death::Cancelled, "{run:?}");
    assert!(run.outcome.processes.unwrap().proven_gone, "{run:?}");
    ground.assert_gone().await;
}
