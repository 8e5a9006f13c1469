//! What is known of this machine, as values: the checks see nothing else.

use std::path::PathBuf;

use crate::approvals::safe_bins::Problem as SafeBinProblem;
use crate::approvals::store::Local;
use crate::approvals::store::lists::Waiting;
use crate::config::{Config, ConfigError, Document, Places, Problem};
use crate::engine::discover::Attempt;
use crate::engine::{Capabilities, EngineFacts};
use crate::error::Report;
use crate::sandbox::Listed;

/// Everything that was looked at.
#[derive(Debug)]
pub struct Facts {
    /// The configuration.
    pub config: ConfigLook,
    /// The approvals document.
    pub approvals: ApprovalsLook,
    /// The state directory.
    pub state: StateLook,
    /// creel-init: where it is, or why there is none.
    pub init: Result<PathBuf, Report>,
    /// The engine.
    pub engine: EngineLook,
    /// Every image that an agent's sandboxes are made from; empty where no engine answered.
    pub images: Vec<ImageLook>,
    /// The sandboxes of this installation; `None` where they could not be listed.
    pub sandboxes: Option<Vec<Listed>>,
    /// Rendezvous directories that no container carries.
    pub stale_runs: Vec<String>,
    /// Container, agent, and what the configuration asks for otherwise.
    pub drift: Vec<(String, String, Vec<String>)>,
}

/// The configuration as far as it could be read.
#[derive(Debug)]
pub struct ConfigLook {
    /// The file.
    pub file: PathBuf,
    /// There is one.
    pub present: bool,
    /// Its mode bits.
    pub mode: Option<u32>,
    /// Its values and positions, where it parses.
    pub document: Option<Document>,
    /// The typed values, where they are sound.
    pub config: Result<Config, ConfigError>,
    /// Binds and profiles that a first command would be refused for.
    pub refused_here: Vec<Problem>,
    /// What relative paths in it are relative to.
    pub places: Places,
    /// Files of a former registry of sandboxes.
    pub registry_files: Vec<PathBuf>,
}

/// The approvals document.
#[derive(Debug)]
pub struct ApprovalsLook {
    /// What holds.
    pub local: Local,
    /// The mode bits of its file.
    pub mode: Option<u32>,
    /// Approvals that match nothing until they are given again.
    pub waiting: Vec<Waiting>,
    /// A policy of `OpenClaw`'s database could become the document.
    pub importable: bool,
    /// The file names the agent `main` as former versions did.
    pub former_main: bool,
    /// Programs that are configured as filters, once for each list.
    pub safe_bins: Vec<SafeBinLook>,
}

/// One list of programs that only filter.
#[derive(Debug)]
pub struct SafeBinLook {
    /// The key of the list.
    pub key: String,
    /// Entries without effect.
    pub problems: Vec<SafeBinProblem>,
    /// Programs that are found outside every trusted directory.
    pub outside: Vec<(String, PathBuf)>,
}

/// The state directory.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct StateLook {
    /// The directory.
    pub root: PathBuf,
    /// It, or the nearest directory above it that is there, is mounted without leave to execute.
    pub noexec: bool,
    /// Directories of creel's own that other users may enter, with their modes.
    pub open: Vec<(PathBuf, u32)>,
    /// Directories of creel's own that belong to another user, with the user's id.
    pub foreign: Vec<(PathBuf, u32)>,
    /// It cannot be written.
    pub read_only: bool,
    /// Others than its owner can write to it.
    pub writable_by_others: bool,
    /// What stands where creel's own directories should be, and what it is.
    pub not_own: Vec<(PathBuf, &'static str)>,
}

/// The engine.
#[derive(Debug, Default)]
pub struct EngineLook {
    /// What its ping tells.
    pub facts: Option<EngineFacts>,
    /// What it says of itself.
    pub capabilities: Option<Capabilities>,
    /// Places asked in vain.
    pub tried: Vec<Attempt>,
    /// Why it does not serve.
    pub error: Option<Report>,
}

/// An image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageLook {
    /// The reference.
    pub reference: String,
    /// Who uses it.
    pub agents: Vec<String>,
    /// The key that names it, and its place; `None` for the built-in default.
    pub rule: Option<String>,
    /// The engine has it.
    pub present: bool,
    /// It is older than its recipe.
    pub outdated: bool,
}
