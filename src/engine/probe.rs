//! Asks candidates whether an engine answers there.

use std::io;
use std::time::Duration;

use hyper::HeaderMap;
use serde::Serialize;

use super::discover::{Attempt, Candidate, Origin};
use super::{Endpoint, EngineError, http};

/// The oldest API that creel uses: that of Docker 20.10 and of Podman 4.
pub(super) const OLDEST_API: (usize, usize) = (1, 41);

/// Which product answers; as JSON its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineKind {
    /// Docker.
    Docker,
    /// Podman's Docker API.
    Podman,
    /// Something else that speaks the API, by the name it gives itself.
    Other(String),
}

impl Serialize for EngineKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl std::fmt::Display for EngineKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Docker => f.write_str("Docker"),
            Self::Podman => f.write_str("Podman"),
            Self::Other(name) => f.write_str(name),
        }
    }
}

/// What one ping tells of an engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EngineFacts {
    /// Where it listens.
    #[serde(serialize_with = "as_text")]
    pub endpoint: Endpoint,
    /// Who named that place.
    pub origin: Origin,
    /// Which product.
    pub kind: EngineKind,
    /// Its version, empty where it does not say.
    pub version: String,
    /// Its newest API version.
    pub server_api: String,
    /// The API version that creel speaks with it.
    pub api_version: String,
    /// Its operating system, as in image names (`linux`).
    pub os: String,
    /// Reached over a Unix socket: host paths mean the same on both sides, unless creel is in a container.
    pub local: bool,
    /// Places asked in vain before this one.
    pub tried: Vec<Attempt>,
}

fn as_text<S: serde::Serializer>(value: &Endpoint, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// The first candidate that answers.
///
/// A socket that is missing, dead or forbidden lets the next implicit place have its turn. An engine that accepts
/// and does not answer ends the search: it is there, and a second engine would split the sandboxes between two.
pub(super) async fn first(candidates: Vec<Candidate>, limit: Duration) -> Result<EngineFacts, EngineError> {
    let mut tried = Vec::new();
    let mut forbidden = None;
    for candidate in candidates {
        let error = match ping(&candidate, limit).await {
            Ok(facts) => return Ok(EngineFacts { tried, ..facts }),
            Err(Miss::Final(error)) => return Err(error),
            Err(Miss::Next(failure, error)) => {
                forbidden = forbidden.or(error);
                failure
            }
        };
        let endpoint = candidate.endpoint.to_string();
        tried.push(Attempt { endpoint, origin: candidate.origin, failure: error });
    }
    Err(forbidden.unwrap_or(EngineError::NoEngine { tried }))
}

/// Why a candidate does not serve.
#[derive(Debug)]
enum Miss {
    /// Ask the next one; the reason, and the error to report should none serve.
    Next(String, Option<EngineError>),
    /// Ask no other.
    Final(EngineError),
}

/// Asks one place.
async fn ping(candidate: &Candidate, limit: Duration) -> Result<EngineFacts, Miss> {
    let endpoint = &candidate.endpoint;
    let answer = match tokio::time::timeout(limit, http::get(endpoint, "/_ping")).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(http::HttpError::Connect(error))) => return Err(unreachable(endpoint, &error)),
        Ok(Err(http::HttpError::Broken(reason))) => return Err(strange(endpoint, reason)),
        Err(_) => {
            let what = format!("ping of {endpoint}");
            return Err(Miss::Final(EngineError::NotResponding { what, after: limit }));
        }
    };
    if !answer.status.is_success() {
        return Err(strange(endpoint, format!("status {}: {}", answer.status.as_u16(), answer.message())));
    }
    facts(candidate, &answer.headers).map_err(Miss::Final)
}

/// Nothing listens there, or this user may not ask.
fn unreachable(endpoint: &Endpoint, error: &io::Error) -> Miss {
    match (error.kind(), endpoint) {
        (io::ErrorKind::PermissionDenied, Endpoint::Unix(path)) => Miss::Next(
            "permission denied".to_owned(),
            Some(EngineError::PermissionDenied { path: path.clone() }),
        ),
        (io::ErrorKind::NotFound, _) => Miss::Next("no such socket".to_owned(), None),
        (io::ErrorKind::ConnectionRefused, _) => Miss::Next("nobody listens".to_owned(), None),
        _ => Miss::Next(error.to_string(), None),
    }
}

/// Something answers there that is no working engine.
fn strange(endpoint: &Endpoint, reason: String) -> Miss {
    Miss::Final(EngineError::Protocol { what: format!("ping of {endpoint}"), reason })
}

/// Facts from the headers of a ping.
fn facts(candidate: &Candidate, headers: &HeaderMap) -> Result<EngineFacts, EngineError> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let endpoint = candidate.endpoint.clone();
    let server_api = header("api-version").to_owned();
    let Some(found) = version(&server_api) else {
        let what = format!("ping of {endpoint}");
        return Err(EngineError::Protocol { what, reason: "it names no API version".to_owned() });
    };
    if found < OLDEST_API {
        return Err(EngineError::TooOld {
            endpoint: endpoint.to_string(),
            found: server_api,
            needed: format!("{}.{}", OLDEST_API.0, OLDEST_API.1),
        });
    }
    let newest = bollard::API_DEFAULT_VERSION;
    let spoken = found.min((newest.major_version, newest.minor_version));
    let (kind, product_version) = product(header("server"), !header("libpod-api-version").is_empty());
    let os = match (header("ostype"), &kind) {
        // Podman 4 does not say.
        ("", EngineKind::Podman) => "linux",
        (os, _) => os,
    };
    Ok(EngineFacts {
        local: endpoint.is_local(),
        endpoint,
        origin: candidate.origin.clone(),
        kind,
        version: product_version,
        server_api,
        api_version: format!("{}.{}", spoken.0, spoken.1),
        os: os.to_owned(),
        tried: Vec::new(),
    })
}

/// `1.41` as numbers.
pub(super) fn version(text: &str) -> Option<(usize, usize)> {
    let (major, minor) = text.trim().split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Product and version from `Server: Docker/20.10.24 (linux)`.
fn product(server: &str, libpod: bool) -> (EngineKind, String) {
    let word = server.split_whitespace().next().unwrap_or_default();
    let (name, version) = word.split_once('/').unwrap_or((word, ""));
    let kind = match name {
        "Libpod" => EngineKind::Podman,
        _ if libpod => EngineKind::Podman,
        "Docker" => EngineKind::Docker,
        "" => EngineKind::Other("unnamed".to_owned()),
        other => EngineKind::Other(other.to_owned()),
    };
    (kind, version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products() {
        assert_eq!(
            product("Docker/20.10.24+dfsg1 (linux)", false),
            (EngineKind::Docker, "20.10.24+dfsg1".into())
        );
        assert_eq!(product("Libpod/4.3.1 (linux)", true), (EngineKind::Podman, "4.3.1".into()));
        assert_eq!(product("", true).0, EngineKind::Podman);
        assert_eq!(product("thing/1", false), (EngineKind::Other("thing".into()), "1".into()));
        assert_eq!(version("1.41"), Some((1, 41)));
        assert_eq!(version("x"), None);
    }

    fn answer(pairs: &[(&'static str, &'static str)]) -> Result<EngineFacts, EngineError> {
        let candidate = Candidate { endpoint: Endpoint::Unix("/x".into()), origin: Origin::System };
        let headers = pairs.iter().map(|(name, value)| {
            (hyper::header::HeaderName::from_static(name), hyper::header::HeaderValue::from_static(value))
        });
        facts(&candidate, &headers.collect())
    }

    #[test]
    fn api_version_is_the_newest_that_both_speak() {
        let spoken = |api| answer(&[("api-version", api)]).map(|facts| facts.api_version);
        assert_eq!(spoken("1.41").unwrap(), "1.41");
        let newest = bollard::API_DEFAULT_VERSION.to_string();
        assert_eq!(spoken("1.99").unwrap(), newest);
        assert!(matches!(spoken("1.40"), Err(EngineError::TooOld { .. })));
        assert!(matches!(answer(&[]), Err(EngineError::Protocol { .. })));
    }

    fn missing(path: &str, origin: Origin) -> Candidate {
        Candidate { endpoint: Endpoint::Unix(path.into()), origin }
    }

    #[tokio::test]
    async fn no_engine_names_every_place() {
        let places =
            vec![missing("/nonexistent/a", Origin::System), missing("/nonexistent/b", Origin::Rootless)];
        let error = first(places, Duration::from_secs(1)).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("/nonexistent/a (default socket): no such socket"), "{text}");
        assert!(text.contains("/nonexistent/b"), "{text}");
    }

    #[tokio::test]
    async fn a_dead_socket_lets_the_next_place_answer() {
        let dir = tempfile::tempdir().unwrap();
        let dead = dir.path().join("dead");
        drop(std::os::unix::net::UnixListener::bind(&dead).unwrap());
        let error =
            first(vec![missing(dead.to_str().unwrap(), Origin::System)], Duration::from_secs(1)).await;
        assert!(error.unwrap_err().to_string().contains("nobody listens"));
    }

    #[test]
    fn a_forbidden_socket_is_named_with_its_remedy() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        match unreachable(&Endpoint::Unix("/var/run/docker.sock".into()), &denied) {
            Miss::Next(_, Some(EngineError::PermissionDenied { path })) => {
                assert_eq!(path, std::path::PathBuf::from("/var/run/docker.sock"));
            }
            other => panic!("{other:?}"),
        }
    }
}
