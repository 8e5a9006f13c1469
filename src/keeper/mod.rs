//! The process behind the command line (design §3): one for each state directory, by a file lock. It starts on demand
//! and ends when nobody wants anything of it.
//!
//! It holds the process sessions and answers tool calls over its socket, and keeps pools filled. Whatever dies with it
//! is found by the next one: its lock is the kernel's, sessions and events are stored, their commands live under their
//! own init, and each container that waits has an entry and labels, see [`crate::sandbox::pool`].
//!
//! | file | concern |
//! |---|---|
//! | `life` | its life: lock, serve, end |
//! | `serve` | its side of the socket |
//! | [`client`] | the other side: connect, start one where none is, call again |
//! | `approvals` | the approval socket |
//! | `caller` | whose configuration and engine a call means |
//! | `message` | what is said; pure |
//! | `lines` | lines of bounded length |
//! | `socket` | where the socket is, who may speak over it |
//! | `pools` | pools: look, fill, wait, drain |
//! | `plan` | what is too much and what is missing in pools; pure |
//! | `start` | starts one |
//! | `toolbox` | what is served: tools and sessions |
//! | `wake` | waits until a file changes |

mod approvals;
mod caller;
pub mod client;
mod error;
mod life;
mod lines;
mod message;
mod plan;
mod pools;
mod serve;
mod socket;
mod start;
mod toolbox;
mod wake;

use std::time::Duration;

pub use caller::Caller;
pub use client::{
    Connection, Gone, Keepers, News, Pending, Repeat, connect, connect_to_running, own_program,
    repeatable_action,
};
pub use error::{KeeperError, Told};
pub use life::{Ended, Keeper, Open};
pub use message::{Answer, Hello, MAX_ANSWER, MAX_REQUEST, PROTOCOL, Request, build};
pub use pools::Pools;
pub use serve::{GRACE, Row, Service};
pub use start::start;
pub use toolbox::toolbox;

/// How the ids begin that creel gives to calls without one.
pub const OWN_IDS: &str = "creel-";
/// A pool that nobody wanted for this long is emptied.
pub const IDLE: Duration = Duration::from_mins(15);
