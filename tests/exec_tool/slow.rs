//! A sandbox that does not answer.

use std::time::{Duration, Instant};

use creel::host_tool::host_tool;
use creel::process::record::Place;
use serde_json::json;

use super::lab::Lab;

/// The container of the lab's sandbox, which stands still until this goes.
struct Paused(String);

impl Paused {
    async fn new(lab: &Lab) -> Self {
        lab.exec(json!({"command": "sleep 1000", "background": true})).await.unwrap();
        let views = lab.tools.sessions.views();
        let Place::Sandbox { container, .. } = &views[0].begin.place else { panic!("{views:?}") };
        assert!(host_tool("docker").args(["pause", container]).status().await.unwrap().success());
        Self(container.clone())
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        let mut unpause = std::process::Command::new("docker");
        let _ = unpause.args(["unpause", &self.0]).status();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_covers_a_slow_start_and_the_window_begins_after_it() {
    let lab = Lab::sandboxed("").await;
    let paused = Paused::new(&lab).await;
    let before = Instant::now();
    let result = lab.exec(json!({"command": "echo late", "timeoutSeconds": 7, "yieldMs": 10})).await.unwrap();
    let details = &result.details;
    assert_eq!((&details["status"], &details["timedOut"]), (&json!("failed"), &json!(true)), "{details:#}");
    assert_eq!(details["exitReason"], "overall-timeout");
    assert!(result.text().starts_with("Command timed out after 7 seconds."), "{}", result.text());
    let took = before.elapsed();
    assert!((Duration::from_secs(7)..Duration::from_secs(12)).contains(&took), "{took:?}");
    assert_eq!(lab.tools.sessions.views().len(), 1, "it is not shown any more");
    drop(paused);
}
