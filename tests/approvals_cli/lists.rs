//! `creel approvals allowlist`.

use crate::home::Home;

const LIST: &str = "approvals allowlist list --json";

fn words(text: &str) -> Vec<&str> {
    text.split(' ').collect()
}

#[test]
fn entries_come_and_go() {
    let home = Home::new("{agents: {entries: {ops: {}}}}");
    let added = home.json(&words("approvals allowlist add rg --json"));
    assert_eq!(added["file"]["agents"]["*"]["allowlist"][0]["pattern"], "rg");
    let entry = &home.document()["agents"]["*"]["allowlist"][0];
    assert!(entry["id"].as_str().unwrap().len() == 36 && entry["lastUsedAt"].is_u64(), "{entry}");
    let text = home.text();
    assert_eq!(home.ok(&words("approvals allowlist add rg")), "Already allowlisted.\n");
    assert_eq!(home.text(), text);
    home.ok(&words("approvals allowlist add /usr/bin/git --agent OPS --arg-pattern ^status$"));
    home.ok(&words("approvals allowlist add /usr/bin/git --agent ops"));
    home.ok(&words("approvals allowlist add shred --deny"));
    let all = home.json(&words(LIST));
    let rows: Vec<(&str, &str, &str)> = all["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let word = |name: &str| row[name].as_str().unwrap();
            (word("agent"), word("list"), word("coverage"))
        })
        .collect();
    let wanted = [
        ("*", "denylist", "any args"),
        ("*", "allowlist", "any args"),
        ("ops", "allowlist", "argv"),
        ("ops", "allowlist", "any args"),
    ];
    assert_eq!(rows, wanted);
    assert!(home.ok(&words("approvals allowlist list --agent ops")).contains("/usr/bin/git  ^status$"));

    assert_eq!(home.ok(&words("approvals allowlist remove nothing")), "Pattern not found.\n");
    let elsewhere = home.ok(&words("approvals allowlist remove /usr/bin/git"));
    assert_eq!(elsewhere, "Pattern not found. It stands in: allowlist of ops, allowlist of ops\n");
    assert_eq!(
        home.ok(&words("approvals allowlist remove /usr/bin/git --agent ops")),
        "2 entries removed.\n"
    );
    assert!(home.document()["agents"].get("ops").is_none(), "nothing is left of it");
    assert_eq!(home.ok(&words("approvals allowlist remove rg")), "1 entry removed.\n");
    assert_eq!(home.document()["agents"]["*"]["denylist"][0]["pattern"], "shred");
    let (_, told, code) = home.run(&words("approvals allowlist remove shred"));
    assert!(code == 125 && told.contains("It stands in: denylist of * [CRL-CLI-022]"), "{code} {told}");
    assert!(told.contains("write --deny too"), "{told}");
    home.ok(&words("approvals allowlist remove shred --deny"));
    assert!(home.document()["agents"].as_object().unwrap().is_empty());
}

#[test]
fn an_entry_that_could_never_match_is_refused() {
    let home = Home::new("{}");
    for args in [
        &["add", " "][..],
        &["add", "git", "--arg-pattern", "("],
        &["add", "git", "--arg-pattern", "sha256:cwd-argv:v1:00"],
        &["add", "git", "--arg-pattern", "sha256:00"],
        &["add", "=command:00"],
        &["add", "git", "--agent", "ghost"],
        &["add", "git", "--agent", "../x"],
        &["remove", "git", "--agent", "ghost"],
        &["list", "--agent", "ghost"],
    ] {
        let err = home.refused(&[&["approvals", "allowlist"], args].concat());
        assert!(err.contains("fix: "), "{args:?}: {err}");
    }
    assert!(!home.file().exists());
}

#[test]
fn a_text_is_compared_with_the_lists_and_nothing_runs() {
    let home = Home::new("{}");
    let marker = home.state().join("ran");
    home.ok(&words("approvals allowlist add /usr/bin/touch"));
    home.ok(&words("approvals allowlist add ls --arg-pattern ^-l$"));
    let touch = format!("touch {}", marker.display());
    let run = |text: &str| home.run(&["approvals", "allowlist", "test", "--json", "--", text]);
    let (out, err, status) = run(&format!("{touch} && ls -l"));
    assert_eq!(status, 0, "{out}{err}");
    let told: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(told["covered"], true);
    assert_eq!(told["parts"][0]["entry"]["pattern"], "/usr/bin/touch");
    assert_eq!(told["parts"][1]["entry"]["argPattern"], "^-l$");
    let (out, _, status) = run("ls -a");
    assert_eq!(status, 1);
    assert!(out.contains("\"by\":\"nothing\"") && out.contains("no entry matches"), "{out}");
    let (out, _, status) = run("touch $(id)");
    assert!(status == 1 && out.contains("\"unclear\":\"command-substitution\""), "{out}");
    // Several words are the words of one command.
    let (out, _, status) = home.run(&["approvals", "allowlist", "test", "--", "ls", "-l"]);
    assert!(status == 0 && out.contains("entry ls (argv)"), "{out}");
    let (_, _, status) = home.run(&["approvals", "allowlist", "test", "--", "ls", "-l; id"]);
    assert_eq!(status, 1);
    assert!(!marker.exists());
}

#[test]
fn approvals_of_former_versions_are_adopted_by_one_command() {
    let home = Home::with(
        r#"{"version": 1, "agents": {"main": {"allowlist": [
            {"pattern": "/usr/bin/git", "source": "allow-always", "argPattern": "^status$", "commandText": "git status"},
            {"pattern": "/usr/bin/rg", "source": "allow-always"},
            {"pattern": "/usr/bin/x", "source": "allow-always", "argPattern": "sha256:argv:00"},
            {"pattern": "/usr/bin/y", "source": "allow-always", "argPattern": "sha256:cwd-argv:v1:00"},
            "/usr/bin/z"]}}}"#,
    );
    let coverages = || {
        let all = home.json(&words(LIST));
        let rows = all["entries"].as_array().unwrap();
        rows.iter().map(|row| row["coverage"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(coverages(), ["inactive", "inactive", "inactive", "argv+cwd", "any args"]);
    let out = home.ok(&words("approvals allowlist adopt /usr/bin/git"));
    assert!(out.contains("arguments that match ^status$") && out.contains("2 wait still"), "{out}");
    assert_eq!(coverages()[..2], ["argv", "inactive"]);
    home.ok(&words("approvals allowlist adopt"));
    assert_eq!(coverages(), ["argv", "any args", "inactive", "argv+cwd", "any args"]);
    assert!(home.ok(&words("approvals allowlist adopt")).contains("nothing to adopt"));
}
