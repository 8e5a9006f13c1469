//! The command line from outside: real processes, real signals, a real terminal, a real engine.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]
#![expect(clippy::disallowed_methods, reason = "what is tested here is a program")]

mod errors;
mod exec;
mod home;
mod signals;
mod terminal;
mod tools;
