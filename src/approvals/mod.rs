//! Decides whether a command may run, and is the only maker of a [`Permit`].
//!
//! | part | concern |
//! |---|---|
//! | [`document`] | what the machine's owner has written: `exec-approvals.json`; pure |
//! | [`policy`] | what of it and of the configuration holds, and what follows for a command; pure |
//! | `permit` | proof of a decision |

pub mod document;
mod permit;
pub mod policy;

pub(crate) use permit::Names;
pub use permit::{Command, Permit};
