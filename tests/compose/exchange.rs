//! A source that is exchanged for a link while its container starts.

use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bollard::container::LogOutput;
use bollard::query_parameters::{LogsOptions, WaitContainerOptions};
use futures_util::StreamExt as _;
use rustix::fs::{CWD, RenameFlags};
use serde_json::json;

use super::direct::Proxy;

impl Proxy {
    /// Makes a container that shows what it mounts from the directory `work/dir`; the answer's status and the id.
    async fn mounting(&self, name: &str) -> (u16, String) {
        let source = self.root().join("work/dir");
        let mut body: serde_json::Value = serde_json::from_str(&self.sandbox(&json!({
            "Mounts": [{ "Type": "bind", "Source": source, "Target": "/m", "ReadOnly": false }],
        })))
        .unwrap();
        body["Cmd"] = json!(["ls", "/m"]);
        let path = format!("/containers/create?name={}-{name}", self.name);
        let (status, body) = self.ask("POST", &path, &body.to_string()).await;
        let json = body.lines().find(|line| line.starts_with('{'));
        let made: serde_json::Value = serde_json::from_str(json.unwrap_or("{}")).unwrap();
        (status, made["Id"].as_str().unwrap_or_default().to_owned())
    }

    async fn start(&self, id: &str) -> u16 {
        self.ask("POST", &format!("/containers/{id}/start"), "").await.0
    }

    /// What it showed, once it has ended.
    async fn shown(&self, id: &str) -> String {
        let _ = self.docker.wait_container(id, None::<WaitContainerOptions>).next().await;
        let options = LogsOptions { stdout: true, stderr: true, ..LogsOptions::default() };
        let mut logs = self.docker.logs(id, Some(options));
        let mut shown = Vec::new();
        while let Some(piece) = logs.next().await {
            match piece.unwrap() {
                LogOutput::Console { message }
                | LogOutput::StdOut { message }
                | LogOutput::StdErr { message }
                | LogOutput::StdIn { message } => shown.extend(message),
            }
        }
        String::from_utf8(shown).unwrap()
    }

    fn pins(&self) -> usize {
        std::fs::read_dir(self.root().parent().unwrap().join("pins")).unwrap().count()
    }
}

fn set(proxy: &Proxy) {
    std::fs::create_dir(proxy.root().join("work/dir")).unwrap();
    std::fs::write(proxy.root().join("work/dir/mark"), "").unwrap();
    symlink("/etc", proxy.root().join("work/link")).unwrap();
}

fn exchange(proxy: &Proxy) {
    let (dir, link) = (proxy.root().join("work/dir"), proxy.root().join("work/link"));
    rustix::fs::renameat_with(CWD, dir, CWD, link, RenameFlags::EXCHANGE).unwrap();
}

#[tokio::test]
async fn a_pinned_source_is_what_was_judged() {
    let proxy = Proxy::with(true).await;
    set(&proxy);
    let (status, id) = proxy.mounting("a").await;
    assert_eq!((status, proxy.pins()), (201, 1));
    exchange(&proxy);
    assert_eq!(proxy.start(&id).await, 204);
    assert_eq!(proxy.shown(&id).await, "mark\n");
    assert_eq!(proxy.pins(), 0, "they go with the start");
    // It was started once, and what its name means now is nobody's concern.
    assert_eq!(proxy.start(&id).await, 403);
    // A link is refused before anything is made, and leaves nothing behind.
    assert_eq!((proxy.mounting("b").await.0, proxy.pins()), (403, 0));
    exchange(&proxy);
    // Removed before it was ever started.
    let (_, id) = proxy.mounting("c").await;
    assert_eq!(proxy.pins(), 1);
    assert_eq!(proxy.ask("DELETE", &format!("/containers/{id}?force=true"), "").await.0, 204);
    assert_eq!(proxy.pins(), 0);
    assert!(proxy.root().join("work/dir/mark").exists(), "the source itself stays");
    // What the engine does not make leaves nothing behind either.
    let (_, id) = proxy.mounting("d").await;
    assert_eq!((proxy.mounting("d").await.0, proxy.pins()), (409, 1));
    assert_eq!(proxy.ask("DELETE", &format!("/containers/{id}"), "").await.0, 204);
    assert_eq!(proxy.pins(), 0);
}

/// As an attacker does it: without pins about every second start would show the host's directory.
#[tokio::test]
async fn exchanged_all_the_time_it_is_still_what_was_judged() {
    let proxy = Arc::new(Proxy::with(true).await);
    set(&proxy);
    let end = Arc::new(AtomicBool::new(false));
    let attacker = {
        let (proxy, end) = (Arc::clone(&proxy), Arc::clone(&end));
        std::thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                exchange(&proxy);
            }
        })
    };
    let mut started = 0;
    for at in 0..200 {
        if started == 6 {
            break;
        }
        let (status, id) = proxy.mounting(&format!("x{at}")).await;
        if status != 201 {
            assert_eq!(status, 403);
            continue;
        }
        assert_eq!(proxy.start(&id).await, 204);
        assert_eq!(proxy.shown(&id).await, "mark\n");
        proxy.remove(&id).await;
        started += 1;
    }
    end.store(true, Ordering::Relaxed);
    attacker.join().unwrap();
    assert_eq!((started, proxy.pins()), (6, 0));
}
