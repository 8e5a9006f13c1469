//! What goes into a terminal and what can be seen on it (spec `exec.md` §7, §8). Pure.
//!
//! | file | concern |
//! |---|---|
//! | [`decode`] | bytes in pieces into characters |
//! | [`record`] | what is known of one process session |
//! | [`sessions`] | the table of them, durable |
//! | [`keys`] | named keys, hex, text and pastes into bytes; which cursor key mode a program has announced |
//! | [`screen`] | output into rows of text, and what can be waited for |

pub mod decode;
pub mod keys;
pub mod record;
pub mod screen;
pub mod sessions;
