//! From the configuration to a sandbox on the real engine and out of it again: what is refused, what arrives, who is
//! kept, who goes.

#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "runs creel and the docker client, as a person does")]

mod foreign;
mod home;
mod library;
mod options;
mod prune;
mod recreate;
mod setup;
mod stamps;
mod states;
mod targets;
