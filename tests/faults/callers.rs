//! Many callers at once, and installations that have nothing to do with each other.

use std::collections::BTreeSet;

use creel::host_tool::host_tool;
use creel::sandbox::InUse;

use super::child::{self, orders};
use super::home::{Home, IMAGE, assert_usable, docker, options, text, until};

/// One of four processes; opens the sandbox four times at once and runs a command in each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "started by another test"]
async fn child_that_opens_four_times() {
    let (home, number) = orders();
    let one = |call: usize| {
        let (home, number) = (home.clone(), number.clone());
        async move {
            let options = options(&home.join("s"), &home).config(home.join("openclaw.json"));
            let sandbox = options.open().await.unwrap();
            let done = sandbox.exec(format!("echo {number}-{call}; exit {call}")).await.unwrap();
            assert_eq!(text(&done.stdout), format!("{number}-{call}\n"));
            assert_eq!(done.outcome.code, i32::try_from(call).ok());
            let ready = sandbox.ready();
            println!("\nopened={} created={}", ready.id.0, ready.created);
        }
    };
    tokio::join!(one(1), one(2), one(3), one(4));
}

#[tokio::test]
async fn sixteen_first_commands_from_four_processes_make_one_container() {
    let home = Home::new();
    let _ = home.options();
    let child = |number: &'static str| {
        let mut command = child::command("callers::child_that_opens_four_times", home.dir.path(), number);
        async move { command.output().await.unwrap() }
    };
    let (a, b, c, d) = tokio::join!(child("a"), child("b"), child("c"), child("d"));
    let mut opened = Vec::new();
    for output in [a, b, c, d] {
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
        let said = text(&output.stdout);
        opened.extend(said.lines().filter_map(|line| line.strip_prefix("opened=")).map(str::to_owned));
    }
    assert_eq!(opened.len(), 16, "{opened:?}");
    assert_eq!(opened.iter().filter(|line| line.ends_with("created=true")).count(), 1, "{opened:?}");
    let ids: BTreeSet<_> = opened.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!((ids.len(), home.list().await.len()), (1, 1), "{opened:?}");
    home.assert_nothing_leaks().await;
}

#[tokio::test]
async fn two_installations_never_share_a_container() {
    let (one, two) = (Home::new(), Home::new());
    let session = "agent:main:shared";
    let (first, second) = tokio::join!(async { one.options().session(session).open().await }, async {
        two.options().session(session).open().await
    });
    let (first, second) = (one.note(first.unwrap()), two.note(second.unwrap()));
    assert!(first.ready().created && second.ready().created);
    assert_ne!(first.ready().name, second.ready().name);
    assert_ne!(first.container(), second.container());
    first.exec("echo secret > /workspace/mine").await.unwrap();
    assert_eq!(second.exec("cat /workspace/mine").await.unwrap().outcome.code, Some(1));
    // Stopping everything of one leaves the other alone.
    for (_, outcome) in one.sandboxes().await.stop_all(InUse::Remove).await.unwrap() {
        assert!(outcome.unwrap());
    }
    assert_usable(&second).await;
    drop((first, second));
    one.assert_nothing_leaks().await;
    two.assert_nothing_leaks().await;
}

#[tokio::test]
async fn a_name_that_a_stranger_has_is_named_and_left_to_it() {
    let home = Home::new();
    let sandbox = home.open().await;
    let name = sandbox.ready().name.clone();
    sandbox.stop().await.unwrap();
    let stranger = docker(["create", "--name", &name, IMAGE, "true"]).await;
    let error = home.options().open().await.unwrap_err();
    let kept = docker(["inspect", "--format", "{{.Id}}", &name]).await;
    docker(["rm", &name]).await;
    assert_eq!(error.0.code, "CRL-SANDBOX-008", "{error}");
    assert!(error.0.message.contains(&name) && error.0.fix.contains(&name), "{error}");
    assert_eq!(kept, stranger);
    home.assert_nothing_leaks().await;
}

#[tokio::test]
async fn a_missing_image_names_the_command_that_makes_it() {
    let home = Home::new();
    for (image, fix) in [
        ("creel-minimal:absent", "creel images build minimal --tag"),
        ("no/such:1", "creel images pull no/such:1"),
    ] {
        let error = home.options().image(image).open().await.unwrap_err();
        assert!(error.0.message.contains(image) && error.0.fix.starts_with(fix), "{error}");
    }
    home.assert_nothing_leaks().await;
}

/// A creel is killed between the creation of the container and its start, or anywhere around it.
#[tokio::test]
async fn what_a_killed_creel_left_half_made_is_replaced() {
    let home = Home::new();
    let _ = home.options();
    let mut halves = 0;
    for _ in 0..6 {
        let mut child =
            child::command("callers::child_that_opens_four_times", home.dir.path(), "x").spawn().unwrap();
        let filter = format!("label=creel.installation={}", installation(&home));
        let end = tokio::time::Instant::now() + std::time::Duration::from_secs(20);
        // As soon as the engine knows the container.
        while ids(&filter).await.is_empty() && tokio::time::Instant::now() < end {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        child.kill().await.unwrap();
        let half = ids(&filter).await;
        assert_eq!(half.len(), 1);
        let sandbox = home.open().await;
        halves += usize::from(sandbox.ready().created);
        assert_usable(&sandbox).await;
        assert_eq!(ids(&filter).await.len(), 1);
        let runs = super::home::names(&home.state().join("creel/run"));
        assert_eq!(runs.len(), 1, "{runs:?}");
        sandbox.stop().await.unwrap();
        assert!(
            until(std::time::Duration::from_secs(1), || super::home::names(&home.state().join("creel/run"))
                .is_empty())
            .await
        );
    }
    assert!(halves > 0, "never caught half made");
    home.assert_nothing_leaks().await;
}

fn installation(home: &Home) -> String {
    creel::state::StateDir::at(home.state()).installation().unwrap().as_str().to_owned()
}

async fn ids(filter: &str) -> Vec<String> {
    let output = host_tool("docker").args(["ps", "-aq", "--filter", filter]).output().await.unwrap();
    text(&output.stdout).lines().map(str::to_owned).collect()
}
