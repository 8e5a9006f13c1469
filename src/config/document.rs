//! A configuration file: its values, and where each stands.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::ConfigError;
use super::index::{Index, Position};
use super::locate::Located;

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 8 << 20;

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Origin {
    /// The file.
    pub file: PathBuf,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The key, as in `agents.defaults.sandbox.docker.binds[0]`; empty for a place in the text.
    pub key: String,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)?;
        if self.key.is_empty() { Ok(()) } else { write!(f, " {}", self.key) }
    }
}

/// A parsed file.
#[derive(Debug, Clone)]
pub struct Document {
    file: PathBuf,
    root: Value,
    index: Index,
}

/// The text of the file, or `None` where the default place is empty.
pub fn read(located: &Located) -> Result<Option<String>, ConfigError> {
    let io = |reason: String| ConfigError::Io { path: located.path.clone(), reason };
    let meta = match std::fs::metadata(&located.path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return match located.named_by {
                // Somebody put a file there, and it is not to be had: defaults are not what was meant.
                None if located.path.is_symlink() => Err(io("it is a link to nothing".to_owned())),
                None => Ok(None),
                Some(named_by) => Err(ConfigError::Missing { path: located.path.clone(), named_by }),
            };
        }
        Err(error) => return Err(io(error.to_string())),
    };
    if !meta.is_file() {
        return Err(io("it is not a file".to_owned()));
    }
    if meta.len() > MAX_BYTES {
        return Err(io(format!("it is larger than {MAX_BYTES} bytes")));
    }
    std::fs::read_to_string(&located.path).map(Some).map_err(|error| io(error.to_string()))
}

impl Document {
    /// Parses JSON5. Positions are gathered first: that walk is bounded in depth, the parser is not.
    pub fn parse(text: &str, file: &Path) -> Result<Self, ConfigError> {
        let at = |position: Position| Origin {
            file: file.to_owned(),
            line: position.line,
            column: position.column,
            key: String::new(),
        };
        let syntax = |position, message| ConfigError::Syntax { at: at(position), message };
        let index = Index::of(text).map_err(|deep| syntax(deep.at, deep.to_string()))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let root: Value = json5::from_str(text).map_err(|error| {
            let place = error.position().map_or(Position { line: 1, column: 1 }, |place| Position {
                line: place.line + 1,
                column: place.column + 1,
            });
            let message = error.code().map_or_else(|| error.to_string(), |code| code.to_string());
            syntax(place, message)
        })?;
        if !root.is_object() {
            return Err(syntax(Position { line: 1, column: 1 }, "the top level is not an object".to_owned()));
        }
        Ok(Self { file: file.to_owned(), root, index })
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The values.
    pub fn root(&self) -> &Value {
        &self.root
    }

    /// Where a key stands.
    pub fn origin(&self, key: &str) -> Option<Origin> {
        let Position { line, column } = self.index.get(key)?;
        Some(Origin { file: self.file.clone(), line, column, key: key.to_owned() })
    }

    /// Line and column of a key.
    pub fn position(&self, key: &str) -> Option<(usize, usize)> {
        self.index.get(key).map(|place| (place.line, place.column))
    }

    /// The places before the last one where a key is written again; only the last counts.
    pub fn repeated(&self, key: &str) -> bool {
        self.index.repeated(key)
    }
}
