//! Changes that may give another verdict: proposed from what decided, in the order of how little they change. Whoever asked
//! applies each and decides again; only those that hold are told.

use serde_json::{Value, json};

use super::Change;
use super::place::EntryShown;
use crate::approvals::assess::{Assessed, By, Gap, Part};
use crate::approvals::document::{Agent, Document, Entry};
use crate::approvals::policy::{Effective, ModePolicy, Source, Target};
use crate::config::exec::{Ask, Security};
use crate::policy::Verdict;
use crate::session::{AgentId, SessionKey};
use crate::shown::one_line;

/// A change.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// A parameter is left out of the call.
    Call(Parameter),
    /// A choice of the session is taken back.
    Session(&'static str),
    /// A key of the configuration.
    Config {
        /// The key.
        key: String,
        /// Its value; `None` removes it.
        value: Option<Value>,
    },
    /// Entries of an agent's allowlist.
    Allow {
        /// The agent.
        agent: String,
        /// The entries.
        entries: Vec<Entry>,
    },
    /// An entry goes.
    Remove {
        /// Its key.
        key: String,
        /// What it says.
        entry: Entry,
    },
    /// One of the document's words about policy.
    Document {
        /// Its key, such as `defaults.ask`.
        key: String,
        /// The word.
        word: &'static str,
    },
}

/// A parameter of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    /// `host`
    Host,
    /// `elevated`
    Elevated,
    /// `ask`
    Ask,
}

/// What is proposed from.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// The verdict.
    pub verdict: Verdict,
    /// Where it runs, where that was decided.
    pub target: Option<Target>,
    /// The parameters that the call has.
    pub given: &'a [Parameter],
    /// What holds, where that was decided.
    pub policy: Option<(&'a Effective, ModePolicy)>,
    /// What is known of the text.
    pub assessed: Option<&'a Assessed>,
    /// Keys and entries of the list; parts name them by their place.
    pub entries: &'a [(String, Entry)],
    /// The agent.
    pub agent: &'a AgentId,
    /// The key of `strictInlineEval`.
    pub inline_key: &'a str,
}

impl Situation<'_> {
    /// What may help, or for what is allowed: what would stop it. The least first.
    pub fn proposals(&self) -> Vec<Edit> {
        if self.verdict == Verdict::Allow { self.tighter() } else { self.looser() }
    }

    fn looser(&self) -> Vec<Edit> {
        let mut all: Vec<Edit> = self.given.iter().map(|parameter| Edit::Call(*parameter)).collect();
        let Some((effective, policy)) = self.policy else { return all };
        all.extend(self.entries());
        let inline =
            self.assessed.is_some_and(|assessed| assessed.strict_inline && assessed.inline.is_some());
        let security = [&effective.security.requested.source, &effective.security.host.source];
        let ask = [&effective.ask.requested.source, &effective.ask.host.source];
        for (sources, what) in [(security, "security"), (ask, "ask")] {
            if sources.iter().any(|source| session(source)) {
                all.push(Edit::Session(what));
            }
        }
        if policy.security != Security::Full && policy.ask == Ask::Off {
            // From "nothing" or "nobody is asked" to "a person is asked".
            all.extend(asking(effective));
        }
        if policy.ask == Ask::Always {
            all.extend(word(&effective.ask.requested.source, "ask", "on-miss"));
            all.extend(word(&effective.ask.host.source, "ask", "on-miss"));
        }
        if inline {
            all.push(Edit::Config { key: self.inline_key.to_owned(), value: Some(json!(false)) });
        }
        all
    }

    /// Entries for exactly these arguments, where entries can cover every part.
    fn entries(&self) -> Option<Edit> {
        let entries = uncovered(self.assessed?)?;
        Some(Edit::Allow { agent: self.agent.to_string(), entries })
    }

    fn tighter(&self) -> Vec<Edit> {
        let mut all = Vec::new();
        if self.target == Some(Target::Sandbox) {
            return vec![mode("deny")];
        }
        let listed = self.assessed.into_iter().flat_map(|assessed| &assessed.parts);
        let mut entries: Vec<usize> = listed
            .filter_map(|part| match part.by {
                By::Entry(at) => Some(at),
                _ => None,
            })
            .collect();
        entries.sort_unstable();
        entries.dedup();
        if self.policy.is_some_and(|(_, policy)| policy.security == Security::Allowlist) {
            let known = entries.iter().filter_map(|at| self.entries.get(*at)).cloned();
            all.extend(known.map(|(key, entry)| Edit::Remove { key, entry }));
        }
        all.push(mode("ask"));
        all.push(Edit::Document { key: "defaults.ask".to_owned(), word: "always" });
        all.push(Edit::Document { key: "defaults.security".to_owned(), word: "deny" });
        all
    }
}

/// Entries for exactly the commands that nothing covers; `None` where there are none, or no entry can cover one of them.
fn uncovered(assessed: &Assessed) -> Option<Vec<Entry>> {
    if assessed.analysis.is_err() || assessed.satisfied {
        return None;
    }
    let missing = assessed.parts.iter().filter(|part| matches!(part.by, By::Nothing(_)));
    let entries: Vec<Entry> = missing.map(exact).collect::<Option<_>>()?;
    (!entries.is_empty()).then_some(entries)
}

/// The command line that lists exactly what nothing covers, where it can be typed.
pub fn listing(assessed: &Assessed, agent: &str) -> Option<String> {
    adding(agent, &uncovered(assessed)?)
}

fn mode(word: &'static str) -> Edit {
    Edit::Config { key: "tools.exec.mode".to_owned(), value: Some(json!(word)) }
}

fn session(source: &Source) -> bool {
    matches!(source, Source::Key(key) if key.starts_with("/exec "))
}

/// A person is asked about what is not listed: as one mode, or in the halves that are written.
pub fn asking(effective: &Effective) -> Vec<Edit> {
    let mut all = Vec::new();
    for (way, what, to) in [
        (&effective.security.requested.source, "security", "allowlist"),
        (&effective.ask.requested.source, "ask", "on-miss"),
    ] {
        match way {
            Source::Derived(key) => {
                all.push(Edit::Config { key: key.clone(), value: Some(json!("ask")) });
                break;
            }
            other => all.extend(word(other, what, to)),
        }
    }
    if effective.security.requested.source == Source::BuiltIn {
        all.push(mode("ask"));
    }
    all.extend(word(&effective.security.host.source, "security", "allowlist"));
    all.extend(word(&effective.ask.host.source, "ask", "on-miss"));
    all
}

/// Another word where a value is written.
fn word(source: &Source, what: &'static str, to: &'static str) -> Option<Edit> {
    match source {
        source if session(source) => Some(Edit::Session(what)),
        Source::Key(key) => Some(Edit::Config { key: key.clone(), value: Some(json!(to)) }),
        Source::Derived(key) => Some(Edit::Config { key: key.clone(), value: Some(json!("ask")) }),
        Source::Document { key, .. } => Some(Edit::Document { key: key.clone(), word: to }),
        Source::BuiltIn | Source::Inherited => None,
    }
}

/// An entry for one program with exactly these arguments; `None` where no entry covers the part.
fn exact(part: &Part) -> Option<Entry> {
    if !matches!(part.by, By::Nothing(Gap::NoEntry)) {
        return None;
    }
    let program =
        part.script.clone().or_else(|| part.program.as_ref().map(|program| program.invoked.clone()))?;
    let skip = if part.script.is_some() { 2 } else { 1 };
    let arguments: Vec<&str> = part.effective.iter().skip(skip).map(|word| word.text.as_str()).collect();
    if part.effective.iter().skip(skip).any(|word| word.expands) {
        return None;
    }
    Some(Entry { arg_pattern: Some(exactly(&arguments)), ..Entry::of(program.to_str()?) })
}

/// A pattern for this argument list. Where a blank in an argument would lose its border, the list is compared with NUL
/// between its arguments (spec `approvals.md` 5.16). Otherwise it is one that a person can type: joined by a blank, as all
/// patterns without NUL are compared (5.15), so that one argument of the same text is let through too.
pub fn exactly(arguments: &[&str]) -> String {
    let plain = |word: &&str| !word.is_empty() && !word.contains(char::is_whitespace);
    let escaped: Vec<String> = arguments.iter().map(|word| escape(word)).collect();
    if arguments.iter().all(plain) {
        return format!("^{}$", escaped.join(" "));
    }
    format!("^{}\0$", escaped.join("\0"))
}

/// A text as an ECMAScript pattern that matches it and nothing else.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\^$.*+?()[]{}|/".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

impl Edit {
    /// The same as it is told. `files`: configuration and approvals document.
    pub fn told(&self, session: &SessionKey, files: (&str, &str), gives: Verdict) -> Change {
        let (config, document) = (one_line(files.0), one_line(files.1));
        let (target, what, command) = match self {
            Self::Call(parameter) => {
                let name = match parameter {
                    Parameter::Host => "host",
                    Parameter::Elevated => "elevated",
                    Parameter::Ask => "ask",
                };
                ("call", format!("leave {name} out of the call"), None)
            }
            Self::Session(what) => {
                let command = format!("creel session set {} {what}=unset", quoted(session.as_str()));
                ("session", format!("take {what} of the session back"), Some(command))
            }
            Self::Config { key, value: Some(value) } => {
                let word = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let command = format!("creel config set {} {}", quoted(key), quoted(&word));
                ("config", format!("set {key} to {value} in {config}"), Some(command))
            }
            Self::Config { key, value: None } => {
                let command = format!("creel config unset {}", quoted(key));
                ("config", format!("remove {key} from {config}"), Some(command))
            }
            Self::Allow { agent, entries } => {
                let told: Vec<String> = entries.iter().map(|entry| EntryShown::of(entry).shown()).collect();
                let what = format!("add {} to agents.{agent}.allowlist in {document}", told.join(" and "));
                ("approvals", what, adding(agent, entries))
            }
            Self::Remove { key, entry } => {
                let told = EntryShown::of(entry).shown();
                ("approvals", format!("remove {key} = {told} from {document}"), None)
            }
            Self::Document { key, word } => {
                ("approvals", format!("set {key} to {word:?} in {document}"), None)
            }
        };
        Change { target, what, command, gives }
    }
}

/// The command line that adds entries, where it can be typed.
fn adding(agent: &str, entries: &[Entry]) -> Option<String> {
    let one = |entry: &Entry| {
        let mut line =
            format!("creel approvals allowlist add {} --agent {}", quoted(&entry.pattern), quoted(agent));
        if let Some(pattern) = &entry.arg_pattern {
            line.push_str(" --arg-pattern ");
            line.push_str(&quoted(pattern));
        }
        line
    };
    let typed = |text: &str| !text.chars().any(crate::shown::deceives);
    let fits =
        entries.iter().all(|entry| typed(&entry.pattern) && entry.arg_pattern.as_deref().is_none_or(typed));
    fits.then(|| entries.iter().map(one).collect::<Vec<_>>().join(" && "))
}

/// A word for a shell.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Applies a change of the document. Says whether there was something to change.
pub fn apply(document: &mut Document, edit: &Edit) -> bool {
    match edit {
        Edit::Allow { agent, entries } => {
            add(document, agent, entries);
            true
        }
        Edit::Remove { key, .. } => remove(document, key).is_some(),
        Edit::Document { key, word } => say(document, key, word).is_some(),
        Edit::Call(_) | Edit::Session(_) | Edit::Config { .. } => false,
    }
}

fn add(document: &mut Document, id: &str, entries: &[Entry]) {
    let known = AgentId::parse(id).ok();
    let same = |agent: &&mut Agent| agent.id == id || known.as_ref().is_some_and(|known| agent.is(known));
    if let Some(agent) = document.agents.iter_mut().find(same) {
        agent.allowlist.extend(entries.iter().cloned());
        return;
    }
    let allowlist = entries.to_vec();
    document.agents.push(Agent { id: id.to_owned(), allowlist, ..Agent::default() });
}

/// `agents.ID.allowlist[N]`.
fn remove(document: &mut Document, key: &str) -> Option<Entry> {
    let (id, list) = key.strip_prefix("agents.")?.rsplit_once('.')?;
    let at: usize = list.strip_prefix("allowlist[")?.strip_suffix(']')?.parse().ok()?;
    let agent = document.agents.iter_mut().find(|agent| agent.id == id)?;
    (at < agent.allowlist.len()).then(|| agent.allowlist.remove(at))
}

/// `defaults.ask`, `agents.ID.security`.
fn say(document: &mut Document, key: &str, word: &str) -> Option<()> {
    let (place, name) = key.rsplit_once('.')?;
    let rules = match place.strip_prefix("agents.") {
        Some(id) => &mut document.agents.iter_mut().find(|agent| agent.id == id)?.rules,
        None => &mut document.defaults,
    };
    match name {
        "security" => rules.security = Some(crate::approvals::policy::words::security(word)?),
        "ask" => rules.ask = Some(crate::approvals::policy::words::ask(word)?),
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::approvals::allowlist::{Allowlist, Subject};
    use crate::approvals::programs::HostPrograms;

    /// Whether a pattern of [`exactly`] lets other arguments through.
    fn lets(pattern: &str, arguments: &[&str]) -> bool {
        let entry = Entry { arg_pattern: Some(pattern.to_owned()), ..Entry::of("tool") };
        let program =
            crate::approvals::programs::Program { invoked: "/bin/tool".into(), real: "/bin/tool".into() };
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        let list = Allowlist::compile(&[&entry], &HostPrograms::new("", None));
        let subject = Subject {
            word: "tool",
            program: Some(&program),
            arguments: &arguments,
            dir: Some(Path::new("/")),
            shell: false,
        };
        list.find(&subject).is_some()
    }

    #[test]
    fn a_pattern_lets_nothing_else_through() {
        let lists: &[&[&str]] = &[
            &[],
            &["a"],
            &["a", "b"],
            &["a b"],
            &["a", ""],
            &[""],
            &["a.c"],
            &["axc"],
            &["(x|y)*"],
            &["-rf", "/"],
            &["$HOME", "\\d", "[a-z]{2}", "^", "?"],
            &["a\nb"],
            &["a", "\nb"],
            &["ä"],
        ];
        for one in lists {
            let pattern = exactly(one);
            for other in lists {
                let typed = !pattern.contains('\0');
                let same = one == other || typed && one.join(" ") == other.join(" ");
                assert_eq!(lets(&pattern, other), same, "{one:?} as {pattern:?} against {other:?}");
            }
        }
    }

    #[test]
    fn documents_change_where_the_key_says() {
        let text =
            r#"{"version": 1, "defaults": {"ask": "off"}, "agents": {"Ops": {"allowlist": ["a", "b"]}}}"#;
        let read = || Document::parse(text, Path::new("d")).unwrap();
        let mut document = read();
        let remove = Edit::Remove { key: "agents.Ops.allowlist[1]".to_owned(), entry: Entry::of("b") };
        assert!(apply(&mut document, &remove) && document.agents[0].allowlist == [Entry::of("a")]);
        assert!(!apply(&mut document, &remove), "it is gone");
        for agent in ["ops", "new"] {
            let allow = Edit::Allow { agent: agent.to_owned(), entries: vec![Entry::of("c")] };
            assert!(apply(&mut document, &allow));
        }
        assert_eq!((document.agents.len(), document.agents[0].allowlist.len()), (2, 2));
        let mut document = read();
        assert!(apply(&mut document, &Edit::Document { key: "defaults.ask".to_owned(), word: "always" }));
        assert_eq!(document.defaults.ask, Some(Ask::Always));
        let own = Edit::Document { key: "agents.Ops.security".to_owned(), word: "deny" };
        assert!(apply(&mut document, &own));
        assert_eq!(document.agents[0].rules.security, Some(Security::Deny));
        for key in ["defaults.other", "agents.none.ask", "ask"] {
            assert!(!apply(&mut document, &Edit::Document { key: key.to_owned(), word: "off" }), "{key}");
        }
    }

    #[test]
    fn a_command_line_is_told_where_it_can_be_typed() {
        let session = SessionKey::main_of(&AgentId::main());
        let told = |edit: &Edit| edit.told(&session, ("/c", "/d"), Verdict::Allow).command;
        let entry =
            |pattern: &str| Entry { arg_pattern: Some(pattern.to_owned()), ..Entry::of("/bin/my tool") };
        let allow = |pattern: &str| Edit::Allow { agent: "*".to_owned(), entries: vec![entry(pattern)] };
        assert_eq!(
            told(&allow("^it's$")).unwrap(),
            r"creel approvals allowlist add '/bin/my tool' --agent '*' --arg-pattern '^it'\''s$'"
        );
        assert_eq!(told(&allow("^a\0$")), None);
        assert_eq!(told(&allow("^\u{202e}$")), None);
        let mode = Edit::Config { key: "tools.exec.mode".to_owned(), value: Some(json!("ask")) };
        assert_eq!(told(&mode).unwrap(), "creel config set tools.exec.mode ask");
    }
}
