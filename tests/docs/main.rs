//! The documentation, held to what the program does: its examples, commands, links and lists.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests: a failure here is a failed test"
)]

mod commands;
mod engine;
mod examples;
mod explain;
mod library;
mod links;
mod lists;
mod make;
mod page;
