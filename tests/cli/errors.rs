use pretty_assertions::assert_eq;

use crate::home::{Done, Home};

fn refused(done: &Done, code: &str, words: &[&str]) {
    assert_eq!((done.out.as_str(), done.status), ("", Some(125)), "{}", done.err);
    for word in std::iter::once(&code).chain(words) {
        assert!(done.err.contains(word), "{word} is missing in: {}", done.err);
    }
}

/// Each names the thing and the fix, and leaves nothing behind.
#[test]
fn bad_input_is_refused_before_anything_is_made() {
    let home = Home::new();
    let run = |args: &[&str]| home.run(&[&["exec"], args, &["--", "true"]].concat());
    refused(&run(&["--bind", "/etc:/x"]), "CRL-BIND", &["/etc", "fix:"]);
    refused(&run(&["--bind", "relative:/x"]), "CRL-BIND", &["relative"]);
    refused(&run(&["--workspace", "/"]), "CRL-WORKSPACE", &["/"]);
    refused(&run(&["--workspace", "/no/such/dir"]), "CRL-WORKSPACE", &["/no/such/dir"]);
    refused(&run(&["--agent", "nobody"]), "CRL-", &["nobody"]);
    refused(&run(&["--config", "/no/such/file"]), "CRL-CONFIG", &["/no/such/file"]);
    refused(&run(&["--engine", "unix:///no/such.sock"]), "CRL-ENGINE", &["/no/such.sock"]);
    refused(&run(&["--engine", "ssh://host"]), "CRL-ENGINE", &["ssh"]);
    refused(
        &run(&["--image", "creel-nothing:1"]),
        "CRL-ENGINE-004",
        &["creel-nothing:1", "images pull", "rule: --image"],
    );
    assert!(home.sandboxes().is_empty());
}

#[test]
fn bad_calls_are_refused_by_name() {
    let home = Home::new();
    refused(&home.run(&["exec", "--env", "1A=x", "--", "true"]), "CRL-CLI-002", &["--env", "1A"]);
    refused(&home.run(&["exec", "--env", "A", "--", "true"]), "CRL-CLI-002", &["no value", "--env A=VALUE"]);
    refused(&home.run(&["exec", "--", "", "x"]), "CRL-CLI-002", &["empty"]);
    refused(&home.run(&["exec", "--workdir", "~/x", "--", "true"]), "CRL-CLI-002", &["--workdir", "~/x"]);
    refused(&home.run(&["exec", "--timeout", "-1", "--", "true"]), "", &["--timeout"]);
    refused(&home.run(&["exec", "--unknown", "--", "true"]), "", &["--unknown"]);
    refused(&home.run(&["exec", "true"]), "", &["--"]);
    refused(&home.run(&["exec"]), "", &["COMMAND"]);
}

#[test]
fn a_broken_configuration_runs_nothing() {
    let home = Home::new();
    let file = home.state().join("openclaw.json");
    std::fs::write(&file, "{ agents: { defaults: { sandbox: { docker: {\n  memroy: '1g' } } } } }").unwrap();
    let done = home.run(&["exec", "--", "true"]);
    refused(&done, "CRL-CONFIG", &["memroy", "memory", "openclaw.json:2"]);
}

#[test]
fn what_does_not_run_says_why() {
    let home = Home::new();
    let run = |args: &[&str]| home.run(&[&["exec"], args].concat());
    let told = |done: &Done, status: i32, code: &str| {
        assert_eq!(done.status, Some(status), "{}", done.err);
        assert!(done.err.contains(code), "{}", done.err);
    };
    told(&run(&["--workdir", "/nope", "--", "true"]), 125, "CRL-EXEC-012");
    let missing = run(&["--", "no-such-program", "x"]);
    told(&missing, 127, "CRL-EXEC-014");
    told(&missing, 127, "image creel-minimal:latest may not have it");
    told(&run(&["--", "/etc/passwd", "x"]), 126, "CRL-EXEC-015");
    told(&run(&["--", "/etc", "x"]), 126, "CRL-EXEC-015");
    assert_eq!(run(&["--", "no-such-program"]).status, Some(127));
}

/// Whoever reads the exit status learns that the result never arrived.
#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let home = Home::new();
    let run = |args: &[&str]| {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = home.creel(args).stdout(full).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for args in [
        &["exec", "--", "echo one; exit 3"][..],
        &["exec", "--json", "--", "exit 3"],
        &["exec", "--", "yes"],
        &["sandbox", "list"],
        &["sandbox", "list", "--json"],
        &["sandbox", "explain"],
        &["sandbox", "explain", "--json"],
        &["config", "get", "agents"],
        &["config", "validate"],
        &["config", "schema"],
        &["tools", "list"],
        &["images", "list"],
        &["images", "list", "--json"],
        &["engine", "status"],
        &["--help"],
        &["exec", "--help"],
    ] {
        let (status, err) = run(args);
        assert_eq!(status, Some(125), "{args:?}: {err}");
        assert!(err.contains("CRL-CLI-004") && err.contains("No space left"), "{args:?}: {err}");
    }
}

/// A reader that has seen enough is no failure of creel.
#[test]
fn a_reader_that_leaves_is_quiet() {
    let home = Home::new();
    for args in [&["config", "schema"][..], &["sandbox", "list"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = home.creel(args).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{args:?}");
    }
}
