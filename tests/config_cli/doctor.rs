//! What is wrong, and what `--fix` does about it.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::time::{Duration, SystemTime};

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::home::Home;

const SOUND: &str =
    "{ agents: { defaults: { sandbox: { mode: 'all', docker: { image: 'creel-minimal:latest' } } } } }";

/// The findings that are worth more than a note, by id, and the exit status.
fn bad(home: &Home, args: &[&str]) -> (Vec<String>, i32) {
    let (out, err, status) = home.run(&[&["doctor", "--json"], args].concat());
    let all: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    let worse = |one: &&Value| matches!(one["severity"].as_str(), Some("error" | "warning"));
    let ids = all["findings"].as_array().unwrap().iter().filter(worse);
    (ids.map(|one| one["id"].as_str().unwrap().to_owned()).collect(), status)
}

#[test]
fn a_sound_installation_is_well() {
    let home = Home::new(SOUND);
    assert_eq!(bad(&home, &[]), (vec![], 0));
    let text = home.ok(&["doctor"]);
    for part in ["ok       Docker", "creel-init is static", "creel-minimal:latest", "0 errors, 0 warnings"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains('\u{1b}'), "{text}");
    let names: Vec<_> =
        std::fs::read_dir(home.state()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["openclaw.json"], "looking writes nothing");
}

#[test]
fn an_engine_that_is_missing_is_told_with_every_place() {
    let home = Home::new(SOUND);
    let (ids, status) = bad(&home, &["--engine", "unix:///no/such.sock"]);
    assert_eq!((ids, status), (vec!["engine.unavailable".to_owned()], 1));
    let (out, _, _) = home.run(&["doctor", "--engine", "unix:///no/such.sock"]);
    assert!(out.contains("/no/such.sock (explicit setting): no such socket"), "{out}");
    // No session has a sandbox, and `creel exec` always makes one.
    let off = Home::new("{}");
    assert_eq!(bad(&off, &["--engine", "unix:///no/such.sock"]), (vec!["engine.unavailable".to_owned()], 1));
    let (out, _, _) = off.run(&["doctor", "--engine", "unix:///no/such.sock"]);
    assert!(out.contains("warning  no container engine found"), "{out}");
}

#[test]
fn a_configuration_that_cannot_be_used_does_not_end_it() {
    let home =
        Home::new("{ agents: { defaults: { sandbox: { mode: 'al', docker: { binds: ['/etc:/x'] } } } } }");
    assert_eq!(bad(&home, &[]), (vec!["config.problem".to_owned()], 1));
    let broken = Home::new("{ agents: ");
    assert_eq!(bad(&broken, &[]), (vec!["config.unreadable".to_owned()], 1));
    let (out, _, _) = broken.run(&["doctor"]);
    assert!(out.contains("ok       Docker"), "{out}");
}

#[test]
fn images_binds_and_init_are_looked_at() {
    let home = Home::new(
        "{ agents: { defaults: { sandbox: { mode: 'all', docker: { image: 'no-such:image', binds: ['/etc:/x'] } } } } }",
    );
    let mut command = home.creel(&["doctor", "--json"]);
    let out = command.env("CREEL_INIT", "/no/such/init").output().unwrap();
    let all: Value = serde_json::from_slice(&out.stdout).unwrap();
    let of =
        |id: &str| all["findings"].as_array().unwrap().iter().find(|one| one["id"] == id).cloned().unwrap();
    assert!(of("config.bind-refused")["rule"].as_str().unwrap().contains("openclaw.json:1:"));
    assert!(of("init.unusable")["what"].as_str().unwrap().contains("/no/such/init"));
    let image = of("image.missing");
    let refused = Home::new("{}").refused(&["exec", "--image", "no-such:image", "--", "true"]);
    assert!(refused.contains(image["fix"].as_str().unwrap()), "one fix in both places: {refused}");
    assert_eq!((image["severity"].as_str(), out.status.code()), (Some("error"), Some(1)));
    assert!(image["rule"].as_str().unwrap().ends_with("agents.defaults.sandbox.docker.image"));
}

#[test]
fn former_keys_are_rewritten_once_and_comments_stay() {
    let text = "// ours\n{\n  agents: {\n    defaults: { sandbox: { perSession: true, mode: 'all', docker: { image: 'creel-minimal:latest' } } },\n    list: [\n      { id: 'main' }, // first\n    ],\n  },\n}\n";
    let home = Home::new(text);
    let (ids, status) = bad(&home, &[]);
    assert_eq!((ids, status), (vec!["config.legacy-key".to_owned()], 1));
    assert_eq!(home.text(), text, "without --fix nothing changes");
    let (out, err, status) = home.run(&["doctor", "--fix"]);
    assert_eq!(status, 0, "{out}{err}");
    assert_eq!(out.matches("repaired ").count(), 2, "{out}");
    let fixed = home.text();
    for part in ["// ours", "// first", "entries: {", "main: {", "scope: \"session\""] {
        assert!(fixed.contains(part), "{part} in {fixed}");
    }
    assert!(!fixed.contains("perSession") && !fixed.contains("list"), "{fixed}");
    assert_eq!(home.json(&["config", "validate", "--json"])["valid"], true);
    let again = home.ok(&["doctor", "--fix"]);
    assert!(again.contains("nothing to repair"), "{again}");
    assert_eq!(home.text(), fixed);
}

#[test]
fn a_repair_that_would_leave_other_problems_says_so() {
    let text = "{ agents: { defaults: { sandbox: { perSession: true, mode: 'al' } } } }";
    let home = Home::new(text);
    let (out, _, status) = home.run(&["doctor", "--fix"]);
    assert_eq!(status, 1, "{out}");
    assert!(
        out.contains("not repaired") && out.contains("did you mean") || out.contains("must be one of"),
        "{out}"
    );
    assert_eq!(home.text(), text);
}

#[test]
fn what_is_left_behind_is_swept() {
    let home = Home::new(SOUND);
    home.ok(&["exec", "--", "true"]);
    let own = home.state().join("creel");
    let old = own.join("run/0123456789abcdef");
    std::fs::create_dir(&old).unwrap();
    let long_ago = SystemTime::now() - Duration::from_hours(1);
    std::fs::File::open(&old).unwrap().set_modified(long_ago).unwrap();
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755)).unwrap();
    // A container whose maker was killed before it was proven looks like this.
    for entry in std::fs::read_dir(own.join("proof")).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
    let wanted = ["state.mode", "sandbox.broken", "state.stale-runs"].map(str::to_owned).to_vec();
    assert_eq!(bad(&home, &[]), (wanted.clone(), 1));
    assert_eq!(bad(&home, &[]), (wanted, 1), "without --fix nothing changes");
    assert_eq!(bad(&home, &["--fix"]), (vec![], 0));
    assert!(!old.exists());
    assert_eq!(std::fs::metadata(&own).unwrap().mode() & 0o777, 0o700);
    assert_eq!(home.json(&["sandbox", "list", "--json"])["containers"], serde_json::json!([]));
    assert!(home.ok(&["doctor", "--fix"]).contains("nothing to repair"));
}

/// One that is in use or only idle is none of its business.
#[test]
fn a_sandbox_that_is_well_is_left_alone_and_drift_is_told() {
    let home = Home::new(SOUND);
    home.ok(&["exec", "--", "true"]);
    assert_eq!(bad(&home, &["--fix"]), (vec![], 0));
    assert_eq!(home.json(&["sandbox", "list", "--json"])["containers"].as_array().unwrap().len(), 1);
    std::fs::write(home.file(), SOUND.replace("docker: {", "docker: { pidsLimit: 77,")).unwrap();
    assert_eq!(bad(&home, &["--fix"]), (vec!["sandbox.drifted".to_owned()], 1));
    assert_eq!(home.json(&["sandbox", "list", "--json"])["containers"].as_array().unwrap().len(), 1);
}

/// In scope `session` each session has its own, and none is forgotten.
#[test]
fn every_session_is_looked_at_for_drift() {
    let text = SOUND.replace("mode: 'all'", "mode: 'all', scope: 'session'");
    let home = Home::new(&text);
    home.ok(&["exec", "--session", "agent:main:work", "--", "true"]);
    assert_eq!(bad(&home, &[]), (vec![], 0));
    std::fs::write(home.file(), text.replace("docker: {", "docker: { pidsLimit: 77,")).unwrap();
    assert_eq!(bad(&home, &[]), (vec!["sandbox.drifted".to_owned()], 1));
}

/// What a link leads to is somebody else's: it is told, and neither changed nor removed.
#[test]
fn links_in_the_state_directory_are_told_and_not_followed() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let home = Home::new("{}");
    let victim = home.state().with_file_name("victim");
    std::fs::create_dir_all(victim.join("0123456789abcdef")).unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_hours(1);
    std::fs::File::open(victim.join("0123456789abcdef")).unwrap().set_modified(old).unwrap();
    std::fs::set_permissions(&victim, std::fs::Permissions::from_mode(0o755)).unwrap();
    for place in ["creel/run", "creel"] {
        let _ = std::fs::remove_dir_all(home.state().join("creel"));
        let link = home.state().join(place);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(&victim, &link).unwrap();
        let (out, err, status) = home.run(&["doctor", "--fix"]);
        assert_eq!(status, 1, "{out}{err}");
        assert!(out.contains("state.link") && out.contains(place), "{out}");
        for args in [&["sandbox", "prune"][..], &["exec", "--", "true"]] {
            let (_, err, status) = home.run(args);
            assert_eq!(status, 125, "{args:?}");
            assert!(err.contains("CRL-STATE-004"), "{args:?}: {err}");
        }
        assert!(victim.join("0123456789abcdef").is_dir());
        assert_eq!(std::fs::metadata(&victim).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(std::fs::read_dir(&victim).unwrap().count(), 1, "nothing was put there");
    }
    std::fs::remove_file(home.state().join("creel")).unwrap();
    std::fs::set_permissions(home.state(), std::fs::Permissions::from_mode(0o777)).unwrap();
    assert!(home.run(&["doctor"]).0.contains("state.writable"));
}
