//! `creel engine` on a machine without an engine: a private mount and network namespace, so that an engine beside it
//! keeps its socket, its data and its bridge.

#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test starts the program under test")]

use std::process::{Command, Output};

/// What runs in the namespace: nothing of the machine's own engine is visible there.
const MACHINE: &str = r#"
mount --make-rprivate /
mount -t tmpfs tmpfs /run && mkdir -p /run/lock
mkdir -p /var/lib/docker && mount -t tmpfs tmpfs /var/lib/docker
ip link set lo up
creel() { "$CREEL" engine "$@" </dev/null; }
"#;

fn on_a_bare_machine(script: &str) -> Output {
    let state = tempfile::tempdir().unwrap();
    Command::new("unshare")
        .args(["--mount", "--net", "sh", "-ec", &format!("{MACHINE}\n{script}")])
        .env("CREEL", env!("CARGO_BIN_EXE_creel"))
        .env("CREEL_STATE_DIR", state.path())
        .env_remove("DOCKER_HOST")
        .env_remove("DOCKER_CONTEXT")
        .output()
        .unwrap()
}

#[test]
fn up_starts_an_engine_and_down_stops_that_one() {
    let output = on_a_bare_machine(
        r#"
        creel status && exit 90
        creel up --json > "$CREEL_STATE_DIR/first"
        creel up --json > "$CREEL_STATE_DIR/second"
        creel status
        pid=$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$CREEL_STATE_DIR/first")
        test "$(cat /proc/$pid/comm)" = dockerd
        cat "$CREEL_STATE_DIR/first" "$CREEL_STATE_DIR/second"
        creel down
        test ! -e /proc/$pid || grep -q ') Z ' /proc/$pid/stat
        creel down
        creel status && exit 91
        echo whole
        "#,
    );
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.ends_with("whole\n"), "{out}\n{err}");
    assert!(out.contains(r#""already":false"#) && out.contains(r#""already":true"#), "{out}");
    assert!(out.contains("started by    creel"), "{out}");
    assert!(out.contains("stopped dockerd") && out.contains("nothing to stop"), "{out}");
    assert!(err.contains("starting dockerd"), "{err}");
}

#[test]
fn a_named_engine_is_never_replaced() {
    let output = on_a_bare_machine(
        "DOCKER_HOST=unix:///nowhere/x.sock creel up && exit 90; test ! -e /var/run/docker.sock && echo whole",
    );
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && output.stdout == b"whole\n", "{err}");
    assert!(err.contains("/nowhere/x.sock (DOCKER_HOST): no such socket"), "{err}");
}

#[test]
fn a_dockerd_that_cannot_start_is_quoted() {
    let output =
        on_a_bare_machine("mount -t tmpfs -o ro tmpfs /var/lib/docker; creel up && exit 90; echo whole");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && output.stdout == b"whole\n", "{err}");
    assert!(err.contains("CRL-ENGINE-034") && err.contains("read-only file system"), "{err}");
}
