//! The machine's approvals document on disk.
//!
//! | file | concern |
//! |---|---|
//! | [`local`] | what holds on this machine: the document, and floors beside it |
//! | `look` | which files there are, and their texts |
//! | `read` | the same kept in memory while no file changes |
//! | `row` | the policy of a newer `OpenClaw`, read from its database |
//! | `file` | one file: read safely, replaced at once |
//! | `lock` | one writer at a time, over all processes |
//! | [`mod@write`] | changes: read again, change, replace |
//! | [`change`] | what others change: new entries, usage |
//! | [`lists`] | what people change: one entry of one list |
//! | [`import`] | a row of the database becomes a document |
//! | `tighten` | its mode mended |
//! | [`error`] | why the document was not changed |
//!
//! What the store holds to: a file that cannot be understood is never written over and opens nothing that was closed;
//! a file that says the same is not touched; nobody's change is lost, because each reads again under the lock and
//! changes only what it means to change. `OpenClaw`'s database is never written.

pub mod change;
pub mod error;
mod file;
pub mod import;
pub mod lists;
pub mod local;
mod lock;
mod look;
mod read;
mod row;
mod tighten;
pub mod write;

pub use change::{Use, add_entries, touch};
pub use error::StoreError;
pub use local::{Floor, Local};
pub use read::{names_main_default, peek, read};
pub use tighten::tighten;
pub use write::{edit, rewrite, set};

/// The file's name in the state directory.
pub const FILE_NAME: &str = "exec-approvals.json";

#[cfg(test)]
mod tests;
