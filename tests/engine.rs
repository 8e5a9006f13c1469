//! The engine module against the real engine and against stubs that misbehave.

#[path = "engine_support/mod.rs"]
mod support;

use std::time::Duration;

use creel::engine::{BuildSpec, ContainerSpec, EngineError, EngineKind, ExecSpec, Limits, Mount, Stdio};
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
            assert!(reason.contains("/no/such/program"), "{reason}");
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
    // The two streams may overtake each other.
    let all = real.engine.log_tail(&id, 10).await.unwrap();
    assert!(["line 1\n", "line 3\n", "oops\n"].iter().all(|line| all.contains(line)), "{all}");
    assert_eq!(real.engine.log_tail(&id, 2).await.unwrap().lines().count(), 2);
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

#[tokio::test]
async fn images_are_built_tagged_and_removed() {
    let real = Real::new("build").await;
    let dockerfile =
        format!("FROM {}\nARG WORD\nRUN echo word=$WORD > /word\nLABEL creel-test-built=yes\n", real.image);
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(dockerfile.len() as u64);
    header.set_mode(0o644);
    tar.append_data(&mut header, "Dockerfile", dockerfile.as_bytes()).unwrap();
    let build = BuildSpec {
        context: tar.into_inner().unwrap().into(),
        dockerfile: "Dockerfile".into(),
        reference: "creel-engine-test-built:one".into(),
        args: [("WORD".to_owned(), "fish".to_owned())].into(),
        labels: [("creel-test".to_owned(), real.tag.clone())].into(),
        network: Some("none".into()),
    };
    let mut lines = Vec::new();
    let id = real.engine.build(&build, |line| lines.push(line.to_owned())).await.unwrap();
    assert!(lines.iter().any(|line| line.to_lowercase().starts_with("step 1/")), "{lines:?}");
    real.engine.tag(&id, "creel-engine-test-built:two").await.unwrap();
    let listed = real.engine.images(&[("creel-test".into(), real.tag.clone())]).await.unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!((&listed[0].id, listed[0].tags.len()), (&id, 2));
    for tag in ["one", "two", "two"] {
        real.engine.remove_image(&format!("creel-engine-test-built:{tag}")).await.unwrap();
    }
    assert!(real.engine.image(&id).await.unwrap().is_none());
    let broken = BuildSpec { dockerfile: "Absent".into(), ..build };
    assert!(matches!(real.engine.build(&broken, |_| ()).await, Err(EngineError::Refused { .. })));
}

#[tokio::test]
async fn capabilities_are_asked_once() {
    let real = Real::new("info").await;
    let first: *const _ = real.engine.capabilities().await.unwrap();
    let clone = real.engine.clone();
    let second = clone.capabilities().await.unwrap();
    assert!(std::ptr::eq(first, second));
    assert!(!second.arch.is_empty() && second.memory_limit, "{second:?}");
}

#[tokio::test]
async fn the_end_of_a_process_for_want_of_memory_is_news() {
    let real = Real::new("oom").await;
    if real.engine.facts().kind == EngineKind::Podman {
        // Podman has no such event.
        return;
    }
    let small = Limits { memory: Some(16 << 20), memory_swap: Some(16 << 20), ..Limits::default() };
    let id = real.create(&ContainerSpec { limits: small, ..spec(&real, "oom") }).await;
    real.engine.start(&id).await.unwrap();
    let mut news = real.engine.oom_events(&id);
    let hog = exec(&["dd", "if=/dev/zero", "of=/dev/null", "bs=64M", "count=1"]);
    let run = collect(&real.engine, &id, &hog, b"");
    let (event, _) = tokio::join!(tokio::time::timeout(Duration::from_secs(20), news.next()), run);
    assert!(event.expect("no event").unwrap().unwrap() > 0);
}

#[tokio::test]
async fn a_saved_image_is_loaded() {
    let real = Real::new("load").await;
    let reference = format!("creel-engine-test-loaded:{}", std::process::id());
    let archive = support::saved(&reference);
    let pieces: Vec<std::io::Result<bytes::Bytes>> =
        archive.chunks(100_000).map(|part| Ok(bytes::Bytes::copy_from_slice(part))).collect();
    let loaded = real.engine.load(futures_util::stream::iter(pieces)).await.unwrap();
    assert!(loaded.iter().any(|name| name.ends_with(&reference)), "{loaded:?}");
    let image = real.engine.image(&reference).await.unwrap().unwrap();
    assert_eq!(image.user, "7:7");
    real.engine.remove_image(&reference).await.unwrap();
    let junk = futures_util::stream::iter([Ok(bytes::Bytes::from_static(b"no archive"))]);
    assert!(matches!(real.engine.load(junk).await, Err(EngineError::Refused { .. })));
}

#[tokio::test]
async fn a_stop_gives_grace_and_then_kills() {
    let real = Real::new("stop").await;
    let stubborn = ["sh", "-c", "trap : TERM; while :; do sleep 1; done"];
    let argv = stubborn.iter().map(|text| (*text).to_owned()).collect();
    let id = real.create(&ContainerSpec { argv, ..spec(&real, "stop") }).await;
    real.engine.start(&id).await.unwrap();
    real.engine.stop(&id, 1).await.unwrap();
    let ended = real.engine.inspect(&id.0).await.unwrap().unwrap();
    assert_eq!((ended.running, ended.exit_code), (false, Some(137)));
    real.engine.stop(&id, 1).await.unwrap();
}
