//! What was approved is what runs: something is exchanged while the answer is awaited, and in the twin nothing is.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use creel::approvals::desk::{Resolver, Terms};
use creel::approvals::policy::Decision;
use creel::process::store::events::{Event, EventKind};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::lab::{Lab, text};

/// How long something that must come is awaited.
const PATIENCE: std::time::Duration = std::time::Duration::from_mins(1);

/// A lab in mode `ask`, and a directory of programs in front of PATH.
async fn lab() -> (Lab, PathBuf) {
    let bin = tempfile::Builder::new().prefix("creel-bin-").tempdir_in("/tmp").unwrap().keep();
    let config = format!("{{tools: {{exec: {{mode: 'ask', pathPrepend: ['{}']}}}}}}", bin.display());
    let mut lab = Lab::configured(&config).await;
    lab.own(&bin);
    lab.write("exec-approvals.json", &json!({"version": 1}).to_string());
    std::fs::create_dir_all(lab.state().join("workspace/sub")).unwrap();
    program(&bin.join("tool"), "echo tool \"$@\"");
    (lab, bin)
}

fn program(path: &Path, script: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

async fn pending(lab: &Lab, params: Value) -> String {
    let result = lab.exec(params).await.unwrap();
    assert_eq!(result.details["status"], "approval-pending", "{}", result.text());
    text(&result, "approvalId")
}

fn answer(lab: &Lab, id: &str, decision: Decision) {
    lab.tools.desk.answer(id, decision, None, &Resolver::device("test")).unwrap();
}

/// The end of what was asked about, whichever it is.
async fn end(lab: &Lab) -> Event {
    let events = lab.tools.sessions.events();
    let mut news = events.news();
    let ends = [EventKind::ExecFinished, EventKind::FollowUp];
    let found = async {
        loop {
            news.mark_unchanged();
            let all = events.since(0, None, 100).unwrap();
            if let Some(event) = all.into_iter().find(|event| ends.contains(&event.kind)) {
                return event;
            }
            news.changed().await.unwrap();
        }
    };
    tokio::time::timeout(PATIENCE, found).await.unwrap()
}

type Exchange = fn(&Path, &Path);

/// The workspace and the programs; and what is said.
const TABLE: &[(&str, &str, Exchange, &str)] = &[
    ("sh run.sh", ".", |work, _| std::fs::write(work.join("run.sh"), "touch ran").unwrap(), "script operand"),
    ("tool x", ".", |_, bin| program(&bin.join("tool"), "touch ran"), "executable"),
    (
        "tool x",
        ".",
        |_, bin| {
            program(&bin.join("new"), "echo tool \"$@\"");
            std::fs::rename(bin.join("new"), bin.join("tool")).unwrap();
        },
        "executable",
    ),
    // A program of the machine, and one of the same name that is found before it.
    ("ls", ".", |_, bin| program(&bin.join("ls"), "touch ran"), "executable"),
    (
        "tool x",
        "sub",
        |work, _| {
            std::fs::rename(work.join("sub"), work.join("was")).unwrap();
            std::fs::create_dir(work.join("sub")).unwrap();
        },
        "cwd",
    ),
    (
        "tool x > out",
        "sub",
        |work, _| {
            std::fs::rename(work.join("sub"), work.join("was")).unwrap();
            symlink("was", work.join("sub")).unwrap();
        },
        "cwd",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn what_is_exchanged_while_the_answer_is_awaited_does_not_run() {
    for (command, workdir, exchange, what) in TABLE {
        for exchanged in [true, false] {
            let (lab, bin) = lab().await;
            let work = lab.state().join("workspace");
            std::fs::write(work.join("run.sh"), "echo fine").unwrap();
            let id = pending(&lab, json!({"command": command, "workdir": workdir})).await;
            if exchanged {
                exchange(&work, &bin);
            }
            answer(&lab, &id, Decision::AllowOnce);
            let event = end(&lab).await;
            if exchanged {
                let told = format!(
                    "Exec denied (gateway id={id}, SYSTEM_RUN_DENIED: approval {what} changed before execution"
                );
                assert!(event.text.starts_with(&told), "{command}: {}", event.text);
                assert!(!work.join("ran").exists() && !work.join("sub/out").exists(), "{command}");
            } else {
                assert!(event.text.contains(", code 0)"), "{command}: {}", event.text);
            }
        }
    }
}

/// Extension to spec 9.03, 11.10: for good, with the content; a changed file is asked about again.
#[tokio::test(flavor = "multi_thread")]
async fn an_approval_for_good_is_about_the_content() {
    let (lab, bin) = lab().await;
    let id = pending(&lab, json!({"command": "tool a"})).await;
    answer(&lab, &id, Decision::AllowAlways);
    assert!(end(&lab).await.text.contains("tool a"));
    let document = std::fs::read_to_string(lab.state().join("exec-approvals.json")).unwrap();
    let document: Value = serde_json::from_str(&document).unwrap();
    let entry = &document["agents"]["main"]["allowlist"][0];
    assert_eq!(entry["contentSha256"].as_str().map(str::len), Some(64), "{document:#}");
    assert_eq!(lab.run("tool a").await.text(), "tool a");
    program(&bin.join("tool"), "touch ran");
    pending(&lab, json!({"command": "tool a"})).await;
    program(&bin.join("tool"), "echo tool \"$@\"");
    assert_eq!(lab.run("tool a").await.text(), "tool a", "the same content is the same program");
    assert!(!lab.state().join("workspace/ran").exists());
}

/// A grant is about the content too; below a directory about a program, whatever it holds.
#[tokio::test(flavor = "multi_thread")]
async fn a_grant_holds_for_the_content_unless_it_is_for_a_directory() {
    for below in [false, true] {
        let (lab, _) = lab().await;
        let work = std::fs::canonicalize(lab.state().join("workspace")).unwrap();
        std::fs::write(work.join("run.sh"), "echo fine").unwrap();
        let id = pending(&lab, json!({"command": "bash run.sh"})).await;
        let directory = below.then(|| work.to_str().unwrap().to_owned());
        let terms = Terms { uses: Some(9), directory, ..Terms::default() };
        let by = Resolver::device("test");
        lab.tools.desk.answer(&id, Decision::AllowAlways, Some(&terms), &by).unwrap();
        assert!(end(&lab).await.text.contains("fine"));
        assert_eq!(lab.run("bash run.sh").await.text(), "fine");
        std::fs::write(work.join("run.sh"), "echo other").unwrap();
        if below {
            assert_eq!(lab.run("bash run.sh a b").await.text(), "other");
        } else {
            pending(&lab, json!({"command": "bash run.sh"})).await;
        }
    }
}

/// Spec 11.4, seed-004: what an approval could not be about is not asked about.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_bound_is_refused_and_not_asked_about() {
    let (lab, bin) = lab().await;
    program(&bin.join("python3"), "touch ran");
    for (command, told, code) in [
        ("python3 -m pkg", "cannot safely bind this interpreter/runtime command", "CRL-PIN-006"),
        ("env LD_PRELOAD=./x.so tool", "blocked env assignment keys: LD_PRELOAD", "CRL-PIN-007"),
        ("bash --rcfile ./x -c ls", "cannot safely bind shell startup files", "CRL-PIN-006"),
        ("no-such-program x", "requires a resolved executable", "CRL-PIN-004"),
    ] {
        let result = lab.exec(json!({"command": command})).await.unwrap();
        assert_eq!(result.details["status"], "failed", "{command}: {}", result.text());
        let start = "Exec denied (gateway SYSTEM_RUN_DENIED: ";
        assert!(result.text().starts_with(start) && result.text().contains(told), "{}", result.text());
        assert!(lab.tools.desk.pending().is_empty(), "{command}");
        let text = result.text();
        let mut lines = text.lines();
        assert!(lines.next().unwrap().ends_with(command), "the first line is as ever: {}", result.text());
        for (line, start) in lines.zip([format!("code: {code}"), "rule: ".to_owned(), "fix: ".to_owned()]) {
            assert!(line.starts_with(&start), "{}", result.text());
        }
        assert_eq!(result.text().lines().count(), 4, "{}", result.text());
        assert_eq!(result.details["report"]["code"], code, "{command}");
        assert!(!result.details["report"]["fix"].as_str().unwrap().is_empty(), "{command}");
    }
    assert!(!lab.state().join("workspace/ran").exists());
}
