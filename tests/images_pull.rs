//! `creel images pull` from a registry that this test is: the pull side of the distribution protocol, on this machine.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "helpers of tests: a failure here is a failed test"
)]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

const MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", creel::state::hex(&Sha256::digest(bytes)))
}

/// A registry with one image, `app:1`; whoever reads must be `user` with `word`, where `login` is set.
struct Registry {
    address: String,
}

impl Registry {
    fn serve(login: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let files = Arc::new(image(&address));
        // Ends with the test's process: the engine may come back at any time.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let files = Arc::clone(&files);
                std::thread::spawn(move || answer(&stream, &files, login));
            }
        });
        Self { address }
    }

    fn reference(&self) -> String {
        format!("{}/app:1", self.address)
    }
}

/// Path → type and bytes. The marker makes the image this test's own.
fn image(marker: &str) -> BTreeMap<String, (&'static str, Vec<u8>)> {
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(marker.len() as u64);
    header.set_mode(0o644);
    tar.append_data(&mut header, "marker", marker.as_bytes()).unwrap();
    let layer = tar.into_inner().unwrap();
    let config = serde_json::json!({
        "architecture": if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" },
        "os": "linux",
        "config": { "Labels": { "creel-pull-test": marker } },
        "rootfs": { "type": "layers", "diff_ids": [digest(&layer)] },
        "history": [{ "created_by": "a test" }],
    });
    let config = config.to_string().into_bytes();
    let manifest = serde_json::json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {
            "mediaType": "application/vnd.docker.container.image.v1+json",
            "size": config.len(),
            "digest": digest(&config),
        },
        "layers": [{
            "mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip",
            "size": layer.len(),
            "digest": digest(&layer),
        }],
    });
    let manifest = manifest.to_string().into_bytes();
    let blob = "application/octet-stream";
    [
        ("/v2/".to_owned(), ("application/json", b"{}".to_vec())),
        (format!("/v2/app/blobs/{}", digest(&config)), (blob, config)),
        (format!("/v2/app/blobs/{}", digest(&layer)), (blob, layer)),
        (format!("/v2/app/manifests/{}", digest(&manifest)), (MANIFEST, manifest.clone())),
        ("/v2/app/manifests/1".to_owned(), (MANIFEST, manifest)),
    ]
    .into()
}

fn answer(stream: &TcpStream, files: &BTreeMap<String, (&'static str, Vec<u8>)>, login: bool) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    let heads: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    let mut words = first.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    // `user:word` in base64.
    let known = heads.iter().any(|head| head.to_lowercase() == "authorization: basic dxnlcjp3b3jk");
    let (status, kind, body): (_, _, &[u8]) = if login && !known {
        ("401 Unauthorized", "application/json", b"{}")
    } else {
        match files.get(path) {
            Some((kind, bytes)) => ("200 OK", kind, bytes),
            None => (
                "404 Not Found",
                "application/json",
                br#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"none"}]}"#,
            ),
        }
    };
    let mut stream = stream;
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nDocker-Content-Digest: {}\r\n\
         Docker-Distribution-Api-Version: registry/2.0\r\nWWW-Authenticate: Basic realm=\"test\"\r\n\
         Connection: close\r\n\r\n",
        body.len(),
        digest(body)
    );
    let _ = stream.write_all(head.as_bytes());
    if method != "HEAD" {
        let _ = stream.write_all(body);
    }
}

/// `creel` with a home of its own; the image goes with it.
struct Home {
    dir: tempfile::TempDir,
    reference: String,
}

impl Home {
    fn new(reference: String) -> Self {
        Self { dir: tempfile::tempdir().unwrap(), reference }
    }

    fn pull(&self, more: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_creel"))
            .args(["images", "pull"])
            .args(more)
            .env("HOME", self.dir.path())
            .env("CREEL_STATE_DIR", self.dir.path().join("state"))
            .env_remove("DOCKER_CONFIG")
            .output()
            .unwrap()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let reference = self.reference.clone();
        let cleaning = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                use creel::engine::{Discovery, Engine};
                if let Ok(engine) = Engine::discover(&Discovery::from_process(None)).await {
                    let _ = engine.remove_image(&reference).await;
                }
            });
        });
        let _ = cleaning.join();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn error(done: &Output) -> serde_json::Value {
    let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    json["error"].clone()
}

#[test]
fn an_image_is_pulled_and_told() {
    let registry = Registry::serve(false);
    let home = Home::new(registry.reference());
    let done = home.pull(&[&registry.reference()]);
    assert!(done.status.success(), "{done:?}");
    assert!(text(&done.stdout).starts_with(&format!("pulled {} in ", registry.reference())), "{done:?}");
    assert!(text(&done.stderr).contains("pull: pulling"), "{done:?}");
    // Again, with nothing to do, as JSON; without a name it is the configured image.
    std::fs::create_dir_all(home.dir.path().join("state")).unwrap();
    let config = format!(
        "{{ agents: {{ defaults: {{ sandbox: {{ docker: {{ image: '{}' }} }} }} }} }}",
        registry.reference()
    );
    std::fs::write(home.dir.path().join("state/openclaw.json"), config).unwrap();
    let done = home.pull(&["--json"]);
    let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(json["reference"], registry.reference().as_str(), "{done:?}");
    assert!(json["id"].as_str().unwrap().starts_with("sha256:"), "{json}");
}

#[test]
fn the_docker_clients_credentials_are_used() {
    let registry = Registry::serve(true);
    let home = Home::new(registry.reference());
    let refused = home.pull(&[&registry.reference(), "--json"]);
    assert_eq!(refused.status.code(), Some(125), "{refused:?}");
    assert_eq!(error(&refused)["code"], "CRL-IMAGE-012");
    let config = |text: String| {
        std::fs::create_dir_all(home.dir.path().join(".docker")).unwrap();
        std::fs::write(home.dir.path().join(".docker/config.json"), text).unwrap();
    };
    config(r#"{"credsStore": "vault"}"#.to_owned());
    let noted = home.pull(&[&registry.reference(), "--json"]);
    assert!(error(&noted)["message"].as_str().unwrap().contains("docker-credential-vault"), "{noted:?}");
    config(format!(r#"{{"auths": {{"{}": {{"auth": "dXNlcjp3b3Jk"}}}}}}"#, registry.address));
    let done = home.pull(&[&registry.reference()]);
    assert!(done.status.success(), "{done:?}");
    assert!(!text(&done.stderr).contains("word") && !text(&done.stdout).contains("word"));
}

#[test]
fn what_cannot_be_pulled_says_why() {
    let registry = Registry::serve(false);
    let missing = format!("{}/other:1", registry.address);
    let home = Home::new(missing.clone());
    let report = error(&home.pull(&[&missing, "--json"]));
    assert_eq!(report["code"], "CRL-IMAGE-012", "{report}");
    assert!(report["message"].as_str().unwrap().contains(&missing), "{report}");
    // A port that nobody listens at: it was free a moment ago, and privileged ones are not handed out.
    let nobody = home.pull(&["127.0.0.1:1/app:1"]);
    assert_eq!(nobody.status.code(), Some(125));
    assert!(text(&nobody.stderr).contains("not pulled from 127.0.0.1:1"), "{nobody:?}");
    assert!(text(&nobody.stderr).contains("creel images build"), "{nobody:?}");
    for own in ["sandbox", "creel-minimal", "openclaw-sandbox:bookworm-slim"] {
        let report = error(&home.pull(&[own, "--json"]));
        assert_eq!(report["code"], "CRL-IMAGE-011", "{report}");
    }
    let usage = home.pull(&["a", "b", "--json"]);
    assert_eq!(usage.status.code(), Some(125));
    assert_eq!(error(&usage)["code"], "CRL-CLI-010");
}
