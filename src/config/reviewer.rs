//! The block `tools.exec.reviewer`: who looks at a command in mode `auto` before a person does (spec `approvals.md` 13.16,
//! 13.17).

use super::reader::{Block, Set};

pub(super) const KEYS: &[&str] = &["model", "timeoutMs", "thinking", "fastMode", "command", "url", "keyEnv"];
/// How hard a model may think.
pub const THINKING: [(&str, &str); 6] = [
    ("minimal", "minimal"),
    ("low", "low"),
    ("medium", "medium"),
    ("high", "high"),
    ("xhigh", "xhigh"),
    ("max", "max"),
];
/// Milliseconds for an answer where nothing is configured.
pub const DEFAULT_TIMEOUT_MS: u64 = 30_000;
/// The least milliseconds; less counts as this.
pub const LEAST_TIMEOUT_MS: u64 = 1000;
/// The most milliseconds; more counts as this.
const MOST_TIMEOUT_MS: u64 = 600_000;

/// The reviewer that holds for an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewerSettings {
    /// A program and its arguments (extension): the case on its input, the verdict on its output. Empty where none is set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// An endpoint of OpenAI-compatible chat completions (extension), up to `/chat/completions`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The variable that holds the endpoint's key (extension).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How hard it thinks: one of [`THINKING`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// The endpoint is asked for its faster service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast_mode: Option<bool>,
    /// Milliseconds for an answer, everything that is needed for it included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

impl ReviewerSettings {
    /// Reads `reviewer` out of a block of exec.
    pub(super) fn read(exec: &Block<'_>) -> Self {
        let Some(block) = &exec.closed("reviewer", KEYS) else { return Self::default() };
        let settings = Self {
            command: command(block),
            url: url(block),
            key_env: key_env(block),
            model: block.word("model").map(|set| set.value),
            thinking: block.choice("thinking", &THINKING).map(|set| set.value.to_owned()),
            fast_mode: block.flag("fastMode").map(|set| set.value),
            timeout_ms: block.whole("timeoutMs", 1).map(|set| set.value),
        };
        if block.has("command") && block.has("url") {
            let fix = "keep one of command and url";
            block.problem("command", "stands beside url, and one reviewer is asked", fix);
        }
        settings
    }

    /// The agent's values over the global ones. Who is asked is one value: an agent's own reviewer gets no key that
    /// another one was given.
    #[must_use]
    pub fn over(&self, global: &Self) -> Self {
        let asked = if self.is_set() { self } else { global };
        Self {
            command: asked.command.clone(),
            url: asked.url.clone(),
            key_env: asked.key_env.clone(),
            model: self.model.clone().or_else(|| global.model.clone()),
            thinking: self.thinking.clone().or_else(|| global.thinking.clone()),
            fast_mode: self.fast_mode.or(global.fast_mode),
            timeout_ms: self.timeout_ms.or(global.timeout_ms),
        }
    }

    /// Whether there is a reviewer.
    pub fn is_set(&self) -> bool {
        !self.command.is_empty() || self.url.is_some()
    }

    /// How long an answer may take.
    pub fn timeout(&self) -> std::time::Duration {
        let ms = self.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
        std::time::Duration::from_millis(ms.clamp(LEAST_TIMEOUT_MS, MOST_TIMEOUT_MS))
    }
}

/// A program that is named by its path: what PATH finds may be another one tomorrow.
fn command(block: &Block<'_>) -> Vec<String> {
    let Some(list) = block.list("command") else { return Vec::new() };
    let words: Vec<String> = list.value.iter().map(|word| word.value.clone()).collect();
    if words.first().is_none_or(|program| !program.starts_with('/')) {
        let message = "must begin with the absolute path of a program";
        block.problem("command", message, "write [\"/path/of/the/reviewer\", …], or remove it");
        return Vec::new();
    }
    if let Some(bad) = list.value.iter().find(|word| word.value.contains('\0')) {
        block.problem_at(&bad.key, "holds a NUL", "remove it");
        return Vec::new();
    }
    words
}

fn url(block: &Block<'_>) -> Option<String> {
    let Set { value, key } = block.word("url")?;
    let parsed = value.parse::<hyper::Uri>().ok();
    let fit = parsed.as_ref().is_some_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.host().is_some_and(|host| !host.is_empty())
            && uri.query().is_none()
            && uri.authority().is_some_and(|authority| !authority.as_str().contains('@'))
    });
    if !fit {
        // The value is not repeated: it may hold a password.
        let message = "must be an address of http or https, without user, password and query";
        block.problem_at(&key, message, "write \"https://HOST/v1\", and name the key's variable in keyEnv");
        return None;
    }
    Some(value.trim_end_matches('/').to_owned())
}

fn key_env(block: &Block<'_>) -> Option<String> {
    let Set { value, key } = block.word("keyEnv")?;
    let name = !value.starts_with(|c: char| c.is_ascii_digit())
        && value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !name {
        // Somebody may have written the key itself.
        block.problem_at(&key, "must be the name of a variable", "write the variable's name, not the key");
        return None;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pretty_assertions::assert_eq;

    use super::*;
    use crate::config::Config;
    use crate::error::Diagnose as _;
    use crate::session::AgentId;

    fn read(text: &str) -> Result<Config, String> {
        Config::parse(text, Path::new("/x.json"), &|_| None).map_err(|error| error.report().message)
    }

    fn of(text: &str, agent: &str) -> ReviewerSettings {
        read(text).unwrap().exec(&AgentId::parse(agent).unwrap()).reviewer
    }

    #[test]
    fn keys() {
        let text = "{tools: {exec: {reviewer: {url: 'http://127.0.0.1:1/v1/', keyEnv: 'K_1', model: 'm', \
                    thinking: 'low', fastMode: true, timeoutMs: 5}}}}";
        let settings = of(text, "main");
        assert_eq!(settings.url.as_deref(), Some("http://127.0.0.1:1/v1"));
        assert_eq!(settings.timeout().as_millis(), 1000, "the least");
        assert_eq!((settings.thinking.as_deref(), settings.fast_mode), (Some("low"), Some(true)));
        assert_eq!(ReviewerSettings::default().timeout().as_millis(), 30_000);
        for (inside, message) in [
            ("command: ['reviewer']", "absolute path"),
            ("command: []", "absolute path"),
            ("command: ['/r', 'a\\u0000b']", "NUL"),
            ("command: ['/r'], url: 'http://h'", "beside url"),
            ("url: 'ftp://h'", "http or https"),
            ("url: '/v1'", "http or https"),
            ("url: 'https://u:secret@h/v1'", "http or https"),
            ("url: 'https://h/v1?key=secret'", "http or https"),
            ("keyEnv: 'sk-secret'", "name of a variable"),
            ("thinking: 'hard'", "must be one of"),
            ("timeoutMs: 0", "at least 1"),
            ("modle: 'm'", "unknown key"),
        ] {
            let error = read(&format!("{{tools: {{exec: {{reviewer: {{{inside}}}}}}}}}")).unwrap_err();
            assert!(error.contains(message) && !error.contains("secret"), "{inside}: {error}");
        }
    }

    #[test]
    fn an_agents_own_reviewer_gets_no_other_ones_key() {
        let text = "{tools: {exec: {commandHighlighting: true, reviewer: {url: 'https://one', keyEnv: 'ONE', model: 'm'}}}, \
                    agents: {entries: {a: {tools: {exec: {reviewer: {url: 'https://two'}}}}, \
                    b: {tools: {exec: {commandHighlighting: false, reviewer: {model: 'n'}}}}, \
                    c: {tools: {exec: {reviewer: {command: ['/r']}}}}}}}";
        let a = of(text, "a");
        assert_eq!((a.url.as_deref(), a.key_env, a.model.as_deref()), (Some("https://two"), None, Some("m")));
        let b = of(text, "b");
        assert_eq!((b.key_env.as_deref(), b.model.as_deref()), (Some("ONE"), Some("n")));
        let c = of(text, "c");
        assert_eq!((c.command, c.url), (vec!["/r".to_owned()], None));
        let highlights =
            |agent: &str| read(text).unwrap().exec(&AgentId::parse(agent).unwrap()).command_highlighting;
        assert_eq!((highlights("a"), highlights("b")), (true, false));
    }
}
