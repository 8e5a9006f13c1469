//! What holds on this machine, for the whole configuration and for each of its agents (spec `approvals.md` 16.08). Pure.

use serde::Serialize;

use super::document::EVERYBODY;
use super::policy::report::{self, Scope};
use super::policy::{Effective, Layers, Requested, effective};
use super::store::Local;
use crate::config::Config;
use crate::session::AgentId;

/// What is never in it (16.05).
const NOTE: &str =
    "Choices of a session (/exec, creel session) are not part of this report; they can only be seen there.";

/// All scopes.
#[derive(Debug, Clone, Serialize)]
pub struct Overview {
    /// What the report leaves out.
    pub note: &'static str,
    /// The whole configuration, then each agent that it names.
    pub scopes: Vec<Row>,
}

/// One scope.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Where it is configured.
    pub config_path: String,
    /// What holds.
    #[serde(flatten)]
    pub scope: Scope,
}

/// The policy of the gateway's host under its documents.
pub fn overview(config: &Config, local: &Local) -> Overview {
    let whole =
        Row { config_path: "tools.exec".to_owned(), scope: report::scope(&holds(config, local, None), None) };
    let agent = |agent: &crate::config::Agent| Row {
        config_path: format!("{}.tools.exec", agent.key),
        scope: report::scope(&holds(config, local, Some(&agent.id)), Some(agent.id.as_str())),
    };
    let scopes = std::iter::once(whole).chain(config.agents().iter().map(agent)).collect();
    Overview { note: NOTE, scopes }
}

/// What holds for an agent, or for one that has no block of its own.
pub fn holds(config: &Config, local: &Local, agent: Option<&AgentId>) -> Effective {
    let default = config.default_agent();
    let (global, own) = config.exec_layers(agent.unwrap_or(&default));
    let own = agent.and(own);
    let requested = Requested::of(&Layers { global: Some(global), agent: own, ..Layers::default() }, false);
    effective(&requested, &local.hosts(agent))
}

/// Agents of the document that the configuration does not know: their rules hold for nobody (field report I093).
pub fn strangers<'l>(config: &Config, local: &'l Local) -> Vec<&'l str> {
    let known = |id: &AgentId| config.known_agent(id, crate::config::NamedBy::Id).is_ok();
    let ids = local.held.document.agents.iter().map(|agent| agent.id.as_str());
    ids.filter(|id| *id != EVERYBODY && !AgentId::parse(id).is_ok_and(|id| known(&id))).collect()
}
