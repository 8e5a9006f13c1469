//! An installation with a workspace and fake programs.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

/// It.
pub(crate) struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    /// With these keys under `tools.exec`, and this document.
    pub(crate) fn new(exec: &str, document: Option<&str>) -> Self {
        let home =
            Self { dir: tempfile::Builder::new().prefix("creel-explain-").tempdir_in("/tmp").unwrap() };
        for name in ["state", "bin", "work/src"] {
            std::fs::create_dir_all(home.at(name)).unwrap();
        }
        for name in ["git", "rm", "make", "tool", "python3"] {
            let path = home.at(&format!("bin/{name}"));
            std::fs::write(&path, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        home.configure(&format!("tools: {{ exec: {exec} }}"));
        if let Some(document) = document {
            std::fs::write(home.document(), document).unwrap();
        }
        home
    }

    /// With these keys at the top of the configuration, beside the workspace.
    pub(crate) fn configure(&self, keys: &str) {
        let text = format!(
            "{{\n  agents: {{ defaults: {{ workspace: \"{}\" }} }},\n  {keys},\n}}\n",
            self.at("work").display()
        );
        std::fs::write(self.at("state/openclaw.json"), text).unwrap();
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn document(&self) -> PathBuf {
        self.at("state/exec-approvals.json")
    }

    pub(crate) fn path(&self) -> String {
        format!("{}:/usr/bin:/bin", self.at("bin").display())
    }

    fn prepared(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("CREEL_STATE_DIR", self.at("state")).env("HOME", self.at("home")).current_dir("/");
        command.env_remove("CREEL_CONFIG").env_remove("OPENCLAW_CONFIG_PATH");
        command
    }

    /// Output, errors, status.
    pub(crate) fn creel(&self, args: &[&str]) -> (String, String, i32) {
        let done = self.prepared(env!("CARGO_BIN_EXE_creel")).args(args).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&done.stdout), text(&done.stderr), done.status.code().unwrap())
    }

    /// A line as a person types it, with creel in PATH.
    pub(crate) fn typed(&self, line: &str) {
        let bin = std::path::Path::new(env!("CARGO_BIN_EXE_creel")).parent().unwrap();
        let path = format!("{}:/usr/bin:/bin", bin.display());
        let done = self.prepared("/bin/sh").args(["-c", line]).env("PATH", path).output().unwrap();
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// The answer about a command as JSON, and the exit code.
    pub(crate) fn explain(&self, flags: &[&str], command: &str) -> (Value, i32) {
        let path = self.path();
        let mut args = vec!["explain", "exec", "--json", "--path", &path];
        args.extend(flags);
        args.extend(["--", command]);
        let (out, err, code) = self.creel(&args);
        let value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"));
        (value, code)
    }

    /// The same as text.
    pub(crate) fn told(&self, command: &str) -> String {
        self.creel(&["explain", "exec", "--path", &self.path(), "--", command]).0
    }
}

/// The document of most tests: `git status` and `tool`, everything else asks.
pub(crate) const SMALL: &str = r#"{
  "version": 1,
  "defaults": {"security": "allowlist", "ask": "on-miss"},
  "agents": {
    "*": {"allowlist": [
      {"pattern": "git", "argPattern": "^(status|log)( |$)"},
      "tool"
    ]}
  }
}"#;
