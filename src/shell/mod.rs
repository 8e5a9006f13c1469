//! Commands as text and as argument lists: what would really run (spec `approvals.md` §4 to §8). Pure, but for what a script
//! or a link on disk says.
//!
//! | part | concern |
//! |---|---|
//! | [`analyse`] | the commands that a text would really run, or *cannot say* |
//! | [`guard`] | commands that are refused whatever the policy says |
//! | [`inline_eval`] | whether an argument list carries code for an interpreter |
//! | [`parse`] | shell text as a tree |
//! | [`preflight`] | a look at a Python or Node script before it runs; reads the file |
//! | [`quote`] | words as text that is exactly these words |
//! | [`words`] | the words of a text that are programs, for showing it |

pub mod analyse;
pub mod guard;
pub mod inline_eval;
mod lines;
pub mod parse;
pub mod preflight;
pub mod quote;
pub mod words;
