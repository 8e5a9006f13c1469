//! One build of a reference at a time per state directory. The kernel drops the lock with its holder, so a killed
//! build blocks nobody.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::progress::{Event, Progress};
use super::{ImageError, Reference};

/// How often a waiting build looks again.
const POLL: Duration = Duration::from_millis(200);

/// Held until dropped.
#[derive(Debug)]
pub(super) struct BuildLock {
    _file: File,
}

/// Takes the lock for `reference`, waiting for another build of it to end.
pub(super) async fn take(
    dir: &Path,
    reference: &Reference,
    progress: Progress<'_>,
) -> Result<BuildLock, ImageError> {
    let digest = crate::state::hex(&Sha256::digest(reference.as_str().as_bytes()));
    let path = dir.join(format!("image-{}.lock", digest.get(..16).unwrap_or(&digest)));
    let open = File::options().create(true).truncate(false).write(true).open(&path);
    let file = open.map_err(ImageError::io(&path, "open"))?;
    let mut told = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(BuildLock { _file: file }),
            Err(TryLockError::Error(source)) => return Err(ImageError::Io { path, action: "lock", source }),
            Err(TryLockError::WouldBlock) => {
                if !told {
                    progress(Event::Stage("waiting for another build of this image"));
                    told = true;
                }
                // Polled rather than blocked on: a waiting build can be cancelled.
                tokio::time::sleep(POLL).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_second_waits_for_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let reference = Reference::parse("a").unwrap();
        let first = take(dir.path(), &reference, &|_| ()).await.unwrap();
        let other = Reference::parse("b").unwrap();
        drop(take(dir.path(), &other, &|_| ()).await.unwrap());
        let stages = std::sync::Mutex::new(Vec::new());
        let tell = |event: Event<'_>| stages.lock().unwrap().push(format!("{event:?}"));
        let ((), second) = tokio::join!(
            async {
                tokio::time::sleep(Duration::from_millis(300)).await;
                assert_eq!(stages.lock().unwrap().len(), 1);
                drop(first);
            },
            take(dir.path(), &reference, &tell)
        );
        second.unwrap();
        assert_eq!(stages.lock().unwrap().len(), 1);
    }
}
