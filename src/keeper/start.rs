//! Starts a keeper where none is.

use std::fs::{File, OpenOptions, Permissions};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::{KeeperError, socket};
use crate::error::Failure;
use crate::host_tool;
use crate::sandbox::Layout;
use crate::sandbox::pool::holder;
use crate::state::StateDir;

/// A log longer than this begins anew with the next keeper.
const LOG: u64 = 1024 * 1024;

/// Starts `program keeper` in the background, unless a keeper is there already. Two that start at once are no harm: the
/// second one ends at once. Call it in a runtime.
///
/// `engine` is the engine's address where one was named; everything else comes from the environment.
///
/// # Errors
///
/// When it cannot be started.
pub fn start(layout: &Layout, program: &Path, engine: Option<&str>) -> Result<(), Failure> {
    if holder(layout).is_some() {
        return Ok(());
    }
    spawn(layout.state(), program, engine)?;
    Ok(())
}

/// Starts one whether or not another is there.
pub(super) fn spawn(
    state: &StateDir,
    program: &Path,
    engine: Option<&str>,
) -> Result<tokio::process::Child, KeeperError> {
    let log = private(&log(state)?).map_err(KeeperError::Start)?;
    let mut command = host_tool::detached(program, log);
    command.args(["keeper", "--detached"]).env("CREEL_STATE_DIR", state.root());
    if let Some(engine) = engine {
        command.args(["--engine", engine]);
    }
    command.spawn().map_err(KeeperError::Start)
}

/// Where a keeper that creel started says what it has to say.
fn log(state: &StateDir) -> Result<PathBuf, KeeperError> {
    Ok(socket::own(state)?.join("keeper.log"))
}

/// The last words in the log.
pub(super) fn last_words(state: &StateDir) -> String {
    let text = log(state).ok().and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
    let tail = text.get(text.len().saturating_sub(2000)..).unwrap_or_default();
    let tail = String::from_utf8_lossy(tail);
    let lines: Vec<&str> = tail.lines().filter(|line| !line.trim().is_empty()).collect();
    let from = lines.len().saturating_sub(4);
    lines.get(from..).unwrap_or_default().join(" | ")
}

/// The log, for this user alone: it names sandboxes, sessions and paths. One that is there keeps no other mode.
fn private(path: &Path) -> std::io::Result<File> {
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    log.set_permissions(Permissions::from_mode(0o600))?;
    if log.metadata()?.len() > LOG {
        log.set_len(0)?;
    }
    Ok(log)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_private_and_does_not_grow_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keeper.log");
        for (old, len) in [(3, 3), (LOG + 1, 0)] {
            std::fs::write(&path, vec![b'x'; usize::try_from(old).unwrap()]).unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
            private(&path).unwrap();
            let meta = std::fs::metadata(&path).unwrap();
            assert_eq!((meta.len(), meta.permissions().mode() & 0o777), (len, 0o600));
        }
    }
}
