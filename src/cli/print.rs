//! What goes to standard output and standard error: one place, so that nothing that was not written goes unnoticed.

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;
use std::sync::OnceLock;

use crate::error::{EXIT_CREEL, Failure, Report};
use crate::shown;

/// The first error of standard output. Printing is the last thing that a subcommand does, and each piece of a table
/// having to carry a result would hide what is printed; so the end of the program asks once.
static BROKEN: OnceLock<(ErrorKind, String)> = OnceLock::new();

/// Prints a line, or several. What would deceive its reader is spelled out: much of it is text of others.
///
/// A new line is not, because creel's own tables have them: text of others goes through [`shown::one_line`] before it
/// gets into one.
pub(super) fn line(text: &str) {
    put(&format!("{text}\n"));
}

/// The same without a new line at the end.
pub(super) fn put(text: &str) {
    exactly(&shown::lines(text));
}

/// Prints a line with colours. What is not creel's own in it is spelled out by whoever puts it there.
pub(super) fn painted(text: &str) {
    exactly(&format!("{text}\n"));
}

/// Prints a text as it is: for programs, or with colours.
pub(super) fn exactly(text: &str) {
    let mut out = std::io::stdout().lock();
    if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        broken(error.kind(), &error);
    }
}

/// Notes that standard output does not take what is written.
pub(super) fn broken(kind: ErrorKind, why: &dyn std::fmt::Display) {
    BROKEN.get_or_init(|| (kind, why.to_string()));
}

/// Prints a value as JSON, over several lines.
pub(super) fn json(value: &impl serde::Serialize) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => exactly(&format!("{text}\n")),
        Err(error) => broken(ErrorKind::InvalidData, &error),
    }
}

/// Prints a value as JSON on one line.
pub(super) fn compact(value: &serde_json::Value) {
    exactly(&format!("{value}\n"));
}

/// A line on standard error, spelled out as [`line`] does. There is nowhere to say that it cannot be said.
pub(super) fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", shown::lines(text));
}

/// Tells a failure: as text on standard error, or as `{"error": …}` on standard output.
pub(super) fn failure(failure: &Failure, as_json: bool) {
    if as_json {
        json(&serde_json::json!({ "error": failure.0 }));
    } else {
        note(&format!("creel: {failure}"));
    }
}

/// The exit code, unless the result could not be written: then a script must not take the silence for one.
///
/// A pipe whose reader has left is no failure: the reader had what it wanted.
pub(super) fn verdict(code: ExitCode) -> ExitCode {
    match BROKEN.get() {
        None | Some((ErrorKind::BrokenPipe, _)) => code,
        Some((_, why)) => {
            failure(&unwritten(why), false);
            ExitCode::from(EXIT_CREEL)
        }
    }
}

fn unwritten(why: &str) -> Failure {
    Failure(Report {
        code: "CRL-CLI-004",
        message: format!("standard output does not take what creel prints: {why}"),
        rule: Some("built-in: a result that was not written is no success".to_owned()),
        fix: "give it a file, pipe or terminal that can be written (is the disk full?)".to_owned(),
    })
}
