//! Tool calls under way. A call belongs to its id, not to a connection: whose connection was lost may come back with
//! the same id within the grace, and gets the same result. After that nobody waits, and the call is cancelled.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Service;
use super::connection::{Delivered, Reply};
use super::delivered::Handed;
use crate::keeper::error::Told;
use crate::keeper::{Caller, KeeperError, OWN_IDS};
use crate::process::sessions::Receipt;
use crate::tools::{Context, Presence};

/// Partial results that wait to be looked at.
const PARTIALS: usize = 4;
/// Results that are kept for callers who are away.
const KEPT: usize = 64;

/// What a caller asks for.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Asked {
    tool: String,
    #[serde(default)]
    args: Value,
    #[serde(default)]
    context: Context,
    /// What the caller's environment names.
    #[serde(default)]
    config: Option<PathBuf>,
    #[serde(default)]
    engine: Option<String>,
}

/// The calls of one keeper.
pub(in crate::keeper) struct Calls {
    service: Arc<dyn Service>,
    grace: Duration,
    tasks: TaskTracker,
    /// Cancelled when the keeper ends: tasks are dropped, commands go on.
    end: CancellationToken,
    known: Arc<Mutex<HashMap<String, Arc<Call>>>>,
    /// Results that wait for a caller who is away.
    kept: Arc<AtomicUsize>,
}

/// The last word on a call.
#[derive(Clone)]
struct Done {
    word: Result<Value, Told>,
    /// What is kept of its command until this has reached a caller.
    kept: Option<Delivered>,
    /// Output that was taken for it.
    receipts: Vec<Receipt>,
}

/// One call.
struct Call {
    partial: watch::Sender<Option<Value>>,
    done: watch::Sender<Option<Done>>,
    waiting: AtomicUsize,
    changed: Notify,
    /// The same number, for the tool.
    present: watch::Sender<usize>,
    cancel: CancellationToken,
}

impl Calls {
    pub(super) fn new(service: Arc<dyn Service>, grace: Duration) -> Self {
        Self {
            service,
            grace,
            tasks: TaskTracker::new(),
            end: CancellationToken::new(),
            known: Arc::default(),
            kept: Arc::default(),
        }
    }

    /// Calls under way or kept.
    pub(in crate::keeper) fn count(&self) -> usize {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Lets go of every call.
    pub(super) async fn shutdown(&self) {
        self.end.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Takes the calls of an id back: their commands are ended, their callers get the error of the tool.
    pub(super) fn cancel(&self, id: &str) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let named =
            known.iter().filter(|(key, _)| key.strip_prefix(id).is_some_and(|rest| rest.starts_with('\0')));
        let calls: Vec<_> = named.map(|(_, call)| call.cancel.cancel()).collect();
        !calls.is_empty()
    }

    /// Makes a call, or joins the one of the same id; waits for its result.
    pub(super) async fn call(&self, asked: Asked, reply: &Reply) -> Result<Value, Told> {
        let waits = self.enter(asked);
        let call = &waits.0;
        let (mut partial, mut done) = (call.partial.subscribe(), call.done.subscribe());
        partial.mark_unchanged();
        loop {
            if let Some(done) = done.borrow_and_update().clone() {
                if let Some(delivered) = done.kept {
                    let _ = reply.delivers.set(delivered);
                }
                let _ = reply.hands.set(Handed(done.receipts));
                return done.word;
            }
            tokio::select! {
                biased;
                changed = done.changed() => if changed.is_err() { return Err(KeeperError::Ending.into()) },
                () = reply.cancelled.cancelled(), if !call.cancel.is_cancelled() => call.cancel.cancel(),
                changed = partial.changed() => {
                    let now = partial.borrow_and_update().clone();
                    if let (Ok(()), Some(now)) = (changed, now) {
                        reply.glimpse(now);
                    }
                }
            }
        }
    }

    /// The call as its caller waits for it. The first caller waits before anything runs.
    fn enter(&self, asked: Asked) -> Waits {
        let id = asked.context.call_id.clone();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Some agents count their calls anew in each turn: an id alone does not make two calls one.
        let key = id.map(|id| format!("{id}\0{}", crate::state::hex(&digest(&asked))));
        if let Some(call) = key.as_ref().and_then(|key| known.get(key)) {
            return Waits::begin(call);
        }
        // Who gave no id cannot come back with it.
        let (key, grace) = match key {
            Some(key) => (key, self.grace),
            None => (format!("\0{}", crate::state::random_hex::<16>().unwrap_or_default()), Duration::ZERO),
        };
        let call = Arc::new(Call {
            partial: watch::channel(None).0,
            done: watch::channel(None).0,
            waiting: AtomicUsize::new(0),
            changed: Notify::new(),
            present: watch::Sender::new(0),
            cancel: CancellationToken::new(),
        });
        let waits = Waits::begin(&call);
        known.insert(key.clone(), Arc::clone(&call));
        let entry = Entry { known: Arc::clone(&self.known), key };
        let (service, end, kept) = (Arc::clone(&self.service), self.end.clone(), Arc::clone(&self.kept));
        self.tasks.spawn(async move {
            let _entry = entry;
            let whole = async {
                run(service.as_ref(), asked, &call, grace).await;
                keep(&call, grace, &kept).await;
            };
            end.run_until_cancelled(whole).await;
        });
        waits
    }
}

/// Sees a call to its end, and its result to its caller.
async fn run(service: &dyn Service, asked: Asked, call: &Call, grace: Duration) {
    let (sender, mut partials) = mpsc::channel(PARTIALS);
    let Asked { tool, args, mut context, config, engine } = asked;
    context.presence = Presence::of(call.present.subscribe());
    let meant = service.meant_by(&Caller { config, engine });
    let service = meant.as_deref().unwrap_or(service);
    let mut work = service.call(&tool, args, &context, sender, call.cancel.clone());
    let result = loop {
        tokio::select! {
            result = &mut work => break result,
            Some(partial) = partials.recv() => {
                call.partial.send_replace(serde_json::to_value(&partial).ok());
            }
            () = call.deserted(grace), if !call.cancel.is_cancelled() => call.cancel.cancel(),
        }
    };
    let done = match result {
        Ok(result) => Done {
            word: serde_json::to_value(&result).map_err(|error| {
                KeeperError::Malformed(format!("the result has no JSON form: {error}")).into()
            }),
            kept: result.kept.map(|id| Delivered { id, named: named(context.call_id.as_deref()) }),
            receipts: result.receipts,
        },
        Err(error) => Done { word: Err(Told::from(error)), kept: None, receipts: Vec::new() },
    };
    call.done.send_replace(Some(done));
}

/// Whether a call's id is the caller's own: those that creel gives mean one call for certain.
fn named(id: Option<&str>) -> bool {
    id.is_some_and(|id| !id.is_empty() && !id.starts_with(OWN_IDS))
}

/// Whoever waits has the result now; who is away may come for it.
async fn keep(call: &Call, grace: Duration, kept: &AtomicUsize) {
    if call.waiting.load(Ordering::Acquire) > 0 || call.cancel.is_cancelled() {
        return;
    }
    // Another call may be the one that brings it.
    if let Some(done) = call.done.borrow().as_ref() {
        done.receipts.iter().for_each(Receipt::withdraw);
    }
    if kept.fetch_add(1, Ordering::AcqRel) < KEPT {
        call.deserted(grace).await;
    }
    kept.fetch_sub(1, Ordering::AcqRel);
}

impl Call {
    /// Returns when nobody has waited for `grace`.
    async fn deserted(&self, grace: Duration) {
        loop {
            let changed = self.changed.notified();
            if self.waiting.load(Ordering::Acquire) > 0 {
                changed.await;
                continue;
            }
            if tokio::time::timeout(grace, changed).await.is_err()
                && self.waiting.load(Ordering::Acquire) == 0
            {
                return;
            }
        }
    }
}

/// Takes the call out of the table.
struct Entry {
    known: Arc<Mutex<HashMap<String, Arc<Call>>>>,
    key: String,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

/// Somebody waits for a call.
struct Waits(Arc<Call>);

impl Waits {
    fn begin(call: &Arc<Call>) -> Self {
        call.waiting.fetch_add(1, Ordering::AcqRel);
        call.present.send_modify(|count| *count += 1);
        call.changed.notify_waiters();
        Self(Arc::clone(call))
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
        self.0.present.send_modify(|count| *count = count.saturating_sub(1));
        self.0.changed.notify_waiters();
    }
}

fn digest(asked: &Asked) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in [&Value::from(asked.tool.as_str()), &asked.args] {
        hash.update(part.to_string());
        hash.update([0]);
    }
    hash.update(serde_json::to_vec(&(&asked.context, &asked.config, &asked.engine)).unwrap_or_default());
    hash.finalize().into()
}
