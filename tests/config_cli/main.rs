//! `creel config`, `doctor`, `security` and `creel sandbox explain` from outside, on a real engine.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failure here is a failed test"
)]
#![expect(clippy::disallowed_methods, reason = "what is tested here is a program")]

mod config;
mod doctor;
mod explain;
mod home;
mod large;
mod mounts;
mod protected;
mod prove;
mod security;
