//! What tests against the real engine share: a tiny image of their own and containers that do not outlive the test.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "helpers of tests: a failure here is a failed test"
)]

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use bytes::Bytes;
use creel::engine::{ContainerId, ContainerSpec, Discovery, Engine, ExecSpec, Limits, Stdio, Tmpfs};
use futures_util::StreamExt as _;
use tokio::io::AsyncWriteExt as _;

/// The real engine and an image for one test; containers made through it are removed at its end.
pub(crate) struct Real {
    pub(crate) engine: Engine,
    pub(crate) image: String,
    /// Value of the label `creel-test` on everything made.
    pub(crate) tag: String,
}

impl Real {
    pub(crate) async fn new(test: &str) -> Self {
        let engine =
            Engine::discover(&Discovery::from_process(None)).await.expect("these tests need an engine");
        let tag = format!("{test}-{}", std::process::id());
        let image = format!("creel-engine-test:{test}");
        let tar = Bytes::from(busybox_tar());
        let pieces: Vec<io::Result<Bytes>> =
            tar.chunks(64 * 1024).map(|part| Ok(tar.slice_ref(part))).collect();
        let changes = ["ENV PATH=/bin".to_owned(), format!("LABEL creel-test={test}")];
        let stream = futures_util::stream::iter(pieces);
        let id = engine.import(stream, &image, &changes).await.expect("import");
        assert!(id.starts_with("sha256:"), "{id}");
        Self { engine, image, tag }
    }

    pub(crate) async fn create(&self, spec: &ContainerSpec) -> ContainerId {
        self.engine.create(spec).await.expect("create")
    }
}

impl Drop for Real {
    /// Also after a failed assertion. A drop cannot await, so a thread with a runtime of its own does it.
    fn drop(&mut self) {
        let (engine, image, tag) = (self.engine.clone(), self.image.clone(), self.tag.clone());
        let cleaning = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                for row in engine.list(&[("creel-test".to_owned(), tag)]).await.unwrap_or_default() {
                    let _ = engine.remove(&row.id).await;
                }
                let _ = engine.remove_image(&image).await;
            });
            Ok::<(), io::Error>(())
        });
        let _ = cleaning.join();
    }
}

/// A hardened container that sleeps.
pub(crate) fn spec(real: &Real, test: &str) -> ContainerSpec {
    ContainerSpec {
        name: format!("creel-engine-test-{test}-{}", std::process::id()),
        image: real.image.clone(),
        argv: vec!["sleep".into(), "600".into()],
        env: vec![],
        labels: [("creel-test".to_owned(), real.tag.clone())].into(),
        user: None,
        workdir: "/tmp".into(),
        mounts: vec![],
        tmpfs: vec![Tmpfs { target: "/tmp".into(), options: "rw,nosuid,nodev,size=8m".into() }],
        network: "none".into(),
        dns: vec![],
        extra_hosts: vec![],
        read_only_root: true,
        cap_drop: vec!["ALL".into()],
        seccomp: None,
        apparmor: None,
        limits: Limits { pids: Some(64), memory: Some(64 << 20), ..Limits::default() },
        gpus: None,
        engine_init: false,
        stdin: false,
        stop_timeout_s: 1,
    }
}

/// Runs a command to its end with this input; its output and errors as text.
pub(crate) async fn collect(
    engine: &Engine,
    id: &ContainerId,
    spec: &ExecSpec,
    input: &[u8],
) -> (String, String) {
    let command = engine.exec_create(id, spec).await.expect("exec create");
    let mut streams = engine.exec_start(&command, false).await.expect("exec start");
    let feed = async {
        streams.input.write_all(input).await.expect("stdin");
        streams.input.shutdown().await.expect("end of stdin");
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let read = async {
        while let Some(item) = streams.output.next().await {
            match item.expect("output") {
                (Stdio::Stdout, data) => out.extend(data),
                (Stdio::Stderr, data) => err.extend(data),
            }
        }
    };
    tokio::join!(feed, read);
    (String::from_utf8_lossy(&out).into_owned(), String::from_utf8_lossy(&err).into_owned())
}

/// Waits until the container's PID 1 has ended.
pub(crate) async fn until_ended(engine: &Engine, id: &ContainerId) {
    for _ in 0..200 {
        if engine.inspect(&id.0).await.expect("inspect").is_some_and(|facts| facts.exit_code.is_some()) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("container {} does not end", id.short());
}

/// A root file system of one static busybox and links to it.
fn busybox_tar() -> Vec<u8> {
    let program = std::fs::read(busybox()).expect("busybox");
    let mut tar = tar::Builder::new(Vec::new());
    for dir in ["bin/", "tmp/", "proc/", "sys/", "dev/", "etc/", "m/"] {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Directory);
        header.set_size(0);
        header.set_mode(0o755);
        tar.append_data(&mut header, dir, io::empty()).expect("tar");
    }
    let mut header = tar::Header::new_gnu();
    header.set_size(program.len() as u64);
    header.set_mode(0o755);
    tar.append_data(&mut header, "bin/busybox", program.as_slice()).expect("tar");
    for name in ["sh", "cat", "sleep", "wc", "stty", "printf", "true", "dd"] {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        tar.append_link(&mut header, format!("bin/{name}"), "busybox").expect("tar");
    }
    tar.into_inner().expect("tar")
}

/// A static busybox: the machine's own, else Debian's package unpacked below the target directory.
fn busybox() -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("busybox");
    let program = dir.join("bin/busybox");
    if program.exists() {
        return program;
    }
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("scratch directory");
    let script = "apt-get download -q busybox-static && dpkg-deb -x busybox-static_*.deb root";
    let status = Command::new("sh").args(["-ec", script]).current_dir(scratch.path()).status().expect("sh");
    assert!(status.success(), "apt-get download busybox-static");
    // Another test may have been faster; both made the same.
    let _ = std::fs::rename(scratch.path().join("root"), &dir);
    program
}

/// An archive as `docker save` writes it, with one image of this reference.
pub(crate) fn saved(reference: &str) -> Vec<u8> {
    use sha2::Digest as _;
    let layer = busybox_tar();
    let digest = creel::state::hex(&sha2::Sha256::digest(&layer));
    let config = format!(
        r#"{{"architecture":"amd64","os":"linux","config":{{"User":"7:7"}},
            "rootfs":{{"type":"layers","diff_ids":["sha256:{digest}"]}}}}"#
    );
    let manifest =
        format!(r#"[{{"Config":"config.json","RepoTags":["{reference}"],"Layers":["layer.tar"]}}]"#);
    let mut tar = tar::Builder::new(Vec::new());
    let files =
        [("config.json", config.as_bytes()), ("manifest.json", manifest.as_bytes()), ("layer.tar", &layer)];
    for (name, data) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, data).expect("tar");
    }
    tar.into_inner().expect("tar")
}
