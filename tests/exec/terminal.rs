//! Commands on a terminal.

use std::time::Duration;

use creel::runner::{Death, Running};
use creel::{Call, Sandbox};

use crate::case::End;
use crate::lab::{Lab, finish, read_until, text};

/// A call on a terminal of 31 rows and 99 columns.
fn on_terminal(sandbox: &Sandbox, text: &str) -> Call {
    let mut call = sandbox.call(text);
    call.options.tty = Some((31, 99));
    call.options.timeout = Some(Duration::from_mins(1));
    call
}

async fn start(sandbox: &Sandbox, text: &str) -> Running {
    sandbox.start(&on_terminal(sandbox, text)).await.unwrap()
}

#[tokio::test]
async fn a_terminal_has_a_size_a_type_and_one_stream() {
    let lab = Lab::new().await;
    for sandbox in lab.roads() {
        // The engine sets the size a moment after the start.
        let script = "test -t 0 && test -t 1 && test -t 2 && sleep 0.5; stty size; echo \"$TERM\"; tty; echo err >&2; exit 5";
        let done = finish(start(sandbox, script).await).await;
        let road = sandbox.transport();
        let lines: Vec<String> = text(&done.stdout).lines().map(str::to_owned).collect();
        assert_eq!(lines[..2], ["31 99", "xterm-256color"], "{road:?}");
        assert!(lines[2].starts_with("/dev/"), "{road:?} {lines:?}");
        assert_eq!(lines[3..], ["err"], "{road:?}");
        assert_eq!((done.stderr.len(), done.outcome.code), (0, Some(5)), "{road:?}");
    }
    let done =
        lab.init.exec("test -t 0 || test -t 1 || test -t 2 || echo none; echo \"[$TERM]\"").await.unwrap();
    assert_eq!(text(&done.stdout), "none\n[]\n", "no terminal unless asked for");
}

#[tokio::test]
async fn a_new_size_is_signalled() {
    let lab = Lab::new().await;
    for sandbox in lab.roads() {
        // The engine itself signals the first size, some time after the start.
        let script = "trap 'stty size' WINCH; trap 'exit 0' INT; echo ready; while :; do sleep 0.1; done";
        let mut running = start(sandbox, script).await;
        read_until(&mut running, "ready").await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        running.resize(12, 34).await.unwrap();
        read_until(&mut running, "12 34").await;
        running.write(vec![3]).await.unwrap();
        assert_eq!(finish(running).await.outcome.code, Some(0), "{:?}", sandbox.transport());
    }
}

#[tokio::test]
async fn control_characters_act() {
    let lab = Lab::new().await;
    for sandbox in lab.roads() {
        let road = sandbox.transport();
        let mut running =
            start(sandbox, "trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 0.1; done").await;
        read_until(&mut running, "ready").await;
        running.write(vec![3]).await.unwrap();
        let done = finish(running).await;
        assert!(text(&done.stdout).contains("caught"), "{road:?} {done:?}");
        assert_eq!((done.outcome.code, done.outcome.death), (Some(7), Death::Exit), "{road:?}");

        let mut running = start(sandbox, "echo ready; sleep 300").await;
        read_until(&mut running, "ready").await;
        running.write(vec![3]).await.unwrap();
        let done = finish(running).await;
        assert_eq!((done.outcome.exit_status(), End::of(&done.outcome)), (130, End::Ended), "{road:?}");

        let mut running = start(sandbox, "stty -echo; echo ready; cat; echo over").await;
        read_until(&mut running, "ready").await;
        running.write(b"one\n".to_vec()).await.unwrap();
        read_until(&mut running, "one").await;
        running.close_input().await.unwrap();
        read_until(&mut running, "over").await;
        assert_eq!(finish(running).await.outcome.code, Some(0), "{road:?}");
    }
}

/// The terminal's end takes what runs on it along, and what is printed last is kept.
#[tokio::test]
async fn the_last_words_on_a_terminal_are_kept() {
    let lab = Lab::new().await;
    for sandbox in lab.roads() {
        for _ in 0..10 {
            let done = finish(start(sandbox, "seq 1 2000; printf END").await).await;
            let out = text(&done.stdout);
            assert!(
                out.ends_with("2000\r\nEND"),
                "{:?}: …{:?}",
                sandbox.transport(),
                &out[out.len().saturating_sub(40)..]
            );
        }
    }
}
