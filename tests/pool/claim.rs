//! What is claimed is what would have been made.

use std::collections::BTreeSet;

use creel::sandbox::ByLink;

use crate::home::{Home, output};

const SETUP: &str = "setupCommand: 'echo once >> /workspace/made',";

#[tokio::test]
async fn a_claimed_container_is_the_sessions_own() {
    let home = Home::new(1, "", SETUP).await;
    let first = home.open("first").await;
    assert!(first.ready().created && !first.ready().pooled, "nothing waits yet");
    assert_eq!(first.pool_size(), 1);
    let waiting = home.fill().await;
    assert!(waiting.len() == 1 && waiting[0].ready, "{waiting:?}");
    let id = home.id(&waiting[0].name).await.unwrap();
    let listed = home.list().await;
    let row = listed.iter().find(|row| row.id == id).unwrap();
    assert_eq!((row.pool.as_deref(), row.session_key.as_str()), (Some(waiting[0].key.as_str()), ""));

    let second = home.open("second").await;
    assert!(second.ready().pooled && !second.ready().created);
    assert_eq!(second.container().0, id);
    assert_ne!(second.ready().name, waiting[0].name.as_str());
    assert_eq!(output(&second, "pwd; cat made; echo kept > file").await, "/workspace\nonce\n");
    let place = home.options("second").preview().unwrap().request.workspace.dir;
    assert_eq!(
        std::fs::read_to_string(place.join("file")).unwrap(),
        "kept\n",
        "its workspace is the session's"
    );
    assert_eq!(home.waiting(), []);
    assert_eq!(home.unclaimed(), Vec::<std::path::PathBuf>::new());

    let again = home.open("second").await;
    assert_eq!(again.container().0, id);
    assert!(!again.ready().created && !again.ready().pooled && again.ready().drift.is_none());
    assert_eq!(again.ready().hash, second.ready().hash);
    assert_eq!(output(&again, "cat made file").await, "once\nkept\n", "set up once");
    let listed = home.list().await;
    let row = listed.iter().find(|row| row.id == id).unwrap();
    assert!(row.pool.is_none() && row.proven, "{row:?}");
    assert!(row.session_key.starts_with("agent:main:second:"), "{row:?}");
    // One that came out of a pool and one that did not differ in nothing that a session sees.
    assert_eq!(second.ready().user, first.ready().user);
    let rules = |sandbox: &creel::Sandbox| {
        let checks = sandbox.ready().hardening.checks.iter();
        checks.map(|check| (check.rule, check.verdict)).collect::<Vec<_>>()
    };
    assert_eq!(rules(&second), rules(&first));
    // A configuration that changed is drift, as for any other.
    home.configure(1, "", "setupCommand: 'true', pidsLimit: 99,", "");
    let drifted = home.open("second").await;
    let drift = drifted.ready().drift.clone().unwrap();
    assert!(drift.iter().any(|line| line.starts_with("limits")), "{drift:?}");
    drop((first, second, again, drifted));
    home.assert_nothing_leaks().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_two_sessions_get_one_container() {
    let home = Home::new(2, "", "").await;
    home.open("first").await;
    assert_eq!(home.fill().await.len(), 2);
    // The same session twice among them: both get the one that it has.
    let all = ["a", "b", "c", "d", "a"];
    let opened: Vec<creel::Sandbox> =
        futures_util::future::join_all(all.map(|session| home.open(session))).await;
    let ids: BTreeSet<&str> = opened.iter().map(|one| one.container().0.as_str()).collect();
    assert_eq!(ids.len(), 4);
    assert_eq!(opened[0].container(), opened[4].container());
    let pooled = opened.iter().filter(|one| one.ready().pooled).count();
    assert!((1..=2).contains(&pooled), "{pooled}");
    for (sandbox, session) in opened.iter().zip(all) {
        output(sandbox, &format!("echo {session} > who")).await;
    }
    for (sandbox, session) in opened.iter().zip(all) {
        assert_eq!(output(sandbox, "cat who").await, format!("{session}\n"));
    }
    drop(opened);
    home.assert_nothing_leaks().await;
}

#[tokio::test]
async fn a_workspace_that_is_there_is_never_replaced() {
    let home = Home::new(1, "", "").await;
    home.open("first").await;
    home.fill().await;
    let place = home.options("old").preview().unwrap().request.workspace.dir;
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("mine"), "mine").unwrap();
    let old = home.open("old").await;
    assert!(old.ready().created && !old.ready().pooled);
    assert_eq!(output(&old, "cat mine").await, "mine");
    assert_eq!(home.waiting().len(), 1, "it still waits");
    drop(old);
    home.assert_nothing_leaks().await;
}

/// With the agent's own directory as the workspace nothing is moved.
#[tokio::test]
async fn every_access_to_the_agents_workspace() {
    for access in ["rw", "ro"] {
        let home = Home::new(1, &format!("workspaceAccess: '{access}',"), "").await;
        let own = home.state().join("workspace");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("given"), "given").unwrap();
        std::os::unix::fs::chown(&own, Some(1000), Some(1000)).unwrap();
        home.open("first").await;
        assert_eq!(home.fill().await.len(), 1, "{access}");
        let second = home.open("second").await;
        assert!(second.ready().pooled, "{access}");
        let at = if access == "rw" { "/workspace" } else { "/agent" };
        assert_eq!(output(&second, &format!("cat {at}/given")).await, "given");
        assert!(own.join("given").exists());
        assert!(!home.open("second").await.ready().created);
        drop(second);
        home.assert_nothing_leaks().await;
    }
}

#[tokio::test]
async fn another_configuration_draws_from_another_pool() {
    let home = Home::new(1, "", "").await;
    home.open("first").await;
    let before = home.fill().await;
    home.configure(1, "", "pidsLimit: 99,", "");
    let second = home.open("second").await;
    assert!(second.ready().created, "what waits has other limits");
    assert_eq!(home.waiting(), before);
    let after = home.fill().await;
    assert!(after.len() == 1 && after[0].key != before[0].key, "the old one is taken away");
    assert_eq!(home.id(&before[0].name).await, None);
    assert!(home.open("third").await.ready().pooled);
    // No pool any more: what waits is taken away.
    home.configure(0, "", "pidsLimit: 99,", "");
    assert_eq!(home.open("fourth").await.pool_size(), 0);
    home.fill().await;
    assert_eq!(home.fill().await, []);
    drop(second);
    home.assert_nothing_leaks().await;
}

/// What one agent's set-up command left must not come to another agent with other variables.
#[tokio::test]
async fn what_was_set_up_with_other_variables_stays_apart() {
    let home = Home::new(1, "", "").await;
    let docker = "setupCommand: 'echo $WHO > /workspace/who',";
    let agents = "entries: {main: {}, one: {sandbox: {docker: {env: {WHO: 'one'}}}}, two: {sandbox: {docker: {env: {WHO: 'two'}}}}, \
                  three: {sandbox: {docker: {env: {WHO: 'one'}}}}},";
    home.configure(1, "", docker, agents);
    home.options("agent:one:a").open().await.unwrap();
    assert_eq!(home.fill().await.len(), 1);
    let two = home.open("agent:two:a").await;
    assert!(!two.ready().pooled);
    assert_eq!(output(&two, "cat who").await, "two\n");
    let three = home.open("agent:three:a").await;
    assert!(three.ready().pooled, "the same in everything");
    assert_eq!(output(&three, "cat who").await, "one\n");
    // Variables of a caller's own, likewise.
    let own = home.options("agent:one:b").env("WHO", "me").open().await.unwrap();
    assert!(!own.ready().pooled && own.pool_size() == 0);
    assert_eq!(output(&own, "cat who").await, "me\n");
    drop((two, three, own));
    home.assert_nothing_leaks().await;
}

#[tokio::test]
async fn a_caller_with_a_directory_of_its_own_has_no_pool() {
    let home = Home::new(1, "", "").await;
    let dir = home.state().parent().unwrap().join("project");
    std::fs::create_dir(&dir).unwrap();
    let own = home.options("first").workspace(&dir).open().await.unwrap();
    assert_eq!(own.pool_size(), 0);
    assert_eq!(home.fill().await, []);
    assert_eq!(home.sandboxes.prune(&ByLink).await.unwrap(), []);
    drop(own);
    home.assert_nothing_leaks().await;
}
