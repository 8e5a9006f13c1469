//! What a listed text must run: which of its commands, in which order, by the status of each.

use creel::shell::analyse::{Argument, Candidate, Group, Next, Runs};

use crate::bench::Call;

/// The programs of a text, step by step: a step is what one pipeline runs, in any order.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    pub(crate) steps: Vec<Vec<Call>>,
    /// Everything that is listed, whether it is reached or not.
    pub(crate) listed: Vec<Call>,
    /// Whether the steps are certain: the status of every command is known.
    pub(crate) sure: bool,
}

/// Words that a shell obeys itself although they are listed as programs.
const OWN: &[&str] = &[
    "echo", "printf", "kill", "wait", "exit", "return", "break", "continue", "shift", "times", "type", "bg",
    "fg", "logout", "suspend", "caller", "dirs", "disown", "help", "exec", "command", "builtin", "[[",
    "coproc", "!", "{", "}", "if", "then", "else", "fi", "do", "done", "case", "esac", "for", "while",
    "until", "select", "function", "in", "time",
];
/// Wrappers whose operands are in order, as written.
const WRAPPED: &[&str] = &[
    "",
    "timeout 5",
    "nice -n 1",
    "env",
    "nohup",
    "command",
    "exec",
    "nice timeout 5",
    "time",
    "command exec",
    "exec nice",
    "sh -c \"$0\" \"$@\"",
    "sh -c exec \"$0\" \"$@\"",
];

/// Nothing where a command is not clear, or its words are not.
///
/// `|&` is bash's own: another shell takes the text for broken.
pub(crate) fn expected(text: &str, groups: &[Group], pinned: bool) -> Option<Expected> {
    let mut listed = Vec::new();
    listing(groups, &mut listed)?;
    let mut walk = Walk { sure: !text.contains("|&") && open(text), pinned };
    let mut steps = Vec::new();
    walk.list(groups, &mut steps);
    Some(Expected { steps, listed, sure: walk.sure })
}

/// Whether every descriptor that is named may be open.
fn open(text: &str) -> bool {
    text.split('&').skip(1).map(str::trim_start).all(|rest| {
        let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
        matches!(number.as_str(), "" | "0" | "1" | "2")
    })
}

fn call(argv: &[Argument]) -> Option<Call> {
    argv.iter().all(|word| !word.expands).then(|| argv.iter().map(|word| word.text.clone()).collect())
}

fn listing(groups: &[Group], found: &mut Vec<Call>) -> Option<()> {
    for candidate in groups.iter().flat_map(|group| &group.candidates) {
        match &candidate.runs {
            Runs::Program(argv) => found.push(call(argv)?),
            Runs::Builtin => {}
            Runs::Shell(groups) => listing(groups, found)?,
            Runs::Unclear(_) => return None,
        }
    }
    Some(())
}

/// How a list went on.
enum Went {
    /// With this status, where it is known.
    On(Option<i32>),
    /// The shell became a program.
    Replaced(Option<i32>),
}

struct Walk {
    sure: bool,
    /// Words of the shell have become programs.
    pinned: bool,
}

impl Walk {
    fn list(&mut self, groups: &[Group], steps: &mut Vec<Vec<Call>>) -> Option<i32> {
        let mut status = Some(0);
        let mut before: Option<Next> = None;
        for group in groups {
            let runs = match (before, status) {
                (None | Some(Next::Then), _) => true,
                (Some(Next::And), Some(status)) => status == 0,
                (Some(Next::Or), Some(status)) => status != 0,
                (Some(_), None) => {
                    self.sure = false;
                    return None;
                }
            };
            before = group.next;
            if runs {
                match self.pipeline(group, steps) {
                    Went::On(with) => status = with,
                    Went::Replaced(with) => return with,
                }
            }
        }
        status
    }

    fn pipeline(&mut self, group: &Group, steps: &mut Vec<Vec<Call>>) -> Went {
        let alone = group.candidates.len() == 1;
        let mut status = None;
        let mut replaced = false;
        let mut together = Vec::new();
        for candidate in &group.candidates {
            let mut own = Vec::new();
            status = self.candidate(candidate, &mut own);
            if alone {
                steps.append(&mut own);
                replaced = candidate.wrappers.iter().any(|word| word == "exec")
                    && !candidate
                        .wrappers
                        .iter()
                        .take_while(|word| *word != "exec")
                        .any(|word| word != "command");
            } else {
                together.extend(own.into_iter().flatten());
            }
        }
        if !together.is_empty() {
            steps.push(together);
        }
        if replaced {
            return Went::Replaced(status);
        }
        Went::On(if group.negated { status.map(|status| i32::from(status == 0)) } else { status })
    }

    fn candidate(&mut self, candidate: &Candidate, steps: &mut Vec<Vec<Call>>) -> Option<i32> {
        let words =
            |argv: &[Argument]| argv.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        let front = words(candidate.argv.get(..candidate.head).unwrap_or_default());
        if !WRAPPED.contains(&front.as_str()) {
            self.sure = false;
            return None;
        }
        match &candidate.runs {
            Runs::Program(argv) => {
                let name = argv.first().map(|word| word.text.as_str()).unwrap_or_default();
                let reached = crate::bench::fit(name) && (self.pinned || !OWN.contains(&name));
                self.sure &= reached;
                steps.push(vec![call(argv).unwrap_or_default()]);
                Some(if name == "f" { 1 } else { i32::from(name == "g") * 3 })
            }
            Runs::Builtin => match words(candidate.argv.get(candidate.head..).unwrap_or_default()).as_str() {
                "cd ." | "cd ./." | "test x" | "[ x ]" | "pwd" => Some(0),
                text if text == "true" || text == ":" || text.starts_with("true ") => Some(0),
                text if text == "false" || text.starts_with("false ") => Some(1),
                _ => None,
            },
            Runs::Shell(groups) => {
                let plain = candidate.argv.get(1).is_some_and(|word| word.text == "-c")
                    && candidate
                        .argv
                        .first()
                        .is_some_and(|word| ["sh", "bash", "dash"].contains(&word.text.as_str()));
                self.sure &= plain;
                self.list(groups, steps)
            }
            Runs::Unclear(_) => None,
        }
    }
}
