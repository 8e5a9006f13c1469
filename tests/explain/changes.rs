//! Changes that are told are true: typed in, they give the verdict that was promised.

use serde_json::Value;

use crate::home::{Home, SMALL};

fn changes(told: &Value) -> Vec<(String, String, Option<String>)> {
    let text = |change: &Value, key: &str| change[key].as_str().map(str::to_owned);
    let all = told["changes"].as_array().unwrap();
    all.iter()
        .map(|change| {
            (text(change, "target").unwrap(), text(change, "gives").unwrap(), text(change, "command"))
        })
        .collect()
}

#[test]
fn every_command_line_does_what_it_says() {
    for (exec, document, command) in [
        ("{mode: 'ask'}", Some(SMALL), "git status && rm -rf build"),
        ("{mode: 'ask'}", Some(SMALL), "rm it\\'s '$HOME' 'a.b*'"),
        ("{mode: 'ask'}", Some(SMALL), "git push"),
        ("{mode: 'allowlist'}", None, "rm x"),
        ("{mode: 'deny'}", None, "rm x"),
        ("{security: 'allowlist', ask: 'off'}", None, "rm x"),
        ("{security: 'full', ask: 'always'}", None, "rm x"),
        ("{mode: 'full'}", None, "rm x"),
        ("{mode: 'full', strictInlineEval: true}", None, "python3 -c 'print(1)'"),
    ] {
        let home = Home::new(exec, document);
        let (told, _) = home.explain(&[], command);
        let all = changes(&told);
        assert!(!all.is_empty(), "{exec} {command}: {told:#}");
        for (_, gives, line) in &all {
            let Some(line) = line else { continue };
            let other = Home::new(exec, document);
            // The same programs lie elsewhere there.
            let line = line.replace(&home.at("").display().to_string(), &other.at("").display().to_string());
            other.typed(&line);
            let (after, _) = other.explain(&[], command);
            assert_eq!(after["verdict"], gives.as_str(), "{exec} {command}\n{line}\n{after:#}");
        }
    }
}

#[test]
fn the_smallest_comes_first() {
    let first = |home: &Home, flags: &[&str], command: &str| {
        let told = home.explain(flags, command).0;
        changes(&told).into_iter().next().map(|(target, gives, _)| (target, gives))
    };
    let some = |target: &str, gives: &str| Some((target.to_owned(), gives.to_owned()));
    let home = Home::new("{mode: 'ask'}", Some(SMALL));
    assert_eq!(first(&home, &[], "rm x"), some("approvals", "allow"));
    assert_eq!(first(&home, &[], "tool $(id)"), None, "no entry helps; a person does");
    assert_eq!(first(&home, &["--ask", "always"], "tool"), some("call", "allow"));
    assert_eq!(first(&home, &[], "git log"), some("approvals", "ask"), "the entry is removed");
    let home = Home::new("{mode: 'allowlist'}", None);
    assert_eq!(first(&home, &[], "tool $(id)"), some("config", "ask"));
    let home = Home::new("{mode: 'full'}", Some(r#"{"version": 1, "defaults": {"ask": "always"}}"#));
    assert_eq!(first(&home, &[], "tool"), some("approvals", "allow"));
    let home = Home::new("{mode: 'ask'}", Some(SMALL));
    home.typed("creel session set agent:main:main security=deny");
    assert_eq!(first(&home, &[], "tool"), some("session", "allow"));
}
