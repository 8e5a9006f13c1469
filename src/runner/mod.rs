//! Runs a command under a permit: over the sandbox's init, or over the engine's exec API where init cannot be used.
//!
//! It never decides: what it is handed is a [`Permit`](crate::approvals::Permit), and it runs that.

mod aggregate;
mod awaited;
mod channel;
mod describe;
mod engine_errand;
mod engine_input;
mod engine_run;
mod error;
pub mod host;
pub mod host_plan;
mod limits;
mod link;
mod meet;
mod outcome;
mod peer;
mod pinned;
mod plan;
mod result;
mod running;

pub use aggregate::{Aggregate, MAX_CHARS};
pub use awaited::Awaited;
pub use channel::Channel;
pub use describe::Asked;
pub use error::{LinkError, RunError};
pub use limits::Limits;
pub use link::{Event, Link};
pub use outcome::{
    Capabilities, Certainty, Death, HeldBy, HeldLimits, Outcome, Processes, StartFailure, Transport, Usage,
};

pub use plan::{Plan, Setting};
pub use result::ExecResult;
pub(crate) use result::{classify, signal_name};
pub use running::{Options, Progress, Road, Running, fresh_id, start, start_as, start_on_host};
