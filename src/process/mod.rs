//! What goes into a command and what is seen of it (spec `exec.md` §6–§8): process sessions, their input, their output.
//! Everything but `sessions`, `store` and `spool` is pure.
//!
//! | file | concern |
//! |---|---|
//! | [`decode`] | bytes in pieces into characters |
//! | [`text`] | output made fit to be shown |
//! | [`record`] | what is known of one process session |
//! | [`ending`] | how a session ended, classified |
//! | [`said`] | what results say of it |
//! | [`notice`] | the notice that follows its end |
//! | [`name`], [`duration`], [`shorten`] | what lists show of it |
//! | [`lines`] | the lines that a log is asked for |
//! | [`sessions`] | the table of them, durable |
//! | [`store`] | their index and their events, in a database |
//! | [`spool`] | their output, in files |
//! | [`keys`] | named keys, hex, text and pastes into bytes; which cursor key mode a program has announced |
//! | [`screen`] | output into rows of text, and what can be waited for |

pub mod decode;
pub mod duration;
pub mod ending;
#[cfg(test)]
pub(crate) mod fixture;
pub mod keys;
pub mod lines;
pub mod name;
pub mod notice;
pub mod record;
pub mod said;
pub mod screen;
pub mod sessions;
pub mod shorten;
pub mod spool;
pub mod store;
pub mod text;
