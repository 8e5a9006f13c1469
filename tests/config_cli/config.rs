use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use pretty_assertions::assert_eq;

use crate::home::Home;

const FILE: &str = "// ours\n{\n  // who\n  agents: {\n    list: [\n      { id: 'main', tools: { exec: { node: 'old' } } }, // first\n    ],\n  },\n  channels: { telegram: { token: '${TOKEN}' } },\n}\n";

#[test]
fn a_value_is_changed_and_nothing_else() {
    let home = Home::new(FILE);
    home.ok(&["config", "set", "agents.list[0].tools.exec.node", "build-box"]);
    assert_eq!(home.text(), FILE.replace("'old'", "\"build-box\""));
    assert_eq!(home.ok(&["config", "get", "agents.list[0].tools.exec.node"]), "build-box\n");
    home.ok(&["config", "set", "agents.defaults.sandbox.mode", "all"]);
    assert_eq!(
        home.ok(&["config", "get", "agents.defaults"]).replace(char::is_whitespace, ""),
        "{\"sandbox\":{\"mode\":\"all\"}}"
    );
    assert!(home.text().contains("// ours") && home.text().contains("// first"), "{}", home.text());
    home.ok(&["config", "unset", "agents.defaults"]);
    home.ok(&["config", "unset", "agents.list[0].tools"]);
    assert_eq!(home.text(), FILE.replace(", tools: { exec: { node: 'old' } }", ""));
}

#[test]
fn values_are_json5_or_text() {
    let home = Home::new("{}");
    for (value, flag, stored) in [
        ("1.5", false, "1.5"),
        ("1.5", true, "\"1.5\""),
        ("['/srv:/srv:ro']", false, "[\"/srv:/srv:ro\"]"),
        ("plain words", false, "\"plain words\""),
    ] {
        let args = ["config", "set", "other.value", value, "--string"];
        home.ok(&args[..if flag { 5 } else { 4 }]);
        let got = home.json(&["config", "get", "other.value", "--json"]);
        assert_eq!(got["value"].to_string(), stored);
        assert_eq!((got["key"].as_str(), got["origin"]["line"].as_u64()), (Some("other.value"), Some(1)));
    }
    assert_eq!(home.json(&["config", "set", "other.value", "plain words", "--json"])["changed"], false);
}

#[test]
fn what_would_not_be_valid_is_refused() {
    let home = Home::new(FILE);
    let set = |key: &str, value: &str| home.refused(&["config", "set", key, value]);
    assert!(set("agents.defaults.sandbox.mode", "al").contains("did you mean \"all\"?"));
    assert!(set("agents.defaults.sandbox.docker.memroy", "1g").contains("did you mean memory?"));
    assert!(set("agents.defaults.sandbox.docker.network", "host").contains("CRL-CONFIG-004"));
    assert!(set("agents.list[0].id", "").contains("CRL-CONFIG-004"));
    assert!(set("agents.list[3].id", "x").contains("CRL-CONFIG-007"));
    assert!(set("agents.list.main", "x").contains("CRL-CONFIG-007"));
    assert!(set("agents..x", "1").contains("CRL-CLI-005"));
    // Each layer is sound; together they are not.
    home.ok(&["config", "set", "agents.defaults.sandbox.docker.memory", "2g"]);
    let err = home.refused(&["config", "set", "agents.list[0].sandbox.docker.memorySwap", "1g"]);
    assert!(err.contains("memorySwap"), "{err}");
    assert!(home.refused(&["config", "unset", "agents.nothing"]).contains("CRL-CONFIG-006"));
    assert!(home.refused(&["config", "unset", "agents.list[0].id"]).contains("has no id"));
}

#[test]
fn problems_come_all_at_once() {
    let home = Home::new("{ agents: { defaults: { sandbox: {\n  mode: 'al',\n  scop: 1 } } } }");
    let err = home.refused(&["config", "validate"]);
    assert!(err.contains("openclaw.json:2:3") && err.contains("openclaw.json:3:3"), "{err}");
    let lines: Vec<&str> = err.lines().collect();
    assert!(
        lines[2].trim_start().starts_with("fix: ") && lines[4].trim_start().starts_with("fix: "),
        "{err}"
    );
    assert!(lines[5].trim_start().starts_with("rule: ") && lines[5].ends_with("openclaw.json"), "{err}");
    let (out, _, status) = home.run(&["config", "validate", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (status, &found["valid"], found["problems"].as_array().unwrap().len()),
        (125, &false.into(), 2)
    );
    assert_eq!(found["problems"][1]["key"], "agents.defaults.sandbox.scop");
    assert_eq!(Home::new(FILE).json(&["config", "validate", "--json"])["valid"], true);
}

/// The text that a line and column would point into was never written.
#[test]
fn a_refused_change_names_what_was_given() {
    let home = Home::new(FILE);
    let err = home.refused(&["config", "set", "agents.defaults.sandbox.mode", "al"]);
    for part in [
        "setting agents.defaults.sandbox.mode to \"al\" is refused: ",
        "rule: agents.defaults.sandbox.mode\n",
    ] {
        assert!(err.contains(part), "{part} in {err}");
    }
    assert!(!err.contains("openclaw.json:"), "{err}");
    let err = home.refused(&["config", "unset", "agents.list[0].id"]);
    assert!(err.contains("removing agents.list[0].id is refused: ") && err.contains("has no id"), "{err}");
    for secret in [
        ["agents.defaults.sandbox.docker.env.API_TOKEN", "['hunter2']"],
        ["agents.defaults.sandbox.docker", "{env: {X: 'hunter2'}, x: 1}"],
    ] {
        let err = home.refused(&["config", "set", secret[0], secret[1]]);
        assert!(!err.contains("hunter2"), "{err}");
    }
}

/// What `validate` refuses cannot be written, in any way.
#[test]
fn the_same_check_judges_a_change() {
    let home = Home::new("{ agents: { defaults: { sandbox: { mode: 'all' } } } }");
    let docker = "agents.defaults.sandbox.docker";
    let absent = home.state().join("profile.json");
    for (key, value, word) in [
        ("binds", "['/etc:/x']", "denied host path"),
        ("memory", "5m", "6 MiB"),
        ("memorySwap", "1g", "docker.memory is not set"),
        ("tmpfs", "['/tmp:sise=1']", "did you mean size?"),
        ("seccompProfile", absent.to_str().unwrap(), "cannot be read"),
    ] {
        let err = home.refused(&["config", "set", &format!("{docker}.{key}"), value]);
        assert!(err.contains(word) && err.contains(&format!("{docker}.{key}")), "{key}: {err}");
        let text = format!(
            "{{ agents: {{ defaults: {{ sandbox: {{ docker: {{ {key}: {} }} }} }} }} }}",
            if value.starts_with('[') { value.to_owned() } else { format!("'{value}'") }
        );
        let err = Home::new(&text).refused(&["config", "validate"]);
        assert!(err.contains(word) && err.contains("openclaw.json:1:"), "{key}: {err}");
    }
    // A broken file can be mended step by step, and is told that it is broken still.
    let broken = Home::new("{ agents: { defaults: { sandbox: { mode: 'al', scop: 1 } } } }");
    let out = broken.ok(&["config", "set", "agents.defaults.sandbox.mode", "all"]);
    assert!(out.contains("still has a problem"), "{out}");
    broken.refused(&["config", "set", "agents.defaults.sandbox.backnd", "docker"]);
    let left = broken.json(&["config", "unset", "agents.defaults.sandbox.scop", "--json"]);
    assert_eq!(left["problemsLeft"], 0);
    broken.ok(&["config", "validate"]);
}

/// Told before the first command meets it. A change of another key is not held up by it.
#[test]
fn binds_are_judged_too() {
    let home = Home::new(
        "{ agents: { defaults: { sandbox: { docker: {\n  binds: ['/etc:/host-etc'] } } }, entries: { a: {}, b: {} } } }",
    );
    let err = home.refused(&["config", "validate"]);
    assert!(err.contains("openclaw.json:2:11 agents.defaults.sandbox.docker.binds[0]"), "{err}");
    assert_eq!(err.matches("/host-etc").count(), 1, "{err}");
    let out = home.ok(&["config", "set", "agents.defaults.sandbox.mode", "all"]);
    assert!(out.contains("still has a problem"), "{out}");
    home.refused(&["config", "set", "agents.defaults.sandbox.docker.binds[1]", "/etc:/other"]);
    home.ok(&["config", "unset", "agents.defaults.sandbox.docker.binds"]);
    home.ok(&["config", "validate"]);
}

#[test]
fn the_file_keeps_its_mode_and_a_link_stays_a_link() {
    let home = Home::new("{}");
    let real = home.state().join("real.json5");
    std::fs::rename(home.file(), &real).unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("real.json5", home.file()).unwrap();
    home.ok(&["config", "set", "agents.defaults.sandbox.mode", "all"]);
    assert!(home.file().is_symlink());
    assert!(std::fs::read_to_string(&real).unwrap().contains("all"));
    assert_eq!(std::fs::metadata(&real).unwrap().mode() & 0o777, 0o640);
}

#[test]
fn a_missing_file_is_made_private() {
    let home = Home::new("{}");
    std::fs::remove_file(home.file()).unwrap();
    home.ok(&["config", "validate"]);
    home.ok(&["config", "set", "agents.defaults.sandbox.mode", "all"]);
    assert_eq!(home.text(), "{ agents: { defaults: { sandbox: { mode: \"all\" } } } }\n");
    assert_eq!(std::fs::metadata(home.file()).unwrap().mode() & 0o777, 0o600);
}

/// No change is lost, whoever else changes the file.
#[test]
fn many_changes_at_once() {
    let home = Home::new("{\n  // kept\n}\n");
    let change =
        |number: usize| home.creel(&["config", "set", &format!("other.k{number}"), "1"]).spawn().unwrap();
    let children: Vec<_> = (0..8).map(change).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let all = home.json(&["config", "get", "other"]);
    assert_eq!(all.as_object().unwrap().len(), 8, "{}", home.text());
    assert!(home.text().contains("// kept"));
}

#[test]
fn the_schema_is_printed() {
    let schema: serde_json::Value = serde_json::from_str(&Home::new("{}").ok(&["config", "schema"])).unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/openclaw.schema.json");
    assert_eq!(
        schema,
        serde_json::from_str::<serde_json::Value>(&std::fs::read_to_string(file).unwrap()).unwrap()
    );
}
