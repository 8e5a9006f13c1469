//! The machine's approvals document, as far as it opens something (spec `approvals.md` §17.1). Pure.

use super::finding::{Finding, Severity};
use crate::approvals::document::{Document as Approvals, EVERYBODY, Entry};
use crate::approvals::store::Local;
use crate::config::{Config, Document};
use crate::error::Diagnose as _;
use crate::session::AgentId;
use crate::shell::inline_eval::interpreter_like;

/// How many entries are told.
const TOLD: usize = 5;

pub(super) fn checks(local: &Local, config: Option<&Config>, document: Option<&Document>) -> Vec<Finding> {
    let mut all: Vec<Finding> = local.problems().map(broken).collect();
    let file = local.locator();
    all.extend(skills(&local.held.document).map(|key| {
        Finding::new(
            "tools.exec.auto_allow_skills_enabled",
            Severity::Warn,
            "Programs of skills run without being listed",
            format!("{file}: {key} is true: whoever adds a skill decides what may run"),
            format!("remove {key}, and list the programs that are needed"),
        )
        .of_file(&local.path, &key)
    }));
    if let Some(config) = config {
        all.extend(interpreters(local, config, document));
    }
    all
}

fn broken(problem: &crate::approvals::document::DocumentError) -> Finding {
    let told = problem.report();
    Finding::new(
        "approvals.document_invalid",
        Severity::Warn,
        "The approvals document cannot be used",
        format!("what it says was not audited: {}", told.message),
        told.fix,
    )
}

/// Keys that let programs of skills run.
fn skills(document: &Approvals) -> impl Iterator<Item = String> {
    let agents = document.agents.iter().filter(|agent| agent.rules.auto_allow_skills == Some(true));
    let keys = agents.map(|agent| format!("agents.{}.autoAllowSkills", agent.id));
    let defaults =
        (document.defaults.auto_allow_skills == Some(true)).then(|| "defaults.autoAllowSkills".to_owned());
    defaults.into_iter().chain(keys)
}

/// Listed interpreters where code on their command lines needs nobody's word.
fn interpreters(local: &Local, config: &Config, document: Option<&Document>) -> Vec<Finding> {
    let mut all = Vec::new();
    for agent in &local.held.document.agents {
        let id = if agent.id == EVERYBODY { None } else { AgentId::parse(&agent.id).ok() };
        // Entries of everybody hold for every agent: one that is not strict suffices.
        let strict = match &id {
            Some(id) => config.exec(id).strict_inline_eval,
            None => super::exec::agents(config).iter().all(|id| config.exec(id).strict_inline_eval),
        };
        let mut listed: Vec<&str> = Vec::new();
        for entry in agent.allowlist.iter().filter(|entry| opens(entry)) {
            if !listed.contains(&pattern(entry)) {
                listed.push(pattern(entry));
            }
        }
        if strict || listed.is_empty() {
            continue;
        }
        let mut told: Vec<&str> = listed.iter().copied().take(TOLD).collect();
        if listed.len() > TOLD {
            told.push("…");
        }
        let key = "tools.exec.strictInlineEval";
        let finding = Finding::new(
            "tools.exec.allowlist_interpreter_without_strict_inline_eval",
            Severity::Warn,
            "A listed interpreter may be given any code",
            format!("{}: agents.{}.allowlist names {}", local.locator(), agent.id, told.join(", ")),
            format!("set {key} to true: code on a command line then needs a person's word"),
        );
        all.push(match document {
            Some(document) => finding.at(document, key),
            None => finding,
        });
    }
    all
}

fn pattern(entry: &Entry) -> &str {
    &entry.pattern
}

/// An entry for an interpreter that is not bound to one list of arguments.
fn opens(entry: &Entry) -> bool {
    use crate::approvals::document::Coverage;
    interpreter_like(&entry.pattern)
        && match entry.coverage() {
            Coverage::AnyArgs => true,
            Coverage::Argv => !entry.arg_pattern.as_deref().is_some_and(exact),
            _ => false,
        }
}

/// A pattern that fits one text and no other: anchored, and every sign in it stands for itself.
fn exact(pattern: &str) -> bool {
    let Some(inner) = pattern.strip_prefix('^').and_then(|rest| rest.strip_suffix('$')) else { return false };
    let mut signs = inner.chars();
    while let Some(sign) = signs.next() {
        match sign {
            // Of a letter or a digit the backslash makes a class or a reference.
            '\\' if signs.next().is_none_or(char::is_alphanumeric) => return false,
            '^' | '$' | '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' => return false,
            _ => {}
        }
    }
    true
}
