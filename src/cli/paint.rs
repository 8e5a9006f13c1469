//! Colours, where there is a terminal that shows them.

use std::io::IsTerminal as _;

/// Whether text is coloured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint(bool);

impl Paint {
    /// Standard output is a terminal, and nobody asked for plain text (`NO_COLOR`).
    pub(super) fn of_stdout() -> Self {
        Self(std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none())
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.0 { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub(super) fn heading(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(super) fn good(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(super) fn doubtful(self, text: &str) -> String {
        self.with("33", text)
    }

    pub(super) fn bad(self, text: &str) -> String {
        self.with("31", text)
    }

    pub(super) fn faint(self, text: &str) -> String {
        self.with("2", text)
    }
}
