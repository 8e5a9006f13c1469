//! Images without a registry: recipes, and how to make them from distribution packages of the host.
//!
//! The pure parts (`recipe`, `ca`, `elf`, `rootfs`, `sources`, `reference`) say what an image consists of;
//! `build` and its helpers fetch packages and stream the result to the engine. Progress is told as events; nothing
//! here prints.

mod build;
mod busybox;
mod ca;
mod debian;
mod dockerfile;
mod elf;
mod error;
mod list;
mod lock;
mod own;
mod producer;
mod progress;
mod pull;
mod recipe;
mod reference;
mod registry;
mod rootfs;
mod sources;
mod tail;
mod tool;

pub use build::{Order, Outcome, build};
pub use ca::ExtraCa;
pub use error::ImageError;
pub use list::{Status, is_outdated, list, rebuild_hint};
pub use progress::{Event, Progress};
pub use pull::pull;
pub use recipe::{
    HOME, LABEL_CA, LABEL_IMAGE, LABEL_RECIPE, LABEL_SOURCE, PATH, Recipe, Source, USER, USER_ID, WORKSPACE,
    obtain,
};
pub use reference::Reference;
