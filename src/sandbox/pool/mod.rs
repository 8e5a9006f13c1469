//! Containers that wait: made, started and proven before a session asks, so that its first command needs no create.
//!
//! | file | concern |
//! |---|---|
//! | `entry` | what is kept about each that waits, and its name |
//! | `hold` | who keeps the pools of a state directory |
//! | `fill` | makes one more |
//! | `claim` | gives one to a session |
//! | `drain` | takes one away |
//! | `wishes` | for which configurations pools are wanted |
//!
//! # What a death leaves
//!
//! A container waits while its record of proof lies under its pool name. A claim takes that record away first and writes
//! the session's last, so a process that dies in between leaves a container without a record, which every path treats
//! as one that never became ready. No step needs another one to be undone.
//!
//! | died after | left | what the next creel does |
//! |---|---|---|
//! | the entry was written | an entry | removes it, or fills again |
//! | the container was made | one without a record | the same |
//! | its pool record was taken | the same | the same |
//! | it was renamed | one without a record under the session's name | makes a new one in its place |
//! | the workspace was moved | the same, with a workspace in which nothing ran but the set-up command | the same |
//! | the session's record was written | a sandbox | uses it, removes the entry |

mod claim;
mod drain;
mod entry;
mod fill;
mod hold;
mod wishes;

pub use entry::{Slot, Waiting, waiting};
pub use hold::{Hold, holder};
pub use wishes::{StoredWish, forget as forget_wishes, leave as leave_wish, read as read_wishes};
