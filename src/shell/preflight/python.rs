//! A shell's variable in Python code.

/// Where the reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// In the braces of a formatted text; how many brackets are open in there.
    Code(usize),
    /// Behind the colon of such braces.
    Format,
    /// In a text.
    Text { quote: char, triple: bool, formatted: bool },
}

/// The first `$NAME` outside of comments and texts, with its line. Inside the braces of a formatted text is code.
pub(super) fn variable(code: &str) -> Option<(String, usize)> {
    let mut reader = Reader { rest: code, line: 1, word: String::new(), frames: Vec::new() };
    reader.find()
}

struct Reader<'c> {
    rest: &'c str,
    line: usize,
    /// The letters in front: perhaps the prefix of a text.
    word: String,
    frames: Vec<Frame>,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let character = self.rest.chars().next()?;
        self.rest = self.rest.get(character.len_utf8()..).unwrap_or_default();
        self.line += usize::from(character == '\n');
        Some(character)
    }

    fn eat(&mut self, text: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(text) else { return false };
        self.rest = rest;
        true
    }

    fn find(&mut self) -> Option<(String, usize)> {
        loop {
            match self.frames.last().copied() {
                None | Some(Frame::Code(_)) => {
                    let line = self.line;
                    let character = self.next()?;
                    if character == '$'
                        && let Some(name) = name(self.rest)
                    {
                        return Some((format!("${name}"), line));
                    }
                    self.code(character);
                }
                Some(Frame::Format) => self.format()?,
                Some(Frame::Text { quote, triple, formatted }) => self.text(quote, triple, formatted)?,
            }
        }
    }

    fn code(&mut self, character: char) {
        let brackets = match self.frames.last_mut() {
            Some(Frame::Code(brackets)) => Some(brackets),
            _ => None,
        };
        match (character, brackets) {
            ('#', _) => {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.rest = self.rest.get(end..).unwrap_or_default();
            }
            ('\'' | '"', _) => self.open(character),
            ('(' | '[' | '{', Some(brackets)) => *brackets += 1,
            ('}', Some(0)) => {
                self.frames.pop();
            }
            (':', Some(0)) => self.frames.push(Frame::Format),
            (')' | ']' | '}', Some(brackets)) => *brackets = brackets.saturating_sub(1),
            _ => {}
        }
        if character.is_alphanumeric() || character == '_' {
            self.word.push(character);
        } else {
            self.word.clear();
        }
    }

    fn open(&mut self, quote: char) {
        let prefix = self.word.to_ascii_lowercase();
        let is_prefix = prefix.len() <= 2 && prefix.chars().all(|letter| "rbuft".contains(letter));
        let formatted = is_prefix && prefix.contains(['f', 't']);
        let triple = self.eat(if quote == '"' { "\"\"" } else { "''" });
        self.frames.push(Frame::Text { quote, triple, formatted });
    }

    fn text(&mut self, quote: char, triple: bool, formatted: bool) -> Option<()> {
        let character = self.next()?;
        match character {
            '\\' => {
                self.next()?;
            }
            '{' if formatted && !self.eat("{") => self.frames.push(Frame::Code(0)),
            '\n' if !triple => {
                self.frames.pop();
            }
            end if end == quote => {
                let two: String = std::iter::repeat_n(quote, 2).collect();
                if !triple || self.eat(&two) {
                    self.frames.pop();
                    self.word.clear();
                }
            }
            _ => {}
        }
        Some(())
    }

    /// How a value is shown; braces hold code again.
    fn format(&mut self) -> Option<()> {
        match self.rest.chars().next()? {
            // It closes the code around it too.
            '}' | '\n' | '\'' | '"' => {
                self.frames.pop();
            }
            '{' => {
                self.next()?;
                self.frames.push(Frame::Code(0));
            }
            _ => {
                self.next()?;
            }
        }
        Some(())
    }
}

/// The name of a shell's variable in upper case at the beginning of a text.
pub(super) fn name(text: &str) -> Option<&str> {
    let first = text.chars().next()?;
    if !(first.is_ascii_uppercase() || first == '_') {
        return None;
    }
    let end = text.find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'));
    text.get(..end.unwrap_or(text.len()))
}
