//! A gibibyte through a host of bounded size.

use std::time::Duration;

use creel::host_tool::host_tool;
use creel::runner::Progress;

use crate::lab::{Lab, argv};

const GIB: u64 = 1 << 30;
const BOUND_KIB: u64 = 64 * 1024;

/// Peak resident memory of this process so far.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Memory is measured in a process of its own: other tests of this binary hold their outputs.
#[tokio::test]
#[ignore = "started by another test"]
async fn child_streams_a_gibibyte() {
    let lab = Lab::new().await;
    let before = peak_kib();
    let call = argv(&lab.init, &["/.creel/init", "control", "write", &GIB.to_string()]);
    let mut running = lab.init.start(&call).await.unwrap();
    // A reader that sleeps first: the command waits, and nothing piles up here.
    tokio::time::sleep(Duration::from_millis(700)).await;
    let mut seen = 0;
    let outcome = loop {
        match running.next().await.unwrap() {
            Progress::Output(_, data) => {
                assert!(data.first() == Some(&b'x') && data.last() == Some(&b'x'));
                seen += data.len() as u64;
            }
            Progress::Done(outcome) => break outcome,
            _ => {}
        }
    };
    assert_eq!((seen, outcome.stdout_bytes, outcome.code), (GIB, GIB, Some(0)));
    let grown = peak_kib() - before;
    println!("grown by {grown} KiB in {:?}", outcome.wall);
    assert!(grown < BOUND_KIB, "{grown} KiB");
}

#[tokio::test]
async fn a_gibibyte_in_bounded_memory() {
    let output = host_tool(std::env::current_exe().unwrap())
        .args(["--exact", "volume::child_streams_a_gibibyte", "--ignored", "--nocapture", "--test-threads=1"])
        .output()
        .await
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("grown by"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    println!("{text}");
}
