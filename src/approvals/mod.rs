//! Decides whether a command may run, and is the only maker of a [`Permit`].
//!
//! | part | concern |
//! |---|---|
//! | [`document`] | what the machine's owner has written: `exec-approvals.json`; pure |
//! | [`store`] | the document on disk: read, changed under a lock, the last good one |
//! | [`policy`] | what of it and of the configuration holds, and what follows for a command; pure |
//! | [`overview`] | what holds for every agent, for people; pure |
//! | [`exec_policy`] | one policy written to the document and the configuration; pure |
//! | [`programs`] | which file a command word means |
//! | [`allowlist`] | entries, compiled: does one cover a program with these arguments; pure |
//! | [`safe_bins`] | programs that only filter their input; pure |
//! | [`assess`] | what covers each command of a text; pure |
//! | [`remember`] | what "always" would write down; pure |
//! | [`enforce`] | the command as it is run, its programs pinned; pure |
//! | [`binding`] | what an approval binds: files and directories by identity, looked at again before the start |
//! | [`desk`] | questions that wait for a person, their answers, grants with a budget |
//! | [`review`] | the automatic reviewer |
//! | [`explain`] | one decision, told: every layer, the rule that decided, what would run, what would change it; pure |
//! | [`display`] | a command as it is shown to whoever decides; pure |
//! | [`denied`] | how a refusal of a host is told |
//! | [`host`] | whether a command may run outside every sandbox |
//! | `permit`, `host_permit` | proof of a decision: for a sandbox, for a host |

pub mod allowlist;
pub mod assess;
pub mod binding;
pub mod denied;
pub mod desk;
pub mod display;
pub mod document;
pub mod enforce;
pub mod exec_policy;
pub mod explain;
pub mod host;
mod host_permit;
mod missed;
pub mod overview;
mod permit;
pub mod policy;
pub mod programs;
mod project;
pub mod remember;
pub mod review;
pub mod safe_bins;
pub mod store;

pub use host_permit::{Ground, HostCommand, HostPermit};
pub(crate) use permit::Names;
pub use permit::{Command, Permit};
