//! A word taken apart: quotes removed, expansions named, what runs inside them read.

use super::outline::{Expansion, Outline};
use super::tree::{Magic, Part, Script, Span, Word};
use super::{CannotSay, Origin, Reader, Reason};

/// What quotes mean where the word stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// A word.
    Plain,
    /// What is assigned to a variable.
    Value,
    /// Between double quotes.
    Quoted,
    /// The body of a here-document that is expanded.
    Document,
}

/// Where a word stands, and what is known about the text around it.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub text: &'a str,
    pub outline: &'a Outline,
    pub origin: Origin,
    pub depth: usize,
}

/// Takes the piece of the text apart.
pub(super) fn scan(reader: &mut Reader, place: Place<'_>, span: Span, mode: Mode) -> Result<Word, CannotSay> {
    let mut scanner =
        Scanner { reader, place, at: span.start, end: span.end, made: Word::default(), assigns: None };
    scanner.made.span = place.origin.span(span.start, span.end);
    match mode {
        Mode::Plain => scanner.plain()?,
        Mode::Value => {
            scanner.assigns = Some(true);
            scanner.plain()?;
        }
        Mode::Quoted | Mode::Document => scanner.quoted(mode)?,
    }
    // Alone it begins no pattern.
    if scanner.made.text() == Some("[") {
        scanner.made.magic.glob = false;
    }
    Ok(scanner.made)
}

/// A text that stands for itself.
pub(super) fn verbatim(place: Place<'_>, span: Span) -> Word {
    let text = place.text.get(span.start..span.end).unwrap_or_default().to_owned();
    Word {
        span: place.origin.span(span.start, span.end),
        parts: vec![Part::Text(text)],
        quoted: true,
        magic: Magic::default(),
    }
}

struct Scanner<'a, 'r> {
    reader: &'r mut Reader,
    place: Place<'a>,
    at: usize,
    end: usize,
    made: Word,
    /// Whether what is read so far is `NAME=`, behind which a tilde is expanded; not known before the `=`.
    assigns: Option<bool>,
}

impl Scanner<'_, '_> {
    fn rest(&self) -> &str {
        self.place.text.get(self.at..self.end).unwrap_or_default()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.rest().chars().next()?;
        self.at += character.len_utf8();
        Some(character)
    }

    fn refuse(&self, reason: Reason, start: usize) -> CannotSay {
        CannotSay::at(reason, self.place.origin.span(start, self.at))
    }

    fn push(&mut self, character: char) {
        match self.made.parts.last_mut() {
            Some(Part::Text(text)) => text.push(character),
            _ => self.made.parts.push(Part::Text(character.to_string())),
        }
    }

    fn push_str(&mut self, text: &str) {
        for character in text.chars() {
            self.push(character);
        }
    }

    /// An empty quoted word is a word.
    fn quote(&mut self) {
        self.made.quoted = true;
    }

    fn plain(&mut self) -> Result<(), CannotSay> {
        let first = self.at;
        while self.at < self.end {
            let start = self.at;
            let Some(character) = self.next() else { break };
            match character {
                '\\' => {
                    self.quote();
                    match self.next() {
                        Some('\n') => return Err(self.refuse(Reason::Continuation, start)),
                        Some(escaped) => self.push(escaped),
                        None => return Err(self.refuse(Reason::Syntax, start)),
                    }
                }
                '\'' => self.single(start)?,
                '"' => {
                    self.quote();
                    self.quoted(Mode::Quoted)?;
                }
                '$' => self.dollar(start, Mode::Plain)?,
                '`' => self.backquote(start, Mode::Plain)?,
                '<' | '>' if self.rest().starts_with('(') => self.process(start)?,
                ' ' | '\t' | '\n' | '|' | '&' | ';' | '<' | '>' | '(' | ')' => {
                    return Err(self.refuse(Reason::unmodelled("("), start));
                }
                other => {
                    self.unquoted(other, start == first);
                    self.push(other);
                }
            }
        }
        Ok(())
    }

    /// What an unquoted character may do.
    fn unquoted(&mut self, character: char, first: bool) {
        match character {
            '*' | '?' | '[' => self.made.magic.glob = true,
            '{' => {
                let rest = self.rest();
                self.made.magic.brace |= rest.contains('}') && (rest.contains(',') || rest.contains(".."));
            }
            '~' => {
                let last = match self.made.parts.last() {
                    Some(Part::Text(text)) => text.chars().last(),
                    _ => None,
                };
                let behind = self.assigns == Some(true) && matches!(last, Some('=' | ':'));
                self.made.magic.tilde |= first || behind;
            }
            '=' if self.assigns.is_none() => {
                let name = matches!(self.made.parts.as_slice(), [Part::Text(text)] if is_name(text));
                self.assigns = Some(name && !self.made.quoted);
            }
            _ => {}
        }
    }

    fn single(&mut self, start: usize) -> Result<(), CannotSay> {
        self.quote();
        let Some(length) = self.rest().find('\'') else { return Err(self.refuse(Reason::Syntax, start)) };
        let text = self.rest().get(..length).unwrap_or_default().to_owned();
        self.push_str(&text);
        self.at += length + 1;
        Ok(())
    }

    /// Up to the closing quote; a document has none.
    fn quoted(&mut self, mode: Mode) -> Result<(), CannotSay> {
        loop {
            let start = self.at;
            match self.next() {
                None if mode == Mode::Document => return Ok(()),
                None => return Err(self.refuse(Reason::Syntax, start)),
                Some('"') if mode == Mode::Quoted => return Ok(()),
                Some('\\') => match self.next() {
                    Some('\n') => self.made.magic.continued = true,
                    Some(escaped @ ('$' | '`' | '\\')) => self.push(escaped),
                    Some('"') if mode == Mode::Quoted => self.push('"'),
                    other => {
                        self.push('\\');
                        if let Some(character) = other {
                            self.push(character);
                        }
                    }
                },
                Some('$') => self.dollar(start, mode)?,
                Some('`') => self.backquote(start, mode)?,
                Some(other) => self.push(other),
            }
        }
    }

    fn dollar(&mut self, start: usize, mode: Mode) -> Result<(), CannotSay> {
        let plain = mode == Mode::Plain;
        match self.rest().chars().next() {
            Some('(') => self.parenthesis(start),
            Some('{') => self.braces(start),
            Some('[') => Err(self.refuse(Reason::unmodelled("$["), start)),
            Some('\\') if self.rest().starts_with("\\\n") => Err(self.refuse(Reason::Continuation, start)),
            Some('\'') if plain => self.ansi(start),
            Some('"') if plain => {
                self.at += 1;
                self.quote();
                self.made.magic.dollar_quote = true;
                self.quoted(Mode::Quoted)
            }
            Some(first) if first.is_ascii_alphanumeric() || "_@*#?-$!".contains(first) => {
                self.at += 1;
                if first.is_ascii_alphabetic() || first == '_' {
                    let length = self.rest().find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                    self.at += length.unwrap_or(self.rest().len());
                }
                if self.rest().starts_with("\\\n") {
                    return Err(self.refuse(Reason::Continuation, start));
                }
                let name = self.place.text.get(start + 1..self.at).unwrap_or_default().to_owned();
                self.parameter(Some(name), start, Vec::new());
                Ok(())
            }
            _ => {
                self.push('$');
                Ok(())
            }
        }
    }

    fn parameter(&mut self, name: Option<String>, start: usize, runs: Vec<Script>) {
        let raw = self.place.text.get(start..self.at).unwrap_or_default().to_owned();
        self.made.parts.push(Part::Parameter { name, raw, runs });
    }

    /// Moves behind the expansion that starts here, if the grammar sees one of a kind that may be.
    fn skip(&mut self, start: usize, kinds: &[Expansion]) -> Result<Expansion, CannotSay> {
        match self.place.outline.ends.get(&start) {
            Some((end, kind)) if kinds.contains(kind) && *end <= self.end && *end > start => {
                self.at = *end;
                Ok(*kind)
            }
            _ => Err(self.refuse(Reason::Disagreement, start)),
        }
    }

    fn parenthesis(&mut self, start: usize) -> Result<(), CannotSay> {
        if self.skip(start, &[Expansion::Command, Expansion::Arithmetic])? == Expansion::Command {
            let script = self.inner(start + 2, self.at.saturating_sub(1))?;
            self.made.parts.push(Part::Command(script));
        } else {
            let runs = self.inside(start + 3)?;
            let raw = self.place.text.get(start..self.at).unwrap_or_default().to_owned();
            self.made.parts.push(Part::Arithmetic { raw, runs });
        }
        Ok(())
    }

    fn braces(&mut self, start: usize) -> Result<(), CannotSay> {
        self.skip(start, &[Expansion::Parameter])?;
        let inside = self.place.text.get(start + 2..self.at.saturating_sub(1)).unwrap_or_default();
        let name = is_name(inside).then(|| inside.to_owned());
        let runs = self.inside(start + 2)?;
        self.parameter(name, start, runs);
        Ok(())
    }

    /// What runs inside an expansion that ends here. Quotes in there mean different things to different shells, so what
    /// looks like a substitution must be one.
    fn inside(&mut self, from: usize) -> Result<Vec<Script>, CannotSay> {
        let end = self.at;
        let text = self.place.text.get(from..end).unwrap_or_default();
        if text.contains("\\\n") || text.contains("$[") {
            return Err(self.refuse(Reason::Continuation, from));
        }
        let looks = text.matches("$(").count().saturating_sub(text.matches("$((").count())
            + text.matches('`').count()
            + text.matches("<(").count()
            + text.matches(">(").count();
        let mut runs = Vec::new();
        let mut at = from;
        let ends = &self.place.outline.ends;
        while let Some((start, (stop, kind))) = ends.range(at..end).next() {
            match kind {
                Expansion::Command | Expansion::Process => {
                    runs.push(self.inner(start + 2, stop.saturating_sub(1))?);
                    at = *stop;
                }
                _ => at = start + 1,
            }
        }
        if looks != runs.len() {
            return Err(self.refuse(Reason::Disagreement, from));
        }
        Ok(runs)
    }

    fn inner(&mut self, start: usize, end: usize) -> Result<Script, CannotSay> {
        let text = self.place.text.get(start..end).unwrap_or_default();
        let origin = match self.place.origin {
            Origin::Offset(by) => Origin::Offset(by + start),
            within @ Origin::Within(_) => within,
        };
        self.reader.read(text, origin, self.place.depth + 1)
    }

    fn process(&mut self, start: usize) -> Result<(), CannotSay> {
        self.skip(start, &[Expansion::Process])?;
        let script = self.inner(start + 2, self.at.saturating_sub(1))?;
        self.made.parts.push(Part::Process(script));
        Ok(())
    }

    /// Backslashes are removed once before the text is read, and once more between double quotes.
    fn backquote(&mut self, start: usize, mode: Mode) -> Result<(), CannotSay> {
        self.skip(start, &[Expansion::Command])?;
        let inside = self.place.text.get(start + 1..self.at.saturating_sub(1)).unwrap_or_default();
        let mut text = String::with_capacity(inside.len());
        let mut characters = inside.chars().peekable();
        while let Some(character) = characters.next() {
            let removed = character == '\\'
                && characters.peek().is_some_and(|next| {
                    matches!(next, '$' | '`' | '\\') || *next == '"' && mode == Mode::Quoted
                });
            text.push(if removed { characters.next().unwrap_or(character) } else { character });
        }
        let origin = Origin::Within(self.place.origin.span(start, self.at));
        let script = self.reader.read(&text, origin, self.place.depth + 1)?;
        self.made.parts.push(Part::Command(script));
        Ok(())
    }

    fn ansi(&mut self, start: usize) -> Result<(), CannotSay> {
        self.at += 1;
        self.quote();
        self.made.magic.dollar_quote = true;
        let from = self.at;
        loop {
            match self.next() {
                None => return Err(self.refuse(Reason::Syntax, start)),
                Some('\'') => break,
                Some('\\') => {
                    self.next();
                }
                Some(_) => {}
            }
        }
        let inside = self.place.text.get(from..self.at - 1).unwrap_or_default();
        let text = ansi(inside).ok_or_else(|| self.refuse(Reason::unmodelled("$'"), start))?;
        self.push_str(&text);
        Ok(())
    }
}

/// Whether a text is the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The inside of `$'…'`; nothing where it makes bytes that are no text, or ends the word early.
pub(super) fn ansi(inside: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = inside.chars().peekable();
    while let Some(character) = rest.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        let made = match rest.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'e' | 'E' => '\u{1b}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            same @ ('\\' | '\'' | '"' | '?') => same,
            'x' => number(&mut rest, 16, 2, None)?,
            'u' => number(&mut rest, 16, 4, None)?,
            'U' => number(&mut rest, 16, 8, None)?,
            digit @ '0'..='7' => number(&mut rest, 8, 2, digit.to_digit(8))?,
            _ => return None,
        };
        if made == '\0' {
            return None;
        }
        text.push(made);
    }
    Some(text)
}

fn number(
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
    base: u32,
    most: usize,
    first: Option<u32>,
) -> Option<char> {
    let mut value = first;
    for _ in 0..most {
        let Some(digit) = rest.peek().and_then(|c| c.to_digit(base)) else { break };
        rest.next();
        value = Some(value.unwrap_or(0).checked_mul(base)?.checked_add(digit)?);
    }
    // A byte beyond ASCII is no character.
    let value = value?;
    let bytes = base == 8 || most == 2;
    char::from_u32(value).filter(|c| !bytes || c.is_ascii())
}
