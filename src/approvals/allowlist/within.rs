//! Where an entry holds: everywhere, or in and below one directory (extension; field report I091).

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::approvals::document::Entry;
use crate::paths::lexical::{clean, inside};

/// The key of an entry, unknown to others, that limits it to commands that run in and below a directory. Grants with a
/// directory have it; a document may.
pub const DIRECTORY: &str = "directory";

/// Where an entry holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Within {
    Everywhere,
    Below(PathBuf),
    /// What is written there is no directory: a limit that is not understood is not taken for none.
    Nowhere,
}

impl Within {
    pub(super) fn of(entry: &Entry) -> Self {
        match entry.unknown.get(DIRECTORY) {
            None => Self::Everywhere,
            Some(Value::String(dir)) if dir.starts_with('/') && clean(dir) == Path::new(dir) => {
                Self::Below(PathBuf::from(dir))
            }
            Some(_) => Self::Nowhere,
        }
    }

    /// Whether it holds for a command that runs there. `None`: it is not known where.
    pub(super) fn holds(&self, dir: Option<&Path>) -> bool {
        match (self, dir) {
            (Self::Everywhere, _) => true,
            (Self::Below(directory), Some(dir)) => inside(directory, &clean(dir)),
            (Self::Below(_), None) | (Self::Nowhere, _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(value: Value) -> Within {
        let mut entry = Entry::of("python3");
        entry.unknown.insert(DIRECTORY.to_owned(), value);
        Within::of(&entry)
    }

    #[test]
    fn a_directory_limits_and_what_is_none_lets_nothing_through() {
        let ws = within("/ws".into());
        let holds = |dir: &str| ws.holds(Some(Path::new(dir)));
        assert!(holds("/ws") && holds("/ws/a"));
        assert!(!holds("/wsx") && !holds("/") && !holds("/ws/../etc") && !ws.holds(None));
        assert!(Within::of(&Entry::of("python3")).holds(None));
        for bad in ["ws".into(), "/a/../b".into(), "".into(), Value::Null, Value::from(1)] {
            assert_eq!(within(bad), Within::Nowhere);
        }
    }
}
