//! A supervisor for one test, and the look at what is left of it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use creel::approvals::{Command, Permit};
use creel::runner::{
    Limits, Link, Options, Outcome, Progress, Road, Running, Setting, fresh_id, host, start_as,
};
use creel::sandbox::InitSearch;
use creel::wire::{Badge, CommandId, Stream};

/// How long anything here may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// The creel-init that was built with these tests.
pub(crate) fn init() -> PathBuf {
    let search = InitSearch::from_process(|name| std::env::var(name).ok());
    search.places().into_iter().find(|place| place.is_file()).expect("creel-init is built: make init")
}

/// A directory for one supervisor. What still lives when the test is over is ended.
pub(crate) struct Ground {
    pub(crate) home: tempfile::TempDir,
}

impl Ground {
    pub(crate) fn new() -> Self {
        Self { home: tempfile::Builder::new().prefix("creel-host-").tempdir_in("/tmp").unwrap() }
    }

    /// The rendezvous directory: deep, so that a socket's address must not be its whole path.
    pub(crate) fn dir(&self) -> PathBuf {
        self.home
            .path()
            .join("a-state-directory-whose-path-is-longer-than-the-address-of-a-socket/".repeat(2))
    }

    pub(crate) async fn launch(&self) -> Link {
        host::launch(&init(), &self.dir()).await.unwrap()
    }

    pub(crate) fn badge(&self) -> Option<Badge> {
        badge(&self.dir())
    }

    /// Runs a script with the options that `change` makes of the default ones.
    pub(crate) async fn run(&self, script: &str, change: impl FnOnce(&mut Options)) -> Run {
        let link = self.launch().await;
        let mut running = start(&link, script, change).await;
        let run = follow(&mut running).await;
        self.assert_gone().await;
        run
    }

    /// The supervisor ends by itself and leaves nothing.
    pub(crate) async fn assert_gone(&self) {
        let dir = self.dir();
        assert!(until(|| !dir.exists()).await, "left: {:?}", self.badge());
        assert!(host::reach(&dir).await.unwrap().is_none());
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        if let Some(badge) = self.badge() {
            // Its supervisors end what is below them.
            let _ = nix::sys::signal::kill(
                nix::unistd::Pid::from_raw(badge.pid),
                nix::sys::signal::Signal::SIGKILL,
            );
        }
    }
}

pub(crate) fn badge(dir: &Path) -> Option<Badge> {
    Badge::parse(&std::fs::read_to_string(dir.join(Badge::FILE)).ok()?)
}

/// A command that has ended, and what came of it.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) outcome: Outcome,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Starts a script under the machine's own shell.
pub(crate) async fn start(link: &Link, script: &str, change: impl FnOnce(&mut Options)) -> Running {
    let argv = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
    start_argv(fresh_id().unwrap(), link, argv, change).await
}

pub(crate) async fn start_argv(
    id: CommandId,
    link: &Link,
    argv: Vec<String>,
    change: impl FnOnce(&mut Options),
) -> Running {
    let mut options =
        Options { grace: Duration::from_millis(300), limits: Limits::default(), ..Options::default() };
    change(&mut options);
    let setting = Setting { workdir: "/tmp".to_owned(), ..Setting::default() };
    let permit = Permit::sandbox("agent:main:main", Command::Argv(argv), None, Vec::new());
    start_as(id, &permit, &setting, &options, &Road::Init(link.clone())).await.unwrap()
}

/// The next thing that happens, in time.
pub(crate) async fn next(running: &mut Running) -> Progress {
    tokio::time::timeout(PATIENCE, running.next()).await.unwrap().unwrap()
}

/// To the end.
pub(crate) async fn follow(running: &mut Running) -> Run {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    loop {
        match next(running).await {
            Progress::Output(Stream::Stdout, data) => stdout.extend_from_slice(&data),
            Progress::Output(Stream::Stderr, data) => stderr.extend_from_slice(&data),
            Progress::Done(outcome) => {
                let text = |bytes| String::from_utf8(bytes).unwrap();
                return Run { outcome: *outcome, stdout: text(stdout), stderr: text(stderr) };
            }
            Progress::Started(_) | Progress::Input { .. } => {}
        }
    }
}

/// Reads standard output until it ends with `end`.
pub(crate) async fn read_until(running: &mut Running, end: &str) -> String {
    let mut text = String::new();
    while !text.ends_with(end) {
        match next(running).await {
            Progress::Output(_, data) => text.push_str(&String::from_utf8_lossy(&data)),
            Progress::Done(outcome) => panic!("ended before {end:?}: {text:?} {outcome:?}"),
            Progress::Started(_) | Progress::Input { .. } => {}
        }
    }
    text
}

/// Looks again and again.
pub(crate) async fn until(mut done: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + PATIENCE;
    while !done() {
        if Instant::now() > end {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    true
}

/// A process lives: it is there and not merely waited for.
pub(crate) fn lives(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}
