//! The `exec` tool as an agent calls it: over a real engine, with real processes, and with nothing in between.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test crate: a failure here is a failed test"
)]

mod approvals;
mod binding;
mod class9;
mod explain;
mod host;
mod lab;
mod policy;
mod reviews;
mod sandbox;
mod slow;
