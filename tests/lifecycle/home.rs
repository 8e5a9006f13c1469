//! A state directory of its own for each test, and its sandboxes removed at the end.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use creel::engine::{Discovery, Engine};
use creel::sandbox::{InUse, Sandboxes};
use creel::state::StateDir;
use creel::{Sandbox, SandboxOptions};
use serde_json::Value;

/// The small image that these tests run in.
pub(crate) const IMAGE: &str = "creel-minimal:latest";

/// An installation below `/tmp`.
pub(crate) struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    /// With the small image and nothing else configured.
    pub(crate) fn new() -> Self {
        Self::with_docker("")
    }

    /// With these keys in `agents.defaults.sandbox.docker`.
    pub(crate) fn with_docker(keys: &str) -> Self {
        let home = Self::with("{}");
        home.docker(keys);
        home
    }

    /// With this configuration; `IMAGE` and `DIR` in it stand for the image and the directory.
    pub(crate) fn with(config: &str) -> Self {
        let dir = tempfile::Builder::new().prefix("creel-life-").tempdir_in("/tmp").unwrap();
        std::fs::create_dir(dir.path().join("s")).unwrap();
        let home = Self { dir };
        home.configure(config);
        home
    }

    pub(crate) fn configure(&self, config: &str) {
        let text = config.replace("IMAGE", IMAGE).replace("DIR", &self.dir().display().to_string());
        std::fs::write(self.file(), text).unwrap();
    }

    pub(crate) fn docker(&self, keys: &str) {
        self.configure(&format!(
            "{{ agents: {{ defaults: {{ sandbox: {{ docker: {{ image: 'IMAGE', {keys} }} }} }} }} }}"
        ));
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir().join("s")
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.state().join("openclaw.json")
    }

    /// Makes a directory that every user may write to.
    pub(crate) fn open_dir(&self, name: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        path
    }

    pub(crate) fn options(&self) -> SandboxOptions {
        let home = self.dir().join("home").display().to_string();
        Sandbox::options().state(self.state()).config(self.file()).vars(move |name| match name {
            "HOME" => Some(home.clone()),
            "CREEL_INIT" | "PATH" | "DOCKER_HOST" => std::env::var(name).ok(),
            _ => None,
        })
    }

    /// `creel` with these arguments, not started.
    pub(crate) fn creel(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_creel"));
        command.args(args).env("CREEL_STATE_DIR", self.state()).env_remove("CREEL_CONFIG");
        command.env("HOME", self.dir().join("home")).env_remove("OPENCLAW_CONFIG_PATH");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs `creel` to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Done {
        Done::of(&self.creel(args).output().unwrap())
    }

    /// Standard output of a run that must succeed.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let done = self.run(args);
        assert_eq!(done.status, Some(0), "creel {args:?}: {done:?}");
        done.out
    }

    /// What a command prints in a sandbox.
    pub(crate) fn sh(&self, text: &str) -> String {
        self.ok(&["exec", "--", text])
    }

    /// The same as JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let out = self.run(args).out;
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{args:?}: {out}"))
    }

    /// The sandboxes as `list` tells them.
    pub(crate) fn containers(&self) -> Vec<Value> {
        let all = self.json(&["sandbox", "list", "--json"]);
        all["containers"].as_array().unwrap_or_else(|| panic!("{all}")).clone()
    }

    /// The only sandbox, as `list` tells it.
    pub(crate) fn only(&self) -> Value {
        let all = self.containers();
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].clone()
    }

    /// Makes the last use of a sandbox so many hours ago.
    pub(crate) fn cool(&self, sandbox: &Value, hours: u64) {
        let path = self.state().join("creel/used").join(sandbox["containerName"].as_str().unwrap());
        age(&path, std::time::Duration::from_hours(hours));
    }

    /// What the engine says of the one container of this installation.
    pub(crate) fn inspect(&self) -> Value {
        inspect(self.only()["containerName"].as_str().unwrap())
    }
}

impl Drop for Home {
    /// Also after a failed assertion, and whatever the configuration says by then. A drop cannot await, so a thread
    /// with a runtime of its own does it.
    fn drop(&mut self) {
        let state = StateDir::at(self.state());
        let cleaning = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let Ok(engine) = Engine::discover(&Discovery::from_process(None)).await else { return };
                let Ok(sandboxes) = Sandboxes::open(engine, &state) else { return };
                let _ = sandboxes.stop_all(InUse::Remove).await;
            });
            Ok::<(), std::io::Error>(())
        });
        let _ = cleaning.join();
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
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { out: text(&output.stdout), err: text(&output.stderr), status: output.status.code() }
    }

    /// Refused with this code and these words.
    pub(crate) fn refused(&self, code: &str, words: &[&str]) {
        assert_eq!(self.status, Some(125), "{self:?}");
        for word in std::iter::once(&code).chain(words) {
            assert!(self.err.contains(word), "{word} is missing in {}", self.err);
        }
    }
}

/// Makes a file older.
pub(crate) fn age(path: &Path, by: std::time::Duration) {
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_modified(std::time::SystemTime::now() - by).unwrap();
}

/// The docker client, for what other people do to our containers.
pub(crate) fn docker(args: &[&str]) -> String {
    let output = Command::new("docker").args(args).output().unwrap();
    assert!(output.status.success(), "docker {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Waits until something is so.
pub(crate) fn until(what: &str, mut so: impl FnMut() -> bool) {
    let begin = std::time::Instant::now();
    while !so() {
        assert!(begin.elapsed() < std::time::Duration::from_mins(1), "{what} is not so");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// The engine's own account of a container.
pub(crate) fn inspect(name: &str) -> Value {
    let all: Value = serde_json::from_str(&docker(&["inspect", name])).unwrap();
    all[0].clone()
}
