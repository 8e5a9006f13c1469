//! An installation with sandboxes and a table of sessions, and the clean-up after it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use creel::approvals::{Command, Permit, policy::Target};
use creel::engine::{Discovery, Engine};
use creel::host_tool::host_tool;
use creel::process::record::{Begin, Delivery, Place, SessionId, View};
use creel::process::sessions::{Sessions, reach::Containers};
use creel::runner::{Options, Road, Setting, host, start_as};
use creel::sandbox::{InUse, InitSearch, Sandboxes};
use creel::state::StateDir;
use creel::wire::Badge;
use creel::{Sandbox, SandboxOptions};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout};

/// The image that the tests run in.
pub(crate) const IMAGE: &str = "creel-minimal:latest";
/// No test waits longer for anything.
pub(crate) const LONG: Duration = Duration::from_mins(1);
/// Variables of a child: the directory of its installation, and what it is to do.
const HOME: &str = "CREEL_TEST_HOME";
const TASK: &str = "CREEL_TEST_TASK";

/// An installation of its own; its containers go with it, also after a failed assertion.
pub(crate) struct Home {
    dir: tempfile::TempDir,
    mounted: Vec<PathBuf>,
}

impl Home {
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("creel-sessions-").tempdir_in("/tmp").unwrap();
        Self { dir, mounted: Vec::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) async fn lab(&self) -> Lab {
        Lab::open(self.path()).await
    }

    /// Mounts an empty file system of `size` bytes until the end of the test.
    pub(crate) async fn mount(&mut self, point: PathBuf, size: usize) {
        std::fs::create_dir_all(&point).unwrap();
        let options = format!("size={size},mode=700");
        let mut mount = host_tool("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "none"]).arg(&point);
        assert!(mount.status().await.unwrap().success(), "this test mounts a file system: is this root?");
        self.mounted.push(point);
    }
}

impl Drop for Home {
    /// A drop cannot await, so a thread with a runtime of its own does it.
    fn drop(&mut self) {
        end_supervisors(self.path());
        let (home, mounted) = (self.path().to_owned(), std::mem::take(&mut self.mounted));
        let cleaning = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let engine = engine().await;
                if let Ok(sandboxes) = Sandboxes::open(engine, &StateDir::at(home.join("s"))) {
                    let _ = sandboxes.stop_all(InUse::Remove).await;
                }
                for point in mounted {
                    let _ = host_tool("umount").arg("-l").arg(point).status().await;
                }
            });
            Ok::<(), std::io::Error>(())
        });
        let _ = cleaning.join();
    }
}

async fn engine() -> Engine {
    Engine::discover(&Discovery::from_process(None)).await.expect("these tests need an engine")
}

/// A table of sessions as a keeper has it.
pub(crate) struct Lab {
    pub(crate) sessions: Sessions,
    home: PathBuf,
}

impl Lab {
    pub(crate) async fn open(home: &Path) -> Self {
        let state = StateDir::at(home.join("s"));
        std::fs::create_dir_all(state.root()).unwrap();
        let config = "{ agents: { defaults: { sandbox: { scope: 'session' } } } }";
        std::fs::write(state.root().join("openclaw.json"), config).unwrap();
        let sandboxes = Sandboxes::open(engine().await, &state).unwrap();
        let sessions = Sessions::open(&state, Arc::new(Containers::new(sandboxes))).await.unwrap();
        Self { sessions, home: home.to_owned() }
    }

    /// As if this creel had died, but for the connections that sandboxes hold.
    pub(crate) async fn close(self) {
        self.sessions.close().await;
    }

    /// Options of a sandbox that see nothing of this machine but the place of creel-init.
    fn options(&self) -> SandboxOptions {
        let vars: HashMap<&str, String> = [
            ("HOME", self.home.to_string_lossy().into_owned()),
            ("CREEL_INIT", std::env::var("CREEL_INIT").unwrap_or_default()),
        ]
        .into();
        Sandbox::options()
            .state(self.home.join("s"))
            .image(IMAGE)
            .vars(move |name| vars.get(name).filter(|value| !value.is_empty()).cloned())
    }

    /// The sandbox of a session; another session has another.
    pub(crate) async fn sandbox(&self, session: &str) -> Sandbox {
        self.options().session(format!("agent:main:{session}")).open().await.unwrap()
    }

    /// Begins a session with shell text and follows it.
    pub(crate) async fn start(&self, sandbox: &Sandbox, text: &str) -> SessionId {
        self.start_with(sandbox, text, |_| {}).await
    }

    pub(crate) async fn start_with(
        &self,
        sandbox: &Sandbox,
        text: &str,
        change: impl FnOnce(&mut Begin),
    ) -> SessionId {
        let mut begin = begin(sandbox, text);
        change(&mut begin);
        let (id, command) = self.sessions.begin(begin.clone()).unwrap();
        let running = spawn(sandbox, &begin, command).await;
        self.sessions.follow(&id, running).unwrap();
        id
    }

    pub(crate) async fn ended(&self, id: &SessionId) -> View {
        let view = self.sessions.ended(id, Some(LONG)).await.unwrap();
        assert!(view.end.is_some(), "{id} does not end; trouble: {:?}", self.sessions.trouble(id));
        view
    }

    /// Waits until the aggregate holds a text.
    pub(crate) async fn printed(&self, id: &SessionId, text: &str) {
        let mut changes = self.sessions.watch(id).unwrap();
        let wait = async {
            while !self.sessions.aggregate(id).unwrap().text.contains(text) {
                changes.changed().await.unwrap();
            }
        };
        if tokio::time::timeout(LONG, wait).await.is_err() {
            let (tail, trouble) = (self.sessions.tail(id, 200), self.sessions.trouble(id));
            panic!("{id} never printed {text:?}; {tail:?}, {trouble:?}, {:?}", self.sessions.view(id));
        }
    }
}

pub(crate) fn begin(sandbox: &Sandbox, text: &str) -> Begin {
    let (name, container) = (sandbox.ready().name.clone(), sandbox.container().0.clone());
    begin_in(Place::Sandbox { name, container }, text)
}

/// A session beside the gateway, whose supervisor is in `dir`.
pub(crate) fn begin_beside(dir: PathBuf, text: &str) -> Begin {
    Begin { host: Target::Gateway, ..begin_in(Place::Host { dir }, text) }
}

fn begin_in(place: Place, text: &str) -> Begin {
    Begin {
        agent: "main".to_owned(),
        session_key: None,
        call: None,
        command: text.to_owned(),
        title: None,
        cwd: "/workspace".to_owned(),
        host: Target::Sandbox,
        place,
        shell: true,
        tty: None,
        stdin: false,
        timeout_ms: None,
        silence_ms: None,
        grace_ms: 500,
        cleanup_ms: 1_800_000,
        notify_on_exit: true,
        notify_empty_success: false,
        subagent: false,
        delivery: Delivery::default(),
        approval: None,
        running_notice_ms: 0,
        max_aggregate: 200_000,
        max_pending: 30_000,
    }
}

/// Starts the command of a session that was begun.
pub(crate) async fn spawn(
    sandbox: &Sandbox,
    begin: &Begin,
    command: creel::wire::CommandId,
) -> creel::runner::Running {
    let options = options(begin);
    let permit = Permit::sandbox("agent:main:test", Command::Shell(begin.command.clone()), None, Vec::new());
    let road = match (&begin.place, sandbox.link()) {
        (Place::Sandbox { .. }, Some(link)) => Road::Init(link.clone()),
        _ => Road::Engine(sandbox.engine().clone(), sandbox.container().clone()),
    };
    start_as(command, &permit, sandbox.setting(), &options, &road).await.unwrap()
}

/// Starts the command of a session beside the gateway; its working directory is `home`.
pub(crate) async fn spawn_beside(
    home: &Path,
    begin: &Begin,
    command: creel::wire::CommandId,
) -> creel::runner::Running {
    let Place::Host { dir } = &begin.place else { panic!("not beside") };
    let search = InitSearch::from_process(|name| std::env::var(name).ok());
    let init = search.places().into_iter().find(|place| place.is_file()).expect("make init");
    let link = host::launch(&init, dir).await.unwrap();
    let argv = ["/bin/sh", "-c", &begin.command].map(str::to_owned).to_vec();
    let permit = Permit::sandbox("agent:main:test", Command::Argv(argv), None, Vec::new());
    let setting = Setting { workdir: home.to_string_lossy().into_owned(), ..Setting::default() };
    start_as(command, &permit, &setting, &options(begin), &Road::Init(link)).await.unwrap()
}

fn options(begin: &Begin) -> Options {
    Options {
        stdin: begin.stdin,
        tty: begin.tty,
        timeout: begin.timeout_ms.map(Duration::from_millis),
        silence: begin.silence_ms.map(Duration::from_millis),
        grace: Duration::from_millis(begin.grace_ms),
        ..Options::default()
    }
}

/// Ends the supervisors that a failed test left; they end what is below them.
fn end_supervisors(home: &Path) {
    let Ok(dirs) = std::fs::read_dir(home.join("beside")) else { return };
    for dir in dirs.flatten() {
        let Ok(text) = std::fs::read_to_string(dir.path().join(Badge::FILE)) else { continue };
        let Some(badge) = Badge::parse(&text) else { continue };
        let pid = nix::unistd::Pid::from_raw(badge.pid);
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
    }
}

/// Another creel: an ignored test of this program, started again to be killed.
pub(crate) struct Creel {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Creel {
    pub(crate) fn start(test: &str, home: &Path, task: &str) -> Self {
        let mut command = host_tool(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
        let mut child = command.env(HOME, home).env(TASK, task).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Waits for a line `key=value` and returns the value.
    pub(crate) async fn said(&mut self, key: &str) -> String {
        let wait = async {
            while let Some(line) = self.lines.next_line().await.unwrap() {
                if let Some(value) = line.strip_prefix(key).and_then(|rest| rest.strip_prefix('=')) {
                    return value.to_owned();
                }
            }
            panic!("the child ended without {key}");
        };
        tokio::time::timeout(2 * LONG, wait).await.unwrap()
    }

    /// SIGKILL, and it is gone when this returns.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }
}

/// In the child: where and what.
pub(crate) fn orders() -> (PathBuf, String) {
    // What the test program itself says ends here.
    println!();
    (std::env::var_os(HOME).unwrap().into(), std::env::var(TASK).unwrap())
}
