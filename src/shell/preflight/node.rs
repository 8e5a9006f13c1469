//! A shell's variable in JavaScript. There `$NAME` may be a name of the file's own, so what the file declares or imports is
//! left alone.

use std::collections::HashSet;

use super::python;

/// A token, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'c> {
    /// An identifier or keyword, and its line.
    Word(&'c str, usize),
    /// One character of punctuation.
    Sign(char),
    /// A text, number or regular expression.
    Value,
}

/// The first `$NAME` that the file uses and does not declare, with its line.
pub(super) fn variable(code: &str) -> Option<(String, usize)> {
    let tokens = Reader { code, at: 0, line: 1, templates: Vec::new(), tokens: Vec::new() }.read();
    let own = declared(&tokens);
    tokens.iter().enumerate().find_map(|(at, token)| {
        let Token::Word(word, line) = *token else { return None };
        let rest = word.strip_prefix('$')?;
        let whole = python::name(rest) == Some(rest);
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        let member = before == Some(&Token::Sign('.'));
        let key =
            tokens.get(at + 1) == Some(&Token::Sign(':')) && matches!(before, Some(Token::Sign('{' | ',')));
        (whole && !member && !key && !own.contains(word)).then(|| (word.to_owned(), line))
    })
}

/// Names that the file declares: variables, functions, classes, imports, parameters, and what it assigns to.
fn declared<'c>(tokens: &[Token<'c>]) -> HashSet<&'c str> {
    let mut own = HashSet::new();
    let mut groups: Vec<usize> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1);
        match token {
            Token::Word("const" | "let" | "var", _) => {
                pattern(tokens.get(at + 1..).unwrap_or_default(), &mut own);
            }
            Token::Word("import", _) => {
                let names = tokens.get(at + 1..).unwrap_or_default().iter();
                let until = |token: &&Token<'c>| {
                    !matches!(token, Token::Word("from", _) | Token::Value | Token::Sign(';'))
                };
                own.extend(names.take_while(until).filter_map(word));
            }
            Token::Word("function" | "class", _) => own.extend(next.and_then(word)),
            Token::Word(name, _) => {
                let assigned =
                    next == Some(&Token::Sign('=')) && tokens.get(at + 2) != Some(&Token::Sign('='));
                if assigned {
                    own.insert(*name);
                }
            }
            Token::Sign('(') => groups.push(at),
            Token::Sign(')') => {
                let Some(open) = groups.pop() else { continue };
                if parameters(tokens, open, at) {
                    own.extend(tokens.get(open..at).unwrap_or_default().iter().filter_map(word));
                }
            }
            _ => {}
        }
    }
    own
}

/// Whether a pair of parentheses holds parameters: a body or an arrow follows, and no keyword stands in front.
fn parameters(tokens: &[Token<'_>], open: usize, close: usize) -> bool {
    let arrow =
        tokens.get(close + 1) == Some(&Token::Sign('=')) && tokens.get(close + 2) == Some(&Token::Sign('>'));
    let body = tokens.get(close + 1) == Some(&Token::Sign('{'));
    let before = open.checked_sub(1).and_then(|before| tokens.get(before));
    let control = matches!(before, Some(Token::Word("if" | "while" | "for" | "switch" | "with", _)));
    arrow || body && !control
}

fn word<'c>(token: &Token<'c>) -> Option<&'c str> {
    match token {
        Token::Word(word, _) => Some(word),
        _ => None,
    }
}

/// The names of a declaration, up to its end: in each of its parts those in front of the `=`.
fn pattern<'c>(tokens: &[Token<'c>], own: &mut HashSet<&'c str>) {
    let mut depth = 0usize;
    let mut value = false;
    for token in tokens {
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}' | ';') if depth == 0 => return,
            Token::Sign(')' | ']' | '}') => depth -= 1,
            Token::Word("of" | "in" | "const" | "let" | "var" | "function" | "return" | "if" | "for", _)
                if depth == 0 =>
            {
                return;
            }
            Token::Sign('=') if depth == 0 => value = true,
            Token::Sign(',') if depth == 0 => value = false,
            Token::Word(name, _) if !value => {
                own.insert(name);
            }
            _ => {}
        }
    }
}

struct Reader<'c> {
    code: &'c str,
    at: usize,
    line: usize,
    /// For each open template the braces that are open in its code.
    templates: Vec<usize>,
    tokens: Vec<Token<'c>>,
}

impl<'c> Reader<'c> {
    fn rest(&self) -> &'c str {
        self.code.get(self.at..).unwrap_or_default()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.rest().chars().next()?;
        self.at += character.len_utf8();
        self.line += usize::from(character == '\n');
        Some(character)
    }

    fn read(mut self) -> Vec<Token<'c>> {
        if self.rest().starts_with("#!") {
            self.skip_line();
        }
        loop {
            let start = self.at;
            let Some(character) = self.next() else { return self.tokens };
            match character {
                '/' if self.rest().starts_with('/') => self.skip_line(),
                '/' if self.rest().starts_with('*') => self.skip_to("*/"),
                '/' if self.expects_value() => self.regex(),
                '\'' | '"' => self.text(character),
                '`' => self.template(),
                '}' if self.templates.last() == Some(&0) => {
                    self.templates.pop();
                    self.template();
                }
                c if c.is_alphabetic() || matches!(c, '$' | '_') => self.word(start),
                c if c.is_ascii_digit() => {
                    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
                    while self.rest().chars().next().is_some_and(part) {
                        self.next();
                    }
                    self.tokens.push(Token::Value);
                }
                c if c.is_whitespace() => {}
                sign => {
                    match (sign, self.templates.last_mut()) {
                        ('{', Some(open)) => *open += 1,
                        ('}', Some(open)) => *open = open.saturating_sub(1),
                        _ => {}
                    }
                    self.tokens.push(Token::Sign(sign));
                }
            }
        }
    }

    fn word(&mut self, start: usize) {
        let part = |c: char| c.is_alphanumeric() || matches!(c, '$' | '_');
        while self.rest().chars().next().is_some_and(part) {
            self.next();
        }
        let word = self.code.get(start..self.at).unwrap_or_default();
        self.tokens.push(Token::Word(word, self.line));
    }

    fn skip_line(&mut self) {
        let length = self.rest().find('\n').unwrap_or(self.rest().len());
        self.at += length;
    }

    fn skip_to(&mut self, end: &str) {
        let length = self.rest().find(end).map_or(self.rest().len(), |at| at + end.len());
        let skipped = self.rest().get(..length).unwrap_or_default();
        self.line += skipped.matches('\n').count();
        self.at += length;
    }

    /// Whether a slash begins a regular expression here: behind no value.
    fn expects_value(&self) -> bool {
        match self.tokens.last() {
            Some(Token::Word(word, _)) => {
                matches!(
                    *word,
                    "return"
                        | "typeof"
                        | "case"
                        | "in"
                        | "of"
                        | "delete"
                        | "void"
                        | "throw"
                        | "new"
                        | "else"
                        | "do"
                        | "await"
                        | "yield"
                )
            }
            Some(Token::Sign(sign)) => !matches!(sign, ')' | ']' | '}'),
            Some(Token::Value) => false,
            None => true,
        }
    }

    fn regex(&mut self) {
        let mut class = false;
        while let Some(character) = self.next() {
            match character {
                '\\' => {
                    self.next();
                }
                '[' => class = true,
                ']' => class = false,
                '/' if !class => break,
                '\n' => break,
                _ => {}
            }
        }
        let flag = |c: char| c.is_ascii_alphabetic();
        while self.rest().chars().next().is_some_and(flag) {
            self.next();
        }
        self.tokens.push(Token::Value);
    }

    fn text(&mut self, quote: char) {
        while let Some(character) = self.next() {
            match character {
                '\\' => {
                    self.next();
                }
                '\n' => break,
                end if end == quote => break,
                _ => {}
            }
        }
        self.tokens.push(Token::Value);
    }

    /// The text of a template, up to its end or to code in it.
    fn template(&mut self) {
        while let Some(character) = self.next() {
            match character {
                '\\' => {
                    self.next();
                }
                '`' => break,
                '$' if self.rest().starts_with('{') => {
                    self.next();
                    self.templates.push(0);
                    // What stands in the braces begins a value.
                    self.tokens.push(Token::Sign('+'));
                    return;
                }
                _ => {}
            }
        }
        self.tokens.push(Token::Value);
    }
}
