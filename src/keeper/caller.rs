//! Whose configuration and engine a call means: its caller's, also where the keeper was started with others.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::KeeperError;
use super::serve::Service;
use crate::client::SandboxOptions;
use crate::engine::Discovery;
use crate::error::Diagnose as _;
use crate::state::StateDir;
use crate::tools::Toolbox;

/// What a caller's own environment names. What is absent is the keeper's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// The configuration file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<PathBuf>,
    /// The engine, as [`Discovery::named`] has it; empty where one is looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
}

impl Caller {
    /// This process, for a state directory.
    pub fn this_process(state: &StateDir) -> Self {
        let located = SandboxOptions::default().state(state.root()).located();
        let engine = Discovery::from_process(None).named().unwrap_or_default();
        Self { config: located.ok().map(|located| located.path), engine: Some(engine) }
    }

    /// The tools as this caller means them; `None` where that is how they are. Its configuration decides; no sandbox is
    /// opened on another engine than the keeper's, on which it would not be found again.
    pub(super) fn tools(&self, toolbox: &Toolbox) -> Option<Arc<dyn Service>> {
        let own = toolbox.base.located().ok().map(|located| located.path);
        let other_file = self.config.clone().filter(|file| Some(file) != own.as_ref());
        let keeper = Discovery::from_process(toolbox.base.engine_address());
        let other_engine = self.refusal(&keeper);
        if other_file.is_none() && other_engine.is_none() {
            return None;
        }
        let mut base = toolbox.base.clone();
        if let Some(file) = other_file {
            let place = toolbox.state.root().join(crate::config::FILE_NAME);
            base = base.reading(Some(file).filter(|file| *file != place || file.exists()));
        }
        if let Some(error) = other_engine {
            base = base.refusing(error.report());
        }
        Some(Arc::new(Toolbox { base, ..toolbox.clone() }))
    }

    /// Why nothing is opened for it, where it means another engine. A keeper that was given an engine is used with that
    /// by whoever names none.
    fn refusal(&self, keeper: &Discovery) -> Option<KeeperError> {
        let caller = self.engine.as_deref()?;
        let named = keeper.named().unwrap_or_default();
        let taken = caller == named || caller.is_empty() && keeper.explicit.is_some();
        (!taken).then(|| KeeperError::OtherEngine { keeper: engine(&named), caller: engine(caller) })
    }
}

/// An engine for people.
pub(super) fn engine(named: &str) -> String {
    if named.is_empty() { "the one that is found".to_owned() } else { named.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn discovery(explicit: Option<&str>, host: Option<&str>) -> Discovery {
        let mut found = Discovery::from_process(explicit.map(str::to_owned));
        found.env = host.map(|host| ("DOCKER_HOST".to_owned(), host.to_owned())).into_iter().collect();
        found
    }

    #[test]
    fn another_engine_is_refused_and_both_are_named() {
        let refuses = |caller: Option<&str>, keeper: &Discovery| {
            let caller = Caller { engine: caller.map(str::to_owned), ..Caller::default() };
            caller.refusal(keeper).map(|error| error.to_string())
        };
        let (none, host) = (discovery(None, None), discovery(None, Some("unix:///a")));
        let flag = discovery(Some("unix:///f"), None);
        for (caller, keeper) in
            [(None, &host), (Some(""), &none), (Some("unix:///a"), &host), (Some(""), &flag)]
        {
            assert_eq!(refuses(caller, keeper), None, "{caller:?}");
        }
        for (caller, keeper) in
            [("", &host), ("unix:///b", &host), ("unix:///b", &none), ("unix:///b", &flag)]
        {
            assert!(refuses(Some(caller), keeper).is_some(), "{caller:?}");
        }
        let text = refuses(Some("unix:///b"), &host).unwrap();
        assert!(text.contains("unix:///a") && text.contains("unix:///b"), "{text}");
    }
}
