//! What can be seen of a screen, as data.

use serde::Serialize;

/// A screen at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    /// Characters of a row; a wide character takes two.
    pub columns: u16,
    /// The text of every row, blanks at its end left out.
    pub rows: Vec<String>,
    /// Where the next character goes.
    pub cursor: Cursor,
    /// The title that the program gave its window, if it gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether this is the alternate screen, which full-screen programs draw on and leave as they found it.
    pub alternate: bool,
}

/// A place on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cursor {
    /// From 0 at the top.
    pub row: u16,
    /// From 0 at the left.
    pub column: u16,
    /// Whether the program shows it.
    pub visible: bool,
}
