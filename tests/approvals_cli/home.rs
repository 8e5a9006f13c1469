//! A state directory of its own.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

/// An installation without sandboxes.
pub(crate) struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new(config: &str) -> Self {
        let dir = tempfile::Builder::new().prefix("creel-approvals-").tempdir_in("/tmp").unwrap();
        let home = Self { dir };
        std::fs::create_dir(home.state()).unwrap();
        std::fs::write(home.config(), config).unwrap();
        home
    }

    pub(crate) fn with(document: &str) -> Self {
        let home = Self::new("{}");
        home.write(document);
        home
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.state().join("openclaw.json")
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.state().join("exec-approvals.json")
    }

    pub(crate) fn text(&self) -> String {
        std::fs::read_to_string(self.file()).unwrap()
    }

    pub(crate) fn document(&self) -> Value {
        serde_json::from_str(&self.text()).unwrap()
    }

    pub(crate) fn write(&self, document: &str) {
        std::fs::write(self.file(), document).unwrap();
    }

    /// `creel` with these arguments, not started.
    pub(crate) fn creel(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_creel"));
        command.args(args).env("CREEL_STATE_DIR", self.state()).env_remove("CREEL_CONFIG");
        command.env("HOME", self.dir.path().join("home")).env_remove("OPENCLAW_CONFIG_PATH");
        command.env("PATH", "/usr/bin:/bin").current_dir(self.dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Output, errors, status.
    pub(crate) fn run(&self, args: &[&str]) -> (String, String, i32) {
        told(&self.creel(args).output().unwrap())
    }

    /// The same with something on standard input.
    pub(crate) fn fed(&self, args: &[&str], input: &str) -> (String, String, i32) {
        let mut child = self.creel(args).stdin(Stdio::piped()).spawn().unwrap();
        // Whoever refuses before the end does not read it.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        told(&child.wait_with_output().unwrap())
    }

    /// Output of a run that must succeed.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let (out, err, status) = self.run(args);
        assert_eq!(status, 0, "creel {args:?}: {out}{err}");
        out
    }

    /// The same as JSON, which stands on one line.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let out = self.ok(args);
        assert_eq!(out.trim_end().lines().count(), 1, "{out}");
        serde_json::from_str(&out).unwrap()
    }

    /// Errors of a run that creel must refuse, which leaves the document as it was.
    pub(crate) fn refused(&self, args: &[&str]) -> String {
        let before = std::fs::read(self.file()).ok();
        let (out, err, status) = self.run(args);
        assert_eq!((out.as_str(), status), ("", 125), "creel {args:?}: {err}");
        assert_eq!(std::fs::read(self.file()).ok(), before, "creel {args:?} wrote");
        err
    }

    /// What the doctor finds; no engine is asked.
    pub(crate) fn doctor(&self, fix: bool) -> Value {
        let mut args = vec!["doctor", "--json", "--engine", "unix:///nonexistent/creel-test.sock"];
        args.extend(fix.then_some("--fix"));
        let (out, err, _) = self.run(&args);
        serde_json::from_str(&out).unwrap_or_else(|_| unreadable(&out, &err))
    }

    /// The findings with an id.
    pub(crate) fn findings(&self, id: &str) -> Vec<Value> {
        let all = self.doctor(false);
        all["findings"].as_array().unwrap().iter().filter(|one| one["id"] == id).cloned().collect()
    }
}

fn unreadable(out: &str, err: &str) -> Value {
    unreachable!("creel doctor: {out}{err}")
}

fn told(done: &std::process::Output) -> (String, String, i32) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&done.stdout), text(&done.stderr), done.status.code().unwrap())
}
