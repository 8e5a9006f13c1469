//! Decides whether a command may run, and is the only maker of a [`Permit`].
//!
//! | part | concern |
//! |---|---|
//! | [`document`] | what the machine's owner has written: `exec-approvals.json`; pure |
//! | [`policy`] | what of it and of the configuration holds, and what follows for a command; pure |
//! | [`mod@file`] | the document on disk, and the last good one |
//! | [`denied`] | how a refusal of a host is told |
//! | [`host`] | whether a command may run outside every sandbox |
//! | `permit`, `host_permit` | proof of a decision: for a sandbox, for a host |

pub mod denied;
pub mod document;
pub mod file;
pub mod host;
mod host_permit;
mod permit;
pub mod policy;

pub use host_permit::{Ground, HostCommand, HostPermit};
pub(crate) use permit::Names;
pub use permit::{Command, Permit};
