//! Frames and messages between the host and `creel-init`. Pure: bytes in, values out.

mod facts;

pub use facts::{Facts, PathFacts};
