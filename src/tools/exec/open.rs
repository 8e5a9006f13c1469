//! Sandboxes that are open, so that a call after the first costs no look at the engine (design §3).
//!
//! One is used again while its connection to init is up, the configuration is what it was, and it is young: what an
//! engine does behind creel's back is then seen within a minute.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::client::{Sandbox, SandboxOptions};
use crate::config::Subject;
use crate::error::Failure;

/// How long one is used without a look at the engine.
const AGE: Duration = Duration::from_mins(1);

/// Sandboxes that are open, by whom they belong to; and calls that are under way, by their ids.
#[derive(Debug, Default)]
pub struct OpenSandboxes {
    open: Mutex<HashMap<String, Slot>>,
    calls: Mutex<HashMap<String, Slot>>,
    sandboxes: Mutex<HashMap<String, Arc<Open>>>,
    probes: crate::runner::host_plan::HostProbes,
}

/// Whoever has it may open, the others wait for what was opened.
type Slot = Arc<tokio::sync::Mutex<()>>;

#[derive(Debug)]
struct Open {
    sandbox: Arc<Sandbox>,
    since: Instant,
    config: Stamped,
}

impl Open {
    fn is_young(&self) -> bool {
        self.since.elapsed() < AGE
    }

    fn holds(&self, now: &Stamped) -> bool {
        // Over the engine's own road there is no connection that would tell of an end.
        let up = self.sandbox.link().is_some_and(|link| !link.is_over());
        self.is_young() && up && self.config == *now
    }
}

/// What tells one version of a file from another; `None` where there is none.
type Stamped = Option<(u64, u64, i64, i64, u64)>;

fn stamp(path: &Path) -> Stamped {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.dev(), meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.size()))
}

impl OpenSandboxes {
    /// The sandbox of a session, opened or open already. Concurrent calls open it once. `key` is the scope with the
    /// agent and the configuration; `config` is the file that was read.
    ///
    /// # Errors
    ///
    /// As [`SandboxOptions::open`].
    pub async fn get(
        &self,
        key: &str,
        config: &Path,
        options: &SandboxOptions,
    ) -> Result<Arc<Sandbox>, Failure> {
        let slot = slot(&self.open, key);
        let _mine = slot.lock().await;
        let now = stamp(config);
        if let Some(open) = lock(&self.sandboxes).get(key).filter(|open| open.holds(&now)) {
            return Ok(Arc::clone(&open.sandbox));
        }
        let sandbox = Arc::new(options.open().await?);
        let open = Open { sandbox: Arc::clone(&sandbox), since: Instant::now(), config: now };
        lock(&self.sandboxes).insert(key.to_owned(), Arc::new(open));
        self.sweep();
        Ok(sandbox)
    }

    /// Lets go of the sandbox of a key: its connection failed.
    pub fn drop_one(&self, key: &str) {
        lock(&self.sandboxes).remove(key);
    }

    /// Lets go of those that nobody used for a while: they are leased as long as they are held, and would not be pruned.
    /// Whoever keeps a toolbox calls it now and then.
    pub fn sweep(&self) {
        lock(&self.sandboxes).retain(|_, open| open.is_young());
        for slots in [&self.open, &self.calls] {
            lock(slots).retain(|_, slot| Arc::strong_count(slot) > 1);
        }
    }

    /// The turn of a call: of two with the same id the second waits until the first has its session.
    pub(super) async fn turn(&self, call: &str) -> tokio::sync::OwnedMutexGuard<()> {
        slot(&self.calls, call).lock_owned().await
    }

    /// What is known of the user's shell.
    pub(super) fn probes(&self) -> &crate::runner::host_plan::HostProbes {
        &self.probes
    }
}

fn slot(slots: &Mutex<HashMap<String, Slot>>, key: &str) -> Slot {
    Arc::clone(lock(slots).entry(key.to_owned()).or_default())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The key of a session's sandbox: agents may have other settings for the same scope, and callers other configurations.
pub(super) fn key(config: &Path, subject: &Subject, scope: &crate::session::ScopeKey) -> String {
    format!("{}\n{scope}\n{}", subject.agent, config.display())
}
