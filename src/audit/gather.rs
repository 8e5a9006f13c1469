//! What the audit needs of this machine: where binds lead, who may write to trusted directories, and which browser containers run.

use std::path::PathBuf;
use std::time::Duration;

use super::browser::{BrowserContainer, BrowserLook, LABEL};
use super::{raw, safe_bins};
use crate::approvals::safe_bins::writable;
use crate::config::substitute::substitute;
use crate::config::{Document, Places};
use crate::engine::{Discovery, Engine};
use crate::paths::deny::{DenyEnv, DenyList};
use crate::paths::{BindError, BindPolicy, validate};

/// How long the engine may take.
pub const BROWSER_TIME: Duration = Duration::from_secs(5);

/// Judges every bind that is written, with every flag on: what is refused then is refused always.
pub fn judge_binds(
    document: &Document,
    places: &Places,
    var: &dyn Fn(&str) -> Option<String>,
) -> Vec<BindError> {
    let deny = DenyList::new(&DenyEnv::from_vars(var, &places.state).with_os_home());
    let policy = BindPolicy::new(deny, &[]).allow_external(true).allow_reserved(true);
    let one = |(key, written): (String, &str)| {
        // A variable that is not set is told by the configuration's own check.
        let text = substitute(written, var).unwrap_or_else(|_| written.to_owned());
        validate::validate(&text, &key, &policy).err()
    };
    raw::binds(document.root()).into_iter().filter_map(one).collect()
}

/// Trusted directories of the configuration that others may write to (spec `approvals.md` 6.04).
pub fn writable_dirs(document: &Document, places: &Places) -> Vec<PathBuf> {
    let directories = safe_bins::trusted_dirs(document, places.home.as_deref());
    writable(directories.iter().map(PathBuf::as_path))
}

/// Asks for running containers of the sandbox browser, whoever made them.
pub async fn ask_browsers(discovery: &Discovery, limit: Duration) -> BrowserLook {
    let asked = async {
        let engine = Engine::discover(discovery).await.ok()?;
        engine.list(&[(LABEL.to_owned(), "1".to_owned())]).await.ok()
    };
    match tokio::time::timeout(limit, asked).await {
        Err(_) => BrowserLook::TimedOut(limit),
        Ok(None) => BrowserLook::NoEngine,
        Ok(Some(all)) => {
            let live = all.into_iter().filter(|one| one.running);
            BrowserLook::Live(
                live.map(|one| BrowserContainer {
                    name: one.name,
                    labels: one.labels,
                    published: one.published,
                })
                .collect(),
            )
        }
    }
}
