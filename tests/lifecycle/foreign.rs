//! Containers that carry the installation's label and are not creel's, and labels that would deceive a reader.

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::home::{Home, IMAGE, docker, inspect};

/// A container that somebody makes beside creel's; gone with the test.
struct Beside(String);

impl Beside {
    fn with(labels: &[(String, String)]) -> Self {
        let name = format!("creel-life-{}", creel::state::random_hex::<6>().unwrap());
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("--label={name}={value}")).collect();
        let mut args = vec!["create", "--name", &name];
        args.extend(labels.iter().map(String::as_str));
        args.extend([IMAGE, "true"]);
        docker(&args);
        Self(name)
    }

    fn is_there(&self) -> bool {
        !docker(&["ps", "-aq", "--filter", &format!("name=^{}$", self.0)]).is_empty()
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = std::process::Command::new("docker").args(["rm", "-f", &self.0]).output();
    }
}

/// The labels of a real sandbox.
fn labels(name: &str) -> Vec<(String, String)> {
    let all = inspect(name)["Config"]["Labels"].clone();
    let all = all.as_object().unwrap().clone();
    all.into_iter().map(|(name, value)| (name, value.as_str().unwrap().to_owned())).collect()
}

fn find(home: &Home, name: &str) -> Value {
    home.containers().into_iter().find(|one| one["containerName"] == name).unwrap()
}

#[test]
fn a_container_with_our_label_alone_is_shown_and_left_alone() {
    let home = Home::new();
    home.sh("true");
    let own = home.only()["containerName"].as_str().unwrap().to_owned();
    let installation = std::fs::read_to_string(home.state().join("creel/installation")).unwrap();
    let label = ("creel.installation".to_owned(), installation.trim().to_owned());
    let beside = Beside::with(&[label]);

    let shown = find(&home, &beside.0);
    assert!(shown["notMadeByCreel"].as_str().unwrap().contains("not made by creel as it is"), "{shown}");
    assert_eq!(shown["imageMatch"], false);
    assert_eq!(find(&home, &own)["imageMatch"], true, "the others are shown as ever");
    let text = home.ok(&["sandbox", "list"]);
    assert!(text.contains("not made by creel as it is") && text.contains(&own), "{text}");

    for words in [&["sandbox", "prune", "--dry-run"][..], &["sandbox", "recreate", "--all", "--dry-run"]] {
        let text = home.ok(words);
        let line = text.lines().find(|line| line.contains(&beside.0)).unwrap();
        assert!(line.starts_with("keep") && line.contains("not made by creel"), "{text}");
    }
    home.ok(&["sandbox", "prune"]);
    home.ok(&["sandbox", "recreate", "--all", "--force"]);
    home.sh("true");
    let stopped = home.run(&["sandbox", "stop", "--all"]);
    assert_eq!(stopped.status, Some(0), "{stopped:?}");
    assert!(stopped.out.contains(&format!("{own}: removed")), "{stopped:?}");
    home.run(&["sandbox", "stop", &beside.0]).refused("CRL-SANDBOX-008", &["not made by creel"]);
    let doctor = home.run(&["doctor", "--fix"]);
    assert!(doctor.out.contains("[sandbox.foreign]"), "{doctor:?}");
    assert!(beside.is_there());
}

#[test]
fn labels_do_not_reach_the_terminal_as_they_are() {
    let home = Home::new();
    home.sh("true");
    let own = home.only()["containerName"].as_str().unwrap().to_owned();
    let hostile = "agent:main\u{1b}[31mRED\nFAKE LINE\u{202e}";
    let mut copied = labels(&own);
    for (name, value) in &mut copied {
        match name.as_str() {
            "openclaw.sessionKey" => hostile.clone_into(value),
            "creel.reference" => "no reference\u{1b}[2J".clone_into(value),
            _ => {}
        }
    }
    let beside = Beside::with(&copied);
    assert_eq!(find(&home, &beside.0)["sessionKey"], hostile, "programs get the text");
    for words in [
        &["sandbox", "list"][..],
        &["sandbox", "recreate", "--all", "--dry-run"],
        &["sandbox", "prune", "--dry-run"],
        &["sandbox", "stop", "--all", "--dry-run"],
        &["sandbox", "explain"],
        &["doctor"],
    ] {
        let done = home.run(words);
        let text = format!("{}{}", done.out, done.err);
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{words:?}: {text:?}");
        assert!(!text.lines().any(|line| line.starts_with("FAKE")), "{words:?}: {text}");
    }
    assert!(home.ok(&["sandbox", "list"]).contains(r"agent:main\u{1b}[31mRED\nFAKE LINE\u{202e}"));
}
