//! One decision about one command, told: every layer that had a say, in order, which of them decided and where that is
//! written, what would run, and the smallest changes that give another verdict (design §6). Pure.
//!
//! Nothing here decides. What is told was returned by the functions that a call of `exec` goes through; a change is told
//! only after the same functions, given that change, returned another verdict.
//!
//! | file | concern |
//! |---|---|
//! | `tree` | the analysis as groups, commands and the place of an obstacle |
//! | `words` | reasons in a few words |
//! | [`place`] | where rules are written |
//! | [`cases`] | a file of expectations |
//! | [`change`] | changes that may give another verdict |

pub mod cases;
pub mod change;
pub mod place;
pub mod tree;
pub mod words;

use serde::Serialize;

use super::binding::Described;
use super::policy::{Decision, Effective, ModePolicy, Target};
use super::remember::Remembered;
use crate::config::exec::{Ask, ExecMode, Security};
use crate::error::Report;
use crate::policy::Verdict;

pub use place::{EntryShown, Rule};
pub use tree::Analysis;

/// Everything that is told. The fields are stable: programs read them.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explained {
    /// What happens to the command.
    pub verdict: Verdict,
    /// The stable word of the rule that decided: that of a reason (`allowlist-miss`), else of a refusal (`CRL-…`).
    pub code: String,
    /// The agent.
    pub agent_id: String,
    /// The session.
    pub session_key: String,
    /// The command as asked for.
    pub command: String,
    /// Where it would run; absent where it is refused before that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<Target>,
    /// The directory on the host, every link followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// What holds on the host for this call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyShown>,
    /// Every layer that was asked, in order. None behind a refusal is.
    pub layers: Vec<Layer>,
    /// What the text would run, as far as that was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analysis: Option<Analysis>,
    /// What would be started; after an approval, where one is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// The question, where a person decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks: Option<Asks>,
    /// What an answer "always" would write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub always: Option<Always>,
    /// Changes that give another verdict, the smallest first. Each was tried.
    pub changes: Vec<Change>,
    /// The refusal as the tool gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
    /// What should be known besides.
    pub notes: Vec<String>,
}

impl Explained {
    /// The layer that decided: the first of the strictest.
    pub fn decider(&self) -> Option<&Layer> {
        self.layers.iter().find(|layer| layer.decides)
    }
}

/// What one layer says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Layer {
    /// Its name.
    pub layer: &'static str,
    /// Its verdict; null where it has no say about this command.
    pub verdict: Option<Verdict>,
    /// Why, in a few words.
    pub why: String,
    /// A stable word for programs.
    pub code: String,
    /// Where it is written; absent for what is built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// It is the one that decided.
    pub decides: bool,
}

impl Layer {
    /// A layer that has a verdict.
    pub fn of(layer: &'static str, verdict: Verdict, code: &str, why: impl Into<String>) -> Self {
        Self {
            layer,
            verdict: Some(verdict),
            why: why.into(),
            code: code.to_owned(),
            rule: None,
            decides: false,
        }
    }

    /// A layer without a say.
    pub fn silent(layer: &'static str, code: &str, why: impl Into<String>) -> Self {
        Self { verdict: None, ..Self::of(layer, Verdict::Allow, code, why) }
    }

    /// A refusal.
    pub fn refusal(layer: &'static str, report: &Report, rule: Option<Rule>) -> Self {
        Self { rule, ..Self::of(layer, Verdict::Deny, report.code, report.message.clone()) }
    }

    /// With the place where it is written.
    #[must_use]
    pub fn by(self, rule: Option<Rule>) -> Self {
        Self { rule, ..self }
    }
}

/// Marks the layer that decided, and returns the verdict: the strictest of all. Where all allow it is the last with a
/// word of its own about the command that decided.
pub fn settle(layers: &mut [Layer]) -> Verdict {
    let verdict = Verdict::all(layers.iter().filter_map(|layer| layer.verdict));
    let same = |layer: &&mut Layer| layer.verdict == Some(verdict);
    let decider = if verdict == Verdict::Allow {
        let own = |layer: &&mut Layer| same(layer) && layer.layer == "policy";
        match layers.iter_mut().rfind(own) {
            Some(layer) => Some(layer),
            None => layers.iter_mut().rfind(|layer| layer.verdict == Some(verdict)),
        }
    } else {
        layers.iter_mut().find(same)
    };
    if let Some(layer) = decider {
        layer.decides = true;
    }
    verdict
}

/// What holds on the host.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyShown {
    /// The word for the pair.
    pub mode: ExecMode,
    /// How far commands are trusted.
    pub security: Security,
    /// Who says so.
    pub security_source: String,
    /// When a person is asked.
    pub ask: Ask,
    /// Who says so.
    pub ask_source: String,
    /// What holds where nobody can be asked.
    pub ask_fallback: Security,
    /// A reviewer looks before a person does.
    pub reviewer: bool,
}

impl PolicyShown {
    /// Of what holds, and of what holds for this call.
    pub fn of(effective: &Effective, policy: ModePolicy) -> Self {
        let security = &effective.security;
        let ask = &effective.ask;
        let security_source =
            if security.effective == security.requested.value { &security.requested } else { &security.host };
        let ask_source = if ask.effective == ask.requested.value { &ask.requested } else { &ask.host };
        Self {
            mode: policy.mode(),
            security: policy.security,
            security_source: security_source.source.to_string(),
            ask: policy.ask,
            ask_source: if policy.ask == ask.effective {
                ask_source.source.to_string()
            } else {
                "the call's own ask".to_owned()
            },
            ask_fallback: effective.ask_fallback.value,
            reviewer: policy.reviewer(),
        }
    }
}

/// The question that would be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Asks {
    /// Why: the code of a reason.
    pub reason: &'static str,
    /// What can be decided.
    pub offered: Vec<Decision>,
    /// What whoever decides is told first.
    pub warnings: Vec<String>,
    /// Whether the reviewer is asked before a person, or why not; absent where the policy has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<String>,
}

/// What would be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// `argv`: this argument list; `text`: this text through a shell.
    pub how: &'static str,
    /// As it was matched or seen: no alias or function of the user's takes the place of a program.
    pub exact: bool,
    /// The text that a shell gets, where one gets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The argument list of the first process; absent where only the sandbox knows it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// The directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// PATH, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Names of the variables that the process gets; never their values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// What is bound, and looked at again before the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binds: Option<Described>,
}

/// What "always" would write.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Always {
    /// Entries of the agent's allowlist.
    pub entries: Vec<EntryShown>,
    /// Why nothing is written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub one_shot: Vec<&'static str>,
}

impl Always {
    /// As the same function says that writes them.
    pub fn of(remembered: &Remembered) -> Self {
        match remembered {
            Remembered::Entries(entries) => {
                Self { entries: entries.iter().map(EntryShown::of).collect(), one_shot: Vec::new() }
            }
            Remembered::OneShot(why) => {
                Self { entries: Vec::new(), one_shot: why.iter().map(|why| words::one_shot(*why)).collect() }
            }
        }
    }
}

/// A change that gives another verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// What it touches: `call`, `session`, `config`, `approvals`.
    pub target: &'static str,
    /// What to do.
    pub what: String,
    /// The same as a command line, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The verdict with it.
    pub gives: Verdict,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strictest_decides_and_of_equals_the_first() {
        let mut layers = vec![
            Layer::of("tool", Verdict::Allow, "tool", ""),
            Layer::silent("elevated", "off", ""),
            Layer::of("policy", Verdict::Ask, "allowlist-miss", ""),
            Layer::of("ask", Verdict::Ask, "ask-always", ""),
        ];
        assert_eq!(settle(&mut layers), Verdict::Ask);
        let deciding: Vec<&str> =
            layers.iter().filter(|layer| layer.decides).map(|layer| layer.layer).collect();
        assert_eq!(deciding, ["policy"]);
    }

    #[test]
    fn where_all_allow_the_policy_decides() {
        let mut layers = vec![
            Layer::of("tool", Verdict::Allow, "tool", ""),
            Layer::of("policy", Verdict::Allow, "allowlist", ""),
            Layer::of("directory", Verdict::Allow, "directory", ""),
        ];
        assert_eq!(settle(&mut layers), Verdict::Allow);
        assert!(layers[1].decides && !layers[2].decides);
        let mut layers = vec![Layer::of("route", Verdict::Allow, "sandbox", "")];
        settle(&mut layers);
        assert!(layers[0].decides);
    }
}
