//! Which engines to ask, in the docker client's order. Pure: values in, candidates out.
//!
//! A place that somebody named (flag, configuration, variable, context) is the only candidate: when it fails, no
//! other engine takes its place. Only the implicit places are tried one after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::{Deadlines, Endpoint, EngineError};

/// Variables that discovery reads.
const VARIABLES: [&str; 6] =
    ["DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "HOME", "XDG_RUNTIME_DIR"];

/// Sockets of desktop products, below the home directory.
const DESKTOP: [&str; 7] = [
    ".docker/run/docker.sock",
    ".docker/desktop/docker.sock",
    ".orbstack/run/docker.sock",
    ".colima/default/docker.sock",
    ".config/colima/default/docker.sock",
    ".rd/docker.sock",
    ".lima/docker/sock/docker.sock",
];

/// Everything that decides where to look for an engine; a snapshot, so that tests and daemons see one truth.
#[derive(Debug, Clone)]
pub struct Discovery {
    /// Address from a flag or the configuration; wins over everything.
    pub explicit: Option<String>,
    /// The variables that matter, by name. Blank counts as unset.
    pub env: BTreeMap<String, String>,
    /// This process's user, for `/run/user/UID`.
    pub uid: u32,
    /// How long each place may take to answer.
    pub probe_timeout: Duration,
}

impl Discovery {
    /// The process's own environment and user.
    pub fn from_process(explicit: Option<String>) -> Self {
        let env = VARIABLES
            .iter()
            .filter_map(|name| std::env::var(name).ok().map(|value| ((*name).to_owned(), value)))
            .collect();
        let uid = rustix::process::getuid().as_raw();
        Self { explicit, env, uid, probe_timeout: Deadlines::default().probe }
    }

    /// The engine that somebody named: its address, or `context NAME`. `None` where one is looked for.
    pub fn named(&self) -> Option<String> {
        let set = |name: &str| self.env.get(name).filter(|value| !value.trim().is_empty());
        self.explicit
            .clone()
            .or_else(|| set("DOCKER_HOST").cloned())
            .or_else(|| set("DOCKER_CONTEXT").map(|name| format!("context {name}")))
    }

    /// The candidates, reading context files where a context is named.
    ///
    /// # Errors
    ///
    /// [`EngineError::BadEndpoint`] and [`EngineError::BadContext`] for a named place that cannot be used.
    pub fn candidates(&self) -> Result<Vec<Candidate>, EngineError> {
        let var = |name: &str| self.env.get(name).cloned();
        let read = |path: &Path| std::fs::read_to_string(path).map_err(|error| error.to_string());
        candidates(self.explicit.as_deref(), &var, &read, self.uid)
    }
}

/// Who named a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "name")]
pub enum Origin {
    /// A flag or the configuration.
    Explicit,
    /// `DOCKER_HOST`.
    Host,
    /// The context that `DOCKER_CONTEXT` names.
    EnvContext(String),
    /// The current context of the docker client's configuration.
    CurrentContext(String),
    /// The place where a system-wide Docker listens.
    System,
    /// A rootless Docker of this user.
    Rootless,
    /// A desktop product.
    Desktop,
    /// Podman's own socket.
    Podman,
}

impl Origin {
    /// Somebody chose this place: no other may take its place.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Explicit | Self::Host | Self::EnvContext(_) | Self::CurrentContext(_))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Explicit => f.write_str("explicit setting"),
            Self::Host => f.write_str("DOCKER_HOST"),
            Self::EnvContext(name) => write!(f, "DOCKER_CONTEXT={name}"),
            Self::CurrentContext(name) => write!(f, "current docker context {name}"),
            Self::System => f.write_str("default socket"),
            Self::Rootless => f.write_str("rootless Docker"),
            Self::Desktop => f.write_str("desktop product"),
            Self::Podman => f.write_str("Podman"),
        }
    }
}

/// A place to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Where.
    pub endpoint: Endpoint,
    /// Who named it.
    pub origin: Origin,
}

/// A place that was asked in vain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attempt {
    /// Where.
    pub endpoint: String,
    /// Who named it.
    pub origin: Origin,
    /// Why it did not serve.
    pub failure: String,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.endpoint, self.origin, self.failure)
    }
}

/// Looks up a variable.
type Var<'a> = &'a dyn Fn(&str) -> Option<String>;
/// Reads a file; the error is text for a human.
type Read<'a> = &'a dyn Fn(&Path) -> Result<String, String>;

/// The candidates in order: one where somebody named it, else every implicit place.
pub fn candidates(
    explicit: Option<&str>,
    var: Var<'_>,
    read: Read<'_>,
    uid: u32,
) -> Result<Vec<Candidate>, EngineError> {
    let set = |name: &str| var(name).filter(|value| !value.trim().is_empty());
    if let Some(address) = explicit.filter(|text| !text.trim().is_empty()) {
        return named(address, Origin::Explicit);
    }
    if let Some(address) = set("DOCKER_HOST") {
        refuse_tls(&address, set("DOCKER_TLS_VERIFY").is_some())?;
        return named(&address, Origin::Host);
    }
    let config =
        set("DOCKER_CONFIG").map(PathBuf::from).or_else(|| Some(Path::new(&set("HOME")?).join(".docker")));
    let origin = match set("DOCKER_CONTEXT") {
        Some(name) => Some(Origin::EnvContext(name)),
        None => config.as_deref().and_then(|dir| current_context(dir, read)).map(Origin::CurrentContext),
    };
    match origin {
        // The context `default` means: no context.
        Some(Origin::EnvContext(name) | Origin::CurrentContext(name)) if name == "default" => {}
        Some(origin) => return context(config.as_deref(), origin, read),
        None => {}
    }
    Ok(implicit(set("HOME").as_deref(), set("XDG_RUNTIME_DIR").as_deref(), uid))
}

/// The one candidate that somebody named.
fn named(address: &str, origin: Origin) -> Result<Vec<Candidate>, EngineError> {
    Ok(vec![Candidate { endpoint: Endpoint::parse(address)?, origin }])
}

/// The docker client turns TCP into TLS when asked to verify: silently leaving TLS out would be a downgrade.
fn refuse_tls(address: &str, verify: bool) -> Result<(), EngineError> {
    match address.trim().split_once("://") {
        Some(("tcp", rest)) if verify => Endpoint::parse(&format!("https://{rest}")).map(|_| ()),
        _ => Ok(()),
    }
}

/// The current context of the client's configuration; an unreadable configuration names none, as for the client.
fn current_context(dir: &Path, read: Read<'_>) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Config {
        #[serde(default, rename = "currentContext")]
        current_context: String,
    }
    let text = read(&dir.join("config.json")).ok()?;
    let config: Config = serde_json::from_str(&text).ok()?;
    Some(config.current_context).filter(|name| !name.is_empty())
}

/// The endpoint that a context's metadata holds; the client names its directory by the digest of the name.
fn context(dir: Option<&Path>, origin: Origin, read: Read<'_>) -> Result<Vec<Candidate>, EngineError> {
    let (Origin::EnvContext(name) | Origin::CurrentContext(name)) = &origin else { return Ok(Vec::new()) };
    let bad =
        |reason: String| EngineError::BadContext { name: name.clone(), origin: origin.to_string(), reason };
    let dir = dir.ok_or_else(|| bad("neither DOCKER_CONFIG nor HOME is set".to_owned()))?;
    let digest = crate::state::hex(&Sha256::digest(name.as_bytes()));
    let path = dir.join("contexts/meta").join(digest).join("meta.json");
    let text = read(&path).map_err(|error| bad(format!("{}: {error}", path.display())))?;
    let host = context_host(&text).map_err(|reason| bad(format!("{}: {reason}", path.display())))?;
    let tls = dir.join("contexts/tls").join(path.parent().and_then(Path::file_name).unwrap_or_default());
    refuse_tls(&host, read(&tls.join("docker/ca.pem")).is_ok())?;
    named(&host, origin)
}

/// `Endpoints.docker.Host` of a context's metadata.
fn context_host(text: &str) -> Result<String, String> {
    let meta: serde_json::Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let host = meta.pointer("/Endpoints/docker/Host").and_then(serde_json::Value::as_str);
    host.map(str::to_owned).ok_or_else(|| "holds no docker endpoint".to_owned())
}

/// Where engines listen when nobody says where.
fn implicit(home: Option<&str>, runtime: Option<&str>, uid: u32) -> Vec<Candidate> {
    let user = PathBuf::from(format!("/run/user/{uid}"));
    let runtime = runtime.map_or_else(|| user.clone(), PathBuf::from);
    let mut places = vec![
        (PathBuf::from("/var/run/docker.sock"), Origin::System),
        (runtime.join("docker.sock"), Origin::Rootless),
        (user.join("docker.sock"), Origin::Rootless),
    ];
    if let Some(home) = home {
        places.extend(DESKTOP.iter().map(|path| (Path::new(home).join(path), Origin::Desktop)));
    }
    places.extend([
        (runtime.join("podman/podman.sock"), Origin::Podman),
        (user.join("podman/podman.sock"), Origin::Podman),
        (PathBuf::from("/run/podman/podman.sock"), Origin::Podman),
    ]);
    let mut seen = BTreeSet::new();
    places.retain(|(path, _)| seen.insert(path.clone()));
    places.into_iter().map(|(path, origin)| Candidate { endpoint: Endpoint::Unix(path), origin }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Candidates for these variables and files.
    fn find(
        explicit: Option<&str>,
        vars: &[(&str, &str)],
        files: &[(String, &str)],
    ) -> Result<Vec<Candidate>, EngineError> {
        let var =
            |name: &str| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let read = |path: &Path| {
            let found = files.iter().find(|(name, _)| Path::new(name) == path);
            found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "no such file".to_owned())
        };
        candidates(explicit, &var, &read, 1000)
    }

    /// The only candidate, as text.
    fn only(found: Result<Vec<Candidate>, EngineError>) -> (String, Origin) {
        let found = found.unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].origin.is_final());
        (found[0].endpoint.to_string(), found[0].origin.clone())
    }

    fn meta(name: &str) -> String {
        let digest = crate::state::hex(&Sha256::digest(name.as_bytes()));
        format!("/h/.docker/contexts/meta/{digest}/meta.json")
    }

    const CONTEXT: &str =
        r#"{"Name":"far","Metadata":{},"Endpoints":{"docker":{"Host":"unix:///far.sock"}}}"#;

    #[test]
    fn a_named_place_is_the_only_one() {
        let all = [("DOCKER_HOST", "unix:///env.sock"), ("DOCKER_CONTEXT", "far"), ("HOME", "/h")];
        let files =
            [(meta("far"), CONTEXT), ("/h/.docker/config.json".to_owned(), r#"{"currentContext":"far"}"#)];
        let got = only(find(Some("/flag.sock"), &all, &files));
        assert_eq!(got, ("unix:///flag.sock".to_owned(), Origin::Explicit));
        assert_eq!(only(find(None, &all, &files)), ("unix:///env.sock".to_owned(), Origin::Host));
        let got = only(find(None, &all[1..], &files));
        assert_eq!(got, ("unix:///far.sock".to_owned(), Origin::EnvContext("far".to_owned())));
        let got = only(find(None, &all[2..], &files));
        assert_eq!(got, ("unix:///far.sock".to_owned(), Origin::CurrentContext("far".to_owned())));
    }

    #[test]
    fn a_named_context_that_is_missing_is_an_error() {
        let error = find(None, &[("DOCKER_CONTEXT", "gone"), ("HOME", "/h")], &[]).unwrap_err();
        assert!(matches!(&error, EngineError::BadContext { name, .. } if name == "gone"), "{error}");
        let broken = [(meta("far"), "{}")];
        let error = find(None, &[("DOCKER_CONTEXT", "far"), ("HOME", "/h")], &broken).unwrap_err();
        assert!(error.to_string().contains("holds no docker endpoint"), "{error}");
    }

    #[test]
    fn implicit_places_in_order() {
        let found =
            find(None, &[("HOME", "/h"), ("XDG_RUNTIME_DIR", "/x"), ("DOCKER_HOST", " ")], &[]).unwrap();
        let list: Vec<_> = found.iter().map(|candidate| candidate.endpoint.to_string()).collect();
        let at = |text: &str| list.iter().position(|entry| entry == text).unwrap_or_else(|| panic!("{text}"));
        let order = [
            "unix:///var/run/docker.sock",
            "unix:///x/docker.sock",
            "unix:///run/user/1000/docker.sock",
            "unix:///h/.docker/run/docker.sock",
            "unix:///x/podman/podman.sock",
            "unix:///run/podman/podman.sock",
        ];
        assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{list:?}");
        assert!(found.iter().all(|candidate| !candidate.origin.is_final()));
        let doubled = find(None, &[("XDG_RUNTIME_DIR", "/run/user/1000")], &[]).unwrap();
        assert_eq!(doubled.iter().filter(|entry| entry.origin == Origin::Rootless).count(), 1);
    }

    #[test]
    fn the_default_context_is_no_context() {
        let files = [("/h/.docker/config.json".to_owned(), r#"{"currentContext":"default"}"#)];
        assert!(find(None, &[("HOME", "/h")], &files).unwrap().len() > 1);
        assert!(find(None, &[("HOME", "/h"), ("DOCKER_CONTEXT", "default")], &files).unwrap().len() > 1);
        let junk = [("/h/.docker/config.json".to_owned(), "junk")];
        assert!(find(None, &[("HOME", "/h")], &junk).unwrap().len() > 1);
    }

    #[test]
    fn tls_is_never_dropped_silently() {
        let vars = [("DOCKER_HOST", "tcp://box:2376"), ("DOCKER_TLS_VERIFY", "1")];
        assert!(matches!(find(None, &vars, &[]), Err(EngineError::BadEndpoint { .. })));
        assert_eq!(only(find(None, &vars[..1], &[])).0, "tcp://box:2376");
    }
}
