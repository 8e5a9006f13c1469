//! `creel approvals`, `creel exec-policy` and what the doctor says of approvals, from outside.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failure here is a failed test")]
#![expect(clippy::disallowed_methods, reason = "what is tested here is a program")]

mod doctor;
mod document;
mod home;
mod lists;
mod policy;
mod writers;
