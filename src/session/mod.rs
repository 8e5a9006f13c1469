//! Session keys, and the names and directories that follow from them. Pure.

mod key;
mod name;
mod scope;
mod select;

pub use key::{AgentId, SessionError, SessionKey};
pub use name::{container_name, digest, slug};
pub use scope::{Scope, ScopeKey, agent_workspace, sandbox_workspace};
pub use select::{Selection, agent_of, recreate_hint, session_of};
