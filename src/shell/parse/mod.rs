//! Shell text as a tree, or *cannot say*. Pure.
//!
//! Two independent parsers read the text: a shell's own (`brush-parser`), from whose tree ours is made, and the
//! grammar of editors (`tree-sitter-bash`), which must see every command, word, redirection and operator at the same
//! place. Words are taken apart by a scanner of ours, and the first parser must take them apart the same way. Where any
//! two disagree, where a construct is not modelled, and past every limit the answer is *cannot say*: a miss for whoever
//! allows, never a pass.
//!
//! Not modelled: `((…))`, `for ((…))`, `select`, `coproc`, `$[…]`, extended patterns, control characters, a backslash at
//! the end of a line inside a word.
//!
//! | file | concern |
//! |---|---|
//! | [`tree`] | the tree |
//! | `outline` | what the grammar sees |
//! | `convert` | the first parser's tree made ours |
//! | `walk` | every command in it |
//! | `word` | a word taken apart |
//! | `pieces` | how the first parser takes it apart |

mod convert;
mod outline;
mod pieces;
pub mod tree;
mod walk;
mod word;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use tree::{
    Assignment, Command, Compound, Item, Link, Magic, Part, Pipeline, Redirect, RedirectKind, Script, Simple,
    Span, Word,
};

/// Longest text that is read, in bytes (spec `approvals.md` 4.02).
pub const MAX_BYTES: usize = 128 * 1024;
/// Most nodes of the grammar's tree (4.02).
pub(crate) const MAX_NODES: usize = 50_000;
/// Commands inside commands; substitutions inside substitutions.
pub(crate) const MAX_DEPTH: usize = 12;
/// How often the grammar reports progress before it is stopped: about half a second's work. No clock, so that the same
/// text always gets the same answer.
pub(crate) const MAX_STEPS: usize = 200_000;
/// Bytes that may be read again inside substitutions, in all.
const MAX_WORK: usize = 4 * MAX_BYTES;

/// Why nothing is said about a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Longer than is read.
    #[error("it is longer than {MAX_BYTES} bytes")]
    TooLong,
    /// Commands nest deeper than is followed.
    #[error("its commands nest more than {MAX_DEPTH} deep")]
    TooDeep,
    /// Reading it takes more work than is done.
    #[error("reading it takes too much work")]
    TooComplex,
    /// A control character, or a blank that shells do not take for one.
    #[error("it contains a control character or a blank that is none for a shell")]
    Control,
    /// A backslash at the end of a line inside a word or operator.
    #[error("a backslash at the end of a line joins what stands around it")]
    Continuation,
    /// No shell text.
    #[error("it is no complete shell text")]
    Syntax,
    /// A construct that has no place in the tree.
    #[error("it uses {0}, which is not analysed")]
    Unmodelled(&'static str),
    /// The parsers see different things.
    #[error("shells may read it in different ways")]
    Disagreement,
}

impl Reason {
    /// Whether the text was not looked at to its end.
    pub fn is_limit(self) -> bool {
        matches!(self, Self::TooLong | Self::TooDeep | Self::TooComplex)
    }

    fn unmodelled(kind: &str) -> Self {
        Self::Unmodelled(match kind {
            "((" | "c_style_for_statement" => "an arithmetic command",
            "select" => "select",
            "$[" => "an old arithmetic expansion",
            "coproc" => "coproc",
            "(" | "extglob_pattern" => "an extended pattern",
            _ => "a rare construct",
        })
    }
}

/// *Cannot say*, with the place where it was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct CannotSay {
    /// Why.
    pub reason: Reason,
    /// Where.
    pub span: Span,
}

impl CannotSay {
    fn at(reason: Reason, span: Span) -> Self {
        Self { reason, span }
    }

    fn whole(reason: Reason, text: &str) -> Self {
        Self::at(reason, Span { start: 0, end: text.len() })
    }
}

/// Reads a text.
///
/// # Errors
///
/// Where nothing can be said about it.
pub fn parse(text: &str) -> Result<Script, CannotSay> {
    let read = |most| Reader { left: MAX_WORK, most }.read(text, Origin::Offset(0), 0);
    if openings(text) <= FEW && text.len() <= SHORT {
        return read(FEW);
    }
    // The first parser goes down the stack for each opening, so it gets one that suffices. Only what is used costs memory.
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(ROOM).spawn_scoped(scope, || read(MANY));
        let said = thread.ok().and_then(|thread| thread.join().ok());
        said.unwrap_or_else(|| Err(CannotSay::whole(Reason::TooComplex, text)))
    })
}

/// Where a text inside another one comes from.
#[derive(Debug, Clone, Copy)]
enum Origin {
    /// It stands there as it is.
    Offset(usize),
    /// It was made of what stands there.
    Within(Span),
}

impl Origin {
    fn span(self, start: usize, end: usize) -> Span {
        match self {
            Self::Offset(by) => Span { start: start + by, end: end + by },
            Self::Within(span) => span,
        }
    }
}

/// Where it was noticed in the text that all of it stands in.
fn moved(refusal: CannotSay, origin: Origin) -> CannotSay {
    CannotSay::at(refusal.reason, origin.span(refusal.span.start, refusal.span.end))
}

/// What is left of the work for one text and all that stands inside it.
struct Reader {
    left: usize,
    /// How many openings the stack has room for.
    most: usize,
}

impl Reader {
    fn read(&mut self, text: &str, origin: Origin, depth: usize) -> Result<Script, CannotSay> {
        let whole = |reason| moved(CannotSay::whole(reason, text), origin);
        if text.len() > MAX_BYTES {
            return Err(whole(Reason::TooLong));
        }
        if depth > MAX_DEPTH || openings(text) > self.most {
            return Err(whole(Reason::TooDeep));
        }
        self.left = self.left.checked_sub(text.len()).ok_or_else(|| whole(Reason::TooComplex))?;
        if let Some((start, character)) = text.char_indices().find(|(_, character)| strange(*character)) {
            return Err(CannotSay::at(Reason::Control, origin.span(start, start + character.len_utf8())));
        }
        let outline = outline::outline(text).map_err(|refusal| moved(refusal, origin))?;
        let program = first_parser(text, self.most).ok_or_else(|| whole(Reason::Syntax))?;
        convert::script(self, text, &program, &outline, origin, depth)
    }
}

/// The shell's own parser. It may panic on odd input, which is no more than another way of not understanding it.
fn first_parser(text: &str, most: usize) -> Option<brush_parser::ast::Program> {
    let options = brush_parser::ParserOptions::default();
    let read = || {
        let tokens = brush_parser::uncached_tokenize_str(text, &options.tokenizer_options()).ok()?;
        let deepens = |token: &&brush_parser::Token| DEEPENS.contains(&token.to_str());
        if tokens.iter().filter(deepens).count() > most {
            return None;
        }
        brush_parser::parse_tokens(&tokens, &options).ok()
    };
    catch_unwind(AssertUnwindSafe(read)).ok().flatten()
}

/// Openings of expansions and compound commands that the stack of any thread has room for. Which of them stand inside
/// each other is known only after reading.
const FEW: usize = 96;
/// A text that cannot hold many.
const SHORT: usize = 16 * 1024;
/// Openings that are read at all.
const MANY: usize = 4096;
/// The stack for them, in bytes.
const ROOM: usize = 256 << 20;
/// Words and operators that begin one.
const DEEPENS: &[&str] =
    &["(", "{", "if", "while", "until", "for", "case", "function", "coproc", "select", "[["];

fn openings(text: &str) -> usize {
    let pairs = text
        .as_bytes()
        .windows(2)
        .filter(|pair| matches!(pair, [b'$' | b'<' | b'>', b'('] | [b'$', b'{' | b'[']));
    pairs.count() + text.bytes().filter(|byte| *byte == b'`').count() / 2
}

/// Characters that shells, parsers and people see differently: control characters except tab and line end, blanks
/// beyond ASCII, and those that are not shown or change the direction of what is.
fn strange(character: char) -> bool {
    match character {
        '\t' | '\n' => false,
        '\u{ad}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => true,
        other => other.is_control() || (!other.is_ascii() && other.is_whitespace()),
    }
}

#[cfg(test)]
mod tests;
