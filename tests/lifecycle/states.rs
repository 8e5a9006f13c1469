//! What becomes of a container that is found under a sandbox's name (spec `sandbox.md` §11.2), row by row.

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::home::{Done, Home, docker};

/// A configuration of one scope with these keys beside the image.
fn scoped(scope: &str, keys: &str) -> String {
    format!(
        "{{ agents: {{ defaults: {{ sandbox: {{ scope: '{scope}', docker: {{ image: 'IMAGE', {keys} }} }} }} }} }}"
    )
}

fn other_mounts() -> &'static str {
    "binds: ['DIR/data:/data:ro'], dangerouslyAllowExternalBindSources: true"
}

/// A sandbox that exists, and was used just now.
fn made(scope: &str) -> (Home, Value) {
    let home = Home::with(&scoped(scope, ""));
    home.open_dir("data");
    home.sh("true");
    let one = home.only();
    (home, one)
}

fn id(home: &Home) -> Value {
    home.only()["id"].clone()
}

fn stop(sandbox: &Value) {
    docker(&["stop", "-t", "5", sandbox["containerName"].as_str().unwrap()]);
}

fn run(home: &Home) -> Done {
    let done = home.run(&["exec", "--", "echo ran"]);
    if done.status == Some(0) {
        assert_eq!(done.out, "ran\n", "{done:?}");
    }
    done
}

#[test]
fn equal_and_running_is_used() {
    let (home, first) = made("agent");
    home.cool(&first, 1);
    let cooled = home.only()["lastUsedAtMs"].as_u64();
    let done = run(&home);
    assert_eq!((done.status, done.err.as_str()), (Some(0), ""));
    let now = home.only();
    assert_eq!(now["id"], first["id"]);
    assert!(now["lastUsedAtMs"].as_u64() > cooled, "its use is noted");
}

/// Upstream starts it again; nobody would know what it mounts then.
#[test]
fn equal_and_stopped_is_made_anew() {
    let (home, first) = made("agent");
    stop(&first);
    assert_eq!(home.only()["running"], false);
    assert_eq!(run(&home).status, Some(0));
    assert_ne!(id(&home), first["id"]);
}

#[test]
fn different_and_stopped_is_made_anew() {
    let (home, first) = made("agent");
    stop(&first);
    home.configure(&scoped("agent", "pidsLimit: 99"));
    let done = run(&home);
    assert_eq!((done.status, done.err.as_str()), (Some(0), ""));
    assert_ne!(id(&home), first["id"]);
}

#[test]
fn different_and_long_unused_is_made_anew() {
    let (home, first) = made("agent");
    home.configure(&scoped("agent", other_mounts()));
    home.cool(&first, 1);
    let done = run(&home);
    assert_eq!((done.status, done.err.as_str()), (Some(0), ""));
    assert_ne!(id(&home), first["id"]);
}

#[test]
fn hot_with_the_same_mounts_is_used_and_told_with_the_hint_of_its_scope() {
    for scope in ["agent", "session", "shared"] {
        let (home, first) = made(scope);
        home.configure(&scoped(scope, "pidsLimit: 99"));
        let done = run(&home);
        assert_eq!(done.status, Some(0), "{done:?}");
        assert!(done.err.contains("older configuration") && done.err.contains("pids: 1024 → 99"), "{done:?}");
        assert!(done.err.contains(&format!("`{}`", hint(scope, &first))), "{done:?}");
        assert_eq!(id(&home), first["id"]);
        // The old hash stays: the next one is told too, until the container is gone.
        assert_eq!(home.only()["configHash"], first["configHash"]);
        assert!(run(&home).err.contains("older configuration"));
    }
}

#[test]
fn hot_with_other_mounts_is_an_error_and_is_kept() {
    for scope in ["agent", "session", "shared"] {
        let (home, first) = made(scope);
        home.configure(&scoped(scope, other_mounts()));
        let done = run(&home);
        done.refused("CRL-SANDBOX-013", &["/data", &hint(scope, &first)]);
        assert_eq!((done.out.as_str(), &id(&home)), ("", &first["id"]));
        // What the hint says helps.
        let hint = hint(scope, &first);
        let words: Vec<&str> = hint.split_whitespace().skip(1).chain(["--force"]).collect();
        home.ok(&words);
        assert_eq!(home.sh("ls -d /data"), "/data\n");
        assert_ne!(id(&home), first["id"]);
    }
}

/// Nobody knows when it was last used: that is no reason to end what may run there.
#[test]
fn an_unknown_last_use_is_hot() {
    let (home, first) = made("agent");
    std::fs::remove_file(home.state().join("creel/used").join(first["containerName"].as_str().unwrap()))
        .unwrap();
    home.configure(&scoped("agent", other_mounts()));
    run(&home).refused("CRL-SANDBOX-013", &["/data"]);
    assert_eq!(id(&home), first["id"]);
}

fn hint(scope: &str, sandbox: &Value) -> String {
    let key = sandbox["sessionKey"].as_str().unwrap();
    match scope {
        "agent" => "creel sandbox recreate --agent main".to_owned(),
        "session" => format!("creel sandbox recreate --session {key}"),
        _ => "creel sandbox recreate --all".to_owned(),
    }
}
