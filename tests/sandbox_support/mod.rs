//! What the tests of sandboxes share: an empty image, a state directory, and a plain host side of the wire.

#![expect(clippy::expect_used, reason = "helpers of tests: a failure here is a failed test")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use creel::engine::{Discovery, Engine};
use creel::host_tool::host_tool;
use creel::runner::Awaited;
use creel::sandbox::{
    Bind, Held, InitBinary, InitSearch, Meet, MeetError, Probe, Ready, SandboxError, SandboxName,
    SandboxRequest, Sandboxes, Workspace, locate_and_install,
};
use creel::state::{StateDir, random_hex};
use creel::wire::{Assembler, CommandId, Facts, FromInit, Hello, MAX_FROM_INIT, Spawn, ToInit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

/// One test's installation; its containers and its image go with it.
pub(crate) struct Home {
    pub(crate) sandboxes: Sandboxes,
    pub(crate) init: InitBinary,
    pub(crate) image: String,
    pub(crate) state: PathBuf,
    pub(crate) dir: tempfile::TempDir,
    mounted: Vec<PathBuf>,
}

pub(crate) type Outcome = Result<Ready<Link>, SandboxError>;

impl Home {
    pub(crate) async fn new() -> Self {
        let dir = tempfile::tempdir().expect("directory");
        let image = format!("creel-sandbox-test:{}", random_hex::<6>().expect("random"));
        let engine = engine().await;
        import(&engine, &image).await;
        Self::open(engine, dir, image)
    }

    fn open(engine: Engine, dir: tempfile::TempDir, image: String) -> Self {
        let state = dir.path().join("s");
        let (sandboxes, init) = open(engine, &state);
        Self { sandboxes, init, image, state, dir, mounted: Vec::new() }
    }

    /// Mounts an empty file system until the end of the test.
    pub(crate) async fn mount_tmpfs(&mut self, point: &Path) {
        let mount = host_tool("mount").args(["-t", "tmpfs", "none"]).arg(point).output().await;
        assert!(mount.expect("mount").status.success(), "a file system cannot be mounted: is this root?");
        self.mounted.push(point.to_owned());
    }

    /// Another image, empty but for this instruction; whoever asks removes it.
    pub(crate) async fn import_with(&self, instruction: &str) -> String {
        let image = format!("creel-sandbox-test:{}", random_hex::<6>().expect("random"));
        import_as(self.engine(), &image, &[instruction.to_owned()]).await;
        image
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.sandboxes.engine()
    }

    /// A name of this installation.
    pub(crate) fn name(&self, slug: &str) -> SandboxName {
        name(&self.state, slug)
    }

    pub(crate) fn request(&self, slug: &str) -> SandboxRequest {
        request(&self.state, slug, &self.image)
    }

    pub(crate) async fn ensure(&self, request: &SandboxRequest) -> Outcome {
        self.sandboxes.ensure(request, &self.init, &Host { setup: None }).await
    }

    /// Makes the last use of a sandbox an hour ago.
    pub(crate) fn cool(&self, slug: &str) {
        let path = self.state.join("creel/used").join(self.name(slug).as_str());
        let file = std::fs::OpenOptions::new().write(true).open(path).expect("used");
        let hour_ago = std::time::SystemTime::now() - Duration::from_hours(1);
        file.set_modified(hour_ago).expect("time");
    }

    /// Names of the rendezvous directories.
    pub(crate) fn runs(&self) -> usize {
        std::fs::read_dir(self.state.join("creel/run")).map_or(0, Iterator::count)
    }

    /// How many containers of this installation there are.
    pub(crate) async fn count(&self) -> usize {
        self.sandboxes.list().await.expect("list").len()
    }
}

impl Drop for Home {
    /// Also after a failed assertion. A drop cannot await, so a thread with a runtime of its own does it.
    fn drop(&mut self) {
        let (sandboxes, image) = (self.sandboxes.clone(), self.image.clone());
        let mounted = std::mem::take(&mut self.mounted);
        let cleaning = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let _ = sandboxes.stop_all(creel::sandbox::InUse::Remove).await;
                let _ = sandboxes.engine().remove_image(&image).await;
                for point in mounted {
                    let _ = host_tool("umount").arg("-l").arg(point).output().await;
                }
            });
            Ok::<(), std::io::Error>(())
        });
        let _ = cleaning.join();
    }
}

pub(crate) async fn engine() -> Engine {
    Engine::discover(&Discovery::from_process(None)).await.expect("these tests need an engine")
}

/// Opens the installation in `state` and installs creel-init into it.
pub(crate) fn open(engine: Engine, state: &Path) -> (Sandboxes, InitBinary) {
    let sandboxes = Sandboxes::open(engine, &StateDir::at(state)).expect("state");
    let search = InitSearch::from_process(|name| std::env::var(name).ok());
    let init = locate_and_install(sandboxes.layout(), &search).expect("run `make init` first");
    (sandboxes, init)
}

/// Holds a directory as the validation of binds does.
pub(crate) fn bind(source: &Path, target: &str, read_only: bool) -> Bind {
    let held = Held::open(source).expect("source");
    Bind { source: source.to_owned(), target: target.to_owned(), read_only, held }
}

pub(crate) fn name(state: &Path, slug: &str) -> SandboxName {
    let id = StateDir::at(state).installation().expect("installation");
    SandboxName::parse(&format!("creel-test-{slug}-{}", id.short())).expect("name")
}

pub(crate) fn request(state: &Path, slug: &str, image: &str) -> SandboxRequest {
    let workspace = Workspace {
        dir: state.join("sandboxes").join(slug),
        read_only: false,
        owned_by_creel: true,
        target: "/workspace".to_owned(),
    };
    SandboxRequest::hardened(name(state, slug), format!("agent:{slug}"), image, workspace)
}

/// An image with nothing in it but a directory: creel-init needs no more.
pub(crate) async fn import(engine: &Engine, reference: &str) -> String {
    let label = format!("LABEL creel-test={}", random_hex::<4>().expect("random"));
    import_as(engine, reference, &[label]).await
}

async fn import_as(engine: &Engine, reference: &str, changes: &[String]) -> String {
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Directory);
    header.set_mode(0o755);
    header.set_size(0);
    tar.append_data(&mut header, "etc/", std::io::empty()).expect("tar");
    let bytes = Bytes::from(tar.into_inner().expect("tar"));
    let stream = futures_util::stream::iter([Ok(bytes)]);
    engine.import(stream, reference, changes).await.expect("import")
}

/// Meets init with the wire's own messages and nothing else.
pub(crate) struct Host {
    /// What the set-up of a new container answers; `None` is success.
    pub(crate) setup: Option<String>,
}

/// Never meets anybody: a caller that hangs until it is dropped.
pub(crate) struct Nobody;

impl Meet for Nobody {
    type Link = Link;

    async fn meet(&self, _: &Path, _: Awaited, _: Duration) -> Result<Link, MeetError> {
        std::future::pending().await
    }
}

/// A greeted connection.
#[derive(Debug)]
pub(crate) struct Link {
    stream: UnixStream,
    assembler: Assembler,
    unread: Vec<u8>,
}

fn broken(error: impl Into<Box<dyn std::error::Error>>) -> MeetError {
    MeetError { reason: error.into().to_string(), timed_out: false }
}

impl Meet for Host {
    type Link = Link;

    async fn meet(&self, dir: &Path, peer: Awaited, deadline: Duration) -> Result<Link, MeetError> {
        let Awaited::Kernel(pid1) = peer else { return Err(broken("not on a host")) };
        match tokio::time::timeout(deadline, greet(dir, pid1)).await {
            Ok(result) => result,
            Err(_) => Err(MeetError { reason: "nobody came".to_owned(), timed_out: true }),
        }
    }

    async fn prepare(&self, _link: &mut Link) -> Result<(), MeetError> {
        self.setup.clone().map_or(Ok(()), |reason| Err(broken(reason)))
    }
}

async fn greet(dir: &Path, pid1: i32) -> Result<Link, MeetError> {
    let nonce = random_hex::<4>().map_err(broken)?;
    let (draft, path) = (dir.join(format!(".{nonce}")), dir.join(format!("h-{nonce}.sock")));
    let listener = UnixListener::bind(&draft).map_err(broken)?;
    std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o666)).map_err(broken)?;
    std::fs::rename(&draft, &path).map_err(broken)?;
    let accepted = listener.accept().await;
    let _ = std::fs::remove_file(&path);
    let (stream, _) = accepted.map_err(broken)?;
    let peer = stream.peer_cred().map_err(broken)?.pid();
    if peer != Some(pid1) {
        return Err(broken(format!("peer {peer:?} is not PID 1 ({pid1})")));
    }
    let mut link = Link { stream, assembler: Assembler::new(MAX_FROM_INIT), unread: Vec::new() };
    link.say(&ToInit::Hello(Hello::ours([0; 16]))).await?;
    match link.hear().await? {
        FromInit::Hello(_) => Ok(link),
        other => Err(broken(format!("no hello but {other:?}"))),
    }
}

impl Link {
    async fn say(&mut self, message: &ToInit) -> Result<(), MeetError> {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        self.stream.write_all(&bytes).await.map_err(broken)
    }

    async fn hear(&mut self) -> Result<FromInit, MeetError> {
        loop {
            let (used, message) = self.assembler.next(&self.unread).map_err(broken)?;
            let message = message.map(|message| FromInit::decode(message.kind, &message.payload));
            self.unread.drain(..used);
            if let Some(message) = message {
                return message.map_err(broken);
            }
            if self.stream.read_buf(&mut self.unread).await.map_err(broken)? == 0 {
                return Err(broken("init closed the connection"));
            }
        }
    }
}

impl Link {
    /// Starts a command that waits for its input: the image holds no program, so it is creel-init itself.
    pub(crate) async fn start_waiting(&mut self) -> CommandId {
        let id = CommandId([7; 16]);
        let argv = ["/.creel/init", "control", "spawn", "--", "/none"];
        let argv = argv.map(|part| part.as_bytes().to_vec()).to_vec();
        let spawn = Spawn { id, argv, stdin: true, ring: 1 << 16, ..Spawn::default() };
        self.say(&ToInit::Spawn(Box::new(spawn))).await.expect("spawn");
        match self.hear().await.expect("answer") {
            FromInit::Started { .. } => id,
            other => unreachable!("{other:?}"),
        }
    }

    /// Ends a command and waits for its exit.
    pub(crate) async fn end(&mut self, id: CommandId) {
        self.say(&ToInit::Attach { id, own: true, from: 0 }).await.expect("attach");
        self.say(&ToInit::Kill { id, grace_ms: 0 }).await.expect("kill");
        while !matches!(self.hear().await.expect("exit"), FromInit::Exit(_)) {}
    }
}

impl Probe for Link {
    async fn facts(&mut self, paths: Vec<String>) -> Result<Facts, MeetError> {
        self.say(&ToInit::Probe { paths }).await?;
        match self.hear().await? {
            FromInit::Facts(facts) => Ok(*facts),
            other => Err(broken(format!("no facts but {other:?}"))),
        }
    }

    async fn running(&mut self) -> Result<usize, MeetError> {
        self.say(&ToInit::List).await?;
        match self.hear().await? {
            FromInit::Table(table) => Ok(table.iter().filter(|entry| entry.running).count()),
            other => Err(broken(format!("no table but {other:?}"))),
        }
    }
}
