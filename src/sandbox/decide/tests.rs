use std::collections::BTreeMap;

use super::*;
use crate::engine::ContainerId;
use crate::sandbox::prove::Hardening;

const OURS: &str = "0123456789abcdef0123456789abcdef";

fn inputs(text: &str) -> Inputs {
    serde_json::from_str(text).unwrap()
}

fn plain() -> Inputs {
    inputs(r#"{"network":"none","mounts":[]}"#)
}

fn facts() -> ContainerFacts {
    ContainerFacts {
        id: ContainerId("c".repeat(64)),
        name: "box".to_owned(),
        image_id: "sha256:1".to_owned(),
        labels: BTreeMap::from([
            (labels::INSTALLATION.to_owned(), OURS.to_owned()),
            (labels::HASH.to_owned(), plain().hash()),
        ]),
        running: true,
        status: "running".to_owned(),
        pid: 4242,
        started_at: "2026-11-30T10:00:00Z".to_owned(),
        exit_code: None,
        oom_killed: false,
        error: String::new(),
        mounts: Vec::new(),
    }
}

fn record() -> Record {
    Record {
        container: "c".repeat(64),
        started_at: "2026-11-30T10:00:00Z".to_owned(),
        pid: 4242,
        outside: false,
        nonce: None,
        run: "0123456789abcdef".to_owned(),
        image: "sha256:1".to_owned(),
        user: "1000:1000".to_owned(),
        agent: "main".to_owned(),
        hash: plain().hash(),
        scope: None,
        made_as: None,
        inputs: plain(),
        hardening: Hardening::default(),
    }
}

#[test]
fn what_came_out_of_a_pool_keeps_its_label() {
    let mut other = facts();
    other.labels.insert(labels::HASH.to_owned(), "f".repeat(64));
    let claimed = Record { made_as: Some("f".repeat(64)), ..record() };
    assert_eq!(judge(&other, Some(&claimed), 0, false, &plain()), Action::Use { drift: Vec::new() });
    assert_eq!(judge(&facts(), Some(&claimed), 0, false, &plain()), Action::Outdated);
    assert_eq!(judge(&other, Some(&record()), 0, false, &plain()), Action::Outdated);
}

fn judge(
    facts: &ContainerFacts,
    record: Option<&Record>,
    leases: usize,
    recent: bool,
    wanted: &Inputs,
) -> Action {
    let hash = wanted.hash();
    decide(
        Found { facts, record, leases, recent },
        Wanted { installation: OURS, hash: &hash, inputs: wanted },
    )
}

#[test]
fn a_proven_running_container_is_used() {
    assert_eq!(judge(&facts(), Some(&record()), 0, false, &plain()), Action::Use { drift: vec![] });
    assert_eq!(judge(&facts(), Some(&record()), 3, true, &plain()), Action::Use { drift: vec![] });
}

#[test]
fn a_foreign_container_is_never_touched() {
    let mut foreign = facts();
    foreign.labels.insert(labels::INSTALLATION.to_owned(), "f".repeat(32));
    assert!(matches!(judge(&foreign, Some(&record()), 0, false, &plain()), Action::Foreign(_)));
    foreign.labels.clear();
    foreign.running = false;
    assert!(matches!(judge(&foreign, None, 0, false, &plain()), Action::Foreign(_)));
}

#[test]
fn what_is_not_running_or_ran_before_is_replaced() {
    for status in ["created", "exited", "dead", "restarting"] {
        let stopped = ContainerFacts { running: false, status: status.to_owned(), pid: 0, ..facts() };
        assert!(
            matches!(judge(&stopped, Some(&record()), 2, true, &plain()), Action::Replace(_)),
            "{status}"
        );
    }
    let restarted = ContainerFacts { started_at: "2026-11-30T11:00:00Z".to_owned(), ..facts() };
    assert!(matches!(judge(&restarted, Some(&record()), 2, true, &plain()), Action::Replace(_)));
    let other_pid = ContainerFacts { pid: 1, ..facts() };
    assert!(matches!(judge(&other_pid, Some(&record()), 2, true, &plain()), Action::Replace(_)));
    let paused = ContainerFacts { running: false, status: "paused".to_owned(), ..facts() };
    assert_eq!(judge(&paused, Some(&record()), 0, false, &plain()), Action::Paused);
}

#[test]
fn without_a_proof_it_is_replaced_unless_in_use() {
    assert!(matches!(judge(&facts(), None, 0, true, &plain()), Action::Replace(_)));
    assert_eq!(judge(&facts(), None, 1, true, &plain()), Action::Unproven);
    let other = Record { container: "d".repeat(64), ..record() };
    assert!(matches!(judge(&facts(), Some(&other), 0, true, &plain()), Action::Replace(_)));
}

#[test]
fn drift_waits_for_a_hot_container() {
    let wanted = inputs(r#"{"network":"bridge","mounts":[]}"#);
    assert_eq!(judge(&facts(), Some(&record()), 0, false, &wanted), Action::Outdated);
    let told = Action::Use { drift: vec!["network: none → bridge".to_owned()] };
    assert_eq!(judge(&facts(), Some(&record()), 1, false, &wanted), told);
    assert_eq!(judge(&facts(), Some(&record()), 0, true, &wanted), told);
    // A label that disagrees with the record is drift too.
    let mut mislabelled = facts();
    mislabelled.labels.remove(labels::HASH);
    assert_eq!(judge(&mislabelled, Some(&record()), 0, false, &plain()), Action::Outdated);
}

#[test]
fn other_mounts_in_a_hot_container_are_an_error() {
    let wanted = inputs(r#"{"network":"none","mounts":[{"source":"/a","target":"/b","read_only":true}]}"#);
    assert_eq!(
        judge(&facts(), Some(&record()), 1, true, &wanted),
        Action::DriftedHot(vec!["mounts: +/a:/b:ro".to_owned()])
    );
    assert_eq!(judge(&facts(), Some(&record()), 0, false, &wanted), Action::Outdated);
}
