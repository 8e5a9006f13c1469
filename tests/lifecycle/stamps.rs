//! Which sessions are sandboxed, what a stamp changes, and what is mounted beside the workspace.

use std::path::Path;

use creel::config::{Config, Places};
use creel::explain::{Explanation, Live, MountSource, explain};
use creel::session::{AgentId, Isolation, SessionKey, Stamp, attachments};
use creel::{Collected, Sandbox};
use pretty_assertions::assert_eq;

use crate::home::Home;

fn config(sandbox: &str) -> String {
    format!(
        "{{ agents: {{ defaults: {{ workspace: 'DIR/ws', sandbox: {{ {sandbox}, docker: {{ image: 'IMAGE' }} }} }} }}, \
         tools: {{ elevated: {{ allowFrom: {{ webchat: ['*'] }} }} }} }}"
    )
}

fn by_ann() -> Stamp {
    Stamp::Required(Isolation::Creator("ann".to_owned()))
}

fn explained(home: &Home, session: &str, stamp: Stamp) -> Explanation {
    let text = std::fs::read_to_string(home.file()).unwrap();
    let config = Config::parse(&text, &home.file(), &|_| None).unwrap();
    let places = Places { home: None, state: home.state() };
    let subject = config.subject(None, Some(session)).unwrap().stamped(stamp);
    explain(&config, &places, &subject, Live::default()).unwrap()
}

async fn sh(sandbox: &Sandbox, text: &str) -> String {
    let Collected { stdout, stderr, .. } = sandbox.exec(text).await.unwrap();
    String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned()
}

/// All cells of the table, under every name that the main session has.
#[test]
fn the_truth_table() {
    let home = Home::new();
    let (none, off, required) = (Stamp::None, Stamp::OptedOut, Stamp::Required(Isolation::Session));
    let mains = ["", "main", "MAIN", "agent:main:main", "Agent:Main:Main", "agent:main:MAIN"];
    let others = ["work", "agent:main:discord:group:1", "agent:main:cron:daily", "agent:main:subagent:7"];
    for (mode, names, wanted) in [
        ("off", &mains[..], [false, false, true]),
        ("off", &others[..], [false, false, true]),
        ("non-main", &mains[..], [false, false, true]),
        ("non-main", &others[..], [true, false, true]),
        ("all", &mains[..], [true, false, true]),
        ("all", &others[..], [true, false, true]),
    ] {
        home.configure(&config(&format!("mode: '{mode}'")));
        for name in names {
            let cell = |stamp: &Stamp| {
                let decided = home.options().session(*name).stamp(stamp.clone()).is_sandboxed().unwrap();
                let told = explained(&home, name, stamp.clone()).sandbox.session_is_sandboxed;
                assert_eq!(decided, told, "{mode} {name:?} {stamp:?}");
                decided
            };
            assert_eq!([cell(&none), cell(&off), cell(&required)], wanted, "{mode} {name:?}");
        }
    }
    assert_eq!(Stamp::new(true, None, true), required, "what is required is no way out of");
}

#[tokio::test]
async fn a_required_sandbox_stands_alone_and_shares_nothing_that_can_be_written() {
    let home = Home::with(&config("mode: 'off', scope: 'shared', workspaceAccess: 'rw'"));
    let workspace = home.open_dir("ws");
    std::fs::write(workspace.join("file"), "here").unwrap();
    let open = async |session: &str, stamp: Stamp| {
        home.options().session(session).stamp(stamp).open().await.unwrap()
    };
    let plain = open("one", Stamp::None).await;
    assert_eq!(plain.ready().scope_key, "shared");
    assert_eq!(sh(&plain, "cat file; touch mine; ls").await, "herefile\nmine\n");
    let ann = open("one", by_ann()).await;
    assert!(ann.ready().scope_key.starts_with("agent:main:principal:"), "{}", ann.ready().scope_key);
    assert!(
        ann.ready().warnings.iter().any(|warning| warning.contains("ro, not rw")),
        "{:?}",
        ann.ready().warnings
    );
    let out = sh(&ann, "cat /agent/file; ls -A; touch x; touch /agent/x; true").await;
    assert_eq!(out.matches("Read-only file system").count(), 2, "{out}");
    assert!(out.starts_with("here"), "{out}");
    // Another session of the same creator shares it, another creator and a session without one do not.
    let same = open("two", by_ann()).await;
    let bob = open("one", Stamp::Required(Isolation::Creator("bob".to_owned()))).await;
    let lone = open("one", Stamp::Required(Isolation::Session)).await;
    assert_eq!(same.container(), ann.container());
    let mut ids: Vec<&str> =
        [&plain, &ann, &bob, &lone].iter().map(|one| one.container().0.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 4);
    // A directory of the caller's choice is no way around the cap.
    let given =
        home.options().session("one").stamp(by_ann()).workspace(home.open_dir("other")).open().await.unwrap();
    assert!(sh(&given, "touch x").await.contains("Read-only file system"));
}

#[test]
fn explain_knows_the_stamp() {
    let home = Home::with(&config("mode: 'non-main', scope: 'session', workspaceAccess: 'rw'"));
    let key = "agent:main:webchat:direct:1";
    let free = explained(&home, key, Stamp::None);
    assert!(free.elevated.allowed_by_config && free.fix_it.iter().any(|key| key.contains("mode=off")));
    let held = explained(&home, key, by_ann());
    let json = serde_json::to_value(&held).unwrap();
    assert_eq!(
        (&json["sandbox"]["scope"], &json["sandbox"]["workspaceAccess"]),
        (&"agent".into(), &"ro".into())
    );
    assert_eq!(json["sandbox"]["workspaceSource"], "sandbox");
    assert!(!held.elevated.allowed_by_config && !held.elevated.always_allowed_by_config);
    assert_eq!(
        json["elevated"]["failures"][0],
        serde_json::json!({"gate": "sandbox", "key": "sandbox=required"})
    );
    assert!(!held.fix_it.iter().any(|key| key.contains("mode=off")), "no key lets it out: {:?}", held.fix_it);
    assert!(!explained(&home, key, Stamp::OptedOut).sandbox.session_is_sandboxed);
}

/// A sandbox that cannot be had is an error, and nothing runs anywhere.
#[tokio::test]
async fn what_is_required_never_falls_back() {
    let home = Home::with(&config("mode: 'off'"));
    let error = home.options().stamp(by_ann()).engine("unix:///no/such.sock").open().await.unwrap_err();
    assert!(error.0.code.starts_with("CRL-ENGINE-"), "{error}");
}

fn main_session() -> SessionKey {
    SessionKey::parse("child", &AgentId::main()).unwrap()
}

/// What explain tells of the mounts, and what the kernel told of them: targets and modes.
fn same_view(home: &Home, sandbox: &Sandbox, session: &str) {
    let mut told: Vec<(String, bool)> = explained(home, session, Stamp::None)
        .sandbox
        .workspace_mounts
        .into_iter()
        .map(|row| (row.container_root, row.writable))
        .collect();
    let checks = sandbox.ready().hardening.checks.iter();
    let mut seen: Vec<(String, bool)> = checks
        .filter(|check| check.rule == creel::sandbox::Rule::Mount)
        .filter_map(|check| Some((check.subject.clone()?, check.asked.ends_with("writable"))))
        .filter(|(target, _)| !target.starts_with("/.creel"))
        .collect();
    told.sort();
    seen.sort();
    assert_eq!(told, seen);
}

#[tokio::test]
async fn attachments_are_one_sessions_and_read_only() {
    let home = Home::with(&config("mode: 'all', workspaceAccess: 'none'"));
    let dir = attachments(&home.state(), &main_session());
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("given"), "gift").unwrap();
    let child = home.options().session("child").open().await.unwrap();
    assert!(
        child.ready().scope_key.starts_with("agent:main:required-session:"),
        "{}",
        child.ready().scope_key
    );
    let out = sh(&child, "cat /openclaw/attachments/given; touch /openclaw/attachments/x").await;
    assert!(out.starts_with("gift") && out.contains("Read-only file system"), "{out}");
    same_view(&home, &child, "child");
    let other = home.options().session("other").open().await.unwrap();
    assert_ne!(other.container(), child.container());
    assert!(sh(&other, "ls /openclaw").await.contains("No such file"));
    // A bind does not take its place.
    let spec = format!("{}:/openclaw/attachments", home.open_dir("data").display());
    let bound = home.options().session("child").bind(spec).open().await.unwrap();
    assert_eq!(sh(&bound, "cat /openclaw/attachments/given").await, "gift");
    assert!(bound.ready().warnings.iter().any(|warning| warning.contains("/openclaw/attachments")));
    // Everybody's sandbox shows nothing of one session.
    home.configure(&config("mode: 'all', scope: 'shared'"));
    let shared = home.options().session("child").open().await.unwrap();
    assert!(sh(&shared, "ls /openclaw").await.contains("No such file"));
}

#[tokio::test]
async fn instructions_are_read_only_wherever_they_lie() {
    let home = Home::with(&config("mode: 'all', workspaceAccess: 'none'"));
    // The sandbox's own workspace, where the agent host puts copies.
    let first = home.options().open().await.unwrap();
    sh(&first, "mkdir -p skills/one .agents/skills; echo own > skills/one/text").await;
    first.stop().await.unwrap();
    let own = home.options().open().await.unwrap();
    let out = sh(&own, "cat skills/one/text; touch skills/x .agents/skills/x; touch free; ls free").await;
    assert_eq!(out.matches("Read-only file system").count(), 2, "{out}");
    assert!(out.starts_with("own") && out.contains("free\n"), "{out}");
    same_view(&home, &own, "main");
    own.stop().await.unwrap();
    // The agent's own workspace, and what is laid out beside it.
    home.configure(&config("mode: 'all', workspaceAccess: 'rw'"));
    std::fs::create_dir_all(home.open_dir("ws").join("skills")).unwrap();
    let plan = home.options().preview().unwrap();
    let key = creel::session::ScopeKey::Of(plan.request.scope_key.clone());
    let laid_out = creel::session::skills(&home.state(), &key).join("skills");
    std::fs::create_dir_all(&laid_out).unwrap();
    std::fs::write(laid_out.join("text"), "laid out").unwrap();
    let shared = home.options().open().await.unwrap();
    let out = sh(
        &shared,
        "cat .openclaw/sandbox-skills/skills/text; touch skills/x .openclaw/sandbox-skills/skills/x",
    )
    .await;
    assert!(out.starts_with("laid out"), "{out}");
    assert_eq!(out.matches("Read-only file system").count(), 2, "{out}");
    same_view(&home, &shared, "main");
    // Nobody can put another directory in the place of one on the way.
    let out = sh(
        &shared,
        "for way in .openclaw .openclaw/sandbox-skills; do mv $way $way.away 2>&1; done; ls -A . .openclaw",
    )
    .await;
    assert_eq!((out.matches("busy").count(), out.contains(".away")), (2, false), "{out}");
    drop(shared);
    assert!(!home.options().open().await.unwrap().ready().created, "what was made on the way is no drift");
    let rows = explained(&home, "main", Stamp::None).sandbox.workspace_mounts;
    assert_eq!(rows.iter().filter(|row| row.source == MountSource::ProtectedSkill).count(), 2, "{rows:?}");
}

#[tokio::test]
async fn several_folders_with_their_own_modes() {
    let home = Home::new();
    for name in ["a", "b"] {
        std::fs::write(home.open_dir(name).join("file"), name).unwrap();
    }
    let binds = "binds: ['DIR/a:/a:ro', 'DIR/b:/b', 'DIR/a:/twice', 'DIR/b:/twice:ro'], \
                 dangerouslyAllowExternalBindSources: true";
    for access in ["none", "ro", "rw"] {
        home.open_dir("ws");
        home.configure(&format!(
            "{{ agents: {{ defaults: {{ workspace: 'DIR/ws', sandbox: {{ mode: 'all', workspaceAccess: '{access}', \
             docker: {{ image: 'IMAGE', user: '0:0', {binds} }} }} }} }} }}"
        ));
        let sandbox = home.options().open().await.unwrap();
        let out =
            sh(&sandbox, "cat /a/file /b/file /twice/file; touch /b/x && touch /a/x; touch /twice/x; true")
                .await;
        // The access word is the workspace's, a bind keeps its own; of two with one target the last one counts.
        assert!(out.starts_with("abb"), "{access}: {out}");
        assert_eq!(out.matches("Read-only file system").count(), 2, "{access}: {out}");
        same_view(&home, &sandbox, "main");
        assert!(Path::new(&home.dir().join("b/x")).exists());
        sandbox.stop().await.unwrap();
    }
}
