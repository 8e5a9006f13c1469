//! What the output of all sessions together takes on disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of all spools beyond which each session keeps less.
pub const TOTAL: u64 = 1024 * 1024 * 1024;

/// A count that all spools share.
#[derive(Debug, Clone, Default)]
pub struct Budget {
    used: Arc<AtomicU64>,
}

impl Budget {
    /// Bytes in all spools.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// They take too much.
    pub fn is_exceeded(&self) -> bool {
        self.used() > TOTAL
    }

    pub(super) fn add(&self, bytes: u64) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn sub(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}
