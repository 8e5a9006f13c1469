//! Sandboxes: specified, made, proven, shared, removed. A file per operation; no engine's types in here.
//!
//! | file | concern |
//! |---|---|
//! | `request` | what a caller asks for |
//! | `spec`, `hash`, `labels`, `user` | request → container, and its identity; pure |
//! | `decide` | what to do with a container that is there already; pure |
//! | `prove` | asked for against enforced; pure |
//! | `files`, `lock`, `lease`, `record` | the state beside a container |
//! | `elf`, `init_binary`, `init_search`, `workspace`, `keep_out` | what is mounted, and what never |
//! | `meet`, `by_link`, `busy` | talking to a container's init |
//! | `place`, `host_places` | creel itself in a container: whose paths and mounts are whose |
//! | `ensure`, `create` | the way to a ready container |
//! | `blame` | which setting an engine's words are about; pure |
//! | `fate` | who goes and who stays, and why; pure |
//! | `pool` | containers that wait, ready, for the first session that wants such a one |
//! | `again` | back to a container in which commands were left running |
//! | `stop`, `list`, `prune` | and out of it |
//! | `preview` | what a request would become, and what the files say |
//!
//! The order of a start: lock → look → create → start → meet init → read the kernel's facts → compare → record →
//! ready. A failure after `create` removes what this attempt made, and nothing else.

mod again;
mod blame;
mod busy;
mod by_link;
mod by_proc;
mod create;
mod decide;
mod elf;
mod ensure;
mod error;
mod fate;
mod files;
mod hash;
mod host_places;
mod init_binary;
mod init_search;
mod keep_out;
pub mod labels;
mod lease;
mod list;
mod lock;
mod meet;
mod place;
pub mod pool;
mod preview;
pub mod prove;
mod prune;
mod record;
mod request;
mod spec;
mod stop;
mod user;
mod workspace;

use std::collections::BTreeMap;
use std::path::Path;

pub use again::Unmet;
pub use by_link::ByLink;
pub use by_proc::ByProc;
pub use ensure::{Ready, Timings};
pub use error::SandboxError;
pub use fate::{Fate, Limits, told};
pub use files::{Layout, RunId, erase};
pub use hash::{EPOCH, Inputs};
pub use init_binary::{InitBinary, install as install_init, locate as locate_init, locate_and_install};
pub use init_search::InitSearch;
pub use lease::Lease;
pub use list::Listed;
pub use meet::{Meet, MeetError, Probe};
pub use place::Place;
pub use preview::{Stored, preview, stored};
pub use prove::{Check, Hardening, Rule, Verdict};
pub use prune::{Owner, Pruned};
pub use record::Record;
pub use request::{
    ALLOW_UNENFORCED_KEY, Bind, DEFAULT_PIDS, Held, Identity, PoolRole, SandboxName, SandboxRequest,
    Workspace,
};
pub use spec::{HOME_TARGET, INIT_TARGET, MEET_TARGET};
pub use stop::InUse;
pub use user::SANDBOX_ID;
pub use workspace::make_mount_point;

use crate::engine::{Endpoint, Engine, EngineKind};
use crate::state::{InstallationId, StateDir};

/// The sandboxes of one installation on one engine.
#[derive(Debug, Clone)]
pub struct Sandboxes {
    engine: Engine,
    layout: Layout,
    installation: InstallationId,
    place: std::sync::Arc<tokio::sync::OnceCell<Place>>,
}

impl Sandboxes {
    /// Opens the sandboxes of the installation in `state`.
    ///
    /// # Errors
    ///
    /// When the state directory cannot be used.
    pub fn open(engine: Engine, state: &StateDir) -> Result<Self, SandboxError> {
        let installation = state.installation()?;
        Ok(Self { engine, layout: Layout::new(state), installation, place: std::sync::Arc::default() })
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The state files.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Upstream's name for the engine: `docker` or `podman`.
    pub fn backend_id(&self) -> &'static str {
        match self.engine.facts().kind {
            EngineKind::Podman => "podman",
            EngineKind::Docker | EngineKind::Other(_) => "docker",
        }
    }

    pub(crate) fn rootless(&self) -> bool {
        rootless(&self.engine.facts().endpoint)
    }
}

/// The engine is this user's own, without root: the owner of its socket tells, without another request.
pub fn rootless(endpoint: &Endpoint) -> bool {
    match endpoint {
        Endpoint::Unix(path) => owner(path).is_some_and(|uid| uid != 0),
        Endpoint::Tcp(_) => false,
    }
}

/// Identity of each bind's source by target.
fn identities(request: &SandboxRequest) -> BTreeMap<String, Identity> {
    request.binds.iter().map(|bind| (bind.target.clone(), bind.held.identity)).collect()
}

fn owner(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).ok().map(|meta| meta.uid())
}
