//! Commands beside the gateway, under a supervisor of their own: real processes of this machine, no container.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test crate: a failure here is a failed test"
)]

mod ground;
mod limits;
mod plain;
mod takeover;
mod terminal;
mod tree;
