//! A host command turns against its own supervisor. In a sandbox PID 1 is out of its reach.

use std::time::Duration;

use creel::process::record::SessionId;
use creel::runner::Death;
use creel::runner::host::end_orphans;
use creel::state::random_hex;
use creel::wire::CommandId;
use pretty_assertions::assert_eq;

use super::lab::{Home, Lab, begin_beside, spawn_beside};

/// Starts something that ignores TERM, then sends a signal to the supervisor and to the process above it.
fn attack(signal: &str) -> String {
    format!(
        "(setsid sh -c 'trap \"\" TERM HUP; exec sleep 8101' >/dev/null 2>&1 &); sleep 0.2; P=$PPID; \
         G=$(cut -d' ' -f4 /proc/$P/stat); : > ready; kill -{signal} $G $P; exec sleep 8102"
    )
}

async fn start(home: &Home, lab: &Lab, text: &str, timeout_ms: Option<u64>) -> (SessionId, CommandId) {
    let mut begin = begin_beside(home.path().join("beside").join(random_hex::<8>().unwrap()), text);
    begin.timeout_ms = timeout_ms;
    let (id, command) = lab.sessions.begin(begin.clone()).unwrap();
    let running = spawn_beside(home.path(), &begin, command).await;
    lab.sessions.follow(&id, running).unwrap();
    assert!(lab.sessions.background(&id).unwrap());
    (id, command)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_supervisor_leaves_is_ended() {
    let home = Home::new();
    let lab = home.lab().await;
    let (id, command) = start(&home, &lab, &attack("KILL"), None).await;
    let end = lab.ended(&id).await.end.unwrap();
    assert_eq!(end.outcome.death, Death::SupervisorLost);
    assert_eq!(end_orphans(command), (0, true), "{end:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_supervisor_ends_its_command_all_the_same() {
    let home = Home::new();
    let lab = home.lab().await;
    let (killed, first) = start(&home, &lab, &attack("STOP"), None).await;
    let (late, second) = start(&home, &lab, &attack("STOP"), Some(1000)).await;
    // What it prints is read by the one that it stops.
    while !home.path().join("ready").exists() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    lab.sessions.kill(&killed).await.unwrap();
    for (id, command) in [(killed, first), (late, second)] {
        let end = lab.ended(&id).await.end.unwrap();
        assert_eq!(end_orphans(command), (0, true), "{end:?}");
    }
}
