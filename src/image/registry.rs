//! Which registry a reference is from, and which credentials the docker client keeps for it. Pure.

use base64::Engine as _;
use serde_json::Value;

use crate::engine::RegistryAuth;

/// The registry of references without one, and the name under which the docker client keeps its credentials.
const HUB: &str = "docker.io";
const HUB_KEY: &str = "https://index.docker.io/v1/";

/// The registry's host, as in the reference.
pub(super) fn registry(reference: &str) -> &str {
    match reference.split_once('/') {
        Some((host, _)) if host == "localhost" || host.contains(['.', ':']) => host,
        _ => HUB,
    }
}

/// What the docker client's configuration holds for a registry.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Credentials in the file itself.
    pub(super) auth: Option<RegistryAuth>,
    /// Why there are none, where some other program keeps them.
    pub(super) note: Option<String>,
}

/// Looks the registry up. A file that is not understood holds nothing, as for the docker client.
pub(super) fn credentials(config: &str, registry: &str) -> Found {
    let config: Value = serde_json::from_str(config).unwrap_or_default();
    let keys = if registry == HUB {
        vec![HUB_KEY.to_owned(), HUB.to_owned()]
    } else {
        vec![registry.to_owned(), format!("https://{registry}"), format!("http://{registry}")]
    };
    let entry = |section: &str| {
        let section = config.get(section)?;
        keys.iter().find_map(|key| section.get(key))
    };
    if let Some(auth) = entry("auths").and_then(|entry| login(entry, &keys)) {
        return Found { auth: Some(auth), note: None };
    }
    let helper = entry("credHelpers").or_else(|| config.get("credsStore")).and_then(Value::as_str);
    let note = helper.filter(|helper| !helper.is_empty()).map(|helper| {
        format!(
            "the docker client keeps credentials in docker-credential-{}, which creel does not run: use docker pull",
            helper.escape_debug()
        )
    });
    Found { auth: None, note }
}

/// `auth` is `user:password` in base64; a token stands beside it.
fn login(entry: &Value, keys: &[String]) -> Option<RegistryAuth> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let server = keys.first().cloned().unwrap_or_default();
    let token = text("identitytoken").map(str::to_owned);
    let pair =
        text("auth").and_then(|auth| base64::engine::general_purpose::STANDARD.decode(auth.trim()).ok());
    let pair = pair.and_then(|pair| String::from_utf8(pair).ok());
    let (user, password) = match pair.as_deref().and_then(|pair| pair.split_once(':')) {
        Some((user, password)) => (user.to_owned(), password.trim_end_matches('\0').to_owned()),
        None => {
            (text("username").unwrap_or_default().to_owned(), text("password").unwrap_or_default().to_owned())
        }
    };
    (token.is_some() || !user.is_empty()).then_some(RegistryAuth { server, user, password, token })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries() {
        for (reference, host) in [
            ("debian:12", "docker.io"),
            ("library/debian", "docker.io"),
            ("localhost/a", "localhost"),
            ("127.0.0.1:5000/a:b", "127.0.0.1:5000"),
            ("ghcr.io/a/b@sha256:00", "ghcr.io"),
        ] {
            assert_eq!(registry(reference), host);
        }
    }

    #[test]
    fn credentials_of_the_docker_client() {
        let config = r#"{"auths": {"a.example": {"auth": "dTpwOnc="}, "https://index.docker.io/v1/": {"identitytoken": "t"},
            "b.example": {}}, "credsStore": "desktop", "credHelpers": {"c.example": "cloud"}}"#;
        let found = credentials(config, "a.example").auth.unwrap();
        assert_eq!((found.user.as_str(), found.password.as_str()), ("u", "p:w"));
        assert_eq!(credentials(config, "docker.io").auth.unwrap().token.as_deref(), Some("t"));
        assert!(credentials(config, "b.example").note.unwrap().contains("docker-credential-desktop"));
        assert!(credentials(config, "c.example").note.unwrap().contains("docker-credential-cloud"));
        for nothing in ["", "junk", "{}", r#"{"auths": {"a.example": {"auth": "!"}}}"#] {
            let found = credentials(nothing, "a.example");
            assert!(found.auth.is_none() && found.note.is_none(), "{nothing}");
        }
    }
}
