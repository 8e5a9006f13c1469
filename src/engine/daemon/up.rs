//! Brings an engine up.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::process::Child;

use super::record::{Lock, directory};
use super::{DaemonError, Machine, Started, Step, install, last_lines, plan, program};
use crate::engine::{Discovery, Endpoint, Engine, EngineError};
use crate::host_tool::host_tool;
use crate::state::StateDir;

/// Where a dockerd that we start listens.
const SOCKET: &str = "/var/run/docker.sock";
/// How long a new dockerd may take to answer; on a machine under load it was seen to need most of a minute.
const START_LIMIT: Duration = Duration::from_mins(2);
/// How often a start is tried when dockerd gives up on its own containerd, as it does under load.
const TRIES: u32 = 3;

/// How an engine came to be there.
#[derive(Debug)]
pub struct Up {
    /// The engine.
    pub engine: Engine,
    /// The process that creel started, now or earlier; `None` for somebody else's engine.
    pub started: Option<Started>,
    /// It was there already.
    pub already: bool,
}

/// What [`up`] would do: nothing where an engine answers.
///
/// # Errors
///
/// What is wrong with an engine that somebody named or that does not answer; [`DaemonError::NotRoot`];
/// [`DaemonError::Unsupported`].
pub async fn prepare(discovery: &Discovery) -> Result<Vec<Step>, DaemonError> {
    match Engine::discover(discovery).await {
        Ok(_) => Ok(Vec::new()),
        Err(EngineError::NoEngine { .. }) if may_start(discovery) => plan(&Machine::look()),
        Err(error) => Err(error.into()),
    }
}

/// Finds an engine or does what [`prepare`] said. `say` is told of each step. Two callers at once start one engine.
///
/// # Errors
///
/// As [`prepare`], and what goes wrong on the way.
pub async fn up(
    discovery: &Discovery,
    state: &StateDir,
    say: &mut impl FnMut(&str),
) -> Result<Up, DaemonError> {
    let _lock = Lock::take(&directory(state)?).await?;
    let mut already = true;
    for step in prepare(discovery).await? {
        already = false;
        match step {
            Step::Install(packages) => install::install(&packages, say).await?,
            Step::Service => {
                say("starting the docker service");
                install::run("systemctl", &["start", "docker"]).await?;
            }
            // The package may have started it.
            Step::Process if Engine::discover(discovery).await.is_ok() => {}
            Step::Process => start(state, say).await?,
        }
    }
    let engine = answer(discovery).await?;
    let local = *engine.facts().endpoint.to_string() == *format!("unix://{SOCKET}");
    let started = Started::running(state)?.filter(|_| local);
    Ok(Up { engine, started, already })
}

/// An engine on the system's socket is one that the caller would find.
fn may_start(discovery: &Discovery) -> bool {
    let socket = Endpoint::Unix(PathBuf::from(SOCKET));
    discovery.candidates().is_ok_and(|list| list.iter().any(|candidate| candidate.endpoint == socket))
}

/// The engine, given a moment to answer.
async fn answer(discovery: &Discovery) -> Result<Engine, DaemonError> {
    let begin = Instant::now();
    loop {
        match Engine::discover(discovery).await {
            Err(EngineError::NoEngine { .. } | EngineError::NotResponding { .. })
                if begin.elapsed() < Duration::from_secs(10) =>
            {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            result => return Ok(result?),
        }
    }
}

/// Starts dockerd as a process of our own.
async fn start(state: &StateDir, say: &mut impl FnMut(&str)) -> Result<(), DaemonError> {
    let dir = directory(state)?;
    let log = dir.join("dockerd.log");
    for attempt in 1..=TRIES {
        say(if attempt == 1 { "starting dockerd" } else { "starting dockerd again" });
        clear_stale(Path::new("/var/run/docker/containerd/containerd.pid"), "containerd");
        let mut child = spawn(&dir, &log)?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok());
        if let Some(started) = pid.and_then(Started::of) {
            started.record(state)?;
        }
        if answers(&mut child).await? {
            return Ok(());
        }
        Started::forget(state)?;
        let text = std::fs::read(&log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        if attempt == TRIES || !text.contains("timeout waiting for containerd to start") {
            return Err(DaemonError::Start { log, tail: last_lines(&text, 10) });
        }
    }
    Ok(())
}

/// dockerd in a session of its own: it outlives this process and its terminal.
///
/// It is asked for nothing that needs more than plain root: no negative out-of-memory score, no higher limit on open
/// files than this process has. dockerd raises its own soft limit.
fn spawn(dir: &Path, log: &Path) -> Result<Child, DaemonError> {
    let failed = |what: &str| DaemonError::io(format!("{what} {}", log.display()));
    let output = std::fs::File::create(log).map_err(failed("create"))?;
    let errors = output.try_clone().map_err(failed("open"))?;
    let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
    let dockerd = program("dockerd").ok_or_else(missing).map_err(DaemonError::io("find dockerd"))?;
    host_tool("setsid")
        .arg(dockerd)
        .arg("--host")
        .arg(format!("unix://{SOCKET}"))
        // The usual place may name a process of an earlier boot, and dockerd would then refuse to start.
        .arg("--pidfile")
        .arg(dir.join("dockerd.pid"))
        .stdout(Stdio::from(output))
        .stderr(Stdio::from(errors))
        .kill_on_drop(false)
        .spawn()
        .map_err(DaemonError::io("start dockerd"))
}

/// Waits until it answers on its socket; false when it ended before. One that hangs is ended.
async fn answers(child: &mut Child) -> Result<bool, DaemonError> {
    let begin = Instant::now();
    while begin.elapsed() < START_LIMIT {
        if Engine::connect(Endpoint::Unix(PathBuf::from(SOCKET))).await.is_ok() {
            return Ok(true);
        }
        if child.try_wait().map_err(DaemonError::io("wait for dockerd"))?.is_some() {
            return Ok(false);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    child.kill().await.map_err(DaemonError::io("end dockerd"))?;
    Ok(false)
}

/// Removes a pid file of an earlier boot whose id is some other program's by now: dockerd would wait for it in vain.
fn clear_stale(path: &Path, name: &str) {
    let Ok(text) = std::fs::read_to_string(path) else { return };
    let comm = text.trim().parse::<u32>().ok();
    let comm = comm.and_then(|pid| std::fs::read_to_string(format!("/proc/{pid}/comm")).ok());
    if comm.is_none_or(|comm| comm.trim() != name) {
        let _ = std::fs::remove_file(path);
    }
}
