//! `list`, `recreate`, `stop` and `prune` as a person and a program call them.

use std::io::{Read as _, Write as _};
use std::process::Stdio;

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::home::Home;

const TWO: &str = "{ agents: { defaults: { sandbox: { scope: 'session', docker: { image: 'IMAGE' } } }, \
                   list: [{ id: 'main' }, { id: 'ma' }] } }";

fn containers(home: &Home) -> Vec<Value> {
    home.containers()
}

fn keys(all: &[Value]) -> Vec<&str> {
    let mut keys: Vec<&str> = all
        .iter()
        .map(|one| one["sessionKey"].as_str().unwrap().split(":workspace:").next().unwrap())
        .collect();
    keys.sort_unstable();
    keys
}

/// A command that runs until its input ends; its sandbox is in use meanwhile.
struct User(std::process::Child);

impl User {
    fn of(home: &Home, args: &[&str]) -> Self {
        let args = [&["exec", "--stdin"], args, &["--", "echo up; cat"]].concat();
        let mut child = home.creel(&args).stdin(Stdio::piped()).spawn().unwrap();
        let mut word = [0; 3];
        child.stdout.as_mut().unwrap().read_exact(&mut word).unwrap();
        assert_eq!(&word, b"up\n");
        Self(child)
    }

    fn leave(mut self) -> Option<i32> {
        drop(self.0.stdin.take());
        self.0.wait().unwrap().code()
    }
}

#[test]
fn the_list_has_upstreams_fields_and_ours() {
    let home = Home::with_docker("memory: '64m'");
    home.sh("true");
    let all = containers(&home);
    let one = &all[0];
    assert_eq!(home.json(&["sandbox", "list", "--json"])["browsers"], Value::Array(Vec::new()));
    for key in ["containerName", "runtimeLabel", "sessionKey", "workspaceDir", "image", "configHash"] {
        assert!(one[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {one}");
    }
    for key in ["createdAtMs", "lastUsedAtMs"] {
        assert!(one[key].as_u64().is_some_and(|ms| ms > 1_600_000_000_000), "{key}: {one}");
    }
    assert_eq!(one["runtimeLabel"], one["containerName"]);
    assert_eq!((one["backendId"].as_str(), one["configLabelKind"].as_str()), (Some("docker"), Some("Image")));
    assert_eq!((one["running"].as_bool(), one["imageMatch"].as_bool()), (Some(true), Some(true)));
    assert_eq!((one["hashMatch"].as_bool(), one["drift"].as_array().unwrap().len()), (Some(true), 0));
    assert_eq!((one["leases"].as_u64(), one["commands"].as_u64()), (Some(0), Some(0)));
    assert_eq!((one["transport"].as_str(), one["proven"].as_bool()), (Some("init"), Some(true)));
    let mounts = one["mounts"].as_array().unwrap();
    assert!(mounts.iter().any(|mount| mount["subject"] == "/workspace" && mount["verdict"] == "ok"), "{one}");

    home.docker("memory: '65m'");
    let one = &containers(&home)[0];
    assert_eq!((one["hashMatch"].as_bool(), one["imageMatch"].as_bool()), (Some(false), Some(true)));
    assert!(one["drift"][0].as_str().unwrap().starts_with("limits:"), "{one}");
    let text = home.ok(&["sandbox", "list"]);
    for part in [
        "status    running, proven",
        "in use    no",
        "drift     limits: memory: 67108864",
        "Total: 1 (1 running)",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    assert!(text.contains("renew     creel sandbox recreate --agent main"), "{text}");
    assert!(text.contains("creel sandbox recreate --all --mismatched"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours where there is no terminal: {text}");

    home.configure("{ broken");
    let one = &containers(&home)[0];
    assert!(one["hashMatch"].is_null() && one["notCompared"].is_string(), "{one}");
    assert_eq!(
        home.json(&["sandbox", "list", "--browser", "--json"])["containers"],
        Value::Array(Vec::new())
    );
}

#[test]
fn another_image_in_the_configuration_is_a_mismatch_and_an_option_is_none() {
    let home = Home::new();
    let dir = home.open_dir("ws").display().to_string();
    home.sh("true");
    home.ok(&["exec", "--workspace", &dir, "--", "true"]);
    home.configure("{ agents: { defaults: { sandbox: { docker: { image: 'creel-other:1' } } } } }");
    let all = containers(&home);
    let own = all.iter().find(|one| one["workspaceDir"] != dir).unwrap();
    let variant = all.iter().find(|one| one["workspaceDir"] == dir).unwrap();
    assert_eq!(own["imageMatch"], false);
    assert!(
        variant["imageMatch"] == true && variant["notCompared"].as_str().unwrap().contains("--workspace")
    );
}

#[test]
fn selections_are_exact() {
    let home = Home::with(TWO);
    for session in ["agent:main:main", "agent:main:x", "agent:ma:main"] {
        home.ok(&["exec", "--session", session, "--", "true"]);
    }
    let scope = |key: &str| {
        let all = containers(&home);
        let found = all.iter().map(|one| one["sessionKey"].as_str().unwrap().to_owned());
        found.into_iter().find(|full| full.starts_with(&format!("{key}:workspace:")))
    };
    // What is not exactly a scope key is nothing.
    let none = home.run(&["sandbox", "recreate", "--session", "agent:main:x", "--force"]);
    let key = scope("agent:main:x").unwrap();
    assert_eq!((none.status, none.out.contains(&key)), (Some(0), true), "{none:?}");
    let none = home.ok(&["sandbox", "recreate", "--session", "agent:main:other", "--force"]);
    assert!(none.contains("agent:main:other:workspace:") && none.contains("no sandbox has that"), "{none}");
    let none = home.json(&["sandbox", "recreate", "--session", "agent:main:x", "--force", "--json"]);
    assert!(none["hint"].as_str().unwrap().contains(&key), "{none}");
    let dry = home.json(&["sandbox", "recreate", "--session", &key, "--dry-run", "--json"]);
    assert_eq!((dry["dryRun"].as_bool(), dry["removed"].as_u64()), (Some(true), Some(0)), "{dry}");
    assert_eq!(
        (&dry["runtimes"][0]["sessionKey"], &dry["runtimes"][0]["action"]),
        (&key.into(), &"remove".into())
    );
    assert_eq!(containers(&home).len(), 3);
    let key = scope("agent:main:x").unwrap();
    let done = home.json(&["sandbox", "recreate", "--session", &key, "--force", "--json"]);
    assert_eq!((done["removed"].as_u64(), done["failed"].as_u64()), (Some(1), Some(0)), "{done}");
    assert_eq!(keys(&containers(&home)), ["agent:ma:main", "agent:main:main"]);
    let out = home.ok(&["sandbox", "recreate", "--agent", "ma", "--force"]);
    assert!(out.contains("Done: 1 removed, 0 kept, 0 failed"), "{out}");
    assert_eq!(keys(&containers(&home)), ["agent:main:main"]);
    home.ok(&["sandbox", "recreate", "--all", "--force"]);
    assert_eq!(containers(&home).len(), 0);
    assert!(home.state().join("sandboxes").read_dir().unwrap().count() >= 3, "workspaces stay");
}

#[test]
fn without_one_selection_or_somebody_to_ask_it_is_refused() {
    let home = Home::new();
    home.sh("true");
    for args in [&[][..], &["--all", "--agent", "main"], &["--session", "x", "--agent", "main"]] {
        let done = home.run(&[&["sandbox", "recreate", "--force"], args].concat());
        assert_eq!((done.status, done.err.contains("exactly one of")), (Some(1), true), "{done:?}");
    }
    let done = home.run(&["sandbox", "recreate", "--all"]);
    assert_eq!((done.status, done.err.contains("--force")), (Some(1), true), "{done:?}");
    assert_eq!(containers(&home).len(), 1);
}

#[test]
fn mismatched_takes_what_differs() {
    let home = Home::with(TWO);
    home.ok(&["exec", "--session", "agent:main:x", "--", "true"]);
    let dry = home.json(&["sandbox", "recreate", "--all", "--mismatched", "--dry-run", "--json"]);
    assert_eq!(dry["runtimes"].as_array().unwrap().len(), 0, "{dry}");
    home.configure(&TWO.replace("'IMAGE'", "'IMAGE', pidsLimit: 77"));
    home.ok(&["exec", "--session", "agent:ma:y", "--", "true"]);
    let done = home.json(&["sandbox", "recreate", "--all", "--mismatched", "--force", "--json"]);
    assert_eq!(done["removed"], 1, "{done}");
    assert_eq!(keys(&containers(&home)), ["agent:ma:y"]);
}

#[test]
fn one_in_use_is_told_and_kept_without_force() {
    let home = Home::new();
    let user = User::of(&home, &[]);
    let all = containers(&home);
    assert_eq!((all[0]["leases"].as_u64(), all[0]["commands"].as_u64()), (Some(1), Some(1)));
    assert!(home.ok(&["sandbox", "list"]).contains("in use    by 1 process and runs 1 command"));
    for args in [&["stop", "--all"][..], &["prune"], &["recreate", "--all"]] {
        let args = [&["sandbox"], args, &["--dry-run", "--json"]].concat();
        let plan = home.json(&args);
        assert_eq!(plan["runtimes"][0]["action"], "keep", "{plan}");
        assert!(plan["runtimes"][0]["reason"].as_str().unwrap().contains("in use by 1 process"), "{plan}");
    }
    let forced = home.json(&["sandbox", "stop", "--all", "--force", "--dry-run", "--json"]);
    assert_eq!(forced["runtimes"][0]["action"], "remove", "{forced}");
    home.run(&["sandbox", "stop", "creel-nobody", "--dry-run"]).refused("CRL-CLI-003", &["creel-nobody"]);
    let stopped = home.run(&["sandbox", "stop", "--all"]);
    assert_eq!(stopped.status, Some(125), "{stopped:?}");
    let pruned = home.json(&["sandbox", "prune", "--json"]);
    assert_eq!((&pruned["runtimes"], &pruned["kept"]), (&Value::Array(Vec::new()), &1.into()), "{pruned}");
    assert_eq!(user.leave(), Some(0));
    let plan = home.json(&["sandbox", "prune", "--dry-run", "--json"]);
    let reason = plan["runtimes"][0]["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("idle for ") && reason.contains("of 24 h") && reason.contains("of 7 d"),
        "{plan}"
    );
    home.ok(&["sandbox", "recreate", "--all", "--force"]);
    assert_eq!(containers(&home).len(), 0);
}

/// On a terminal the answer decides, and silence is no.
#[test]
fn a_person_is_asked() {
    use portable_pty::{CommandBuilder, PtySize, native_pty_system};
    let home = Home::new();
    home.sh("true");
    for (answer, wanted, left) in [("\n", "Cancelled.", 1), ("y\n", "Done: 1 removed", 0)] {
        let pair = native_pty_system().openpty(PtySize::default()).unwrap();
        let plain = home.creel(&["sandbox", "recreate", "--all"]);
        let mut command = CommandBuilder::new(plain.get_program());
        command.args(plain.get_args());
        command.cwd(home.dir());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            }
        }
        let mut child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        pair.master.take_writer().unwrap().write_all(answer.as_bytes()).unwrap();
        let mut out = Vec::new();
        // A terminal whose other end is gone reads as an error.
        let _ = reader.read_to_end(&mut out);
        let out = String::from_utf8_lossy(&out).into_owned();
        assert!(child.wait().unwrap().success(), "{out}");
        assert!(out.contains("[y/N]") && out.contains(wanted), "{out}");
        assert_eq!(containers(&home).len(), left);
    }
}

/// One shape for what would be done and what was done, with and without something to do.
#[test]
fn stop_and_prune_tell_the_same_way() {
    let home = Home::new();
    assert_eq!(home.ok(&["sandbox", "stop", "--all"]), "nothing to stop: there are no sandboxes\n");
    assert_eq!(home.ok(&["sandbox", "prune"]), "nothing to prune: there are no sandboxes\n");
    let user = User::of(&home, &[]);
    assert_eq!(home.ok(&["sandbox", "prune"]), "nothing to prune: 1 kept, see --dry-run\n");
    let plan = home.ok(&["sandbox", "prune", "--dry-run"]);
    assert!(plan.contains("0 to be removed, 1 kept"), "{plan}");
    let shape = |value: &Value| {
        let keys = value.as_object().unwrap().keys().filter(|key| *key != "error");
        keys.cloned().collect::<Vec<_>>()
    };
    let expected = ["dryRun", "failed", "kept", "removed", "runtimes"];
    for args in [&["stop", "--all"][..], &["prune"], &["stop", "creel-nobody"]] {
        for more in [&["--json"][..], &["--json", "--dry-run"]] {
            let args = [&["sandbox"], args, more].concat();
            let mut told = shape(&home.json(&args));
            told.sort();
            assert_eq!(told, expected, "{args:?}");
        }
    }
    let kept = home.run(&["sandbox", "stop", "--all", "--json"]);
    let told: Value = serde_json::from_str(&kept.out).unwrap();
    assert_eq!((kept.status, &told["kept"]), (Some(125), &1.into()), "{told}");
    assert_eq!(told["error"]["code"], "CRL-SANDBOX-011", "{told}");
    assert_eq!(user.leave(), Some(0));
    let told = home.json(&["sandbox", "stop", "--all", "--json"]);
    assert_eq!((&told["removed"], &told["runtimes"][0]["outcome"]), (&1.into(), &"removed".into()), "{told}");
}
