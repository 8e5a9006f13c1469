//! An installation for one test, and the look at what is left of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use creel::engine::{Discovery, Engine};
use creel::host_tool::host_tool;
use creel::sandbox::{ByLink, InUse, Listed, Sandboxes};
use creel::state::StateDir;
use creel::{Call, Collected, Sandbox, SandboxOptions};

use super::processes::Namespace;

/// The small image that all these tests run in.
pub(crate) const IMAGE: &str = "creel-minimal:latest";

/// A state directory of its own below `/tmp`; its containers go with it, also after a failed assertion.
pub(crate) struct Home {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) engine: Option<String>,
    config: &'static str,
    spaces: std::sync::Mutex<Vec<Namespace>>,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self::with_docker("")
    }

    /// On another engine than the machine's.
    pub(crate) fn on(address: String) -> Self {
        let mut home = Self::new();
        home.engine = Some(address);
        home
    }

    /// With these lines in `agents.defaults.sandbox.docker`.
    pub(crate) fn with_docker(config: &'static str) -> Self {
        let dir = tempfile::Builder::new().prefix("creel-faults-").tempdir_in("/tmp").unwrap();
        std::fs::create_dir(dir.path().join("bin")).unwrap();
        Self { dir, engine: None, config, spaces: std::sync::Mutex::default() }
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.path().join("s")
    }

    pub(crate) fn options(&self) -> SandboxOptions {
        let options = options(&self.state(), self.dir.path());
        let config = format!(
            "{{ agents: {{ defaults: {{ sandbox: {{ docker: {{ image: '{IMAGE}', {} }} }} }} }} }}",
            self.config
        );
        let file = self.dir.path().join("openclaw.json");
        std::fs::write(&file, config).unwrap();
        let options = options.config(file);
        self.engine.iter().fold(options, |options, address| options.engine(address.clone()))
    }

    /// Opens a sandbox and remembers its pid namespace for the look at the end.
    pub(crate) async fn open(&self) -> Sandbox {
        self.note(self.options().open().await.unwrap())
    }

    pub(crate) fn note(&self, sandbox: Sandbox) -> Sandbox {
        self.spaces.lock().unwrap().push(Namespace::of(sandbox.ready().pid1));
        sandbox
    }

    /// Opens a sandbox that sees the attack program as `/attack/attack`.
    pub(crate) async fn open_with_attack(&self) -> Sandbox {
        let bin = compile_attack(self.dir.path()).await;
        let spec = format!("{}:/attack:ro", bin.display());
        self.note(self.options().bind(spec).open().await.unwrap())
    }

    pub(crate) async fn sandboxes(&self) -> Sandboxes {
        let engine = Engine::discover(&Discovery::from_process(self.engine.clone())).await.unwrap();
        Sandboxes::open(engine, &StateDir::at(self.state())).unwrap()
    }

    pub(crate) async fn list(&self) -> Vec<Listed> {
        self.sandboxes().await.survey(&ByLink).await.unwrap()
    }

    /// Stops everything; then no container, no process and no file of a sandbox may be left.
    pub(crate) async fn assert_nothing_leaks(&self) {
        let sandboxes = self.sandboxes().await;
        for (name, outcome) in sandboxes.stop_all(InUse::Remove).await.unwrap() {
            outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        assert_eq!(sandboxes.list().await.unwrap(), []);
        let spaces = self.spaces.lock().unwrap().clone();
        for space in spaces {
            let gone = || space.everything().is_empty();
            assert!(until(Duration::from_secs(5), gone).await, "left over: {:?}", space.everything());
        }
        let own = self.state().join("creel");
        for part in ["run", "proof", "used"] {
            assert_eq!(names(&own.join(part)), Vec::<String>::new(), "{part}");
        }
    }
}

impl Drop for Home {
    /// A drop cannot await, so a thread with a runtime of its own does it.
    fn drop(&mut self) {
        let (address, state) = (self.engine.clone(), StateDir::at(self.state()));
        let cleaning = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let Ok(engine) = Engine::discover(&Discovery::from_process(address)).await else { return };
                let Ok(sandboxes) = Sandboxes::open(engine, &state) else { return };
                let _ = sandboxes.stop_all(InUse::Remove).await;
            });
            Ok::<(), std::io::Error>(())
        });
        let _ = cleaning.join();
    }
}

/// Options for the installation in `state`; `home` stands in for the user's home directory.
pub(crate) fn options(state: &Path, home: &Path) -> SandboxOptions {
    let home = home.to_string_lossy().into_owned();
    Sandbox::options().state(state).vars(move |name| match name {
        "HOME" => Some(home.clone()),
        "CREEL_INIT" | "PATH" | "DOCKER_HOST" => std::env::var(name).ok(),
        _ => None,
    })
}

async fn compile_attack(dir: &Path) -> PathBuf {
    let (bin, source) =
        (dir.join("bin"), Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/attack.c"));
    if !bin.join("attack").exists() {
        let output = host_tool("cc")
            .args(["-static", "-O2", "-o"])
            .args([&bin.join("attack"), &source])
            .output()
            .await
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    bin
}

/// Names in a directory, none where it is missing.
pub(crate) fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Waits until something is so; false when it is not in time.
pub(crate) async fn until(limit: Duration, mut so: impl FnMut() -> bool) -> bool {
    let end = tokio::time::Instant::now() + limit;
    while !so() {
        if tokio::time::Instant::now() >= end {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    true
}

/// A call with times that suit a test: half a second between TERM and KILL, a minute at most.
pub(crate) fn call(sandbox: &Sandbox, text: &str) -> Call {
    let mut call = sandbox.call(text);
    call.options.timeout = Some(Duration::from_mins(1));
    call.options.grace = Duration::from_millis(500);
    call
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The sandbox does its work: exact output, exact status.
pub(crate) async fn assert_usable(sandbox: &Sandbox) {
    let done: Collected = sandbox.run(&call(sandbox, "echo out; echo err >&2; exit 9")).await.unwrap();
    assert_eq!((text(&done.stdout), text(&done.stderr)), ("out\n".to_owned(), "err\n".to_owned()));
    assert_eq!(done.outcome.code, Some(9), "{:?}", done.outcome);
}

/// The docker client, for what other people do to our containers.
pub(crate) async fn docker<const N: usize>(args: [&str; N]) -> String {
    let output = host_tool("docker").args(args).output().await.unwrap();
    assert!(output.status.success(), "docker {args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}
