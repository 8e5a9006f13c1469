//! Container engines with Docker's API. The only module that speaks to one, and the only one that knows bollard.

mod spec;

pub use spec::*;
