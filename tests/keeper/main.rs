//! The keeper from outside: its socket, its life and its deaths, with real processes and real sockets.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "a failure here is a failed test"
)]
#![expect(clippy::disallowed_methods, reason = "what is tested here is a program")]

mod agents;
mod approvals;
mod callers;
mod deaths;
mod desk;
mod gone;
mod home;
mod inside;
mod people;
mod terminal;
mod transport;
