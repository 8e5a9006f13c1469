use pretty_assertions::assert_eq;

use super::intended::Intended;
use super::judge::{Row, Verdict, judge};
use crate::sandbox::Rule;
use crate::wire::probe::{Attempt, Outcome, Tried};

/// A hardened sandbox.
fn hard() -> Intended {
    Intended {
        network: "none".to_owned(),
        read_only_root: true,
        cap_drop: vec!["ALL".to_owned()],
        uid: Some(1000),
        pids: Some(100),
        writable: vec!["/workspace".to_owned()],
        read_only: vec!["/.creel/init".to_owned()],
        host_paths: [("/root".to_owned(), "1:2".to_owned())].into(),
        searched: vec!["/workspace".to_owned()],
        denied: [("1:3".to_owned(), "/root/.ssh".to_owned())].into(),
        namespaces: [("pid".to_owned(), "7".to_owned()), ("user".to_owned(), "8".to_owned())].into(),
        ..Intended::default()
    }
}

fn tried(attempt: Attempt, subject: &str, outcome: Outcome, detail: &str) -> Tried {
    Tried { attempt, subject: subject.to_owned(), outcome, detail: detail.to_owned() }
}

/// The verdict over one line.
fn verdict(intended: &Intended, attempt: Attempt, subject: &str, outcome: Outcome, detail: &str) -> Verdict {
    let rows = judge(intended, Ok(&[tried(attempt, subject, outcome, detail)]));
    let own = |row: &&Row| row.check == attempt.as_str() && row.subject == subject;
    rows.iter().find(own).unwrap().verdict
}

#[test]
fn what_works_and_must_not_is_open() {
    let hard = hard();
    for attempt in Attempt::ALL.iter().copied() {
        let subject = if attempt == Attempt::Write { "/" } else { "x" };
        let worked = verdict(&hard, attempt, subject, Outcome::Worked, "");
        assert!(!worked.is_sound(), "{attempt:?} is {worked:?}");
    }
    for (attempt, subject, detail) in [
        (Attempt::HostPath, "/root", "1:2"),
        (Attempt::DeniedBelow, "/workspace", "1:3 /workspace/a"),
        (Attempt::DeniedBelow, "/workspace", "9:9 /workspace/a"),
        (Attempt::Namespace, "pid", "7"),
        (Attempt::Capabilities, "CapBnd", "0000000000000400"),
        (Attempt::NoNewPrivileges, "", "0"),
        (Attempt::SystemCallFilter, "", "0"),
        (Attempt::Interfaces, "", "lo,eth0"),
        (Attempt::AbstractSockets, "", "3"),
    ] {
        assert_eq!(verdict(&hard, attempt, subject, Outcome::Saw, detail), Verdict::Open, "{attempt:?}");
    }
}

#[test]
fn what_is_refused_held() {
    let hard = hard();
    for (attempt, subject, outcome, detail) in [
        (Attempt::Write, "/", Outcome::Refused(30), ""),
        (Attempt::Write, "/workspace", Outcome::Worked, ""),
        (Attempt::HostPath, "/root", Outcome::Saw, "9:9"),
        (Attempt::HostPath, "/root", Outcome::Absent, ""),
        (Attempt::DeniedBelow, "/workspace", Outcome::Absent, ""),
        (Attempt::Namespace, "pid", Outcome::Saw, "9"),
        (Attempt::Capabilities, "CapBnd", Outcome::Saw, "0"),
        (Attempt::SystemCall, "keyctl", Outcome::Refused(1), ""),
        (Attempt::InitSignal, "SIGKILL", Outcome::NoEffect, ""),
        (Attempt::Interfaces, "", Outcome::Saw, "lo,tunl0"),
        (Attempt::ProcessLimit, "", Outcome::Refused(11), "97"),
    ] {
        assert_eq!(verdict(&hard, attempt, subject, outcome, detail), Verdict::Held, "{attempt:?} {subject}");
    }
    // A call that is turned down for its arguments got through.
    assert_eq!(verdict(&hard, Attempt::SystemCall, "bpf", Outcome::Refused(22), ""), Verdict::Open);
    // An engine may share these.
    assert_eq!(verdict(&hard, Attempt::Namespace, "user", Outcome::Saw, "8"), Verdict::Allowed);
}

#[test]
fn what_the_configuration_opens_is_allowed_and_not_held() {
    let soft = Intended {
        network: "bridge".to_owned(),
        read_only_root: false,
        cap_drop: vec!["NET_ADMIN".to_owned()],
        uid: Some(0),
        own_seccomp: true,
        ..hard()
    };
    for (attempt, subject, outcome, detail) in [
        (Attempt::Write, "/", Outcome::Worked, ""),
        (Attempt::Route, "198.51.100.1", Outcome::Worked, ""),
        (Attempt::Interfaces, "", Outcome::Saw, "lo,eth0"),
        (Attempt::RawSocket, "icmp", Outcome::Worked, ""),
        (Attempt::UserId, "", Outcome::Worked, ""),
        (Attempt::DeviceNode, "/tmp", Outcome::Worked, ""),
        (Attempt::Capabilities, "CapEff", Outcome::Saw, "0000000000000001"),
        (Attempt::SystemCall, "keyctl", Outcome::Worked, ""),
    ] {
        assert_eq!(verdict(&soft, attempt, subject, outcome, detail), Verdict::Allowed, "{attempt:?}");
        assert_eq!(verdict(&hard(), attempt, subject, outcome, detail), Verdict::Open, "{attempt:?}");
    }
    // No key opens these.
    for attempt in [Attempt::Mount, Attempt::NewNamespace, Attempt::InitTrace, Attempt::EngineSocket] {
        assert_eq!(verdict(&soft, attempt, "x", Outcome::Worked, ""), Verdict::Open);
    }
    let let_go = Intended { unenforced: vec![Rule::Pids, Rule::NoNewPrivileges], ..hard() };
    assert_eq!(verdict(&let_go, Attempt::ProcessLimit, "", Outcome::Worked, ""), Verdict::Allowed);
    assert_eq!(verdict(&let_go, Attempt::NoNewPrivileges, "", Outcome::Saw, "0"), Verdict::Allowed);
}

#[test]
fn silence_is_unknown_and_never_held() {
    for probe in [Ok(&[][..]), Err("it ended before it was done")] {
        let rows = judge(&hard(), probe);
        assert!(rows.len() > 60 && rows.iter().all(|row| row.verdict == Verdict::Unknown), "{rows:?}");
    }
    // A probe that cannot do what is allowed proves nothing by failing at the rest.
    let control = verdict(&hard(), Attempt::Write, "/workspace", Outcome::Refused(30), "");
    assert_eq!(control, Verdict::Unknown);
    let unseen = verdict(&hard(), Attempt::Interfaces, "", Outcome::Saw, "");
    assert_eq!(unseen, Verdict::Unknown);
    assert_eq!(verdict(&hard(), Attempt::Namespace, "pid", Outcome::Absent, ""), Verdict::Unknown);
    // A search that was not brought to its end.
    assert_eq!(verdict(&hard(), Attempt::DeniedBelow, "/workspace", Outcome::Saw, ""), Verdict::Unknown);
}

#[test]
fn what_was_not_asked_for_is_not_believed() {
    let saw = verdict(&hard(), Attempt::HostPath, "/elsewhere", Outcome::Saw, "1:1");
    assert_eq!(saw, Verdict::Unknown);
    assert_eq!(verdict(&hard(), Attempt::Mount, "tmpfs", Outcome::Saw, "fine"), Verdict::Unknown);
}

#[test]
fn every_question_is_among_the_arguments() {
    let args = hard().arguments("n").join(" ");
    for part in [
        "/.creel/init probe --nonce n",
        "--write /workspace",
        "--write /etc",
        "--host /root",
        "--pids 100",
        "--search /workspace --denied 1:3",
    ] {
        assert!(args.contains(part), "{part} in {args}");
    }
    let huge = Intended { pids: Some(1 << 20), ..hard() };
    assert!(!huge.arguments("n").contains(&"--pids".to_owned()), "the attempt itself would be the harm");
}
