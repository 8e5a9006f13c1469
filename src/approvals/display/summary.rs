//! What of a command is worth a second look: `commandAnalysis` of a question (spec `approvals.md` 9.13).

use serde::{Deserialize, Serialize};

use crate::shell::analyse::{Candidate, Group, Obstacle, Refused, Runs, Unclear};

/// Most warnings: who reads more than these reads none.
const MAX_LINES: usize = 8;

/// What is known of a command, in numbers and words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandAnalysis {
    /// Its commands; 0 where it was not understood.
    pub command_count: usize,
    /// Commands of the text of a shell in it.
    pub nested_command_count: usize,
    /// Kinds of risk, stable words, in the order in which they were met.
    pub risk_kinds: Vec<String>,
    /// One sentence for each kind.
    pub warning_lines: Vec<String>,
}

/// Says what of a command is worth a second look. Decides nothing.
pub fn summary(analysis: &Result<Vec<Group>, Refused>) -> CommandAnalysis {
    let mut known = CommandAnalysis::default();
    match analysis {
        Ok(groups) => {
            let all = || groups.iter().flat_map(|group| &group.candidates);
            known.command_count = all().count();
            for candidate in all() {
                known.look(candidate);
            }
        }
        Err(refused) => {
            let (kind, line) = obstacle(refused.obstacle);
            known.add(kind, line);
        }
    }
    known
}

impl CommandAnalysis {
    fn add(&mut self, kind: &str, line: impl Into<String>) {
        let known = self.risk_kinds.iter().any(|known| known == kind);
        if !known && self.risk_kinds.len() < MAX_LINES {
            self.risk_kinds.push(kind.to_owned());
            self.warning_lines.push(line.into());
        }
    }

    fn look(&mut self, candidate: &Candidate) {
        if let Some(descriptor) = &candidate.inline {
            let descriptor = super::visible(descriptor);
            self.add("inline-eval", format!("Code is passed on the command line: {descriptor}."));
        }
        if candidate.argv.iter().any(|word| word.expands) {
            self.add("expansion", "The shell makes other arguments of a pattern, a tilde or braces.");
        }
        match &candidate.runs {
            Runs::Program(_) | Runs::Builtin => {}
            Runs::Shell(groups) => {
                let inner = groups.iter().flat_map(|group| &group.candidates);
                self.nested_command_count += inner.clone().count();
                self.add("shell-wrapper", "A shell runs a text of its own.");
                inner.for_each(|candidate| self.look(candidate));
            }
            Runs::Unclear(unclear) => {
                let (kind, line) = unclear_kind(*unclear);
                self.add(kind, line);
            }
        }
    }
}

/// Why it is not known what a command runs: a stable word, and a sentence for people.
pub(crate) fn unclear_kind(unclear: Unclear) -> (&'static str, &'static str) {
    match unclear {
        Unclear::Evaluates => ("eval", "A text that is made or read elsewhere is run."),
        Unclear::Environment => ("environment", "The environment of commands is changed."),
        Unclear::Wrapper => ("wrapper", "What a wrapper runs in the end cannot be said."),
        Unclear::Carrier => ("carrier", "A program starts other programs that its arguments name."),
        Unclear::Shell => ("shell", "A shell runs a text that cannot be followed."),
        Unclear::Query => ("query", "The shell is asked what a command is."),
    }
}

/// What stands in the way of an analysis: a stable word, and a sentence for people.
pub(crate) fn obstacle(obstacle: Obstacle) -> (&'static str, String) {
    let (kind, what) = match obstacle {
        Obstacle::Unread(reason) => {
            return ("unreadable", format!("What this runs cannot be said: {reason}."));
        }
        Obstacle::CommandSubstitution => {
            ("command-substitution", "the output of a command becomes part of it")
        }
        Obstacle::ProcessSubstitution => ("process-substitution", "a command stands in the place of a file"),
        Obstacle::DynamicArgument => {
            ("dynamic-argument", "a value that is known only when it runs is passed on")
        }
        Obstacle::DynamicExecutable => {
            ("dynamic-executable", "which program it runs is known only when it runs")
        }
        Obstacle::LineContinuation => ("line-continuation", "a backslash joins two lines"),
        Obstacle::Redirect => ("redirect", "a file is read or written by the shell"),
        Obstacle::HereDocument => ("heredoc", "a here-document is expanded"),
        Obstacle::HereString => ("here-string", "a text is expanded and passed as input"),
        Obstacle::Background => ("background", "a command goes on in the background"),
        Obstacle::Subshell => ("subshell", "commands run in a shell of their own"),
        Obstacle::Group => ("group", "commands are grouped"),
        Obstacle::If => ("if", "what runs depends on a condition"),
        Obstacle::While | Obstacle::For => ("loop", "commands are repeated"),
        Obstacle::Case => ("case", "what runs depends on a value"),
        Obstacle::Test => ("test", "a condition of bash is evaluated"),
        Obstacle::Function => ("function", "a command is defined anew"),
        Obstacle::Nothing => {
            ("nothing", "no command stands in it, or variables are set for all that follows")
        }
    };
    (kind, format!("Not analysed as a whole: {what}."))
}
