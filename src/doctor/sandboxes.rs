//! Checks of the containers that are there, and of what is left of those that are not. Pure.

use super::configuration;
use super::facts::Facts;
use super::finding::{Finding, Repair};
use crate::sandbox::Listed;

pub(super) fn checks(facts: &Facts) -> Vec<Finding> {
    let Some(listed) = &facts.sandboxes else { return Vec::new() };
    let agents: Option<Vec<String>> = facts
        .config
        .config
        .as_ref()
        .ok()
        .map(|config| configuration::agents(config).iter().map(ToString::to_string).collect());
    let mut all: Vec<Finding> = listed.iter().flat_map(|one| container(one, agents.as_deref())).collect();
    for (name, agent, drift) in &facts.drift {
        let what =
            format!("sandbox {name} (agent {agent}) is older than the configuration: {}", drift.join("; "));
        all.push(
            Finding::warning("sandbox.drifted", what)
                .rule("built-in: a sandbox in use is not replaced")
                .fix(format!("creel sandbox stop {name}; the next command makes it anew")),
        );
    }
    if !facts.stale_runs.is_empty() {
        let what = format!("{} rendezvous directories belong to no container", facts.stale_runs.len());
        all.push(
            Finding::warning("state.stale-runs", what)
                .rule("built-in: a rendezvous lives as long as its container")
                .fix("creel sandbox prune")
                .repair(Repair::StaleRuns),
        );
    }
    if all.is_empty() {
        all.push(Finding::ok("sandbox.all", format!("{} sandboxes, all as recorded", listed.len())));
    }
    all
}

fn container(one: &Listed, agents: Option<&[String]>) -> Vec<Finding> {
    let mut all = Vec::new();
    let name = &one.name;
    if let Some(why) = &one.not_made {
        let what = format!("container {name} carries this installation's label, but is {why}");
        let fix = format!("remove {name} with the engine's own client, unless somebody needs it");
        let finding = Finding::warning("sandbox.foreign", what);
        return vec![finding.rule("built-in: foreign containers are never adopted").fix(fix)];
    }
    if is_broken(one) {
        let why = if one.running { "never became ready".to_owned() } else { format!("is {}", one.status) };
        all.push(
            Finding::warning("sandbox.broken", format!("sandbox {name} {why}"))
                .rule("built-in: a sandbox is proven before it is used, and never started again")
                .fix(format!("creel sandbox stop {name}"))
                .repair(Repair::BrokenSandboxes),
        );
    }
    if one.image_match == Some(false) {
        all.push(
            Finding::warning(
                "sandbox.image-older",
                format!("sandbox {name} was made from an older {}", one.image),
            )
            .rule("agents.defaults.sandbox.docker.image")
            .fix(format!("creel sandbox stop {name}; the next command makes it anew")),
        );
    }
    let owner = one.session_key.strip_prefix("agent:").and_then(|rest| rest.split(':').next());
    if let (Some(owner), Some(agents)) = (owner, agents)
        && !agents.iter().any(|agent| agent == owner)
    {
        all.push(
            Finding::warning(
                "sandbox.orphaned",
                format!("sandbox {name} belongs to agent {owner}, which is not configured"),
            )
            .rule("agents.entries")
            .fix(format!("creel sandbox stop {name}")),
        );
    }
    all
}

/// Nobody uses it and nobody can.
pub(super) fn is_broken(one: &Listed) -> bool {
    one.not_made.is_none() && one.use_now().is_none() && (!one.running || !one.proven)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed() -> Listed {
        Listed {
            id: "0".repeat(64),
            name: "sbx".to_owned(),
            session_key: "agent:main".to_owned(),
            image: "i".to_owned(),
            image_id: "sha256:0".to_owned(),
            image_match: Some(true),
            running: true,
            status: "running".to_owned(),
            proven: true,
            created_at_ms: 1,
            last_used_at_ms: None,
            config_hash: String::new(),
            idle_limit_s: 0,
            max_age_s: 0,
            leases: 0,
            commands: None,
            image_now: None,
            pool: None,
            not_made: None,
        }
    }

    #[test]
    fn each_check_has_its_case() {
        let agents = ["main".to_owned()];
        let ids = |one: &Listed| -> Vec<&str> {
            container(one, Some(&agents)).iter().map(|finding| finding.id).collect()
        };
        assert!(ids(&listed()).is_empty());
        let dead = Listed { running: false, status: "exited".to_owned(), ..listed() };
        assert_eq!(ids(&dead), ["sandbox.broken"]);
        assert!(ids(&Listed { leases: 1, ..dead }).is_empty(), "somebody is making it, or using it");
        assert_eq!(ids(&Listed { proven: false, ..listed() }), ["sandbox.broken"]);
        assert_eq!(ids(&Listed { image_match: Some(false), ..listed() }), ["sandbox.image-older"]);
        assert_eq!(ids(&Listed { session_key: "agent:gone:x".to_owned(), ..listed() }), ["sandbox.orphaned"]);
        assert!(ids(&Listed { session_key: "shared".to_owned(), ..listed() }).is_empty());
        let paused = Listed { running: false, status: "paused".to_owned(), ..listed() };
        assert!(ids(&paused).is_empty());
        let other =
            Listed { not_made: Some("…".to_owned()), proven: false, image: String::new(), ..listed() };
        assert_eq!(ids(&other), ["sandbox.foreign"]);
        assert!(!is_broken(&other), "nothing that --fix may remove");
    }
}
