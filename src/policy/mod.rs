//! Which tools a session has, and whether `exec` may leave the sandbox (spec `sandbox.md` §18, §19). Pure.
//!
//! Values in, values out: no clock, network, files or environment. [`crate::config`] reads the values; the
//! explanation is what the decision returns, never a second opinion.
//!
//! | file | concern |
//! |---|---|
//! | [`verdict`] | the order of verdicts |
//! | [`tables`] | groups, profiles, default lists |
//! | [`name`] | one spelling for each tool: aliases and groups |
//! | [`lists`] | `allow`, `alsoAllow`, `deny` as configured, with the keys that wrote them |
//! | [`matcher`] | which entry of a list covers a tool |
//! | [`mcp`] | names of MCP tools, and servers that need not be asked |
//! | [`sandbox`] | the lists that hold in a sandbox |
//! | [`steps`] | configuration and caller into an ordered pipeline |
//! | [`decide`] | the pipeline over a tool |
//! | [`audit`] | what the log says of it |
//! | [`blocked`] | what a person is told of a tool that the sandbox policy removed |
//! | [`sender`] | whether a list names the sender |
//! | [`elevated`] | the gates and levels of elevated |
//!
//! Every step can only remove. A denial is final: `deny` of any step beats `allow` of every other.

pub mod audit;
pub mod blocked;
pub mod decide;
pub mod elevated;
pub mod host_env;
pub mod lists;
pub mod matcher;
pub mod mcp;
pub mod name;
pub mod sandbox;
pub mod sender;
pub mod steps;
pub mod tables;
pub mod verdict;

pub use decide::{Judged, Kind, Policy, Removal, Sifted, Tool, changes};
pub use elevated::{ElevatedScope, Failing, Gate, Level};
pub use lists::{Entry, List, Lists, ProfileSet, ProviderScope, Scope, SenderScope};
pub use sandbox::{Layer, SandboxTools};
pub use sender::Sender;
pub use steps::{Caller, Rules, Subagent};
pub use tables::Profile;
pub use verdict::Verdict;

#[cfg(test)]
mod tests;
