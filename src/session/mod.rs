//! Session keys, and the names and directories that follow from them; what a session has chosen for itself.
//!
//! | file | concern |
//! |---|---|
//! | `key`, `name`, `scope`, `select`, `stamp` | keys and what follows from them; pure |
//! | [`overrides`] | what `/exec` and `/elevated` set for a session; pure |
//! | [`directive`] | the same as people write it in a message; pure |
//! | [`chosen`] | the files that keep it |

pub mod chosen;
pub mod directive;
mod key;
mod name;
pub mod overrides;
mod scope;
mod select;
mod stamp;

pub use key::{AgentId, SessionError, SessionKey};
pub use name::{container_name, digest, slug};
pub use overrides::{Change, OverrideError, Overrides};
pub use scope::{Scope, ScopeKey, agent_workspace, attachments, sandbox_workspace, skills};
pub use select::{Selection, agent_of, recreate_hint, session_of, stands_alone};
pub use stamp::{Isolation, Stamp};
