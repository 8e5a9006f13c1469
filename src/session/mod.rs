//! Session keys, and the names and directories that follow from them. Pure.

mod key;
mod name;
mod scope;

pub use key::{AgentId, SessionError, SessionKey};
pub use name::{container_name, digest, slug};
pub use scope::{Scope, ScopeKey, agent_workspace, sandbox_workspace};
