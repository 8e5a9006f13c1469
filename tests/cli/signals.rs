use std::io::Read as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pretty_assertions::assert_eq;

use crate::home::Home;

/// Processes of the sandbox whose command line holds this text.
fn inside(home: &Home, marker: &str) -> usize {
    let done = home.run(&["exec", "--", &format!("ps | grep -v grep | grep -c {marker}")]);
    done.out.trim().parse().unwrap_or_else(|_| panic!("{done:?}"))
}

/// Starts a command that says `ready` and waits for the word.
fn begin(home: &Home, text: &str) -> Child {
    let mut child = home.creel(&["exec", "--", text]).stderr(Stdio::null()).spawn().unwrap();
    let mut word = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut word).unwrap();
    assert_eq!(&word, b"ready\n");
    child
}

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
}

#[test]
fn an_interrupt_ends_the_whole_tree() {
    let home = Home::new();
    for (signal, status) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let mut child = begin(&home, "(setsid sleep 4711 &); echo ready; sleep 4711");
        send(&child, signal);
        assert_eq!(child.wait().unwrap().code(), Some(status));
        assert_eq!(inside(&home, 4711.to_string().as_str()), 0);
    }
}

#[test]
fn a_second_interrupt_does_not_wait() {
    let home = Home::new();
    let mut child = begin(&home, "trap '' TERM INT; echo ready; while :; do sleep 4712; done");
    let start = Instant::now();
    send(&child, Signal::SIGINT);
    std::thread::sleep(Duration::from_millis(200));
    send(&child, Signal::SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
}

#[test]
fn a_reader_that_goes_away_ends_the_command() {
    let home = Home::new();
    let mut child = begin(&home, "echo ready; while :; do echo 4713; done");
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(141));
    assert_eq!(inside(&home, "4713"), 0);
}

#[test]
fn a_slow_reader_loses_nothing() {
    let home = Home::new();
    let text = "i=0; while [ $i -lt 200000 ]; do echo line $i; i=$((i+1)); done";
    let mut child = home.creel(&["exec", "--", text]).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let mut out = String::new();
    child.stdout.as_mut().unwrap().read_to_string(&mut out).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(out.lines().count(), 200_000);
    assert_eq!(out.lines().last(), Some("line 199999"));
}

/// Somebody takes the sandbox away: the caller gets a result like any other, on either road.
#[test]
fn a_stop_under_a_command_is_a_result_with_its_cause() {
    for road in ["init", "engine"] {
        let home = Home::new();
        let place = home.dir.path().join("ws");
        std::fs::create_dir(&place).unwrap();
        let (up, place) = (place.join("up"), place.display().to_string());
        let args = ["exec", "--json", "--transport", road, "--workspace", &place, "--"];
        let args = [&args[..], &["echo seen; touch up; sleep 4714"]].concat();
        let child = home.creel(&args).spawn().unwrap();
        let begin = Instant::now();
        while !up.exists() {
            assert!(begin.elapsed() < Duration::from_mins(1));
            std::thread::sleep(Duration::from_millis(20));
        }
        let stopped = home.run(&["sandbox", "stop", "--all", "--force"]);
        assert_eq!(stopped.status, Some(0), "{stopped:?}");
        let output = child.wait_with_output().unwrap();
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((output.status.code(), result["cause"].as_str()), (Some(125), Some("sandbox-stopped")));
        let told = (result["status"].as_str(), result["aggregated"].as_str(), result["transport"].as_str());
        assert_eq!(told, (Some("failed"), Some("seen\n"), Some(road)), "{result}");
        assert_eq!(result["report"]["code"], "CRL-EXEC-006");
    }
}
