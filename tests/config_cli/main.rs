//! `creel config` and `creel sandbox explain` from outside. Explaining a running sandbox needs a real engine.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failure here is a failed test")]
#![expect(clippy::disallowed_methods, reason = "what is tested here is a program")]

mod config;
mod explain;
mod home;
mod large;
mod protected;
