//! Names and values of environment variables that go into a sandbox (spec `sandbox.md` §8.2, §8.3). Pure.

/// Values longer than this are worth a warning, in bytes.
const LONG: usize = 32_768;
/// Unbroken base64 of at least this length looks like a credential.
const BASE64: usize = 80;

/// Names that are blocked as they are.
const SECRET_NAMES: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "OPENROUTER_API_KEY",
    "MINIMAX_API_KEY",
    "ELEVENLABS_API_KEY",
    "SYNTHETIC_API_KEY",
    "TELEGRAM_BOT_TOKEN",
    "DISCORD_BOT_TOKEN",
    "SLACK_BOT_TOKEN",
    "SLACK_APP_TOKEN",
    "LINE_CHANNEL_SECRET",
    "LINE_CHANNEL_ACCESS_TOKEN",
    "OPENCLAW_GATEWAY_TOKEN",
    "OPENCLAW_GATEWAY_PASSWORD",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SECRET_KEY",
    "AWS_SESSION_TOKEN",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "AZURE_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "COHERE_API_KEY",
    "AI_GATEWAY_API_KEY",
];

/// Endings that upstream blocks.
const SECRET_ENDINGS: &[&str] = &["_ADMIN_KEY", "API_KEY", "TOKEN", "PASSWORD", "PRIVATE_KEY", "SECRET"];

/// creel's additions: names that upstream's list misses.
const MORE_NAMES: &[&str] = &[
    "APIKEY",
    "AUTH",
    "BEARER",
    "CREDENTIAL",
    "CREDENTIALS",
    "DATABASE_URL",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "KUBECONFIG",
    "MONGODB_URI",
    "NETRC",
    "PASSPHRASE",
    "PASSWD",
    "PGPASSFILE",
    "REDIS_URL",
    "SSH_AUTH_SOCK",
    "DOCKER_HOST",
    "DOCKER_CONFIG",
    "ADMIN_KEY",
];

/// creel's additions: endings and parts of the same kind.
const MORE_ENDINGS: &[&str] = &[
    "_PASS",
    "_PASSWD",
    "_PASSPHRASE",
    "_PWD",
    "_CREDENTIALS",
    "_CREDENTIAL",
    "_APIKEY",
    "_AUTH",
    "_BEARER",
    "_ACCESS_KEY",
    "_ACCESS_KEY_ID",
    "_SECRET_KEY",
    "_SIGNING_KEY",
    "_ENCRYPTION_KEY",
    "_TOKENS",
    "_SECRETS",
    "_COOKIE",
    "_DSN",
    "_DATABASE_URL",
    "_CONNECTION_STRING",
];

/// What strict mode lets through, beside `LC_*`.
const STRICT: &[&str] = &["LANG", "PATH", "HOME", "USER", "SHELL", "TERM", "TZ", "NODE_ENV"];

/// Why a variable stays outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocked {
    /// The name is upstream's idea of a secret.
    SecretName,
    /// The name is creel's idea of a secret, upstream lets it through.
    SecretNameMore,
    /// Strict mode, and the name is not on its list.
    NotListed,
    /// The value contains NUL, which no environment can hold.
    Nul,
}

/// What is odd about a value that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Oddity {
    /// It is very long.
    #[error("is longer than {LONG} bytes")]
    Long,
    /// It may be a credential.
    #[error("looks like a base64-encoded credential")]
    Base64,
}

/// Variables that were looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sifted {
    /// Names (trimmed) and values that pass, in order.
    pub allowed: Vec<(String, String)>,
    /// Names that do not.
    pub blocked: Vec<(String, Blocked)>,
    /// Names whose values are odd; they pass.
    pub odd: Vec<(String, Oddity)>,
}

/// Variables that the operator wrote out for the sandbox: names are not judged, the operator meant them.
pub fn explicit<'a>(vars: impl IntoIterator<Item = (&'a str, &'a str)>) -> Sifted {
    sift(vars, |_| None)
}

/// Variables that would be inherited: nothing that looks like a secret, and in strict mode only what is listed.
pub fn inherited<'a>(vars: impl IntoIterator<Item = (&'a str, &'a str)>, strict: bool) -> Sifted {
    sift(vars, |name| secret(name).or_else(|| (strict && !listed(name)).then_some(Blocked::NotListed)))
}

fn sift<'a>(
    vars: impl IntoIterator<Item = (&'a str, &'a str)>,
    block: impl Fn(&str) -> Option<Blocked>,
) -> Sifted {
    let mut sifted = Sifted::default();
    for (name, value) in vars {
        let name = name.trim();
        if name.is_empty() {
            continue;
        }
        let nul = value.contains('\0').then_some(Blocked::Nul);
        if let Some(blocked) = block(name).or(nul) {
            sifted.blocked.push((name.to_owned(), blocked));
            continue;
        }
        if let Some(oddity) = oddity(value) {
            sifted.odd.push((name.to_owned(), oddity));
        }
        sifted.allowed.push((name.to_owned(), value.to_owned()));
    }
    sifted
}

/// Whether a name looks like a secret's. Used for filtering, and by explain for configured names.
pub fn secret(name: &str) -> Option<Blocked> {
    let name = name.to_ascii_uppercase();
    if SECRET_NAMES.contains(&name.as_str()) || SECRET_ENDINGS.iter().any(|end| name.ends_with(end)) {
        return Some(Blocked::SecretName);
    }
    let more = MORE_NAMES.contains(&name.as_str()) || MORE_ENDINGS.iter().any(|end| name.ends_with(end));
    // NPM_CONFIG__AUTH and its like.
    (more || name.contains("__AUTH")).then_some(Blocked::SecretNameMore)
}

fn listed(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    STRICT.contains(&name.as_str()) || name.starts_with("LC_")
}

fn oddity(value: &str) -> Option<Oddity> {
    if value.len() > LONG {
        return Some(Oddity::Long);
    }
    let body = value.trim_end_matches('=');
    let alphabet = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
    (value.len() >= BASE64 && value.len() - body.len() <= 2 && body.bytes().all(alphabet))
        .then_some(Oddity::Base64)
}

/// Why a name cannot be one of an environment variable, where it cannot.
pub fn bad_name(name: &str) -> Option<&'static str> {
    let head = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let tail = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (!(head && tail)).then_some("must consist of letters, digits and underscores, and not begin with a digit")
}

/// Why a value cannot be passed on, where it cannot.
pub fn bad_value(value: &str) -> Option<&'static str> {
    value.contains(['\0', '\n', '\r']).then_some("the value contains a line break or a NUL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (name, wanted) in [
            ("openai_api_key", Some(Blocked::SecretName)),
            ("XTOKEN", Some(Blocked::SecretName)),
            ("DB_PASS", Some(Blocked::SecretNameMore)),
            ("KUBECONFIG", Some(Blocked::SecretNameMore)),
            ("TOKEN_X", None),
            ("PWD", None),
            ("PATH", None),
            ("PUBLIC_KEY", None),
        ] {
            assert_eq!(secret(name), wanted, "{name}");
        }
        assert!(bad_name("1A").is_some() && bad_name("A-B").is_some() && bad_name("").is_some());
        assert!(bad_name("_a1").is_none() && bad_value("a\nb").is_some());
    }

    #[test]
    fn explicit_names_pass_and_nul_never_does() {
        let sifted = explicit([(" A_TOKEN ", "x"), ("B", "a\0b"), ("", "y")]);
        assert_eq!(sifted.allowed, [("A_TOKEN".to_owned(), "x".to_owned())]);
        assert_eq!(sifted.blocked, [("B".to_owned(), Blocked::Nul)]);
        let strict = inherited([("FOO", "v"), ("LC_ALL", "v")], true);
        assert_eq!(strict.blocked, [("FOO".to_owned(), Blocked::NotListed)]);
    }
}
