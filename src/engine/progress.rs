//! Long transfers: followed to their end, given up only when nothing moves.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};

use super::EngineError;
use super::classify::classify;

/// Counts pieces that the engine took, so that a slow upload is not mistaken for a dead engine.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress(Arc<AtomicU64>);

impl Progress {
    /// The same stream, counted.
    pub(super) fn watch(
        &self,
        stream: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
        let count = Arc::clone(&self.0);
        stream.inspect(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        })
    }

    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Reads an answer to its end; `silence` is how long neither upload nor answer may stand still.
pub(super) async fn follow<T>(
    what: &str,
    silence: Duration,
    progress: &Progress,
    stream: impl Stream<Item = Result<T, bollard::errors::Error>>,
    mut line: impl FnMut(T),
) -> Result<(), EngineError> {
    let mut stream = std::pin::pin!(stream);
    let mut seen = progress.count();
    loop {
        match tokio::time::timeout(silence, stream.next()).await {
            Ok(Some(Ok(item))) => line(item),
            Ok(Some(Err(error))) => return Err(classify(what, error)),
            Ok(None) => return Ok(()),
            Err(_) if progress.count() != seen => seen = progress.count(),
            Err(_) => return Err(EngineError::NotResponding { what: what.to_owned(), after: silence }),
        }
    }
}
