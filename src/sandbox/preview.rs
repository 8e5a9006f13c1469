//! What a request would become, and what the files say of the sandbox under its name. Nothing is made, nothing is
//! asked of an engine, nothing is proven: for inspection.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::files::Layout;
use super::init_binary::InitBinary;
use super::lease;
use super::record::Record;
use super::request::{Identity, SandboxRequest};
use super::spec::{self, Context};
use super::user::{Choice, SANDBOX_ID, Situation, choose};
use super::workspace;
use crate::engine::{ContainerSpec, ImageFacts};
use crate::state::StateDir;

/// The container that a request asks for: the image by reference, init by its name, no rendezvous, no labels. The
/// engine counts as one that runs as root.
pub fn preview(request: &SandboxRequest) -> ContainerSpec {
    let (image, init, user) = (image(&request.image), no_init(), user(request, false));
    spec::shape(
        request,
        &Context { image: &image, init: &init, user: &user, identities: &BTreeMap::new(), nonce: false },
    )
}

/// What the files of a state directory say of a sandbox.
#[derive(Debug)]
pub struct Stored {
    /// The record of its last proof.
    pub record: Record,
    /// Processes that use it now.
    pub leases: usize,
    /// Its last use.
    pub last_used: Option<SystemTime>,
    /// What a request asks for otherwise, key by key; the version of init apart.
    pub drift: Vec<String>,
}

/// Looks; `None` where no sandbox of that name was ever proven. `image_id` is the id that the reference means now, where
/// the engine said so.
pub fn stored(
    state: &StateDir,
    request: &SandboxRequest,
    image_id: Option<&str>,
    rootless: bool,
) -> Option<Stored> {
    // Without an installation there is no sandbox, and looking must not make one.
    state.known_installation()?;
    let layout = Layout::new(state);
    let record = Record::load(&layout, &request.name)?;
    let facts = image(image_id.unwrap_or(&record.image));
    let mut identities: BTreeMap<String, Identity> =
        request.binds.iter().map(|bind| (bind.target.clone(), bind.held.identity)).collect();
    if let Ok(identity) = workspace::identity(&request.workspace.dir) {
        identities.insert(request.workspace.target.clone(), identity);
    }
    let (init, user) = (no_init(), user(request, rootless));
    let nonce = record.nonce.is_some();
    let context = Context { image: &facts, init: &init, user: &user, identities: &identities, nonce };
    let wanted = spec::inputs(request, &context);
    Some(Stored {
        leases: lease::count(&layout, &request.name).unwrap_or(0),
        last_used: layout.last_used(&request.name),
        drift: record.inputs.drift_apart_from_init(&wanted),
        record,
    })
}

fn image(id: &str) -> ImageFacts {
    ImageFacts {
        id: id.to_owned(),
        tags: Vec::new(),
        env: Vec::new(),
        user: String::new(),
        entrypoint: Vec::new(),
        labels: BTreeMap::new(),
        size: 0,
        created: String::new(),
    }
}

fn no_init() -> InitBinary {
    InitBinary {
        path: PathBuf::from("creel-init"),
        digest: String::new(),
        identity: Identity { dev: 0, ino: 0 },
    }
}

/// As at the first command.
pub(super) fn user(request: &SandboxRequest, rootless: bool) -> String {
    let own_uid = rustix::process::geteuid().as_raw();
    let dir = &request.workspace.dir;
    let given = request.workspace.owned_by_creel && own_uid == 0;
    let owner = match owner(dir) {
        Some(owner) if owner.0 != 0 || !given => owner,
        _ if given => (SANDBOX_ID, SANDBOX_ID),
        _ => (own_uid, rustix::process::getegid().as_raw()),
    };
    let situation = Situation { owner, own_uid, rootless };
    let Choice { user, .. } = choose(request.user.as_deref(), &request.cap_drop, situation);
    user
}

fn owner(dir: &Path) -> Option<(u32, u32)> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(dir).ok().map(|meta| (meta.uid(), meta.gid()))
}
