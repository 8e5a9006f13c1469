//! creel in a container, as `compose/compose.yaml` arranges it, on the real engine: over init, proven by a nonce; paths
//! translated; nothing reached but its own sandboxes.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests: a failure here is a failed test"
)]

mod direct;
mod exchange;
mod hang_up;
mod project;
mod strangers;
mod yaml;

use std::os::unix::fs::MetadataExt as _;

use creel::engine::{ContainerSpec, EngineError, ExecSpec, Limits, Mount};
use creel::sandbox::labels;
use project::Project;

const WORK: [&str; 4] = ["exec", "--json", "--workspace", "/work/project"];

fn json(done: &project::Done) -> serde_json::Value {
    serde_json::from_str(&done.out).unwrap_or_else(|_| panic!("{done:?}"))
}

async fn exec(project: &Project, more: &[&str]) -> serde_json::Value {
    json(&project.creel(&[WORK.as_slice(), more].concat()).await)
}

#[tokio::test]
async fn commands_run_over_init_with_their_files() {
    let project = Project::up().await;
    let work = project.dir.path().join("work/project");
    std::fs::write(work.join("here"), "from the host\n").unwrap();

    // A new sandbox: nobody but its init knows the nonce.
    let first = exec(&project, &["--", "cat here; id -u; echo made >new"]).await;
    assert_eq!(first["aggregated"], "from the host\n1000\n", "{first}");
    assert_eq!(first["transport"], "init");
    assert_eq!(std::fs::read_to_string(work.join("new")).unwrap(), "made\n");
    assert_eq!(std::fs::metadata(work.join("new")).unwrap().uid(), 1000);

    // The same sandbox, met again by another creel with the nonce of the record.
    let killed = exec(&project, &["--timeout", "1", "--", "setsid sleep 77 & sleep 78"]).await;
    assert_eq!((&killed["transport"], &killed["cause"]), (&"init".into(), &"timeout".into()), "{killed}");
    assert_eq!(killed["processes"]["provenGone"], true, "{killed}");
    let list = json(&project.creel(&["sandbox", "list", "--json"]).await)["containers"].take();
    assert_eq!(list.as_array().map(Vec::len), Some(1), "{list}");
    assert_eq!(list[0]["proven"], true, "{list}");

    // The engine's road where it is asked for; the proof was init's all the same.
    let detour = exec(&project, &["--transport", "engine", "--", "echo there"]).await;
    assert_eq!(
        (&detour["transport"], &detour["aggregated"]),
        (&"engine".into(), &"there\n".into()),
        "{detour}"
    );

    // The nonce is in no place that others may read.
    let name = list[0]["containerName"].as_str().unwrap();
    let record =
        std::fs::read_to_string(project.dir.path().join(format!("state/creel/proof/{name}.json"))).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let nonce = record["nonce"].as_str().unwrap();
    assert_eq!(nonce.len(), 64);
    let id = list[0]["id"].as_str().unwrap();
    let shown = project.engine.log_tail(&creel::engine::ContainerId(id.to_owned()), 100).await.unwrap();
    assert!(!shown.contains(nonce), "the log shows the nonce");
    let mut told = project.creel(&["sandbox", "explain", "--json"]).await;
    // The engine gets 8 ms for all questions, which a loaded machine may not keep.
    for _ in 0..20 {
        assert!(!told.out.contains(nonce), "{told:?}");
        if told.out.contains("creelContainer") {
            break;
        }
        told = project.creel(&["sandbox", "explain", "--json"]).await;
    }
    assert_eq!(json(&told)["creel"]["creelContainer"]["engineSocketMounted"], false, "{told:?}");
    let seen = exec(&project, &["--", "cat /proc/1/environ /proc/1/mem; readlink /proc/1/fd/0; true"]).await;
    assert!(!seen["aggregated"].as_str().unwrap().contains(nonce), "{seen}");

    let stopped = project.creel(&["sandbox", "stop", "--all"]).await;
    assert_eq!(stopped.status, 0, "{stopped:?}");
    let left = json(&project.creel(&["sandbox", "list", "--json"]).await);
    assert_eq!(left["containers"], serde_json::json!([]));
    let said = project.said_by_proxy().await;
    assert!(!said.contains("refused"), "an ordinary use was refused something:\n{said}");
}

/// creel's own workspace lies in the state directory, which is mounted under another name.
#[tokio::test]
async fn paths_mean_what_they_mean_to_creel() {
    let project = Project::up().await;
    let done = project
        .creel(&["exec", "--json", "--bind", "/work/project:/data:ro", "--", "touch mine; ls /data"])
        .await;
    std::fs::write(project.dir.path().join("work/project/late"), "").unwrap();
    assert_eq!(json(&done)["exitCode"], 0, "{done:?}");
    let done =
        project.creel(&["exec", "--json", "--bind", "/work/project:/data:ro", "--", "ls . /data"]).await;
    assert_eq!(json(&done)["aggregated"], ".:\nmine\n\n/data:\nlate\n", "{done:?}");

    // A sandbox without options of its own is compared with the configuration: being in a container is no drift.
    let plain = project.creel(&["exec", "--json", "--", "pwd"]).await;
    assert_eq!(json(&plain)["transport"], "init", "{plain:?}");
    let list = json(&project.creel(&["sandbox", "list", "--json"]).await)["containers"].take();
    let own = list.as_array().unwrap().iter().find(|one| one["notCompared"].is_null()).unwrap();
    assert!(own["drift"].as_array().is_none_or(Vec::is_empty), "{own}");

    // Nothing of the host is mounted there, so it has no name there.
    let nowhere = project.creel(&["exec", "--workspace", "/tmp", "--", "true"]).await;
    assert_eq!(nowhere.status, 125, "{nowhere:?}");
    assert!(nowhere.err.contains("CRL-SANDBOX-019") && nowhere.err.contains("/work"), "{nowhere:?}");
    // The socket's directory is the host's, but creel's own rules keep it out.
    let socket = project.creel(&["exec", "--bind", "/run/creel:/s", "--", "true"]).await;
    assert!(socket.err.contains("CRL-BIND-"), "{socket:?}");
    // A link out of the allowed directory is resolved before anything is asked of the engine.
    std::os::unix::fs::symlink("/etc", project.dir.path().join("work/out")).unwrap();
    let link = project.creel(&["exec", "--bind", "/work/out:/data:ro", "--", "true"]).await;
    assert!(link.err.contains("CRL-BIND-"), "{link:?}");
    assert_eq!(link.status, 125);
}

fn sandbox(project: &Project, installation: &str) -> ContainerSpec {
    let source = project.dir.path().join("work/project").to_string_lossy().into_owned();
    ContainerSpec {
        // Below the project's name, by which its end cleans up.
        name: format!("{}-by-hand", project.name),
        image: "creel-minimal:latest".to_owned(),
        argv: vec!["sleep".to_owned(), "60".to_owned()],
        env: Vec::new(),
        labels: [(labels::INSTALLATION.to_owned(), installation.to_owned())].into(),
        user: None,
        workdir: "/".to_owned(),
        mounts: vec![Mount { source, target: "/workspace".to_owned(), read_only: false }],
        tmpfs: Vec::new(),
        network: "none".to_owned(),
        dns: Vec::new(),
        extra_hosts: Vec::new(),
        read_only_root: true,
        cap_drop: vec!["ALL".to_owned()],
        seccomp: None,
        apparmor: None,
        limits: Limits { pids: Some(16), ..Limits::default() },
        gpus: None,
        engine_init: false,
        stdin: false,
        stop_timeout_s: 1,
    }
}

/// Takes something away that makes a sandbox one.
type Weaken<'a> = &'a dyn Fn(&mut ContainerSpec);

fn assert_refused<T: std::fmt::Debug>(result: Result<T, EngineError>, about: &str) {
    match result {
        Err(EngineError::Refused { status: 403, message, .. }) => {
            assert!(message.contains("creel engine proxy") && message.contains(about), "{about}: {message}");
        }
        other => panic!("{about}: {other:?}"),
    }
}

/// What somebody who took creel over could try with its socket.
#[tokio::test]
async fn the_proxy_lets_nothing_through_that_opens_the_host() {
    let project = Project::up().await;
    let proxied = project.proxied().await;
    assert_refused(proxied.list(&[]).await, "no installation yet");
    let installation = project.state().installation().unwrap();
    let own = installation.as_str();
    let root = project.dir.path();
    std::os::unix::fs::symlink("/", root.join("work/project/up")).unwrap();
    let link = root.join("work/project/up/etc").to_string_lossy().into_owned();

    let weaker: [(&str, Weaken<'_>); 8] = [
        ("Labels", &|spec| spec.labels.clear()),
        ("Labels", &|spec| drop(spec.labels.insert(labels::INSTALLATION.into(), "0".repeat(32)))),
        ("NetworkMode", &|spec| spec.network = "host".into()),
        ("CapDrop", &|spec| spec.cap_drop.clear()),
        ("SecurityOpt", &|spec| spec.seccomp = Some("{}".into())),
        ("Source", &|spec| spec.mounts[0].source = "/".into()),
        ("Source", &|spec| spec.mounts[0].source = "/var/run/docker.sock".into()),
        ("link", &|spec| spec.mounts[0].source = link.clone()),
    ];
    for (about, weaken) in weaker {
        let mut spec = sandbox(&project, own);
        weaken(&mut spec);
        assert_refused(proxied.create(&spec).await, about);
    }
    for opening in
        [r#""Privileged":true"#, r#""privileged":true"#, r#""PidMode":"host""#, r#""Binds":["/:/host"]"#]
    {
        let body = format!(
            r#"{{"Image":"creel-minimal:latest","Labels":{{"{}":"{own}"}},"HostConfig":{{"NetworkMode":"none",
            "CapDrop":["ALL"],"SecurityOpt":["no-new-privileges"],"PidsLimit":16,{opening}}}}}"#,
            labels::INSTALLATION
        );
        let answer = raw(&project, "POST", "/containers/create", &body).await;
        let key = opening.split('"').nth(1).unwrap();
        assert!(
            answer.starts_with("HTTP/1.1 403") && answer.contains(&format!("HostConfig.{key} ")),
            "{answer}"
        );
    }
    for (method, path) in [("POST", "/images/create?fromImage=x"), ("GET", "/volumes"), ("POST", "/build")] {
        let answer = raw(&project, method, path, "").await;
        assert!(
            answer.starts_with("HTTP/1.1 403") && answer.contains(path.split('?').next().unwrap()),
            "{answer}"
        );
    }

    // What is let through is a sandbox.
    let ours = proxied.create(&sandbox(&project, own)).await.unwrap();
    let facts = project.engine.inspect(&ours.0).await.unwrap().unwrap();
    assert_eq!(facts.labels[labels::INSTALLATION], own);
    assert_eq!(proxied.list(&[]).await.unwrap().len(), 1, "only ours are listed");
    proxied.start(&ours).await.unwrap();
    let command = ExecSpec {
        argv: vec!["true".to_owned()],
        env: Vec::new(),
        workdir: None,
        user: None,
        stdin: false,
        tty: None,
    };
    let made = proxied.exec_create(&ours, &command).await.unwrap();
    drop(proxied.exec_start(&made, false).await.unwrap());
    let rights = format!("/containers/{}/exec", ours.0);
    let answer = raw(&project, "POST", &rights, r#"{"Cmd":["true"],"Privileged":true}"#).await;
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    proxied.remove(&ours).await.unwrap();

    // Exchanged between creation and start, which is when the engine mounts.
    let mut late = sandbox(&project, own);
    let swapped = root.join("work/swapped");
    std::fs::create_dir(&swapped).unwrap();
    late.mounts[0].source = swapped.to_string_lossy().into_owned();
    let made = proxied.create(&late).await.unwrap();
    std::fs::remove_dir(&swapped).unwrap();
    std::os::unix::fs::symlink("/etc", &swapped).unwrap();
    assert_refused(proxied.start(&made).await, "a link is not followed");
    let facts = project.engine.inspect(&made.0).await.unwrap().unwrap();
    assert_eq!(facts.status, "created");
    proxied.remove(&made).await.unwrap();

    // Containers of others: the proxy's own, which has the socket, as the example that matters.
    let others = project.engine.list(&[]).await.unwrap();
    let proxy = others
        .iter()
        .find(|one| one.name.ends_with("-engine") && one.image.contains("creel-compose"))
        .unwrap();
    assert_refused(proxied.inspect(&proxy.id.0).await, "is not a sandbox");
    assert_refused(proxied.exec_create(&proxy.id, &command).await, "is not a sandbox");
    assert_refused(proxied.remove(&proxy.id).await, "is not a sandbox");
    assert_refused(proxied.log_tail(&proxy.id, 1).await, "is not a sandbox");
    assert!(project.said_by_proxy().await.contains("refused"));
}

/// One request as text, and the answer as text.
async fn raw(project: &Project, method: &str, path: &str, body: &str) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::UnixStream::connect(project.socket().await).await.unwrap();
    let request = format!(
        "{method} /v1.41{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}
