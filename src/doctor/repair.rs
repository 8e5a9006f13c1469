//! What `--fix` does: only what is safe without a question, and each repair says what it did.
//!
//! A second run finds nothing left to do: one repair can be what another waits for, so they are repeated until none does
//! anything new.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;

use serde::Serialize;

use super::facts::Facts;
use super::finding::{Finding, Repair};
use super::gather::Around;
use super::sandboxes::is_broken;
use crate::approvals::safe_bins::Problem;
use crate::approvals::store as approvals;
use crate::config::edit::{self, EditError};
use crate::config::index::member;
use crate::config::{Config, KeyPath, legacy, store};
use crate::engine::Engine;
use crate::error::{Diagnose as _, Failure};
use crate::sandbox::{ByLink, Sandboxes};

/// One repair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Done {
    /// Which.
    pub repair: Repair,
    /// What was done, or why it was not.
    pub what: String,
    /// It was done.
    pub done: bool,
}

/// How often the repairs are repeated at most.
const ROUNDS: usize = 6;

/// Does the repairs that the findings call for, and those that what is found then calls for. `facts` and `findings`
/// are what is there in the end.
pub async fn repair_all(
    around: &Around,
    facts: &mut Facts,
    findings: &mut Vec<Finding>,
    var: &dyn Fn(&str) -> Option<String>,
) -> Vec<Done> {
    let mut all: Vec<Done> = Vec::new();
    for _ in 0..ROUNDS {
        let told = repair(around, facts, findings, var).await;
        // What could not be done is tried again, and told once.
        all.retain(|one| one.done);
        let new = told.into_iter().filter(|one| !all.contains(one)).collect::<Vec<_>>();
        let on = new.iter().any(|one| one.done);
        let nothing = new.is_empty();
        all.extend(new);
        if nothing {
            break;
        }
        *facts = super::look(around, var).await;
        *findings = super::examine(facts);
        if !on {
            break;
        }
    }
    all
}

/// Does the repairs that the findings call for, once.
async fn repair(
    around: &Around,
    facts: &Facts,
    findings: &[Finding],
    var: &dyn Fn(&str) -> Option<String>,
) -> Vec<Done> {
    let wanted: BTreeSet<Repair> = findings.iter().filter_map(|finding| finding.repair).collect();
    let mut all = Vec::new();
    for repair in wanted {
        let told = match repair {
            Repair::LegacyKeys => legacy_keys(around, facts, var),
            Repair::StateModes => modes(facts),
            Repair::BrokenSandboxes => broken(around).await,
            Repair::StaleRuns => stale(around).await,
            Repair::ApprovalsFile => approvals_file(around, facts),
            Repair::ApprovalsAgent => approvals_agent(around, facts),
            Repair::SafeBinProfiles => profiles(around, facts, var),
            Repair::WaitingApprovals => waiting(around),
            Repair::ImportApprovals => store_import(around),
        };
        match told {
            Ok(lines) => all.extend(lines.into_iter().map(|what| Done { repair, what, done: true })),
            Err(failure) => all.push(Done { repair, what: failure.0.message, done: false }),
        }
    }
    all
}

fn legacy_keys(
    around: &Around,
    facts: &Facts,
    var: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<String>, Failure> {
    let found = facts.config.document.as_ref().map(|document| legacy::find(document.root()));
    let clear = found.unwrap_or_default().into_iter().filter(|one| one.clear);
    let Around { located, state, places, .. } = around;
    // Rewritten only where the result can be used: a file that stays broken is its owner's to mend.
    let sound = |_: &str, after: &str| Config::parse(after, &located.path, var)?.check_all(places);
    let changed = store::update(located, state, sound, legacy::rewrite)?;
    let told = clear.map(|one| format!("{}: {} rewritten as {}", located.path.display(), one.key, one.now));
    Ok(if changed { told.collect() } else { Vec::new() })
}

fn modes(facts: &Facts) -> Result<Vec<String>, Failure> {
    let mut told = Vec::new();
    for (path, mode) in &facts.state.open {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode & 0o700)).map_err(|source| {
            let action = "change the mode of";
            Failure(crate::state::StateError::Io { path: path.clone(), action, source }.report())
        })?;
        told.push(format!("{}: mode {mode:o} is now {:o}", path.display(), mode & 0o700));
    }
    Ok(told)
}

fn approvals_file(around: &Around, facts: &Facts) -> Result<Vec<String>, Failure> {
    approvals::tighten(&around.state)?;
    Ok(vec![format!("{}: mode is now 600", facts.approvals.local.path.display())])
}

fn approvals_agent(around: &Around, facts: &Facts) -> Result<Vec<String>, Failure> {
    approvals::rewrite(&around.state)?;
    Ok(vec![format!("{}: agents.default is called agents.main", facts.approvals.local.locator())])
}

/// An empty profile for each program that has none; never for a language.
fn profiles(
    around: &Around,
    facts: &Facts,
    var: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<String>, Failure> {
    let of = |list: &super::facts::SafeBinLook| {
        let block = list.key.strip_suffix("safeBins").map(|block| format!("{block}safeBinProfiles"));
        let names = list.problems.iter().filter_map(|problem| match problem {
            Problem::NoProfile(name) => Some(name),
            Problem::Language(_) => None,
        });
        let keys = names.filter_map(|name| Some(member(block.as_deref()?, name)));
        keys.collect::<Vec<_>>()
    };
    let keys: Vec<String> = facts.approvals.safe_bins.iter().flat_map(of).collect();
    let Around { located, state, places, .. } = around;
    let sound = |_: &str, after: &str| Config::parse(after, &located.path, var)?.check_all(places);
    let change = |text: &str| {
        keys.iter().try_fold(text.to_owned(), |text, key| {
            let path = KeyPath::parse(key).map_err(|_| EditError::Layout(key.clone()))?;
            edit::set(&text, &path, &serde_json::json!({}))
        })
    };
    let changed = store::update(located, state, sound, change)?;
    let told = keys.iter().map(|key| format!("{}: {key} written, empty", located.path.display()));
    Ok(if changed { told.collect() } else { Vec::new() })
}

fn waiting(around: &Around) -> Result<Vec<String>, Failure> {
    let told = |one: approvals::lists::Waiting| {
        format!("approval of agent {} removed, which matched nothing: {}", one.agent, one.pattern)
    };
    Ok(approvals::lists::drop_waiting(&around.state)?.into_iter().map(told).collect())
}

fn store_import(around: &Around) -> Result<Vec<String>, Failure> {
    Ok(approvals::import::import(&around.state)?)
}

async fn sandboxes(around: &Around) -> Result<Sandboxes, Failure> {
    let engine = Engine::discover(&around.discovery).await?;
    Ok(Sandboxes::open(engine, &around.state)?)
}

async fn broken(around: &Around) -> Result<Vec<String>, Failure> {
    let pruned = sandboxes(around).await?.prune_those(&ByLink, &|_| None, is_broken).await?;
    let told = pruned.into_iter().map(|one| match one.error {
        None => format!("sandbox {} removed: {}", one.name, one.reason),
        Some(error) => format!("sandbox {} stays: {error}", one.name),
    });
    Ok(told.collect())
}

async fn stale(around: &Around) -> Result<Vec<String>, Failure> {
    let swept = sandboxes(around).await?.sweep().await?;
    Ok(swept.iter().map(|run| format!("rendezvous directory {} removed", run.as_str())).collect())
}
