//! The reviewer's answer, read strictly (13.10): what can be read in two ways is no consent. Pure.

use serde::Deserialize;

use crate::approvals::display::visible;

/// Most characters of a reason that are passed on.
const MOST: usize = 500;

/// What was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Decision {
    /// This one run.
    Allow,
    /// No.
    Deny,
    /// A person.
    Ask,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Risk {
    Low,
    Medium,
    High,
    Unknown,
}

impl Risk {
    fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Unknown => "unknown",
        }
    }
}

/// The answer as it must be: no other keys, none twice.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    decision: Decision,
    risk: Risk,
    #[serde(default)]
    rationale: Option<String>,
    #[serde(default, rename = "user_authorization")]
    _user_authorization: Option<Risk>,
}

/// A decision and its reason, fit to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) decision: Decision,
    pub(super) rationale: String,
}

impl Verdict {
    fn new(decision: Decision, risk: Risk, rationale: &str) -> Self {
        let rationale = visible(rationale.trim());
        let rationale = if rationale.is_empty() { "no reason given".to_owned() } else { rationale };
        let rationale = format!("{} risk: {rationale}", risk.word()).chars().take(MOST).collect();
        Self { decision, rationale }
    }

    /// A command that speaks to the reviewer (13.09).
    pub(super) fn steering(what: &str) -> Self {
        let why = format!("{what} reads like an instruction to the reviewer; write it in another way");
        Self::new(Decision::Deny, Risk::High, &why)
    }
}

/// Reads an answer. `inline`: the command carries code in an argument; only low risk is allowed then (8.03).
pub(super) fn read(answer: &str, inline: bool) -> Result<Verdict, &'static str> {
    let text = unfenced(answer.trim()).ok_or("it is not one block")?;
    // A list would be read as the fields in their order.
    if !text.starts_with('{') {
        return Err("it is not one JSON object");
    }
    let answer: Answer = serde_json::from_str(text).map_err(|_| {
        "it is not one JSON object of decision, risk, rationale and user_authorization, each once, with the values known"
    })?;
    let fits = match answer.risk {
        Risk::Low => true,
        Risk::Medium => !inline,
        Risk::High | Risk::Unknown => false,
    };
    let decision = match answer.decision {
        Decision::Allow if !fits => Decision::Ask,
        decision => decision,
    };
    Ok(Verdict::new(decision, answer.risk, &answer.rationale.unwrap_or_default()))
}

/// The text inside one code fence, or the text itself.
fn unfenced(text: &str) -> Option<&str> {
    let Some(rest) = text.strip_prefix("```") else { return Some(text) };
    let (language, rest) = rest.split_once('\n')?;
    let inside = rest.strip_suffix("```")?;
    (matches!(language.trim(), "" | "json") && !inside.contains("```")).then(|| inside.trim())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn decision(answer: &str, inline: bool) -> Option<Decision> {
        read(answer, inline).ok().map(|verdict| verdict.decision)
    }

    #[test]
    fn one_object_and_nothing_else() {
        use Decision::{Allow, Ask, Deny};
        for (answer, wanted) in [
            (r#"{"decision":"allow","risk":"low"}"#, Some(Allow)),
            (r#" {"risk":"medium","decision":"allow","rationale":"tests"} "#, Some(Allow)),
            ("```json\n{\"decision\":\"allow\",\"risk\":\"low\"}\n```", Some(Allow)),
            ("```\n{\"decision\":\"deny\",\"risk\":\"high\"}\n```\n", Some(Deny)),
            (r#"{"decision":"ask","risk":"unknown","user_authorization":"low"}"#, Some(Ask)),
            // Consent to more than low or medium risk is none.
            (r#"{"decision":"allow","risk":"high"}"#, Some(Ask)),
            (r#"{"decision":"allow","risk":"unknown"}"#, Some(Ask)),
            // All the rest is no verdict.
            ("", None),
            ("allow", None),
            (r#"{"decision":"allow"}"#, None),
            (r#"{"risk":"low"}"#, None),
            (r#"{"decision":"Allow","risk":"low"}"#, None),
            (r#"{"decision":"allow","risk":"none"}"#, None),
            (r#"{"decision":"allow","risk":1}"#, None),
            (r#"{"decision":"allow","risk":"low","extra":1}"#, None),
            (r#"{"decision":"deny","decision":"allow","risk":"low"}"#, None),
            (r#"{"decision":"deny","\u0064ecision":"allow","risk":"low"}"#, None),
            (r#"{"decision":"allow","risk":"high","risk":"low"}"#, None),
            (r#"{"decision":"allow","risk":"low","rationale":7}"#, None),
            (r#"{"decision":"allow","risk":"low"}{"decision":"deny","risk":"low"}"#, None),
            (r#"{"decision":"allow","risk":"low"} I am sure"#, None),
            (r#"Sure: {"decision":"allow","risk":"low"}"#, None),
            (r#"["allow","low"]"#, None),
            (r#"[{"decision":"allow","risk":"low"}]"#, None),
            ("```json\n{\"decision\":\"allow\",\"risk\":\"low\"}\n```\n```\n{}\n```", None),
            ("```sh\n{\"decision\":\"allow\",\"risk\":\"low\"}\n```", None),
            ("```json\n{\"decision\":\"allow\",\"risk\":\"low\"}", None),
        ] {
            assert_eq!(decision(answer, false), wanted, "{answer}");
        }
    }

    #[test]
    fn code_on_the_command_line_needs_low_risk() {
        let of = |risk: &str| decision(&format!(r#"{{"decision":"allow","risk":"{risk}"}}"#), true);
        assert_eq!((of("low"), of("medium")), (Some(Decision::Allow), Some(Decision::Ask)));
    }

    #[test]
    fn reasons_are_short_and_visible() {
        let answer = serde_json::json!({
            "decision": "deny", "risk": "high", "rationale": format!("a\n\u{1b}[2J{}", "x".repeat(1000)),
        });
        let verdict = read(&answer.to_string(), false).unwrap();
        assert!(verdict.rationale.starts_with(r"high risk: a\u{A}\u{1B}[2Jxx"), "{}", verdict.rationale);
        assert_eq!(verdict.rationale.chars().count(), MOST);
        let bare = read(r#"{"decision":"allow","risk":"low","rationale":" "}"#, false).unwrap();
        assert_eq!(bare.rationale, "low risk: no reason given");
    }
}
