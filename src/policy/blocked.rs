//! What a person is told of a tool that the sandbox policy removed (spec `sandbox.md` §18.7).

use super::audit::shown;
use super::decide::{Kind, Removal};

/// A call that was blocked.
#[derive(Debug, Clone, Copy)]
pub struct Blocked<'a> {
    /// The tool as called.
    pub tool: &'a str,
    /// Why.
    pub removal: &'a Removal,
    /// The mode of the sandbox, as configured.
    pub mode: &'a str,
    /// The session's key.
    pub session: &'a str,
    /// The agent's main session runs outside the sandbox.
    pub main_is_outside: bool,
}

impl Blocked<'_> {
    /// The text.
    pub fn text(&self) -> String {
        let list = match self.removal.kind {
            Kind::Deny => "deny list",
            Kind::Allow => "allow list",
        };
        let mut lines = vec![
            format!(
                "Tool {:?} is blocked by the sandbox tool policy (mode {}).",
                shown(self.tool),
                self.mode
            ),
            format!("Session: {}", redacted(self.session)),
            format!("Reason: {list} ({})", shown(&self.removal.key)),
            "Fix one of:".to_owned(),
            "  - agents.defaults.sandbox.mode=off".to_owned(),
            format!("  - {}", shown(&self.removal.fix)),
        ];
        if self.main_is_outside {
            lines.push("  - use the main session".to_owned());
        }
        lines.push(format!("See: creel sandbox explain --session {}", redacted(self.session)));
        lines.join("\n")
    }
}

/// A key that can be recognised by who knows it and not be used by who does not.
fn redacted(key: &str) -> String {
    let chars: Vec<char> = key.chars().collect();
    let Some(tail) = chars.len().checked_sub(6).filter(|_| chars.len() > 12) else {
        return "(redacted)".to_owned();
    };
    let part = |range: &mut dyn Iterator<Item = &char>| shown(&range.collect::<String>());
    format!("{}…{}", part(&mut chars.iter().take(6)), part(&mut chars.iter().skip(tail)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_names_list_key_and_ways_out() {
        let removal = Removal {
            layer: "sandbox tools.allow".to_owned(),
            kind: Kind::Deny,
            key: "tools.sandbox.tools.deny[0]".to_owned(),
            matched: Some("x".to_owned()),
            fix: "remove \"x\" from tools.sandbox.tools.deny".to_owned(),
        };
        let session = "agent:main:telegram:direct:123456";
        let blocked =
            Blocked { tool: "x\ny", removal: &removal, mode: "non-main", session, main_is_outside: true };
        let text = blocked.text();
        for part in ["x\\\\u{a}y", "non-main", "agent:…123456", "deny list", "remove \"x\"", "main session"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert_eq!(redacted("twelve chars"), "(redacted)");
    }
}
