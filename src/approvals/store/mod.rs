//! The machine's approvals document on disk: read, and the last one that could be understood kept beside it, so that
//! neither removing nor breaking the file opens what it had closed. creel does not write the file itself here.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::approvals::document::{Document, Found, Held, MAX_BYTES, Standing, hold};
use crate::state::StateDir;

/// The file's name in the state directory.
pub const FILE_NAME: &str = "exec-approvals.json";
/// `OpenClaw`'s newer store, which may hold a policy where there is no file.
const DATABASE: &str = "state/openclaw.sqlite";

/// The document that holds on this machine.
#[derive(Debug, Clone)]
pub struct Local {
    /// The file.
    pub path: PathBuf,
    /// What holds, and why.
    pub held: Held,
}

/// Reads the document. A file that cannot be used gives the last good one, and without one nothing runs.
///
/// Where there is no file but a database of `OpenClaw`, whose policy creel does not read yet, nothing runs either: that
/// policy may be stricter than none.
pub fn read(state: &StateDir) -> Local {
    let path = state.root().join(FILE_NAME);
    let text = text_of(&path);
    let last_good = last_good(state);
    let found = match &text {
        Ok(Some(text)) => Found::Text(text),
        Ok(None) if last_good.is_none() && state.root().join(DATABASE).symlink_metadata().is_ok() => {
            Found::Unreadable(format!("there is none, and {DATABASE} may hold a policy that is not read"))
        }
        Ok(None) => Found::Missing,
        Err(reason) => Found::Unreadable(reason.clone()),
    };
    let held = hold(&found, &path, last_good.clone().map(|(_, document)| document));
    if let (Standing::Current, Ok(Some(text))) = (&held.standing, &text)
        && last_good.as_ref().is_none_or(|(known, _)| known != text)
        && let Err(error) = keep(state, text)
    {
        tracing::warn!(target: "approvals", %error, "the last good approvals document could not be kept");
    }
    Local { path, held }
}

fn text_of(path: &Path) -> Result<Option<String>, String> {
    let limit = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let mut options = std::fs::OpenOptions::new();
    let file = match options.read(true).custom_flags(nix::libc::O_NONBLOCK).open(path) {
        Ok(file) => file,
        // A link to nothing is a file that somebody meant to be there.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !path.is_symlink() => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if !file.metadata().is_ok_and(|meta| meta.is_file()) {
        return Err("it is not a file".to_owned());
    }
    let mut text = String::new();
    file.take(limit).read_to_string(&mut text).map_err(|error| error.to_string())?;
    Ok(Some(text))
}

fn kept(state: &StateDir) -> PathBuf {
    state.root().join("creel/approvals/last-good.json")
}

fn last_good(state: &StateDir) -> Option<(String, Document)> {
    let path = kept(state);
    let text = text_of(&path).ok()??;
    let document = Document::parse(&text, &path).ok()?;
    Some((text, document))
}

fn keep(state: &StateDir, text: &str) -> std::io::Result<()> {
    let dir = state.own("approvals").map_err(|error| std::io::Error::other(error.to_string()))?;
    let mut file = tempfile::NamedTempFile::new_in(&dir)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(kept(state))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::exec::Security;

    fn security(local: &Local) -> Option<Security> {
        local.held.document.rules(None).security.map(|set| set.value)
    }

    #[test]
    fn neither_removing_nor_breaking_the_file_opens_what_it_had_closed() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::at(dir.path());
        assert_eq!(read(&state).held.standing, Standing::Absent);
        let file = dir.path().join(FILE_NAME);
        std::fs::write(&file, "{\"version\": 1, \"defaults\": {\"security\": \"allowlist\"}}").unwrap();
        assert_eq!(read(&state).held.standing, Standing::Current);
        for change in [
            |file: &Path| std::fs::write(file, "{").unwrap(),
            |file: &Path| {
                std::fs::remove_file(file).unwrap();
            },
        ] {
            change(&file);
            let local = read(&state);
            assert!(matches!(local.held.standing, Standing::LastGood(_)), "{:?}", local.held.standing);
            assert_eq!(security(&local), Some(Security::Allowlist));
        }
        std::os::unix::fs::symlink("nowhere", &file).unwrap();
        assert_eq!(security(&read(&state)), Some(Security::Allowlist));
    }

    #[test]
    fn what_cannot_be_read_closes() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::at(dir.path());
        std::fs::create_dir(dir.path().join(FILE_NAME)).unwrap();
        assert_eq!(security(&read(&state)), Some(Security::Deny));
        std::fs::remove_dir(dir.path().join(FILE_NAME)).unwrap();
        std::fs::create_dir(dir.path().join("state")).unwrap();
        std::fs::write(dir.path().join(DATABASE), "").unwrap();
        assert_eq!(security(&read(&state)), Some(Security::Deny), "a policy may stand in it");
    }
}
