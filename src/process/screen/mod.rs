//! The screen that a program has drawn on its terminal (design §9: rows, columns, cursor, title). Pure.
//!
//! Output is hostile: a screen never holds more than its cells, a title of [`MAX_TITLE`] characters and an unfinished
//! control sequence. No sequence costs more than one drawing of the screen, and [`Screen::feed`] tells how much work
//! there was, so that whoever draws can stop at a budget. What a program asks of the terminal itself (its size, the
//! clipboard, answers) is not done.
//!
//! | file | concern |
//! |---|---|
//! | [`size`] | rows and columns |
//! | `title` | the title that a program gives its window |
//! | [`view`] | what is shown, as data |
//! | [`wait`] | conditions over screen, clock and end of the program |

pub mod size;
mod title;
pub mod view;
pub mod wait;

use avt::parser::{DecMode, Function, State};
use avt::{Parser, ScreenKind, Terminal};
use unicode_width::UnicodeWidthChar;

use crate::process::decode::Decoder;
use title::Title;

pub use size::Size;
pub use title::MAX_TITLE;
pub use view::{Cursor, View};
pub use wait::{Condition, Moment, Verdict, Wait};

/// What was asked of a screen that there cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScreenError {
    /// Not between 1×1 and [`Size::MAX`].
    #[error(
        "a screen of {columns} columns and {rows} rows cannot be had; choose 1 to {} columns and 1 to {} rows",
        Size::MAX.columns(),
        Size::MAX.rows()
    )]
    Size {
        /// Columns asked for.
        columns: u16,
        /// Rows asked for.
        rows: u16,
    },
    /// A wait for nothing.
    #[error("nothing to wait for; name a text, a regular expression, a time of quiet, or the exit")]
    NoCondition,
    /// More than [`wait::MAX_CONDITIONS`].
    #[error("{0} conditions in one wait, at most {max} are accepted; join texts as a regular expression: a|b", max = wait::MAX_CONDITIONS)]
    TooManyConditions(usize),
    /// A text or a time that holds always.
    #[error("the condition `{0}` is empty and would hold at once; say what to wait for")]
    Empty(&'static str),
    /// A text or an expression longer than [`wait::MAX_LENGTH`].
    #[error("the condition `{condition}` has {length} bytes, at most {max} are accepted; wait for a part of it", max = wait::MAX_LENGTH)]
    TooLong {
        /// Which condition.
        condition: &'static str,
        /// Its bytes.
        length: usize,
    },
    /// No regular expression, or one that would need too much memory.
    #[error("the regular expression cannot be used: {0}; use `text` for a text as it is")]
    Pattern(String),
}

/// A terminal's screen, drawn from output.
pub struct Screen {
    decoder: Decoder,
    parser: Parser,
    terminal: Terminal,
    title: Title,
    size: Size,
}

/// Its contents are a program's; only the size is shown.
impl std::fmt::Debug for Screen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Screen").field("size", &self.size).finish_non_exhaustive()
    }
}

impl Screen {
    /// An empty screen.
    pub fn new(size: Size) -> Result<Self, ScreenError> {
        let (columns, rows) = (size.columns(), size.rows());
        let terminal = Terminal::new(columns.into(), rows.into());
        Ok(Self {
            decoder: Decoder::default(),
            parser: Parser::new(),
            terminal: terminal.map_err(|_| ScreenError::Size { columns, rows })?,
            title: Title::default(),
            size,
        })
    }

    /// Draws output. It may be cut anywhere, within a character or a control sequence too. Returns how many cells that
    /// could touch: a few bytes may clear a whole screen, and a megabyte of them takes seconds.
    pub fn feed(&mut self, bytes: &[u8]) -> u64 {
        let Self { decoder, parser, terminal, title, size } = self;
        let mut work = 0;
        decoder.push(bytes, |text| {
            for character in text.chars() {
                let before = parser.state;
                if before == State::Ground && takes_no_cell(character) {
                    continue;
                }
                let function = parser.feed(character);
                title.follow(before, parser.state, character);
                if let Some(function) = function.and_then(|function| bounded(function, *size)) {
                    work += cells(&function, *size);
                    terminal.execute(function);
                }
            }
        });
        work
    }

    /// Another size. Lines of the main screen are broken anew, those of the alternate screen are cut; a program that
    /// draws draws again.
    pub fn resize(&mut self, size: Size) {
        self.terminal.resize(size.columns().into(), size.rows().into());
        self.size = size;
    }

    /// Its size.
    pub fn size(&self) -> Size {
        self.size
    }

    /// What can be seen.
    pub fn view(&self) -> View {
        let (columns, cursor) = (self.size.columns(), self.terminal.cursor());
        let lines = self.terminal.screen().visible_lines();
        View {
            columns,
            rows: lines.map(|line| line.text().trim_end().to_owned()).collect(),
            cursor: Cursor {
                row: narrow(cursor.row),
                // Behind the last column while a full line waits for its next character.
                column: narrow(cursor.col).min(columns.saturating_sub(1)),
                visible: cursor.visible,
            },
            title: self.title.text().map(str::to_owned),
            alternate: self.terminal.active_screen_kind() == ScreenKind::Alternate,
        }
    }

    /// The lines as they were written: what the terminal broke at its edge is one line. Conditions look at this.
    pub fn text(&self) -> String {
        let mut text = self.terminal.screen().text().join("\n");
        text.truncate(text.trim_end().len());
        text
    }
}

fn narrow(cell: usize) -> u16 {
    u16::try_from(cell).unwrap_or(u16::MAX)
}

/// DEL, and what has no width of its own: joiners, marks, marks of direction. They could hide what is written.
fn takes_no_cell(character: char) -> bool {
    matches!(character, '\u{7f}' | '\u{ad}' | '\u{2028}' | '\u{2029}')
        || (character >= '\u{a0}' && character.width().is_none_or(|width| width == 0))
}

/// Repetition would draw 65535 characters for six bytes; no program repeats past the end of a line. The picture for
/// adjusting a tube (DECALN) is not drawn at all.
fn bounded(function: Function, size: Size) -> Option<Function> {
    match function {
        Function::Rep(count) => Some(Function::Rep(count.min(size.columns()))),
        Function::Decaln => None,
        other => Some(other),
    }
}

/// Cells that a function may touch at most.
fn cells(function: &Function, size: Size) -> u64 {
    let (columns, rows) = (u64::from(size.columns()), u64::from(size.rows()));
    match function {
        Function::Ed(_) | Function::Su(_) | Function::Sd(_) | Function::Il(_) | Function::Dl(_) => {
            columns * rows
        }
        Function::Ris => columns * rows,
        Function::Decset(modes) | Function::Decrst(modes)
            if modes.as_slice().iter().copied().any(switches) =>
        {
            columns * rows
        }
        Function::El(_) | Function::Rep(_) | Function::Ich(_) | Function::Dch(_) | Function::Ech(_) => {
            columns
        }
        Function::Lf | Function::Nel | Function::Ri => columns,
        _ => 1,
    }
}

/// Modes that change to the other screen.
fn switches(mode: DecMode) -> bool {
    matches!(mode, DecMode::AltScreenBuffer | DecMode::SaveCursorAltScreenBuffer)
}

#[cfg(test)]
mod tests;
