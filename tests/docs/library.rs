//! The examples of `docs/library.md`, as the page shows them: each stands here between two marks, is compiled, and is run
//! on an engine where that takes no directory of the reader's.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use creel::approvals::Command;
use creel::error::Failure;
use creel::runner::{Death, Progress};
use creel::wire::Stream;
use creel::{Sandbox, SandboxOptions};
use tokio::task::JoinSet;

use crate::engine::{IMAGE, Installation};
use crate::page;

const SOURCE: &str = include_str!("library.rs");
/// What an example begins with; it ends with [`END`].
const BEGIN: &str = "// example";
const END: &str = "// end";

fn options(installation: &Installation) -> SandboxOptions {
    Sandbox::options().state(installation.state()).image(IMAGE)
}

/// Only compiled: the directory is the reader's.
#[expect(dead_code, reason = "an example that is compiled and not run")]
fn choose() -> SandboxOptions {
    // example
    let options = Sandbox::options()
        .workspace("/srv/project") // an existing directory, mounted writable; else one of the sandbox's own
        .image("creel-minimal:latest") // else the configured one
        .env("LANG", "C.UTF-8") // for every command; never in `docker inspect`
        .bind("/srv/data:/data:ro"); // one more mount
    // end
    options
}

#[tokio::test]
async fn a_call() -> Result<(), Failure> {
    let installation = Installation::new();
    let options = options(&installation);
    // example
    let sandbox = options.open().await?;
    let mut call = sandbox.call("echo $WHO in $PWD; exit 3");
    call.env.push(("WHO".to_owned(), "me".to_owned()));
    call.workdir = Some("/tmp".to_owned());
    call.options.timeout = Some(Duration::from_secs(30));
    let done = sandbox.run(&call).await?;
    assert_eq!(done.stdout, b"me in /tmp\n");
    assert_eq!(done.outcome.code, Some(3));

    // A program and its arguments: no shell reads them.
    let argv = ["echo", "$HOME; *"].map(str::to_owned).to_vec();
    let done = sandbox.run(&sandbox.call_of(Command::Argv(argv))).await?;
    assert_eq!(done.stdout, b"$HOME; *\n");
    // end
    sandbox.stop().await
}

#[tokio::test]
async fn output_as_it_comes() -> Result<(), Failure> {
    let installation = Installation::new();
    let sandbox = options(&installation).open().await?;
    // example
    let mut running =
        sandbox.start(&sandbox.call("for i in 1 2 3; do echo $i; sleep 0.1; done; echo no >&2")).await?;
    let outcome = loop {
        match running.next().await? {
            Progress::Started(pid) => println!("runs as process {pid} of the container"),
            Progress::Output(Stream::Stdout, bytes) => print!("{}", String::from_utf8_lossy(&bytes)),
            Progress::Output(Stream::Stderr, bytes) => eprint!("{}", String::from_utf8_lossy(&bytes)),
            Progress::Input { .. } => {}
            Progress::Done(outcome) => break outcome,
        }
    };
    assert_eq!((outcome.code, outcome.stdout_bytes, outcome.stderr_bytes), (Some(0), 6, 3));
    // end
    sandbox.stop().await
}

#[tokio::test]
async fn input() -> Result<(), Failure> {
    let installation = Installation::new();
    let sandbox = options(&installation).open().await?;
    // example
    let mut call = sandbox.call("sort");
    call.options.stdin = true;
    let mut running = sandbox.start(&call).await?;
    running.write(b"b\na\n".to_vec()).await?;
    running.close_input().await?;
    let mut sorted = Vec::new();
    loop {
        match running.next().await? {
            Progress::Output(_, bytes) => sorted.extend_from_slice(&bytes),
            Progress::Done(_) => break,
            Progress::Started(_) | Progress::Input { .. } => {}
        }
    }
    assert_eq!(sorted, b"a\nb\n");
    // end
    sandbox.stop().await
}

#[tokio::test]
async fn ends() -> Result<(), Failure> {
    let installation = Installation::new();
    let sandbox = options(&installation).open().await?;
    // example
    let mut call = sandbox.call("sleep 300 & sleep 300");
    call.options.timeout = Some(Duration::from_millis(200));
    let done = sandbox.run(&call).await?;
    assert_eq!((done.outcome.death, done.outcome.exit_status()), (Death::Timeout, 124));
    assert!(done.outcome.processes.is_some_and(|all| all.proven_gone));

    let mut running = sandbox.start(&sandbox.call("sleep 300")).await?;
    running.kill()?; // TERM to the whole tree, KILL after call.options.grace
    let outcome = loop {
        if let Progress::Done(outcome) = running.next().await? {
            break outcome;
        }
    };
    assert_eq!(outcome.death, Death::Cancelled);
    // end
    sandbox.stop().await
}

#[tokio::test]
async fn a_sandbox_that_was_stopped() -> Result<(), Failure> {
    let installation = Installation::new();
    let options = options(&installation);
    // example
    let sandbox = options.open().await?;
    let same = options.open().await?; // joins it: the same container
    same.stop().await?;
    let Err(Failure(report)) = sandbox.exec("true").await else { panic!("it was stopped") };
    assert_eq!(report.code, "CRL-SANDBOX-031");
    let sandbox = options.open().await?; // a new container, the same workspace
    // end
    sandbox.stop().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::items_after_statements, reason = "the page shows the function beside its use")]
async fn many_at_once() -> Result<(), Failure> {
    let installation = Installation::new();
    let options = options(&installation);
    // example
    /// A sandbox that nobody else has, with an empty workspace.
    async fn fresh(options: &SandboxOptions) -> Result<Sandbox, Failure> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let nonce = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        options.clone().apart(nonce).open().await
    }

    let mut tests = JoinSet::new();
    for number in 0..4 {
        let options = options.clone();
        tests.spawn(async move {
            let sandbox = fresh(&options).await?;
            let done = sandbox.exec(format!("echo {number} > file; cat file")).await?;
            sandbox.stop_unless_used().await?; // removes the workspace too: creel made it
            Ok::<_, Failure>(done.stdout)
        });
    }
    while let Some(output) = tests.join_next().await {
        println!("{:?}", output.expect("a test does not panic")?);
    }
    // end
    let left = std::fs::read_dir(installation.state().join("sandboxes")).unwrap().count();
    assert_eq!(left, 0);
    Ok(())
}

#[expect(dead_code, reason = "an example that is compiled and not run: it starts a process that outlives it")]
async fn pool(options: SandboxOptions) -> Result<(), Failure> {
    // example
    let sandbox = options.session("test-17").open().await?;
    if sandbox.pool_size() > 0 {
        creel::keeper::start(sandbox.layout(), Path::new("creel"), None)?;
    }
    // end
    Ok(())
}

/// The text between two marks, without its indentation.
fn examples() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut lines = SOURCE.lines();
    while lines.by_ref().any(|line| line.trim() == BEGIN) {
        let text: Vec<&str> = lines.by_ref().take_while(|line| line.trim() != END).collect();
        let indented = text.iter().filter(|line| !line.trim().is_empty());
        let depth = indented.map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
        found.insert(text.iter().map(|line| line.get(depth..).unwrap_or("").to_owned() + "\n").collect());
    }
    found
}

#[test]
fn the_page_shows_what_is_tested() {
    let page = page::read("docs/library.md");
    let shown = page.fences().into_iter().filter(|fence| fence.language == "rust").map(|fence| fence.text);
    pretty_assertions::assert_eq!(shown.collect::<BTreeSet<_>>(), examples());
}
