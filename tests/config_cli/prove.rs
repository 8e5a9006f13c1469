//! The boundary is tried, and what is open is told.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::process::Stdio;

use creel::Sandbox;
use creel::doctor::prove::{self, Intended, Row, Verdict};
use creel::runner::Transport;
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::home::Home;

fn config(docker: &str) -> String {
    format!(
        "{{ agents: {{ defaults: {{ sandbox: {{ docker: {{ image: 'creel-minimal:latest', {docker} }} }} }} }} }}"
    )
}

fn proof(home: &Home, args: &[&str]) -> (Value, i32) {
    let (out, err, status) = home.run(&[&["doctor", "--prove", "--json"], args].concat());
    (serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}")), status)
}

/// The verdicts over one kind of attempt.
fn verdicts<'p>(proof: &'p Value, check: &str) -> Vec<&'p str> {
    let rows = proof["attempts"].as_array().unwrap().iter().filter(|row| row["check"] == check);
    rows.map(|row| row["verdict"].as_str().unwrap()).collect()
}

/// Nothing of a proof stays: no container, no lock, no lease, no workspace.
fn nothing_left(home: &Home) {
    assert_eq!(home.json(&["sandbox", "list", "--json"])["containers"], serde_json::json!([]));
    for dir in ["creel/run", "creel/lock", "creel/lease", "creel/proof", "creel/used", "sandboxes"] {
        let entries = std::fs::read_dir(home.state().join(dir)).into_iter().flatten();
        let names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        assert!(names.is_empty(), "{dir} holds {names:?}");
    }
}

#[test]
fn the_default_boundary_holds() {
    let home = Home::new(&config(""));
    let (proof, status) = proof(&home, &[]);
    let unsound: Vec<&Value> = proof["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| !matches!(row["verdict"].as_str(), Some("held" | "allowed")))
        .collect();
    assert_eq!((unsound, status), (vec![], 0));
    assert_eq!((&proof["sound"], &proof["transport"]), (&true.into(), &"init".into()));
    for (check, least) in [
        ("write", 6),
        ("host-path", 4),
        ("denied-below", 1),
        ("kernel-setting", 7),
        ("control-group", 2),
        ("device-node", 3),
        ("capabilities", 5),
        ("system-call", 11),
        ("new-namespace", 4),
        ("mount", 3),
        ("init-memory", 4),
        ("init-signal", 3),
        ("engine-socket", 6),
        ("process-limit", 1),
    ] {
        let found = verdicts(&proof, check);
        assert!(found.len() >= least && found.iter().all(|one| *one == "held"), "{check}: {found:?}");
    }
    nothing_left(&home);
    let text = home.ok(&["doctor", "--prove"]);
    assert!(text.contains("0 open, 0 unknown") && !text.contains('\u{1b}'), "{text}");
}

/// What the configuration opens is told as that, never as held.
#[test]
fn a_loosened_boundary_shows_what_it_lets_through() {
    let home = Home::new(&config(
        "network: 'bridge', readOnlyRoot: false, user: '0:0', capDrop: ['NET_ADMIN'], pidsLimit: 64",
    ));
    let (proof, status) = proof(&home, &[]);
    assert_eq!(status, 0, "{proof:#}");
    let routes: Vec<&Value> =
        proof["attempts"].as_array().unwrap().iter().filter(|row| row["check"] == "route").collect();
    assert_eq!((&routes[0]["verdict"], &routes[0]["observed"]), (&"allowed".into(), &"works".into()));
    assert!(
        routes[0]["rule"].as_str().unwrap().ends_with("agents.defaults.sandbox.docker.network"),
        "{routes:?}"
    );
    for check in ["interfaces", "user-id", "change-root"] {
        assert_eq!(verdicts(&proof, check), ["allowed"], "{check}");
    }
    assert!(
        verdicts(&proof, "write").contains(&"allowed")
            && verdicts(&proof, "capabilities").contains(&"allowed")
    );
    // No key opens these.
    for check in
        ["mount", "new-namespace", "init-trace", "process-limit", "no-new-privileges", "engine-socket"]
    {
        assert!(verdicts(&proof, check).iter().all(|one| *one == "held"), "{check}");
    }
    nothing_left(&home);
}

/// The same sandbox against a promise that it does not keep: a proof that cannot fail proves nothing.
#[tokio::test]
async fn a_broken_promise_is_found() {
    let home = Home::new(&config(
        "network: 'bridge', readOnlyRoot: false, user: '0:0', capDrop: ['NET_ADMIN'], pidsLimit: 64",
    ));
    home.creel(&["exec"]); // the guard removes what is made here
    let options = Sandbox::options().state(home.state()).config(home.file());
    let preview = options.preview().unwrap();
    let sandbox = options.open().await.unwrap();
    let mut promise = Intended::of(&preview.request, &sandbox.ready().user);
    let endpoint = &sandbox.engine().facts().endpoint;
    prove::surroundings(&mut promise, &home.state(), endpoint, &preview.request.deny);
    let real = prove::attempt(&sandbox, &promise, "a1").await;
    assert!(real.iter().all(|row| row.verdict.is_sound()), "{real:?}");
    // The other road leads to the same sandbox.
    let sandbox = sandbox.over(Transport::Engine);
    let detour = prove::attempt(&sandbox, &promise, "a0").await;
    assert!(detour.iter().all(|row| row.verdict.is_sound()), "{detour:?}");
    let sandbox = sandbox.over(Transport::Init);

    promise.network = "none".to_owned();
    promise.read_only_root = true;
    promise.cap_drop = vec!["ALL".to_owned()];
    promise.pids = Some(16);
    promise.read_only.push("/workspace".to_owned());
    promise.writable.clear();
    let rows = prove::attempt(&sandbox, &promise, "a2").await;
    let open = |check: &str, subject: &str| {
        let row: &Row = rows.iter().find(|row| row.check == check && row.subject == subject).unwrap();
        assert_eq!(row.verdict, Verdict::Open, "{row:?}");
    };
    open("write", "/");
    open("write", "/workspace");
    open("route", "198.51.100.1");
    open("interfaces", "");
    open("user-id", "");
    open("capabilities", "CapBnd");
    open("process-limit", "");

    // Somebody's promise about a path that the sandbox really shares with the host.
    let shared = std::fs::metadata(&preview.request.workspace.dir).unwrap();
    let identity = format!("{}:{}", shared.dev(), shared.ino());
    promise.host_paths = BTreeMap::from([("/workspace".to_owned(), identity)]);
    let rows = prove::attempt(&sandbox, &promise, "a3").await;
    let seen = rows.iter().find(|row| row.check == "host-path").unwrap();
    assert_eq!((seen.verdict, seen.observed.as_str()), (Verdict::Open, "the host's own"));
    sandbox.stop().await.unwrap();
}

#[test]
fn an_agents_workspace_is_proven_as_it_is_mounted() {
    let home = Home::new("{}");
    let workspace = home.state().parent().unwrap().join("ws");
    std::fs::create_dir_all(workspace.join("skills")).unwrap();
    let docker = "docker: { image: 'creel-minimal:latest' }";
    let write = |access: &str| {
        let sandbox = format!("sandbox: {{ workspaceAccess: '{access}', {docker} }}");
        let text =
            format!("{{ agents: {{ defaults: {{ workspace: '{}', {sandbox} }} }} }}", workspace.display());
        std::fs::write(home.file(), text).unwrap();
    };
    let row = |proof: &Value, subject: &str| {
        let rows = proof["attempts"].as_array().unwrap().iter();
        let row =
            rows.clone().find(|row| row["check"] == "write" && row["subject"] == subject).unwrap().clone();
        (row["intended"].as_str().unwrap().to_owned(), row["verdict"].as_str().unwrap().to_owned())
    };
    let held = |intended: &str| (intended.to_owned(), "held".to_owned());
    write("rw");
    let (all, status) = proof(&home, &[]);
    assert_eq!(
        (row(&all, "/workspace"), row(&all, "/workspace/skills"), status),
        (held("works"), held("refused"), 0)
    );
    write("ro");
    let (all, status) = proof(&home, &[]);
    assert_eq!((row(&all, "/workspace"), row(&all, "/agent"), status), (held("refused"), held("refused"), 0));
    let names: Vec<_> =
        std::fs::read_dir(&workspace).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["skills"], "the agent's own files stay, and nothing is added");
    nothing_left(&home);
}

/// A file of the host that the deny list names has a second name in the workspace: no rule on paths sees it.
#[test]
fn what_is_denied_is_found_under_another_name() {
    let home = Home::new("{}");
    let (workspace, user) = (home.beside("ws/deep/down"), home.beside("home"));
    std::fs::write(user.join(".netrc"), "secret").unwrap();
    let config = format!(
        "{{ agents: {{ defaults: {{ workspace: '{}', sandbox: {{ workspaceAccess: 'rw', docker: {{ image: \
         'creel-minimal:latest' }} }} }} }} }}",
        workspace.parent().unwrap().parent().unwrap().display()
    );
    std::fs::write(home.file(), config).unwrap();
    let row = |proof: &Value| {
        let mut rows = proof["attempts"].as_array().unwrap().iter();
        rows.find(|row| row["check"] == "denied-below" && row["subject"] == "/workspace").unwrap().clone()
    };
    let (all, status) = proof(&home, &[]);
    assert_eq!((&row(&all)["verdict"], status), (&"held".into(), 0), "{all:#}");
    std::fs::hard_link(user.join(".netrc"), workspace.join("notes")).unwrap();
    let (all, status) = proof(&home, &[]);
    let found = row(&all);
    assert_eq!((&found["verdict"], status != 0), (&"open".into(), true), "{found}");
    let observed = found["observed"].as_str().unwrap();
    assert!(observed.contains("/workspace/deep/down/notes") && observed.contains(".netrc"), "{observed}");
    nothing_left(&home);
}

#[test]
fn a_sandbox_that_cannot_be_had_leaves_nothing() {
    let home = Home::new(&config("setupCommand: 'exit 3'"));
    let (_, err, status) = home.run(&["doctor", "--prove"]);
    assert_eq!(status, 125, "{err}");
    assert!(err.contains("CRL-SANDBOX-016"), "{err}");
    nothing_left(&home);
}

/// Interrupted while its sandbox is being made.
#[test]
fn an_interrupted_proof_leaves_nothing() {
    let home = Home::new(&config("setupCommand: 'touch /workspace/up; sleep 60'"));
    let child = home.creel(&["doctor", "--prove"]).stdout(Stdio::null()).spawn().unwrap();
    let up = || {
        let sandboxes = std::fs::read_dir(home.state().join("sandboxes")).into_iter().flatten().flatten();
        sandboxes.into_iter().any(|entry| entry.path().join("up").exists())
    };
    let patience = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while !up() {
        assert!(std::time::Instant::now() < patience, "the set-up command never ran");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    let done = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(125) && err.contains("CRL-DOCTOR-001"), "{err}");
    nothing_left(&home);
}
