//! Somebody exchanges a mount's source for a link while sandboxes are made: what runs has the right mount, always. What
//! is not right is refused, with the rule.
//!
//! Three seconds for each case; `CREEL_RACE_SECONDS=60` for longer.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a failure here is a failed test"
)]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use creel::engine::{Discovery, Engine};
use creel::host_tool::host_tool;
use creel::sandbox::{InUse, Sandboxes};
use creel::state::StateDir;
use creel::{Sandbox, SandboxOptions};
use rustix::fs::{CWD, RenameFlags, renameat_with};

/// Two paths whose contents are exchanged again and again.
struct Swapper {
    stop: Arc<AtomicBool>,
    count: Arc<AtomicU64>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Swapper {
    fn start(one: PathBuf, other: PathBuf) -> Self {
        let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (end, swaps) = (Arc::clone(&stop), Arc::clone(&count));
        let thread = std::thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                let done = swaps.fetch_add(1, Ordering::Relaxed);
                // As fast as it can, then with pauses, so that every window of a start is met: short ones and long.
                match done / 4096 % 3 {
                    0 => {}
                    1 => std::thread::yield_now(),
                    _ => {
                        // 60 steps of 0 to 59 ms, and on.
                        std::thread::sleep(Duration::from_millis(done * 7 % 60));
                        swaps.fetch_add(63, Ordering::Relaxed);
                    }
                }
            }
        });
        Self { stop, count, thread: Some(thread) }
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Home {
    dir: tempfile::TempDir,
    sandboxes: Sandboxes,
    mounted: Vec<PathBuf>,
}

impl Home {
    async fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("creel-race-").tempdir_in("/tmp").unwrap();
        let engine =
            Engine::discover(&Discovery::from_process(None)).await.expect("these tests need an engine");
        let sandboxes = Sandboxes::open(engine, &StateDir::at(dir.path().join("s"))).unwrap();
        let home = Self { dir, sandboxes, mounted: Vec::new() };
        // What no sandbox may see: a denied place, and one that is in no root.
        home.marked("home/.ssh", "denied");
        home.marked("home/.ssh/leaf", "denied");
        home.marked("outside", "outside");
        home.marked("outside/leaf", "outside");
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A directory with this marker, that anybody may read.
    fn marked(&self, name: &str, marker: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("marker"), marker).unwrap();
        path
    }

    /// A second name for the denied store, which nobody can write to.
    async fn mount_store(&mut self, point: &Path) {
        let store = self.path("home/.ssh");
        let done =
            host_tool("mount").args(["--bind", "-o", "ro"]).arg(store).arg(point).output().await.unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        self.mounted.push(point.to_owned());
    }

    async fn umount(&mut self) {
        for path in std::mem::take(&mut self.mounted) {
            let done = host_tool("umount").arg("-l").arg(path).output().await.unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        }
    }

    fn options(&self, sandbox: &str, binds: &str) -> SandboxOptions {
        let text = format!(
            "{{agents: {{defaults: {{workspace: '{}', sandbox: {{scope: 'session', {sandbox} docker: {{image: \
             'creel-minimal:latest', binds: [{binds}]}}}}}}}}}}",
            self.path("ws").display()
        );
        let file = self.path("openclaw.json");
        std::fs::write(&file, text).unwrap();
        let home = self.path("home").to_string_lossy().into_owned();
        Sandbox::options().state(self.path("s")).config(file).vars(move |name| match name {
            "HOME" => Some(home.clone()),
            "CREEL_INIT" | "DOCKER_HOST" => std::env::var(name).ok(),
            _ => None,
        })
    }

    /// Makes sandboxes while `one` and `other` change places. In each that runs, `look` must print one of `right`.
    async fn race(&self, options: &SandboxOptions, one: PathBuf, other: PathBuf, look: &str, right: &[&str]) {
        let seconds =
            std::env::var("CREEL_RACE_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
        let check = async |sandbox: Sandbox| {
            let done = sandbox.exec(look).await.unwrap();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let (seen, err) = (text(&done.stdout), text(&done.stderr));
            assert!(
                right.contains(&seen.trim()),
                "a running container shows {seen:?}, {err:?}: {:?}",
                done.outcome
            );
            sandbox.stop().await.unwrap();
        };
        // Undisturbed it works.
        check(options.clone().session("before").open().await.unwrap()).await;
        let swapper = Swapper::start(one, other);
        let (mut ran, mut refused) = (0_u32, std::collections::BTreeMap::<String, u32>::new());
        let end = Instant::now() + Duration::from_secs(seconds);
        let mut at = 0;
        while Instant::now() < end || at < 8 {
            at += 1;
            match options.clone().session(format!("race-{at}")).open().await {
                Ok(sandbox) => {
                    check(sandbox).await;
                    ran += 1;
                }
                Err(failure) => {
                    let report = failure.0;
                    assert!(RULES.contains(&report.code), "refused for another reason: {report}");
                    let engines =
                        report.code == "CRL-ENGINE-009" && report.message.contains("bind source path");
                    assert!((report.rule.is_some() || engines) && !report.fix.is_empty(), "{report}");
                    *refused.entry(report.code.to_owned()).or_default() += 1;
                }
            }
        }
        println!("{} swaps, {ran} ran, refused {refused:?}", swapper.count.load(Ordering::Relaxed));
        drop(swapper);
        assert_eq!(self.sandboxes.list().await.unwrap(), [], "what was refused is gone");
        for place in ["home/.ssh", "outside"] {
            let mut names: Vec<_> = std::fs::read_dir(self.path(place))
                .unwrap()
                .map(|entry| entry.unwrap().file_name())
                .collect();
            names.sort();
            assert_eq!(names, ["leaf", "marker"], "nothing was made in {place}");
        }
    }
}

/// Refusals of a bind or a workspace by its path, of one that changed on the way, of a mount that is not as proven, and
/// of an engine that could not mount it.
const RULES: [&str; 9] = [
    "CRL-BIND-002",
    "CRL-BIND-003",
    "CRL-BIND-008",
    "CRL-ENGINE-009",
    "CRL-HOLD-002",
    "CRL-SANDBOX-014",
    "CRL-SANDBOX-017",
    "CRL-SANDBOX-018",
    "CRL-WORKSPACE-002",
];

impl Drop for Home {
    fn drop(&mut self) {
        let sandboxes = self.sandboxes.clone();
        let mounted = std::mem::take(&mut self.mounted);
        let cleaning = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let _ = sandboxes.stop_all(InUse::Remove).await;
                for path in mounted {
                    let _ = host_tool("umount").arg("-l").arg(path).output().await;
                }
            });
            Ok::<(), std::io::Error>(())
        });
        let _ = cleaning.join();
    }
}

fn bind(source: &Path, options: &str) -> String {
    format!("'{}:/data{options}'", source.display())
}

/// The source itself, writable and read-only, for a denied place and for one outside the roots.
#[tokio::test]
async fn the_source_is_exchanged_for_a_link() {
    for (target, options) in [("home/.ssh", ""), ("outside", ":ro")] {
        let home = Home::new().await;
        let source = home.marked("ws/source", "right");
        symlink(home.path(target), home.path("ws/link")).unwrap();
        let asked = home.options("", &bind(&source, options));
        home.race(&asked, source, home.path("ws/link"), "cat /data/marker", &["right"]).await;
    }
}

#[tokio::test]
async fn a_parent_is_exchanged_for_a_link() {
    for (target, options) in [("outside", ""), ("home/.ssh", ":ro")] {
        let home = Home::new().await;
        let source = home.marked("ws/parent/leaf", "right");
        symlink(home.path(target), home.path("ws/link")).unwrap();
        let asked = home.options("", &bind(&source, options));
        let parent = home.path("ws/parent");
        home.race(&asked, parent, home.path("ws/link"), "cat /data/marker", &["right"]).await;
    }
}

/// The agent's own workspace, and the root of the sandboxes' own.
#[tokio::test]
async fn the_workspace_is_exchanged_for_a_link() {
    let home = Home::new().await;
    let own = home.marked("ws", "right");
    symlink(home.path("home/.ssh"), home.path("link")).unwrap();
    let asked = home.options("workspaceAccess: 'rw',", "");
    home.race(&asked, own, home.path("link"), "cat /workspace/marker", &["right"]).await;

    // Each is made below the root; where the root is a link to a denied place, nothing may be made there.
    let home = Home::new().await;
    home.marked("ws", "right");
    let root = home.path("boxes");
    std::fs::create_dir(&root).unwrap();
    symlink(home.path("home/.ssh"), home.path("link")).unwrap();
    let asked = home.options(&format!("workspaceRoot: '{}',", root.display()), "");
    home.race(&asked, root, home.path("link"), "ls -A /workspace", &[""]).await;
}

/// Both directories are allowed; below one of them another file system is mounted, which `:ro` does not reach.
#[tokio::test]
async fn a_directory_with_a_mount_in_it_comes_and_goes() {
    let mut home = Home::new().await;
    let (plain, holding) = (home.marked("ws/plain", "right"), home.marked("ws/holding", "holding"));
    let below = holding.join("below");
    std::fs::create_dir(&below).unwrap();
    let done = host_tool("mount").args(["-t", "tmpfs", "none"]).arg(&below).output().await.unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    home.mounted.extend([below.clone(), plain.join("below")]);
    let asked = home.options("", &bind(&plain, ":ro"));
    let look = "cat /data/marker; grep -c ' /data/' /proc/self/mountinfo";
    home.race(&asked, plain, holding, look, &["right0", "right\n0"]).await;
}

/// Not by chance: after the validation, before anything is made.
#[tokio::test]
async fn exchanged_between_validation_and_start() {
    let home = Home::new().await;
    let source = home.marked("ws/source", "right");
    let link = home.path("ws/link");
    for (target, options) in [("home/.ssh", ""), ("outside", ":ro")] {
        symlink(home.path(target), &link).unwrap();
        let mut request = home.options("", &bind(&source, options)).preview().unwrap().request;
        let id = StateDir::at(home.path("s")).installation().unwrap();
        let name = format!("creel-race-{}-{}", target.len(), id.short());
        request.name = creel::sandbox::SandboxName::parse(&name).unwrap();
        let search = creel::sandbox::InitSearch::from_process(|name| std::env::var(name).ok());
        let init = creel::sandbox::locate_and_install(home.sandboxes.layout(), &search)
            .expect("run `make init` first");
        renameat_with(CWD, &source, CWD, &link, RenameFlags::EXCHANGE).unwrap();
        let error = home.sandboxes.ensure(&request, &init, &creel::sandbox::ByLink).await.unwrap_err();
        let report = creel::error::Diagnose::report(&error);
        assert_eq!(report.code, "CRL-SANDBOX-017", "{report}");
        assert!(report.message.contains("/data"), "{report}");
        assert_eq!(home.sandboxes.list().await.unwrap(), []);
        renameat_with(CWD, &source, CWD, &link, RenameFlags::EXCHANGE).unwrap();
        std::fs::remove_file(&link).unwrap();
    }
}

/// Below a writable bind, and below the workspace: mounted after the validation, before anything is made.
#[tokio::test]
async fn something_denied_is_mounted_between_validation_and_start() {
    let mut home = Home::new().await;
    let source = home.marked("ws/source", "right");
    let (bound, own) = (source.join("in"), home.path("ws/in"));
    for dir in [&bound, &own] {
        std::fs::create_dir_all(dir).unwrap();
    }
    for (at, (point, options, seen)) in
        [(&bound, "", "/in"), (&bound, ":ro", "/in"), (&own, "", "/workspace/in")].into_iter().enumerate()
    {
        let asked = home.options("workspaceAccess: 'rw',", &bind(&source, options));
        let mut request = asked.preview().unwrap().request;
        let id = StateDir::at(home.path("s")).installation().unwrap();
        let name = format!("creel-race-between-{at}-{}", id.short());
        request.name = creel::sandbox::SandboxName::parse(&name).unwrap();
        let search = creel::sandbox::InitSearch::from_process(|name| std::env::var(name).ok());
        let init = creel::sandbox::locate_and_install(home.sandboxes.layout(), &search)
            .expect("run `make init` first");
        home.mount_store(point).await;
        let error = home.sandboxes.ensure(&request, &init, &creel::sandbox::ByLink).await.unwrap_err();
        home.umount().await;
        let report = creel::error::Diagnose::report(&error);
        assert_eq!(report.code, "CRL-SANDBOX-021", "{report}");
        let store = home.path("home/.ssh");
        // The bind's source lies in the workspace: the engine's order tells which of both is found first.
        for part in [seen, store.to_str().unwrap()] {
            assert!(report.message.contains(part), "{part} in {report}");
        }
        assert_eq!(home.sandboxes.list().await.unwrap(), []);
    }
}
