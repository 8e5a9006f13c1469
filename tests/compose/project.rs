//! The two containers of `compose/compose.yaml`, started through the engine; gone with the test, also a failed one.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use bollard::Docker;
use bollard::container::LogOutput;
use bollard::models::VolumeCreateRequest;
use bollard::query_parameters::{
    CreateContainerOptions, LogsOptions, RemoveContainerOptions, RemoveVolumeOptions, WaitContainerOptions,
};
use creel::engine::{Discovery, Endpoint, Engine};
use creel::sandbox::{InUse, Sandboxes};
use creel::state::{StateDir, random_hex};
use futures_util::StreamExt as _;

use super::yaml::File;

/// An installation of its own, its proxy running.
pub(crate) struct Project {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) engine: Engine,
    pub(crate) name: String,
    image: String,
    docker: Docker,
    file: File,
}

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) status: i64,
}

impl Project {
    /// Builds the image of this creel and starts the proxy.
    pub(crate) async fn up() -> Self {
        let dir = tempfile::Builder::new().prefix("creel-compose-").tempdir_in("/tmp").unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        for (part, mode) in [("state", 0o700), ("work", 0o755), ("work/project", 0o755)] {
            let path = dir.path().join(part);
            std::fs::create_dir(&path).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            std::os::unix::fs::chown(&path, Some(1000), Some(1000)).unwrap();
        }
        let config = "{ agents: { defaults: { sandbox: { docker: { image: 'creel-minimal:latest' } } } } }";
        std::fs::write(dir.path().join("state/openclaw.json"), config).unwrap();
        std::os::unix::fs::chown(dir.path().join("state/openclaw.json"), Some(1000), Some(1000)).unwrap();
        let name = format!("creel-compose-{}", random_hex::<4>().unwrap());
        let image = format!("{name}:test");
        build(&image);
        let engine =
            Engine::discover(&Discovery::from_process(None)).await.expect("these tests need an engine");
        let docker = match &engine.facts().endpoint {
            Endpoint::Unix(path) => {
                Docker::connect_with_unix(&path.to_string_lossy(), 120, bollard::API_DEFAULT_VERSION).unwrap()
            }
            Endpoint::Tcp(address) => panic!("the engine at {address} is not on this machine"),
        };
        let (root, tag) = (dir.path().to_string_lossy().into_owned(), image.clone());
        let var = move |name: &str| match name {
            "CREEL_DIR" => Some(root.clone()),
            "CREEL_IMAGE" => Some(tag.clone()),
            _ => None,
        };
        let file = File::read(&name, &var);
        let project = Self { dir, engine, name, image, docker, file };
        for volume in project.file.volumes() {
            let request = VolumeCreateRequest { name: Some(volume), ..VolumeCreateRequest::default() };
            project.docker.create_volume(request).await.unwrap();
        }
        project.start("engine", &project.container("engine"), None).await;
        project.proxy_listens().await;
        project
    }

    fn container(&self, service: &str) -> String {
        format!("{}-{service}", self.name)
    }

    async fn start(&self, service: &str, name: &str, command: Option<&[&str]>) {
        let options =
            CreateContainerOptions { name: Some(name.to_owned()), ..CreateContainerOptions::default() };
        let body = self.file.container(service, command);
        self.docker.create_container(Some(options), body).await.unwrap();
        self.docker.start_container(name, None).await.unwrap();
    }

    /// The socket of the proxy, seen from the host.
    pub(crate) async fn socket(&self) -> PathBuf {
        let volume = self.docker.inspect_volume(&self.file.volumes()[0]).await.unwrap();
        Path::new(&volume.mountpoint).join("engine.sock")
    }

    /// An engine handle that goes through the proxy, like creel's own.
    pub(crate) async fn proxied(&self) -> Engine {
        Engine::connect(Endpoint::Unix(self.socket().await)).await.unwrap()
    }

    async fn proxy_listens(&self) {
        let socket = self.socket().await;
        for _ in 0..600 {
            if std::os::unix::net::UnixStream::connect(&socket).is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the proxy does not listen: {:?}", self.logs(&self.container("engine")).await);
    }

    /// `docker compose run --rm creel WORDS…`.
    pub(crate) async fn creel(&self, words: &[&str]) -> Done {
        let name = format!("{}-{}", self.container("creel"), random_hex::<4>().unwrap());
        self.start("creel", &name, Some(words)).await;
        let status = match self.docker.wait_container(&name, None::<WaitContainerOptions>).next().await {
            Some(Ok(ended)) => ended.status_code,
            Some(Err(bollard::errors::Error::DockerContainerWaitError { code, .. })) => code,
            other => panic!("{other:?}"),
        };
        let (out, err) = self.logs(&name).await;
        let options = RemoveContainerOptions { force: true, ..RemoveContainerOptions::default() };
        self.docker.remove_container(&name, Some(options)).await.unwrap();
        Done { out, err, status }
    }

    /// What the proxy said.
    pub(crate) async fn said_by_proxy(&self) -> String {
        self.logs(&self.container("engine")).await.1
    }

    async fn logs(&self, name: &str) -> (String, String) {
        let options = LogsOptions { stdout: true, stderr: true, ..LogsOptions::default() };
        let mut logs = self.docker.logs(name, Some(options));
        let (mut out, mut err) = (Vec::new(), Vec::new());
        while let Some(piece) = logs.next().await {
            match piece.unwrap() {
                LogOutput::StdErr { message } => err.extend(message),
                other => out.extend(other.into_bytes()),
            }
        }
        (String::from_utf8_lossy(&out).into_owned(), String::from_utf8_lossy(&err).into_owned())
    }

    /// This project's installation.
    pub(crate) fn state(&self) -> StateDir {
        StateDir::at(self.dir.path().join("state"))
    }
}

/// The image of the creel under test.
#[expect(clippy::disallowed_methods, reason = "runs creel itself, as a person does")]
fn build(image: &str) {
    let state = tempfile::tempdir().unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_creel"))
        .args(["images", "build", "creel", "--tag", image])
        .env("CREEL_STATE_DIR", state.path())
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

impl Drop for Project {
    /// Also after a failed assertion. A drop cannot await, so a thread with its own runtime does it.
    fn drop(&mut self) {
        let (docker, engine, state) = (self.docker.clone(), self.engine.clone(), self.state());
        let (name, image, volumes) = (self.name.clone(), self.image.clone(), self.file.volumes());
        let cleaning = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let options = bollard::query_parameters::ListContainersOptions {
                    all: true,
                    filters: Some([("name".to_owned(), vec![name.clone()])].into()),
                    ..bollard::query_parameters::ListContainersOptions::default()
                };
                for container in docker.list_containers(Some(options)).await.unwrap_or_default() {
                    let options = RemoveContainerOptions { force: true, ..RemoveContainerOptions::default() };
                    let _ = docker.remove_container(&container.id.unwrap_or_default(), Some(options)).await;
                }
                if let Ok(sandboxes) = Sandboxes::open(engine.clone(), &state) {
                    let _ = sandboxes.stop_all(InUse::Remove).await;
                }
                for volume in volumes {
                    let _ = docker.remove_volume(&volume, None::<RemoveVolumeOptions>).await;
                }
                let _ = engine.remove_image(&image).await;
            });
        });
        let _ = cleaning.join();
    }
}
