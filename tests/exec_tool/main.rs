//! The `exec` tool as an agent calls it: over a real engine, with real processes, and with nothing in between.

mod host;
mod lab;
mod policy;
mod sandbox;
