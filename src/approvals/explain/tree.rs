//! The analysis as it is told: groups joined by their operators, commands with what covers them, and a mark under what stands
//! in the way.

use std::collections::VecDeque;

use serde::Serialize;

use super::place::Rule;
use super::words;
use crate::approvals::assess::{Assessed, By, Part};
use crate::shell::analyse::{Candidate, Dir, Group, Next, Refused, Runs};
use crate::shell::parse::Span;
use crate::shown::one_line;

/// Characters around a place that are shown.
const AROUND: usize = 60;

/// What a text would run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Analysis {
    /// It was understood as a whole.
    pub understood: bool,
    /// Every command is covered.
    pub covered: bool,
    /// What stands in the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<ObstacleShown>,
    /// Code in an argument of an interpreter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inline_code: Option<String>,
    /// Pipelines, in order.
    pub groups: Vec<GroupShown>,
}

/// A construct that is not modelled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObstacleShown {
    /// A stable word.
    pub code: &'static str,
    /// The same for people.
    pub what: String,
    /// Where, in bytes of the command: from, and behind the end.
    pub span: (usize, usize),
    /// The line of the command, cut to what surrounds the place, with nothing in it that deceives.
    pub line: String,
    /// Marks under that line.
    pub caret: String,
}

/// One pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GroupShown {
    /// Its commands.
    pub commands: Vec<CommandShown>,
    /// What joins it to the next: `&&`, `||`, `;`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<&'static str>,
}

/// One command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandShown {
    /// Its words as the shell passes them.
    pub argv: Vec<String>,
    /// Wrappers that were looked through, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wrappers: Vec<String>,
    /// The program: its path before links were followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The file that it is, where that is another path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real_path: Option<String>,
    /// The script that is judged in place of its interpreter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// The directory, where it is not the one in which the text begins; `unknown` where that depends on what runs before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    /// What covers it: `entry`, `safe-bin`, `builtin`, `skill`, or why nothing does: `no-entry`, `not-found`, `unclear`.
    pub by: &'static str,
    /// The same for people.
    pub why: String,
    /// The entry that covers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// The commands of a shell's text, which are judged in its place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inner: Vec<GroupShown>,
}

impl CommandShown {
    /// Whether it is covered.
    pub fn covered(&self) -> bool {
        matches!(self.by, "entry" | "safe-bin" | "builtin" | "skill" | "shell")
    }
}

impl Analysis {
    /// Of what is known of a text. `rule` tells where an entry of the list is written.
    pub fn of(assessed: &Assessed, rule: &dyn Fn(usize) -> Option<Rule>) -> Self {
        let (groups, obstacle) = match &assessed.analysis {
            Ok(groups) => {
                let mut parts: VecDeque<&Part> = assessed.parts.iter().collect();
                (shown(groups, &mut parts, rule), None)
            }
            Err(refused) => (Vec::new(), Some(ObstacleShown::of(&assessed.text, *refused))),
        };
        Self {
            understood: assessed.analysis.is_ok(),
            covered: assessed.satisfied,
            obstacle,
            inline_code: assessed.inline.clone(),
            groups,
        }
    }

    /// Every command, those of inner texts in place of their shells.
    pub fn commands(&self) -> Vec<&CommandShown> {
        fn walk<'a>(groups: &'a [GroupShown], all: &mut Vec<&'a CommandShown>) {
            for command in groups.iter().flat_map(|group| &group.commands) {
                if command.inner.is_empty() {
                    all.push(command);
                } else {
                    walk(&command.inner, all);
                }
            }
        }
        let mut all = Vec::new();
        walk(&self.groups, &mut all);
        all
    }
}

/// Parts stand in the order of the commands, so each command takes those that are its own.
fn shown(
    groups: &[Group],
    parts: &mut VecDeque<&Part>,
    rule: &dyn Fn(usize) -> Option<Rule>,
) -> Vec<GroupShown> {
    let next = |next: Option<Next>| {
        next.map(|next| match next {
            Next::And => "&&",
            Next::Or => "||",
            Next::Then => ";",
        })
    };
    let group = |group: &Group, parts: &mut VecDeque<&Part>| GroupShown {
        commands: group.candidates.iter().map(|candidate| command(candidate, parts, rule)).collect(),
        next: next(group.next),
    };
    groups.iter().map(|one| group(one, parts)).collect()
}

fn command(
    candidate: &Candidate,
    parts: &mut VecDeque<&Part>,
    rule: &dyn Fn(usize) -> Option<Rule>,
) -> CommandShown {
    let argv = candidate.argv.iter().map(|word| word.text.clone()).collect();
    let dir = match &candidate.dir {
        Dir::Start => None,
        Dir::Moved(to) => Some(to.clone()),
        Dir::Unknown => Some("unknown".to_owned()),
    };
    let wrappers = candidate.wrappers.clone();
    if let (Runs::Shell(groups), Some(true)) = (&candidate.runs, parts.front().map(|part| part.nested)) {
        let inner = shown(groups, parts, rule);
        let why = "its text is judged".to_owned();
        return CommandShown { inner, by: "shell", why, ..bare(argv, wrappers, dir) };
    }
    let Some(part) = parts.pop_front() else {
        return CommandShown { why: "not looked at".to_owned(), by: "no-entry", ..bare(argv, wrappers, dir) };
    };
    let text = |path: &std::path::Path| path.display().to_string();
    let program = part.program.as_ref().map(|program| text(&program.invoked));
    let real_path = part.program.as_ref().map(|program| text(&program.real));
    CommandShown {
        real_path: real_path.filter(|real| Some(real) != program.as_ref()),
        program,
        script: part.script.as_deref().map(text),
        by: words::by(&part.by),
        why: words::covered(&part.by),
        rule: match part.by {
            By::Entry(at) => rule(at),
            _ => None,
        },
        ..bare(argv, wrappers, dir)
    }
}

fn bare(argv: Vec<String>, wrappers: Vec<String>, dir: Option<String>) -> CommandShown {
    CommandShown {
        argv,
        wrappers,
        program: None,
        real_path: None,
        script: None,
        dir,
        by: "",
        why: String::new(),
        rule: None,
        inner: Vec::new(),
    }
}

impl ObstacleShown {
    /// Of a refusal to say anything about `text`.
    pub fn of(text: &str, refused: Refused) -> Self {
        let (code, what) = words::obstacle(refused.obstacle);
        let (line, caret) = marked(text, refused.span);
        Self { code, what, span: (refused.span.start, refused.span.end), line, caret }
    }
}

/// The line in which a span begins, cut to what surrounds it, and marks below. A mark stands also under what is empty.
pub fn marked(text: &str, span: Span) -> (String, String) {
    let start = floor(text, span.start.min(text.len()));
    let end = floor(text, span.end.clamp(start, text.len()));
    let from = text.get(..start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let to = text.get(start..).and_then(|rest| rest.find('\n')).map_or(text.len(), |at| start + at);
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let before: Vec<char> = part(from, start).chars().collect();
    let cut = before.len().saturating_sub(AROUND);
    let mut head: String = before.iter().skip(cut).collect();
    if cut > 0 {
        head.insert(0, '…');
    }
    let within: String = part(start, end.min(to)).chars().take(AROUND).collect();
    let rest = part(start + within.len(), to);
    let mut tail: String = rest.chars().take(AROUND).collect();
    if tail.len() < rest.len() {
        tail.push('…');
    }
    let (head, within, tail) = (one_line(&head), one_line(&within), one_line(&tail));
    let caret = format!("{}{}", " ".repeat(width(&head)), "^".repeat(width(&within).max(1)));
    (format!("{head}{within}{tail}"), caret)
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// The border of a character at or before a byte.
fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(text: &str, start: usize, end: usize) -> String {
        let (line, caret) = marked(text, Span { start, end });
        format!("{line}\n{caret}")
    }

    #[test]
    fn the_mark_stands_under_the_place() {
        assert_eq!(mark("echo $(id) x", 5, 10), "echo $(id) x\n     ^^^^^");
        assert_eq!(mark("a\nb > c\nd", 6, 7), "b > c\n    ^");
        assert_eq!(mark("ls &", 2, 2), "ls &\n  ^");
        assert_eq!(mark("", 0, 0), "\n^");
        assert_eq!(mark("äö > x", 7, 8), "äö > x\n     ^");
    }

    #[test]
    fn what_lies_outside_or_deceives_does_no_harm() {
        assert_eq!(mark("ls", 9, 20), "ls\n  ^");
        assert_eq!(mark("ä", 1, 1), "ä\n^");
        assert_eq!(mark("\u{202e}x > y", 7, 8), "\\u{202e}x > y\n            ^");
        assert_eq!(mark("a 'x\ny' > f", 2, 7), "a 'x\n  ^^");
    }

    #[test]
    fn long_lines_are_cut_around_it() {
        let text = format!("{} > f {}", "a".repeat(500), "b".repeat(500));
        let (line, caret) = marked(&text, Span { start: 501, end: 502 });
        assert!(line.starts_with('…') && line.ends_with('…') && line.contains("> f"), "{line}");
        assert_eq!(line.chars().nth(caret.len() - 1), Some('>'));
    }
}
