//! Addresses of engines, parsed once.

use std::fmt;
use std::path::PathBuf;

use super::EngineError;

/// Where an engine listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// A Unix socket: the engine is on this machine.
    Unix(PathBuf),
    /// Plain HTTP over TCP, as `host:port`.
    Tcp(String),
}

impl Endpoint {
    /// Reads an address as the docker client writes it: `unix://PATH`, an absolute path, `tcp://HOST[:PORT]`.
    ///
    /// # Errors
    ///
    /// [`EngineError::BadEndpoint`], with a remedy for the kinds that creel does not speak (`ssh://`, TLS).
    pub fn parse(text: &str) -> Result<Self, EngineError> {
        let text = text.trim();
        let bad = |reason: &str, fix: String| {
            Err(EngineError::BadEndpoint { endpoint: text.to_owned(), reason: reason.to_owned(), fix })
        };
        let forms = || "write unix:///path/to/docker.sock or tcp://host:port".to_owned();
        if text.starts_with('/') {
            return Ok(Self::Unix(PathBuf::from(text)));
        }
        match text.split_once("://") {
            Some(("unix", path)) if path.starts_with('/') => Ok(Self::Unix(PathBuf::from(path))),
            Some(("unix", _)) => bad("the path of a unix socket must be absolute", forms()),
            Some(("tcp" | "http", rest)) => match authority(rest) {
                Some(address) => Ok(Self::Tcp(address)),
                None => bad("no host and port", forms()),
            },
            Some(("ssh", rest)) => bad("creel does not open ssh connections itself", forward(rest)),
            Some(("https", rest)) => bad("creel does not speak TLS to an engine", forward(rest)),
            Some(_) => bad("unknown kind of address", forms()),
            None => bad("not an address", forms()),
        }
    }

    /// The engine shares this machine's file system as far as its address tells.
    pub fn is_local(&self) -> bool {
        matches!(self, Self::Unix(_))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp://{address}"),
        }
    }
}

/// `host:port` of what follows the scheme; port 2375 where none is written.
fn authority(rest: &str) -> Option<String> {
    let host = rest.split('/').next().unwrap_or_default();
    let valid = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
    if host.is_empty() || !host.chars().all(valid) {
        return None;
    }
    let after_v6 = host.rsplit(']').next().unwrap_or(host);
    match after_v6.rsplit_once(':') {
        Some((_, port)) => port.parse::<u16>().ok().map(|_| host.to_owned()),
        None => Some(format!("{host}:2375")),
    }
}

/// How to reach a remote engine without creel holding its keys.
fn forward(rest: &str) -> String {
    let host = rest.split('/').next().filter(|host| !host.is_empty()).unwrap_or("HOST");
    format!(
        "forward its socket: ssh -nNT -L /tmp/engine.sock:/var/run/docker.sock {host}, then set \
         DOCKER_HOST=unix:///tmp/engine.sock"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let ok = |text: &str| Endpoint::parse(text).unwrap().to_string();
        assert_eq!(ok("unix:///run/docker.sock"), "unix:///run/docker.sock");
        assert_eq!(ok(" /run/docker.sock "), "unix:///run/docker.sock");
        assert_eq!(ok("tcp://127.0.0.1:2376"), "tcp://127.0.0.1:2376");
        assert_eq!(ok("tcp://engine"), "tcp://engine:2375");
        assert_eq!(ok("http://[::1]:80/"), "tcp://[::1]:80");
        assert_eq!(ok("tcp://[::1]"), "tcp://[::1]:2375");
    }

    #[test]
    fn refusals_name_the_remedy() {
        let refused = |text: &str| match Endpoint::parse(text) {
            Err(EngineError::BadEndpoint { fix, .. }) => fix,
            other => panic!("{text}: {other:?}"),
        };
        assert!(refused("ssh://user@box").contains("ssh -nNT -L"));
        assert!(refused("ssh://user@box").contains("user@box"));
        assert!(refused("https://box:2376").contains("ssh"));
        for text in
            ["", "unix://relative", "tcp://", "tcp://a:b", "tcp://a b:1", "npipe:////./pipe/x", "docker"]
        {
            assert!(refused(text).contains("unix:///"), "{text}");
        }
    }
}
