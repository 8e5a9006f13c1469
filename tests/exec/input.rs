//! Standard input.

use std::time::Duration;

use creel::runner::{Death, Progress};

use crate::case::{argv, sh, table};
use crate::lab::{Lab, finish, read_until, text};

#[tokio::test]
async fn input_reaches_the_command() {
    let lab = Lab::new().await;
    let cases = vec![
        sh("none: cat ends at once", "cat; echo $?").out("0\n"),
        sh("none: read fails at once", "read x; echo $?").out("1\n"),
        sh("none: argv alike", "exec cat"),
        argv("bytes to a program", &["cat"]).input(b"a\0\xff\nb").out(b"a\0\xff\nb"),
        sh("bytes to a shell", "cat; echo .").input("abc").out("abc.\n"),
        sh("an empty input is an end", "cat; echo .").input("").out(".\n"),
        sh("lines", "while read -r l; do echo \"<$l>\"; done").input("a\nb c\n").out("<a>\n<b c>\n"),
        sh("a reader that closes early", "head -c 1; exec <&-; sleep 0.2")
            .input(vec![b'x'; 1_000_000])
            .out("x"),
        sh("a command that ends without reading", "exit 6").input(vec![b'x'; 1_000_000]).status(6),
        sh("a script for a shell", "sh -s a b").input("echo \"$1-$2\"; exit 9").out("a-b\n").status(9),
    ];
    table(&lab, cases).await;
}

/// More than every buffer on the way holds, so that each side has to wait for the other.
#[tokio::test]
async fn ten_megabytes_through_cat() {
    let lab = Lab::new().await;
    let data: Vec<u8> = (0..10_000_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    table(&lab, vec![argv("10 MB through cat", &["cat"]).input(&data).out(&data)]).await;
}

/// A command that does not read gets no more than the window, and its host is told nothing false.
#[tokio::test]
async fn a_command_that_does_not_read_is_waited_for() {
    let lab = Lab::new().await;
    let mut call = lab.init.call("sleep 1; cat | wc -c");
    call.options.stdin = true;
    let mut running = lab.init.start(&call).await.unwrap();
    running.write(vec![b'x'; 256 * 1024]).await.unwrap();
    let mut taken = 0;
    let early = async {
        loop {
            match running.next().await.unwrap() {
                Progress::Input { taken: now, .. } => taken = now,
                Progress::Output(..) | Progress::Done(_) => panic!("nothing was read yet"),
                Progress::Started(_) => {}
            }
        }
    };
    let _ = tokio::time::timeout(Duration::from_millis(500), early).await;
    assert!(taken <= 64 * 1024, "a pipe holds 64 KiB, but {taken} bytes count as taken");
    running.close_input().await.unwrap();
    assert_eq!(text(&finish(running).await.stdout), "262144\n");
}

#[tokio::test]
async fn input_may_come_in_answer_to_output() {
    let lab = Lab::new().await;
    for sandbox in lab.roads() {
        let mut call = sandbox.call("echo name?; read n; echo \"hi $n\"; read m; echo \"bye $m\"");
        call.options.stdin = true;
        let mut running = sandbox.start(&call).await.unwrap();
        read_until(&mut running, "name?\n").await;
        running.write(b"Ann\n".to_vec()).await.unwrap();
        assert_eq!(read_until(&mut running, "\n").await, "hi Ann\n");
        running.write(b"Bob".to_vec()).await.unwrap();
        running.close_input().await.unwrap();
        let done = finish(running).await;
        assert_eq!((text(&done.stdout), done.outcome.death), ("bye Bob\n".to_owned(), Death::Exit));
    }
}

/// Input that nobody closes does not keep the result of a command that has ended.
#[tokio::test]
async fn open_input_does_not_hold_the_result() {
    let lab = Lab::new().await;
    for sandbox in lab.roads() {
        let mut call = sandbox.call("echo done");
        call.options.stdin = true;
        let running = sandbox.start(&call).await.unwrap();
        let done = tokio::time::timeout(Duration::from_secs(20), finish(running)).await.unwrap();
        assert_eq!(text(&done.stdout), "done\n");
    }
}
