//! The first parser's tree made ours, with the events that the second opinion must have seen too.

use brush_parser::SourceSpan;
use brush_parser::ast;

use super::outline::{Event, Operators, Outline, Role};
use super::pieces;
use super::tree::{
    Assignment, Command, Compound, Item, Link, Part, Pipeline, Redirect, RedirectKind, Script, Simple, Span,
    Word,
};
use super::word::{self, Mode, Place};
use super::{CannotSay, Origin, Reader, Reason};

type Made<T> = Result<T, CannotSay>;

/// Makes the tree of a text; refuses where the outline shows something else.
pub(super) fn script(
    reader: &mut Reader,
    text: &str,
    program: &ast::Program,
    outline: &Outline,
    origin: Origin,
    depth: usize,
) -> Made<Script> {
    let starts = (!text.is_ascii()).then(|| text.char_indices().map(|(at, _)| at).collect());
    let mut convert = Convert {
        reader,
        place: Place { text, outline, origin, depth },
        starts,
        events: Vec::new(),
        operators: Operators::default(),
        documents: 0,
        shifted: false,
    };
    let mut made = Script::default();
    for list in &program.complete_commands {
        made.items.extend(convert.list(list)?.items);
    }
    convert.agree()?;
    Ok(made)
}

struct Convert<'a, 'r> {
    reader: &'r mut Reader,
    place: Place<'a>,
    /// Where each character starts, where characters are not bytes.
    starts: Option<Vec<usize>>,
    events: Vec<Event>,
    operators: Operators,
    documents: usize,
    /// `time` stands in front: the grammar takes the command's words for its arguments.
    shifted: bool,
}

impl Convert<'_, '_> {
    fn agree(mut self) -> Made<()> {
        self.events.sort_unstable();
        let outline = self.place.outline;
        // In front of a here-document the grammar loses a lone dash.
        let dash =
            |event: &&Event| self.place.text.get(event.0..event.1) != Some("-") || event.2 != Role::Argument;
        let ours = || self.events.iter().filter(dash);
        let theirs = || outline.events.iter().filter(dash);
        let differ =
            || ours().zip(theirs()).find(|(ours, theirs)| ours != theirs).map_or(0, |(ours, _)| ours.0);
        if !ours().eq(theirs())
            || self.operators != outline.operators
            || self.documents != outline.documents.len()
        {
            let at = differ();
            return Err(self.refuse(Reason::Disagreement, Span { start: at, end: self.place.text.len() }));
        }
        self.continuations()
    }

    /// Outside of words a backslash at the end of a line must not make one token of two.
    fn continuations(&self) -> Made<()> {
        let text = self.place.text;
        let blank = |c: Option<char>| c.is_none_or(|c| matches!(c, ' ' | '\t' | '\n'));
        let operator = |c: Option<char>| c.is_some_and(|c| "|&;<>()".contains(c));
        for (at, _) in text.match_indices("\\\n") {
            let within = |span: (usize, usize)| span.0 <= at && at < span.1;
            let known = self.events.iter().any(|event| within((event.0, event.1)))
                || self.place.outline.documents.iter().any(|span| within((span.start, span.end)));
            let before = text.get(..at).and_then(|before| before.chars().last());
            let behind = text.get(at + 2..).and_then(|behind| behind.chars().next());
            let apart = blank(before) || blank(behind) || operator(before) && !operator(behind);
            if !known && !apart {
                return Err(self.refuse(Reason::Continuation, Span { start: at, end: at + 2 }));
            }
        }
        Ok(())
    }

    fn refuse(&self, reason: Reason, span: Span) -> CannotSay {
        CannotSay::at(reason, self.place.origin.span(span.start, span.end.max(span.start)))
    }

    fn rare(&self, what: &str) -> CannotSay {
        self.refuse(Reason::unmodelled(what), Span { start: 0, end: self.place.text.len() })
    }

    fn bytes(&self, span: &SourceSpan) -> Made<Span> {
        let byte = |index: usize| match &self.starts {
            None => Some(index),
            Some(starts) if index == starts.len() => Some(self.place.text.len()),
            Some(starts) => starts.get(index).copied(),
        };
        let both = byte(span.start.index).zip(byte(span.end.index));
        let (start, end) = both.ok_or_else(|| self.rare("place"))?;
        Ok(Span { start, end })
    }

    /// Behind a line end that is escaped, and behind a here-document, the parser's places begin with the blanks in front.
    fn trimmed(&self, span: &SourceSpan) -> Made<Span> {
        let mut span = self.bytes(span)?;
        loop {
            let rest = self.place.text.get(span.start..span.end).unwrap_or_default();
            span.start += match rest {
                rest if rest.starts_with([' ', '\t', '\n']) => 1,
                rest if rest.starts_with("\\\n") => 2,
                _ => return Ok(span),
            };
        }
    }

    fn start(&mut self, span: &SourceSpan, role: Role) -> Made<()> {
        let Span { start, .. } = self.trimmed(span)?;
        self.events.push((start, start, role));
        Ok(())
    }

    fn list(&mut self, list: &ast::CompoundList) -> Made<Script> {
        let mut items = Vec::with_capacity(list.0.len());
        for ast::CompoundListItem(and_or, separator) in &list.0 {
            let first = self.pipeline(&and_or.first)?;
            let mut rest = Vec::with_capacity(and_or.additional.len());
            for next in &and_or.additional {
                let (link, pipeline) = match next {
                    ast::AndOr::And(pipeline) => (Link::And, pipeline),
                    ast::AndOr::Or(pipeline) => (Link::Or, pipeline),
                };
                match link {
                    Link::And => self.operators.and += 1,
                    Link::Or => self.operators.or += 1,
                }
                rest.push((link, self.pipeline(pipeline)?));
            }
            let background = matches!(separator, ast::SeparatorOperator::Async);
            self.operators.background += usize::from(background);
            items.push(Item { first, rest, background });
        }
        Ok(Script { items })
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline) -> Made<Pipeline> {
        self.operators.pipe += pipeline.seq.len().saturating_sub(1);
        if let Some(timed) = &pipeline.timed {
            let (ast::PipelineTimed::Timed(span) | ast::PipelineTimed::TimedWithPosixOutput(span)) = timed;
            let span = self.trimmed(span)?;
            self.events.push((span.start, span.start + "time".len(), Role::Command));
            if timed.is_posix_output() {
                self.events.push((span.end.saturating_sub("-p".len()), span.end, Role::Argument));
            }
            self.shifted = true;
        }
        let mut commands = Vec::with_capacity(pipeline.seq.len());
        for command in &pipeline.seq {
            commands.push(self.command(command)?);
            self.shifted = false;
        }
        Ok(Pipeline { timed: pipeline.timed.is_some(), negated: pipeline.bang, commands })
    }

    fn command(&mut self, command: &ast::Command) -> Made<Command> {
        match command {
            ast::Command::Simple(simple) => Ok(Command::Simple(self.simple(simple)?)),
            ast::Command::Compound(compound, redirects) => {
                let made = self.compound(compound)?;
                Ok(Command::Compound(made, self.redirects(redirects.as_ref())?))
            }
            ast::Command::Function(function) => {
                let name = self.word(&function.fname, Some(Role::Function))?;
                let body = self.compound(&function.body.0)?;
                Ok(Command::Function { name, body, redirects: self.redirects(function.body.1.as_ref())? })
            }
            ast::Command::ExtendedTest(test, redirects) => {
                self.start(&test.loc, Role::Test)?;
                let mut words = Vec::new();
                self.test(&test.expr, &mut words)?;
                Ok(Command::Compound(Compound::Test(words), self.redirects(redirects.as_ref())?))
            }
        }
    }

    fn simple(&mut self, simple: &ast::SimpleCommand) -> Made<Simple> {
        let mut made = Simple::default();
        let prefix = simple.prefix.as_ref().map_or(&[][..], |prefix| &prefix.0);
        for item in prefix {
            match item {
                ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                    made.redirects.push(self.redirect(redirect)?);
                }
                ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => {
                    made.assignments.push(self.assignment(assignment)?);
                }
                _ => return Err(self.rare("prefix")),
            }
        }
        let mut bracket = false;
        if let Some(name) = &simple.word_or_name {
            let role = if std::mem::take(&mut self.shifted) { Role::Argument } else { Role::Command };
            made.words.push(self.word(name, Some(role))?);
            bracket = name.value == "[" && role == Role::Command;
        }
        let suffix = simple.suffix.as_ref().map_or(&[][..], |suffix| &suffix.0);
        for item in suffix {
            // Inside brackets the second opinion sees no words.
            let role = (!bracket).then_some(Role::Argument);
            match item {
                ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                    made.redirects.push(self.redirect(redirect)?);
                }
                ast::CommandPrefixOrSuffixItem::Word(word)
                | ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                    made.words.push(self.word(word, role)?);
                }
                ast::CommandPrefixOrSuffixItem::ProcessSubstitution(_, inner) => {
                    made.words.push(self.process(&inner.loc, role)?);
                }
            }
        }
        let spans = || made.assignments.iter().map(|a| a.span).chain(made.words.iter().map(|word| word.span));
        made.span = Span {
            start: spans().map(|span| span.start).min().unwrap_or(0),
            end: spans().map(|span| span.end).max().unwrap_or(0),
        };
        Ok(made)
    }

    fn assignment(&mut self, assignment: &ast::Assignment) -> Made<Assignment> {
        let span = self.trimmed(&assignment.loc)?;
        let (ast::AssignmentName::VariableName(name), ast::AssignmentValue::Scalar(value)) =
            (&assignment.name, &assignment.value)
        else {
            return Err(self.refuse(Reason::Unmodelled("a list of values"), span));
        };
        self.events.push((span.start, span.end, Role::Assignment));
        let operator = if assignment.append { "+=" } else { "=" };
        let from = span.start + name.len() + operator.len();
        let written = self.place.text.get(span.start..from);
        if written != Some(&format!("{name}{operator}")) {
            return Err(self.refuse(Reason::Disagreement, span));
        }
        let made = self.scan(Span { start: from, end: span.end }, &value.value, Mode::Value)?;
        Ok(Assignment {
            name: name.clone(),
            appends: assignment.append,
            value: made,
            span: self.place.origin.span(span.start, span.end),
        })
    }

    fn word(&mut self, word: &ast::Word, role: Option<Role>) -> Made<Word> {
        let place = word.loc.as_ref().ok_or_else(|| self.rare("word"))?;
        let mut span = self.trimmed(place)?;
        let written = self.place.text.get(span.start..span.end).unwrap_or_default();
        if written.ends_with("\\\n") && !word.value.ends_with('\n') {
            span.end -= 2;
        }
        if let Some(role) = role {
            self.events.push((span.start, span.end, role));
        }
        self.scan(span, &word.value, Mode::Plain)
    }

    fn scan(&mut self, span: Span, raw: &str, mode: Mode) -> Made<Word> {
        let written = self.place.text.get(span.start..span.end).unwrap_or_default();
        if written != raw && written.replace("\\\n", "") != raw {
            return Err(self.refuse(Reason::Disagreement, span));
        }
        let made = word::scan(self.reader, self.place, span, mode)?;
        if pieces::agree(raw, mode == Mode::Document, &made) {
            Ok(made)
        } else {
            Err(self.refuse(Reason::Disagreement, span))
        }
    }

    /// `<(…)` as a word; the parser's place begins at the parenthesis.
    fn process(&mut self, inner: &SourceSpan, role: Option<Role>) -> Made<Word> {
        let inner = self.trimmed(inner)?;
        let span = Span { start: inner.start.saturating_sub(1), ..inner };
        if let Some(role) = role {
            self.events.push((span.start, span.end, role));
        }
        word::scan(self.reader, self.place, span, Mode::Plain)
    }

    fn redirects(&mut self, redirects: Option<&ast::RedirectList>) -> Made<Vec<Redirect>> {
        redirects.map_or(&[][..], |list| &list.0).iter().map(|redirect| self.redirect(redirect)).collect()
    }

    fn redirect(&mut self, redirect: &ast::IoRedirect) -> Made<Redirect> {
        let (descriptor, kind, beyond_posix) = match redirect {
            ast::IoRedirect::File(descriptor, kind, target) => {
                let (kind, beyond) = self.file(kind, target)?;
                (*descriptor, kind, beyond)
            }
            ast::IoRedirect::OutputAndError(word, _) => {
                (None, RedirectKind::Write(self.word(word, Some(Role::Target))?), true)
            }
            ast::IoRedirect::HereString(descriptor, word) => {
                (*descriptor, RedirectKind::HereString(self.word(word, Some(Role::Target))?), true)
            }
            ast::IoRedirect::HereDocument(descriptor, document) => {
                (*descriptor, self.document(document)?, false)
            }
        };
        Ok(Redirect { descriptor, kind, beyond_posix })
    }

    fn file(
        &mut self,
        kind: &ast::IoFileRedirectKind,
        target: &ast::IoFileRedirectTarget,
    ) -> Made<(RedirectKind, bool)> {
        use ast::IoFileRedirectKind as Kind;
        let word = match target {
            ast::IoFileRedirectTarget::Filename(word) => self.word(word, Some(Role::Target))?,
            ast::IoFileRedirectTarget::ProcessSubstitution(_, inner) => {
                self.process(&inner.loc, Some(Role::Target))?
            }
            // Only `|&` is turned into this; nothing is written.
            ast::IoFileRedirectTarget::Fd(number) => {
                let word = Word { parts: vec![Part::Text(number.to_string())], ..Word::default() };
                return Ok((RedirectKind::Duplicate(word), true));
            }
            ast::IoFileRedirectTarget::Duplicate(word) => {
                let role = (word.value != "-").then_some(Role::Target);
                let made = self.word(word, role)?;
                let number = made.literal().is_some_and(|text| {
                    text == "-" || !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
                });
                return Ok(match kind {
                    Kind::DuplicateOutput if !number => (RedirectKind::Write(made), true),
                    _ => (RedirectKind::Duplicate(made), false),
                });
            }
        };
        Ok((
            if matches!(kind, Kind::Read) { RedirectKind::Read(word) } else { RedirectKind::Write(word) },
            false,
        ))
    }

    fn document(&mut self, document: &ast::IoHereDocument) -> Made<RedirectKind> {
        let place = document.here_end.loc.as_ref().ok_or_else(|| self.rare("document"))?;
        let delimiter = self.trimmed(place)?;
        self.events.push((delimiter.start, delimiter.end, Role::Delimiter));
        let found = self.place.outline.documents.get(self.documents).copied();
        self.documents += 1;
        let span = found.unwrap_or(Span { start: self.place.text.len(), end: self.place.text.len() });
        let seen = self.place.text.get(span.start..span.end).unwrap_or_default();
        let lines = |text: &str| -> Vec<String> {
            let tabs = |line: &str| line.trim_start_matches('\t').to_owned();
            let whole = |line: &str| line.to_owned();
            let kept: fn(&str) -> String = if document.remove_tabs { tabs } else { whole };
            let end: &[char] = if document.remove_tabs { &['\n', '\t'] } else { &['\n'] };
            text.trim_end_matches(end).split('\n').map(kept).collect()
        };
        if lines(seen) != lines(&document.doc.value) {
            return Err(self.refuse(Reason::Disagreement, span));
        }
        let quoted = !document.requires_expansion;
        let body = if quoted {
            word::verbatim(self.place, span)
        } else {
            let seen = seen.to_owned();
            self.scan(span, &seen, Mode::Document)?
        };
        Ok(RedirectKind::HereDocument { quoted, body })
    }

    fn compound(&mut self, compound: &ast::CompoundCommand) -> Made<Compound> {
        use ast::CompoundCommand as C;
        Ok(match compound {
            C::Arithmetic(_) | C::ArithmeticForClause(_) => return Err(self.rare("((")),
            C::Coprocess(_) => return Err(self.rare("coproc")),
            C::Subshell(inner) => {
                self.start(&inner.loc, Role::Subshell)?;
                Compound::Subshell(self.list(&inner.list)?)
            }
            C::BraceGroup(inner) => {
                self.start(&inner.loc, Role::Group)?;
                Compound::Group(self.list(&inner.list)?)
            }
            C::ForClause(inner) => {
                self.start(&inner.loc, Role::For)?;
                let values = inner.values.as_ref().map(|values| {
                    values
                        .iter()
                        .map(|value| self.word(value, Some(Role::Argument)))
                        .collect::<Made<Vec<_>>>()
                });
                let values = values.transpose()?;
                Compound::For {
                    name: inner.variable_name.clone(),
                    values,
                    body: self.list(&inner.body.list)?,
                }
            }
            C::CaseClause(inner) => {
                self.start(&inner.loc, Role::Case)?;
                let value = self.word(&inner.value, Some(Role::Argument))?;
                let mut branches = Vec::with_capacity(inner.cases.len());
                for case in &inner.cases {
                    let patterns =
                        case.patterns.iter().map(|word| self.word(word, None)).collect::<Made<Vec<_>>>()?;
                    let body = case.cmd.as_ref().map(|list| self.list(list)).transpose()?;
                    branches.push((patterns, body.unwrap_or_default()));
                }
                Compound::Case { value, branches }
            }
            C::IfClause(inner) => {
                self.start(&inner.loc, Role::If)?;
                let mut parts = vec![self.list(&inner.condition)?, self.list(&inner.then)?];
                for other in inner.elses.iter().flatten() {
                    parts.extend(other.condition.as_ref().map(|list| self.list(list)).transpose()?);
                    parts.push(self.list(&other.body)?);
                }
                Compound::If(parts)
            }
            C::WhileClause(inner) | C::UntilClause(inner) => {
                self.start(&inner.2, Role::While)?;
                Compound::While(self.list(&inner.0)?, self.list(&inner.1.list)?)
            }
        })
    }

    fn test(&mut self, test: &ast::ExtendedTestExpr, words: &mut Vec<Word>) -> Made<()> {
        use ast::ExtendedTestExpr as E;
        match test {
            E::And(left, right) | E::Or(left, right) => {
                self.test(left, words)?;
                self.test(right, words)
            }
            E::Not(inner) | E::Parenthesized(inner) => self.test(inner, words),
            E::UnaryTest(_, word) => self.test_word(word, words),
            E::BinaryTest(_, left, right) => {
                self.test_word(left, words)?;
                self.test_word(right, words)
            }
        }
    }

    /// A regular expression is made of several tokens and has no place.
    fn test_word(&mut self, word: &ast::Word, words: &mut Vec<Word>) -> Made<()> {
        if word.loc.is_none() {
            let runs = ["$(", "`", "<(", ">("].iter().any(|opening| word.value.contains(opening));
            if runs {
                return Err(self.rare("expression"));
            }
            let raw = word.value.clone();
            words.push(Word {
                parts: vec![Part::Parameter { name: None, raw, runs: Vec::new() }],
                ..Word::default()
            });
        } else {
            words.push(self.word(word, None)?);
        }
        Ok(())
    }
}
