//! The title that a program gives its window (OSC 0 and OSC 2).

use avt::parser::State;

/// Characters of a title that are kept.
pub const MAX_TITLE: usize = 256;

/// Follows the parser through its string states: the parser itself knows no titles.
#[derive(Debug, Default)]
pub(super) struct Title {
    /// The string being read: the number, a semicolon, the title.
    reading: String,
    length: usize,
    last: Option<String>,
}

impl Title {
    /// A character took the parser from one state to another.
    pub(super) fn follow(&mut self, before: State, after: State, character: char) {
        match (before == State::OscString, after == State::OscString) {
            (false, true) => self.begin(),
            (true, true) if character == '\u{9d}' => self.begin(),
            (true, true) if !character.is_control() => self.put(character),
            // CAN, SUB and the 8-bit controls beside ST leave the string without ending it.
            (true, false) if matches!(character, '\x07' | '\x1b' | '\u{9c}') => self.end(),
            (true, false) => self.reading.clear(),
            _ => {}
        }
    }

    fn begin(&mut self) {
        self.reading.clear();
        self.length = 0;
    }

    fn put(&mut self, character: char) {
        if self.length < MAX_TITLE + 2 && !super::takes_no_cell(character) {
            self.reading.push(character);
            self.length += 1;
        }
    }

    fn end(&mut self) {
        let title = self.reading.strip_prefix("0;").or_else(|| self.reading.strip_prefix("2;"));
        if let Some(title) = title {
            self.last = Some(title.trim().to_owned()).filter(|title| !title.is_empty());
        }
        self.begin();
    }

    /// The last one; none where the program never gave one, or took it back.
    pub(super) fn text(&self) -> Option<&str> {
        self.last.as_deref()
    }
}
