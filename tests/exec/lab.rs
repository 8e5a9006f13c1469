//! One sandbox with both roads into it, and the clean-up after it.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use creel::engine::{BuildSpec, Discovery, Engine};
use creel::runner::Running;
use creel::sandbox::{InUse, InitSearch, Sandboxes, locate_and_install};
use creel::state::{StateDir, random_hex};
use creel::{Call, Collected, RoadChoice, Sandbox, SandboxOptions};

/// The image that the tests run in.
pub(crate) const IMAGE: &str = "creel-minimal:latest";

/// An installation of its own in a directory of its own. What it made goes with it, also after a failed assertion.
pub(crate) struct Home {
    dir: tempfile::TempDir,
    image: Option<String>,
}

/// A sandbox of that installation, opened once for each transport.
pub(crate) struct Lab {
    pub(crate) init: Sandbox,
    pub(crate) engine: Sandbox,
    // Last: containers are removed when nobody uses them any more.
    _home: Home,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), image: None }
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.path().join("s")
    }

    /// A directory of the host beside the state directory.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    /// Writes the configuration.
    pub(crate) fn configure(self, text: &str) -> Self {
        std::fs::create_dir_all(self.state()).unwrap();
        std::fs::write(self.state().join("openclaw.json"), text).unwrap();
        self
    }

    /// Builds an image of these files (path, mode, contents) and Dockerfile lines; it is removed at the end.
    pub(crate) async fn build(&mut self, dockerfile: &str, files: &[(&str, u32, &[u8])]) -> String {
        let reference = format!("creel-exec-test:{}", random_hex::<6>().unwrap());
        let mut tar = tar::Builder::new(Vec::new());
        for (path, mode, data) in [("Dockerfile", 0o644, dockerfile.as_bytes())].iter().chain(files) {
            let mut header = tar::Header::new_gnu();
            header.set_mode(*mode);
            header.set_size(data.len() as u64);
            tar.append_data(&mut header, path, *data).unwrap();
        }
        let spec = BuildSpec {
            context: Bytes::from(tar.into_inner().unwrap()),
            dockerfile: "Dockerfile".to_owned(),
            reference: reference.clone(),
            ..BuildSpec::default()
        };
        self.image = Some(reference.clone());
        engine().await.build(&spec, |_| {}).await.unwrap();
        reference
    }

    /// The creel-init that sandboxes of this installation get.
    pub(crate) async fn init(&self) -> PathBuf {
        let sandboxes = Sandboxes::open(engine().await, &StateDir::at(self.state())).unwrap();
        let search = InitSearch::from_process(|name| std::env::var(name).ok());
        locate_and_install(sandboxes.layout(), &search).expect("run `make init` first").path
    }

    /// Options that see nothing of this machine but the place of creel-init.
    pub(crate) fn options(&self) -> SandboxOptions {
        let vars: HashMap<&str, String> = [
            ("HOME", self.place("home").to_string_lossy().into_owned()),
            ("CREEL_INIT", std::env::var("CREEL_INIT").unwrap_or_default()),
        ]
        .into();
        Sandbox::options().state(self.state()).image(IMAGE).vars(move |name| vars.get(name).cloned())
    }

    /// Opens the sandbox that `options` describe over both roads.
    pub(crate) async fn open(self, options: SandboxOptions) -> Lab {
        let init = options.open().await.unwrap();
        let engine = options.road(RoadChoice::Engine).open().await.unwrap();
        assert_eq!(init.container(), engine.container());
        Lab { init, engine, _home: self }
    }
}

impl Drop for Home {
    /// A drop cannot await, so a thread with a runtime of its own does it.
    fn drop(&mut self) {
        let (state, image) = (self.state(), self.image.clone());
        let cleaning = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(clean(&state, image));
            Ok::<(), std::io::Error>(())
        });
        let _ = cleaning.join();
    }
}

async fn clean(state: &Path, image: Option<String>) {
    let engine = engine().await;
    if let Ok(sandboxes) = Sandboxes::open(engine.clone(), &StateDir::at(state)) {
        let _ = sandboxes.stop_all(InUse::Remove).await;
    }
    if let Some(image) = image {
        let _ = engine.remove_image(&image).await;
    }
}

impl Lab {
    /// A hard sandbox with nothing special about it.
    pub(crate) async fn new() -> Self {
        let home = Home::new();
        let options = home.options();
        home.open(options).await
    }

    /// As [`Self::new`], with a configuration file.
    pub(crate) async fn configured(text: &str) -> Self {
        let home = Home::new().configure(text);
        let options = home.options();
        home.open(options).await
    }

    /// Both roads, the fast one first.
    pub(crate) fn roads(&self) -> [&Sandbox; 2] {
        [&self.init, &self.engine]
    }

    /// Every process in the container as `STATE ARGS`, without PID 1 and the one that looks.
    pub(crate) async fn processes(&self) -> Vec<String> {
        let listing = self.init.run(&argv(&self.init, &["ps", "-o", "stat,args"])).await.unwrap();
        let text = String::from_utf8(listing.stdout).unwrap();
        let lines = text.lines().skip(1).map(str::trim);
        let ours = |line: &&str| !line.contains("/.creel/init pid1") && !line.ends_with("ps -o stat,args");
        lines.filter(ours).map(str::to_owned).collect()
    }

    /// Waits until as many processes run as `wanted` says, of those whose line has `text` in it.
    pub(crate) async fn await_processes(&self, text: &str, wanted: usize) {
        let mut found = Vec::new();
        for _ in 0..100 {
            found = self.processes().await;
            found.retain(|line| line.contains(text));
            if found.len() == wanted {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("wanted {wanted} of {text:?}, found {found:#?}");
    }
}

pub(crate) async fn engine() -> Engine {
    Engine::discover(&Discovery::from_process(None)).await.expect("these tests need an engine")
}

/// A program and its arguments as a call.
pub(crate) fn argv(sandbox: &Sandbox, words: &[&str]) -> Call {
    sandbox.call_of(creel::approvals::Command::Argv(words.iter().map(|word| (*word).to_owned()).collect()))
}

/// Output as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Reads until `wanted` has been printed on standard output, and returns all of it.
pub(crate) async fn read_until(running: &mut Running, wanted: &str) -> String {
    let mut seen = Vec::new();
    while !text(&seen).contains(wanted) {
        match running.next().await.unwrap() {
            creel::runner::Progress::Output(_, data) => seen.extend_from_slice(&data),
            creel::runner::Progress::Done(outcome) => {
                panic!("ended before {wanted:?}: {outcome:?} {}", text(&seen))
            }
            _ => {}
        }
    }
    text(&seen)
}

/// Follows a command to its end; what it has printed before is not part of the result.
pub(crate) async fn finish(mut running: Running) -> Collected {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    loop {
        match running.next().await.unwrap() {
            creel::runner::Progress::Output(creel::wire::Stream::Stdout, data) => {
                stdout.extend_from_slice(&data);
            }
            creel::runner::Progress::Output(_, data) => stderr.extend_from_slice(&data),
            creel::runner::Progress::Done(outcome) => {
                return Collected { outcome: *outcome, stdout, stderr, truncated: false };
            }
            _ => {}
        }
    }
}

/// Makes a file executable by everybody.
pub(crate) fn script(dir: &Path, name: &str, contents: &str) {
    let path = dir.join(name);
    std::fs::write(&path, contents).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
