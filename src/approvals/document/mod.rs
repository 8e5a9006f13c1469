//! `exec-approvals.json`: what a machine allows to run on it (spec `approvals.md` §1). Pure: text in, values out.
//!
//! | file | concern |
//! |---|---|
//! | [`types`] | the document |
//! | `read` | text into the document, every problem with its place |
//! | `shape` | typed reading of one object |
//! | `migrate` | forms of former versions |
//! | `write` | the document into text |
//! | [`lookup`] | what holds for an agent |
//! | [`held`] | which document holds when the file is missing or broken |
//! | [`error`] | why a text is refused |
//!
//! A document that is not understood as a whole is refused as a whole: a rule that is half read is no rule. Who has
//! no last good document then has [`Document::closed`], which allows nothing.

pub mod error;
pub mod held;
pub mod lookup;
mod migrate;
mod read;
mod shape;
pub mod types;
mod write;

pub use error::{DocumentError, Problem};
pub use held::{Found, Held, Standing, hold};
pub use lookup::AgentRules;
pub(crate) use read::unmarked;
pub use types::{Agent, Coverage, Document, Entry, McpGrant, Rules, Socket, Source, Token};

/// The largest document that is read, in bytes (spec `approvals.md` 1.25).
pub const MAX_BYTES: usize = 4 << 20;

/// The key of the agent that stands for all.
pub const EVERYBODY: &str = "*";

#[cfg(test)]
mod tests;
