//! Several programs write at once, and some die while they do.

use std::time::Duration;

use crate::home::Home;

fn patterns(home: &Home) -> Vec<String> {
    let document = home.document();
    let list = document["agents"]["*"]["allowlist"].as_array().cloned().unwrap_or_default();
    list.iter().map(|entry| entry["pattern"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn of_two_programs_that_write_at_once_nothing_is_lost() {
    const EACH: usize = 50;
    let home = Home::with(r#"{"version": 1, "later": {"kept": [1, 2]}}"#);
    std::thread::scope(|scope| {
        for writer in ["a", "b"] {
            let home = &home;
            scope.spawn(move || {
                for number in 0..EACH {
                    home.ok(&["approvals", "allowlist", "add", &format!("{writer}{number}")]);
                }
            });
        }
    });
    let mut found = patterns(&home);
    assert_eq!(found.len(), 2 * EACH);
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 2 * EACH);
    assert_eq!(home.document()["later"]["kept"][1], 2);
    let ids = home.document();
    let ids: std::collections::BTreeSet<String> =
        ids["agents"]["*"]["allowlist"].as_array().unwrap().iter().map(|one| one["id"].to_string()).collect();
    assert_eq!(ids.len(), 2 * EACH);
}

#[test]
fn who_dies_while_writing_leaves_a_whole_document() {
    let home = Home::with(r#"{"version": 1, "defaults": {"security": "allowlist"}}"#);
    let mut sure: Vec<String> = Vec::new();
    for number in 0..40_u64 {
        let name = format!("p{number}");
        let mut child = home.creel(&["approvals", "allowlist", "add", &name]).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(500 * number));
        // One that has ended already cannot be killed.
        let _ = child.kill();
        if child.wait().unwrap().success() {
            sure.push(name);
        }
        let document = home.document();
        assert_eq!(document["defaults"]["security"], "allowlist");
        let found = patterns_or_none(&document);
        assert!(sure.iter().all(|name| found.contains(name)), "{sure:?} {found:?}");
    }
    // Nobody holds the lock any more, and nothing is left beside the document but what one writer makes.
    home.ok(&["approvals", "allowlist", "add", "last"]);
    let left =
        std::fs::read_dir(home.state()).unwrap().map(|one| one.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = left.filter(|name| name.contains("exec-approvals")).collect();
    assert_eq!(left, ["exec-approvals.json"]);
}

fn patterns_or_none(document: &serde_json::Value) -> Vec<String> {
    let list = document["agents"]["*"]["allowlist"].as_array().cloned().unwrap_or_default();
    list.iter().map(|entry| entry["pattern"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_editor_that_takes_no_lock_loses_nothing_either() {
    let home = Home::with(r#"{"version": 1}"#);
    for number in 0..10 {
        let mut child =
            home.creel(&["approvals", "allowlist", "add", &format!("p{number}")]).spawn().unwrap();
        // As an editor writes: another file, renamed over it.
        let text = home.text();
        let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
        document["note"] = number.into();
        child.wait().unwrap();
        let draft = home.state().join("draft");
        document = {
            let mut now = home.document();
            now["note"] = document["note"].clone();
            now
        };
        std::fs::write(&draft, document.to_string()).unwrap();
        std::fs::rename(draft, home.file()).unwrap();
    }
    home.ok(&["approvals", "allowlist", "add", "last"]);
    assert_eq!((patterns(&home).len(), &home.document()["note"]), (11, &9.into()));
}
