//! The process behind the command line (design §3): one for each state directory, by a file lock. It starts on demand,
//! ends when nobody wants anything of it, and takes its containers with it.
//!
//! So far it keeps pools filled. Whatever dies with it is found by the next creel: its lock is the kernel's, and each
//! container that waits has an entry and labels, see [`crate::sandbox::pool`].
//!
//! | file | concern |
//! |---|---|
//! | `plan` | what is too much and what is missing; pure |
//! | `run` | its life: look, fill, wait, drain |
//! | `start` | starts one where none is |
//! | `wake` | waits until a wish or a place changes |

mod plan;
mod run;
mod start;
mod wake;

use std::time::Duration;

pub use run::{Ended, Keeper};
pub use start::start;

/// A pool that nobody wanted for this long is emptied; without any the keeper ends.
pub const IDLE: Duration = Duration::from_mins(15);
