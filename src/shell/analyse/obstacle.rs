//! The first construct of a text that is not modelled.

use crate::shell::parse::{
    CannotSay, Command, Compound, Part, Reason, Redirect, RedirectKind, Script, Simple, Span, Word,
};

/// What stands in the way (4.05).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// The text cannot be read.
    Unread(Reason),
    /// `$(…)`, backticks.
    CommandSubstitution,
    /// `<(…)`, `>(…)`
    ProcessSubstitution,
    /// An expansion in an argument or an assigned value.
    DynamicArgument,
    /// An expansion or a pattern in a command word.
    DynamicExecutable,
    /// A backslash at the end of a line.
    LineContinuation,
    /// A file is read or written.
    Redirect,
    /// A here-document that is expanded.
    HereDocument,
    /// `<<<`
    HereString,
    /// `&`
    Background,
    /// `( … )`
    Subshell,
    /// `{ …; }`
    Group,
    /// `if`
    If,
    /// `while`, `until`
    While,
    /// `for`
    For,
    /// `case`
    Case,
    /// `[[ … ]]`
    Test,
    /// A function is defined.
    Function,
    /// Nothing runs.
    Nothing,
}

impl Obstacle {
    /// For people: what stands in the text.
    pub const fn told(self) -> &'static str {
        match self {
            Self::Unread(_) => "the text cannot be read",
            Self::CommandSubstitution => "command substitution",
            Self::ProcessSubstitution => "process substitution",
            Self::DynamicArgument => "an argument is made by the shell",
            Self::DynamicExecutable => "the program's name is made by the shell",
            Self::LineContinuation => "a continued line",
            Self::Redirect => "a file is read or written by the shell",
            Self::HereDocument => "a here-document that is expanded",
            Self::HereString => "a here-string",
            Self::Background => "a command in the background",
            Self::Subshell => "a subshell",
            Self::Group => "a group in braces",
            Self::If => "an if",
            Self::While => "a while loop",
            Self::For => "a for loop",
            Self::Case => "a case",
            Self::Test => "a test in double brackets",
            Self::Function => "a function is defined",
            Self::Nothing => "nothing runs",
        }
    }
}

/// A text about which nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// Why.
    pub obstacle: Obstacle,
    /// Where.
    pub span: Span,
}

impl Refused {
    /// A text that cannot be read; an empty one holds nothing.
    pub(super) fn unread(text: &str, refusal: CannotSay) -> Self {
        let obstacle = match refusal.reason {
            _ if text.trim().is_empty() => Obstacle::Nothing,
            Reason::Continuation => Obstacle::LineContinuation,
            reason => Obstacle::Unread(reason),
        };
        Self { obstacle, span: refusal.span }
    }
}

/// The first one in the text.
pub(super) fn first(text: &str, script: &Script) -> Option<Refused> {
    let mut found = Vec::new();
    if let Some(at) = continuation(text, script) {
        found.push(Refused { obstacle: Obstacle::LineContinuation, span: Span { start: at, end: at + 2 } });
    }
    let mut look = Look { found: &mut found };
    look.script(script);
    found.into_iter().min_by_key(|refused| refused.span.start)
}

/// A backslash at the end of a line that is none of a quoted text or document.
fn continuation(text: &str, script: &Script) -> Option<usize> {
    let mut verbatim: Vec<Span> = Vec::new();
    script.each_simple(&mut |simple| {
        let quoted = |word: &Word| word.text().is_some_and(|text| text.contains("\\\n"));
        let words = simple.words.iter().chain(simple.redirects.iter().map(Redirect::word));
        verbatim.extend(words.filter(|word| quoted(word)).map(|word| word.span));
    });
    let within = |at: usize| verbatim.iter().any(|span| span.start <= at && at < span.end);
    text.match_indices("\\\n").map(|(at, _)| at).find(|at| !within(*at))
}

struct Look<'f> {
    found: &'f mut Vec<Refused>,
}

impl Look<'_> {
    fn add(&mut self, obstacle: Obstacle, span: Span) {
        self.found.push(Refused { obstacle, span });
    }

    fn script(&mut self, script: &Script) {
        for item in &script.items {
            if item.pipelines().any(|pipeline| pipeline.commands.is_empty()) {
                self.add(Obstacle::Nothing, Span::default());
            }
            let commands = item.pipelines().flat_map(|pipeline| &pipeline.commands);
            let mut end = Span::default();
            for command in commands {
                end = self.command(command, end);
            }
            if item.background {
                self.add(Obstacle::Background, Span { start: end.end, end: end.end });
            }
        }
    }

    fn command(&mut self, command: &Command, before: Span) -> Span {
        match command {
            Command::Simple(simple) => {
                self.simple(simple);
                simple.span
            }
            // Where a compound command begins is not kept: behind the command before it.
            Command::Compound(compound, _) => {
                let obstacle = match compound {
                    Compound::Subshell(_) => Obstacle::Subshell,
                    Compound::Group(_) => Obstacle::Group,
                    Compound::If(_) => Obstacle::If,
                    Compound::While(..) => Obstacle::While,
                    Compound::For { .. } => Obstacle::For,
                    Compound::Case { .. } => Obstacle::Case,
                    Compound::Test(_) => Obstacle::Test,
                };
                self.add(obstacle, Span { start: before.end, end: before.end });
                before
            }
            Command::Function { name, .. } => {
                self.add(Obstacle::Function, name.span);
                name.span
            }
        }
    }

    fn simple(&mut self, simple: &Simple) {
        for assignment in &simple.assignments {
            self.word(&assignment.value, Obstacle::DynamicArgument);
        }
        if let Some((first, arguments)) = simple.words.split_first() {
            self.word(first, Obstacle::DynamicExecutable);
            if first.magic.glob || first.magic.brace || first.magic.tilde && first.text().is_none() {
                self.add(Obstacle::DynamicExecutable, first.span);
            }
            for word in arguments {
                self.word(word, Obstacle::DynamicArgument);
            }
        } else {
            // Variables of this shell, for all that follows.
            self.add(Obstacle::Nothing, simple.span);
        }
        for redirect in &simple.redirects {
            self.redirect(redirect);
        }
    }

    fn word(&mut self, word: &Word, dynamic: Obstacle) {
        let obstacle = word.parts.iter().find_map(|part| match part {
            Part::Text(_) => None,
            Part::Command(_) => Some(Obstacle::CommandSubstitution),
            Part::Process(_) => Some(Obstacle::ProcessSubstitution),
            Part::Parameter { runs, .. } | Part::Arithmetic { runs, .. } => {
                Some(if runs.is_empty() { dynamic } else { Obstacle::CommandSubstitution })
            }
        });
        if let Some(obstacle) = obstacle {
            self.add(obstacle, word.span);
        } else if word.magic.dollar_quote {
            // Not every shell takes the dollar away.
            self.add(dynamic, word.span);
        }
    }

    /// Passed are the harmless ones: another descriptor, the empty device, a document that is not expanded.
    fn redirect(&mut self, redirect: &Redirect) {
        let word = redirect.word();
        let null = word.literal().is_some_and(|text| text == "/dev/null");
        let obstacle = match &redirect.kind {
            // Of a number of two digits `dash` makes an argument.
            _ if redirect.descriptor.is_some_and(|number| !(0..=9).contains(&number)) => {
                Some(Obstacle::Redirect)
            }
            RedirectKind::Duplicate(word) if word.literal().is_some_and(descriptor) => None,
            RedirectKind::Read(_) | RedirectKind::Write(_) if null && !redirect.beyond_posix => None,
            RedirectKind::HereDocument { quoted: true, .. } => None,
            RedirectKind::HereDocument { .. } => Some(Obstacle::HereDocument),
            RedirectKind::HereString(_) => Some(Obstacle::HereString),
            _ => Some(Obstacle::Redirect),
        };
        if let Some(obstacle) = obstacle {
            self.add(obstacle, word.span);
        }
    }
}

/// A descriptor's number that every shell takes for one, or that it is closed.
fn descriptor(text: &str) -> bool {
    text == "-" || text.len() == 1 && text.bytes().all(|byte| byte.is_ascii_digit())
}
