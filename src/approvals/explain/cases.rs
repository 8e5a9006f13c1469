//! A file of expectations about commands: what an operator wants to hold, so that a change of policy can be tested. Pure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::Explained;
use crate::approvals::policy::Target;
use crate::config::index::{self, Index, Position};
use crate::error::{Diagnose, Report};
use crate::policy::Verdict;

/// The largest file that is read, in bytes.
pub const MAX_BYTES: usize = 4 << 20;
/// Keys of the file.
const FILE: &[&str] = &["defaults", "cases"];
/// Keys that say who calls, and how.
const CALL: &[&str] =
    &["session", "agent", "host", "ask", "elevated", "channel", "sender", "workdir", "env", "path"];
/// Keys of a case besides.
const CASE: &[&str] = &["name", "command", "commands", "expect"];
/// Keys of an expectation.
const EXPECT: &[&str] = &["verdict", "rule", "host"];

/// Who calls, and how: what is not said is as in a call without a context.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// Texts by their key.
    texts: BTreeMap<&'static str, String>,
    /// Variables of the call.
    env: BTreeMap<String, String>,
}

impl Caller {
    /// One of the texts.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.texts.get(key).map(String::as_str)
    }

    /// Variables of the call.
    pub fn env(&self) -> &BTreeMap<String, String> {
        &self.env
    }

    /// What a case says over what holds for all.
    fn over(self, defaults: &Self) -> Self {
        let mut all = defaults.clone();
        all.texts.extend(self.texts);
        all.env.extend(self.env);
        all
    }
}

/// What is expected.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Expect {
    /// The verdict.
    pub verdict: Verdict,
    /// The code, the key or a part of the place of the rule that decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<Target>,
}

impl Expect {
    /// What is not as expected; nothing where all is.
    pub fn differs(&self, got: &Explained) -> Vec<String> {
        let mut all = Vec::new();
        if self.verdict != got.verdict {
            all.push(format!("expected {}, got {}", word(&self.verdict), word(&got.verdict)));
        }
        if let Some(host) = self.host
            && got.host != Some(host)
        {
            let got = got.host.map_or_else(|| "nowhere".to_owned(), |host| word(&host));
            all.push(format!("expected host {}, got {got}", word(&host)));
        }
        if let Some(rule) = &self.rule {
            let decider = got.decider();
            let place = decider.and_then(|layer| layer.rule.as_ref()).map(super::Rule::shown);
            let known = got.code == *rule
                || decider.is_some_and(|layer| layer.layer == rule)
                || place.as_ref().is_some_and(|place| place.contains(rule.as_str()));
            if !known {
                let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
                all.push(format!("expected rule {rule:?}, got {}{place}", got.code));
            }
        }
        all
    }
}

/// The word that JSON has for a value.
pub fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

/// One expectation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Line and column in the file.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// The command.
    pub command: String,
    /// Who calls.
    pub caller: Caller,
    /// What is expected.
    pub expect: Expect,
}

/// Something in the file that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The key.
    pub key: String,
    /// What is wrong.
    pub message: String,
}

/// Why a file is no list of expectations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CasesError {
    /// It cannot be read.
    Io {
        /// The file.
        file: PathBuf,
        /// The operating system's words.
        reason: String,
    },
    /// It is no JSON5.
    Syntax {
        /// The file.
        file: PathBuf,
        /// Where, and what.
        problem: Problem,
    },
    /// It is JSON5 with values that do not hold.
    Invalid {
        /// The file.
        file: PathBuf,
        /// All of them.
        problems: Vec<Problem>,
    },
}

impl std::fmt::Display for CasesError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io { file, reason } => {
                write!(f, "the expectations {} cannot be read: {reason}", file.display())
            }
            Self::Syntax { file, problem } => {
                write!(
                    f,
                    "{}:{}:{}: no JSON5: {}",
                    file.display(),
                    problem.line,
                    problem.column,
                    problem.message
                )
            }
            Self::Invalid { file, problems } => {
                write!(f, "{} cannot be used as expectations:", file.display())?;
                for Problem { line, column, key, message } in problems {
                    let key = if key.is_empty() { "the file" } else { key };
                    write!(f, "\n  {}:{line}:{column}: {key} {message}", file.display())?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for CasesError {}

impl Diagnose for CasesError {
    fn report(&self) -> Report {
        let (code, fix) = match self {
            Self::Io { .. } => ("CRL-POLICY-001", "name a file that can be read"),
            Self::Syntax { .. } => {
                ("CRL-POLICY-002", "write {cases: [{command: \"ls\", expect: \"allow\"}]}")
            }
            Self::Invalid { .. } => {
                ("CRL-POLICY-003", "see \"Policy tests\" in docs/approvals.md for the keys")
            }
        };
        Report {
            code,
            message: self.to_string(),
            rule: Some("built-in: expectations that are half read test nothing".to_owned()),
            fix: fix.to_owned(),
        }
    }
}

/// Reads expectations. Every problem is told, and one is enough to refuse the file.
///
/// # Errors
///
/// When it is no JSON5, has a key that is not known, or a value of another kind.
pub fn parse(text: &str, file: &Path) -> Result<Vec<Case>, CasesError> {
    let syntax = |at: Position, message: String| CasesError::Syntax {
        file: file.to_owned(),
        problem: Problem { line: at.line, column: at.column, key: String::new(), message },
    };
    let start = Position { line: 1, column: 1 };
    if text.len() > MAX_BYTES {
        return Err(syntax(start, format!("it is larger than {MAX_BYTES} bytes")));
    }
    let index = Index::of(text).map_err(|deep| syntax(deep.at, deep.to_string()))?;
    let root: Value = json5::from_str(text.strip_prefix('\u{feff}').unwrap_or(text)).map_err(|error| {
        let at = error.position().map_or(start, |at| Position { line: at.line + 1, column: at.column + 1 });
        syntax(at, error.code().map_or_else(|| error.to_string(), |code| code.to_string()))
    })?;
    let mut read = Read { index: &index, problems: Vec::new() };
    let cases = read.file(&root);
    if read.problems.is_empty() {
        return Ok(cases);
    }
    Err(CasesError::Invalid { file: file.to_owned(), problems: read.problems })
}

struct Read<'a> {
    index: &'a Index,
    problems: Vec<Problem>,
}

impl Read<'_> {
    fn problem(&mut self, key: &str, message: impl Into<String>) {
        let at = self.at(key);
        let message = message.into();
        self.problems.push(Problem { line: at.line, column: at.column, key: key.to_owned(), message });
    }

    fn at(&self, key: &str) -> Position {
        self.index.get(key).unwrap_or(Position { line: 1, column: 1 })
    }

    fn file(&mut self, root: &Value) -> Vec<Case> {
        let Some(map) = self.object("", root, &[FILE]) else { return Vec::new() };
        let defaults = match map.get("defaults") {
            Some(value) => match self.object("defaults", value, &[CALL]) {
                Some(map) => self.caller("defaults", map),
                None => Caller::default(),
            },
            None => Caller::default(),
        };
        let Some(Value::Array(cases)) = map.get("cases") else {
            self.problem(if map.contains_key("cases") { "cases" } else { "" }, "needs cases: [ … ]");
            return Vec::new();
        };
        if cases.is_empty() {
            self.problem("cases", "is empty: that tests nothing");
        }
        let mut all = Vec::new();
        for (at, case) in cases.iter().enumerate() {
            self.case(&index::element("cases", at), case, &defaults, &mut all);
        }
        all
    }

    fn case(&mut self, key: &str, value: &Value, defaults: &Caller, all: &mut Vec<Case>) {
        let Some(map) = self.object(key, value, &[CASE, CALL]) else { return };
        let caller = self.caller(key, map).over(defaults);
        let name = self.text(key, map, "name");
        let expect = if let Some(expect) = map.get("expect") {
            self.expect(&index::member(key, "expect"), expect)
        } else {
            self.problem(key, "has no expect");
            None
        };
        let mut commands = Vec::new();
        match (map.get("command"), map.get("commands")) {
            (Some(Value::String(command)), None) => commands.push((key.to_owned(), command.clone())),
            (None, Some(Value::Array(list))) if !list.is_empty() => {
                let list_key = index::member(key, "commands");
                for (at, command) in list.iter().enumerate() {
                    let key = index::element(&list_key, at);
                    match command {
                        Value::String(command) => commands.push((key, command.clone())),
                        _ => self.problem(&key, "is no text"),
                    }
                }
            }
            _ => self.problem(key, "needs command: \"…\", or commands: [\"…\", …]"),
        }
        let Some(expect) = expect else { return };
        for (key, command) in commands {
            let Position { line, column } = self.at(&key);
            let (name, caller, expect) = (name.clone(), caller.clone(), expect.clone());
            all.push(Case { name, line, column, command, caller, expect });
        }
    }

    fn expect(&mut self, key: &str, value: &Value) -> Option<Expect> {
        if let Value::String(word) = value {
            return self.verdict(key, word).map(|verdict| Expect { verdict, rule: None, host: None });
        }
        let map = self.object(key, value, &[EXPECT])?;
        let host = match self.text(key, map, "host") {
            None => None,
            Some(word) => {
                let host = target(&word);
                if host.is_none() {
                    self.problem(&index::member(key, "host"), "is none of sandbox, gateway, node");
                }
                host
            }
        };
        let Some(word) = self.text(key, map, "verdict") else {
            self.problem(key, "has no verdict");
            return None;
        };
        let verdict = self.verdict(&index::member(key, "verdict"), &word)?;
        Some(Expect { verdict, rule: self.text(key, map, "rule"), host })
    }

    fn verdict(&mut self, key: &str, word: &str) -> Option<Verdict> {
        let verdict = match word {
            "allow" => Some(Verdict::Allow),
            "ask" => Some(Verdict::Ask),
            "deny" => Some(Verdict::Deny),
            _ => None,
        };
        if verdict.is_none() {
            self.problem(key, "is none of allow, ask, deny");
        }
        verdict
    }

    fn caller(&mut self, key: &str, map: &Map<String, Value>) -> Caller {
        let mut caller = Caller::default();
        for name in CALL.iter().filter(|name| **name != "env") {
            if let Some(text) = self.text(key, map, name) {
                caller.texts.insert(name, text);
            }
        }
        if let Some(env) = map.get("env") {
            let key = index::member(key, "env");
            let Value::Object(env) = env else {
                self.problem(&key, "is no object");
                return caller;
            };
            for (name, value) in env {
                match value {
                    Value::String(value) => drop(caller.env.insert(name.clone(), value.clone())),
                    _ => self.problem(&index::member(&key, name), "is no text"),
                }
            }
        }
        caller
    }

    fn text(&mut self, key: &str, map: &Map<String, Value>, name: &str) -> Option<String> {
        if let Value::String(text) = map.get(name)? {
            return Some(text.clone());
        }
        self.problem(&index::member(key, name), "is no text");
        None
    }

    fn object<'v>(
        &mut self,
        key: &str,
        value: &'v Value,
        known: &[&[&str]],
    ) -> Option<&'v Map<String, Value>> {
        let Value::Object(map) = value else {
            self.problem(key, "is no object");
            return None;
        };
        for name in map.keys() {
            let key = index::member(key, name);
            if self.index.repeated(&key) {
                self.problem(&key, "is written twice");
            }
            if !known.iter().any(|known| known.contains(&name.as_str())) {
                let names: Vec<&str> = known.iter().copied().flatten().copied().collect();
                let near = crate::config::reader::nearest(name, &names);
                let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
                self.problem(&key, format!("is not known here{near}"));
            }
        }
        Some(map)
    }
}

fn target(word: &str) -> Option<Target> {
    match word {
        "sandbox" => Some(Target::Sandbox),
        "gateway" => Some(Target::Gateway),
        "node" => Some(Target::Node),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Case>, String> {
        parse(text, Path::new("f")).map_err(|error| error.to_string())
    }

    #[test]
    fn cases_take_what_holds_for_all() {
        let cases = read(
            "{defaults: {agent: 'ops', env: {A: '1'}}, cases: [
               {command: 'ls', expect: 'allow'},
               {name: 'n', commands: ['a', 'b'], agent: 'main', env: {B: '2'},
                expect: {verdict: 'deny', rule: 'x', host: 'gateway'}}]}",
        )
        .unwrap();
        let commands: Vec<(&str, usize)> =
            cases.iter().map(|case| (case.command.as_str(), case.line)).collect();
        assert_eq!(commands, [("ls", 2), ("a", 3), ("b", 3)]);
        assert_eq!(cases[0].caller.text("agent"), Some("ops"));
        assert_eq!(cases[2].caller.text("agent"), Some("main"));
        assert_eq!(cases[2].caller.env().len(), 2);
        assert_eq!(cases[2].expect.host, Some(Target::Gateway));
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_place() {
        for (text, wanted) in [
            ("{cases: [{command: 'ls', expect: 'allow', cmd: 1}]}", "f:1:43: cases[0].cmd is not known here"),
            ("{cases: [{command: 'ls'}]}", "cases[0] has no expect"),
            ("{cases: [{command: 'ls', expect: 'yes'}]}", "is none of allow, ask, deny"),
            (
                "{cases: [{command: 'ls', expect: {verdict: 'allow', host: 'here'}}]}",
                "sandbox, gateway, node",
            ),
            ("{cases: [{expect: 'allow'}]}", "needs command"),
            ("{cases: [{command: 1, expect: 'allow'}]}", "needs command"),
            ("{cases: []}", "tests nothing"),
            ("{}", "needs cases"),
            ("[]", "is no object"),
            ("{cases: [{command: 'a', expect: 'allow', expect: 'deny'}]}", "is written twice"),
            ("{default: {}, cases: [{command: 'a', expect: 'ask'}]}", "did you mean defaults?"),
            (
                "{defaults: {env: {A: 1}}, cases: [{command: 'a', expect: 'ask'}]}",
                "defaults.env.A is no text",
            ),
            ("{cases: [", "no JSON5"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(wanted), "{text}: {error}");
        }
        let error = read("{\n cases: [\n  {command: 'a',\n   expect 'ask'}]}").unwrap_err();
        assert!(error.starts_with("f:4:"), "{error}");
    }

    #[test]
    fn a_dollar_stays_what_it_is() {
        let cases = read("{cases: [{command: 'echo ${HOME}', expect: 'ask'}]}").unwrap();
        assert_eq!(cases[0].command, "echo ${HOME}");
    }
}
