//! `creel explain exec` and `creel policy test` as people use them: exit codes, what is told, and that what is told is true.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests: a failure here is a failed test; creel is run as a person does"
)]

mod changes;
mod home;
mod policy;
mod verdicts;
