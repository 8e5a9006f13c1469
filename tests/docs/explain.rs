//! Transcripts of `creel explain exec` in the documentation are what it prints. `CREEL_BLESS=1` writes them anew.

use std::path::Path;
use std::process::Command;

use crate::page;

/// What stands in front of a transcript.
const MARK: &str = "<!-- explain: ";

/// An installation like that of the documentation: a small list, programs that are there on every machine.
struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::Builder::new().prefix("creel-docs-").tempdir_in("/tmp").unwrap();
        let home = Self { dir };
        for name in [".openclaw", "bin", "project"] {
            std::fs::create_dir(home.at(name)).unwrap();
        }
        for name in ["git", "rm", "cat", "rg"] {
            let path = home.at(&format!("bin/{name}"));
            std::fs::write(&path, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let config = format!(
            "{{\n  agents: {{ defaults: {{ workspace: \"{}\" }} }},\n  tools: {{ exec: {{ mode: \"ask\" }} }},\n}}\n",
            home.at("project").display()
        );
        std::fs::write(home.at(".openclaw/openclaw.json"), config).unwrap();
        let document = "{\n  \"version\": 1,\n  \"agents\": {\n    \"*\": {\n      \"allowlist\": [\n        \"cat\",\n        \
                        {\"pattern\": \"git\", \"argPattern\": \"^(status|log|diff)( |$)\"}\n      ]\n    }\n  }\n}\n";
        std::fs::write(home.at(".openclaw/exec-approvals.json"), document).unwrap();
        home
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    /// What is printed, with the home as the documentation has it.
    #[expect(clippy::disallowed_methods, reason = "runs creel itself, as a person does")]
    fn explain(&self, command: &str) -> String {
        let mut creel = Command::new(env!("CARGO_BIN_EXE_creel"));
        let path = self.at("bin");
        creel.args(["explain", "exec", "--path"]).arg(path).args(["--", command]);
        creel.env("CREEL_STATE_DIR", self.at(".openclaw")).env("HOME", self.dir.path());
        creel.env_remove("CREEL_CONFIG").env_remove("OPENCLAW_CONFIG_PATH");
        let done = creel.output().unwrap();
        let real = self.dir.path().display().to_string();
        let text = String::from_utf8(done.stdout).unwrap().replace(&real, "/home/ada");
        // The digest of a directory that has another name each time.
        let text =
            regex::Regex::new("(sha256:cwd-argv:v1:)[0-9a-f]{64}").unwrap().replace_all(&text, "${1}…");
        format!("$ creel explain exec -- '{command}'\n{}", text.trim_end())
    }
}

#[test]
fn transcripts_are_real() {
    let home = Home::new();
    let mut seen = 0;
    for page in page::all().into_iter().filter(|page| page.text.contains(MARK)) {
        let written = told(&page.text, &home, &mut seen);
        if std::env::var_os("CREEL_BLESS").is_some() {
            std::fs::write(Path::new(page::root()).join(&page.path), &written).unwrap();
            continue;
        }
        pretty_assertions::assert_eq!(page.text, written, "{}", page.path.display());
    }
    assert!(seen >= 2, "only {seen} transcripts found");
}

/// The page with every transcript as it is now.
fn told(text: &str, home: &Home, seen: &mut usize) -> String {
    let mut out = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        out.push(line.to_owned());
        let Some(asked) = line.strip_prefix(MARK).and_then(|rest| rest.strip_suffix(" -->")) else {
            continue;
        };
        let asked: serde_json::Value = serde_json::from_str(asked).unwrap();
        out.push(lines.next().unwrap().to_owned());
        assert_eq!(out.last().map(String::as_str), Some("```text"), "a transcript follows its mark");
        for old in lines.by_ref() {
            if old == "```" {
                break;
            }
        }
        out.push(home.explain(asked["command"].as_str().unwrap()));
        out.push("```".to_owned());
        *seen += 1;
    }
    format!("{}\n", out.join("\n"))
}
