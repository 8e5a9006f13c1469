//! Who is removed without being asked for, when, and by whose settings.

use std::io::Read as _;
use std::time::Duration;

use pretty_assertions::assert_eq;

use crate::home::{Home, age, docker};

const OWNERS: &str = "{ agents: { defaults: { sandbox: { docker: { image: 'IMAGE' } } }, list: [
    { id: 'main' },
    { id: 'short', sandbox: { prune: { idleHours: 2 } } },
    { id: 'never', sandbox: { prune: { idleHours: 0, maxAgeDays: 0 } } } ] } }";

fn owners(home: &Home) -> Vec<String> {
    let mut all: Vec<String> = home
        .containers()
        .iter()
        .map(|one| one["sessionKey"].as_str().unwrap().split(':').nth(1).unwrap().to_owned())
        .collect();
    all.sort();
    all
}

fn use_by(home: &Home, agent: &str) {
    home.ok(&["exec", "--agent", agent, "--", "true"]);
}

fn cool_all(home: &Home, hours: u64) {
    for one in home.containers() {
        home.cool(&one, hours);
    }
}

#[test]
fn each_is_judged_by_its_owner_as_configured_now() {
    let home = Home::with(OWNERS);
    for agent in ["main", "short", "never"] {
        use_by(&home, agent);
    }
    cool_all(&home, 3);
    let plan = home.json(&["sandbox", "prune", "--dry-run", "--json"]);
    let removed = plan["runtimes"].as_array().unwrap().iter().filter(|row| row["action"] == "remove");
    assert_eq!(removed.count(), 1, "{plan}");
    home.ok(&["sandbox", "prune"]);
    assert_eq!(owners(&home), ["main", "never"]);
    // The setting is no part of what was made: it holds for what is there already.
    home.configure(&OWNERS.replace("{ id: 'main' }", "{ id: 'main', sandbox: { prune: { idleHours: 3 } } }"));
    assert_eq!(home.containers()[0]["hashMatch"], true);
    home.ok(&["sandbox", "prune"]);
    assert_eq!(owners(&home), ["never"]);
    cool_all(&home, 24 * 365);
    home.ok(&["sandbox", "prune"]);
    assert_eq!(owners(&home), ["never"]);
}

#[test]
fn an_opening_prunes_and_seldom() {
    let home = Home::with(OWNERS);
    let mark = home.state().join("creel/mark/pruned");
    use_by(&home, "short");
    cool_all(&home, 3);
    use_by(&home, "main");
    assert_eq!(owners(&home), ["main", "short"], "not again within five minutes");
    age(&mark, Duration::from_secs(301));
    use_by(&home, "never");
    assert_eq!(owners(&home), ["main", "never", "short"], "an agent that never prunes");
    use_by(&home, "main");
    assert_eq!(owners(&home), ["main", "never"]);
}

#[test]
fn a_replaced_container_begins_anew() {
    let home = Home::new();
    home.sh("true");
    let first = home.only();
    docker(&["kill", first["containerName"].as_str().unwrap()]);
    home.sh("true");
    let second = home.only();
    assert_eq!(first["containerName"], second["containerName"]);
    assert!(first["id"] != second["id"] && first["createdAtMs"].as_u64() < second["createdAtMs"].as_u64());
}

/// Its creel was killed, its command has half a minute: nobody but force takes the sandbox away from it.
#[test]
fn a_command_without_its_creel_keeps_its_sandbox() {
    let home = Home::new();
    let mut child = home.creel(&["exec", "--", "echo up; sleep 1000"]).spawn().unwrap();
    let mut word = [0; 3];
    child.stdout.as_mut().unwrap().read_exact(&mut word).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let one = home.only();
    assert_eq!((one["leases"].as_u64(), one["commands"].as_u64()), (Some(0), Some(1)), "{one}");
    assert!(home.ok(&["sandbox", "list"]).contains("it runs 1 command whose creel is gone"));
    home.run(&["sandbox", "stop", "--all"]).refused("CRL-SANDBOX-030", &["1 command", "--force"]);
    home.cool(&one, 1000);
    assert_eq!(home.json(&["sandbox", "prune", "--json"])["removed"], 0);
    let plan = home.json(&["sandbox", "recreate", "--all", "--dry-run", "--json"]);
    assert_eq!(plan["runtimes"][0]["action"], "keep", "{plan}");
    home.ok(&["sandbox", "stop", "--all", "--force"]);
    assert_eq!(home.containers().len(), 0);
}
