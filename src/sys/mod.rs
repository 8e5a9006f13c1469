//! Every `unsafe` block of the crate, one file per kernel interface, each with the reason it is needed and sound.
//!
//! Nothing here decides anything; callers get safe functions that keep the kernel's own meaning.

mod attempt;
mod map;
mod pidfd;
mod process;
#[cfg(feature = "host")]
mod session;
mod spawn;
mod tty;
#[cfg(feature = "host")]
mod watch;

pub use attempt::far_reaching_call;
pub use map::{AnonMap, trim_heap};
pub use pidfd::signal_if;
pub use process::{Forked, Reaped, Usage, adopt, close_all_except, default_signals, exit_now, fork, reap};
#[cfg(feature = "host")]
pub use session::own_session;
pub use spawn::{SpawnFailure, SpawnPlan, SpawnStage, spawn};
pub use tty::{open_pty, set_window};
#[cfg(feature = "host")]
pub use watch::watch;
