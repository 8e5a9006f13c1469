//! Sandboxes on the real engine, with the real creel-init as PID 1.

#[path = "sandbox_support/mod.rs"]
mod support;

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use creel::engine::{EngineError, Limits};
use creel::host_tool::host_tool;
use creel::sandbox::{ByLink, InUse, Rule, SandboxError, Verdict};
use support::{Home, Host, Nobody, bind};

#[tokio::test]
async fn a_hard_sandbox_is_proven_once_and_then_warm() {
    let home = Home::new().await;
    let mut request = home.request("hard");
    request.limits =
        Limits { memory: Some(128 << 20), nano_cpus: Some(500_000_000), pids: Some(77), ..Limits::default() };
    let first = home.ensure(&request).await.unwrap();
    assert!(first.created && first.drift.is_none());
    let owner = std::fs::metadata(&request.workspace.dir).unwrap();
    assert_eq!(first.user, format!("{}:{}", owner.uid(), owner.gid()));
    assert_ne!(owner.uid(), 0, "root gives its workspaces away");
    for check in &first.hardening.checks {
        assert_eq!(check.verdict, Verdict::Ok, "{check:?}");
    }
    assert_eq!(first.warnings, Vec::<String>::new());
    let rules: BTreeSet<Rule> = first.hardening.checks.iter().map(|check| check.rule).collect();
    for rule in [Rule::Pids, Rule::Memory, Rule::Cpu, Rule::Network, Rule::ReadOnlyRoot, Rule::Submounts] {
        assert!(rules.contains(&rule), "{rule:?}");
    }
    let facts = home.engine().inspect(&first.id.0).await.unwrap().unwrap();
    assert_eq!(facts.labels["openclaw.sandbox"], "1");
    assert_eq!(facts.labels["openclaw.sessionKey"], "agent:hard");
    assert_eq!(facts.labels["openclaw.configHash"], first.hash);
    let second = home.ensure(&request).await.unwrap();
    println!("cold {:?}\nwarm {:?}", first.timings, second.timings);
    assert!(!second.created);
    assert_eq!((&second.id, &second.hash, &second.hardening), (&first.id, &first.hash, &first.hardening));
    assert_eq!((second.timings.lock_us, second.timings.create_us, second.timings.prove_us), (0, 0, 0));
}

/// Started by [`many_callers_in_many_processes_get_one_container`] in a process of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "started by another test"]
async fn child_of_many_callers() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let (state, image) = (variable("CREEL_TEST_STATE"), variable("CREEL_TEST_IMAGE"));
    let (sandboxes, init) = support::open(support::engine().await, Path::new(&state));
    let request = support::request(Path::new(&state), "many", &image);
    let host = Host { setup: None };
    let one = || sandboxes.ensure(&request, &init, &host);
    let (a, b, c, d) = tokio::join!(one(), one(), one(), one());
    for ready in [a, b, c, d] {
        let ready = ready.unwrap();
        println!("\ncreated={} id={}", ready.created, ready.id.0);
    }
}

#[tokio::test]
async fn many_callers_in_many_processes_get_one_container() {
    let home = Home::new().await;
    let child = || {
        let mut command = host_tool(std::env::current_exe().unwrap());
        command
            .args(["--exact", "child_of_many_callers", "--ignored", "--nocapture", "--test-threads=1"])
            .env("CREEL_TEST_STATE", &home.state)
            .env("CREEL_TEST_IMAGE", &home.image);
        async move { command.output().await.unwrap() }
    };
    let (a, b, c, d) = tokio::join!(child(), child(), child(), child());
    let mut seen = Vec::new();
    for output in [a, b, c, d] {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        seen.extend(text.lines().filter(|line| line.starts_with("created=")).map(str::to_owned));
    }
    assert_eq!(seen.len(), 16);
    assert_eq!(seen.iter().filter(|line| line.starts_with("created=true")).count(), 1);
    let ids: BTreeSet<_> = seen.iter().filter_map(|line| line.split("id=").nth(1)).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!((home.count().await, home.runs()), (1, 1));
}

#[tokio::test]
async fn a_foreign_container_is_named_and_left_alone() {
    let home = Home::new().await;
    let ours = home.ensure(&home.request("foreign")).await.unwrap();
    home.sandboxes.stop(&home.name("foreign"), InUse::Remove).await.unwrap();
    drop(ours);
    let stranger = Home::new().await;
    let mut request = stranger.request("foreign");
    request.name = home.name("foreign");
    let theirs = stranger.ensure(&request).await.unwrap();
    let error = home.ensure(&home.request("foreign")).await.unwrap_err();
    assert!(matches!(error, SandboxError::Foreign { .. }), "{error}");
    assert!(error.to_string().contains(home.name("foreign").as_str()), "{error}");
    let error = home.sandboxes.stop(&home.name("foreign"), InUse::Remove).await.unwrap_err();
    assert!(matches!(error, SandboxError::Foreign { .. }), "{error}");
    assert!(stranger.engine().inspect(&theirs.id.0).await.unwrap().unwrap().running);
}

#[tokio::test]
async fn a_container_that_ended_or_was_restarted_is_made_anew() {
    let home = Home::new().await;
    let request = home.request("again");
    let first = home.ensure(&request).await.unwrap();
    home.engine().kill(&first.id, "KILL").await.unwrap();
    let second = home.ensure(&request).await.unwrap();
    assert!(second.created && second.id != first.id);
    home.engine().stop(&second.id, 1).await.unwrap();
    home.engine().start(&second.id).await.unwrap();
    let third = home.ensure(&request).await.unwrap();
    assert!(third.created && third.id != second.id, "a restarted one is not trusted");
    assert_eq!((home.count().await, home.runs()), (1, 1));
}

#[tokio::test]
async fn what_a_dead_creel_left_half_made_is_replaced() {
    let home = Home::new().await;
    let request = home.request("half");
    let whole = home.ensure(&request).await.unwrap();
    let facts = home.engine().inspect(&whole.id.0).await.unwrap().unwrap();
    home.sandboxes.stop(&request.name, InUse::Remove).await.unwrap();
    drop(whole);
    let mut spec = minimal_spec(&home, request.name.as_str());
    spec.labels = facts.labels;
    let half = home.engine().create(&spec).await.unwrap();
    let ready = home.ensure(&request).await.unwrap();
    assert!(ready.created);
    assert!(home.engine().inspect(&half.0).await.unwrap().is_none());
}

#[tokio::test]
async fn a_caller_that_gave_up_is_cleaned_up_after() {
    let home = Home::new().await;
    let request = home.request("gaveup");
    let give_up = async || {
        let second = std::time::Duration::from_secs(1);
        let attempt = home.sandboxes.ensure(&request, &home.init, &Nobody);
        assert!(tokio::time::timeout(second, attempt).await.is_err());
        assert_eq!(home.count().await, 1, "a container that nobody ever got");
    };
    give_up().await;
    let ready = home.ensure(&request).await.unwrap();
    assert!(ready.created);
    assert_eq!((home.count().await, home.runs()), (1, 1));
    home.sandboxes.stop(&request.name, InUse::Remove).await.unwrap();
    drop(ready);
    give_up().await;
    let pruned = home.sandboxes.prune(&Host { setup: None }).await.unwrap();
    assert_eq!(pruned[0].reason, "it never became ready");
    assert_eq!((home.count().await, home.runs()), (0, 0));
}

fn minimal_spec(home: &Home, name: &str) -> creel::engine::ContainerSpec {
    creel::engine::ContainerSpec {
        name: name.to_owned(),
        image: home.image.clone(),
        argv: vec!["/none".to_owned()],
        env: Vec::new(),
        labels: std::collections::BTreeMap::new(),
        user: None,
        workdir: "/".to_owned(),
        mounts: Vec::new(),
        tmpfs: Vec::new(),
        network: "none".to_owned(),
        dns: Vec::new(),
        extra_hosts: Vec::new(),
        read_only_root: true,
        cap_drop: Vec::new(),
        seccomp: None,
        apparmor: None,
        limits: Limits::default(),
        gpus: None,
        engine_init: false,
        stdin: false,
        stop_timeout_s: 1,
    }
}

#[tokio::test]
async fn a_failed_attempt_leaves_nothing() {
    let home = Home::new().await;
    let mut request = home.request("fail");
    request.user = Some("nobody-knows-me".to_owned());
    let error = home.ensure(&request).await.unwrap_err();
    assert!(
        matches!(&error, SandboxError::StartFailed { options, .. } if options.contains("nobody-knows-me")),
        "{error}"
    );
    assert_eq!((home.count().await, home.runs()), (0, 0));

    let host = Host { setup: Some("exit status 1: no such package".to_owned()) };
    let error = home.sandboxes.ensure(&home.request("fail"), &home.init, &host).await.unwrap_err();
    assert!(matches!(error, SandboxError::Setup { .. }), "{error}");
    assert!(error.to_string().contains("no such package"), "{error}");
    assert_eq!((home.count().await, home.runs()), (0, 0));

    let mut request = home.request("fail");
    request.image = "creel-sandbox-test:missing".to_owned();
    let error = home.ensure(&request).await.unwrap_err();
    assert!(matches!(error, SandboxError::Engine(EngineError::ImageMissing { .. })), "{error}");
}

#[tokio::test]
async fn a_swapped_bind_source_is_refused() {
    let home = Home::new().await;
    let (source, secret) = (home.dir.path().join("source"), home.dir.path().join("secret"));
    std::fs::create_dir(&source).unwrap();
    std::fs::create_dir(&secret).unwrap();
    let mut request = home.request("swap");
    request.binds = vec![bind(&source, "/data", true)];
    // Between the validation and the mount somebody puts a link in the place of the directory.
    std::fs::rename(&source, home.dir.path().join("away")).unwrap();
    std::os::unix::fs::symlink(&secret, &source).unwrap();
    let error = home.ensure(&request).await.unwrap_err();
    match &error {
        SandboxError::NotEnforced { gaps, .. } => {
            assert_eq!(gaps[0].rule, Rule::Mount);
            assert_eq!(gaps[0].subject.as_deref(), Some("/data"));
        }
        other => unreachable!("{other}"),
    }
    assert_eq!((home.count().await, home.runs()), (0, 0));
}

#[tokio::test]
async fn a_writable_mount_below_a_read_only_bind_is_refused() {
    let mut home = Home::new().await;
    let mut request = home.request("below");
    let source = home.dir.path().join("source");
    let below = source.join("in");
    std::fs::create_dir_all(&below).unwrap();
    home.mount_tmpfs(&below).await;
    request.binds = vec![bind(&source, "/data", true)];
    let error = home.ensure(&request).await.unwrap_err();
    assert!(
        matches!(&error, SandboxError::NotEnforced { gaps, .. } if gaps[0].rule == Rule::Submounts),
        "{error}"
    );
    assert!(error.to_string().contains("/data/in"), "{error}");
    assert_eq!((home.count().await, home.runs()), (0, 0));
    request.allow_unenforced = vec![Rule::Submounts];
    let allowed = home.ensure(&request).await.unwrap();
    assert!(allowed.warnings.iter().any(|warning| warning.contains("as allowed")), "{:?}", allowed.warnings);
}

/// What the validation of binds forbids before is seen once more in the container, and no key allows it.
#[tokio::test]
async fn what_is_denied_does_not_come_along() {
    let home = Home::new().await;
    for (slug, read_only) in [("deny-ro", true), ("deny-rw", false)] {
        let mut request = home.request(slug);
        // Every machine has file systems of the kernel's own mounted below this directory.
        request.binds = vec![bind(Path::new("/dev"), "/data", read_only)];
        request.allow_unenforced = Rule::ALL.to_vec();
        let error = home.ensure(&request).await.unwrap_err();
        assert!(matches!(&error, SandboxError::DeniedMount { .. }), "{error}");
        assert!(error.to_string().contains("/data/"), "{error}");
        assert_eq!((home.count().await, home.runs()), (0, 0));
    }
}

/// The engine keeps a volume of an image in its own storage, which is denied: that one is meant.
#[tokio::test]
async fn a_volume_of_the_image_may_lie_below_a_bind() {
    let home = Home::new().await;
    let image = home.import_with("VOLUME /data/kept").await;
    let source = home.dir.path().join("source");
    std::fs::create_dir_all(source.join("kept")).unwrap();
    let mut request = home.request("volume");
    request.image = image.clone();
    request.binds = vec![bind(&source, "/data", false)];
    let ready = home.ensure(&request).await.unwrap();
    assert!(ready.warnings.iter().any(|warning| warning.starts_with("/data/kept")), "{:?}", ready.warnings);
    home.sandboxes.stop_all(InUse::Remove).await.unwrap();
    home.engine().remove_image(&image).await.unwrap();
}

#[tokio::test]
async fn mount_points_inside_the_workspace_belong_to_the_user() {
    let home = Home::new().await;
    let source = home.dir.path().join("source");
    std::fs::create_dir(&source).unwrap();
    let mut request = home.request("nested");
    request.binds = vec![bind(&source, "/workspace/.a/b", true)];
    home.ensure(&request).await.unwrap();
    let made = std::fs::metadata(request.workspace.dir.join(".a")).unwrap();
    let owner = std::fs::metadata(&request.workspace.dir).unwrap();
    assert_eq!((made.uid(), made.gid()), (owner.uid(), owner.gid()));
}

#[tokio::test]
async fn drift_waits_until_nobody_uses_the_container() {
    let home = Home::new().await;
    let request = home.request("drift");
    let first = home.ensure(&request).await.unwrap();
    let mut changed = request.clone();
    changed.limits.pids = Some(55);
    let second = home.ensure(&changed).await.unwrap();
    assert_eq!(second.id, first.id);
    let drift = second.drift.clone().unwrap();
    assert!(drift.len() == 1 && drift[0].starts_with("limits:"), "{drift:?}");
    // Other files are another matter: tools would work on what the container does not see.
    let mut moved = request.clone();
    moved.workspace.read_only = true;
    let error = home.ensure(&moved).await.unwrap_err();
    assert!(matches!(error, SandboxError::DriftedHot { .. }), "{error}");
    drop((first, second));
    home.cool("drift");
    let third = home.ensure(&changed).await.unwrap();
    assert!(third.created && third.drift.is_none());
}

#[tokio::test]
async fn a_command_without_a_lease_survives_drift_and_prune() {
    let home = Home::new().await;
    let mut request = home.request("busy");
    request.max_age = std::time::Duration::from_secs(1);
    let mut first = home.ensure(&request).await.unwrap();
    let command = first.link.start_waiting().await;
    let id = first.id.clone();
    drop(first);
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    home.cool("busy");
    assert_eq!(home.sandboxes.prune(&ByLink).await.unwrap(), []);
    let mut changed = request.clone();
    changed.limits.pids = Some(55);
    let mut second = home.ensure(&changed).await.unwrap();
    assert_eq!(second.id, id);
    assert!(second.drift.is_some());
    second.link.end(command).await;
    drop(second);
    home.cool("busy");
    assert_eq!(home.sandboxes.prune(&ByLink).await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_runner_meets_it() {
    let home = Home::new().await;
    let request = home.request("runner");
    let cold = home.sandboxes.ensure(&request, &home.init, &ByLink).await.unwrap();
    assert!(cold.created && cold.hardening.gaps().next().is_none());
    let warm = home.sandboxes.ensure(&request, &home.init, &ByLink).await.unwrap();
    assert_eq!((&warm.id, warm.link.boot()), (&cold.id, cold.link.boot()));
}

#[tokio::test]
async fn a_moved_tag_is_drift() {
    let home = Home::new().await;
    let request = home.request("tag");
    let first = home.ensure(&request).await.unwrap();
    assert_eq!(home.sandboxes.list().await.unwrap()[0].image_match, Some(true));
    let newer = support::import(home.engine(), &home.image).await;
    let listed = home.sandboxes.list().await.unwrap();
    assert_eq!(listed[0].image_match, Some(false));
    let hot = home.ensure(&request).await.unwrap();
    assert_eq!(hot.id, first.id);
    assert!(hot.drift.clone().unwrap()[0].starts_with("image:"), "{:?}", hot.drift);
    let older = first.image.clone();
    drop((first, hot));
    home.cool("tag");
    let fresh = home.ensure(&request).await.unwrap();
    assert_eq!(fresh.image, newer);
    home.engine().remove_image(&older).await.unwrap();
}

#[tokio::test]
async fn stop_and_prune_respect_leases() {
    let home = Home::new().await;
    let mut request = home.request("prune");
    request.idle_limit = std::time::Duration::from_mins(1);
    let ready = home.ensure(&request).await.unwrap();
    let listed = home.sandboxes.list().await.unwrap();
    assert_eq!((listed.len(), listed[0].leases, listed[0].proven), (1, 1, true));
    home.cool("prune");
    assert_eq!(home.sandboxes.prune(&Host { setup: None }).await.unwrap(), []);
    let error = home.sandboxes.stop(&request.name, InUse::Refuse).await.unwrap_err();
    assert!(matches!(error, SandboxError::Leased { leases: 1, .. }), "{error}");
    drop(ready);
    let pruned = home.sandboxes.prune(&Host { setup: None }).await.unwrap();
    assert_eq!(pruned.len(), 1);
    assert!(pruned[0].reason.contains("idle") && pruned[0].error.is_none(), "{pruned:?}");
    assert_eq!((home.count().await, home.runs()), (0, 0));

    let ready = home.ensure(&request).await.unwrap();
    home.engine().kill(&ready.id, "KILL").await.unwrap();
    drop(ready);
    assert_eq!(home.sandboxes.prune(&Host { setup: None }).await.unwrap().len(), 1);
    assert!(!home.sandboxes.stop(&request.name, InUse::Refuse).await.unwrap());
    assert!(request.workspace.dir.is_dir(), "workspaces stay");
}
