//! Pools of ready containers on the real engine: filled, claimed, drained, and found again after every death.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failure here is a failed test"
)]

mod claim;
mod deaths;
mod home;
mod keeper;
