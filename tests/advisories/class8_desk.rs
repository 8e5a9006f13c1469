//! Class 8, as far as deciding goes: ids that are stale, short, or of another kind; who decides.

use creel::approvals::desk::{Desk, DeskError, KIND, Question, Resolver, Status};
use creel::approvals::policy::{Answer, Decision};
use creel::error::Diagnose as _;
use creel::state::StateDir;

fn desk(dir: &tempfile::TempDir) -> Desk {
    Desk::open(&StateDir::at(dir.path())).unwrap()
}

fn question(id: &str) -> Question {
    Question {
        id: Some(id.to_owned()),
        command: "touch x".to_owned(),
        cwd: "/w".to_owned(),
        agent: "main".to_owned(),
        offered: vec![Decision::AllowOnce, Decision::Deny],
        ..Question::default()
    }
}

fn person() -> Resolver {
    Resolver::device("person")
}

/// A174: an id from before a restart.
#[tokio::test]
async fn a174_an_old_id_is_over_and_lets_nothing_run() {
    let dir = tempfile::tempdir().unwrap();
    let before = desk(&dir);
    before.ask(&question("before-1")).unwrap();
    drop(before);
    let after = desk(&dir);
    let error = after.answer("before-1", Decision::AllowOnce, None, &person()).unwrap_err();
    assert!(
        matches!(error, DeskError::Expired { .. }) && error.to_string().contains("started again"),
        "{error}"
    );
    assert!(after.redeem("before-1", "run").is_err());
    assert_eq!(after.settled("before-1").await.answer, Answer::TimedOut);
    // The twin: one of now.
    after.ask(&question("after-1")).unwrap();
    after.answer("after-1", Decision::AllowOnce, None, &person()).unwrap();
    after.redeem("after-1", "run").unwrap();
}

/// A175: the beginning of an id that another question has too.
#[tokio::test]
async fn a175_a_beginning_never_means_another_question() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.ask(&question("abcdefgh-1")).unwrap();
    desk.ask(&question("abcdefgh-2")).unwrap();
    let error = desk.answer("abcdefgh", Decision::AllowOnce, None, &person()).unwrap_err();
    assert!(matches!(&error, DeskError::Ambiguous(ids) if ids.len() == 2), "{error}");
    desk.answer("abcdefgh-1", Decision::Deny, None, &person()).unwrap();
    // What has ended is never meant by its beginning.
    assert_eq!(desk.find("abcdefgh").unwrap().id, "abcdefgh-2");
    let error = desk.answer("abcdefgh-1", Decision::AllowOnce, None, &person()).unwrap_err();
    assert_eq!(error.reason(), Some("APPROVAL_ALREADY_RESOLVED"));
    assert!(desk.find("abcdefgh-2").unwrap().is_pending());
}

/// A177, I084: a denial is the end of it.
#[tokio::test]
async fn a177_a_denial_stays_one() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.ask(&question("q-1")).unwrap();
    desk.answer("q-1", Decision::Deny, None, &person()).unwrap();
    assert_eq!(desk.settled("q-1").await.answer, Answer::Decided(Decision::Deny));
    assert_eq!(desk.redeem("q-1", "run").unwrap_err().report().code, "CRL-DESK-015");
    assert_eq!(desk.find("q-1").unwrap().status, Status::Denied);
    assert!(desk.pending().is_empty(), "it is withdrawn everywhere");
}

/// A185, A186: who answers is a person of this machine; the agent has no way to it, not even by a program that it runs.
#[test]
fn a185_an_agent_does_not_answer_its_own_question() {
    use creel::shell::guard::{GuardFacts, check};
    for command in [
        "/approve q-1 allow-once",
        "creel approvals approve q-1",
        "sh -c 'openclaw approvals resolve q-1 allow-once'",
    ] {
        assert_eq!(
            check(command, &GuardFacts::default()).unwrap_err().report().code,
            "CRL-GUARD-001",
            "{command}"
        );
    }
    assert!(check("creel approvals pending", &GuardFacts::default()).is_ok());
    let schemas = serde_json::to_string(&creel::tools::schemas(true)).unwrap();
    assert!(!schemas.contains("allow-once"), "no tool takes a decision");
}

/// A187: an answer to one kind of question is none to another.
#[tokio::test]
async fn a187_kinds_are_apart() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(&dir);
    desk.ask(&question("q-1")).unwrap();
    desk.verdict("q-1", "plugin", "allow-once", &person()).unwrap();
    assert_eq!(desk.settled("q-1").await.answer, Answer::Malformed);
    desk.ask(&question("q-2")).unwrap();
    desk.verdict("q-2", KIND, "allow-once", &person()).unwrap();
    assert_eq!(desk.settled("q-2").await.answer, Answer::Decided(Decision::AllowOnce));
}
