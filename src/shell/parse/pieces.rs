//! How the first parser takes a word apart, compared with what ours made of it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use brush_parser::ParserOptions;
use brush_parser::word::{self, TildeExpr, WordPiece, WordPieceWithSource};

use super::tree::{Part, Word};
use super::word::ansi;

/// What both can say about a part.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Text(String),
    Parameter,
    Arithmetic,
    Command,
    Process,
}

/// Whether both take the word apart the same way. `raw` is the word as the first parser has it.
pub(super) fn agree(raw: &str, document: bool, made: &Word) -> bool {
    let ours = made.parts.iter().map(|part| match part {
        Part::Text(text) => Seen::Text(text.clone()),
        Part::Parameter { .. } => Seen::Parameter,
        Part::Arithmetic { .. } => Seen::Arithmetic,
        Part::Command(_) => Seen::Command,
        Part::Process(_) => Seen::Process,
    });
    let ours: Vec<Seen> = ours.collect();
    // A plain text needs no second look: nothing in it means anything to a shell.
    if let ([Seen::Text(text)], false, false) = (ours.as_slice(), made.quoted, document)
        && text == raw
        && !raw.contains(['$', '`', '\\', '\'', '"'])
    {
        return true;
    }
    let options = ParserOptions::default();
    let read = || if document { word::parse_heredoc(raw, &options) } else { word::parse(raw, &options) };
    let Some(pieces) = catch_unwind(AssertUnwindSafe(read)).ok().and_then(Result::ok) else { return false };
    let mut theirs = Vec::new();
    flatten(&pieces, &mut theirs).is_some() && theirs == ours
}

fn flatten(pieces: &[WordPieceWithSource], seen: &mut Vec<Seen>) -> Option<()> {
    for piece in pieces {
        match &piece.piece {
            WordPiece::Text(text) | WordPiece::SingleQuotedText(text) => push(seen, text),
            WordPiece::AnsiCQuotedText(text) => push(seen, &ansi(text)?),
            WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                flatten(inner, seen)?;
            }
            WordPiece::TildeExpansion(tilde) => match tilde {
                TildeExpr::Home => push(seen, "~"),
                TildeExpr::UserHome(user) => push(seen, &format!("~{user}")),
                TildeExpr::WorkingDir => push(seen, "~+"),
                TildeExpr::OldWorkingDir => push(seen, "~-"),
                _ => return None,
            },
            WordPiece::ParameterExpansion(_) => seen.push(Seen::Parameter),
            WordPiece::ArithmeticExpression(_) => seen.push(Seen::Arithmetic),
            WordPiece::CommandSubstitution(_) | WordPiece::BackquotedCommandSubstitution(_) => {
                seen.push(Seen::Command);
            }
            WordPiece::EscapeSequence(text) => {
                let escaped = text.strip_prefix('\\').unwrap_or(text);
                if escaped != "\n" {
                    push(seen, escaped);
                }
            }
        }
    }
    Some(())
}

fn push(seen: &mut Vec<Seen>, more: &str) {
    if more.is_empty() {
        return;
    }
    match seen.last_mut() {
        Some(Seen::Text(text)) => text.push_str(more),
        _ => seen.push(Seen::Text(more.to_owned())),
    }
}
