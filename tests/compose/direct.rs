//! The proxy alone, in this process, before the real engine: what a caller can do to it and through it.

#![expect(clippy::disallowed_methods, reason = "runs creel itself, as a person does")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bollard::Docker;
use bollard::query_parameters::{InspectContainerOptions, RemoveContainerOptions};
use creel::engine::proxy::{self, Allowed, Rules};
use creel::engine::{Discovery, Endpoint, Engine};
use creel::paths::DenyEnv;
use creel::sandbox::labels;
use creel::state::{StateDir, random_hex};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::task::JoinSet;

/// A proxy that serves until the end of its test. Containers whose names begin with its own are removed then.
pub(crate) struct Proxy {
    dir: tempfile::TempDir,
    pub(crate) docker: Docker,
    pub(crate) name: String,
    installation: String,
    _serving: JoinSet<()>,
}

impl Proxy {
    async fn up() -> Self {
        Self::with(false).await
    }

    /// With pins, or looking at sources before and after.
    pub(crate) async fn with(pinned: bool) -> Self {
        let dir = tempfile::Builder::new().prefix("creel-proxy-").tempdir_in("/tmp").unwrap();
        std::fs::create_dir_all(dir.path().join("root/state")).unwrap();
        std::fs::create_dir(dir.path().join("root/work")).unwrap();
        let state = StateDir::at(dir.path().join("root/state"));
        let installation = state.installation().unwrap().as_str().to_owned();
        let engine =
            Engine::discover(&Discovery::from_process(None)).await.expect("these tests need an engine");
        let Endpoint::Unix(socket) = &engine.facts().endpoint else {
            panic!("the engine is not on this machine")
        };
        let docker =
            Docker::connect_with_unix(&socket.to_string_lossy(), 120, bollard::API_DEFAULT_VERSION).unwrap();
        let roots = vec![dir.path().join("root")];
        let pins = pinned.then(|| dir.path().join("pins"));
        let allowed = Allowed { roots, pins, ..Allowed::default() };
        let rules = Rules::new(state, allowed, DenyEnv::default()).unwrap();
        let listen = dir.path().join("engine.sock");
        let (ready, is_ready) = tokio::sync::oneshot::channel();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let ready = || ready.send(()).unwrap();
            proxy::serve(&engine, &listen, rules, ready, std::future::pending()).await.unwrap();
        });
        is_ready.await.unwrap();
        let name = format!("creel-proxy-{}", random_hex::<4>().unwrap());
        Self { dir, docker, name, installation, _serving: serving }
    }

    /// What sandboxes may mount.
    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("engine.sock")
    }

    /// The status and the body of an answer.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = UnixStream::connect(self.socket()).await.unwrap();
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).await.unwrap();
        // The proxy ends the connection with its answer.
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let status = answer.split_whitespace().nth(1).and_then(|status| status.parse().ok());
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
        (status.unwrap_or_else(|| panic!("{answer}")), body)
    }

    /// What creel asks for, with changes to its `HostConfig`.
    pub(crate) fn sandbox(&self, changes: &Value) -> String {
        let mut body = json!({
            "Image": "creel-minimal:latest",
            "Cmd": ["sleep", "60"],
            "Labels": { labels::INSTALLATION: self.installation },
            "HostConfig": {
                "NetworkMode": "none",
                "CapDrop": ["ALL"],
                "SecurityOpt": ["no-new-privileges"],
                "PidsLimit": 16,
            },
        });
        for (key, value) in changes.as_object().unwrap() {
            body["HostConfig"][key] = value.clone();
        }
        body.to_string()
    }

    async fn create(&self, version: &str, name: &str) -> String {
        let path = format!("{version}/containers/create?name={}-{name}", self.name);
        let (status, body) = self.ask("POST", &path, &self.sandbox(&json!({}))).await;
        assert_eq!(status, 201, "{body}");
        let made: Value =
            serde_json::from_str(body.lines().find(|line| line.starts_with('{')).unwrap()).unwrap();
        made["Id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn remove(&self, id: &str) {
        let options = RemoveContainerOptions { force: true, ..RemoveContainerOptions::default() };
        let _ = self.docker.remove_container(id, Some(options)).await;
    }
}

impl Drop for Proxy {
    /// Also after a failed assertion: by the label of an installation that only this test has, and by name.
    fn drop(&mut self) {
        // What is left of pins, before anybody removes what is below them.
        let dirs = std::fs::read_dir(self.dir.path().join("pins")).into_iter().flatten().flatten();
        for pin in dirs.flat_map(|dir| std::fs::read_dir(dir.path())).flatten().flatten() {
            let _ = rustix::mount::unmount(pin.path(), rustix::mount::UnmountFlags::DETACH);
        }
        for filter in [
            format!("label={}={}", labels::INSTALLATION, self.installation),
            format!("label=of={}", self.name),
        ] {
            let listed = Command::new("docker").args(["ps", "-aq", "--filter", &filter]).output().unwrap();
            for id in String::from_utf8_lossy(&listed.stdout).split_whitespace() {
                let _ = Command::new("docker").args(["rm", "-f", id]).output();
            }
        }
    }
}

fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    format!("{}.{:09}", since.as_secs(), since.subsec_nanos())
}

fn escaped(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::new(), |mut all, byte| {
        write!(all, "%{byte:02X}").unwrap();
        all
    })
}

/// The engine takes the beginning of an id for every id and every name that begins so.
#[tokio::test]
async fn news_are_of_the_container_alone_that_was_meant() {
    let proxy = Proxy::up().await;
    let begin = now();
    let ours = proxy.create("/v1.41", "a").await;
    let short = &ours[..12];
    let label = format!("of={}", proxy.name);
    let theirs = Command::new("docker")
        .args(["create", "--label", &label, "--name", &format!("{short}-theirs"), "creel-minimal:latest"])
        .output()
        .unwrap();
    assert!(theirs.status.success(), "{theirs:?}");
    let theirs = String::from_utf8(theirs.stdout).unwrap();
    for asked in [short, &ours, &format!("{}-a", proxy.name)] {
        let filters = escaped(&json!({ "container": [asked] }).to_string());
        let path = format!("/v1.41/events?since={begin}&until={}&filters={filters}", now());
        let (status, news) = proxy.ask("GET", &path, "").await;
        assert!(status == 200 && news.contains(&ours), "{asked}: {status} {news}");
        assert!(!news.contains(theirs.trim()), "{asked}: {news}");
    }
    for asked in [theirs.trim(), &theirs[..12], &format!("{short}-theirs")] {
        let filters = escaped(&json!({ "container": [asked] }).to_string());
        let path = format!("/v1.41/events?until={}&filters={filters}", now());
        assert_eq!(proxy.ask("GET", &path, "").await.0, 403, "{asked}");
    }
    for filter in [json!({ "name": [short] }), json!({ "id": [short] })] {
        let path = format!("/v1.41/containers/json?all=1&filters={}", escaped(&filter.to_string()));
        assert_eq!(proxy.ask("GET", &path, "").await.0, 403, "{filter}");
    }
    // A name that others would take for the beginning of an id.
    let rename = format!("/v1.41/containers/{short}/rename?name=deadbeef");
    assert_eq!(proxy.ask("POST", &rename, "").await.0, 403);
}

/// Before API 1.40 the engine shares the memory of containers that say nothing of it.
#[tokio::test]
async fn an_older_version_has_no_weaker_defaults() {
    let proxy = Proxy::up().await;
    for (at, version) in ["", "/v1.39", "/v1.24", "/v1.99"].into_iter().enumerate() {
        let id = proxy.create(version, &at.to_string()).await;
        let facts = proxy.docker.inspect_container(&id, None::<InspectContainerOptions>).await.unwrap();
        assert_eq!(facts.host_config.unwrap().ipc_mode.as_deref(), Some("private"), "{version}");
        proxy.remove(&id).await;
    }
}

#[tokio::test]
async fn a_profile_is_the_engines_or_one_that_was_named() {
    let proxy = Proxy::up().await;
    let path = format!("/v1.41/containers/create?name={}-p", proxy.name);
    for wrong in [
        "unconfined",
        " unconfined",
        "Unconfined",
        "unconfined ",
        ":root:unconfined",
        "other",
        "",
        "docker-default ",
    ] {
        let options = json!({ "SecurityOpt": ["no-new-privileges", format!("apparmor={wrong}")] });
        let (status, body) = proxy.ask("POST", &path, &proxy.sandbox(&options)).await;
        assert!(status == 403 && body.contains("SecurityOpt"), "{wrong:?}: {status} {body}");
    }
    for (key, wrong) in [
        ("Tmpfs", json!({ "/tmp": "bind" })),
        ("Tmpfs", json!({ "/proc": "" })),
        ("NetworkMode", json!(" none")),
        ("ExtraHosts", json!(["a"])),
    ] {
        let (status, body) = proxy.ask("POST", &path, &proxy.sandbox(&json!({ key: wrong }))).await;
        assert!(status == 403 && body.contains(key), "{key}: {status} {body}");
    }
}

/// Many connections that never ask keep nobody from asking.
#[tokio::test]
async fn half_sent_requests_keep_nobody_out() {
    let proxy = Proxy::up().await;
    let mut half = Vec::new();
    for _ in 0..400 {
        let mut stream = UnixStream::connect(proxy.socket()).await.unwrap();
        // It may have been put out already.
        let _ = stream.write_all(b"GET /_ping HTTP/1.1\r\nHost: x\r\n").await;
        half.push(stream);
    }
    let mut bodies = Vec::new();
    for _ in 0..400 {
        let mut stream = UnixStream::connect(proxy.socket()).await.unwrap();
        let head = b"POST /containers/create HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{";
        let _ = stream.write_all(head).await;
        bodies.push(stream);
    }
    for _ in 0..10 {
        let (status, body) = proxy.ask("GET", "/_ping", "").await;
        assert_eq!(status, 200, "{body}");
    }
    drop((half, bodies));
    // Who alone waits is not put out, and is not waited for for ever either.
    for part in [
        "GET /_ping HTTP/1.1\r\nHost:",
        "POST /containers/create HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{",
    ] {
        let mut last = UnixStream::connect(proxy.socket()).await.unwrap();
        last.write_all(part.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        let ended = tokio::time::timeout(Duration::from_mins(2), last.read_to_end(&mut rest)).await;
        assert!(ended.is_ok(), "still open: {part:?}");
    }
}

/// Calls that go on are let in up to a number; who comes then is told, and is served when some of them are over.
#[tokio::test]
async fn too_many_calls_are_refused_and_told() {
    let proxy = Proxy::up().await;
    let id = proxy.create("", "many").await;
    let filters = escaped(&json!({ "container": [id] }).to_string());
    let request = format!("GET /events?filters={filters} HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut watching = Vec::new();
    let refused = loop {
        assert!(watching.len() < 1000, "nobody is refused");
        let mut stream = UnixStream::connect(proxy.socket()).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.unwrap();
        match &head {
            b"HTTP/1.1 200" => watching.push(stream),
            b"HTTP/1.1 503" => break stream,
            other => panic!("{}", String::from_utf8_lossy(other)),
        }
    };
    let mut told = String::new();
    let mut refused = refused;
    refused.read_to_string(&mut told).await.unwrap();
    assert!(told.contains("too many calls"), "{told}");
    assert!(watching.len() > 100, "{}", watching.len());
    drop(watching);
    let begin = std::time::Instant::now();
    while proxy.ask("GET", "/_ping", "").await.0 != 200 {
        assert!(begin.elapsed() < Duration::from_mins(1), "they are gone, and still have their seats");
        tokio::task::yield_now().await;
    }
}

fn refused(state: &Path, root: &Path, listen: &Path) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_creel"))
        .args(["engine", "proxy", "--root"])
        .arg(root)
        .arg("--listen")
        .arg(listen)
        .env("CREEL_STATE_DIR", state)
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(125), "{} {}: {done:?}", root.display(), listen.display());
    String::from_utf8(done.stderr).unwrap()
}

#[test]
fn places_that_hold_the_host_are_no_roots() {
    let dir = tempfile::Builder::new().prefix("creel-proxy-").tempdir_in("/tmp").unwrap();
    let (state, listen) = (dir.path().join("state"), dir.path().join("s"));
    for root in ["/proc", "/sys", "/run", "/etc", "/root", "/var/lib/docker", "/var", "/usr"] {
        let told = refused(&state, Path::new(root), &listen);
        assert!(told.contains("[CRL-PROXY-006]") && told.contains(root), "{root}: {told}");
    }
    let told = refused(&state, &dir.path().join("none"), &listen);
    assert!(told.contains("[CRL-PROXY-007]") && told.contains("no such directory"), "{told}");
    std::fs::create_dir_all(dir.path().join("root/sub")).unwrap();
    let told = refused(&state, &dir.path().join("root"), &dir.path().join("root/sub/s"));
    assert!(told.contains("[CRL-PROXY-008]"), "{told}");
}
