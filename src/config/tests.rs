//! Whole configurations: merging, origins, and problems reported at once.

use super::*;
use crate::error::Diagnose as _;
use crate::session::Scope;

fn parse(text: &str) -> Result<Config, ConfigError> {
    let var = |name: &str| (name == "VEC_ROOT").then(|| "/srv/vec".to_owned());
    Config::parse(text, Path::new("/c/openclaw.json"), &var)
}

fn places() -> Places {
    Places { home: Some("/home/u".into()), state: "/home/u/.openclaw".into() }
}

fn sandbox(text: &str, agent: &str) -> ResolvedSandbox {
    parse(text).unwrap().sandbox(&AgentId::parse(agent).unwrap(), &places()).unwrap()
}

fn problems(text: &str) -> Vec<(String, String)> {
    match parse(text) {
        Err(ConfigError::Invalid { problems, .. }) => {
            problems.into_iter().map(|p| (p.key, format!("{} / {}", p.message, p.fix))).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn defaults() {
    let found = sandbox("{}", "main");
    assert_eq!((found.mode, found.scope, found.workspace_access), Default::default());
    assert_eq!(found.backend, "docker");
    assert_eq!(found.workspace_root, Path::new("/home/u/.openclaw/sandboxes"));
    assert_eq!(found.agent_workspace, Path::new("/home/u/.openclaw/workspace"));
    let docker = &found.docker;
    assert_eq!(docker.image, "openclaw-sandbox:bookworm-slim");
    assert_eq!((docker.container_prefix.as_str(), docker.workdir.as_str()), ("openclaw-sbx-", "/workspace"));
    assert_eq!((docker.network.as_str(), docker.read_only_root, docker.pids_limit), ("none", true, 1024));
    assert_eq!(docker.cap_drop, ["ALL"]);
    assert_eq!(
        docker.tmpfs.iter().map(|t| t.target.as_str()).collect::<Vec<_>>(),
        ["/tmp", "/var/tmp", "/run"]
    );
    assert_eq!(docker.env, BTreeMap::from([("LANG".to_owned(), "C.UTF-8".to_owned())]));
    assert_eq!(found.prune, Prune { idle_hours: Some(24), max_age_days: Some(7) });
    assert_eq!(found.key("docker.image"), None);
    let exec = parse("{}").unwrap().exec(&AgentId::main());
    assert_eq!((exec.timeout_s, exec.background_ms), (1800, 10_000));
}

use std::collections::BTreeMap;

const LAYERED: &str = r#"// two layers
{
  agents: {
    defaults: {
      workspace: "~/main",
      sandbox: {
        mode: "all",
        workspaceRoot: "${VEC_ROOT}/sbx",
        docker: {
          image: 'base:1', memory: "1g", memorySwap: -1, cpus: 1.5,
          binds: ["/srv/a:/a:ro"], env: { A: "1", B: "2" },
          ulimits: { nofile: "10:20", core: 0 },
          workdir: "/work/../w2/",
        },
        prune: { idleHours: 0 },
      },
    },
    entries: {
      ops: {
        workspace: "~/ops",
        sandbox: {
          mode: "non-main", workspaceAccess: "rw",
          docker: { image: "ops:2", binds: ["/srv/b:/b"], env: { B: "3" }, ulimits: { core: 1 } },
        },
        tools: { exec: { timeoutSeconds: 5, security: "deny" } },
      },
      two: { sandbox: { scope: "shared", docker: { image: "ignored" } } },
    },
  },
  tools: { exec: { timeoutSec: 60, mode: "ask", pathPrepend: ["~/bin"] } },
  somethingElse: { whatever: 1 },
}"#;

#[test]
fn the_agent_over_the_defaults() {
    let found = sandbox(LAYERED, "ops");
    assert_eq!((found.mode, found.workspace_access), (Mode::NonMain, WorkspaceAccess::Rw));
    assert_eq!(found.workspace_root, Path::new("/srv/vec/sbx"));
    assert_eq!(found.agent_workspace, Path::new("/home/u/ops"));
    let docker = &found.docker;
    assert_eq!((docker.image.as_str(), docker.workdir.as_str()), ("ops:2", "/w2"));
    assert_eq!(
        (docker.memory, docker.memory_swap, docker.nano_cpus),
        (Some(1 << 30), Some(-1), Some(1_500_000_000))
    );
    assert_eq!(
        docker.binds.iter().map(|bind| bind.written.as_str()).collect::<Vec<_>>(),
        ["/srv/a:/a:ro", "/srv/b:/b"]
    );
    assert_eq!(docker.env.values().collect::<Vec<_>>(), ["1", "3"]);
    let limits: Vec<_> = docker.ulimits.iter().map(|l| (l.name.as_str(), l.soft, l.hard)).collect();
    assert_eq!(limits, [("core", 1, 1), ("nofile", 10, 20)]);
    assert_eq!(found.prune.idle_hours, None);
    let exec = parse(LAYERED).unwrap().exec(&AgentId::parse("ops").unwrap());
    assert_eq!((exec.timeout_s, exec.mode, exec.security), (5, None, Some(exec::Security::Deny)));
    assert_eq!(exec.path_prepend, ["~/bin"]);
}

/// A mode that half a pair replaces leaves the other half.
#[test]
fn half_a_pair_over_a_mode() {
    use exec::{Ask, Security};
    let exec = |global: &str, agent: &str| {
        let text = format!(
            "{{tools: {{exec: {{{global}}}}}, agents: {{entries: {{ops: {{tools: {{exec: {{{agent}}}}}}}}}}}}}"
        );
        let exec = parse(&text).unwrap().exec(&AgentId::parse("ops").unwrap());
        (exec.mode, exec.security, exec.ask)
    };
    assert_eq!(exec("mode: 'auto'", "ask: 'off'"), (None, Some(Security::Allowlist), Some(Ask::Off)));
    assert_eq!(exec("mode: 'deny'", "ask: 'always'"), (None, Some(Security::Deny), Some(Ask::Always)));
    assert_eq!(exec("mode: 'auto'", "security: 'full'"), (None, Some(Security::Full), Some(Ask::OnMiss)));
    assert_eq!(exec("ask: 'always'", "mode: 'full'"), (Some(exec::ExecMode::Full), None, None));
}

#[test]
fn shared_scope_drops_the_agents_container_settings() {
    let found = sandbox(LAYERED, "two");
    assert_eq!((found.scope, found.docker.image.as_str()), (Scope::Shared, "base:1"));
    assert_eq!(found.agent_workspace, Path::new("/home/u/.openclaw/workspace-two"));
}

#[test]
fn values_remember_where_they_were_written() {
    let config = parse(LAYERED).unwrap();
    let found = config.sandbox(&AgentId::parse("ops").unwrap(), &places()).unwrap();
    let key = found.key("docker.image").unwrap();
    assert_eq!(key, "agents.entries.ops.sandbox.docker.image");
    let origin = config.origin(key).unwrap();
    assert_eq!(origin.to_string(), format!("/c/openclaw.json:23:21 {key}"));
    let bind = config.origin(&found.docker.binds[0].key).unwrap();
    assert_eq!(
        (bind.line, bind.column, bind.key.as_str()),
        (11, 19, "agents.defaults.sandbox.docker.binds[0]")
    );
}

#[test]
fn list_and_entries_and_the_default_agent() {
    let list =
        "{agents: {list: [{id: 'a', workspace: '/w/a'}, {id: 'B', default: true, sandbox: {mode: 'all'}}]}}";
    let config = parse(list).unwrap();
    assert_eq!(config.default_agent().as_str(), "b");
    assert_eq!(sandbox(list, "b").mode, Mode::All);
    assert_eq!(sandbox(list, "b").key("mode"), Some("agents.list[1].sandbox.mode"));
    assert!(config.known_agent(&AgentId::parse("a").unwrap(), NamedBy::Id).is_ok());
    let error = config.known_agent(&AgentId::parse("nosuch").unwrap(), NamedBy::Id).unwrap_err();
    assert_eq!(error.report().code, "CRL-CONFIG-005");
    let order = "{agents: {entries: {z: {}, b: {}}}}";
    assert_eq!(parse(order).unwrap().default_agent().as_str(), "z", "the first in the text");
    let explicit = "{agents: {ownership: 'explicit', entries: {a: {}, b: {}}}}";
    assert_eq!(sandbox(explicit, "a").agent_workspace, Path::new("/home/u/.openclaw/workspace-a"));
    assert_eq!(sandbox(order, "z").agent_workspace, Path::new("/home/u/.openclaw/workspace"));
    let twice = "{agents: {list: [{id: 'a'}], entries: {A: {}}}}";
    assert!(problems(twice)[0].1.contains("configured at agents.list[0] already"));
}

/// The key that a refusal names must be one that the configuration takes.
#[test]
fn what_the_kernel_need_not_enforce() {
    let text = "{agents: {defaults: {sandbox: {docker: {dangerouslyAllowUnenforced: ['pids', 'seccomp']}}}}}";
    let found = sandbox(text, "main");
    assert_eq!(found.docker.allow_unenforced, [crate::sandbox::Rule::Pids, crate::sandbox::Rule::Seccomp]);
    assert_eq!(found.key("docker.dangerouslyAllowUnenforced"), Some(crate::sandbox::ALLOW_UNENFORCED_KEY));
    assert!(sandbox("{}", "main").docker.allow_unenforced.is_empty());
    let wrong = problems(&text.replace("seccomp", "secomp"));
    assert!(wrong[0].1.contains("did you mean seccomp?"), "{wrong:?}");
}

#[test]
fn every_problem_at_once_with_its_place() {
    let text = r#"{
  agents: { defaults: { sandbox: {
    mode: "sometimes",
    scop: "agent",
    perSession: true,
    docker: {
      netwrok: "none", network: "host", capDrop: [], capAdd: ["X"], pidsLimit: 0, cpus: 0, memory: "lots",
      seccompProfile: "Unconfined", binds: ["a:/a", "", "/x:/y:weird"], env: { "1A": "x", B: "a\nb" },
      privileged: true, tmpfs: ["relative", "/tmp /:size=1m"], workdir: "/proc/self", ulimits: { nofiles: 1 }, dns: ["x"],
    },
    browser: { network: "host", binds: ["v:/v"] },
    prune: { idleHours: -1 },
  } } },
  tools: { exec: { timeoutSec: 5, timeoutSeconds: 6, hst: "auto", mode: "full", security: "full" } },
}"#;
    let found = problems(text);
    let has = |key: &str, part: &str| {
        assert!(found.iter().any(|(k, text)| k == key && text.contains(part)), "{key} {part}: {found:#?}");
    };
    let docker = |name: &str| format!("agents.defaults.sandbox.docker.{name}");
    has("agents.defaults.sandbox.mode", "must be one of off, non-main, all, got: \"sometimes\"");
    has("agents.defaults.sandbox.scop", "did you mean scope?");
    has("agents.defaults.sandbox.perSession", "scope: \"session\"");
    has(&docker("netwrok"), "did you mean network?");
    has(&docker("network"), "host's network");
    has(&docker("capDrop"), "empty list");
    has(&docker("capAdd"), "unknown key");
    has(&docker("privileged"), "unknown key");
    for name in [
        "pidsLimit",
        "cpus",
        "memory",
        "seccompProfile",
        "binds[0]",
        "binds[1]",
        "binds[2]",
        "tmpfs[0]",
        "tmpfs[1]",
    ] {
        has(&docker(name), "");
    }
    has(&docker("env.1A"), "digits");
    has(&docker("env.B"), "line break");
    has(&docker("workdir"), "/proc");
    has(&docker("ulimits.nofiles"), "did you mean nofile?");
    has(&docker("dns[0]"), "address");
    has("agents.defaults.sandbox.browser.network", "host's network");
    has("agents.defaults.sandbox.browser.binds[0]", "not an absolute path");
    has("agents.defaults.sandbox.prune.idleHours", "at least 0");
    has("tools.exec.timeoutSeconds", "contradict");
    has("tools.exec.hst", "did you mean host?");
    has("tools.exec.mode", "keep mode: \"full\" alone");
    let report = parse(text).unwrap_err().report();
    assert!(
        report.message.contains("/c/openclaw.json:3:5 agents.defaults.sandbox.mode: must be"),
        "{}",
        report.message
    );
}

#[test]
fn modes_decide_by_the_session() {
    let decisions =
        [Mode::Off, Mode::NonMain, Mode::All].map(|mode| (mode.sandboxes(true), mode.sandboxes(false)));
    assert_eq!(decisions, [(false, false), (false, true), (true, true)]);
}

#[test]
fn refused_at_the_level_of_the_text() {
    for (text, part) in [
        ("{ a: }", ":1:6"),
        ("[]", "the top level is not an object"),
        ("", ":1:1"),
        ("{ agents: { defaults: { sandbox: { mode: \"all\" } }", ":1:"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(matches!(error, ConfigError::Syntax { .. }), "{text}: {error:?}");
        assert!(error.to_string().contains(part), "{text}: {error}");
    }
    let deep = format!("{{a: {}", "[".repeat(100_000));
    assert!(parse(&deep).unwrap_err().to_string().contains("deeper"));
    assert!(problems("{agents: []}")[0].1.contains("must be an object"));
    assert!(problems("{agents: {defaults: {sandbox: {mode: 'all', mode: 'off'}}}}")[0].1.contains("twice"));
    assert_eq!(problems("{agents: {defaults: {sandbox: {}}}, agents: {}}")[0].0, "agents");
    let secret = problems("{agents: {defaults: {sandbox: {docker: {env: {A_TOKEN: 4711}}}}}}");
    assert!(secret.len() == 1 && !secret[0].1.contains("4711"), "{secret:?}");
    assert!(problems("{agents: {defaults: {sandbox: {workspaceRoot: '${NOPE}'}}}}")[0].1.contains("NOPE"));
}

#[test]
fn the_network_is_judged_again_when_merged() {
    let text = "{agents: {defaults: {sandbox: {docker: {network: 'container:x', \
        dangerouslyAllowContainerNamespaceJoin: true}}}, \
        entries: {a: {sandbox: {docker: {dangerouslyAllowContainerNamespaceJoin: false}}}}}}";
    let config = parse(text).unwrap();
    assert!(config.sandbox(&AgentId::parse("b").unwrap(), &places()).is_ok());
    let error = config.sandbox(&AgentId::parse("a").unwrap(), &places()).unwrap_err();
    assert!(error.to_string().contains("agents.defaults.sandbox.docker.network"), "{error}");
}

#[test]
fn a_missing_default_file_is_empty_and_a_named_one_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("none.json");
    let none = |_: &str| None;
    assert!(Config::load(&Located { path: path.clone(), named_by: None }, &none).is_ok());
    let error = Config::load(&Located { path, named_by: Some("--config") }, &none).unwrap_err();
    assert_eq!(error.report().code, "CRL-CONFIG-001");
    let dir = Located { path: dir.path().to_owned(), named_by: None };
    assert!(matches!(Config::load(&dir, &none), Err(ConfigError::Io { .. })));
}

proptest::proptest! {
    #[test]
    fn parsing_never_panics(text in "\\PC{0,80}|[{}\\[\\],:'\"a-z0-9$ ]{0,80}") {
        let _ = parse(&text);
    }
}

#[test]
fn pools_are_off_and_bounded() {
    assert_eq!(sandbox("{}", "main").pool_size, 0);
    let text = "{agents: {defaults: {sandbox: {pool: {size: 2}}}, entries: {a: {sandbox: {pool: {size: 0}}}, \
                b: {}, c: {sandbox: {scope: 'shared', pool: {size: 5}}}}}}";
    assert_eq!(["a", "b", "c"].map(|agent| sandbox(text, agent).pool_size), [0, 2, 2]);
    assert_eq!(sandbox(text, "b").key("pool.size"), Some("agents.defaults.sandbox.pool.size"));
    for wrong in ["{size: 65}", "{size: -1}", "{sise: 1}", "3"] {
        assert_eq!(
            problems(&format!("{{agents: {{defaults: {{sandbox: {{pool: {wrong}}}}}}}}}")).len(),
            1,
            "{wrong}"
        );
    }
}
