//! Which configuration file is read.

use std::path::{Path, PathBuf};

use crate::state::StateDir;

/// The file's name in the state directory.
pub const FILE_NAME: &str = "openclaw.json";

/// A configuration file, and who named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// Absolute path.
    pub path: PathBuf,
    /// The flag or variable that names it; `None` for the default place, which may be empty.
    pub named_by: Option<&'static str>,
}

/// `--config`, else `$CREEL_CONFIG`, else `$OPENCLAW_CONFIG_PATH`, else `openclaw.json` in the state directory.
///
/// Blank variables count as unset. Relative names are taken from the working directory.
pub fn locate(flag: Option<&Path>, var: &dyn Fn(&str) -> Option<String>, state: &StateDir) -> Located {
    let set = |name: &'static str| {
        let value = var(name).filter(|value| !value.trim().is_empty())?;
        let home = var("HOME").map(PathBuf::from);
        Some((crate::paths::lexical::expand_home(value.trim(), home.as_deref()), name))
    };
    let named = flag
        .map(|path| (path.to_owned(), "--config"))
        .or_else(|| set("CREEL_CONFIG"))
        .or_else(|| set("OPENCLAW_CONFIG_PATH"));
    match named {
        Some((path, name)) => {
            Located { path: std::path::absolute(&path).unwrap_or(path), named_by: Some(name) }
        }
        None => Located { path: state.root().join(FILE_NAME), named_by: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order() {
        let state = StateDir::at("/st");
        let both = |name: &str| Some(format!("/v/{name}"));
        let at = |located: Located| (located.path.display().to_string(), located.named_by);
        assert_eq!(at(locate(Some(Path::new("/f")), &both, &state)), ("/f".into(), Some("--config")));
        assert_eq!(at(locate(None, &both, &state)), ("/v/CREEL_CONFIG".into(), Some("CREEL_CONFIG")));
        let old = |name: &str| (name == "OPENCLAW_CONFIG_PATH").then(|| "/o".to_owned());
        assert_eq!(at(locate(None, &old, &state)), ("/o".into(), Some("OPENCLAW_CONFIG_PATH")));
        assert_eq!(at(locate(None, &|_| None, &state)), ("/st/openclaw.json".into(), None));
    }
}
