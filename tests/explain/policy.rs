//! `creel policy test`.

use serde_json::Value;

use crate::home::{Home, SMALL};

impl Home {
    fn test(&self, table: &str, flags: &[&str]) -> (String, String, i32) {
        let (file, path) = (self.at("table.json5"), self.path());
        std::fs::write(&file, table).unwrap();
        let file = file.display().to_string();
        let mut args = vec!["policy", "test", &file, "--path", &path];
        args.extend(flags);
        self.creel(&args)
    }
}

#[test]
fn all_as_expected_is_quiet() {
    let home = Home::new("{mode: 'ask'}", Some(SMALL));
    let table = "{cases: [
        {command: 'git status', expect: {verdict: 'allow', rule: 'agents.*.allowlist[0]', host: 'gateway'}},
        {commands: ['rm x', 'git push'], expect: 'ask'},
        {command: 'tool', ask: 'always', expect: {verdict: 'ask', rule: 'ask-always'}},
    ]}";
    let (out, err, code) = home.test(table, &[]);
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(out.trim(), "4 cases: 4 as expected, 0 not; 1 allow, 3 ask, 0 deny");
    let (out, _, _) = home.test(table, &["--all"]);
    assert_eq!(out.lines().count(), 5, "{out}");
}

#[test]
fn a_difference_tells_the_rule_and_a_change() {
    let home = Home::new("{mode: 'ask'}", Some(SMALL));
    let (out, _, code) = home.test("{cases: [\n{name: 'tidy', command: 'rm x', expect: 'allow'}]}", &[]);
    assert_eq!(code, 1, "{out}");
    for wanted in [
        "FAIL  line 2: tidy: rm x",
        "expected allow, got ask",
        "allowlist-miss by ",
        "\"rm x\": no entry covers it",
        "-> allow: add ",
        "1 cases: 0 as expected, 1 not",
    ] {
        assert!(out.contains(wanted), "{wanted}: {out}");
    }
    let (out, _, code) = home.test(
        "{cases: [{command: 'rm x', expect: {verdict: 'ask', host: 'sandbox', rule: 'nope'}}]}",
        &["--json"],
    );
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((report["failed"].as_u64(), code), (Some(1), 1));
    assert_eq!(report["cases"][0]["differs"].as_array().unwrap().len(), 2, "{report:#}");
    assert_eq!(report["cases"][0]["got"]["verdict"], "ask");
}

#[test]
fn a_bad_file_is_told_with_line_and_column() {
    let home = Home::new("{mode: 'ask'}", Some(SMALL));
    for (table, wanted) in [
        (
            "{cases: [\n  {comand: 'ls', expect: 'allow'}]}",
            "table.json5:2:4: cases[0].comand is not known here; did you mean command",
        ),
        ("{cases: [\n  {command: 'ls' expect: 'allow'}]}", "table.json5:2:"),
    ] {
        let (_, err, code) = home.test(table, &[]);
        assert!(code == 2 && err.contains(wanted), "{code}: {err}");
    }
    assert_eq!(home.creel(&["policy", "test", "/nonexistent"]).2, 2);
    let table = "{cases: [\n{name: 'who', command: 'ls', agent: 'nobody', expect: 'ask'}, {command: 'rm x', expect: 'ask'}]}";
    let (out, err, code) = home.test(table, &[]);
    assert_eq!(code, 1, "{out}{err}");
    for wanted in
        ["FAIL  line 2: who: ls", "table.json5:2:", "nobody", "fix: ", "2 cases: 1 as expected, 1 not"]
    {
        assert!(out.contains(wanted), "{wanted}: {out}");
    }
}

/// The workspace that the first command makes changes no verdict by being there.
#[test]
fn a_workspace_that_is_not_there_yet_is_an_empty_one() {
    let home = Home::new("{mode: 'ask'}", Some(SMALL));
    let table = "{cases: [{command: 'no-such-program x', expect: 'deny'}, {command: 'rm x', expect: 'ask'}]}";
    std::fs::write(home.at("state/openclaw.json"), "{tools: {exec: {mode: 'ask'}}}").unwrap();
    let workspace = home.at("state/workspace");
    for there in [false, true] {
        let (out, err, code) = home.test(table, &[]);
        assert_eq!(code, 0, "{there}: {out}{err}");
        assert_eq!(workspace.exists(), there, "nothing is made");
        std::fs::create_dir_all(&workspace).unwrap();
    }
}

/// What is not in place yet can be tried.
#[test]
fn other_files_are_tried_and_nothing_of_the_machine_counts() {
    let home = Home::new("{mode: 'full'}", None);
    let (config, document) = (home.at("new.json"), home.at("new-approvals.json"));
    std::fs::write(&config, "{tools: {exec: {mode: 'allowlist'}}}").unwrap();
    std::fs::write(&document, r#"{"version": 1, "agents": {"main": {"allowlist": ["rm"]}}}"#).unwrap();
    let (config, document) = (config.display().to_string(), document.display().to_string());
    let table = "{cases: [{command: 'rm x', expect: 'allow'}, {command: 'tool', expect: 'deny'}]}";
    let (out, err, code) = home.test(table, &["--config", &config, "--approvals", &document]);
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(home.test(table, &[]).2, 1);
}
