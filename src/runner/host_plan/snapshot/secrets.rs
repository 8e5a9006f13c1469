//! Whether text of a snapshot looks as if it held credentials (spec `exec.md` §4.2). Pure.
//!
//! The file lies on disk and is read before every command: one doubt, and there is no snapshot at all.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

/// Parts of names that are secrets', in lower case.
const WORDS: &[&str] =
    &["secret", "token", "password", "passwd", "credential", "cookie", "session", "auth", "key"];

/// Texts that are credentials, or stand beside them.
const SIGNS: &[&str] = &[
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY",
    // Well-known prefixes of tokens.
    r"\bsk-[A-Za-z0-9_-]{10}",
    r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{8}",
    r"\bgh[opsur]_[A-Za-z0-9]{10}",
    r"\bgithub_pat_[A-Za-z0-9_]{10}",
    r"\bgl(?:pat|ptt|dt|rt|ft|soat)-[A-Za-z0-9_-]{10}",
    r"\bxox[a-z]-[A-Za-z0-9-]{8}",
    r"\bxapp-[A-Za-z0-9-]{8}",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{12}",
    r"\bAIza[A-Za-z0-9_-]{20}",
    r"\bya29\.[A-Za-z0-9_-]{8}",
    r"\bnpm_[A-Za-z0-9]{20}",
    r"\bpypi-[A-Za-z0-9_-]{16}",
    r"\bhf_[A-Za-z0-9]{16}",
    r"\b(?:gsk|dop_v1|r8|shpat)_[A-Za-z0-9]{16}",
    r"\b(?:xai|pplx|tvly|nvapi|dckr_pat)-[A-Za-z0-9_-]{10}",
    r"\bSG\.[A-Za-z0-9_-]{10}",
    r"\bglsa_[A-Za-z0-9]{10}",
    r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{4}",
    r"\b[0-9]{8,10}:[A-Za-z0-9_-]{30}",
    // Names of providers' keys, whatever is done with them.
    r"(?i)\b(?:OPENAI|ANTHROPIC|GEMINI|GOOGLE|OPENROUTER|MISTRAL|GROQ|XAI|COHERE|DEEPSEEK|MINIMAX|ELEVENLABS|SYNTHETIC|AZURE|AZURE_OPENAI|AI_GATEWAY|HUGGINGFACE|REPLICATE|TOGETHER|PERPLEXITY|FIREWORKS|CEREBRAS|MOONSHOT|ZAI|VOYAGE|BRAVE|TAVILY|FIRECRAWL)_API_KEY\b",
    r"(?i)\bAWS_(?:ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN)\b",
    r"(?i)\b(?:GH|GITHUB|GITLAB|NPM|HF|SLACK_BOT|SLACK_APP|DISCORD_BOT|TELEGRAM_BOT|NODE_AUTH|OPENCLAW_GATEWAY)_TOKEN\b",
    // Credentials in options, headers and addresses.
    r#"(?i)--[a-z-]*(?:secret|token|password|passwd|credential|cookie|api-?key)[a-z-]*[= ]["'\\]*[^$`\s"'\\;|&)-]"#,
    r#"(?i)authorization["' ]*:["' ]*[a-z]+ +["']?[^$`\s"'\\;|&)]"#,
    r#"(?i)authorization["' ]*:["' ]*[^$`\s"'\\;|&)]{16}"#,
    r#"(?i)\b(?:x-)?api-?key["' ]*:["' ]*[^$`\s"'\\;|&)]"#,
    r"://[^/\s:@$`]*:[^/\s:@$`{]+@",
    r#"(?i)"[a-z_-]*(?:secret|token|password|passwd|credential|cookie)[a-z_-]*" *: *"[^$"]"#,
];

/// A name and `=`. Not the value: another assignment may stand in it.
const ASSIGNMENT: &str = r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^\]]*\])?\+?=";

static LOOK: LazyLock<Option<(RegexSet, Regex)>> =
    LazyLock::new(|| RegexSet::new(SIGNS).ok().zip(Regex::new(ASSIGNMENT).ok()));

/// True where in doubt.
pub(super) fn suspicious(text: &str) -> bool {
    let Some((signs, assignment)) = &*LOOK else { return true };
    let assigned = |found: regex::Captures<'_>| {
        let name = found.get(1).map_or("", |name| name.as_str());
        let value = found.get(0).and_then(|all| text.get(all.end()..)).unwrap_or_default();
        secret_name(name) && literal(value)
    };
    signs.is_match(text) || assignment.captures_iter(text).any(assigned)
}

/// Whether a variable's name is a secret's.
pub(super) fn secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// Whether a value stands there itself, and is more than a switch or a small number.
fn literal(text: &str) -> bool {
    let quotes = ['"', '\'', '\\'];
    let ends = |c: char| c.is_whitespace() || quotes.contains(&c) || matches!(c, ';' | '|' | '&' | ')');
    let value = text.trim_start_matches(quotes).split(ends).next().unwrap_or_default();
    let plain = matches!(
        value.to_ascii_lowercase().as_str(),
        "true" | "false" | "yes" | "no" | "on" | "off" | "none" | "null" | "nil"
    );
    let counted = value.bytes().all(|byte| byte.is_ascii_digit()) && value.len() < 4;
    !(plain || counted || value.starts_with(['$', '`', '(']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials() {
        for text in [
            "alias deploy='API_TOKEN=abc123 deploy'",
            "alias deploy='API_TOKEN='\\''abc123'\\'' deploy'",
            "f () { local password=\"hunter2\"; }",
            "export Db_Passwd=x",
            "my_auth[0]=abcd",
            "KEY+=abcd",
            "echo sk-ant-REDACTED",
            "git clone https://me:pa55@example.org/x",
            "curl -H 'Authorization: Bearer abcdef' x",
            "curl -H \"X-Api-Key: abcdef\" x",
            "mysql --password=hunter2",
            "vault --token 'abc'",
            "-----BEGIN OPENSSH PRIVATE KEY-----",
            "echo ghp_0123456789abcdef",
            "echo AKIAABCDEFGHIJKLMNOP",
            "unset OPENAI_API_KEY",
            "curl -d '{\"password\": \"x\"}'",
            "PIN_KEY=12345678",
        ] {
            assert!(suspicious(text), "{text}");
        }
    }

    #[test]
    fn ordinary_texts() {
        for text in [
            "alias ll='ls -l --color=auto'",
            "alias k=kubectl",
            "f () { local key=$1; token=$(pass show x); auth=`cmd`; cookie=\"$HOME/x\"; }",
            "usekey=true; tokens=0; session=; keys=()",
            "curl -H \"Authorization: Bearer $TOKEN\" x",
            "git clone https://$USER:$PASS@example.org/x; ssh://git@example.org/x",
            "mysql --password=$PW; tool --token-file; tool --password",
            "[ \"$key\" = value ]",
            "bind 'set keymap vi'",
            "alias g='git log --format=%h'",
            "cd() { builtin cd \"$@\" && ls; }",
        ] {
            assert!(!suspicious(text), "{text}");
        }
    }

    #[test]
    fn no_variable_of_a_snapshot_is_a_secret() {
        assert!(super::super::super::wrap::SAFE.iter().all(|name| !secret_name(name)));
        assert!(secret_name("MY_ApiKey") && !secret_name("EDITOR"));
    }
}
