//! An ordinary day: under the starter allowlist no harmless command asks, and no dangerous form of a listed program runs
//! unasked. The programs are fakes, so that the answer is the same on every machine; wrappers and shells are the system's.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests: a failure here is a failed test")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Programs that no entry names, and that are there all the same.
const OTHERS: &[&str] = &[
    "rm", "rmdir", "mv", "cp", "ln", "chmod", "chown", "dd", "truncate", "shred", "tee", "kill", "pkill",
    "xargs", "npx", "cowsay", "ssh", "scp", "rsync", "sudo", "su", "crontab", "wget", "nc",
];
/// What has to be the system's own.
const SYSTEM: &[&str] = &["bash", "sh", "env", "timeout", "nice"];

/// An installation whose programs are fakes.
struct Day {
    dir: tempfile::TempDir,
}

impl Day {
    fn new() -> Self {
        let day =
            Self { dir: tempfile::Builder::new().prefix("creel-everyday-").tempdir_in("/tmp").unwrap() };
        for name in ["state", "bin", "work/src", "work/tests"] {
            std::fs::create_dir_all(day.at(name)).unwrap();
        }
        let config = serde_json::json!({
            "agents": {"defaults": {"workspace": day.at("work")}},
            "tools": {"exec": {"mode": "ask"}},
        });
        std::fs::write(day.at("state/openclaw.json"), config.to_string()).unwrap();
        let starter = std::fs::read_to_string(starter()).unwrap();
        std::fs::write(day.at("state/exec-approvals.json"), &starter).unwrap();
        let document: Value = serde_json::from_str(&starter).unwrap();
        let entries = document["agents"]["*"]["allowlist"].as_array().unwrap();
        let listed = entries.iter().map(|entry| entry["pattern"].as_str().unwrap());
        for name in listed.chain(OTHERS.iter().copied()).filter(|name| !SYSTEM.contains(name)) {
            day.program(&format!("bin/{name}"));
        }
        for name in ["ls", "build.sh", "evil"] {
            day.program(&format!("work/{name}"));
        }
        day
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn program(&self, name: &str) {
        std::fs::write(self.at(name), "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(self.at(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Output and status of `creel`.
    #[expect(clippy::disallowed_methods, reason = "runs creel itself, as a person does")]
    fn creel(&self, args: &[&str]) -> (String, String, i32) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_creel"));
        command.args(args).env("CREEL_STATE_DIR", self.at("state")).env("HOME", self.at("home"));
        command.env_remove("CREEL_CONFIG").env_remove("OPENCLAW_CONFIG_PATH");
        let done = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&done.stdout), text(&done.stderr), done.status.code().unwrap())
    }
}

fn starter() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/starter-allowlist.json")
}

fn table() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/everyday/commands.json5").display().to_string()
}

#[test]
fn no_harmless_command_asks_and_no_dangerous_one_runs() {
    let day = Day::new();
    let path = format!("{}:/usr/bin:/bin", day.at("bin").display());
    let (out, err, status) = day.creel(&["policy", "test", &table(), "--path", &path, "--json"]);
    let report: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"));
    let cases = report["cases"].as_array().unwrap();
    let wanted = |verdict: &str| {
        cases.iter().filter(move |case| case["expected"]["verdict"] == verdict).collect::<Vec<_>>()
    };
    let wrong: Vec<String> = cases
        .iter()
        .filter(|case| case["ok"] != true)
        .map(|case| format!("{}: {} ({})", case["command"], case["differs"], case["got"]["why"]))
        .collect();
    let prompts = wanted("allow").iter().filter(|case| case["got"]["verdict"] == "ask").count();
    println!(
        "{} harmless commands, {prompts} prompts; {} others",
        wanted("allow").len(),
        wanted("ask").len()
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!((prompts, status), (0, 0));
    assert!(wanted("allow").len() >= 150 && wanted("ask").len() >= 60);
}

/// The list is one that can be put in place as it is.
#[test]
fn the_starter_allowlist_is_a_document() {
    let text = std::fs::read_to_string(starter()).unwrap();
    let document = creel::approvals::document::Document::parse(&text, Path::new("starter")).unwrap();
    let agent = creel::session::AgentId::main();
    let rules = document.rules(Some(&agent));
    let programs = creel::approvals::programs::HostPrograms::new("/usr/bin:/bin", None);
    let list = creel::approvals::allowlist::Allowlist::compile(&rules.allowlist, &programs);
    assert_eq!(list.problems(), [], "every pattern of arguments can be compared");
    assert!(rules.allowlist.iter().all(|entry| !entry.pattern.contains(['*', '/'])));
}
