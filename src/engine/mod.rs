//! Container engines with Docker's API. The only module that speaks to one, and the only one that knows bollard.
//!
//! | file | concern |
//! |---|---|
//! | `discover` | which places to ask, in order; pure |
//! | `probe` | asking them; facts from the answer |
//! | `client` | [`Engine`], deadlines around each call |
//! | `translate` | [`ContainerSpec`] into the engine's words; pure |
//! | `http`, `frames` | the raw connection of exec and how output is framed on it |
//! | `error`, `classify` | what went wrong and what helps |
//! | `daemon` | an engine that creel itself installs and starts |
//! | `proxy` | a filter before the engine's socket, for a creel in a container |
//! | others | an operation each |

mod attach;
mod build;
mod capabilities;
mod classify;
mod client;
mod create;
pub mod daemon;
mod deadlines;
pub mod discover;
mod endpoint;
mod error;
mod events;
mod exec;
mod exec_start;
mod frames;
mod http;
mod image;
mod image_tags;
mod import;
mod inspect;
mod kill;
mod list;
mod load;
mod logs;
mod name;
mod probe;
mod progress;
pub mod proxy;
mod pull;
mod remove;
mod rename;
mod spec;
mod start;
mod translate;

pub use attach::Input;
pub use build::BuildSpec;
pub use capabilities::Capabilities;
pub use client::Engine;
pub use deadlines::Deadlines;
pub use discover::Discovery;
pub use endpoint::Endpoint;
pub use error::EngineError;
pub use exec_start::{ExecOutput, ExecStream};
pub use probe::{EngineFacts, EngineKind};
pub use pull::RegistryAuth;
pub use spec::*;
