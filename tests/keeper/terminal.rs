//! A session taken over on a real terminal.

use std::io::{Read as _, Write as _};
use std::sync::{Arc, Mutex};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use serde_json::json;

use crate::home::{Home, until};

const SIZE: PtySize = PtySize { rows: 31, cols: 97, pixel_width: 0, pixel_height: 0 };

/// `creel` on a terminal.
struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    writer: Box<dyn std::io::Write + Send>,
    master: Box<dyn MasterPty + Send>,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    fn attach(home: &Home, session: &str) -> Self {
        Self::run(home, &["process", "attach", session])
    }

    fn run(home: &Home, args: &[&str]) -> Self {
        let pair = native_pty_system().openpty(SIZE).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_creel"));
        command.args(args);
        command.cwd(home.dir.path());
        command.env("CREEL_STATE_DIR", home.state());
        command.env("DOCKER_HOST", "unix:///nonexistent/engine.sock");
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut piece) {
                into.lock().unwrap().extend_from_slice(&piece[..count]);
            }
        });
        let writer = pair.master.take_writer().unwrap();
        Self { child, writer, master: pair.master, shown }
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    fn sees(&self, text: &str) {
        until(&format!("{text:?}"), || self.shown().contains(text));
    }

    fn types(&mut self, keys: &[u8]) {
        self.writer.write_all(keys).unwrap();
        self.writer.flush().unwrap();
    }

    fn status(mut self) -> u32 {
        let mut status = None;
        until("the end of attach", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        drop(self.master);
        status.unwrap().exit_code()
    }
}

#[test]
fn a_terminal_is_taken_over_left_and_taken_over_again() {
    let home = Home::new();
    let text = "echo ready; while read line; do test \"$line\" = size && stty size; echo \"got $line\"; \
                test \"$line\" = end && exit 6; done";
    let session = home.background(text, &json!({ "pty": true }));
    let mut terminal = Terminal::attach(&home, &session);
    terminal.sees("Ctrl-P Ctrl-Q");
    terminal.sees("ready");
    terminal.types(b"size\r");
    terminal.sees("31 97");
    terminal.sees("got size");
    // A keeper that dies in between is not noticed.
    home.signal("-KILL");
    until("another keeper", || home.keeper().is_some());
    terminal.types(b"after\r");
    terminal.sees("got after");
    assert_eq!(terminal.shown().matches("got size").count(), 1, "nothing is shown twice");
    assert!(!terminal.shown().contains("replaced"), "nothing is drawn over the program");
    terminal.types(b"\x10\x11");
    terminal.sees("the keeper was replaced");
    assert_eq!(terminal.status(), 0);
    let mut terminal = Terminal::attach(&home, &session);
    terminal.sees("got after");
    terminal.types(b"end\r");
    terminal.sees("got end");
    assert_eq!(terminal.status(), 6);
}

#[test]
fn a_killed_attach_leaves_the_session_at_its_own_size() {
    let home = Home::new();
    let session = home.background("while read line; do stty size; done", &json!({ "pty": true }));
    let mut terminal = Terminal::attach(&home, &session);
    terminal.types(b"x\r");
    terminal.sees("31 97");
    let process = terminal.child.process_id().unwrap().to_string();
    let killed = std::process::Command::new("kill").args(["-KILL", &process]).status().unwrap();
    assert!(killed.success());
    terminal.status();
    until("the size that it began with", || {
        home.ok(&["process", "submit", &session]);
        home.ok(&["process", "log", &session]).contains("30 120")
    });
}

#[test]
fn a_session_without_a_terminal_is_followed() {
    let home = Home::new();
    let gate = home.file("gate");
    let text =
        format!("echo ready; while ! test -e {}; do sleep 0.05; done; echo err >&2; exit 5", gate.display());
    let session = home.background(&text, &json!({}));
    let mut terminal = Terminal::attach(&home, &session);
    terminal.sees("ready");
    terminal.types(b"\x03");
    terminal.sees("goes on");
    assert_eq!(terminal.status(), 130);
    let terminal = Terminal::attach(&home, &session);
    terminal.sees("ready");
    std::fs::write(gate, "").unwrap();
    terminal.sees("err");
    assert_eq!(terminal.status(), 5);
    let done = home.run(&["process", "attach", &session]);
    assert_eq!((done.out.as_str(), done.err.as_str(), done.status), ("ready\n", "err\n", Some(5)));
}

#[test]
fn a_person_at_the_terminal_is_asked_and_a_reflex_decides_nothing() {
    let home = Home::new();
    let config = "{ tools: { exec: { host: 'gateway', mode: 'ask' } } }";
    std::fs::write(home.state().join("openclaw.json"), config).unwrap();
    let marker = home.file("ran");
    let touch = format!("touch {}", marker.display());
    let mut terminal = Terminal::run(&home, &["exec", "--host", "gateway", "--", &touch]);
    terminal.sees("then Enter: ");
    terminal.sees("why        allowlist-miss");
    // What is typed at once is a reflex; so is Enter alone.
    terminal.types(b"\r");
    std::thread::sleep(std::time::Duration::from_millis(500));
    terminal.types(b"\ryes\r");
    until("the second prompt", || terminal.shown().matches("then Enter: ").count() > 1);
    assert!(!marker.exists());
    std::thread::sleep(std::time::Duration::from_millis(500));
    terminal.types(b"o\r");
    terminal.sees("allowed once (terminal)");
    assert_eq!(terminal.status(), 0);
    assert!(marker.exists());
    // Ctrl-C takes the question back.
    let mut terminal = Terminal::run(&home, &["exec", "--host", "gateway", "--", &touch]);
    terminal.sees("then Enter: ");
    terminal.types(&[3]);
    assert_eq!(terminal.status(), 130);
    until("its end", || {
        home.json(&["approvals", "pending", "--json"])["approvals"].as_array().unwrap().is_empty()
    });
}

#[test]
fn a_watcher_asks_about_what_others_want() {
    let home = Home::new();
    let config = "{ tools: { exec: { host: 'gateway', mode: 'ask' } } }";
    std::fs::write(home.state().join("openclaw.json"), config).unwrap();
    let mut watch = Terminal::run(&home, &["approvals", "watch"]);
    watch.sees("Questions are shown here");
    let args = json!({ "command": "uname" }).to_string();
    let told = home.json(&["tool", "exec", &args]);
    assert_eq!(told["details"]["status"], "approval-pending", "{told}");
    watch.sees("command    uname");
    std::thread::sleep(std::time::Duration::from_millis(500));
    watch.types(b"d\r");
    watch.sees(": denied");
    let id = told["details"]["approvalId"].as_str().unwrap();
    assert_eq!(home.json(&["approvals", "show", id, "--json"])["approval"]["decision"], "deny");
    watch.types(&[3]);
    assert_eq!(watch.status(), 0);
}
