//! Startup snapshots (spec `exec.md` §4.2): what the user's startup files define, kept for commands, whose shell reads
//! none of them.
//!
//! Whatever goes wrong leaves the command without a snapshot, silently.
//!
//! | file | concern |
//! |---|---|
//! | `key` | which snapshot belongs to a command; pure |
//! | `capture` | asking the shell; the file's text |
//! | `secrets` | whether a text looks as if it held credentials; pure |
//! | `store` | the files |

mod capture;
mod key;
mod secrets;
mod store;

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use self::key::{Origin, Startup};
use self::store::Store;
use super::env::Vars;
use super::shell::{Family, Shell};
use super::wrap::SAFE;
use crate::paths::resolve::resolve;

/// The variable that switches snapshots off.
const SWITCH: &str = "OPENCLAW_EXEC_SHELL_SNAPSHOT";
/// What startup files may depend on besides the variables of a snapshot.
const TRUSTED: &[&str] = &["SHELL", "USERPROFILE", "ZDOTDIR"];
/// Keys that are remembered in one process.
const MOST_KEYS: usize = 256;

/// What this process knows of snapshots; clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Snapshots(Arc<Known>);

#[derive(Debug, Default)]
struct Known {
    pruned: AtomicBool,
    keys: Mutex<HashMap<String, Arc<Key>>>,
}

/// Held while a snapshot is looked for or taken; tells when it last could not be had.
type Key = tokio::sync::Mutex<Option<Instant>>;

/// For what a snapshot is wanted.
pub(super) struct Wanted<'a> {
    pub(super) shell: &'a Shell,
    /// The gateway's environment.
    pub(super) gateway: &'a Vars,
    pub(super) home: &'a Path,
    pub(super) state: &'a Path,
    /// The command's directory, resolved.
    pub(super) cwd: &'a Path,
}

impl Snapshots {
    /// The file to read before a command; taken now where none is fresh. Concurrent callers wait for one capture.
    pub(super) async fn get(&self, wanted: &Wanted<'_>) -> Option<String> {
        if !matches!(wanted.shell.family, Family::Bash | Family::Zsh) || switched_off(wanted.gateway) {
            return None;
        }
        let state = resolve(wanted.state).ok()?;
        let store = Store::open(&state)?;
        if !self.0.pruned.swap(true, Ordering::Relaxed) {
            store.prune(SystemTime::now());
        }
        let env = trusted(wanted)?;
        let startup = startup(wanted.shell.family, wanted.home, &env);
        let (cwd, home, state) = (wanted.cwd.to_str()?, wanted.home.to_str()?, state.to_str()?);
        let origin = Origin { shell: wanted.shell, cwd, home, state, env: &env, startup: &startup };
        let key = key::key(&origin);
        let slot = self.slot(&key);
        let mut failed = slot.lock().await;
        if let Some(path) = store.fresh(&key, SystemTime::now()) {
            return path.to_str().map(str::to_owned);
        }
        // Startup files that hang are not waited for before every command.
        if failed.is_some_and(|at| at.elapsed() < store::FRESH) {
            return None;
        }
        let taken = take(&store, wanted, &env, &key).await;
        *failed = taken.is_none().then(Instant::now);
        tracing::debug!(taken = taken.is_some(), "shell snapshot");
        taken.and_then(|path| path.to_str().map(str::to_owned))
    }

    fn slot(&self, key: &str) -> Arc<Key> {
        let mut keys = self.0.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.len() >= MOST_KEYS && !keys.contains_key(key) {
            keys.clear();
        }
        Arc::clone(keys.entry(key.to_owned()).or_default())
    }
}

async fn take(store: &Store, wanted: &Wanted<'_>, env: &Vars, key: &str) -> Option<PathBuf> {
    let text = capture::capture(wanted.shell, env, wanted.cwd).await?;
    let draft = store.draft(&text)?;
    if capture::readable(wanted.shell, env, wanted.cwd, &draft.path()).await {
        draft.publish(key)
    } else {
        None
    }
}

fn switched_off(gateway: &Vars) -> bool {
    let value = gateway.get(SWITCH).map(|value| value.trim().to_ascii_lowercase());
    matches!(value.as_deref(), Some("0" | "false" | "no" | "off"))
}

/// The environment in which startup files are read: the gateway's own, and of that little; nothing of a call's.
fn trusted(wanted: &Wanted<'_>) -> Option<Vars> {
    let names = SAFE.iter().chain(TRUSTED);
    let kept = names.filter_map(|name| wanted.gateway.get_key_value(*name));
    let mut env: Vars = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
    env.entry("PATH".to_owned()).or_insert_with(|| super::path::DEFAULT.to_owned());
    env.insert("HOME".to_owned(), wanted.home.to_str()?.to_owned());
    env.insert("OPENCLAW_SHELL".to_owned(), "exec".to_owned());
    Some(env)
}

/// The file that decides most of what a shell defines, as it is now.
fn startup(family: Family, home: &Path, env: &Vars) -> Startup {
    let path = match family {
        Family::Zsh => {
            let dir = env.get("ZDOTDIR").filter(|dir| !dir.is_empty()).map_or(home, Path::new);
            dir.join(".zshrc")
        }
        _ => home.join(".bashrc"),
    };
    let stamp = |meta: std::fs::Metadata| {
        (i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec()), meta.len())
    };
    let found = std::fs::metadata(&path).ok().map(stamp);
    Startup { path: path.to_string_lossy().into_owned(), found }
}

#[cfg(test)]
mod tests;
