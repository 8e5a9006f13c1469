//! The engine module against the real engine and against stubs that misbehave.

#[path = "engine_support/mod.rs"]
mod support;

use creel::engine::{ContainerSpec, EngineError, ExecSpec, Mount, Stdio};
use futures_util::StreamExt as _;
use support::{Real, collect, spec};
use tokio::io::AsyncWriteExt as _;

fn exec(argv: &[&str]) -> ExecSpec {
    ExecSpec {
        argv: argv.iter().map(|text| (*text).to_owned()).collect(),
        env: vec![("GREETING".into(), "hi".into())],
        workdir: Some("/tmp".into()),
        user: None,
        stdin: false,
        tty: None,
    }
}

#[tokio::test]
async fn a_container_lives_and_dies() {
    let real = Real::new("life").await;
    let engine = &real.engine;
    let id = real.create(&spec(&real, "life")).await;
    let made = engine.inspect(&id.0).await.unwrap().unwrap();
    assert_eq!((made.running, made.pid, made.status.as_str()), (false, 0, "created"));
    engine.start(&id).await.unwrap();
    engine.start(&id).await.unwrap();
    let running = engine.inspect(&made.name).await.unwrap().unwrap();
    assert!(running.running && running.pid > 1, "{running:?}");
    assert_eq!(running.id, id);
    assert_eq!(running.exit_code, None);
    let listed = engine.list(&[("creel-test".into(), real.tag.clone())]).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].id, id);
    engine.rename(&id, &format!("{}-b", made.name)).await.unwrap();
    assert!(engine.inspect(&made.name).await.unwrap().is_none());
    engine.kill(&id, "KILL").await.unwrap();
    support::until_ended(engine, &id).await;
    let ended = engine.inspect(&id.0).await.unwrap().unwrap();
    assert_eq!(ended.exit_code, Some(137));
    engine.kill(&id, "KILL").await.unwrap();
    engine.remove(&id).await.unwrap();
    engine.remove(&id).await.unwrap();
    assert!(engine.inspect(&id.0).await.unwrap().is_none());
}

#[tokio::test]
async fn names_and_images_are_told_apart() {
    let real = Real::new("conflict").await;
    let spec_a = spec(&real, "conflict");
    let id = real.create(&spec_a).await;
    match real.engine.create(&spec_a).await {
        Err(EngineError::NameConflict { holder, .. }) => assert_eq!(holder, id.0),
        other => panic!("{other:?}"),
    }
    let missing =
        ContainerSpec { image: "creel-never-built:1".into(), name: "creel-never".into(), ..spec_a.clone() };
    match real.engine.create(&missing).await {
        Err(EngineError::ImageMissing { image }) => assert_eq!(image, "creel-never-built:1"),
        other => panic!("{other:?}"),
    }
    let source = "/nonexistent/creel-test-source";
    let mount = Mount { source: source.into(), target: "/m".into(), read_only: true };
    let unmounted = ContainerSpec { mounts: vec![mount], name: format!("{}-m", spec_a.name), ..spec_a };
    let error = real.engine.create(&unmounted).await.unwrap_err();
    assert!(error.to_string().contains(source), "{error}");
    assert!(!std::path::Path::new(source).exists());
}

#[tokio::test]
async fn a_start_that_fails_says_why() {
    let real = Real::new("nostart").await;
    let bad = ContainerSpec { argv: vec!["/no/such/program".into()], ..spec(&real, "nostart") };
    let id = real.create(&bad).await;
    match real.engine.start(&id).await {
        Err(EngineError::StartFailed { reason, .. }) => {
            assert!(reason.contains("/no/such/program"), "{reason}")
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn hardening_reaches_the_process() {
    let real = Real::new("hard").await;
    let id = real.create(&spec(&real, "hard")).await;
    real.engine.start(&id).await.unwrap();
    let (out, _) = collect(&real.engine, &id, &exec(&["cat", "/proc/self/status"]), b"").await;
    let line = |name: &str| out.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    assert_eq!(line("NoNewPrivs:"), "NoNewPrivs:\t1");
    assert_eq!(line("CapEff:"), "CapEff:\t0000000000000000");
    assert_eq!(line("Seccomp:"), "Seccomp:\t2");
}

#[tokio::test]
async fn exec_streams_and_exit_code() {
    let real = Real::new("exec").await;
    let id = real.create(&spec(&real, "exec")).await;
    real.engine.start(&id).await.unwrap();
    let text = "echo $GREETING from $PWD; echo bad >&2; exit 7";
    let command = real.engine.exec_create(&id, &exec(&["sh", "-c", text])).await.unwrap();
    let mut streams = real.engine.exec_start(&command, false).await.unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    while let Some(item) = streams.output.next().await {
        match item.unwrap() {
            (Stdio::Stdout, data) => out.extend(data),
            (Stdio::Stderr, data) => err.extend(data),
        }
    }
    assert_eq!((out.as_slice(), err.as_slice()), (&b"hi from /tmp\n"[..], &b"bad\n"[..]));
    let facts = real.engine.exec_inspect(&command).await.unwrap();
    assert_eq!((facts.running, facts.exit_code), (false, Some(7)));
}

#[tokio::test]
async fn exec_stdin_ends_when_it_is_shut_down() {
    let real = Real::new("stdin").await;
    let id = real.create(&spec(&real, "stdin")).await;
    real.engine.start(&id).await.unwrap();
    let data = vec![b'x'; 3_000_000];
    let command = ExecSpec { stdin: true, ..exec(&["wc", "-c"]) };
    let (out, _) = collect(&real.engine, &id, &command, &data).await;
    assert_eq!(out.trim(), "3000000");
}

#[tokio::test]
async fn a_terminal_passes_every_byte_and_is_resized() {
    let real = Real::new("tty").await;
    let id = real.create(&spec(&real, "tty")).await;
    real.engine.start(&id).await.unwrap();
    // The first bytes look like a header of the framed format.
    let text = r"printf '\001\000\000\000\377\377\377\377end'; read x; stty size";
    let command = ExecSpec { stdin: true, tty: Some((24, 80)), ..exec(&["sh", "-c", text]) };
    let command = real.engine.exec_create(&id, &command).await.unwrap();
    let mut streams = real.engine.exec_start(&command, true).await.unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(b"end") {
        seen.extend(streams.output.next().await.unwrap().unwrap().1);
    }
    assert_eq!(seen, b"\x01\0\0\0\xff\xff\xff\xffend");
    real.engine.exec_resize(&command, 33, 101).await.unwrap();
    streams.input.write_all(b"\n").await.unwrap();
    while let Some(item) = streams.output.next().await {
        seen.extend(item.unwrap().1);
    }
    assert!(String::from_utf8_lossy(&seen).contains("33 101"), "{seen:?}");
}

#[tokio::test]
async fn the_log_ends_with_what_pid_1_wrote() {
    let real = Real::new("log").await;
    let talk = ["sh", "-c", "for i in 1 2 3; do echo line $i; done; echo oops >&2"];
    let argv = talk.iter().map(|text| (*text).to_owned()).collect();
    let id = real.create(&ContainerSpec { argv, ..spec(&real, "log") }).await;
    real.engine.start(&id).await.unwrap();
    support::until_ended(&real.engine, &id).await;
    let log = real.engine.log_tail(&id, 2).await.unwrap();
    assert!(log.contains("line 3") && log.contains("oops") && !log.contains("line 1"), "{log}");
}

#[tokio::test]
async fn an_imported_image_carries_its_changes() {
    let real = Real::new("image").await;
    let image = real.engine.image(&real.image).await.unwrap().unwrap();
    assert_eq!(image.path(), Some("/bin"));
    assert_eq!(image.labels.get("creel-test").map(String::as_str), Some("image"));
    assert!(image.tags.contains(&real.image), "{image:?}");
    assert!(real.engine.image("creel-never-built:1").await.unwrap().is_none());
}
