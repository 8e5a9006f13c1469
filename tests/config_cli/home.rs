//! A state directory with a configuration, and its sandboxes removed at the end.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// An installation.
pub(crate) struct Home {
    dir: tempfile::TempDir,
    used: std::cell::Cell<bool>,
}

impl Home {
    pub(crate) fn new(config: &str) -> Self {
        let dir = tempfile::Builder::new().prefix("creel-config-").tempdir_in("/tmp").unwrap();
        let home = Self { dir, used: false.into() };
        std::fs::create_dir(home.state()).unwrap();
        std::fs::write(home.file(), config).unwrap();
        home
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    /// A directory beside the state, made where it is missing.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.state().join("openclaw.json")
    }

    pub(crate) fn text(&self) -> String {
        std::fs::read_to_string(self.file()).unwrap()
    }

    /// `creel` with these arguments, not started.
    pub(crate) fn creel(&self, args: &[&str]) -> Command {
        let makes = args.first() == Some(&"exec") || args.contains(&"--prove");
        self.used.set(self.used.get() || makes);
        let mut command = Command::new(env!("CARGO_BIN_EXE_creel"));
        command.args(args).env("CREEL_STATE_DIR", self.state()).env_remove("CREEL_CONFIG");
        command.env("HOME", self.dir.path().join("home")).env_remove("OPENCLAW_CONFIG_PATH");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Output, errors, status.
    pub(crate) fn run(&self, args: &[&str]) -> (String, String, i32) {
        let done = self.creel(args).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&done.stdout), text(&done.stderr), done.status.code().unwrap())
    }

    /// Output of a run that must succeed.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let (out, err, status) = self.run(args);
        assert_eq!(status, 0, "creel {args:?}: {out}{err}");
        out
    }

    /// The same as JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.ok(args)).unwrap()
    }

    /// Errors of a run that creel must refuse, which leaves the file as it was.
    pub(crate) fn refused(&self, args: &[&str]) -> String {
        let before = std::fs::read(self.file()).ok();
        let (out, err, status) = self.run(args);
        assert_eq!((out.as_str(), status), ("", 125), "creel {args:?}: {err}");
        assert_eq!(std::fs::read(self.file()).ok(), before, "creel {args:?} wrote");
        err
    }
}

/// A mount of the host, until the end of a test. It must end before its directory is removed: declare it after the
/// [`Home`] that it is in.
pub(crate) struct Mounted(PathBuf);

impl Mounted {
    /// `mount` with these arguments and this mount point.
    pub(crate) fn new(args: &[&str], point: PathBuf) -> Self {
        let done = Command::new("mount").args(args).arg(&point).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Self(point)
    }

    /// A directory or file under a second name, which nobody can write to: whatever goes wrong at the end, nothing is
    /// removed through it.
    pub(crate) fn bind(source: &Path, point: PathBuf) -> Self {
        Self::new(&["--bind", "-o", "ro", source.to_str().unwrap()], point)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let done = Command::new("umount").arg("-l").arg(&self.0).output();
        if !done.is_ok_and(|done| done.status.success()) {
            // Not a panic: the directories would be removed, and what is mounted in them with them.
            std::process::abort();
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if self.used.get() {
            let _ = self.creel(&["sandbox", "stop", "--all", "--force"]).output();
        }
    }
}
