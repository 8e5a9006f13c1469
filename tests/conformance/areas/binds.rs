//! `binds.json`: bind specifications, networks, profiles, environment of the sandbox.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use creel::config::env::{self, Blocked, Oddity, Sifted};
use creel::config::network::{Refused, check_network, check_profile};
use creel::paths::deny::Meets;
use creel::paths::{
    BindError, BindPolicy, BindRefusal, BindSyntax, DenyEnv, DenyList, lexical, select, validate,
};
use serde_json::{Value, json};

use super::fixture::Fixture;
use super::host_env;
use crate::harness::{Area, Case, Difference, Direction, Facts, Judgement, Rule};

/// The area.
#[derive(Debug, Default)]
pub(crate) struct Binds {
    fixture: OnceCell<Fixture>,
}

impl Area for Binds {
    fn name(&self) -> &'static str {
        "binds"
    }

    fn judge(&self, case: &Case<'_>) -> Judgement {
        match case.kind {
            "bind" => {
                let fixture = self.fixture.get_or_init(|| Fixture::new(case.file));
                bind(fixture, &fixture.fill(case.input), &fixture.fill(case.expect))
            }
            "network" => {
                let join = case.input["dangerouslyAllowContainerNamespaceJoin"] == json!(true);
                optional(&case.input["network"], case.expect, "network", |mode| check_network(mode, join))
            }
            "seccomp" => optional(&case.input["seccompProfile"], case.expect, "seccomp", check_profile),
            "apparmor" => optional(&case.input["apparmorProfile"], case.expect, "apparmor", check_profile),
            "sandboxEnv" => sandbox_env(case.input, case.expect),
            "sandboxEnvLong" => sandbox_env_long(case.input, case.expect),
            "hostExecEnv" => host_env::judge(case.input, case.expect),
            _ => Judgement::NotCovered,
        }
    }

    fn rules(&self) -> &'static [Rule] {
        RULES
    }
}

macro_rules! stricter {
    // creel's verdict names the rule, and the input shows by itself that the rule is about it.
    ($name:literal, $applies:expr) => {
        Rule {
            name: $name,
            direction: Direction::Stricter,
            applies: |facts| facts.creel["rule"] == $name && $applies(facts),
        }
    };
}

const RULES: &[Rule] = &[
    stricter!("bind-blank", |facts: &Facts<'_>| any_bind(facts, |text| text.trim().is_empty())),
    Rule {
        name: "bind-drive-letter",
        direction: Direction::Stricter,
        applies: |facts| facts.creel["rule"] == "bind-source-absolute" && any_bind(facts, drive_letter),
    },
    stricter!("bind-target-missing", |facts: &Facts<'_>| any_bind(facts, |text| target(text).is_empty())),
    stricter!("bind-target-absolute", |facts: &Facts<'_>| any_bind(facts, |text| !target(text)
        .starts_with('/'))),
    stricter!("bind-target-root", |facts: &Facts<'_>| {
        any_bind(facts, |text| lexical::clean(target(text)) == Path::new("/"))
    }),
    stricter!("bind-unreadable-path", |facts: &Facts<'_>| any_bind(facts, |text| {
        text.split(':').any(|part| part.trim() != part || part.contains(char::is_control))
    })),
    stricter!("bind-option", |facts: &Facts<'_>| any_bind(facts, |text| {
        let options = text.splitn(3, ':').nth(2).unwrap_or_default().to_lowercase();
        options.split(',').any(|option| !["", "ro", "rw", "z"].contains(&option.trim()))
    })),
    stricter!("bind-unresolvable", |facts: &Facts<'_>| facts.creel["dangling"] == json!(true)),
    stricter!("bind-kernel-target", |facts: &Facts<'_>| {
        any_bind(facts, |text| ["/proc", "/sys", "/dev"].iter().any(|path| target(text).starts_with(path)))
    }),
    stricter!("bind-system-target", |facts: &Facts<'_>| {
        let system = ["/etc", "/bin", "/sbin", "/usr", "/lib", "/lib32", "/lib64", "/libx32"];
        any_bind(facts, |text| system.iter().any(|path| lexical::clean(target(text)).starts_with(path)))
    }),
    stricter!("bind-denied-engine-storage", meets_blocked),
    stricter!("bind-denied-host-programs", meets_blocked),
    stricter!("bind-denied-homes", meets_blocked),
    stricter!("bind-denied-home-credentials", meets_blocked),
    stricter!("bind-denied-home-startup", meets_blocked),
    stricter!("bind-denied-state", meets_blocked),
    Rule {
        name: "bind-no-roots",
        direction: Direction::Stricter,
        applies: |facts| {
            let absolute = |root: &str| root.starts_with("${ROOT}") || root.starts_with('/');
            facts.creel["rule"] == "bind-outside-roots"
                && facts.input["allowedSourceRoots"].is_array()
                && !texts(facts.input, "allowedSourceRoots").any(absolute)
        },
    },
    stricter!("network-namespace-path", |facts: &Facts<'_>| {
        facts.input["network"].as_str().is_some_and(|mode| mode.trim().starts_with("ns:"))
    }),
    stricter!("network-empty", |facts: &Facts<'_>| {
        facts.input["network"].as_str().is_some_and(|mode| mode.trim().is_empty())
    }),
    Rule {
        name: "env-secret-names",
        direction: Direction::Stricter,
        applies: |facts| {
            facts.kind == "sandboxEnv"
                && facts.creel["more"] == json!(true)
                && facts.upstream["explicit"]["allowed"] == facts.creel["explicit"]["allowed"]
        },
    },
    host_env::RULE,
];

fn any_bind(facts: &Facts<'_>, shows: impl Fn(&str) -> bool) -> bool {
    texts(facts.input, "binds").any(shows)
}

/// What stands between the first colon and the second.
fn target(text: &str) -> &str {
    text.split(':').nth(1).unwrap_or_default()
}

/// Whether the path that creel names lies above or below what upstream says the source is.
fn meets_blocked(facts: &Facts<'_>) -> bool {
    let blocked = Path::new(facts.creel["blockedPath"].as_str().unwrap_or_default()).to_owned();
    ["normalizedSource", "canonicalSource"].iter().any(|name| {
        let source = Path::new(facts.creel[*name].as_str().unwrap_or_default());
        blocked.is_absolute() && (source.starts_with(&blocked) || blocked.starts_with(source))
    })
}

fn texts<'a>(input: &'a Value, name: &str) -> impl Iterator<Item = &'a str> {
    input[name].as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn drive_letter(text: &str) -> bool {
    let mut chars = text.chars();
    let letter = chars.next().is_some_and(|c| c.is_ascii_alphabetic());
    letter && chars.next() == Some(':') && matches!(chars.next(), Some('/' | '\\'))
}

/// One list of binds, judged one after another as upstream does.
fn bind(fixture: &Fixture, input: &Value, expect: &Value) -> Judgement {
    let policy = policy(fixture, input);
    let mut valid = Vec::new();
    for text in texts(input, "binds") {
        match validate(text, "binds", &policy) {
            Ok(bind) => valid.push(bind),
            Err(error) => {
                let mut creel = refused(&error);
                // Shown to the rules with the placeholders filled in.
                creel["normalizedSource"] = expect["normalizedSource"].clone();
                creel["canonicalSource"] = expect["canonicalSource"].clone();
                creel["dangling"] = json!(dangling(text));
                return compare(expect, creel);
            }
        }
    }
    let canonical = valid.last().map(|bind| bind.source_resolved.clone());
    let mounts: Vec<Value> = select::select(valid, &[])
        .binds
        .iter()
        .map(
            |bind| json!({"host": bind.source_written, "container": bind.target, "readOnly": bind.read_only}),
        )
        .collect();
    compare(expect, json!({"accepted": true, "mounts": mounts, "canonicalSource": canonical}))
}

/// Whether a link on the way to the source leads to nothing; asked of the file system, not of creel.
fn dangling(text: &str) -> bool {
    let source = Path::new(text.split(':').next().unwrap_or_default());
    source.ancestors().any(|path| path.is_symlink() && std::fs::metadata(path).is_err())
}

fn policy(fixture: &Fixture, input: &Value) -> BindPolicy {
    let home = fixture.root().join("home/user");
    let var = |name: &str| match input["env"][name].as_str() {
        Some(value) => Some(value.to_owned()),
        None => (name == "HOME").then(|| home.display().to_string()),
    };
    let deny = DenyList::new(&DenyEnv::from_vars(var, &home.join(".openclaw")));
    let roots: Vec<PathBuf> = texts(input, "allowedSourceRoots").map(PathBuf::from).collect();
    // `null` in the vectors is a call that asks for no check of roots; creel has no such call but the flag.
    let unchecked = input["allowedSourceRoots"].is_null();
    BindPolicy::new(deny, &roots)
        .allow_external(unchecked || input["allowSourcesOutsideAllowedRoots"] == json!(true))
        .allow_reserved(input["allowReservedContainerTargets"] == json!(true))
}

/// A refusal in upstream's words where it has one, with creel's rule beside it.
fn refused(error: &BindError) -> Value {
    let judged = error.judged.as_ref().map(|path| path.display().to_string());
    let mut verdict = match &*error.refusal {
        BindRefusal::Syntax(BindSyntax::NotAbsolute(_)) => json!({"reason": "non_absolute"}),
        BindRefusal::Denied(hit) => {
            let reason = if hit.meets == Meets::Targets { "targets_blocked" } else { "covers_blocked" };
            json!({"reason": reason, "blockedPath": hit.blocked})
        }
        BindRefusal::Reserved { reserved, .. } => json!({"reason": "reserved_target", "reserved": reserved}),
        BindRefusal::OutsideRoots(_) => json!({"reason": "outside_allowed_roots", "source": judged}),
        other => json!({"reason": other.rule()}),
    };
    verdict["accepted"] = json!(false);
    verdict["rule"] = json!(error.refusal.rule());
    verdict
}

fn compare(expect: &Value, creel: Value) -> Judgement {
    let accepted = |verdict: &Value| verdict["accepted"] == json!(true);
    let kind = match (accepted(expect), accepted(&creel)) {
        (false, true) => Difference::Looser,
        (true, false) => Difference::Stricter,
        (false, false) => {
            let same = |name: &str| expect[name] == creel[name];
            if ["reason", "blockedPath", "reserved", "source"].into_iter().all(same) {
                return Judgement::Equal;
            }
            Difference::Stricter
        }
        (true, true) => {
            if mounts(expect) == mounts(&creel) && expect["canonicalSource"] == creel["canonicalSource"] {
                return Judgement::Equal;
            }
            Difference::Other
        }
    };
    Judgement::Differs { creel, kind }
}

/// Mounts with their targets cleaned: creel stores them so.
fn mounts(verdict: &Value) -> Vec<(Value, String, Value)> {
    let clean = |mount: &Value| lexical::clean(Path::new(mount["container"].as_str().unwrap()));
    verdict["mounts"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|mount| (mount["host"].clone(), clean(mount).display().to_string(), mount["readOnly"].clone()))
        .collect()
}

/// A value that may be absent, and a check of it.
fn optional(
    value: &Value,
    expect: &Value,
    kind: &str,
    check: impl Fn(&str) -> Result<(), Refused>,
) -> Judgement {
    let Some(Err(refused)) = value.as_str().map(check) else {
        return compare(expect, json!({"accepted": true}));
    };
    let reason = match refused {
        Refused::HostNetwork => "network_host".to_owned(),
        Refused::Join => "network_container_join".to_owned(),
        Refused::Unconfined => format!("{kind}_unconfined"),
        other => other.rule().to_owned(),
    };
    compare(expect, json!({"accepted": false, "reason": reason, "rule": refused.rule()}))
}

fn sandbox_env(input: &Value, expect: &Value) -> Judgement {
    let vars = input["env"].as_object().unwrap();
    let vars = || vars.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap()));
    let inherited = env::inherited(vars(), input["strictMode"] == json!(true));
    let explicit = env::explicit(vars());
    let more = inherited.blocked.iter().any(|(_, why)| *why == Blocked::SecretNameMore);
    let creel = json!({"inherited": sifted(&inherited), "explicit": sifted(&explicit), "more": more});
    let same = |part: &str| sorts(&expect[part]) == creel[part];
    if same("inherited") && same("explicit") {
        return Judgement::Equal;
    }
    let fewer = |part: &str| {
        let allowed = expect[part]["allowed"].as_object().unwrap();
        creel[part]["allowed"]
            .as_object()
            .unwrap()
            .iter()
            .all(|(name, value)| allowed.get(name) == Some(value))
    };
    let kind =
        if fewer("inherited") && fewer("explicit") { Difference::Stricter } else { Difference::Looser };
    Judgement::Differs { creel, kind }
}

fn sandbox_env_long(input: &Value, expect: &Value) -> Judgement {
    let letter = input["char"].as_str().unwrap();
    let bytes = usize::try_from(input["valueBytes"].as_u64().unwrap()).unwrap();
    let value = letter.repeat(bytes / letter.len());
    let creel = sifted(&env::explicit([(input["name"].as_str().unwrap(), value.as_str())]));
    let names: Vec<&String> = creel["allowed"].as_object().unwrap().keys().collect();
    if json!(names) == expect["allowed"] && creel["warnings"] == sorts(expect)["warnings"] {
        return Judgement::Equal;
    }
    Judgement::Differs { creel, kind: Difference::Other }
}

fn sifted(sifted: &Sifted) -> Value {
    let allowed: serde_json::Map<String, Value> =
        sifted.allowed.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let blocked: Vec<&String> = sifted.blocked.iter().map(|(name, _)| name).collect();
    let warnings: Vec<String> = sifted
        .odd
        .iter()
        .map(|(name, oddity)| format!("{name} {}", if *oddity == Oddity::Base64 { "base64" } else { "long" }))
        .collect();
    json!({"allowed": allowed, "blocked": blocked, "warnings": warnings})
}

/// Upstream's sifting with its warnings cut to name and sort.
fn sorts(recorded: &Value) -> Value {
    let warnings: Vec<String> = texts(recorded, "warnings")
        .map(|text| {
            let (name, what) = text.split_once(": ").unwrap_or((text, ""));
            format!("{name} {}", if what.contains("base64") { "base64" } else { "long" })
        })
        .collect();
    json!({"allowed": recorded["allowed"], "blocked": recorded["blocked"], "warnings": warnings})
}
