//! Commands as text and as argument lists: what would really run. Pure (spec `approvals.md` §4 to §8).
//!
//! | part | concern |
//! |---|---|
//! | [`inline_eval`] | whether an argument list carries code for an interpreter |
//! | [`parse`] | shell text as a tree |

pub mod inline_eval;
pub mod parse;
