//! Whose a sandbox is, and what its owner's configuration says of it now.

use crate::config::{Config, Places};
use crate::sandbox::Limits;
use crate::session;

/// The configuration that the owners of all sandboxes are looked up in.
#[derive(Debug, Clone)]
pub struct Owners {
    config: Config,
    places: Places,
}

impl Owners {
    pub(super) fn new(config: Config, places: Places) -> Self {
        Self { config, places }
    }

    /// Where a key stands, for the rule of a refusal.
    pub(super) fn place(&self, key: &str) -> String {
        self.config.origin(key).map_or_else(|| key.to_owned(), |origin| origin.to_string())
    }

    /// How long a sandbox with this scope key may be idle and how old it may become, by its owner's configuration
    /// (spec `sandbox.md` §12.2): the agent that the key names, the defaults for the shared one. `None` where that
    /// configuration is not sound.
    pub fn limits(&self, scope_key: &str) -> Option<Limits> {
        let sandbox = match session::agent_of(scope_key) {
            Some(agent) => self.config.sandbox(&agent, &self.places),
            None => self.config.shared_sandbox(&self.places),
        };
        sandbox.ok().map(|sandbox| sandbox.prune.limits())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_by_its_owner() {
        let text = "{agents: {defaults: {sandbox: {prune: {idleHours: 2}}}, list: [{id: 'main'}, {id: 'ops', \
                    sandbox: {prune: {idleHours: 0, maxAgeDays: 1}}}]}}";
        let config = Config::parse(text, Path::new("/c"), &|_| None).unwrap();
        let owners = Owners::new(config, Places { home: None, state: "/s".into() });
        let of = |key: &str| owners.limits(key).map(|limits| (limits.idle, limits.age)).unwrap();
        let day = Duration::from_hours(24);
        assert_eq!(of("shared"), (Duration::from_hours(2), 7 * day));
        assert_eq!(of("agent:main:x:workspace:0"), (Duration::from_hours(2), 7 * day));
        assert_eq!(of("agent:ops:workspace:0"), (Duration::ZERO, day));
    }
}
