//! Decides whether a command may run, and is the only maker of a [`Permit`].

mod permit;

pub(crate) use permit::Names;
pub use permit::{Command, Permit};
