//! A process may die between any two steps. Each test makes the state that such a death leaves, and shows that the next
//! creel makes something usable of it, or nothing.

use creel::sandbox::ByLink;
use creel::sandbox::pool::{Hold, Waiting};

use crate::home::{Home, output};

/// A pool with one that waits.
async fn filled() -> (Home, Waiting, String) {
    let home = Home::new(1, "", "setupCommand: 'echo once >> /workspace/made',").await;
    home.open("first").await;
    let waiting = home.fill().await.remove(0);
    let id = home.id(&waiting.name).await.unwrap();
    (home, waiting, id)
}

fn proof(home: &Home, waiting: &Waiting) -> std::path::PathBuf {
    home.state().join(format!("creel/proof/{}.json", waiting.name))
}

async fn rename(home: &Home, id: &str, name: &str) {
    let id = creel::engine::ContainerId(id.to_owned());
    home.sandboxes.engine().rename(&id, name).await.unwrap();
}

/// The session works, in a container that is not the half claimed one, and nothing of that is left.
async fn recovers(home: &Home, id: &str) {
    let sandbox = home.open("second").await;
    assert!(sandbox.ready().created && sandbox.container().0 != id);
    output(&sandbox, "cat made").await;
    home.sandboxes.prune(&ByLink).await.unwrap();
    assert_eq!(home.sandboxes.engine().inspect(id).await.unwrap().map(|facts| facts.name), None);
    assert_eq!(home.unclaimed(), Vec::<std::path::PathBuf>::new());
    assert!(home.open("second").await.container().0 == sandbox.container().0);
    drop(sandbox);
    home.assert_nothing_leaks().await;
}

#[tokio::test]
async fn after_the_entry_was_written() {
    let (home, waiting, id) = filled().await;
    let entry = home.state().join(format!("creel/pool/{}.json", waiting.name));
    let text = std::fs::read(&entry).unwrap();
    assert!(home.sandboxes.drain(&waiting.name).await.unwrap());
    std::fs::write(&entry, text).unwrap();
    recovers(&home, &id).await;
}

#[tokio::test]
async fn after_its_record_was_taken() {
    let (home, waiting, id) = filled().await;
    std::fs::remove_file(proof(&home, &waiting)).unwrap();
    recovers(&home, &id).await;
    // And a keeper that comes first fills the place anew.
    let (home, waiting, id) = filled().await;
    std::fs::remove_file(proof(&home, &waiting)).unwrap();
    assert!(home.fill().await[0].ready);
    assert_ne!(home.id(&waiting.name).await.unwrap(), id);
    let second = home.open("second").await;
    assert!(second.ready().pooled);
    assert_eq!(output(&second, "cat made").await, "once\n", "in a workspace that is new too");
    drop(second);
    home.assert_nothing_leaks().await;
}

#[tokio::test]
async fn after_it_was_renamed() {
    let (home, waiting, id) = filled().await;
    let name = home.options("second").preview().unwrap().request.name;
    std::fs::remove_file(proof(&home, &waiting)).unwrap();
    rename(&home, &id, name.as_str()).await;
    recovers(&home, &id).await;
}

#[tokio::test]
async fn after_the_workspace_was_moved() {
    let (home, waiting, id) = filled().await;
    let request = home.options("second").preview().unwrap().request;
    std::fs::remove_file(proof(&home, &waiting)).unwrap();
    rename(&home, &id, request.name.as_str()).await;
    std::fs::rename(&home.unclaimed()[0], &request.workspace.dir).unwrap();
    recovers(&home, &id).await;
}

#[tokio::test]
async fn after_everything_but_the_entry() {
    let (home, waiting, id) = filled().await;
    let entry = home.state().join(format!("creel/pool/{}.json", waiting.name));
    let text = std::fs::read(&entry).unwrap();
    let second = home.open("second").await;
    assert_eq!(second.container().0, id);
    std::fs::write(&entry, text).unwrap();
    home.sandboxes.prune(&ByLink).await.unwrap();
    assert_eq!(home.waiting(), []);
    assert_eq!(home.open("second").await.container().0, id, "it is the session's now");
    assert_eq!(output(&second, "cat made").await, "once\n");
    drop(second);
    home.assert_nothing_leaks().await;
}

/// Somebody removes, stops or restarts it behind our back: it is not what was proven.
#[tokio::test]
async fn what_is_not_as_it_was_proven_is_not_claimed() {
    for act in ["rm", "kill", "restart"] {
        let (home, waiting, id) = filled().await;
        let args: &[&str] = if act == "rm" { &["rm", "-f", &id] } else { &[act, &id] };
        let done = creel::host_tool::host_tool("docker").args(args).output().await.unwrap();
        assert!(done.status.success(), "{done:?}");
        let second = home.open("second").await;
        assert!(second.ready().created && second.container().0 != id, "{act}");
        output(&second, "cat made").await;
        // The keeper's next look puts a good one in its place.
        if act != "restart" {
            assert!(home.fill().await[0].ready);
            assert_ne!(home.id(&waiting.name).await.unwrap(), id);
            assert!(home.open("third").await.ready().pooled, "{act}");
        }
        drop(second);
        home.assert_nothing_leaks().await;
    }
}

#[tokio::test]
async fn prune_leaves_to_a_keeper_what_is_the_keepers() {
    let (home, waiting, id) = filled().await;
    let hold = Hold::take(home.sandboxes.layout()).await.unwrap().unwrap();
    assert_eq!(home.sandboxes.prune(&ByLink).await.unwrap(), []);
    drop(hold);
    let pruned = home.sandboxes.prune(&ByLink).await.unwrap();
    assert_eq!(pruned.len(), 1, "{pruned:?}");
    assert_eq!(
        (pruned[0].name.as_str(), pruned[0].reason.as_str()),
        (waiting.name.as_str(), "nobody keeps its pool")
    );
    assert!(home.sandboxes.engine().inspect(&id).await.unwrap().is_none());
    assert_eq!(home.waiting(), []);
    home.assert_nothing_leaks().await;
}

/// Not a state that was thought of, but whatever a kill at some moment leaves.
#[tokio::test]
async fn killed_at_any_time() {
    let home = Home::new(1, "", "setupCommand: 'echo once >> /workspace/made',").await;
    home.open("first").await;
    for step in 0..16_u64 {
        home.fill().await;
        let session = format!("s{step}");
        // While somebody keeps the pools, it starts no keeper, which would be at work below.
        let hold = Hold::take(home.sandboxes.layout()).await.unwrap().unwrap();
        let mut child = home.creel(&["exec", "--session", &session, "--", "true"]).spawn().unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(3 * step)).await;
        child.kill().await.unwrap();
        drop(hold);
        let sandbox = home.open(&session).await;
        assert!(output(&sandbox, "cat made").await.starts_with("once\n"));
        assert_eq!(home.list().await.iter().filter(|row| row.id == sandbox.container().0).count(), 1);
        sandbox.stop().await.unwrap();
        home.sandboxes.prune(&ByLink).await.unwrap();
        assert_eq!(home.unclaimed().len(), home.waiting().len());
    }
    // A rendezvous directory that nobody carries is swept after ten minutes; here the clock is moved instead.
    let run = home.state().join("creel/run");
    for entry in std::fs::read_dir(&run).unwrap().flatten() {
        let dir = std::fs::File::open(entry.path()).unwrap();
        dir.set_modified(std::time::SystemTime::now() - std::time::Duration::from_hours(1)).unwrap();
    }
    home.sandboxes.prune(&ByLink).await.unwrap();
    home.assert_nothing_leaks().await;
}

/// Beside other work creel prunes now and then; what waits is not for that, with a keeper or without.
#[tokio::test]
async fn an_open_that_prunes_adopts_what_waits() {
    let (home, _, id) = filled().await;
    let stamp = home.state().join("creel/mark/pruned");
    assert!(stamp.exists());
    std::fs::remove_file(&stamp).unwrap();
    let second = home.open("second").await;
    assert!(stamp.exists() && second.ready().pooled && second.container().0 == id);
    drop(second);
    home.assert_nothing_leaks().await;
}
