//! A thousand sessions at a time in four sandboxes: nothing is lost, and none takes much memory.

use std::time::Duration;

use pretty_assertions::assert_eq;

use super::lab::{Creel, Home, Lab, orders};

const SESSIONS: usize = 1000;
const LINES: usize = 100;
/// KiB for each live session (design §8), and its part of what a debug build takes besides.
const KIB: u64 = 64;

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_sessions() {
    let home = Home::new();
    let mut creel = Creel::start("crowd::crowd", home.path(), "");
    let kib: u64 = creel.said("each").await.parse().unwrap();
    println!("{kib} KiB for each session");
    assert_eq!(creel.said("good").await, SESSIONS.to_string());
    assert!(kib <= KIB, "{kib} KiB for each session");
}

/// In a process of its own: memory is measured.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "another creel, started by the test"]
async fn crowd() {
    let (home, _) = orders();
    let lab = Lab::open(&home).await;
    let mut sandboxes = Vec::new();
    for name in ["a", "b", "c", "d"] {
        let sandbox = lab.sandbox(name).await;
        sandbox.exec("mkfifo go").await.unwrap();
        sandboxes.push(sandbox);
    }
    let before = rss_kib();
    let mut ids = Vec::new();
    for number in 0..SESSIONS {
        let text = format!(
            "i=0; while [ $i -lt {LINES} ]; do echo {number} $i; i=$((i+1)); done; read x <go; exit {}",
            number % 200
        );
        ids.push(lab.start(&sandboxes[number % 4], &text).await);
    }
    for (number, id) in ids.iter().enumerate() {
        lab.printed(id, &format!("{number} {}\n", LINES - 1)).await;
    }
    let after = rss_kib();
    println!("each={}", after.saturating_sub(before) / SESSIONS as u64);
    for sandbox in &sandboxes {
        // Whoever opens the pipe for writing lets all go that wait for it.
        sandbox.exec("sleep 1; : >go").await.unwrap();
    }
    let mut good = 0;
    for (number, id) in ids.iter().enumerate() {
        let view = lab.sessions.ended(id, Some(Duration::from_mins(2))).await.unwrap();
        let code = view.end.as_ref().and_then(|end| end.outcome.code);
        assert_eq!(code, Some(i32::try_from(number % 200).unwrap()), "{view:?}");
        let wanted: String =
            (0..LINES).flat_map(|line| [format!("{number} {line}"), "\n".to_owned()]).collect();
        assert_eq!(lab.sessions.aggregate(id).unwrap().text, wanted);
        lab.sessions.forget(id).unwrap();
        good += 1;
    }
    assert_eq!(lab.sessions.views(), []);
    println!("good={good}");
}

fn rss_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}
