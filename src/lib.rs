//! creel runs an agent's shell commands in hardened containers and says truthfully what happened.
//!
//! # Map of the house
//!
//! | module | concern |
//! |---|---|
//! | [`wire`] | frames and messages between host and `creel-init`; pure |
//! | [`init`] | PID 1 of a sandbox and the supervisor of each command; no async runtime |
//! | [`sys`] | every `unsafe` block |
//! | `engine` | the only module that speaks to a container engine |
//! | `sandbox` | spec, identity, create, adopt, prove; a file per operation |
//! | `runner` | spawn under a permit, over init or over the engine's exec API |
//! | `approvals` | the machine's document, the policy that holds, and the only maker of a permit |
//! | `shell` | what a command would really run; pure, but for reading a script before it runs |
//! | `policy` | which tools a session has, the gates of elevated; pure |
//! | `paths` | lexical and resolved path checks, bind specifications |
//! | `config` | JSON5 into typed values that remember where they were written |
//! | `session` | session keys |
//! | `doctor` | what is wrong and what helps; the boundary tried in a fresh sandbox |
//! | `audit` | what the configuration opens |
//! | `process` | process sessions: their table and store; their input, output and ends as values |
//! | `explain` | the state that holds, where it comes from, what changes it |
//! | `image` | images built without a registry |
//! | `keeper` | the process behind the command line: sessions and tools over its socket, pools |
//! | `client` | the library's front door: [`Sandbox`] |
//! | `shown` | text of others, fit to be shown; pure |
//! | `cli` | one file per subcommand; the only module that prints |
//!
//! # Invariants
//!
//! 1. `wire`, `policy`, the decisions, `shell` but for the look at a script or a link, and `process` but for its sessions,
//!    store and spool take values and return values: no clock, network, files or environment.
//! 2. No permit, no spawn: `runner` takes a `Permit`, which only `approvals` can make.
//! 3. Only `engine` speaks to the engine, only `cli` prints, only `sys` is unsafe.
//! 4. What comes out of a sandbox is hostile: it enters through `wire`, bounded.

pub mod init;
pub mod sys;
pub mod wire;

#[cfg(feature = "host")]
pub mod approvals;
#[cfg(feature = "host")]
pub mod audit;
#[cfg(feature = "host")]
pub mod cli;
#[cfg(feature = "host")]
pub mod client;
#[cfg(feature = "host")]
pub mod config;
#[cfg(feature = "host")]
pub mod doctor;
#[cfg(feature = "host")]
pub mod engine;
#[cfg(feature = "host")]
pub mod error;
#[cfg(feature = "host")]
pub mod explain;
#[cfg(feature = "host")]
pub mod host_tool;
#[cfg(feature = "host")]
pub mod image;
#[cfg(feature = "host")]
pub mod keeper;
#[cfg(feature = "host")]
pub mod observe;
#[cfg(feature = "host")]
pub mod paths;
#[cfg(feature = "host")]
pub mod policy;
#[cfg(feature = "host")]
pub mod process;
#[cfg(feature = "host")]
pub mod runner;
#[cfg(feature = "host")]
pub mod sandbox;
#[cfg(feature = "host")]
pub mod session;
#[cfg(feature = "host")]
pub mod shell;
pub mod shown;
#[cfg(feature = "host")]
pub mod state;
#[cfg(feature = "host")]
pub mod tools;

#[cfg(feature = "host")]
pub use client::{Call, Collected, RoadChoice, Sandbox, SandboxOptions};
