//! Method, path and query → one of the calls that creel makes. Pure.

use super::{Denial, filters, forms};

/// A call that may be let through, once it is known whose container it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    /// About the engine or an image; it changes nothing.
    Look,
    /// List of containers, with these filters as JSON text.
    List(String),
    /// News, with these filters as JSON text.
    Events(String),
    /// A new container.
    Create,
    /// About one container.
    Container(String, Act),
    /// A new command in a container.
    ExecCreate(String),
    /// About a command of the engine's exec API.
    Exec(String, ExecAct),
}

/// What is done with a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// Read what it is; the only one that a client may ask about itself.
    Inspect,
    /// Take over its standard input.
    Attach,
    /// Start it: now the engine mounts.
    Start,
    /// Remove it.
    Remove,
    /// Stop, kill, rename, log.
    Other,
}

/// What is done with a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExecAct {
    /// Start it and take over its streams.
    Start,
    /// Read its state, change its terminal.
    Other,
}

/// A call with the request that it is forwarded as: path and query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    /// What it is.
    pub(super) call: Call,
    /// Path without the version: which one the engine is spoken to in is not the caller's choice. An older one has
    /// weaker defaults.
    pub(super) path: String,
    /// Query with its names checked; the filters are in [`Call`].
    pub(super) query: Vec<(String, String)>,
}

/// Finds the call. Letters of paths are compared exactly: who writes them otherwise is not creel.
pub(super) fn route(method: &str, path: &str, query: Option<&str>) -> Result<Route, Denial> {
    let unknown = || Denial::new(format!("{method} {path} is not a call that sandboxes need"));
    let rest = without_version(path);
    let parts: Vec<&str> = rest.strip_prefix('/').ok_or_else(unknown)?.split('/').collect();
    let pairs = pairs(query.unwrap_or_default())?;
    let filters = pairs.iter().find(|(name, _)| name == "filters").map(|(_, value)| value.clone());
    let container = |id: &&str, act| Ok::<_, Denial>(Call::Container(name(id)?, act));
    let (call, allowed): (Call, &[&str]) = match (method, parts.as_slice()) {
        ("GET" | "HEAD", ["_ping"]) | ("GET", ["version" | "info"]) => (Call::Look, &[]),
        ("GET", ["images", "json"]) => {
            (Call::Look, &["all", "digests", "filters", "manifests", "shared-size"])
        }
        ("GET", ["images", image @ .., "json"]) if !image.is_empty() => {
            image.iter().try_for_each(|part| reference(part))?;
            (Call::Look, &["manifests"])
        }
        ("GET", ["containers", "json"]) => {
            (Call::List(filters.clone().unwrap_or_default()), &["all", "filters"])
        }
        ("GET", ["events"]) => {
            (Call::Events(filters.clone().unwrap_or_default()), &["filters", "since", "until"])
        }
        ("POST", ["containers", "create"]) => (Call::Create, &["name"]),
        ("GET", ["containers", id, "json"]) => (container(id, Act::Inspect)?, &["size"]),
        ("POST", ["containers", id, "attach"]) => (container(id, Act::Attach)?, &["stream", "stdin"]),
        ("GET", ["containers", id, "logs"]) => (
            container(id, Act::Other)?,
            &["follow", "stdout", "stderr", "since", "until", "timestamps", "tail"],
        ),
        ("POST", ["containers", id, "start"]) => (container(id, Act::Start)?, &[]),
        ("POST", ["containers", id, "stop"]) => (container(id, Act::Other)?, &["t", "signal"]),
        ("POST", ["containers", id, "kill"]) => (container(id, Act::Other)?, &["signal"]),
        ("POST", ["containers", id, "rename"]) => (container(id, Act::Other)?, &["name"]),
        ("DELETE", ["containers", id]) => (container(id, Act::Remove)?, &["v", "force", "link"]),
        ("POST", ["containers", id, "exec"]) => (Call::ExecCreate(name(id)?), &[]),
        ("POST", ["exec", id, "start"]) => (Call::Exec(name(id)?, ExecAct::Start), &[]),
        ("POST", ["exec", id, "resize"]) => (Call::Exec(name(id)?, ExecAct::Other), &["h", "w"]),
        ("GET", ["exec", id, "json"]) => (Call::Exec(name(id)?, ExecAct::Other), &[]),
        _ => return Err(unknown()),
    };
    for (at, (name, value)) in pairs.iter().enumerate() {
        let twice = pairs.iter().take(at).any(|(other, _)| other == name);
        // What a client leaves empty is what the engine would assume.
        if twice || (!value.is_empty() && !allowed.contains(&name.as_str())) {
            return Err(Denial::new(format!(
                "parameter {name} of {method} {path} is not one that sandboxes need"
            )));
        }
        if !value.is_empty() && forms::parameter(name, value) == Some(false) {
            return Err(Denial::new(format!(
                "parameter {name} of {method} {path} is not in a form that creel sends"
            )));
        }
    }
    let query = pairs.into_iter().filter(|(name, value)| !value.is_empty() && name != "filters").collect();
    let mut route = Route { call, path: rest.to_owned(), query };
    if matches!(route.call, Call::Look)
        && let Some(filters) = filters
    {
        route.query.push(("filters".to_owned(), filters::images(&filters)?));
    }
    Ok(route)
}

/// What follows `/v1.41`.
fn without_version(path: &str) -> &str {
    let number = |text: &str| !text.is_empty() && text.len() < 4 && text.bytes().all(|b| b.is_ascii_digit());
    let end = path.get(1..).and_then(|rest| rest.find('/')).map_or(path.len(), |at| at + 1);
    let (first, rest) = path.split_at_checked(end).unwrap_or((path, ""));
    let version = first.strip_prefix("/v").and_then(|version| version.split_once('.'));
    match version {
        Some((major, minor)) if number(major) && number(minor) => rest,
        _ => path,
    }
}

/// A name or id of a container or command. It cannot be one of the engine's own words.
fn name(text: &str) -> Result<String, Denial> {
    let valid = forms::name(text) && !matches!(text, "json" | "create" | "prune");
    if valid { Ok(text.to_owned()) } else { Err(Denial::new(format!("{text:?} is not a name or id"))) }
}

/// A part of an image's name, with the three characters that clients escape.
fn reference(part: &str) -> Result<(), Denial> {
    let mut bare = part.to_ascii_uppercase();
    for escaped in ["%3A", "%2F", "%40"] {
        bare = bare.replace(escaped, ":");
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-:@".contains(&byte);
    let valid = !bare.is_empty() && bare.bytes().all(plain) && !bare.contains("..") && bare != ".";
    if valid { Ok(()) } else { Err(Denial::new(format!("{part:?} is not part of an image's name"))) }
}

/// The query with its values decoded.
fn pairs(query: &str) -> Result<Vec<(String, String)>, Denial> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
            let value = decode(value).filter(|_| plain && !name.is_empty());
            value
                .map(|value| (name.to_owned(), value))
                .ok_or_else(|| Denial::new(format!("query {part:?} is not understood")))
        })
        .collect()
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'%' => {
                let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                rest = rest.get(2..)?;
            }
            b'+' => bytes.push(b' '),
            other => bytes.push(other),
        }
    }
    String::from_utf8(bytes).ok()
}

/// The query as it is forwarded.
pub(super) fn encode(pairs: &[(String, String)]) -> String {
    let all: Vec<String> =
        pairs.iter().map(|(name, value)| format!("{name}={}", crate::engine::list::encode(value))).collect();
    all.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(method: &str, path: &str) -> Result<Call, Denial> {
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        route(method, path, query).map(|route| route.call)
    }

    #[test]
    fn what_creel_calls() {
        let id = "ab".repeat(32);
        for (method, path) in [
            ("GET", "/_ping".to_owned()),
            ("HEAD", "/_ping".to_owned()),
            ("GET", "/v1.41/info".to_owned()),
            ("GET", "/v1.41/images/openclaw-sandbox:bookworm-slim/json".to_owned()),
            ("GET", "/v1.41/images/localhost%3A5000%2Fa%3Ab/json".to_owned()),
            ("GET", "/v1.41/images/json?all=false&filters=%7B%7D".to_owned()),
            ("GET", "/v1.41/containers/json?all=true&filters=%7B%7D".to_owned()),
            ("POST", "/v1.41/containers/create?name=box&platform=".to_owned()),
            ("POST", format!("/v1.41/containers/{id}/start")),
            ("POST", format!("/v1.41/containers/{id}/attach?stream=1&stdin=1")),
            ("DELETE", format!("/v1.41/containers/{id}?force=true&v=true&link=false")),
            ("POST", format!("/v1.41/exec/{id}/start")),
        ] {
            assert!(call(method, &path).is_ok(), "{method} {path}");
        }
        assert_eq!(call("GET", "/containers/box/json"), Ok(Call::Container("box".to_owned(), Act::Inspect)));
    }

    #[test]
    fn everything_else_is_refused() {
        for (method, path) in [
            ("POST", "/v1.41/images/create?fromImage=x"),
            ("POST", "/v1.41/build"),
            ("POST", "/v1.41/images/load"),
            ("POST", "/v1.41/containers/prune"),
            ("POST", "/v1.41/containers/box/update"),
            ("POST", "/v1.41/containers/box/copy"),
            ("PUT", "/v1.41/containers/box/archive?path=/"),
            ("GET", "/v1.41/containers/box/archive?path=/"),
            ("GET", "/v1.41/containers/box/export"),
            ("POST", "/v1.41/commit?container=box"),
            ("POST", "/v1.41/volumes/create"),
            ("POST", "/v1.41/networks/create"),
            ("GET", "/v1.41/secrets"),
            ("POST", "/v1.41/swarm/init"),
            ("POST", "/v1.41/plugins/pull"),
            ("POST", "/session"),
            ("POST", "/grpc"),
            ("GET", "/v1.41/containers/../info"),
            ("GET", "/v1.41//info"),
            ("GET", "/v1.41/containers/%2e%2e/json"),
            ("GET", "/v1.41/images/../containers/x/json"),
            ("GET", "/v1.41/images/%2e%2e/json"),
            ("GET", "/v1.41/v1.41/info"),
            ("GET", "/V1.41/info"),
            ("get", "/v1.41/info"),
            ("GET", "/v1.41/info/"),
            ("GET", "info"),
            ("GET", ""),
            ("POST", "/v1.41/containers/create?name=a&name=b"),
            ("POST", "/v1.41/containers/create?Name=a"),
            ("POST", "/v1.41/containers/box/attach?stream=1&stdin=1&logs=1"),
            ("POST", "/v1.41/containers/box/start?checkpoint=x"),
            ("GET", "/v1.41/containers/json?filters=%zz"),
            ("GET", "/v1.41/images/json?filters=%7B%22x%22%3A%5B%22a%22%5D%7D"),
            ("POST", "/v1.41/containers/create?name=cafe"),
            ("POST", "/v1.41/containers/create?name=box&platform=linux"),
            ("POST", "/v1.41/containers/box/rename?name=0a1b2c3d4e5f"),
            ("GET", "/v1.41/containers/box/logs?stdout=yes"),
        ] {
            assert!(call(method, path).is_err(), "{method} {path}");
        }
    }

    #[test]
    fn the_version_is_not_the_callers() {
        for path in ["/info", "/v1.12/info", "/v1.41/info", "/v9.999/info"] {
            assert_eq!(route("GET", path, None).unwrap().path, "/info", "{path}");
        }
    }

    #[test]
    fn queries_are_written_anew() {
        let pairs = pairs("filters=%7B%22a%22%3A1%7D&all=true").unwrap();
        assert_eq!(pairs[0].1, "{\"a\":1}");
        assert_eq!(encode(&pairs), "filters=%7B%22a%22%3A1%7D&all=true");
    }

    proptest::proptest! {
        /// What is forwarded is understood the same way again, and leads nowhere else.
        #[test]
        fn any_request_is_judged(path in "(/(v1.41|containers|images|exec|json|create|[%./a-z0-9:@]{0,6})){0,5}", query in ".{0,20}") {
            for method in ["GET", "POST", "DELETE", "PUT"] {
                if let Ok(found) = route(method, &path, Some(&query)) {
                    let again = route(method, &found.path, Some(&encode(&found.query)));
                    proptest::prop_assert!(again.is_ok(), "{found:?}");
                    proptest::prop_assert!(!found.path.contains("..") && !found.path.contains("//"));
                }
            }
        }
    }
}
