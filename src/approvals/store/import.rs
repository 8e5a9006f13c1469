//! A row of `OpenClaw`'s database becomes creel's document (design §1). The database stays as it is.

use std::path::Path;

use super::file::replace;
use super::look::{look, own, shared};
use super::read::keep_locked;
use super::row::{self, Row};
use super::{StoreError, lock};
use crate::approvals::document::{Agent, Document, Rules};
use crate::config::exec::{Ask, Security};
use crate::error::Report;
use crate::session::AgentId;
use crate::state::StateDir;

/// Whether there is a row to import, and no document in its way.
pub fn waits(state: &StateDir) -> bool {
    matches!(row::read(state), Row::Policy(_)) && shared(state).symlink_metadata().is_err()
}

/// Writes the row's policy into `exec-approvals.json`. A document that creel has kept beside `OpenClaw` goes into it, and
/// what either restricts is restricted; the old one stays under another name. Returns what was done.
///
/// # Errors
///
/// Where `OpenClaw` has the database open, or row or document cannot be used; nothing is changed then.
pub fn import(state: &StateDir) -> Result<Vec<String>, StoreError> {
    let _lock = lock::take(state)?;
    let (path, own, locator) = (shared(state), own(state), row::locator(state));
    if row::in_use(state) {
        return Err(StoreError::Refused(in_use(&locator)));
    }
    let text = match row::read(state) {
        Row::Policy(text) if path.symlink_metadata().is_err() => text,
        Row::Unreadable(reason) => return Err(StoreError::Io { path: locator, reason }),
        _ => return Ok(Vec::new()),
    };
    let row = Document::parse(&text, &locator)?;
    let mut told = vec![format!("{}: policy of {} imported", path.display(), locator.display())];
    let beside = look(state);
    let text = match &beside.text {
        Ok(None) => text,
        Ok(Some(kept)) => merged(&row, &Document::parse(kept, &own)?).to_file(&path)?,
        Err(reason) => return Err(StoreError::Io { path: own, reason: reason.clone() }),
    };
    if !replace(&path, &Ok(None), &text)? {
        return Err(StoreError::Changed(path));
    }
    keep_locked(state, &text)?;
    if matches!(beside.text, Ok(Some(_))) {
        let name = own.with_extension("json.imported");
        std::fs::rename(&own, &name)
            .map_err(|error| StoreError::Io { path: own.clone(), reason: error.to_string() })?;
        told.push(format!("{}: merged into it, and kept as {}", own.display(), name.display()));
    }
    Ok(told)
}

fn in_use(locator: &Path) -> Report {
    Report {
        code: "CRL-APPROVALS-014",
        message: format!("{} is not imported: OpenClaw has its database open", locator.display()),
        rule: Some(locator.display().to_string()),
        fix: "stop OpenClaw's gateway and node hosts first; until then the row holds as a floor".to_owned(),
    }
}

/// One document that restricts what either restricts: for every agent the stricter value, and the entries of both.
fn merged(row: &Document, own: &Document) -> Document {
    let strictest = |agent: Option<&AgentId>| stricter(row, own, agent);
    let mut all = Document {
        socket: own.socket.clone(),
        defaults: Rules {
            denylist: [&row.defaults.denylist[..], &own.defaults.denylist[..]].concat(),
            unknown: both(&row.defaults.unknown, &own.defaults.unknown),
            ..strictest(None)
        },
        agents: Vec::new(),
        unknown: both(&row.unknown, &own.unknown),
    };
    all.socket.path = all.socket.path.or_else(|| row.socket.path.clone());
    all.socket.token = all.socket.token.or_else(|| row.socket.token.clone());
    for agent in row.agents.iter().chain(&own.agents) {
        all.change_agent(&agent.id, |into| join(into, agent));
        if let Ok(id) = AgentId::parse(&agent.id)
            && agent.is(&id)
        {
            // All that `*` and the defaults say is in it.
            all.change_agent(&agent.id, |into| {
                let kept = std::mem::take(&mut into.rules);
                into.rules = Rules { denylist: kept.denylist, unknown: kept.unknown, ..strictest(Some(&id)) };
            });
        }
    }
    all
}

fn join(into: &mut Agent, agent: &Agent) {
    for entry in &agent.allowlist {
        super::change::add(&mut into.allowlist, entry.clone());
    }
    for entry in &agent.rules.denylist {
        super::change::add(&mut into.rules.denylist, entry.clone());
    }
    into.mcp_tools.extend(agent.mcp_tools.iter().cloned());
    into.rules.unknown = both(&into.rules.unknown, &agent.rules.unknown);
}

type Unknown = crate::approvals::document::types::Unknown;

fn both(one: &Unknown, other: &Unknown) -> Unknown {
    one.iter().chain(other).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// What both documents say for an agent. Nothing said is what is requested; of the fallback `deny`, of skills no.
fn stricter(one: &Document, other: &Document, agent: Option<&AgentId>) -> Rules {
    let (one, other) = (one.rules(agent), other.rules(agent));
    let security = |set: &Option<crate::config::reader::Set<Security>>| set.as_ref().map(|set| set.value);
    let ask = |set: &Option<crate::config::reader::Set<Ask>>| set.as_ref().map(|set| set.value);
    let fallback = |set| security(set).unwrap_or(Security::Deny);
    let said = one.ask_fallback.is_some() || other.ask_fallback.is_some();
    let skills = |set: &Option<crate::config::reader::Set<bool>>| set.as_ref().is_some_and(|set| set.value);
    let skilled = one.auto_allow_skills.is_some() || other.auto_allow_skills.is_some();
    Rules {
        security: security(&one.security).into_iter().chain(security(&other.security)).min(),
        ask: ask(&one.ask).into_iter().chain(ask(&other.ask)).max(),
        ask_fallback: said.then(|| fallback(&one.ask_fallback).min(fallback(&other.ask_fallback))),
        auto_allow_skills: skilled
            .then(|| skills(&one.auto_allow_skills) && skills(&other.auto_allow_skills)),
        ..Rules::default()
    }
}
