//! Slugs and container names (spec `sandbox.md` §3.2, §3.3).

use sha2::{Digest as _, Sha256};

use super::scope::ScopeKey;
use crate::state::InstallationId;

/// The longest container name: it doubles as a host name label.
const NAME_MAX: usize = 63;
/// Where a slug's readable part is cut.
const SLUG_MAX: usize = 32;
/// Digits in a workspace suffix or slug.
pub(super) const DIGEST: usize = 32;

/// The first `digits` of the hex SHA-256 of `text`.
pub(super) fn sha(text: &str, digits: usize) -> String {
    let mut hex = crate::state::hex(&Sha256::digest(text.as_bytes()));
    hex.truncate(digits);
    hex
}

/// 32 hex digits that stand for `text` in a scope key.
pub fn digest(text: &str) -> String {
    sha(text, DIGEST)
}

/// Trims and lowers, replaces each run of characters that are not `kept` by one `-`, strips `-` at both ends.
pub(super) fn dashed(text: &str, kept: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut gap = false;
    for c in text.trim().to_lowercase().chars() {
        if kept(c) {
            if gap {
                out.push('-');
            }
            out.push(c);
        }
        gap = !kept(c);
    }
    out.trim_matches('-').to_owned()
}

/// A short name for a key that differs whenever the keys differ.
pub fn slug(key: &str) -> String {
    let key = key.trim();
    if has_workspace_suffix(key) {
        return format!("workspace-{}", sha(key, DIGEST));
    }
    let base = if key.is_empty() { "session" } else { key };
    let readable: String = dashed(base, |c| matches!(c, 'a'..='z' | '0'..='9' | '.' | '_' | '-'))
        .chars()
        .take(SLUG_MAX)
        .collect();
    let readable = if readable.is_empty() { "session" } else { &readable };
    format!("{readable}-{}", sha(base, 8))
}

/// Ends with `:workspace:` and 32 hex digits, in any case.
fn has_workspace_suffix(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    lower.rsplit_once(":workspace:").is_some_and(|(_, digest)| is_digest(digest))
}

fn is_digest(text: &str) -> bool {
    text.len() == DIGEST && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// The container's name: upstream's `prefix + slug`, then `-` and six digits of the installation, so that two
/// installations on one engine never meet. At most 63 characters, of which the last seven are the installation's.
pub fn container_name(prefix: &str, scope: &ScopeKey, installation: &InstallationId) -> String {
    let suffix = format!("-{}", installation.short());
    let slug = if *scope == ScopeKey::Shared { "shared".to_owned() } else { slug(&scope.to_string()) };
    format!("{}{suffix}", fit(prefix, &slug, NAME_MAX.saturating_sub(suffix.len())))
}

/// Cuts `prefix + slug` to `max` characters without losing what tells two scopes apart.
fn fit(prefix: &str, slug: &str, max: usize) -> String {
    let full = format!("{prefix}{slug}");
    if full.len() <= max {
        return full;
    }
    let digest = sha(&full, 12);
    if slug.strip_prefix("workspace-").is_some_and(is_digest) {
        let tail = format!("-{slug}-{digest}");
        return match cut(prefix, max.saturating_sub(tail.len())) {
            // No engine takes a name that begins with a dash.
            "" => format!("{slug}-{digest}"),
            head => format!("{head}{tail}"),
        };
    }
    format!("{}-{digest}", cut(&full, max.saturating_sub(digest.len() + 1)))
}

/// The longest start of `text` of at most `max` bytes that ends between characters.
fn cut(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{AgentId, Scope, SessionKey};
    use super::*;

    #[test]
    fn slugs_of_the_spec() {
        for (key, wanted) in [
            ("agent:main:main", "agent-main-main-6d9217fe"),
            ("main", "main-0d6e4079"),
            ("", "session-3f3af1ec"),
            ("---", "session-cb3f91d5"),
            ("Agent:Main:WhatsApp:group:123@g.us", "agent-main-whatsapp-group-123-g.-84d7ae6f"),
            ("agent:main:workspace:zz", "agent-main-workspace-zz-888c2efb"),
        ] {
            assert_eq!(slug(key), wanted, "{key:?}");
        }
        let key = format!("agent:main:workspace:{}", "a".repeat(32));
        assert_eq!(slug(&key), "workspace-ec4cca407ff119b16db30b259e90ea97");
    }

    #[test]
    fn scope_vectors_of_the_spec() {
        let w = Path::new("/home/u/ws");
        assert_eq!(sha("/home/u/ws", 32), "59f00c3df4a2af58523f193f9e8ada36");
        let main = SessionKey::main_of(&AgentId::main());
        let scope = ScopeKey::new(Scope::Agent, &main, w);
        assert_eq!(slug(&scope.to_string()), "workspace-79c5f2c2fb731cde560a327cc3447285");
        let group = SessionKey::parse("agent:main:discord:group:1", &AgentId::main()).unwrap();
        let scope = ScopeKey::new(Scope::Session, &group, w);
        assert_eq!(slug(&scope.to_string()), "workspace-760278297ed847cbdf3c2c58df37e3a8");
    }

    #[test]
    fn long_names_keep_what_tells_scopes_apart() {
        let slug = "workspace-ec4cca407ff119b16db30b259e90ea97";
        assert_eq!(
            fit("a-very-long-container-prefix-that-goes-on-", slug, 63),
            "a-very--workspace-ec4cca407ff119b16db30b259e90ea97-88119da5e736"
        );
        assert_eq!(fit("openclaw-sbx-", "shared", 63), "openclaw-sbx-shared");
        let long = fit(&"p".repeat(80), "main-0d6e4079", 63);
        assert_eq!(
            long,
            format!("{}-{}", "p".repeat(50), sha(&format!("{}main-0d6e4079", "p".repeat(80)), 12))
        );
    }

    #[test]
    fn names_end_with_the_installation_and_fit() {
        let id = InstallationId::parse("0123456789abcdef0123456789abcdef").unwrap();
        assert_eq!(container_name("openclaw-sbx-", &ScopeKey::Shared, &id), "openclaw-sbx-shared-012345");
        let scope = ScopeKey::new(Scope::Agent, &SessionKey::main_of(&AgentId::main()), Path::new("/w"));
        for prefix in ["", "openclaw-sbx-", &"long".repeat(30)] {
            let name = container_name(prefix, &scope, &id);
            assert!(name.len() <= 63 && name.ends_with("-012345"), "{name}");
            assert!(name.starts_with(|c: char| c.is_ascii_alphanumeric()), "{name}");
        }
        let short = container_name("openclaw-sbx-", &scope, &id);
        assert_eq!(short, format!("openclaw-sbx-{}-012345", slug(&scope.to_string())));
    }
}
