//! An installation whose commands run beside the keeper; without an engine. Everything in it ends with it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::inside::PATIENCE;

pub(crate) struct Home {
    pub(crate) dir: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self { dir: tempfile::Builder::new().prefix("creel-keep-").tempdir_in("/tmp").unwrap() };
        std::fs::create_dir(home.state()).unwrap();
        let config = "{ tools: { exec: { host: 'gateway', mode: 'full' } } }";
        std::fs::write(home.state().join("openclaw.json"), config).unwrap();
        home
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// `creel` with these arguments, not started.
    pub(crate) fn creel(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_creel"));
        command.args(args).env("CREEL_STATE_DIR", self.state()).env("HOME", self.dir.path());
        // These tests need no engine, and must not find one.
        command.env("DOCKER_HOST", "unix:///nonexistent/engine.sock");
        command.env_remove("CREEL_CONFIG").env_remove("OPENCLAW_CONFIG_PATH");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Done {
        Done::of(self.creel(args).output().unwrap())
    }

    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let done = self.run(args);
        assert_eq!(done.status, Some(0), "creel {args:?}: {done:?}");
        done.out
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let out = self.ok(args);
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("creel {args:?}: {error}: {out}"))
    }

    /// Runs with this on standard input.
    pub(crate) fn feed(&self, args: &[&str], input: &str) -> Done {
        let mut child = self.creel(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_owned();
        let feeder = std::thread::spawn(move || {
            let _ = stdin.write_all(input.as_bytes());
        });
        let done = Done::of(child.wait_with_output().unwrap());
        feeder.join().unwrap();
        done
    }

    /// Starts a command in the background; its session.
    pub(crate) fn background(&self, command: &str, more: &Value) -> String {
        let mut args = serde_json::json!({ "command": command, "background": true });
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let told = self.json(&["tool", "exec", &args.to_string()]);
        assert_eq!(told["details"]["status"], "running", "{told}");
        told["details"]["sessionId"].as_str().unwrap().to_owned()
    }

    /// The keeper that runs.
    pub(crate) fn keeper(&self) -> Option<u64> {
        self.json(&["keeper", "status", "--json"])["process"].as_u64()
    }

    /// Sends the keeper a signal, and waits until it is gone.
    pub(crate) fn signal(&self, signal: &str) -> u64 {
        let process = self.keeper().expect("a keeper");
        let done = Command::new("kill").args([signal, &process.to_string()]).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        until("its end", || !alive(process));
        process
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let all = self.creel(&["process", "list", "--json"]).output();
        let all: Value =
            all.ok().and_then(|all| serde_json::from_slice(&all.stdout).ok()).unwrap_or_default();
        for row in all["sessions"].as_array().into_iter().flatten() {
            let _ = self.creel(&["process", "remove", row["sessionId"].as_str().unwrap_or("")]).output();
        }
        let _ = self.creel(&["keeper", "stop"]).output();
    }
}

/// Not a zombie either.
pub(crate) fn alive(process: u64) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z'))
}

/// Waits until something is so.
pub(crate) fn until(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !so() {
        assert!(Instant::now() < end, "{what} did not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) status: Option<i32>,
}

impl Done {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { out: text(output.stdout), err: text(output.stderr), status: output.status.code() }
    }
}

/// A `creel` that goes on printing lines.
pub(crate) struct Lines {
    child: Child,
    input: std::cell::RefCell<Option<std::process::ChildStdin>>,
    printed: std::sync::mpsc::Receiver<String>,
}

impl Lines {
    pub(crate) fn of(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let input = std::cell::RefCell::new(child.stdin.take());
        let (sender, printed) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, input, printed }
    }

    /// Writes a line to its input.
    pub(crate) fn say(&self, line: &str) {
        let mut input = self.input.borrow_mut();
        writeln!(input.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn next(&self) -> String {
        self.printed.recv_timeout(PATIENCE).expect("a line")
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
