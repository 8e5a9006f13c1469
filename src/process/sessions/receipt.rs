//! What a poll took, until its caller has it (spec `exec.md` §7.5): taken for everybody at once, delivered when the
//! answer was written, and pending again when it was not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use super::core::Core;
use super::entry::Entry;
use super::fold::Position;

/// Stands for output on its way to a caller. When the last clone goes and nobody said that it was delivered, the next
/// poll takes the output again. A restart in between does the same.
#[derive(Debug, Clone)]
pub struct Receipt(Arc<Inner>);

impl PartialEq for Receipt {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Receipt {}

/// Whether output came back; asked for without keeping it under way.
#[derive(Debug, Clone)]
pub(crate) struct Fate(Arc<AtomicBool>);

struct Inner {
    core: Weak<Core>,
    entry: Arc<Entry>,
    before: Position,
    after: Position,
    delivered: AtomicBool,
    back: Arc<AtomicBool>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Receipt").field(&self.entry.id).finish()
    }
}

impl Receipt {
    pub(super) fn new(core: &Arc<Core>, entry: &Arc<Entry>, before: Position, after: Position) -> Self {
        Self(Arc::new(Inner {
            core: Arc::downgrade(core),
            entry: Arc::clone(entry),
            before,
            after,
            delivered: AtomicBool::new(false),
            back: Arc::default(),
        }))
    }

    /// The caller has the output: from here on no poll brings it again.
    pub fn delivered(&self) {
        let inner = &self.0;
        if inner.delivered.swap(true, Ordering::AcqRel) {
            return;
        }
        if inner.back.load(Ordering::Acquire) {
            inner.entry.lock().fold.advance(&inner.before, &inner.after);
        }
        inner.note();
    }

    /// The answer did not arrive: the next poll takes the output again.
    pub fn withdraw(&self) {
        self.0.withdraw();
    }

    /// What becomes of it.
    pub(crate) fn fate(&self) -> Fate {
        Fate(Arc::clone(&self.0.back))
    }
}

impl Fate {
    /// It did not arrive, and was given back.
    pub(crate) fn is_back(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Inner {
    fn withdraw(&self) {
        if self.delivered.load(Ordering::Acquire) || self.back.swap(true, Ordering::AcqRel) {
            return;
        }
        if self.entry.lock().fold.give_back(&self.before) {
            self.note();
            self.entry.touch();
        }
    }

    /// Stores up to where was polled.
    fn note(&self) {
        let Some(core) = self.core.upgrade() else { return };
        let (drained, overflowed) = {
            let state = self.entry.lock();
            (state.fold.drained(), state.fold.overflowed())
        };
        core.store.note_drained(&self.entry.id, drained, overflowed);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.withdraw();
    }
}
