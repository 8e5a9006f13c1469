//! A dockerd of the test's own, in its own network and mount namespaces, that may be killed and started again.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use creel::engine::{Discovery, Engine};
use creel::host_tool::host_tool;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Child;

use super::home::{IMAGE, text, until};

/// Holds the namespaces, so that a dockerd that starts again finds its `/run` as on a real machine.
const MACHINE: &str = "mount --make-rprivate / && mount -t tmpfs tmpfs /run && mkdir -p /run/lock && \
                       ip link set lo up && echo held && exec sleep 3600";

pub(crate) struct PrivateEngine {
    dir: tempfile::TempDir,
    holder: Child,
    daemon: Option<Child>,
    live_restore: bool,
}

impl PrivateEngine {
    /// Starts it; with `live_restore` its containers outlive it.
    pub(crate) async fn start(live_restore: bool) -> Self {
        use tokio::io::AsyncReadExt as _;
        let dir = tempfile::Builder::new().prefix("creel-engine-").tempdir_in("/tmp").unwrap();
        let mut holder = host_tool("unshare")
            .args(["--mount", "--net", "sh", "-c", MACHINE])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut held = [0; 5];
        holder.stdout.take().unwrap().read_exact(&mut held).await.unwrap();
        let mut engine = Self { dir, holder, daemon: None, live_restore };
        engine.up().await;
        engine
    }

    pub(crate) fn address(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("docker.sock")
    }

    /// Starts the daemon and waits until it answers.
    pub(crate) async fn up(&mut self) {
        let log =
            std::fs::OpenOptions::new().create(true).append(true).open(self.dir.path().join("log")).unwrap();
        let mut command = host_tool("nsenter");
        command.args(["--target", &self.holder.id().unwrap().to_string(), "--mount", "--net", "dockerd"]);
        command.arg("--data-root").arg(self.dir.path().join("data"));
        command.arg("--host").arg(self.address());
        command.args(["--exec-root", "/run/docker", "--pidfile", "/run/docker.pid"]);
        command.args(["--bridge", "none", "--iptables=false", "--ip6tables=false"]);
        if self.live_restore {
            command.arg("--live-restore");
        }
        let daemon = command.stdout(log.try_clone().unwrap()).stderr(log).kill_on_drop(true).spawn().unwrap();
        self.daemon = Some(daemon);
        let mut tries = 0;
        while let Err(error) = self.engine().await {
            tries += 1;
            assert!(tries < 300, "{error}\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn engine(&self) -> Result<Engine, creel::engine::EngineError> {
        Engine::discover(&Discovery::from_process(Some(self.address()))).await
    }

    fn log(&self) -> String {
        let log = std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
        log.lines().rev().take(20).collect::<Vec<_>>().join("\n")
    }

    /// The daemon is killed as by a crash; its containerd dies with it, shims and containers stay.
    pub(crate) async fn crash(&mut self) {
        self.daemon.take().unwrap().kill().await.unwrap();
        let file = format!("/proc/{}/root/run/docker/containerd/containerd.pid", self.holder.id().unwrap());
        let pid = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        assert!(until(Duration::from_secs(10), || !alive(pid)).await);
        // Where the machine's init is slow to reap, the next dockerd would take the dead containerd for a living one.
        std::fs::remove_file(file).unwrap();
    }

    /// Copies the small image from the machine's engine.
    pub(crate) async fn load(&self) {
        let script = format!("docker save {IMAGE} | docker --host {} load", self.address());
        let output = host_tool("sh").args(["-ec", &script]).output().await.unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }

    /// Ends the daemon and its containerd in order; nothing of them may be left.
    pub(crate) async fn down(mut self) {
        let pids = self.processes();
        self.end();
        let gone = || pids.iter().all(|pid| !alive(*pid));
        assert!(until(Duration::from_secs(20), gone).await, "{:?}\n{}", self.processes(), self.log());
    }

    /// Processes in its mount namespace: dockerd, containerd, shims, and the holder.
    fn processes(&self) -> Vec<i32> {
        use std::os::unix::fs::MetadataExt as _;
        let space = |pid: &str| Some(std::fs::metadata(format!("/proc/{pid}/ns/mnt")).ok()?.ino());
        let Some(own) = self.holder.id().and_then(|pid| space(&pid.to_string())) else { return Vec::new() };
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| space(name) == Some(own)).filter_map(|name| name.parse().ok()).collect()
    }

    /// TERM to the daemon and a while for it, then KILL to whatever is left in its namespace.
    fn end(&mut self) {
        if let Some(pid) = self.daemon.as_ref().and_then(tokio::process::Child::id) {
            signal(i32::try_from(pid).unwrap_or(0), Signal::TERM);
            let end = std::time::Instant::now() + Duration::from_secs(10);
            while alive(i32::try_from(pid).unwrap_or(0)) && std::time::Instant::now() < end {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        for pid in self.processes() {
            signal(pid, Signal::KILL);
        }
    }
}

impl Drop for PrivateEngine {
    fn drop(&mut self) {
        self.end();
        // Mounts below the data directory were in the namespace that has just ended; the kernel needs a moment.
        for _ in 0..50 {
            if std::fs::remove_dir_all(self.dir.path()).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// There, and not merely unwaited for.
fn alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}
