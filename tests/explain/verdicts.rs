//! Verdicts: exit code, rule with file and key, and the rest of what is told.

use std::path::Path;

use serde_json::Value;

use crate::home::{Home, SMALL};

fn layer<'v>(told: &'v Value, name: &str) -> &'v Value {
    let layers = told["layers"].as_array().unwrap();
    layers.iter().find(|layer| layer["layer"] == name).unwrap_or_else(|| panic!("{name}: {told:#}"))
}

fn decider(told: &Value) -> &Value {
    told["layers"].as_array().unwrap().iter().find(|layer| layer["decides"] == true).unwrap()
}

#[test]
fn a_listed_command_is_pinned_and_names_its_entry() {
    let home = Home::new("{mode: 'ask'}", Some(SMALL));
    let (told, code) = home.explain(&[], "git status -s");
    assert_eq!((told["verdict"].as_str(), code), (Some("allow"), 0), "{told:#}");
    let rule = &decider(&told)["rule"];
    assert_eq!(rule["key"], "agents.*.allowlist[0]");
    assert_eq!(rule["file"], home.document().display().to_string());
    assert_eq!((rule["line"].as_u64(), rule["entry"]["pattern"].as_str()), (Some(6), Some("git")));
    assert_eq!(told["run"]["how"], "argv");
    assert_eq!(told["run"]["argv"][0], home.at("bin/git").display().to_string());
    assert_eq!(told["run"]["binds"]["covers"], "command");
    assert_eq!(told["workdir"], home.at("work").display().to_string());
}

#[test]
fn a_miss_asks_and_names_the_command_that_is_not_covered() {
    let home = Home::new("{mode: 'ask'}", Some(SMALL));
    let (told, code) = home.explain(&[], "git status && rm -rf build");
    assert_eq!(
        (told["verdict"].as_str(), told["code"].as_str(), code),
        (Some("ask"), Some("allowlist-miss"), 3)
    );
    assert!(decider(&told)["why"].as_str().unwrap().contains("rm -rf build"), "{told:#}");
    let groups = told["analysis"]["groups"].as_array().unwrap();
    assert_eq!((groups.len(), groups[0]["next"].as_str()), (2, Some("&&")));
    assert_eq!(groups[0]["commands"][0]["by"], "entry");
    assert_eq!(groups[1]["commands"][0]["by"], "no-entry");
    let offered = told["asks"]["offered"].as_array().unwrap();
    assert!(offered.contains(&"allow-once".into()) && offered.contains(&"deny".into()), "{offered:?}");
}

#[test]
fn what_cannot_be_analysed_is_marked_where_it_stands() {
    let home = Home::new("{mode: 'ask'}", Some(SMALL));
    let text = home.told("tool a\ntool > out $(id)");
    let mut lines = text.lines().skip_while(|line| !line.contains("cannot say"));
    assert!(lines.next().unwrap().contains("[redirect]"), "{text}");
    assert_eq!(lines.next(), Some("    tool > out $(id)"), "{text}");
    assert_eq!(lines.next(), Some("           ^^^"), "{text}");
    let (told, code) = home.explain(&[], "tool 'unclosed");
    assert_eq!((told["analysis"]["obstacle"]["code"].as_str(), code), (Some("unread"), 3));
}

/// I087, I088, I089: duplicated descriptors, quoted data and `cd` are no reason to ask.
#[test]
fn what_is_harmless_does_not_ask() {
    let home = Home::new("{mode: 'ask'}", Some(SMALL));
    for command in [
        "git status 2>&1",
        "git status >/dev/null",
        "tool comment 1 --body 'has `ticks` and $vars'",
        "cd src && git status",
        "timeout 3 tool",
        "tool <<'EOF'\n$(id)\nEOF",
    ] {
        let (told, code) = home.explain(&[], command);
        assert_eq!(code, 0, "{command}: {told:#}");
    }
    for command in ["git status >out", "export X=1 && git status", "X=1 tool", "tool $X"] {
        let (told, code) = home.explain(&[], command);
        assert_eq!(code, 3, "{command}: {told:#}");
    }
    let (told, _) = home.explain(&[], "cd src && git status");
    let command = &told["analysis"]["groups"][1]["commands"][0];
    assert_eq!(command["dir"], "src", "{told:#}");
}

/// I092: where everything may run there is no binding step that could refuse.
#[test]
fn an_open_host_binds_nothing() {
    let home = Home::new("{mode: 'full'}", None);
    for command in ["python3 -c 'print(1)'", "echo $(id) > x &", "python3 missing.py"] {
        let (told, code) = home.explain(&[], command);
        assert_eq!((code, told["code"].as_str()), (0, Some("security-full")), "{command}: {told:#}");
        assert_eq!(told["run"]["text"], command);
        assert!(told["run"]["binds"].is_null());
    }
}

/// I093: two layers and the wrong agent's list; each is told with its place.
#[test]
fn the_stricter_layer_is_named_wherever_it_stands() {
    let closed =
        r#"{"version": 1, "agents": {"main": {"security": "deny"}, "other": {"allowlist": ["rm"]}}}"#;
    let home = Home::new("{mode: 'full'}", Some(closed));
    let (told, code) = home.explain(&[], "rm x");
    assert_eq!((code, told["code"].as_str()), (4, Some("CRL-APPR-001")), "{told:#}");
    assert!(told["report"]["rule"].as_str().unwrap().ends_with("exec-approvals.json agents.main.security"));
    assert_eq!(told["policy"]["security"], "deny");
    let home = Home::new("{mode: 'deny'}", Some(SMALL));
    let (told, code) = home.explain(&[], "tool");
    let rule = &decider(&told)["rule"];
    assert_eq!((code, rule["key"].as_str(), rule["line"].as_u64()), (4, Some("tools.exec.mode"), Some(3)));
}

#[test]
fn a_deny_list_comes_first_and_names_its_entry() {
    let document = r#"{"version": 1, "defaults": {"denylist": [{"pattern": "git", "argPattern": "push"}]}}"#;
    let home = Home::new("{mode: 'full'}", Some(document));
    for command in ["git push", "timeout 3 git push", "sh -c 'git push'", "echo $(git push)"] {
        let (told, code) = home.explain(&[], command);
        assert_eq!(code, 4, "{command}: {told:#}");
        assert_eq!(layer(&told, "denylist")["rule"]["key"], "defaults.denylist[0]", "{command}");
        assert_eq!(told["report"]["code"], "CRL-APPR-005");
    }
    assert_eq!(home.explain(&[], "git status").1, 0);
}

#[test]
fn what_exec_never_runs_and_tools_that_are_not_there() {
    let home = Home::new("{mode: 'full'}", None);
    let (told, code) = home.explain(&[], "/approve 1a2b allow-once");
    assert_eq!(
        (code, told["code"].as_str(), decider(&told)["layer"].as_str()),
        (4, Some("CRL-GUARD-001"), Some("guard"))
    );
    home.configure("tools: { deny: ['exec'] }");
    let (told, code) = home.explain(&[], "tool");
    assert_eq!(
        (code, told["code"].as_str(), decider(&told)["layer"].as_str()),
        (4, Some("CRL-TOOL-013"), Some("tool"))
    );
    assert!(told["host"].is_null());
}

#[test]
fn elevated_and_hosts_are_judged_by_who_calls() {
    let home = Home::new("{}", None);
    home.configure("channels: { telegram: {} }, tools: { elevated: { allowFrom: { telegram: ['42'] } }, exec: { mode: 'full' } }");
    let flags = ["--channel", "telegram", "--elevated", "full"];
    let (told, code) = home.explain(&[&flags[..], &["--sender", "42"]].concat(), "tool $X");
    assert_eq!((code, told["code"].as_str()), (0, Some("elevated-full")), "{told:#}");
    let (told, code) = home.explain(&[&flags[..], &["--sender", "7"]].concat(), "tool");
    assert_eq!((code, decider(&told)["layer"].as_str()), (4, Some("elevated")), "{told:#}");
    let (told, code) = home.explain(&["--host", "node"], "tool");
    assert_eq!((code, decider(&told)["layer"].as_str()), (4, Some("route")), "{told:#}");
}

#[test]
fn no_value_of_a_variable_and_no_deceiving_character_is_shown() {
    let home = Home::new("{mode: 'ask'}", Some(SMALL));
    let (out, _, code) = home.creel(&[
        "explain",
        "exec",
        "--path",
        &home.path(),
        "--env",
        "TOKEN=hunter2",
        "--",
        "rm \u{202e}x\u{1b}[2J",
    ]);
    assert_eq!(code, 3, "{out}");
    assert!(out.contains("TOKEN") && !out.contains("hunter2"), "{out}");
    assert!(!out.contains('\u{202e}') && !out.contains('\u{1b}'), "{out}");
}

/// Whoever asks why changes nothing.
#[test]
fn nothing_is_written() {
    let home = Home::new("{mode: 'ask'}", Some(SMALL));
    home.explain(&[], "tool");
    let before = files(&home.at("state"));
    home.explain(&[], "git status && rm x");
    assert_eq!(files(&home.at("state")), before);
    assert!(!home.at("state/creel/creel.db").exists(), "no database is made");
}

fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                all.push((path.display().to_string(), std::fs::read(&path).unwrap()));
            }
        }
    }
    all.sort();
    all
}

#[test]
fn a_wrong_use_is_creels_failure() {
    let home = Home::new("{mode: 'ask'}", None);
    for args in [
        &["explain", "exec", "--elevated", "very", "--", "ls"][..],
        &["explain", "exec", "--env", "NAME", "--", "ls"],
        &["explain", "exec", "--agent", "nobody", "--", "ls"],
        &["explain", "exec", "--approvals", "/nonexistent", "--", "ls"],
        &["explain", "exec"],
    ] {
        assert_eq!(home.creel(args).2, 125, "{args:?}");
    }
    let secret = home.creel(&["explain", "exec", "--env", "hunter2", "--", "ls"]).1;
    assert!(secret.contains("NAME=VALUE"), "{secret}");
}
