//! Runs a command under a permit: over the sandbox's init, or over the engine's exec API where init cannot be used.
//!
//! It never decides: what it is handed is a [`Permit`](crate::approvals::Permit), and it runs that.

mod error;
mod link;
mod meet;

pub use error::LinkError;
pub use link::{Channel, Event, Link};
