//! `container-args.json`: what a container ends up with, not how a client is told.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::time::Duration;

use creel::client::Preview;
use creel::engine::{Tmpfs, Ulimit};
use creel::{Sandbox, config};
use serde_json::{Value, json};

use super::fixture::Fixture;
use crate::harness::{Area, Case, Difference, Direction, Facet, Facts, Judgement, Rule};

/// The area.
#[derive(Debug, Default)]
pub(crate) struct ContainerArgs {
    fixture: OnceCell<Fixture>,
}

impl Area for ContainerArgs {
    fn name(&self) -> &'static str {
        "container-args"
    }

    fn judge(&self, case: &Case<'_>) -> Judgement {
        let fixture = self.fixture.get_or_init(|| Fixture::new(case.file));
        let (input, expect) = (fixture.fill(case.input), fill(fixture, case.expect, case.input));
        let verdict = |creel: Value, kind| {
            Judgement::Facets(vec![Facet {
                part: "verdict".to_owned(),
                upstream: case.expect["accepted"].clone(),
                creel,
                kind,
            }])
        };
        match (expect["accepted"] == true, preview(fixture, &input)) {
            (false, Err(_)) => Judgement::Facets(Vec::new()),
            (false, Ok(_)) => verdict(json!("accepted"), Difference::Looser),
            (true, Err(error)) => verdict(json!(error), Difference::Stricter),
            (true, Ok(preview)) => Judgement::Facets(compare(&upstream(&expect), &creel(&preview))),
        }
    }

    fn rules(&self) -> &'static [Rule] {
        RULES
    }
}

/// What creel would make, or the code and text of its refusal.
fn preview(fixture: &Fixture, input: &Value) -> Result<Preview, String> {
    let home = fixture.root().join("home/user");
    let agent = input["agentId"].as_str().unwrap();
    let mut config = input["config"].clone();
    // The recordings give the agent's workspace beside the configuration.
    let block = if config["agents"]["entries"].is_object() {
        &mut config["agents"]["entries"][agent]
    } else {
        &mut config["agents"]["defaults"]
    };
    block["workspace"] = input["workspaceDir"].clone();
    if input["engine"] == "podman" {
        config["agents"]["defaults"]["sandbox"]["backend"] = json!("podman");
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("openclaw.json");
    std::fs::write(&file, config.to_string()).unwrap();
    let home_text = home.display().to_string();
    Sandbox::options()
        .config(&file)
        .state(home.join(".openclaw"))
        .agent(agent)
        .session(input["sessionKey"].as_str().unwrap())
        .vars(move |name| (name == "HOME").then(|| home_text.clone()))
        .preview()
        .map_err(|failure| failure.0.message)
}

/// Placeholders of the verdict: the scope key and the name that follow from the workspace.
fn fill(fixture: &Fixture, expect: &Value, input: &Value) -> Value {
    let mut expect = fixture.fill(expect);
    let workspace = fixture.fill(&input["workspaceDir"]);
    let digest = creel::session::digest(workspace.as_str().unwrap());
    let scope = expect["scopeKey"].as_str().unwrap_or_default().replace("${WSHASH}", &digest);
    let slug = creel::session::slug(&scope);
    let name = expect["containerNameTemplate"].as_str().unwrap_or_default().replace("${SLUG}", &slug);
    let text = expect.to_string().replace("${WSHASH}", &digest).replace("${SLUG}", &slug);
    expect = serde_json::from_str(&text).unwrap();
    expect["name"] = json!(name);
    expect
}

/// Parts of a container, comparable.
type Parts = BTreeMap<String, Value>;

/// What the recorded arguments ask for.
fn upstream(expect: &Value) -> Parts {
    let words: Vec<&str> =
        expect["create"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let (words, tail) = words[1..].split_at(words.len() - 4);
    let mut parts = Parts::from([
        ("name".to_owned(), expect["name"].clone()),
        ("image".to_owned(), json!(tail[0])),
        ("command".to_owned(), json!(tail[1..])),
        ("init".to_owned(), json!("engine's")),
        ("readOnlyRoot".to_owned(), json!(false)),
        ("noNewPrivileges".to_owned(), json!(false)),
    ]);
    let mut lists: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match *word {
            "--read-only" => _ = parts.insert("readOnlyRoot".to_owned(), json!(true)),
            // An init of the engine's own; and how Podman's client is kept from adding what was not asked for.
            "--init" | "--http-proxy=false" | "--read-only-tmpfs=true" => {}
            flag => lists.entry(flag).or_default().push(rest.next().unwrap()),
        }
    }
    let mut put = |name: &str, value: Value| _ = parts.insert(name.to_owned(), value);
    for (flag, values) in lists {
        match flag {
            "--name" | "--label" | "--env-file" => {}
            "--tmpfs" => values.iter().for_each(|value| {
                let (target, options) = value.split_once(':').unwrap_or((value, ""));
                put(&format!("tmpfs {target}"), json!(options));
            }),
            "--network" => put("network", json!(values[0])),
            "--user" => put("user", json!(values[0])),
            "--cap-drop" => put("capDrop", json!(values)),
            "--security-opt" => values.iter().for_each(|value| match value.split_once('=') {
                Some((name, text)) => put(name, json!(text)),
                None => put("noNewPrivileges", json!(*value == "no-new-privileges")),
            }),
            "--dns" => put("dns", json!(values)),
            "--add-host" => put("extraHosts", json!(values)),
            "--pids-limit" => put("pids", json!(values[0].parse::<u64>().unwrap())),
            "--memory" => put("memory", json!(config::size::parse(values[0]))),
            "--memory-swap" => put("memorySwap", json!(config::size::parse(values[0]))),
            "--cpus" => put("cpus", json!(values[0].parse::<f64>().unwrap())),
            "--gpus" => put("gpus", json!(values[0])),
            "--ulimit" => values.iter().for_each(|value| {
                let (name, limit) = value.split_once('=').unwrap();
                let (soft, hard) = limit.split_once(':').unwrap_or((limit, limit));
                put(&format!("ulimit {name}"), json!(format!("{soft}:{hard}")));
            }),
            "--workdir" => put("workdir", json!(values[0])),
            "-v" => values.iter().for_each(|value| {
                let mut split = value.split(':');
                let (source, target) = (split.next().unwrap(), split.next().unwrap_or_default());
                let read_only = split.next().unwrap_or_default().split(',').any(|option| option == "ro");
                put(
                    &format!("mount {target}"),
                    json!(format!("{source}:{}", if read_only { "ro" } else { "rw" })),
                );
            }),
            other => panic!("{other} is not read yet"),
        }
    }
    for line in expect["envFile"].as_str().unwrap().lines() {
        let (name, value) = line.split_once('=').unwrap();
        put(&format!("env {name}"), json!(value));
    }
    parts
}

/// What creel asks for. Variables of commands and of PID 1 count together: a command sees both.
fn creel(preview: &Preview) -> Parts {
    let spec = &preview.spec;
    let mut parts = Parts::from([
        ("name".to_owned(), json!(spec.name)),
        ("image".to_owned(), json!(spec.image)),
        ("command".to_owned(), json!("creel-init")),
        ("init".to_owned(), json!("creel-init")),
        ("readOnlyRoot".to_owned(), json!(spec.read_only_root)),
        // The builder of every container sets it; no field can leave it out.
        ("noNewPrivileges".to_owned(), json!(true)),
        ("network".to_owned(), json!(spec.network)),
        ("capDrop".to_owned(), json!(spec.cap_drop)),
        ("workdir".to_owned(), json!(spec.workdir)),
    ]);
    let mut put = |name: &str, value: Value| _ = parts.insert(name.to_owned(), value);
    let limits = &spec.limits;
    let cpus = limits.nano_cpus.map(|nano| json!(Duration::from_nanos(nano).as_secs_f64()));
    for (name, value) in [
        ("user", spec.user.as_ref().map(|user| json!(user))),
        ("seccomp", spec.seccomp.as_ref().map(|text| json!(text))),
        ("apparmor", spec.apparmor.as_ref().map(|name| json!(name))),
        ("gpus", spec.gpus.as_ref().map(|gpus| json!(gpus))),
        ("dns", (!spec.dns.is_empty()).then(|| json!(spec.dns))),
        ("extraHosts", (!spec.extra_hosts.is_empty()).then(|| json!(spec.extra_hosts))),
        ("pids", limits.pids.map(|pids| json!(pids))),
        ("memory", limits.memory.map(|bytes| json!(bytes))),
        ("memorySwap", limits.memory_swap.map(|bytes| json!(bytes))),
        ("cpus", cpus),
    ] {
        if let Some(value) = value {
            put(name, value);
        }
    }
    for Ulimit { name, soft, hard } in &limits.ulimits {
        put(&format!("ulimit {name}"), json!(format!("{soft}:{hard}")));
    }
    for Tmpfs { target, options } in &spec.tmpfs {
        put(&format!("tmpfs {target}"), json!(options));
    }
    for mount in &spec.mounts {
        let mode = if mount.read_only { "ro" } else { "rw" };
        put(&format!("mount {}", mount.target), json!(format!("{}:{mode}", mount.source)));
    }
    for (name, value) in preview.env.iter().chain(&spec.env) {
        put(&format!("env {name}"), json!(value));
    }
    parts
}

/// One facet for each part that differs.
fn compare(upstream: &Parts, creel: &Parts) -> Vec<Facet> {
    let names: std::collections::BTreeSet<&String> = upstream.keys().chain(creel.keys()).collect();
    let of = |parts: &Parts, name: &String| parts.get(name).cloned().unwrap_or_default();
    names
        .into_iter()
        .filter(|name| upstream.get(*name) != creel.get(*name))
        .map(|name| Facet {
            part: name.clone(),
            upstream: of(upstream, name),
            creel: of(creel, name),
            kind: Difference::Other,
        })
        .collect()
}

macro_rules! rule {
    ($name:literal, $direction:ident, $applies:expr) => {
        Rule { name: $name, direction: Direction::$direction, applies: $applies }
    };
}

const RULES: &[Rule] = &[
    rule!("container-name", Other, |facts| {
        let (upstream, creel) =
            (facts.upstream.as_str().unwrap_or_default(), facts.creel.as_str().unwrap_or_default());
        let podman = upstream.replacen("podman-", "", 1);
        // Long names are cut with a digest, so that the installation fits behind them.
        let start = creel.rsplit_once('-').map_or(creel, |(start, _)| start);
        facts.part == "name" && (start == upstream || start == podman || upstream.len() > 56)
    }),
    rule!("container-init", Other, |facts| matches!(facts.part, "command" | "init" | "mount /.creel/init")),
    rule!("container-home", Other, |facts| facts.part == "tmpfs /home/creel" && facts.upstream.is_null()),
    rule!("container-user", Other, |facts| facts.part == "user" && facts.upstream.is_null()),
    rule!("container-pids", Other, |facts| {
        facts.part == "pids" && facts.upstream.is_null() && facts.creel == creel::sandbox::DEFAULT_PIDS
    }),
    rule!("container-tmpfs-options", Other, |facts| {
        // What is configured holds; options or a size are added where it says nothing.
        let (upstream, creel) = (facts.upstream.as_str(), facts.creel.as_str().unwrap_or_default());
        facts.part.starts_with("tmpfs ")
            && upstream.is_some_and(|upstream| {
                let added = creel.strip_prefix(upstream).unwrap_or_default();
                added.contains("size=") && !upstream.contains("size=")
            })
    }),
    rule!("container-podman-run", Other, |facts| {
        facts.part == "tmpfs /run" && facts.upstream.is_null() && facts.input["engine"] == "podman"
    }),
    rule!("container-seccomp-text", Other, |facts| {
        let file =
            facts.input["config"]["agents"]["defaults"]["sandbox"]["docker"]["seccompProfile"].as_str();
        facts.part == "seccomp" && file.is_some() && facts.creel == "{}"
    }),
    rule!("container-skills-way", Other, |facts| {
        // The workspace's own directory at its own place, as writable as the workspace.
        let rest = facts.part.strip_prefix("mount /workspace/");
        let ways = [".agents", ".openclaw", ".openclaw/sandbox-skills"];
        let own =
            |way: &str| facts.creel.as_str().is_some_and(|creel| creel.ends_with(&format!("/{way}:rw")));
        facts.upstream.is_null() && rest.is_some_and(|way| ways.contains(&way) && own(way))
    }),
    rule!("shared-workspace", Other, |facts| {
        let (upstream, creel) =
            (facts.upstream.as_str().unwrap_or_default(), facts.creel.as_str().unwrap_or_default());
        facts.part.starts_with("mount ") && creel == upstream.replacen(':', "/shared:", 1)
    }),
    rule!("bind-target-missing", Stricter, |facts| {
        docker(facts)["binds"]
            .as_array()
            .is_some_and(|binds| binds.iter().any(|bind| !bind.as_str().unwrap().contains(':')))
    }),
    rule!("workdir-root", Stricter, |facts| docker(facts)["workdir"] == "/"),
    rule!("network-empty", Stricter, |facts| docker(facts)["network"] == ""),
    rule!("cap-drop-empty", Stricter, |facts| {
        let agent = &facts.input["config"]["agents"]["entries"]["ops"]["sandbox"]["docker"];
        docker(facts)["capDrop"] == json!([]) || agent["capDrop"] == json!([])
    }),
    rule!("env-nul", Stricter, |facts| {
        let env = docker(facts)["env"].as_object().cloned().unwrap_or_default();
        env.values().any(|value| value.as_str().is_some_and(|text| text.contains('\0')))
    }),
    rule!("limit-not-positive", Stricter, |facts| {
        docker(facts)["pidsLimit"].as_i64().is_some_and(|limit| limit < 1)
    }),
    rule!("limit-blank", Stricter, |facts| {
        docker(facts)["memory"].as_str().is_some_and(|memory| memory.trim().is_empty())
    }),
    rule!("ulimit-unknown", Stricter, |facts| {
        let known = ["nofile", "nproc", "core", "fsize"];
        docker(facts)["ulimits"]
            .as_object()
            .is_some_and(|all| all.keys().any(|name| !known.contains(&name.as_str())))
    }),
    rule!("dns-blank", Stricter, |facts| {
        docker(facts)["dns"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one.as_str().unwrap().trim().is_empty()))
    }),
];

fn docker<'a>(facts: &Facts<'a>) -> &'a Value {
    &facts.input["config"]["agents"]["defaults"]["sandbox"]["docker"]
}
