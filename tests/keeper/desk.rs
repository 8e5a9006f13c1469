//! Questions of a real keeper, answered over its socket and on the command line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::home::{Done, Home, Lines, until};
use crate::inside::PATIENCE;

/// An installation where a person is asked about everything that is not listed.
fn asking() -> Home {
    let home = Home::new();
    let config = "{ tools: { exec: { host: 'gateway', mode: 'ask', grantExpiryDays: 3 } } }";
    std::fs::write(home.state().join("openclaw.json"), config).unwrap();
    home
}

/// A tool call whose caller waits inside the call.
fn call(home: &Home, command: &str, context: &Value) -> Child {
    let args = json!({ "command": command }).to_string();
    home.creel(&["tool", "exec", &args, "--context", &context.to_string()]).spawn().unwrap()
}

fn inline() -> Value {
    json!({ "approvalSurface": true })
}

/// The only question that waits.
fn waiting(home: &Home) -> String {
    let mut id = String::new();
    until("a question", || {
        let told = home.json(&["approvals", "pending", "--json"]);
        told["approvals"][0]["id"].as_str().unwrap_or_default().clone_into(&mut id);
        !id.is_empty()
    });
    id
}

fn result(child: Child) -> Value {
    let done = Done::of(child.wait_with_output().unwrap());
    serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {done:?}"))
}

#[test]
fn an_answer_within_a_moment_of_the_event_counts() {
    let home = asking();
    let watch = Lines::of(home.creel(&["approvals", "watch", "--json"]).stdin(std::process::Stdio::piped()));
    assert_eq!(watch.next(), "{\"watching\":true}");
    let marker = home.file("ran");
    let run = call(&home, &format!("touch {}", marker.display()), &inline());
    let asked: Value = serde_json::from_str(&watch.next()).unwrap();
    let record = &asked["requested"];
    assert!(record["commandText"].as_str().unwrap().starts_with("touch "), "{record}");
    assert!(!marker.exists(), "nothing runs before the answer");
    watch.say(&json!({ "id": record["id"], "decision": "allow-once" }).to_string());
    let told = result(run);
    assert_eq!(told["details"]["status"], "completed", "{told}");
    assert!(marker.exists());
    let mut seen = vec![watch.next(), watch.next()];
    seen.sort();
    assert!(seen[0].contains("\"answered\"") && seen[1].contains("\"resolved\""), "{seen:?}");
    // The same command asks again: it was for one run.
    let again = call(&home, &format!("touch {}", marker.display()), &inline());
    assert_ne!(waiting(&home), record["id"].as_str().unwrap());
    let denied = home.json(&["approvals", "deny", &waiting(&home), "--json"]);
    assert_eq!((&denied["applied"], &denied["approval"]["decision"]), (&json!(true), &json!("deny")));
    let told = result(again);
    assert_eq!(told["details"]["status"], "failed", "{told}");
    assert!(told["content"][0]["text"].as_str().unwrap().contains("user-denied"), "{told}");
}

#[test]
fn two_identical_calls_are_one_card_and_one_run() {
    let home = asking();
    let out = home.file("out");
    let command = format!("echo x >> {}", out.display());
    let runs = [call(&home, &command, &inline()), call(&home, &command, &inline())];
    let id = waiting(&home);
    // Both have asked when both wait for it: a look a little later still finds one.
    std::thread::sleep(Duration::from_millis(700));
    let pending = home.json(&["approvals", "pending", "--json"]);
    assert_eq!(pending["approvals"].as_array().unwrap().len(), 1, "{pending}");
    home.ok(&["approvals", "approve", &id]);
    let told: Vec<Value> = runs.into_iter().map(result).collect();
    let completed = told.iter().filter(|told| told["details"]["status"] == "completed").count();
    assert_eq!(completed, 1, "{told:?}");
    assert_eq!(std::fs::read_to_string(out).unwrap(), "x\n");
}

#[test]
fn decisions_are_told_apart_by_their_exit_status() {
    let home = asking();
    let run = call(&home, "uname", &inline());
    let id = waiting(&home);
    let short = &id[..8];
    assert_eq!(home.json(&["approvals", "show", short, "--json"])["approval"]["id"], id.as_str());
    home.ok(&["approvals", "deny", short]);
    assert!(home.ok(&["approvals", "resolve", &id, "deny"]).contains("already resolved (same decision)"));
    for (args, code) in [
        (["approvals", "approve", id.as_str()], "CRL-DESK-003"),
        (["approvals", "approve", "0badc0de"], "CRL-DESK-001"),
    ] {
        let done = home.run(&args);
        assert_eq!(done.status, Some(1), "{done:?}");
        assert!(done.err.contains(code), "{done:?}");
    }
    result(run);
    let history = home.json(&["events", "--json", "--session", "main"]);
    assert_eq!(history["kind"], "approval-resolved", "{history}");
}

#[test]
fn a_question_ends_with_its_keeper_and_its_id_lets_nothing_run() {
    let home = asking();
    let marker = home.file("ran");
    // The call returns at once, and the answer would come later.
    let told = home.json(&[
        "tool",
        "exec",
        &json!({ "command": format!("touch {}", marker.display()) }).to_string(),
    ]);
    assert_eq!(told["details"]["status"], "approval-pending", "{told}");
    let id = waiting(&home);
    let before = home.keeper();
    home.signal("-9");
    let done = home.run(&["approvals", "approve", &id]);
    assert_eq!(done.status, Some(1), "{done:?}");
    assert!(done.err.contains("has expired: creel was started again"), "{done:?}");
    assert_ne!(home.keeper(), before);
    let shown = home.json(&["approvals", "show", &id, "--json"]);
    assert_eq!(
        (&shown["approval"]["status"], &shown["approval"]["reason"]),
        (&json!("cancelled"), &json!("gateway-restart"))
    );
    assert!(home.json(&["approvals", "pending", "--json"])["approvals"].as_array().unwrap().is_empty());
    assert!(!marker.exists());
}

#[test]
fn nobody_waits_for_a_schedule_that_nobody_watches() {
    let home = asking();
    home.ok(&["approvals", "pending"]);
    let began = Instant::now();
    let told = result(call(&home, "uname", &json!({ "cron": true })));
    assert!(began.elapsed() < Duration::from_secs(10), "it must not wait for its time to be over");
    assert_eq!(told["error"]["code"], "CRL-APPR-004", "{told}");
    // With a surface it waits, and "always" is a grant for exactly this run.
    let watch = Lines::of(home.creel(&["approvals", "watch", "--json"]).stdin(std::process::Stdio::piped()));
    watch.next();
    let run = call(&home, "uname", &json!({ "cron": true }));
    let asked: Value = serde_json::from_str(&watch.next()).unwrap();
    let record = &asked["requested"];
    let always = record["allowedDecisions"].as_array().unwrap().contains(&json!("allow-always"));
    let id = record["id"].as_str().unwrap();
    if always {
        home.ok(&["approvals", "approve", id, "--always"]);
        assert_eq!(result(run)["details"]["status"], "completed");
        let grants = home.json(&["approvals", "grants", "list", "--json"]);
        let grant = &grants["grants"][0];
        assert_eq!(grant["useCount"], 1, "{grants}");
        assert!(grant["terms"]["expiresAtMs"].is_u64(), "grantExpiryDays holds: {grants}");
        assert_eq!(result(call(&home, "uname", &json!({ "cron": true })))["details"]["status"], "completed");
        let id = grant["grantId"].as_str().unwrap();
        assert!(home.ok(&["approvals", "grants", "revoke", id]).starts_with("revoked"));
        assert!(home.ok(&["approvals", "grants", "revoke", id]).starts_with("already-revoked"));
    } else {
        home.ok(&["approvals", "deny", id]);
        result(run);
    }
    assert_eq!(home.run(&["approvals", "grants", "revoke", "x"]).status, Some(1));
}

#[test]
fn a_caller_that_leaves_takes_its_question_along() {
    let home = asking();
    let run = call(&home, "uname", &inline());
    let id = waiting(&home);
    let done = std::process::Command::new("kill").args(["-INT", &run.id().to_string()]).output().unwrap();
    assert!(done.status.success());
    let _ = run.wait_with_output();
    until("its end", || {
        home.json(&["approvals", "show", &id, "--json"])["approval"]["status"] == "cancelled"
    });
    assert_eq!(home.run(&["approvals", "approve", &id]).status, Some(1));
}

#[test]
fn a_program_asks_and_is_answered() {
    let home = asking();
    home.ok(&["approvals", "pending"]);
    let mut connection = Talk::open(&home);
    connection.send(&json!({ "id": 1, "method": "approvals.request", "params": { "command": "deploy", "id": "own-1", "timeoutMs": 60000 } }));
    assert_eq!(waiting(&home), "own-1");
    home.ok(&["approvals", "approve", "own-1"]);
    let answer = connection.next();
    assert_eq!((&answer["id"], &answer["result"]["decision"]), (&json!(1), &json!("allow-once")), "{answer}");
    // A word that is no decision: an error and the question stands, or a denial, by the method.
    connection.send(&json!({ "id": 2, "method": "approvals.request", "params": { "command": "x", "id": "own-2", "twoPhase": true } }));
    assert_eq!(connection.next()["result"]["status"], "accepted");
    let mut ask = |method: &str, params: Value| {
        connection.send(&json!({ "id": 3, "method": method, "params": params }));
        connection.next()
    };
    let told = ask("approvals.resolve", json!({ "id": "own-2", "decision": "yes" }));
    assert_eq!(told["error"]["code"], "CRL-DESK-006");
    let told = ask("approvals.resolve", json!({ "id": "own-2", "decision": "allow-once", "kind": "plugin" }));
    assert_eq!(told["error"]["code"], "CRL-DESK-007");
    assert_eq!(ask("approvals.get", json!({ "id": "own-2" }))["result"]["status"], "pending");
    let told = ask("approvals.verdict", json!({ "id": "own-2", "decision": "yes" }));
    assert_eq!(told["result"]["approval"]["reason"], "malformed-verdict", "{told}");
    let told = ask("approvals.request", json!({ "command": "x", "restrict": true }));
    assert_eq!(told["error"]["code"], "CRL-KEEPER-009", "a restriction that is not understood is not taken");
}

#[test]
fn who_waits_a_second_waits_no_longer() {
    let home = asking();
    home.ok(&["approvals", "pending"]);
    let mut connection = Talk::open(&home);
    connection.send(&json!({ "id": 1, "method": "approvals.request", "params": { "command": "x", "id": "brief", "timeoutMs": 1000 } }));
    let answer = connection.next();
    assert_eq!(answer["result"]["decision"], Value::Null, "{answer}");
    assert_eq!(answer["result"]["terminalReason"], "timeout");
    let done = home.run(&["approvals", "approve", "brief"]);
    assert!(done.status == Some(1) && done.err.contains("CRL-DESK-002"), "{done:?}");
}

const TOKEN: &str = "a-token-of-this-test";

/// The document names the socket's secret.
fn with_socket(home: &Home) -> std::path::PathBuf {
    let document = json!({ "version": 1, "socket": { "token": TOKEN } });
    std::fs::write(home.state().join("exec-approvals.json"), document.to_string()).unwrap();
    home.state().join("exec-approvals.sock")
}

fn said(path: &std::path::Path, line: &Value) -> Option<Value> {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(format!("{line}\n").as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    serde_json::from_str(&answer).ok()
}

#[test]
fn the_approval_socket_answers_who_knows_the_secret() {
    let home = asking();
    let path = with_socket(&home);
    // As a process leaves it that was killed.
    drop(UnixListener::bind(&path).unwrap());
    home.ok(&["approvals", "pending"]);
    until("the socket", || UnixStream::connect(&path).is_ok());
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let line = |token: &str| json!({ "type": "request", "token": token, "id": "6f1c", "request": { "command": "deploy" } });
    assert_eq!(said(&path, &line("wrong")), None);
    let asking = {
        let (path, line) = (path.clone(), line(TOKEN));
        std::thread::spawn(move || said(&path, &line))
    };
    assert_eq!(waiting(&home), "6f1c");
    home.ok(&["approvals", "approve", "6f1c", "--always"]);
    assert_eq!(asking.join().unwrap().unwrap()["decision"], "allow-always");
    let exec = json!({
        "type": "exec", "id": "1", "nonce": "00112233445566778899aabbccddeeff", "ts": 1, "hmac": "00", "requestJson": "{}"
    });
    assert_eq!(said(&path, &exec).unwrap()["error"]["reason"], "unauthorized");
    // Removed by somebody, or left by a keeper that was killed: it comes back.
    std::fs::remove_file(&path).unwrap();
    until("the socket again", || UnixStream::connect(&path).is_ok());
    home.signal("-9");
    home.ok(&["approvals", "pending"]);
    until("the next keeper's socket", || UnixStream::connect(&path).is_ok());
}

#[test]
fn a_user_interface_at_the_socket_is_asked() {
    let home = asking();
    let path = with_socket(&home);
    let interface = UnixListener::bind(&path).unwrap();
    let shown = std::thread::spawn(move || {
        // The keeper looks whether somebody is there.
        for stream in interface.incoming() {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
            if line.is_empty() {
                continue;
            }
            let noise =
                "not json\n{\"type\":\"other\"}\n{\"type\":\"decision\",\"decision\":\"allow-once\"}\n";
            stream.write_all(noise.as_bytes()).unwrap();
            return serde_json::from_str::<Value>(&line).unwrap();
        }
        panic!("nobody came");
    });
    let told = result(call(&home, "uname", &json!({ "unattended": true })));
    assert_eq!(told["details"]["status"], "completed", "{told}");
    let line = shown.join().unwrap();
    assert_eq!((&line["type"], &line["token"]), (&json!("request"), &json!(TOKEN)), "{line}");
    assert_eq!(line["request"]["command"], "uname");
}

#[test]
fn a_command_line_without_a_terminal_says_how_to_answer() {
    let home = asking();
    let run = home.creel(&["exec", "--host", "gateway", "--", "printf", "%s", "a b"]).spawn().unwrap();
    let id = waiting(&home);
    home.ok(&["approvals", "approve", &id]);
    let done = Done::of(run.wait_with_output().unwrap());
    assert_eq!((done.out.as_str(), done.status), ("a b", Some(0)), "{done:?}");
    assert!(done.err.contains(&format!("creel approvals approve {id}")), "{done:?}");
    let run = home.creel(&["exec", "--host", "gateway", "--", "printf no"]).spawn().unwrap();
    home.ok(&["approvals", "deny", &waiting(&home)]);
    let done = Done::of(run.wait_with_output().unwrap());
    assert_eq!((done.out.as_str(), done.status), ("", Some(125)), "{done:?}");
    assert!(done.err.contains("user-denied"), "{done:?}");
    let done = home.run(&["exec", "--host", "node", "--", "true"]);
    assert!(done.status == Some(125) && done.err.contains("paired machine"), "{done:?}");
}

/// A connection to the keeper.
struct Talk {
    lines: BufReader<UnixStream>,
}

impl Talk {
    fn open(home: &Home) -> Self {
        let stream = UnixStream::connect(home.state().join("creel/keeper.sock")).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut talk = Self { lines: BufReader::new(stream) };
        assert!(talk.next()["hello"].is_object());
        talk
    }

    fn send(&mut self, line: &Value) {
        self.lines.get_mut().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}
