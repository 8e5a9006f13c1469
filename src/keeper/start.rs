//! Starts a keeper where none is.

use std::fs::{File, OpenOptions, Permissions};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use crate::error::{Failure, Report};
use crate::host_tool;
use crate::sandbox::Layout;
use crate::sandbox::pool::holder;

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
    let failed = |error: std::io::Error| {
        Failure(Report {
            code: "CRL-KEEPER-001",
            message: format!("the keeper cannot be started: {error}"),
            rule: Some("agents.defaults.sandbox.pool.size".to_owned()),
            fix: "run `creel keeper` to see why, or set the key to 0".to_owned(),
        })
    };
    let log = layout.state().own("")?.join("keeper.log");
    let log = private(&log).map_err(failed)?;
    let mut command = host_tool::detached(program, log);
    command.args(["keeper", "--detached"]).env("CREEL_STATE_DIR", layout.state().root());
    if let Some(engine) = engine {
        command.args(["--engine", engine]);
    }
    command.spawn().map(drop).map_err(failed)
}

/// A new log, for this user alone: it names sandboxes, sessions and paths. One that is there keeps no other mode.
fn private(path: &Path) -> std::io::Result<File> {
    let log = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(path)?;
    log.set_permissions(Permissions::from_mode(0o600))?;
    Ok(log)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keeper.log");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        private(&path).unwrap();
        let meta = std::fs::metadata(&path).unwrap();
        assert_eq!((meta.len(), meta.permissions().mode() & 0o777), (0, 0o600));
    }
}
