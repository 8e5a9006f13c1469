//! The library's promises: what a stopped sandbox says, and what goes with one of one's own.

use std::path::PathBuf;

use creel::engine::{Discovery, Engine};
use creel::runner::Transport;
use creel::sandbox::{InUse, SandboxName, Sandboxes};
use creel::state::StateDir;
use creel::{Sandbox, SandboxOptions};

use crate::home::Home;

async fn sandboxes(home: &Home) -> Sandboxes {
    let engine = Engine::discover(&Discovery::from_process(None)).await.unwrap();
    Sandboxes::open(engine, &StateDir::at(home.state())).unwrap()
}

fn workspace(options: &SandboxOptions) -> PathBuf {
    options.preview().unwrap().request.workspace.dir
}

async fn ok(sandbox: &Sandbox, text: &str) {
    let done = sandbox.exec(text).await.unwrap();
    assert_eq!(done.outcome.code, Some(0), "{done:?}");
}

#[tokio::test]
async fn a_call_on_a_stopped_sandbox_says_so() {
    let home = Home::new();
    for transport in [Transport::Init, Transport::Engine] {
        let sandbox = home.options().open().await.unwrap().over(transport);
        ok(&sandbox, "true").await;
        let name = SandboxName::parse(&sandbox.ready().name).unwrap();
        assert!(sandboxes(&home).await.stop(&name, InUse::Remove).await.unwrap());
        let report = sandbox.exec("true").await.unwrap_err().0;
        assert_eq!(report.code, "CRL-SANDBOX-031", "{report}");
        assert!(report.message.contains("was stopped or removed"), "{report}");
        assert!(report.fix.starts_with("open it again"), "{report}");
        drop(sandbox);
        let again = home.options().open().await.unwrap();
        ok(&again, "true").await;
        again.stop().await.unwrap();
    }
}

#[tokio::test]
async fn what_creel_made_for_one_caller_goes_with_it() {
    let home = Home::new();
    let options = home.options().apart("one");
    let dir = workspace(&options);
    let sandbox = options.open().await.unwrap();
    ok(&sandbox, "mkdir -p a/b && echo x > a/b/file && ln -s / root").await;
    assert!(dir.join("a/b/file").is_file());
    let user = options.open().await.unwrap();
    assert!(!user.stop_unless_used().await.unwrap(), "somebody else has it");
    assert!(dir.join("a/b/file").is_file());
    assert!(sandbox.stop_unless_used().await.unwrap());
    assert!(!dir.exists());
    // The same again is a new one.
    let sandbox = options.open().await.unwrap();
    ok(&sandbox, "test -z \"$(ls -A)\"").await;
    sandbox.stop().await.unwrap();
    assert!(!dir.exists());
}

#[tokio::test]
async fn what_others_may_have_stays() {
    let home = Home::new();
    let mine = home.open_dir("mine");
    for options in [home.options(), home.options().apart("two").workspace(&mine)] {
        let dir = workspace(&options);
        let sandbox = options.open().await.unwrap();
        ok(&sandbox, "echo x > file").await;
        sandbox.stop().await.unwrap();
        assert!(dir.join("file").is_file(), "{}", dir.display());
    }
    // The agent's own directory, which is the user's, mounted by configuration.
    home.configure(
        "{agents: {defaults: {workspace: 'DIR/mine', sandbox: {workspaceAccess: 'rw', docker: {image: 'IMAGE'}}}}}",
    );
    let sandbox = home.options().apart("three").open().await.unwrap();
    sandbox.stop().await.unwrap();
    assert!(mine.join("file").is_file());
}
