//! Commands beside the gateway: one detached creel-init each, which dials as that of a sandbox does (design §3, §10).

use std::path::Path;

use super::{Link, LinkError};

/// Starts a detached creel-init whose rendezvous is `dir` (made, 0700) and meets it. It outlives this process, is met
/// again with [`reach`], and ends when its command has ended and its result was taken over.
///
/// `init` is the installed binary. Nothing runs yet: the command is spawned over the link, under a permit.
#[expect(clippy::todo, clippy::unused_async, unused_variables, reason = "skeleton")]
pub async fn launch(init: &Path, dir: &Path) -> Result<Link, LinkError> {
    todo!()
}

/// Meets the supervisor of `dir` again; `None` when it has ended.
#[expect(clippy::todo, clippy::unused_async, unused_variables, reason = "skeleton")]
pub async fn reach(dir: &Path) -> Result<Option<Link>, LinkError> {
    todo!()
}
