//! Host commands that somebody has to approve: asked, answered, run or denied.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use creel::approvals::desk::{Record, Resolver};
use creel::approvals::policy::Decision;
use creel::process::store::events::{Event, EventKind};
use creel::tools::{Context, ToolResult};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::lab::{Lab, message, text};

/// How long something that must come is awaited.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A lab with programs of its own in front of PATH: `tool` and `other` say what they were given.
pub(crate) async fn lab(exec: &str, document: &Value) -> Lab {
    let bin = tempfile::Builder::new().prefix("creel-bin-").tempdir_in("/tmp").unwrap().keep();
    let config = format!("{{tools: {{exec: {{{exec}, pathPrepend: ['{}']}}}}}}", bin.display());
    let mut lab = Lab::configured(&config).await;
    lab.own(&bin);
    for name in ["tool", "other"] {
        let file = bin.join(name);
        std::fs::write(&file, format!("#!/bin/sh\necho {name} \"$@\"\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    write(&lab, document);
    lab
}

pub(crate) fn write(lab: &Lab, document: &Value) {
    lab.write("exec-approvals.json", &document.to_string());
}

pub(crate) fn listing(entries: &[&str]) -> Value {
    json!({"version": 1, "agents": {"main": {"allowlist": entries}}})
}

pub(crate) fn empty() -> Value {
    json!({"version": 1})
}

pub(crate) async fn status(lab: &Lab, command: &str) -> String {
    match lab.exec(json!({"command": command})).await {
        Ok(result) => text(&result, "status"),
        Err(error) => error.report.code.to_owned(),
    }
}

/// The one question that waits.
pub(crate) fn question(lab: &Lab) -> Record {
    let pending = lab.tools.desk.pending();
    assert_eq!(pending.len(), 1, "{pending:#?}");
    pending[0].clone()
}

pub(crate) fn answer(lab: &Lab, id: &str, decision: Decision) {
    lab.tools.desk.answer(id, decision, None, &Resolver::device("test")).unwrap();
}

/// The next event of this kind.
pub(crate) async fn event(lab: &Lab, kind: EventKind) -> Event {
    let events = lab.tools.sessions.events();
    let mut news = events.news();
    let found = async {
        loop {
            news.mark_unchanged();
            let all = events.since(0, None, 100).unwrap();
            if let Some(event) = all.into_iter().find(|event| event.kind == kind) {
                return event;
            }
            news.changed().await.unwrap();
        }
    };
    tokio::time::timeout(PATIENCE, found).await.unwrap()
}

pub(crate) fn none(lab: &Lab, kind: EventKind) {
    let all = lab.tools.sessions.events().since(0, None, 100).unwrap();
    assert!(all.iter().all(|event| event.kind != kind), "{all:#?}");
}

pub(crate) fn pending(result: &ToolResult) -> String {
    assert_eq!(result.details["status"], "approval-pending", "{:#}", result.details);
    text(result, "approvalId")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_table_of_outcomes_at_the_tool() {
    let listed = listing(&["tool"]);
    for (exec, hit, miss) in [
        ("mode: 'full'", "completed", "completed"),
        ("ask: 'on-miss'", "completed", "completed"),
        ("mode: 'deny'", "CRL-APPR-001", "CRL-APPR-001"),
        ("mode: 'allowlist'", "completed", "CRL-APPR-002"),
        ("mode: 'ask'", "completed", "approval-pending"),
        ("security: 'allowlist', ask: 'always'", "approval-pending", "approval-pending"),
        ("security: 'full', ask: 'always'", "approval-pending", "approval-pending"),
    ] {
        let lab = lab(exec, &listed).await;
        assert_eq!(status(&lab, "tool a").await, hit, "{exec}");
        assert_eq!(status(&lab, "other a").await, miss, "{exec}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_approved_once_runs_once_and_tells_its_end() {
    let lab = lab("mode: 'ask'", &empty()).await;
    let result = lab.exec(json!({"command": "tool one; echo two"})).await.unwrap();
    let id = pending(&result);
    let details = &result.details;
    assert_eq!(details["allowedDecisions"], json!(["allow-once", "allow-always", "deny"]));
    assert_eq!((&details["host"], &details["nodeId"]), (&json!("gateway"), &Value::Null));
    assert_eq!(details["approvalSlug"], json!(id[..8]));
    assert!(details["expiresAtMs"].is_u64() && details.get("process").is_none(), "{details:#}");
    assert!(result.text().contains("nothing was started"), "{}", result.text());
    let asked = question(&lab);
    assert_eq!(
        (asked.command_text.as_str(), asked.ask_reason.as_str()),
        ("tool one; echo two", "allowlist-miss")
    );
    answer(&lab, &id, Decision::AllowOnce);
    let event = event(&lab, EventKind::ExecFinished).await;
    assert!(event.text.starts_with(&format!("Exec finished (gateway id={id}, session=")), "{}", event.text);
    assert!(event.text.contains(", code 0)\n") && event.text.contains("\ntool one\ntwo\n"), "{}", event.text);
    assert!(event.text.contains("UNTRUSTED_COMMAND_OUTPUT"), "{}", event.text);
    assert!(event.context.wake);
    // It was one run's approval.
    assert_eq!(status(&lab, "tool one; echo two").await, "approval-pending");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_ends_the_wait_of_a_conversation_and_of_no_other() {
    let lab = lab("mode: 'ask'", &empty()).await;
    let workspace = lab.state().join("workspace");
    let run = json!({"command": "touch ran", "workdir": null});
    let id = pending(&lab.exec(run.clone()).await.unwrap());
    answer(&lab, &id, Decision::Deny);
    let event = event(&lab, EventKind::FollowUp).await;
    assert_eq!(event.text, format!("Exec denied (gateway id={id}, user-denied): touch ran"));
    assert!(!event.context.wake);
    lab.tools.sessions.events().delivered(&[event.seq]).unwrap();
    let subagent = Context { subagent: true, call_id: Some("c".to_owned()), ..Context::default() };
    let id = pending(&lab.exec_as(run.clone(), &subagent).await.unwrap());
    answer(&lab, &id, Decision::Deny);
    // The call itself is told when it is said again.
    let again = async {
        loop {
            let result = lab.exec_as(run.clone(), &subagent).await.unwrap();
            if result.details["status"] == "failed" {
                return result;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let again = tokio::time::timeout(PATIENCE, again).await.unwrap();
    assert_eq!(again.text(), format!("Exec denied (gateway id={id}, user-denied): touch ran"));
    assert_eq!((&again.details["exitCode"], &again.details["timedOut"]), (&Value::Null, &json!(false)));
    none(&lab, EventKind::FollowUp);
    assert!(!workspace.join("ran").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_who_answers_is_a_denial() {
    let lab = lab("mode: 'ask'", &json!({"version": 1, "defaults": {"askFallback": "full"}})).await;
    let id = pending(&lab.exec(json!({"command": "touch ran"})).await.unwrap());
    lab.tools.desk.cancel(&id, "timeout");
    let event = event(&lab, EventKind::FollowUp).await;
    assert_eq!(event.text, format!("Exec denied (gateway id={id}, approval-timeout): touch ran"));
    assert!(!lab.state().join("workspace/ran").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_said_again_asks_once() {
    let lab = lab("mode: 'ask'", &empty()).await;
    let context = Context { call_id: Some("c1".to_owned()), ..Context::default() };
    let run = json!({"command": "tool one"});
    let first = lab.exec_as(run.clone(), &context).await.unwrap();
    let id = pending(&first);
    assert_eq!(lab.exec_as(run.clone(), &context).await.unwrap(), first);
    // Another call that asks the same waits for the same answer.
    assert_eq!(pending(&lab.exec(run.clone()).await.unwrap()), id);
    question(&lab);
    answer(&lab, &id, Decision::AllowAlways);
    event(&lab, EventKind::ExecFinished).await;
    let result = lab.exec_as(run, &context).await.unwrap();
    assert_eq!(result.text(), "tool one", "the result of what was approved");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_tightens_the_policy_while_a_question_waits_wins() {
    for tighter in [
        json!({"version": 1, "defaults": {"security": "deny"}}),
        json!({"version": 1, "defaults": {"ask": "always"}}),
        json!({"version": 1, "defaults": {"denylist": ["touch"]}}),
    ] {
        let lab = lab("mode: 'ask'", &empty()).await;
        let id = pending(&lab.exec(json!({"command": "touch ran"})).await.unwrap());
        write(&lab, &tighter);
        answer(&lab, &id, Decision::AllowOnce);
        let event = event(&lab, EventKind::FollowUp).await;
        let text =
            format!("Exec denied (gateway id={id}, Exec approval changed before execution): touch ran");
        assert_eq!(event.text, text, "{tighter}");
        assert!(!lab.state().join("workspace/ran").exists());
    }
    // A rule that is added changes nothing.
    let lab = lab("mode: 'ask'", &empty()).await;
    let id = pending(&lab.exec(json!({"command": "tool x"})).await.unwrap());
    write(&lab, &listing(&["other"]));
    answer(&lab, &id, Decision::AllowOnce);
    event(&lab, EventKind::ExecFinished).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_approved_for_good_is_not_asked_again_until_it_is_taken_back() {
    let lab = lab("mode: 'ask'", &empty()).await;
    let id = pending(&lab.exec(json!({"command": "tool a b"})).await.unwrap());
    answer(&lab, &id, Decision::AllowAlways);
    event(&lab, EventKind::ExecFinished).await;
    let document = std::fs::read_to_string(lab.state().join("exec-approvals.json")).unwrap();
    assert!(document.contains("allow-always") && document.contains("sha256:cwd-argv:v1:"), "{document}");
    assert_eq!(lab.run("tool a b").await.text(), "tool a b");
    // These arguments, in this directory.
    assert_eq!(status(&lab, "tool a c").await, "approval-pending");
    let elsewhere = lab.exec(json!({"command": "tool a b", "workdir": "/"})).await.unwrap();
    pending(&elsewhere);
    write(&lab, &empty());
    assert_eq!(status(&lab, "tool a b").await, "approval-pending");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_asks_for_what_is_not_listed_and_says_which() {
    let lab = lab("mode: 'ask'", &listing(&["tool"])).await;
    assert_eq!(lab.run("tool a && tool b").await.text(), "tool a\ntool b");
    pending(&lab.exec(json!({"command": "tool a && other b"})).await.unwrap());
    let warnings = question(&lab).warnings.join("\n");
    assert!(warnings.contains("Not listed: other."), "{warnings}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_asked_about_and_runs_as_it_was_written() {
    let lab = lab("mode: 'ask'", &listing(&["tool"])).await;
    let id = pending(&lab.exec(json!({"command": "tool a > out; cat out"})).await.unwrap());
    let warnings = question(&lab).warnings.join("\n");
    assert!(warnings.contains("an approval holds for exactly this text"), "{warnings}");
    answer(&lab, &id, Decision::AllowOnce);
    let event = event(&lab, EventKind::ExecFinished).await;
    assert!(event.text.contains("\ntool a\n"), "{}", event.text);
    let closed = self::lab("mode: 'allowlist'", &listing(&["tool"])).await;
    assert_eq!(status(&closed, "tool a > out").await, "CRL-APPR-002");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrapper_is_judged_by_what_it_runs_and_stays() {
    let lab = lab("mode: 'allowlist'", &listing(&["tool", "/bin/sleep", "/usr/bin/sleep"])).await;
    assert_eq!(lab.run("timeout 20 tool a").await.text(), "tool a");
    let late = lab.run("timeout 0.2 sleep 30").await;
    assert_eq!(late.details["exitCode"], 124, "{:#}", late.details);
    assert_eq!(status(&lab, "timeout 3 other").await, "CRL-APPR-002");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_alias_and_no_path_takes_the_place_of_a_program_that_was_matched() {
    let lab = lab("mode: 'ask'", &listing(&["tool"])).await;
    lab.run("tool a").await;
    // A program of the same name that comes first now is another program, and its content was approved by nobody.
    let id = pending(&lab.exec(json!({"command": "other b"})).await.unwrap());
    let bin = lab.owned()[0].clone();
    std::fs::write(bin.join("other"), "#!/bin/sh\ntouch ran\n").unwrap();
    answer(&lab, &id, Decision::AllowOnce);
    let event = event(&lab, EventKind::FollowUp).await;
    assert!(event.text.contains("SYSTEM_RUN_DENIED: approval"), "{}", event.text);
    assert!(!lab.state().join("workspace/ran").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_nobody_waits_for_takes_the_fallback() {
    let cron = Context { cron: true, ..Context::default() };
    let unattended = Context { unattended: true, ..Context::default() };
    let run = |command: &str| json!({"command": command});
    let always = |fallback: &str| {
        let mut document = listing(&["tool"]);
        document["defaults"] = json!({"ask": "always", "askFallback": fallback});
        document
    };
    let lab = lab("mode: 'full'", &always("deny")).await;
    let error = lab.exec_as(run("tool a"), &cron).await.unwrap_err();
    assert!(error.text.starts_with("exec denied: approval required"), "{error}");
    let result = lab.exec_as(run("tool a"), &unattended).await.unwrap();
    assert_eq!(result.details["status"], "approval-unavailable");
    write(&lab, &always("full"));
    assert_eq!(lab.exec_as(run("other a"), &cron).await.unwrap().text(), "other a");
    write(&lab, &always("allowlist"));
    assert_eq!(lab.exec_as(run("tool a"), &cron).await.unwrap().text(), "tool a");
    let missed = lab.exec_as(run("other a"), &unattended).await.unwrap();
    assert!(missed.text().contains("approval-timeout: allowlist-miss"), "{}", missed.text());
    assert_eq!((&missed.details["status"], &missed.details["timedOut"]), (&json!("failed"), &json!(true)));
    // Where somebody watches, he is asked.
    let watching = lab.tools.desk.watch();
    let call = lab.exec_as(run("other a"), &cron);
    let said = async {
        let mut news = watching.news.clone();
        while lab.tools.desk.pending().is_empty() {
            news.changed().await.unwrap();
        }
        answer(&lab, &question(&lab).id, Decision::AllowOnce);
    };
    let (result, ()) = tokio::join!(call, said);
    assert_eq!(result.unwrap().text(), "other a");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_can_ask_waits_and_gets_the_result() {
    let lab = lab("mode: 'ask'", &empty()).await;
    let context = Context { approval_surface: true, ..Context::default() };
    for (decision, told) in [(Decision::AllowOnce, "tool a"), (Decision::Deny, "user-denied): tool a")] {
        let (partial, mut updates) = tokio::sync::mpsc::channel(16);
        let params = json!({"command": "tool a"});
        let call = lab.tools.call("exec", params, &context, Some(partial), CancellationToken::new());
        let said = async {
            let update = updates.recv().await.unwrap();
            let id = update.details["approval"]["id"].as_str().unwrap().to_owned();
            assert_eq!(id, pending(&update));
            answer(&lab, &id, decision);
            while updates.recv().await.is_some() {}
        };
        let (result, ()) = tokio::join!(call, said);
        let result = result.unwrap();
        assert!(result.text().ends_with(told), "{}", result.text());
        assert_eq!(result.details["host"], "gateway");
    }
    none(&lab, EventKind::FollowUp);
    none(&lab, EventKind::ExecFinished);
    // Who gives up takes the question with him.
    let cancel = CancellationToken::new();
    let (partial, mut updates) = tokio::sync::mpsc::channel(16);
    let params = json!({"command": "touch ran"});
    let call = lab.tools.call("exec", params, &context, Some(partial), cancel.clone());
    let leave = async {
        let update = updates.recv().await.unwrap();
        cancel.cancel();
        pending(&update)
    };
    let (result, id) = tokio::join!(call, leave);
    assert!(result.unwrap_err().text.contains("gave up"));
    assert!(lab.tools.desk.pending().is_empty());
    lab.tools.desk.answer(&id, Decision::AllowOnce, None, &Resolver::device("late")).unwrap_err();
    assert!(!lab.state().join("workspace/ran").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn only_commands_that_carry_code_need_a_person_under_strict_inline_eval() {
    let lab = lab("mode: 'full', strictInlineEval: true", &empty()).await;
    assert_eq!(lab.run("tool a").await.text(), "tool a");
    let result = lab.exec(json!({"command": "perl -e 'print 1'"})).await.unwrap();
    pending(&result);
    assert_eq!(result.details["allowedDecisions"], json!(["allow-once", "deny"]));
    assert_eq!(question(&lab).ask_reason, "inline-eval");
    let closed = self::lab("mode: 'allowlist', strictInlineEval: true", &listing(&["perl", "tool"])).await;
    assert_eq!(status(&closed, "perl -e 'print 1'").await, "CRL-APPR-002");
    assert_eq!(closed.run("tool a").await.text(), "tool a");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_on_the_deny_list_runs_in_no_mode() {
    let document = json!({"version": 1, "defaults": {"denylist": ["other"]}});
    for exec in ["mode: 'full'", "mode: 'ask'", "ask: 'always'"] {
        let lab = lab(exec, &document).await;
        for command in ["other a", "tool a; other b", "sh -c 'other a'", "timeout 3 other a"] {
            assert_eq!(status(&lab, command).await, "CRL-APPR-005", "{exec}: {command}");
        }
    }
    let lab = lab("mode: 'full'", &document).await;
    assert_eq!(lab.run("tool a").await.text(), "tool a");
    let error = lab.exec(json!({"command": "other"})).await.unwrap_err();
    assert!(error.text.contains("exec-approvals.json") && error.text.contains("\"other\""), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_command_that_still_runs_is_told_of_once_and_before_its_end() {
    let lab = lab("mode: 'ask', approvalRunningNoticeMs: 50", &empty()).await;
    let gate = lab.state().join("gate");
    let command = format!("while ! test -e {}; do sleep 0.05; done; echo over", gate.display());
    let id = pending(&lab.exec(json!({"command": command, "timeoutSeconds": 120})).await.unwrap());
    answer(&lab, &id, Decision::AllowOnce);
    let running = event(&lab, EventKind::ExecRunning).await;
    assert!(
        running.text.starts_with(&format!("Exec running (gateway id={id}, session=")),
        "{}",
        running.text
    );
    std::fs::write(&gate, "").unwrap();
    let finished = event(&lab, EventKind::ExecFinished).await;
    assert!(finished.seq > running.seq);
    let all = lab.tools.sessions.events().since(0, None, 100).unwrap();
    assert_eq!(all.iter().filter(|event| event.kind == EventKind::ExecRunning).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_sent_the_message_is_known_to_the_command_that_was_approved() {
    let lab = lab("mode: 'ask'", &empty()).await;
    let context = message("chat", "u7");
    let id = pending(
        &lab.exec_as(json!({"command": "echo \"$OPENCLAW_CHANNEL_CONTEXT\""}), &context).await.unwrap(),
    );
    answer(&lab, &id, Decision::AllowOnce);
    let event = event(&lab, EventKind::ExecFinished).await;
    assert!(event.text.contains("u7"), "{}", event.text);
    assert_eq!(event.context.delivery.channel.as_deref(), Some("chat"));
}
