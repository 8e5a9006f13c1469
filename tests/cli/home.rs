//! A state directory of its own for each test, and its sandboxes removed at the end.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// An installation.
pub(crate) struct Home {
    pub(crate) dir: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self::in_dir(tempfile::Builder::new().prefix("creel-cli-").tempdir_in("/tmp").unwrap())
    }

    /// In a directory of the test's choice.
    pub(crate) fn in_dir(dir: tempfile::TempDir) -> Self {
        let home = Self { dir };
        let config = "{ agents: { defaults: { sandbox: { docker: { image: 'creel-minimal:latest' } } } } }";
        std::fs::create_dir(home.state()).unwrap();
        std::fs::write(home.state().join("openclaw.json"), config).unwrap();
        home
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    /// `creel` with these arguments, not started.
    pub(crate) fn creel(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_creel"));
        command.args(args).env("CREEL_STATE_DIR", self.state()).env_remove("CREEL_CONFIG");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs `creel` to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Done {
        Done::of(self.creel(args).output().unwrap())
    }

    /// Runs `creel` with this on standard input.
    pub(crate) fn feed(&self, args: &[&str], input: &[u8]) -> Done {
        let mut child = self.creel(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let feeder = std::thread::spawn(move || {
            // The command may end before it has read everything.
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        Done::of(output)
    }

    /// The sandboxes of this installation.
    pub(crate) fn sandboxes(&self) -> Vec<serde_json::Value> {
        let done = self.run(&["sandbox", "list", "--json"]);
        let all: serde_json::Value = serde_json::from_str(&done.out).unwrap_or_else(|_| panic!("{done:?}"));
        all.get("containers").and_then(|all| all.as_array()).unwrap_or_else(|| panic!("{done:?}")).clone()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = self.creel(&["sandbox", "stop", "--all", "--force"]).output();
    }
}

/// What a run left behind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) status: Option<i32>,
}

impl Done {
    fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { out: text(output.stdout), err: text(output.stderr), status: output.status.code() }
    }

    /// Standard output and status.
    pub(crate) fn short(&self) -> (&str, Option<i32>) {
        (&self.out, self.status)
    }
}
