//! Rows and columns of a screen.

use super::ScreenError;

/// A size that a screen can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    columns: u16,
    rows: u16,
}

impl Size {
    /// The largest: some megabytes of cells.
    pub const MAX: Self = Self { columns: 500, rows: 200 };

    /// At least one of each, at most [`Self::MAX`].
    pub fn new(columns: u16, rows: u16) -> Result<Self, ScreenError> {
        let fits = (1..=Self::MAX.columns).contains(&columns) && (1..=Self::MAX.rows).contains(&rows);
        if fits { Ok(Self { columns, rows }) } else { Err(ScreenError::Size { columns, rows }) }
    }

    /// Characters of a row.
    pub const fn columns(self) -> u16 {
        self.columns
    }

    /// Rows.
    pub const fn rows(self) -> u16 {
        self.rows
    }
}

/// What a terminal has where the call says nothing (spec `exec.md` §8.2).
impl Default for Size {
    fn default() -> Self {
        Self { columns: 120, rows: 30 }
    }
}
