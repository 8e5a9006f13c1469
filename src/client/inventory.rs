//! Every sandbox of an installation beside what the configuration asks for now (spec `sandbox.md` §21).

use serde::Serialize;

use super::SandboxOptions;
use crate::error::Failure;
use crate::runner::Transport;
use crate::sandbox::{self, ByLink, Check, Listed, Record, Rule, Sandboxes};
use crate::session;

/// One sandbox: upstream's fields of its registry, then creel's own.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Runtime {
    /// What the engine and the files say.
    #[serde(flatten)]
    pub listed: Listed,
    /// `docker` or `podman`.
    pub backend_id: &'static str,
    /// What people call it: its container's name.
    pub runtime_label: String,
    /// What `image` is.
    pub config_label_kind: &'static str,
    /// The directory of the host that commands work in, where its proof tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_dir: Option<String>,
    /// Its image is the one that its owner's configuration names, and the name still means it.
    pub image_match: bool,
    /// What its owner's configuration asks for otherwise, key by key; the version of init apart. `None` where that
    /// cannot be told, see `not_compared`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<Vec<String>>,
    /// There is no drift.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash_match: Option<bool>,
    /// Why it was not compared with the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<String>,
    /// The road that its commands take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// Mounts as they were proven.
    pub mounts: Vec<Check>,
    /// The command that makes it anew; empty for what creel did not make.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub recreate: String,
}

impl Runtime {
    /// It is not what the configuration asks for now. What creel did not make is nothing that creel makes anew.
    pub fn mismatched(&self) -> bool {
        self.listed.not_made.is_none() && (!self.image_match || self.hash_match == Some(false))
    }
}

/// What the configuration says of a sandbox.
struct Compared {
    image: String,
    drift: Vec<String>,
}

/// Looks at all sandboxes of an installation. `options` say which configuration and state directory are meant; one
/// that cannot be read compares nothing and hides nothing.
///
/// # Errors
///
/// When the engine does not answer.
pub async fn inventory(sandboxes: &Sandboxes, options: &SandboxOptions) -> Result<Vec<Runtime>, Failure> {
    let mut all = Vec::new();
    for listed in sandboxes.survey(&ByLink).await? {
        let record = sandboxes.proof_of(&listed);
        let compared = compare(sandboxes, options, &listed);
        all.push(runtime(listed, record, compared, sandboxes.backend_id()));
    }
    Ok(all)
}

fn runtime(
    mut listed: Listed,
    record: Option<Record>,
    compared: Result<Compared, String>,
    backend_id: &'static str,
) -> Runtime {
    // As upstream's registry has it: made is used.
    listed.last_used_at_ms = listed.last_used_at_ms.or(Some(listed.created_at_ms));
    let (image, drift, not_compared) = match compared {
        Ok(Compared { image, drift }) => (Some(image), Some(drift).filter(|_| record.is_some()), None),
        Err(reason) => (None, None, Some(reason)),
    };
    let same = image.is_none_or(|image| image == listed.image);
    let is_mount = |check: &&Check| check.rule == Rule::Mount;
    Runtime {
        backend_id,
        runtime_label: listed.name.clone(),
        config_label_kind: "Image",
        workspace_dir: record.as_ref().and_then(|record| record.inputs.workspace().map(str::to_owned)),
        image_match: same && listed.image_match != Some(false) && listed.not_made.is_none(),
        hash_match: drift.as_ref().map(Vec::is_empty),
        drift,
        not_compared,
        transport: record
            .as_ref()
            .map(|record| if record.outside { Transport::Engine } else { Transport::Init }),
        mounts: record
            .map(|record| record.hardening.checks.iter().filter(is_mount).cloned().collect())
            .unwrap_or_default(),
        recreate: match listed.not_made {
            None => session::recreate_hint(&listed.session_key),
            Some(_) => String::new(),
        },
        listed,
    }
}

/// Asks for the sandbox of the scope's session as its first command would.
fn compare(sandboxes: &Sandboxes, options: &SandboxOptions, listed: &Listed) -> Result<Compared, String> {
    if let Some(why) = &listed.not_made {
        return Err(format!("it is {why}"));
    }
    if listed.pool.is_some() {
        return Err("it waits in a pool, and no session has it yet".to_owned());
    }
    let key = &listed.session_key;
    let other = || "it was made with options of its own (--image, --workspace, --bind)".to_owned();
    if session::stands_alone(key) {
        return Err("it is one session's or one creator's own, and the key does not tell whose".to_owned());
    }
    let session = session::session_of(key).ok_or_else(other)?;
    let asks = if key == "shared" { options.clone() } else { options.clone().session(session.as_str()) };
    let preview = asks.preview().map_err(|failure| failure.0.message)?;
    if preview.request.name.as_str() != listed.name {
        return Err(if key.contains(":variant:workspace:") {
            other()
        } else {
            "no session has this sandbox under the configuration of now".to_owned()
        });
    }
    let image = listed.image_now.as_deref();
    let stored = sandbox::stored(&preview.state, &preview.request, image, sandboxes.rootless());
    Ok(Compared {
        image: preview.request.image,
        drift: stored.map(|stored| stored.drift).unwrap_or_default(),
    })
}
