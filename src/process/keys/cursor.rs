//! Which bytes the arrow keys send (DECCKM; spec `exec.md` §7.4.4).

use avt::Parser;
use avt::parser::{DecMode, Function};

use crate::process::decode::Decoder;

/// What a program wants for the arrow keys, Home and End.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CursorKeys {
    /// Nothing was announced. Terminals start in the normal mode, so its bytes are sent, with a warning.
    #[default]
    Unknown,
    /// Announced, or a session on pipes.
    Normal,
    /// Announced by most full-screen programs.
    Application,
}

/// Reads the mode out of the output of a terminal, which may be cut anywhere. A few hundred bytes, whatever it reads.
#[derive(Debug, Default)]
pub struct CursorTracker {
    decoder: Decoder,
    parser: Parser,
    mode: CursorKeys,
}

impl CursorTracker {
    /// Reads on.
    pub fn feed(&mut self, bytes: &[u8]) {
        let Self { decoder, parser, mode } = self;
        decoder.push(bytes, |text| {
            for function in text.chars().filter_map(|character| parser.feed(character)) {
                *mode = after(&function).unwrap_or(*mode);
            }
        });
    }

    /// What holds now.
    pub fn mode(&self) -> CursorKeys {
        self.mode
    }
}

/// The mode that a control function sets: by name, or by a soft (DECSTR) or full (RIS) reset.
fn after(function: &Function) -> Option<CursorKeys> {
    match function {
        Function::Decset(modes) => {
            modes.as_slice().contains(&DecMode::CursorKeys).then_some(CursorKeys::Application)
        }
        Function::Decrst(modes) => {
            modes.as_slice().contains(&DecMode::CursorKeys).then_some(CursorKeys::Normal)
        }
        Function::Decstr | Function::Ris => Some(CursorKeys::Normal),
        _ => None,
    }
}
