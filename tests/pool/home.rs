//! An installation with a pool, removed at the end.

use std::path::PathBuf;
use std::time::Duration;

use creel::engine::{Discovery, Engine};
use creel::host_tool::host_tool;
use creel::keeper::Pools;
use creel::sandbox::pool::Waiting;
use creel::sandbox::{InUse, Listed, SandboxName, Sandboxes};
use creel::state::StateDir;
use creel::{Sandbox, SandboxOptions};

/// Longer than anything takes on a loaded machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(100);

pub(crate) struct Home {
    dir: tempfile::TempDir,
    pub(crate) sandboxes: Sandboxes,
}

impl Home {
    /// With these members of `agents.defaults.sandbox` beside scope and pool, and these of its `docker`.
    pub(crate) async fn new(size: usize, sandbox: &str, docker: &str) -> Self {
        let dir = tempfile::Builder::new().prefix("creel-pool-").tempdir_in("/tmp").unwrap();
        let engine =
            Engine::discover(&Discovery::from_process(None)).await.expect("these tests need an engine");
        let sandboxes = Sandboxes::open(engine, &StateDir::at(dir.path().join("s"))).unwrap();
        let home = Self { dir, sandboxes };
        home.configure(size, sandbox, docker, "");
        home
    }

    pub(crate) fn configure(&self, size: usize, sandbox: &str, docker: &str, agents: &str) {
        let text = format!(
            "{{agents: {{defaults: {{sandbox: {{scope: 'session', pool: {{size: {size}}}, {sandbox} docker: {{image: \
             'creel-minimal:latest', {docker}}}}}}}, {agents}}}}}"
        );
        std::fs::write(self.state().join("openclaw.json"), text).unwrap();
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.path().join("s")
    }

    pub(crate) fn options(&self, session: &str) -> SandboxOptions {
        self.base().session(session)
    }

    fn base(&self) -> SandboxOptions {
        let home = self.dir.path().to_string_lossy().into_owned();
        Sandbox::options().state(self.state()).vars(move |name| match name {
            "HOME" => Some(home.clone()),
            "CREEL_INIT" | "DOCKER_HOST" => std::env::var(name).ok(),
            _ => None,
        })
    }

    pub(crate) async fn open(&self, session: &str) -> Sandbox {
        self.options(session).open().await.unwrap()
    }

    /// A keeper in this process; nothing happens by itself.
    pub(crate) fn keeper(&self) -> Pools {
        Pools::new(self.sandboxes.clone(), self.base(), None, Duration::from_hours(1))
    }

    /// Fills what was wished for, once.
    pub(crate) async fn fill(&self) -> Vec<Waiting> {
        self.keeper().pass().await.unwrap();
        self.waiting()
    }

    pub(crate) fn waiting(&self) -> Vec<Waiting> {
        self.sandboxes.waiting().unwrap()
    }

    pub(crate) async fn list(&self) -> Vec<Listed> {
        self.sandboxes.list().await.unwrap()
    }

    /// The id of the container of this name.
    pub(crate) async fn id(&self, name: &SandboxName) -> Option<String> {
        let facts = self.sandboxes.engine().inspect(name.as_str()).await.unwrap();
        facts.map(|facts| facts.id.0)
    }

    /// Workspaces that are nobody's yet.
    pub(crate) fn unclaimed(&self) -> Vec<PathBuf> {
        let all = std::fs::read_dir(self.state().join("sandboxes")).into_iter().flatten().flatten();
        let hidden = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with('.');
        all.map(|entry| entry.path()).filter(hidden).collect()
    }

    /// Nothing is left of anything.
    pub(crate) async fn assert_nothing_leaks(&self) {
        for (name, outcome) in self.sandboxes.stop_all(InUse::Remove).await.unwrap() {
            outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        assert_eq!(self.list().await, []);
        assert_eq!(self.unclaimed(), Vec::<PathBuf>::new());
        assert_eq!(self.waiting(), []);
        for part in ["run", "proof", "used", "pool/want"] {
            let left: Vec<_> = std::fs::read_dir(self.state().join("creel").join(part))
                .map(|all| all.flatten().map(|entry| entry.file_name()).collect())
                .unwrap_or_default();
            assert!(left.is_empty(), "{part}: {left:?}");
        }
    }

    /// `creel` itself, in this installation.
    pub(crate) fn creel(&self, args: &[&str]) -> tokio::process::Command {
        let mut command = host_tool(env!("CARGO_BIN_EXE_creel"));
        command.args(args).env("CREEL_STATE_DIR", self.state()).env("HOME", self.dir.path());
        command.env_remove("CREEL_CONFIG").env_remove("OPENCLAW_CONFIG_PATH");
        command
    }

    pub(crate) async fn ok(&self, args: &[&str]) -> String {
        let output = self.creel(args).output().await.unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "creel {args:?}: {}{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    }
}

impl Drop for Home {
    /// Also after a failed assertion. A drop cannot await, so a thread with a runtime of its own does it.
    fn drop(&mut self) {
        let sandboxes = self.sandboxes.clone();
        let cleaning = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let _ = sandboxes.stop_all(InUse::Remove).await;
            });
            Ok::<(), std::io::Error>(())
        });
        let _ = cleaning.join();
    }
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, mut so: impl AsyncFnMut() -> bool) {
    let end = tokio::time::Instant::now() + PATIENCE;
    while !so().await {
        assert!(tokio::time::Instant::now() < end, "{what} did not come");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

pub(crate) async fn output(sandbox: &Sandbox, text: &str) -> String {
    let done = sandbox.exec(text).await.unwrap();
    assert_eq!(done.outcome.code, Some(0), "{text}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}
