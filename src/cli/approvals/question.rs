//! A question on a terminal: complete, and nothing in it passes for something else.

use crate::approvals::desk::{Record, Status};
use crate::approvals::policy::Decision;
use crate::process::shorten::middle;
use crate::shown::one_line;

/// Lines of a question behind which the command is shown once more.
const SCREEN: usize = 16;
/// Names of variables that are shown, and characters of one.
const NAMES: usize = 24;
const NAME: usize = 64;
/// Characters of a warning, of a directory, of the name of an agent or a conversation.
const LONGEST: usize = 400;

/// Everything that whoever decides should see. The command stands alone on its line, whole.
pub(in crate::cli) fn block(record: &Record, now: u64) -> String {
    let mut lines = vec![format!("Approval {} ({})", record.id, state(record, now))];
    let mut row = |name: &str, text: &str| lines.push(format!("  {name:<10} {}", one_line(text)));
    row("command", &record.command_text);
    for (at, word) in record.argv.iter().flatten().enumerate() {
        row(if at == 0 { "words" } else { "" }, &format!("[{at}] {word}"));
    }
    let cwd = middle(&record.cwd, LONGEST);
    row("directory", if cwd.is_empty() { "(not given)" } else { &cwd });
    if let Some(path) = &record.resolved_path {
        row("program", path);
    }
    let of = record
        .session_key
        .as_ref()
        .map(|key| format!(", session {}", middle(key, LONGEST)))
        .unwrap_or_default();
    row("for", &format!("agent {}{of}, on {}", middle(&record.agent_id, LONGEST), record.host));
    if !record.env_keys.is_empty() {
        row("variables", &variables(&record.env_keys));
    }
    row("why", &record.ask_reason);
    for warning in &record.warnings {
        row("warning", &middle(warning, LONGEST));
    }
    for line in record.command_analysis.iter().flat_map(|analysis| &analysis.warning_lines) {
        row("note", line);
    }
    for (at, entry) in record.always.iter().enumerate() {
        row(if at == 0 { "always" } else { "" }, &format!("would allow {entry}"));
    }
    if record.external {
        row("note", "a program asks; nothing runs here");
    }
    if let Some(grant) = &record.grant_id {
        row("grant", grant);
    }
    // What is decided about stands where whoever decides looks last.
    let before = lines.iter().skip(1).map(|line| 1 + line.chars().count() / 80).sum::<usize>();
    if before > SCREEN {
        lines.push(format!("  {:<10} {}", "command", one_line(&record.command_text)));
    }
    lines.join("\n")
}

/// Names of variables, as many as can be looked at.
fn variables(names: &[String]) -> String {
    let mut shown: Vec<String> = names.iter().take(NAMES).map(|name| middle(name, NAME)).collect();
    if names.len() > NAMES {
        shown.push(format!("and {} more", names.len() - NAMES));
    }
    shown.join(", ")
}

fn state(record: &Record, now: u64) -> String {
    if record.is_pending() {
        return format!("waits {}", span(record.expires_at_ms.saturating_sub(now)));
    }
    let by = record.resolver.as_ref().and_then(|by| by.id.as_ref()).map(|by| format!(" by {}", one_line(by)));
    format!("{}{}", ended(record), by.unwrap_or_default())
}

/// How a question ended.
pub(in crate::cli) fn ended(record: &Record) -> String {
    match (record.decision, record.status, record.reason.as_deref()) {
        (Some(Decision::AllowOnce), ..) => "allowed once".to_owned(),
        (Some(Decision::AllowAlways), ..) => "allowed always".to_owned(),
        (Some(Decision::Deny), ..) => "denied".to_owned(),
        (None, Status::Expired, _) => "expired: nobody answered in time".to_owned(),
        (None, status, reason) => format!("{}: {}", status.word(), one_line(reason.unwrap_or("no reason"))),
    }
}

/// A time for people: `29 min`, `12 s`.
pub(in crate::cli) fn span(ms: u64) -> String {
    let seconds = ms.div_ceil(1000);
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        7200..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// The keys that decide, of those that are offered.
pub(in crate::cli) fn keys(record: &Record) -> String {
    let offered = |decision| record.allowed_decisions.contains(&decision);
    let mut keys = Vec::new();
    if offered(Decision::AllowOnce) {
        keys.push("o = allow once");
    }
    if offered(Decision::AllowAlways) {
        keys.push("a = allow always");
    }
    keys.push("d = deny");
    format!("{}, then Enter: ", keys.join(", "))
}

/// What was typed; `None` where it decides nothing. Enter alone never does (9.33).
pub(in crate::cli) fn typed(line: &str, record: &Record) -> Option<Decision> {
    let decision = match line.trim() {
        "o" | "O" | "once" => Decision::AllowOnce,
        "a" | "A" | "always" => Decision::AllowAlways,
        "d" | "D" | "deny" => Decision::Deny,
        _ => return None,
    };
    (decision == Decision::Deny || record.allowed_decisions.contains(&decision)).then_some(decision)
}

#[cfg(test)]
pub(in crate::cli) mod tests {
    use super::*;

    pub(in crate::cli) fn record() -> Record {
        serde_json::from_value(serde_json::json!({
            "id": "abcdefgh-1", "slug": "abcdefgh", "kind": "exec", "status": "pending",
            "commandText": r"git push \u{202E}origin", "argv": ["git", "push", r"\u{202E}origin"], "cwd": "/w",
            "host": "gateway", "agentId": "main", "sessionKey": "agent:main:main", "resolvedPath": "/usr/bin/git",
            "askReason": "allowlist-miss", "warnings": ["it changes another machine"],
            "allowedDecisions": ["allow-once", "deny"], "always": [], "createdAtMs": 0, "expiresAtMs": 60_000
        }))
        .unwrap()
    }

    #[test]
    fn a_question_is_shown_whole() {
        let text = block(&record(), 0);
        for part in [
            "Approval abcdefgh-1 (waits 60 s)",
            r"command    git push \u{202E}origin",
            r"           [2] \u{202E}origin",
            "directory  /w",
            "program    /usr/bin/git",
            "agent main, session agent:main:main, on gateway",
            "why        allowlist-miss",
            "warning    it changes another machine",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let long = Record { command_text: "x".repeat(16_000), ..record() };
        assert!(block(&long, 0).contains(&"x".repeat(16_000)), "never cut");
    }

    #[test]
    fn a_command_cannot_be_scrolled_away() {
        let many = Record {
            env_keys: (0..10_000).map(|number| format!("{}{number}", "N".repeat(200))).collect(),
            warnings: vec!["w ".repeat(100_000)],
            agent_id: "a".repeat(100_000),
            argv: Some(vec!["x".to_owned(); 200]),
            ..record()
        };
        let text = block(&many, 0);
        assert!(text.lines().last().unwrap().contains(r"git push \u{202E}origin"), "{text}");
        assert!(text.len() < 20_000 && text.contains("and 9976 more"));
        assert_eq!(block(&record(), 0).matches("git push").count(), 1, "a short one is shown once");
    }

    #[test]
    fn a_reflex_decides_nothing() {
        let record = record();
        for line in ["", "\n", " ", "y", "yes", "a", "ok", "\u{1b}"] {
            assert_eq!(typed(line, &record), None, "{line:?}");
        }
        assert_eq!(typed(" o \n", &record), Some(Decision::AllowOnce));
        assert_eq!(typed("d", &record), Some(Decision::Deny));
        assert_eq!(keys(&record), "o = allow once, d = deny, then Enter: ");
    }

    #[test]
    fn times_are_short() {
        let of = |seconds: u64| span(seconds * 1000);
        assert_eq!((of(0), of(119), of(1800)), ("0 s".to_owned(), "119 s".to_owned(), "30 min".to_owned()));
        assert_eq!((of(7200), of(864_000)), ("2 h".to_owned(), "10 days".to_owned()));
    }
}
