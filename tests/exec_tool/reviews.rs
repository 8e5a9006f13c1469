//! Host commands that the automatic reviewer looks at, and grants that stand in for a question.

use std::os::unix::fs::PermissionsExt as _;

use creel::approvals::desk::{Resolver, Terms};
use creel::approvals::policy::Decision;
use creel::process::store::events::EventKind;
use creel::tools::{Context, ToolResult};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::approvals::{answer, empty, event, lab, none, pending, question, status, write};
use super::lab::Lab;

/// A lab whose reviewer answers this.
async fn reviewed(verdict: &str) -> Lab {
    let dir = tempfile::Builder::new().prefix("creel-review-").tempdir_in("/tmp").unwrap().keep();
    let program = dir.join("reviewer");
    std::fs::write(&program, format!("#!/bin/sh\ncat > /dev/null\necho '{verdict}'\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let exec = format!("mode: 'auto', reviewer: {{command: ['{}']}}", program.display());
    let mut lab = lab(&exec, &empty()).await;
    lab.own(&dir);
    lab
}

async fn run(lab: &Lab, command: &str) -> ToolResult {
    lab.exec(json!({ "command": command })).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reviewer_allows_one_run() {
    let lab = reviewed(r#"{"decision": "allow", "risk": "low"}"#).await;
    let result = run(&lab, "tool a").await;
    assert_eq!(
        (result.text().as_str(), &result.details["approvalReviewOutcome"]),
        ("tool a", &json!("approved"))
    );
    // Nothing was written down.
    let document = std::fs::read_to_string(lab.state().join("exec-approvals.json")).unwrap();
    assert!(!document.contains("tool"), "{document}");
    // What is not exactly fixed is for a person, and so is what a person wants to see.
    for command in ["sh -c 'tool a'", "tool a > out", "tool $X"] {
        pending(&run(&lab, command).await);
    }
    let warnings =
        lab.tools.desk.pending().iter().map(|one| one.warnings.join(" ")).collect::<Vec<_>>().join("\n");
    assert!(warnings.contains("auto-review skipped"), "{warnings}");
    let always = lab.exec(json!({"command": "tool a", "ask": "always"})).await.unwrap();
    pending(&always);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reviewer_denies_and_the_third_denial_in_a_row_is_for_a_person() {
    let lab = reviewed(r#"{"decision": "deny", "risk": "high", "rationale": "tool -n does it"}"#).await;
    for _ in 0..2 {
        let result = run(&lab, "touch ran").await;
        assert_eq!(result.details["failureKind"], "auto-review-denied", "{:#}", result.details);
        assert!(
            result.text().contains("tool -n does it") && result.text().contains("do not reword"),
            "{}",
            result.text()
        );
    }
    assert!(lab.tools.desk.pending().is_empty());
    let id = pending(&run(&lab, "touch ran").await);
    answer(&lab, &id, Decision::Deny);
    event(&lab, EventKind::FollowUp).await;
    let again = run(&lab, "touch ran").await;
    assert_eq!(again.details["failureKind"], "auto-review-denied", "a person has decided: counted anew");
    assert!(!lab.state().join("workspace/ran").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_reviewer_leaves_to_a_person_no_fallback_decides() {
    for verdict in [r#"{"decision": "ask", "risk": "unknown"}"#, "maybe", r#"{"decision": "allow"}"#] {
        let lab = reviewed(verdict).await;
        write(&lab, &json!({"version": 1, "defaults": {"askFallback": "allowlist"}}));
        pending(&run(&lab, "tool a").await);
        assert!(question(&lab).warnings.join("\n").contains("left this to a person"));
        let unattended = Context { unattended: true, ..Context::default() };
        let result = lab.exec_as(json!({"command": "other a"}), &unattended).await.unwrap();
        assert_eq!(result.details["status"], "approval-unavailable", "{verdict}");
        none(&lab, EventKind::ExecFinished);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_is_good_for_as_many_runs_as_it_says() {
    let lab = lab("mode: 'ask'", &empty()).await;
    let id = pending(&run(&lab, "tool a").await);
    let terms = Terms { uses: Some(2), ..Terms::default() };
    let by = Resolver::device("test");
    lab.tools.desk.answer(&id, Decision::AllowAlways, Some(&terms), &by).unwrap();
    event(&lab, EventKind::ExecFinished).await;
    let document = std::fs::read_to_string(lab.state().join("exec-approvals.json")).unwrap();
    assert!(!document.contains("tool"), "a grant is no entry: {document}");
    assert_eq!(lab.run("tool a").await.text(), "tool a", "the second of two");
    assert_eq!(status(&lab, "tool a").await, "approval-pending");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_gets_no_lasting_trust_for_a_program_that_can_be_changed() {
    let lab = lab("mode: 'ask'", &empty()).await;
    let cron = Context { cron: true, ..Context::default() };
    let run = |command: &str| json!({"command": command});
    let watching = lab.tools.desk.watch();
    let call = lab.exec_as(run("tool nightly"), &cron);
    let said = async {
        let mut news = watching.news.clone();
        while lab.tools.desk.pending().is_empty() {
            news.changed().await.unwrap();
        }
        let asked = question(&lab);
        // Its program can be changed by whoever runs here: each run needs eyes (9.43).
        assert_eq!(asked.allowed_decisions, [Decision::AllowOnce, Decision::Deny]);
        assert!(asked.unattended);
        answer(&lab, &asked.id, Decision::AllowOnce);
    };
    let (result, ()) = tokio::join!(call, said);
    assert_eq!(result.unwrap().text(), "tool nightly");
    drop(watching);
    let document = std::fs::read_to_string(lab.state().join("exec-approvals.json")).unwrap();
    assert!(!document.contains("tool"), "no lasting trust for other runs: {document}");
    let again = lab.exec_as(run("tool nightly"), &cron).await.unwrap_err();
    assert!(again.text.starts_with("exec denied: approval required"), "{again}");
}
