use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::config::exec::{Ask, Security};
use crate::error::Diagnose as _;
use crate::session::AgentId;

const FILE: &str = "/state/exec-approvals.json";

fn parse(text: &str) -> Result<Document, DocumentError> {
    Document::parse(text, Path::new(FILE))
}

fn read(value: &Value) -> Document {
    parse(&value.to_string()).unwrap()
}

fn diagnostics(text: &str) -> Vec<String> {
    match parse(text).unwrap_err() {
        DocumentError::Invalid { problems, .. } => problems.iter().map(Problem::diagnostic).collect(),
        other => vec![other.diagnostic()],
    }
}

fn security(document: &Document, agent: &str) -> Option<Security> {
    document.rules(Some(&AgentId::parse(agent).unwrap())).security.map(|set| set.value)
}

/// The example of the oldest documentation, whole.
const EXAMPLE: &str = r#"{
  "version": 1,
  "socket": { "path": "~/.openclaw/exec-approvals.sock", "token": "base64url-token" },
  "defaults": { "security": "deny", "ask": "on-miss", "askFallback": "deny", "autoAllowSkills": false },
  "agents": {
    "main": {
      "security": "allowlist", "ask": "on-miss", "askFallback": "deny", "autoAllowSkills": true,
      "allowlist": [
        {
          "id": "B0C8C0B3-2C2D-4F8A-9A3C-5A4B3C2D1E0F",
          "pattern": "~/Projects/**/bin/rg",
          "source": "allow-always",
          "commandText": "rg -n main",
          "lastUsedAt": 1737150000000,
          "lastUsedCommand": "rg -n main",
          "lastResolvedPath": "/Users/user/Projects/x/bin/rg"
        }
      ]
    }
  }
}"#;

#[test]
fn the_example_is_read_and_written_back() {
    let document = parse(EXAMPLE).unwrap();
    assert_eq!(document.defaults.security, Some(Security::Deny));
    let main = &document.agents[0];
    assert_eq!((main.rules.security, main.rules.ask), (Some(Security::Allowlist), Some(Ask::OnMiss)));
    assert_eq!(main.allowlist[0].command_text.as_deref(), Some("rg -n main"));
    assert_eq!(main.allowlist[0].coverage(), Coverage::Inactive);
    let text = document.to_text();
    assert!(text.ends_with("}\n") && text.contains("\"lastUsedAt\": 1737150000000,"), "{text}");
    let same: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(same, serde_json::from_str::<Value>(EXAMPLE).unwrap());
    assert!(!format!("{document:?}").contains("base64url-token"), "a debug form ends up in logs");
    assert!(!document.redacted().to_text().contains("base64url-token"));
}

#[test]
fn what_is_denied_is_read_checked_and_added_up() {
    let document = read(&json!({
        "version": 1,
        "defaults": {"denylist": ["a"]},
        "agents": {"*": {"denylist": [{"pattern": "b", "argPattern": "^x$"}]}, "ops": {"denylist": ["c"]}},
    }));
    let patterns = |agent: &str| {
        let rules = document.rules(Some(&AgentId::parse(agent).unwrap()));
        rules.denylist.iter().map(|entry| entry.pattern.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        (patterns("ops"), patterns("main")),
        (vec!["a".into(), "b".into(), "c".into()], vec!["a".into(), "b".into()])
    );
    assert_eq!(parse(&document.to_text()).unwrap(), document);
    for (text, wanted) in [
        (r#"{"version":1,"denylist":["a"]}"#, "denylist: a rule that holds for nobody here"),
        (r#"{"version":1,"security":"deny"}"#, "security: a rule that holds for nobody here"),
        (
            r#"{"version":1,"defaults":{"denyList":["a"]}}"#,
            "defaults.denyList: unknown key, nearly a known one",
        ),
        (
            r#"{"version":1,"defaults":{"denylist":[" "]}}"#,
            "defaults.denylist[0]: expected a non-empty string",
        ),
        (
            r#"{"version":1,"agents":{"a":{"denylist":[{"pattern":"x","source":"allow-always"}]}}}"#,
            "agents entry #1.denylist[0]: denies nothing",
        ),
    ] {
        assert_eq!(diagnostics(text), [wanted], "{text}");
    }
}

#[test]
fn unknown_keys_survive_everywhere_and_in_place() {
    let text = json!({
        "version": 1, "later": {"a": [1, 2.5, null]}, "socket": {"mode": 7},
        "defaults": {"note": "x"},
        "agents": {
            "zeta": {"color": "red", "allowlist": [{"pattern": "rg", "meta": {"by": "me"}}],
                     "mcpTools": [{"server": "s", "tool": "t", "source": "allow-always", "addedAt": 1.5, "k": 0}]},
            "*": {"x": 1},
        },
    });
    let document = read(&text);
    assert_eq!(serde_json::to_value(&document).unwrap(), text);
    let agents = r#"{"version":1,"agents":{"zeta":{},"alpha":{},"*":{}}}"#;
    let written = parse(agents).unwrap().to_text();
    let at = |name: &str| written.find(name).unwrap();
    assert!(at("zeta") < at("alpha") && at("alpha") < at("\"*\""), "the order of the text stays: {written}");
}

#[test]
fn a_string_is_an_entry_and_null_usage_is_none() {
    let document = read(&json!({"version": 1, "agents": {"main": {"allowlist": [
        " /usr/bin/git ", {"pattern": "ls", "lastUsedAt": null, "lastUsedCommand": null, "source": "weird"},
    ]}}}));
    let list = &document.agents[0].allowlist;
    assert_eq!(list[0], Entry::of("/usr/bin/git"));
    assert_eq!(list[1], Entry::of("ls"));
    assert_eq!(parse(&document.to_text()).unwrap(), document);
}

#[test]
fn refusals_name_the_place_and_no_value() {
    for (text, expected) in [
        (r#"{"version":2}"#, "version: expected a supported value"),
        ("{}", "version: expected a supported value"),
        ("null", "document: expected an object"),
        (r#"{"version":1,"socket":[]}"#, "socket: expected an object"),
        (r#"{"version":1,"socket":{"token":1}}"#, "socket.token: expected a string"),
        (r#"{"version":1,"defaults":{"security":"DENY"}}"#, "defaults.security: expected a supported value"),
        (r#"{"version":1,"defaults":{"ask":null}}"#, "defaults.ask: expected a supported value"),
        (
            r#"{"version":1,"defaults":{"askFallback":"ask"}}"#,
            "defaults.askFallback: expected a supported value",
        ),
        (r#"{"version":1,"defaults":{"autoAllowSkills":1}}"#, "defaults.autoAllowSkills: expected a boolean"),
        (r#"{"version":1,"agents":[]}"#, "agents: invalid value"),
        (r#"{"version":1,"agents":{"__proto__":{}}}"#, "agents: invalid value"),
        (
            r#"{"version":1,"agents":{"z":{},"a":{"ask":"x"}}}"#,
            "agents entry #2.ask: expected a supported value",
        ),
        (r#"{"version":1,"agents":{"a":{},"A":{}}}"#, "agents entry #2: names an agent that stands above"),
        (r#"{"version":1,"agents":{" * ":{}}}"#, "agents entry #1: expected an agent id"),
        (r#"{"version":1,"agents":{"a":{"allowlist":{}}}}"#, "agents entry #1.allowlist: expected an array"),
        (
            r#"{"version":1,"agents":{"a":{"allowlist":["x"," "]}}}"#,
            "agents entry #1.allowlist[1]: expected a non-empty string",
        ),
        (
            r#"{"version":1,"agents":{"a":{"allowlist":[5]}}}"#,
            "agents entry #1.allowlist[0]: expected an object",
        ),
        (
            r#"{"version":1,"agents":{"a":{"allowlist":[{"pattern":5}]}}}"#,
            "agents entry #1.allowlist[0].pattern: expected a non-empty string",
        ),
        (
            r#"{"version":1,"agents":{"a":{"allowlist":[{"pattern":"x","argPattern":5}]}}}"#,
            "agents entry #1.allowlist[0].argPattern: expected a string",
        ),
        (
            r#"{"version":1,"agents":{"a":{"mcpTools":[{"server":"s","tool":"t","source":"x","addedAt":1}]}}}"#,
            "agents entry #1.mcpTools[0].source: expected a supported value",
        ),
        (
            r#"{"version":1,"agents":{"a":{"mcpTools":[{"server":"s","tool":"t","source":"allow-always","addedAt":-1}]}}}"#,
            "agents entry #1.mcpTools[0].addedAt: expected a number of at least 0",
        ),
        (
            r#"{"version":1,"defaults":{"ask":"off"},"defaults":{"ask":"always"}}"#,
            "document: a key is written twice",
        ),
        (r#"{"version":1,"defaults":{"ask":"off","\u0061sk":"always"}}"#, "document: a key is written twice"),
        ("// c\n{\"version\":1}", "invalid JSON syntax"),
        ("", "invalid JSON syntax"),
    ] {
        assert_eq!(diagnostics(text)[0], expected, "{text}");
    }
}

/// A misspelt restriction would be none; every other unknown key belongs to a newer version.
#[test]
fn keys_that_are_nearly_rules_are_refused() {
    for text in [
        r#"{"version":1,"default":{"security":"deny"}}"#,
        r#"{"version":1,"defaults":{"Security":"deny"}}"#,
        r#"{"version":1,"agents":{"a":{"ask_fallback":"deny"}}}"#,
        r#"{"version":1,"agents":{"a":{"allowlist":[{"pattern":"x","argpattern":"^a$"}]}}}"#,
    ] {
        assert!(diagnostics(text)[0].ends_with("unknown key, nearly a known one"), "{text}");
    }
    assert!(parse(r#"{"version":1,"mode":"x","defaults":{"reviewer":1,"label":2}}"#).is_ok());
}

#[test]
fn line_and_column_are_told() {
    let text = "{\n  \"version\": 1,\n  \"agents\": {\n    \"ops\": { \"security\": \"bogus\" }\n  }\n}";
    let error = parse(text).unwrap_err();
    let told = error.to_string();
    assert_eq!(told, format!("{FILE}:4:14: agents entry #1.security: expected a supported value"));
    let report = error.report();
    assert_eq!((report.code, report.rule), ("CRL-APPROVALS-005", Some(format!("{FILE}:4:14"))));
    assert_eq!(report.fix, "write one of deny, allowlist, full");
    let error = parse("{\n  \"version\": 1,\n}").unwrap_err();
    assert_eq!(error.to_string(), format!("{FILE}:3:1: invalid JSON syntax"));
    let deep = format!("{{\"version\":1,\"x\":{}{}}}", "[".repeat(90), "]".repeat(90));
    assert_eq!(diagnostics(&deep), ["invalid JSON syntax"]);
    let large = format!("{{\"version\":1,\"x\":\"{}\"}}", "a".repeat(MAX_BYTES));
    assert_eq!(diagnostics(&large), ["document: too large"]);
}

#[test]
fn nothing_is_written_that_could_not_be_read() {
    let entry = format!("\"{}\"", "x".repeat(1 << 20));
    let text = format!("{{\"version\":1,\"agents\":{{\"a\":{{\"allowlist\":[{entry},{entry},{entry}]}}}}}}");
    let mut document = parse(&text).unwrap();
    assert!(document.to_file(Path::new(FILE)).is_ok());
    document.agents[0].allowlist.push(Entry::of("y".repeat(1 << 20)));
    assert!(matches!(document.to_file(Path::new(FILE)), Err(DocumentError::TooLarge { .. })));
}

#[test]
fn default_becomes_main() {
    let renamed = read(&json!({"version": 1, "agents": {"default": {"security": "deny"}}}));
    assert_eq!(security(&renamed, "main"), Some(Security::Deny));
    assert!(renamed.to_text().contains("\"main\""));
    let merged = read(&json!({"version": 1, "agents": {
        "default": {"security": "deny", "ask": "always", "k": 1, "allowlist": ["d", "x"],
            "mcpTools": [{"server": "s", "tool": "t", "source": "allow-always", "addedAt": 1}]},
        "main": {"security": "full", "allowlist": ["m", "D", {"pattern": "x", "argPattern": "^a$"}]},
    }}));
    assert_eq!(merged.agents.len(), 1);
    let main = &merged.agents[0];
    assert_eq!((main.rules.security, main.rules.ask), (Some(Security::Full), Some(Ask::Always)));
    let patterns: Vec<_> = main.allowlist.iter().map(|entry| entry.pattern.as_str()).collect();
    assert_eq!(patterns, ["m", "D", "x", "x"]);
    assert_eq!((main.mcp_tools.len(), main.rules.unknown.len()), (1, 1));
    assert_eq!(parse(&merged.to_text()).unwrap(), merged, "a second reading changes nothing");
}

#[test]
fn an_agent_then_all_then_the_defaults() {
    let document = read(&json!({"version": 1,
        "defaults": {"security": "deny", "ask": "always", "askFallback": "full"},
        "agents": {"*": {"security": "allowlist", "allowlist": ["a"]}, "OPS": {"security": "full", "allowlist": ["b"]}},
    }));
    let ops = AgentId::parse("ops").unwrap();
    let rules = document.rules(Some(&ops));
    let key = |set: Option<&str>| set.map(str::to_owned);
    assert_eq!(key(rules.security.as_ref().map(|s| s.key.as_str())).as_deref(), Some("agents.OPS.security"));
    assert_eq!(rules.ask.as_ref().map(|s| (s.value, s.key.as_str())), Some((Ask::Always, "defaults.ask")));
    let list: Vec<_> = rules.allowlist.iter().map(|entry| entry.pattern.as_str()).collect();
    assert_eq!(list, ["a", "b"]);
    assert_eq!(security(&document, "main"), Some(Security::Allowlist));
    assert_eq!(document.rules(None).allowlist.len(), 1);
    assert_eq!(rules.auto_allow_skills, None);
}

#[test]
fn what_an_entry_looks_at() {
    let hash = format!("sha256:cwd-argv:v1:{}", "0".repeat(64));
    for (pattern, arg, source, expected) in [
        ("rg", None, Source::Manual, Coverage::AnyArgs),
        ("rg", Some("^a$"), Source::Manual, Coverage::Argv),
        ("rg", Some(hash.as_str()), Source::AllowAlways, Coverage::ArgvAndCwd),
        ("rg", None, Source::AllowAlways, Coverage::Inactive),
        ("rg", Some("^a$"), Source::AllowAlways, Coverage::Inactive),
        ("rg", Some("sha256:argv:00"), Source::Manual, Coverage::Inactive),
        ("=command:0123456789abcdef", None, Source::AllowAlways, Coverage::CommandText),
        ("=node-command:0123456789abcdef", None, Source::AllowAlways, Coverage::CommandText),
        ("=command:0123456789abcdef", None, Source::Manual, Coverage::Inactive),
    ] {
        let entry = Entry { arg_pattern: arg.map(str::to_owned), source, ..Entry::of(pattern) };
        assert_eq!(entry.coverage(), expected, "{pattern} {arg:?} {source:?}");
    }
}

#[test]
fn entries_get_ids_once() {
    let mut document = read(&json!({"version": 1, "agents": {
        "a": {"allowlist": ["x", {"id": "1", "pattern": "y"}]}, "b": {"allowlist": [{"id": "1", "pattern": "z"}]},
    }}));
    let mut next = 0;
    let mut fresh = || {
        next += 1;
        format!("new-{next}")
    };
    assert!(document.name_entries(&mut fresh));
    let ids: Vec<_> =
        document.agents.iter().flat_map(|a| &a.allowlist).map(|e| e.id.clone().unwrap()).collect();
    assert_eq!(ids, ["new-1", "1", "new-2"]);
    assert!(!document.name_entries(fresh));
}

#[test]
fn a_broken_file_never_opens() {
    let file = Path::new(FILE);
    let good = parse(EXAMPLE).unwrap();
    let broken = [Found::Text("{"), Found::Text("{\"version\":2}"), Found::Unreadable("denied".to_owned())];
    for found in &broken {
        let held = hold(found, file, None);
        assert_eq!(held.document, Document::closed());
        assert!(matches!(held.standing, Standing::Closed(_)));
        let held = hold(found, file, Some(good.clone()));
        assert_eq!(held.document, good);
        assert!(held.standing.problem().is_some() && matches!(held.standing, Standing::LastGood(_)));
    }
    let absent = hold(&Found::Missing, file, None);
    assert_eq!((absent.document, absent.standing), (Document::default(), Standing::Absent));
    let gone = hold(&Found::Missing, file, Some(good.clone()));
    assert_eq!(gone.document, good, "a file that vanishes takes no rule with it");
    let text = hold(&Found::Text("{\"version\":1}"), file, Some(good));
    assert_eq!((text.document, text.standing), (Document::default(), Standing::Current));
    assert_eq!(security(&Document::closed(), "any"), Some(Security::Deny));
}

/// One slip of the hand in a document that closes the host never opens it: it is refused, or says the same.
#[test]
fn one_slip_never_opens() {
    let text =
        r#"{"version":1,"defaults":{"security":"deny"},"agents":{"*":{"ask":"always","security":"deny"}}}"#;
    let mut slips = Vec::new();
    for (at, c) in text.char_indices() {
        let (before, after) = (&text[..at], &text[at + 1..]);
        slips.push(format!("{before}{after}"));
        slips.push(format!("{before}{c}{c}{after}"));
        slips.extend(["x", " ", "\"", "_"].map(|other| format!("{before}{other}{after}")));
        let flipped = if c.is_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
        slips.push(format!("{before}{flipped}{after}"));
        if let Some(next) = after.chars().next() {
            slips.push(format!("{before}{next}{c}{}", &after[1..]));
        }
    }
    for slip in slips {
        let held = hold(&Found::Text(&slip), Path::new(FILE), None);
        assert_eq!(security(&held.document, "main"), Some(Security::Deny), "{slip}");
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::sample::select(vec![
            "deny",
            "allowlist",
            "full",
            "off",
            "on-miss",
            "always",
            "allow-always",
            "rg",
            " "
        ])
        .prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "version",
        "socket",
        "path",
        "token",
        "defaults",
        "security",
        "ask",
        "askFallback",
        "autoAllowSkills",
        "agents",
        "*",
        "main",
        "default",
        "Ops",
        "allowlist",
        "pattern",
        "argPattern",
        "id",
        "source",
        "commandText",
        "lastUsedAt",
        "mcpTools",
        "server",
        "tool",
        "addedAt",
        "novel",
        "zzz",
    ]);
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}") {
        if let Err(error) = parse(&text) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    /// What is read is written so that it is read the same, and a second writing changes nothing.
    #[test]
    fn what_is_read_survives(
        defaults in value(), agents in prop::collection::btree_map("[a-z*]{1,7}", value(), 0..3), other in value(),
    ) {
        for (defaults, agents) in [(defaults, json!({})), (json!({}), json!(agents))] {
            let text = json!({"version": 1, "defaults": defaults, "agents": agents, "other": other}).to_string();
            if let Ok(document) = parse(&text) {
                let written = document.to_text();
                let again = parse(&written).unwrap();
                prop_assert_eq!(&again, &document);
                prop_assert_eq!(again.to_text(), written);
            }
        }
    }
}
