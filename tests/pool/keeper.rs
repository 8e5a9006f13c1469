//! The keeper as a process: starts on demand, adopts, drains, ends.

use creel::sandbox::pool::holder;

use crate::home::{Home, until};

fn process(home: &Home) -> Option<u32> {
    holder(home.sandboxes.layout()).filter(|process| *process > 0)
}

async fn kill(signal: &str, process: u32) {
    let done =
        creel::host_tool::host_tool("kill").args([signal, &process.to_string()]).output().await.unwrap();
    assert!(done.status.success(), "{done:?}");
}

async fn filled(home: &Home, size: usize) -> Vec<String> {
    until("a full pool", async || home.waiting().iter().filter(|one| one.ready).count() == size).await;
    let mut ids = Vec::new();
    for one in home.waiting() {
        ids.push(home.id(&one.name).await.unwrap());
    }
    ids
}

#[tokio::test]
async fn starts_on_demand_refills_and_drains() {
    let home = Home::new(2, "", "").await;
    home.ok(&["exec", "--session", "first", "--", "true"]).await;
    until("a keeper", async || process(&home).is_some()).await;
    let keeper = process(&home).unwrap();
    let first = filled(&home, 2).await;
    home.ok(&["exec", "--session", "second", "--", "echo mine > file"]).await;
    let claimed: Vec<String> =
        home.list().await.into_iter().filter(|row| row.pool.is_none()).map(|row| row.id).collect();
    assert_eq!(claimed.iter().filter(|id| first.contains(id)).count(), 1, "it came out of the pool");
    until("a refill", async || {
        let all = home.list().await;
        all.iter().filter(|row| row.pool.is_some() && row.proven).count() == 2
    })
    .await;
    assert_eq!(home.ok(&["exec", "--session", "second", "--", "cat file"]).await, "mine\n");
    assert_eq!(process(&home), Some(keeper), "one for all");
    let told: serde_json::Value =
        serde_json::from_str(&home.ok(&["sandbox", "explain", "--session", "third", "--json"]).await)
            .unwrap();
    assert_eq!(told["creel"]["pool"]["draws"], true);
    assert_eq!(told["creel"]["pool"]["keeper"], keeper);
    assert_eq!(told["creel"]["sources"]["pool.size"]["key"], "agents.defaults.sandbox.pool.size");
    // A second one ends at once, and says why.
    let done = home.creel(&["keeper"]).output().await.unwrap();
    let words = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success() && words.contains(&format!("process {keeper} keeps")), "{words}");
    kill("-TERM", keeper).await;
    until("the end of the keeper", async || process(&home).is_none()).await;
    let left = home.list().await;
    assert!(left.iter().all(|row| row.pool.is_none()) && left.len() == 2, "{left:?}");
    home.ok(&["sandbox", "stop", "--all"]).await;
    home.assert_nothing_leaks().await;
}

#[tokio::test]
async fn what_a_killed_one_leaves_is_adopted() {
    let home = Home::new(2, "", "").await;
    home.ok(&["exec", "--session", "first", "--", "true"]).await;
    until("a keeper", async || process(&home).is_some()).await;
    let before = filled(&home, 2).await;
    let first = process(&home).unwrap();
    kill("-KILL", first).await;
    until("its end", async || process(&home).is_none()).await;
    // Claimed without a keeper; which is then started again and keeps the other one.
    home.ok(&["exec", "--session", "second", "--", "true"]).await;
    until("another keeper", async || process(&home).is_some_and(|process| process != first)).await;
    let after = filled(&home, 2).await;
    assert_eq!(after.iter().filter(|id| before.contains(id)).count(), 1, "{before:?} {after:?}");
    home.ok(&["sandbox", "stop", "--all"]).await;
    until("its end", async || process(&home).is_none()).await;
    home.assert_nothing_leaks().await;
}

#[tokio::test]
async fn ends_when_nobody_wants_a_pool() {
    let home = Home::new(1, "", "").await;
    home.open("first").await;
    let done = home.creel(&["keeper", "--idle", "2"]).output().await.unwrap();
    let words = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success() && words.contains("no pool is wanted"), "{words}");
    assert_eq!(home.waiting(), []);
    assert_eq!(home.list().await.len(), 1, "the session's own stays");
    home.assert_nothing_leaks().await;
}

#[tokio::test]
async fn without_a_pool_there_is_no_keeper() {
    let home = Home::new(0, "", "").await;
    home.ok(&["exec", "--session", "first", "--", "true"]).await;
    assert_eq!(holder(home.sandboxes.layout()), None);
    assert!(!home.state().join("creel/keeper.log").exists());
    home.assert_nothing_leaks().await;
}
