//! What surrounds a command on the gateway's host: shell, PATH, snapshot, environment (spec `exec.md` §3, §4).

use super::Plan;
use crate::approvals::Permit;

/// Everything about the host that a plan needs, gathered before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostSetting {}

impl HostSetting {
    /// The exact argv, environment and directory. Pure.
    #[expect(clippy::todo, unused_variables, reason = "skeleton")]
    pub fn plan(&self, permit: &Permit, tty: bool) -> Plan {
        todo!()
    }
}
