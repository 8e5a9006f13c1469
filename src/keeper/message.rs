//! What is said over the keeper's socket: a JSON object on each line. Pure.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::KeeperError;
use super::error::Told;

/// Version of what is said; another one means another keeper.
pub const PROTOCOL: u32 = 1;
/// Longest line that a keeper reads.
pub const MAX_REQUEST: usize = 4 * 1024 * 1024;
/// Longest line that a client reads.
pub const MAX_ANSWER: usize = 16 * 1024 * 1024;

/// The keeper's first line on every connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// Version of creel.
    pub version: String,
    /// Which program it is, see [`build`].
    pub build: String,
    /// Its process.
    pub process: u32,
}

/// The first line as it stands on the connection.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Greeting {
    pub(super) hello: Hello,
}

/// What a caller asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The caller's name for it: a number or a string; comes back with every answer.
    pub id: Value,
    /// What to do.
    pub method: String,
    /// With what.
    #[serde(default)]
    pub params: Value,
}

impl Request {
    /// Reads a line.
    pub fn parse(line: &[u8]) -> Result<Self, KeeperError> {
        let request: Self =
            serde_json::from_slice(line).map_err(|error| KeeperError::Malformed(error.to_string()))?;
        if request.id.is_number() || request.id.as_str().is_some_and(|id| id.len() <= 128) {
            return Ok(request);
        }
        Err(KeeperError::Malformed("id is neither a number nor a string of at most 128 bytes".to_owned()))
    }
}

/// What the keeper says to a request: any number of updates, then a result or an error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The request's id; null where it could not be read.
    #[serde(default)]
    pub id: Value,
    /// It is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// It is refused, or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Told>,
    /// Something on the way to the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<Value>,
}

impl Answer {
    /// The last word on a request.
    pub fn done(id: Value, done: Result<Value, Told>) -> Self {
        match done {
            Ok(result) => Self { id, result: Some(result), ..Self::default() },
            Err(error) => Self { id, error: Some(error), ..Self::default() },
        }
    }

    /// Something on the way.
    pub fn update(id: Value, update: Value) -> Self {
        Self { id, update: Some(update), ..Self::default() }
    }
}

/// A value as a line.
pub(super) fn line(value: &impl Serialize) -> Vec<u8> {
    // Values and texts always have a JSON form; an empty line would be answered as malformed.
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Tells two builds of creel apart: version, length and age of the program's file.
pub fn build(program: &Path) -> std::io::Result<String> {
    let meta = std::fs::metadata(program)?;
    let (version, len) = (env!("CARGO_PKG_VERSION"), meta.len());
    Ok(format!("{version}+{len:x}.{:x}.{:x}", meta.mtime(), meta.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_an_id_and_a_method() {
        let ok = Request::parse(br#"{"id":1,"method":"keeper.status"}"#).unwrap();
        assert_eq!((ok.id, ok.method.as_str(), ok.params), (1.into(), "keeper.status", Value::Null));
        for bad in ["", "[]", "{}", r#"{"id":null,"method":"x"}"#, r#"{"id":{},"method":"x"}"#, "{\"id\":1"] {
            assert!(matches!(Request::parse(bad.as_bytes()), Err(KeeperError::Malformed(_))), "{bad}");
        }
        let long = format!("{{\"id\":\"{}\",\"method\":\"x\"}}", "x".repeat(129));
        assert!(Request::parse(long.as_bytes()).is_err());
    }

    #[test]
    fn answers_are_one_line_each() {
        let answer = Answer::done(7.into(), Ok(serde_json::json!({"text": "a\nb"})));
        let line = line(&answer);
        assert_eq!(line.split(|byte| *byte == b'\n').count(), 2);
        assert_eq!(serde_json::from_slice::<Answer>(&line).unwrap(), answer);
    }
}
