//! Our terminal while the command has one: its size, and raw mode.

use std::io::IsTerminal as _;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr};

/// Size where we have no terminal ourselves.
const DEFAULT: (u16, u16) = (24, 80);

/// Rows and columns of our terminal.
pub(in crate::cli) fn size() -> (u16, u16) {
    let ours = tcgetwinsize(rustix::stdio::stdout()).or_else(|_| tcgetwinsize(rustix::stdio::stdin()));
    match ours {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => (size.ws_row, size.ws_col),
        _ => DEFAULT,
    }
}

/// Raw mode of our standard input, undone on drop.
pub(in crate::cli) struct Raw {
    before: Termios,
}

impl Raw {
    /// Switches to raw mode where standard input is a terminal and we are in its foreground: from the background
    /// the attempt would stop us.
    pub(in crate::cli) fn enter() -> Option<Self> {
        let stdin = rustix::stdio::stdin();
        if !std::io::stdin().is_terminal() || tcgetpgrp(stdin).ok()? != rustix::process::getpgrp() {
            return None;
        }
        let before = tcgetattr(stdin).ok()?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin, OptionalActions::Drain, &raw).ok()?;
        Some(Self { before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Drain, &self.before);
    }
}
