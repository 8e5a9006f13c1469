//! Session keys, and the names and directories that follow from them. Pure.

mod key;
mod name;
mod scope;
mod select;
mod stamp;

pub use key::{AgentId, SessionError, SessionKey};
pub use name::{container_name, digest, slug};
pub use scope::{Scope, ScopeKey, agent_workspace, attachments, sandbox_workspace, skills};
pub use select::{Selection, agent_of, recreate_hint, session_of, stands_alone};
pub use stamp::{Isolation, Stamp};
