//! The desk without a keeper.

use std::time::Duration;

use pretty_assertions::assert_eq;

use super::*;
use crate::approvals::display;
use crate::approvals::document::{Entry, Source};
use crate::approvals::policy::{Answer, Decision};
use crate::process::store::events::EventKind;

struct Room {
    desk: Desk,
    dir: tempfile::TempDir,
}

fn room() -> Room {
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk::open(&StateDir::at(dir.path())).unwrap();
    Room { desk, dir }
}

impl Room {
    /// Another creel on the same state directory.
    fn restarted(self) -> Self {
        let Self { desk, dir } = self;
        drop(desk);
        let desk = Desk::open(&StateDir::at(dir.path())).unwrap();
        Self { desk, dir }
    }

    fn events(&self) -> Vec<(EventKind, String)> {
        let events = self.desk.inner.events.since(0, None, 100).unwrap();
        events.into_iter().map(|event| (event.kind, event.text)).collect()
    }
}

fn question(command: &str) -> Question {
    Question {
        command: command.to_owned(),
        digest: format!("digest of {command}"),
        cwd: "/w".to_owned(),
        agent: "main".to_owned(),
        session: Some("agent:main:main".to_owned()),
        reason: "miss".to_owned(),
        offered: vec![Decision::AllowOnce, Decision::AllowAlways, Decision::Deny],
        entries: vec![Entry {
            arg_pattern: Some("sha256:cwd-argv:v1:00".to_owned()),
            source: Source::AllowAlways,
            ..Entry::of("/usr/bin/python3")
        }],
        ..Question::default()
    }
}

fn named(id: &str) -> Question {
    Question { id: Some(id.to_owned()), digest: String::new(), ..question("ls") }
}

/// As if this time had passed for a question.
fn age(desk: &Desk, id: &str, by: Duration) {
    let mut live = desk.live();
    let live = live.get_mut(id).unwrap();
    live.deadline = live.deadline.checked_sub(by).unwrap();
    live.ended = live.ended.map(|ended| ended.checked_sub(by).unwrap());
}

fn person() -> Resolver {
    Resolver::device("person")
}

fn code<T: std::fmt::Debug>(done: Result<T, DeskError>) -> &'static str {
    use crate::error::Diagnose as _;
    let report = done.unwrap_err().report();
    assert!(report.rule.is_some() && !report.fix.is_empty(), "{report}");
    report.code
}

#[tokio::test]
async fn an_answer_reaches_who_waits_and_is_used_once() {
    let Room { desk, .. } = &room();
    let ticket = desk.ask(&question("ls")).unwrap();
    assert!(!ticket.joined && desk.pending().len() == 1);
    assert_eq!(code(desk.redeem(&ticket.id, "run")), "CRL-DESK-015", "nobody has answered");
    let answered = desk.answer(&ticket.id, Decision::AllowOnce, None, &person()).unwrap();
    assert!(answered.applied && answered.approval.status == Status::Allowed);
    let settled = desk.settled(&ticket.id).await;
    assert_eq!((settled.answer, settled.reason.as_str()), (Answer::Decided(Decision::AllowOnce), "user"));
    desk.redeem(&ticket.id, "run").unwrap();
    assert_eq!(code(desk.redeem(&ticket.id, "other")), "CRL-DESK-013");
    assert!(desk.find(&ticket.id).unwrap().consumed_at_ms.is_some());
    assert!(desk.pending().is_empty() && desk.history(9).unwrap().len() == 1);
}

#[tokio::test]
async fn an_approval_that_is_not_used_in_time_is_none() {
    let Room { desk, .. } = &room();
    let ticket = desk.ask(&question("ls")).unwrap();
    desk.answer(&ticket.id, Decision::AllowOnce, None, &person()).unwrap();
    age(desk, &ticket.id, REDEEM + Duration::from_millis(1));
    assert_eq!(code(desk.redeem(&ticket.id, "run")), "CRL-DESK-014");
    assert!(desk.pending().is_empty(), "this forgets it");
    assert_eq!(code(desk.redeem(&ticket.id, "run")), "CRL-DESK-014");
    assert_eq!(desk.settled(&ticket.id).await.answer, Answer::Decided(Decision::AllowOnce));
}

#[tokio::test]
async fn the_first_answer_counts_and_the_same_again_is_no_error() {
    let Room { desk, .. } = &room();
    let ticket = desk.ask(&question("ls")).unwrap();
    let id = ticket.id.as_str();
    let race = std::thread::scope(|scope| {
        let all = [Decision::AllowOnce, Decision::Deny, Decision::AllowAlways].repeat(4);
        let threads: Vec<_> = all
            .into_iter()
            .map(|decision| {
                scope.spawn(move || desk.answer(id, decision, None, &person()).map(|done| done.applied))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(race.iter().filter(|done| matches!(done, Ok(true))).count(), 1);
    assert_eq!(race.iter().filter(|done| matches!(done, Ok(false))).count(), 3);
    for error in race.into_iter().filter_map(Result::err) {
        assert_eq!(error.reason(), Some("APPROVAL_ALREADY_RESOLVED"), "{error}");
    }
}

#[tokio::test]
async fn two_identical_questions_are_one() {
    let Room { desk, .. } = &room();
    let first = desk.ask(&question("make")).unwrap();
    let second = desk.ask(&question("make")).unwrap();
    assert_eq!((first.id.as_str(), second.joined, desk.pending().len()), (second.id.as_str(), true, 1));
    let other = Question { session: Some("agent:main:other".to_owned()), ..question("make") };
    assert!(!desk.ask(&other).unwrap().joined, "another conversation asks for itself");
    desk.cancel(&first.id, "run-aborted");
    assert!(desk.find(&first.id).unwrap().is_pending(), "the other call still waits");
    desk.answer(&first.id, Decision::AllowOnce, None, &person()).unwrap();
    let answers = tokio::join!(desk.settled(&first.id), desk.settled(&second.id));
    assert_eq!(answers.0, answers.1);
    assert!(desk.redeem(&first.id, "one").is_ok() && desk.redeem(&second.id, "two").is_err());
    assert!(!desk.ask(&question("make")).unwrap().joined, "what has ended is not joined");
}

#[tokio::test]
async fn silence_ends_in_time_and_comes_too_late_after_that() {
    let Room { desk, .. } = &room();
    let ticket = desk.ask(&Question { timeout_ms: Some(50), ..question("ls") }).unwrap();
    let settled = desk.settled(&ticket.id).await;
    assert_eq!((settled.answer, settled.reason.as_str()), (Answer::TimedOut, "timeout"));
    assert_eq!(code(desk.answer(&ticket.id, Decision::AllowOnce, None, &person())), "CRL-DESK-002");
    assert_eq!(code(desk.redeem(&ticket.id, "run")), "CRL-DESK-015");
    // Nobody waits, nobody looks: the time is over all the same.
    let ticket = desk.ask(&Question { timeout_ms: Some(1000), ..question("rm") }).unwrap();
    age(desk, &ticket.id, Duration::from_secs(2));
    assert_eq!(code(desk.answer(&ticket.id, Decision::AllowOnce, None, &person())), "CRL-DESK-002");
}

#[tokio::test]
async fn unknown_over_and_decided_are_told_apart() {
    let Room { desk, .. } = &room();
    assert_eq!(code(desk.answer("0badc0de", Decision::Deny, None, &person())), "CRL-DESK-001");
    let gone = desk.ask(&question("a")).unwrap();
    desk.cancel(&gone.id, "run-aborted");
    assert_eq!(code(desk.answer(&gone.id, Decision::AllowOnce, None, &person())), "CRL-DESK-002");
    assert_eq!(desk.settled(&gone.id).await.answer, Answer::TimedOut);
    let done = desk.ask(&question("b")).unwrap();
    desk.answer(&done.id, Decision::Deny, None, &person()).unwrap();
    assert_eq!(code(desk.answer(&done.id, Decision::AllowOnce, None, &person())), "CRL-DESK-003");
    assert_eq!(code(desk.redeem(&done.id, "run")), "CRL-DESK-015");
}

#[tokio::test]
async fn a_beginning_means_one_question_that_waits_or_none() {
    let Room { desk, .. } = &room();
    let done = desk.ask(&named("abcdefgh-done")).unwrap();
    desk.answer(&done.id, Decision::Deny, None, &person()).unwrap();
    let waits = desk.ask(&named("abcdefgh-waits")).unwrap();
    assert_eq!(desk.find(" ABCDEFGH ").unwrap().id, waits.id, "what has ended is never meant by a beginning");
    desk.ask(&named("abcx")).unwrap();
    assert_eq!(code(desk.find("abc")), "CRL-DESK-004");
    assert_eq!(desk.find("abcx").unwrap().id, "abcx");
    desk.ask(&named("abcx-longer")).unwrap();
    assert_eq!(desk.find("abcx").unwrap().id, "abcx", "the exact id comes first");
    assert_eq!(code(desk.find("")), "CRL-DESK-001");
    assert_eq!(code(desk.ask(&named("abcx"))), "CRL-DESK-009");
    assert_eq!(code(desk.ask(&named("abcdefgh-done"))), "CRL-DESK-009", "an id is never used twice");
    assert_eq!(code(desk.ask(&named("plugin:x"))), "CRL-DESK-008");
}

#[tokio::test]
async fn only_what_is_offered_can_be_decided() {
    let Room { desk, .. } = &room();
    let once = Question { offered: vec![Decision::AllowOnce], ..question("a") };
    let ticket = desk.ask(&once).unwrap();
    let refused = desk.answer(&ticket.id, Decision::AllowAlways, None, &person());
    assert_eq!(code(refused), "CRL-DESK-005");
    assert!(desk.find(&ticket.id).unwrap().is_pending(), "it stands as it stood");
    // A word from outside ends it.
    for (command, kind, word) in [
        ("b", "exec", "allow-always"),
        ("c", "exec", "ALLOW-ONCE"),
        ("d", "plugin", "allow-once"),
        ("e", "exec", ""),
    ] {
        let ticket = desk.ask(&Question { offered: vec![Decision::AllowOnce], ..question(command) }).unwrap();
        let answered = desk.verdict(&ticket.id, kind, word, &person()).unwrap();
        assert_eq!(answered.approval.reason.as_deref(), Some("malformed-verdict"));
        assert_eq!(desk.settled(&ticket.id).await.answer, Answer::Malformed);
        assert!(!desk.verdict(&ticket.id, "exec", "allow-once", &person()).unwrap().applied);
    }
    assert_eq!(
        code(desk.verdict(&ticket.id[..8], "exec", "allow-once", &person())),
        "CRL-DESK-001",
        "exact ids only"
    );
    assert!(
        desk.verdict(&ticket.id, "exec", "deny", &person()).unwrap().applied,
        "deny is always understood"
    );
}

#[tokio::test]
async fn a_restart_ends_what_waited() {
    let room = room();
    let ticket = room.desk.ask(&question("ls")).unwrap();
    let room = room.restarted();
    let error = room.desk.answer(&ticket.id, Decision::AllowOnce, None, &person()).unwrap_err();
    assert!(error.to_string().contains("expired: creel was started again"), "{error}");
    assert_eq!(code(room.desk.redeem(&ticket.id, "run")), "CRL-DESK-002");
    let settled = room.desk.settled(&ticket.id).await;
    assert_eq!((settled.answer, settled.reason.as_str()), (Answer::TimedOut, "gateway-restart"));
    assert_eq!(room.desk.find(&ticket.id[..8]).unwrap().status, Status::Cancelled);
    // An approval that was given before is not carried over either.
    let ticket = room.desk.ask(&question("ls")).unwrap();
    room.desk.answer(&ticket.id, Decision::AllowOnce, None, &person()).unwrap();
    assert_eq!(code(room.restarted().desk.redeem(&ticket.id, "run")), "CRL-DESK-014");
}

/// Whoever waits in a conversation is told that nothing will come of a question, and of an approval that a crash swallowed.
#[tokio::test]
async fn a_restart_is_told_to_the_conversation() {
    let told = |room: &Room| {
        let events = room.events().into_iter();
        events.filter(|(kind, _)| *kind == EventKind::FollowUp).map(|(_, text)| text).collect::<Vec<_>>()
    };
    let room = room();
    let waits = room.desk.ask(&question("ls")).unwrap();
    let taken = room.desk.ask(&question("pwd")).unwrap();
    let noted = room.desk.ask(&question("id")).unwrap();
    room.desk.ask(&Question { external: true, ..question("a program's") }).unwrap();
    for id in [&taken.id, &noted.id] {
        room.desk.answer(id, Decision::AllowOnce, None, &person()).unwrap();
        room.desk.redeem(id, "exec").unwrap();
    }
    room.desk.outcome(&noted.id, None);
    assert_eq!(room.desk.find(&noted.id).unwrap().outcome.as_deref(), Some("started"));
    let room = room.restarted();
    let wanted = [
        format!("Exec denied (gateway id={}, gateway-restart): ls", waits.id),
        format!("Approval {} was approved, and was not started: creel was restarted. pwd", taken.id),
    ];
    assert_eq!(told(&room), wanted);
    let found = room.desk.find(&taken.id).unwrap();
    assert_eq!(found.outcome.as_deref(), Some("not-started: gateway-restart"));
    let room = room.restarted();
    assert_eq!(told(&room), wanted, "once");
    // The same where the keeper is stopped.
    let ticket = room.desk.ask(&question("df")).unwrap();
    room.desk.cancel(&ticket.id, "gateway-restart");
    assert!(told(&room)[2].contains(&ticket.id));
}

#[test]
fn what_joins_a_question_is_the_same_and_bounded() {
    let Room { desk, .. } = &room();
    let first = desk.ask(&question("ls")).unwrap();
    let fewer = Question { offered: vec![Decision::AllowOnce], ..question("ls") };
    assert_ne!(desk.ask(&fewer).unwrap().id, first.id, "it can be decided in other ways");
    for _ in 1..32 {
        assert_eq!(desk.ask(&question("ls")).unwrap().id, first.id);
    }
    assert_eq!(code(desk.ask(&question("ls"))), "CRL-DESK-021");
}

#[tokio::test]
async fn nobody_waits_for_who_cannot_be_reached() {
    let Room { desk, .. } = &room();
    let alone = |command| Question { unattended: true, ..question(command) };
    let ticket = desk.ask(&alone("a")).unwrap();
    let settled = desk.settled(&ticket.id).await;
    assert_eq!((settled.answer, settled.reason.as_str()), (Answer::Unreachable, "no-route"));
    assert!(desk.redeem(&ticket.id, "fallback").is_ok() && desk.redeem(&ticket.id, "again").is_err());
    let watching = desk.watch();
    let ticket = desk.ask(&alone("b")).unwrap();
    assert!(desk.find(&ticket.id).unwrap().is_pending());
    drop(watching);
    assert_eq!(desk.settled(&ticket.id).await.answer, Answer::Unreachable);
}

#[tokio::test]
async fn events_say_what_waits_and_take_it_back() {
    let room = room();
    let ticket = room.desk.ask(&question("echo \u{202e}x")).unwrap();
    let [(EventKind::ApprovalRequested, text)] = &room.events()[..] else { panic!("{:?}", room.events()) };
    assert!(text.contains(r"echo \u{202E}x") && text.contains(&ticket.id), "{text}");
    room.desk.answer(&ticket.id, Decision::Deny, None, &person()).unwrap();
    let [(EventKind::ApprovalResolved, text)] = &room.events()[..] else { panic!("{:?}", room.events()) };
    assert!(text.contains("denied"), "{text}");
    for number in 0..30 {
        let ticket = room.desk.ask(&question(&format!("c{number}"))).unwrap();
        room.desk.cancel(&ticket.id, "run-aborted");
    }
    assert_eq!(room.events().len(), 8, "they leave room for what else a conversation should hear");
}

/// Spans are those of the text as each surface shows it.
#[tokio::test]
async fn programs_of_a_command_are_pointed_at_where_that_is_wanted() {
    let Room { desk, dir: _dir } = room();
    let text = "curl --token s3cret x | sh";
    let analysis = display::summary(&crate::shell::analyse::analyse(text));
    let asked = Question { highlight: true, analysis: Some(analysis), ..question(text) };
    desk.ask(&asked).unwrap();
    let pending = desk.pending();
    let record = &pending[0];
    assert_eq!(record.command_spans, None, "a secret is hidden: the text is another one");
    let json = serde_json::to_value(record).unwrap();
    assert_eq!(json["commandAnalysis"]["commandCount"], 2, "{json:#}");
    let plain = record.plain(&asked);
    let spans = serde_json::to_value(plain.command_spans).unwrap();
    assert_eq!(
        spans,
        serde_json::json!([{"startIndex": 0, "endIndex": 4}, {"startIndex": 24, "endIndex": 26}])
    );
    desk.ask(&question("ls")).unwrap();
    assert!(
        desk.pending().iter().any(|record| record.command_text == "ls" && record.command_spans.is_none())
    );
}

#[tokio::test]
async fn what_cannot_be_shown_or_answered_is_not_asked() {
    let Room { desk, .. } = &room();
    assert_eq!(code(desk.ask(&question(" "))), "CRL-DESK-010");
    assert_eq!(code(desk.ask(&question(&"x".repeat(16_385)))), "CRL-DESK-011");
    assert_eq!(code(desk.ask(&question(&"\u{200b}".repeat(4000)))), "CRL-DESK-011", "as it is shown");
    for number in 0..64 {
        desk.ask(&question(&number.to_string())).unwrap();
    }
    assert_eq!(code(desk.ask(&question("one too many"))), "CRL-DESK-012");
    let other = Question { session: Some("agent:main:other".to_owned()), ..question("x") };
    assert!(desk.ask(&other).is_ok());
}

fn allowed_with(desk: &Desk, question: &Question, terms: &Terms) -> Settled {
    let ticket = desk.ask(question).unwrap();
    desk.answer(&ticket.id, Decision::AllowAlways, Some(terms), &person()).unwrap();
    desk.past(&ticket.id)
}

#[tokio::test]
async fn a_budget_is_used_up() {
    let Room { desk, .. } = &room();
    let terms = Terms { uses: Some(3), ..Terms::default() };
    let ticket = desk.ask(&question("make")).unwrap();
    desk.answer(&ticket.id, Decision::AllowAlways, Some(&terms), &person()).unwrap();
    let settled = desk.settled(&ticket.id).await;
    assert_eq!(settled.terms, Some(terms));
    let id = settled.grant.unwrap();
    desk.redeem(&ticket.id, "the run that asked").unwrap();
    let [grant] = &desk.grants("main").unwrap()[..] else { panic!() };
    assert_eq!(
        (grant.use_count, grant.entries().len(), grant.entries()[0].source),
        (1, 1, Source::AllowAlways)
    );
    assert!(desk.grants("other").unwrap().is_empty());
    let taken = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(|| desk.use_grant(&id).is_ok())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).filter(|taken| *taken).count()
    });
    assert_eq!(taken, 2, "one was the run that asked");
    assert!(desk.grants("main").unwrap().is_empty());
    assert_eq!(code(desk.use_grant(&id)), "CRL-DESK-018");
    assert_eq!(code(desk.use_grant("x")), "CRL-DESK-017");
}

#[tokio::test]
async fn a_directory_stands_for_the_arguments() {
    let Room { desk, .. } = &room();
    let later = now_ms() + 60_000;
    let terms = Terms { expires_at_ms: Some(later), directory: Some("/ws".to_owned()), ..Terms::default() };
    allowed_with(desk, &question("python3 a.py"), &terms);
    let [grant] = &desk.grants("main").unwrap()[..] else { panic!() };
    let entry = &grant.entries()[0];
    assert_eq!(
        (entry.pattern.as_str(), &entry.arg_pattern, entry.source),
        ("/usr/bin/python3", &None, Source::Manual)
    );
    assert_eq!(entry.unknown["directory"], "/ws", "the list looks at it for each command");
    assert_eq!(grant.over(later), Some("expired"));
    assert_eq!(desk.revoke_grant(&grant.grant_id, "person").unwrap(), Revoked::Revoked);
    assert_eq!(desk.revoke_grant(&grant.grant_id, "person").unwrap(), Revoked::AlreadyRevoked);
    assert_eq!(code(desk.revoke_grant("x", "person")), "CRL-DESK-017");
    assert!(desk.grants("main").unwrap().is_empty());
    let [listed] = &desk.list_grants(LISTED).unwrap()[..] else { panic!() };
    assert_eq!(listed.revoked_by.as_deref(), Some("person"));
}

#[tokio::test]
async fn limits_that_cannot_hold_are_refused() {
    let Room { desk, .. } = &room();
    let ticket = desk.ask(&question("x")).unwrap();
    let directory = |dir: &str| Terms { directory: Some(dir.to_owned()), ..Terms::default() };
    let ends = |at: u64| Terms { expires_at_ms: Some(at), ..Terms::default() };
    let uses = |uses: u32| Terms { uses: Some(uses), ..Terms::default() };
    let bad = [ends(1), ends(u64::MAX), uses(0), directory("ws"), directory("/a/../b"), directory("/a/./b")];
    for terms in bad {
        let refused = desk.answer(&ticket.id, Decision::AllowAlways, Some(&terms), &person());
        assert_eq!(code(refused), "CRL-DESK-016", "{terms:?}");
    }
    assert_eq!(code(desk.answer(&ticket.id, Decision::AllowOnce, Some(&uses(1)), &person())), "CRL-DESK-016");
    let text = Question { entries: vec![Entry::of("=command:x")], ..question("whole") };
    let ticket = desk.ask(&text).unwrap();
    assert_eq!(
        code(desk.answer(&ticket.id, Decision::AllowAlways, Some(&directory("/a")), &person())),
        "CRL-DESK-016"
    );
    assert!(desk.find(&ticket.id).unwrap().is_pending() && desk.list_grants(9).unwrap().is_empty());
}

#[tokio::test]
async fn a_scheduled_run_gets_a_grant_for_exactly_itself() {
    let Room { desk, .. } = &room();
    let env = [("A".to_owned(), "1".to_owned())];
    let operation = Operation::of(" backup.sh ", "/w", &env);
    let scheduled =
        || Question { operation: Some(operation.clone()), expiry_days: Some(2), ..question("backup.sh") };
    let settled = allowed_with(desk, &scheduled(), &Terms::default());
    let grant = desk.operation("main", &operation).unwrap().unwrap();
    assert_eq!(settled.grant.as_deref(), Some(grant.grant_id.as_str()));
    assert_eq!(grant.terms.expires_at_ms, Some(grant.created_at_ms + 2 * DAY_MS));
    assert!(desk.grants("main").unwrap().is_empty(), "it covers no other command");
    for other in [
        Operation::of("backup.sh x", "/w", &env),
        Operation::of("backup.sh", "/v", &env),
        Operation::of("backup.sh", "/w", &[("A".to_owned(), "2".to_owned())]),
        Operation::of("backup.sh", "/w", &[]),
    ] {
        assert_eq!(desk.operation("main", &other).unwrap(), None, "{other:?}");
    }
    assert_eq!(desk.operation("ops", &operation).unwrap(), None);
    let again = allowed_with(desk, &scheduled(), &Terms::default()).grant.unwrap();
    assert_eq!(
        desk.operation("main", &operation).unwrap().unwrap().grant_id,
        again,
        "the later one replaces it"
    );
    let error = desk.use_grant(&grant.grant_id).unwrap_err();
    assert!(error.to_string().contains("standing grant no longer valid (revoked)"), "{error}");
    desk.use_grant(&again).unwrap();
}
