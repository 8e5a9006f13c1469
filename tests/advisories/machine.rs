//! A machine on which every bare word is a program of `/usr/bin`, and what its rules make of a text.

use std::path::{Path, PathBuf};

use creel::approvals::allowlist::Allowlist;
use creel::approvals::assess::{Assessed, Rules, assess};
use creel::approvals::document::{Document, Entry};
use creel::approvals::programs::{Lookup, Program};
use creel::approvals::safe_bins::SafeBins;
use creel::session::AgentId;

/// Where the commands begin.
pub(crate) const CWD: &str = "/home/user/work";

pub(crate) struct Machine;

impl Lookup for Machine {
    fn program(&self, word: &str, dir: Option<&Path>) -> Option<Program> {
        const OF_THE_SHELL: &[&str] = &["command", "exec", "cd", "eval", "export", "source", "."];
        let invoked = match word {
            "" => return None,
            own if OF_THE_SHELL.contains(&own) => return None,
            path if path.starts_with('/') => clean(Path::new(path)),
            path if path.contains('/') => clean(&dir?.join(path)),
            name => Path::new("/usr/bin").join(name),
        };
        Some(Program { real: invoked.clone(), invoked })
    }

    fn file(&self, operand: &str, dir: Option<&Path>) -> Option<PathBuf> {
        if operand.starts_with('/') { Some(operand.into()) } else { Some(clean(&dir?.join(operand))) }
    }

    fn directory(&self, path: &Path) -> Option<PathBuf> {
        Some(path.to_owned())
    }

    fn home(&self) -> Option<&Path> {
        Some(Path::new("/home/user"))
    }
}

fn clean(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != std::path::Component::CurDir).collect()
}

/// The list of a document whose entries are these patterns.
fn list(patterns: &[&str]) -> Allowlist {
    let text = serde_json::json!({ "version": 1, "agents": { "main": { "allowlist": patterns } } });
    let document = Document::parse(&text.to_string(), Path::new("/state/exec-approvals.json")).unwrap();
    let rules = document.rules(Some(&AgentId::main()));
    let entries: Vec<&Entry> = rules.allowlist;
    Allowlist::compile(&entries, &Machine)
}

/// What entries that allow and entries that deny say about a text.
pub(crate) fn judged(allow: &[&str], deny: &[&str], text: &str) -> Assessed {
    let (allow, deny) = (list(allow), list(deny));
    let safe = SafeBins::default().with_system(&[Path::new("/usr/bin")]);
    let rules = Rules { allow: &allow, deny: &deny, safe: &safe, skills: &[], strict_inline: true };
    assess(text, Path::new(CWD), &rules, &Machine)
}

/// None of the texts is covered: a person is asked, or nothing runs. `*` covers none of them either where `anything` says so.
#[track_caller]
pub(crate) fn misses(allowed: &[&str], texts: &[&str]) {
    for text in texts {
        let judged = judged(allowed, &[], text);
        assert!(!judged.satisfied, "{text:?} is covered by {allowed:?}: {:?}", judged.parts);
    }
}

/// Each of the texts is covered.
#[track_caller]
pub(crate) fn passes(allowed: &[&str], texts: &[&str]) {
    for text in texts {
        let judged = judged(allowed, &[], text);
        assert!(
            judged.satisfied,
            "{text:?} is not covered by {allowed:?}: {:?} {:?}",
            judged.analysis, judged.parts
        );
    }
}

/// An entry that denies stops each of the texts.
#[track_caller]
pub(crate) fn stops(denied: &[&str], texts: &[&str]) {
    for text in texts {
        assert!(judged(&["*"], denied, text).denied.is_some(), "{denied:?} does not stop {text:?}");
    }
}
