//! Sandboxes under attack and under failure, on a real engine: hostile commands, hostile neighbours, dead owners,
//! dead engines, many callers at once. Every test ends with a look at what is left: nothing may be.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test crate: a failure here is a failed test")]

mod adoption;
mod callers;
mod child;
mod container;
mod engine_restart;
mod home;
mod hostile;
mod last_words;
mod owner;
mod private_engine;
mod processes;
mod rendezvous;
mod tree;
