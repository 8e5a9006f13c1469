//! The notice that follows the end of a command in the background (spec `exec.md` §12.1). Pure.

use super::ending::Ending;
use super::record::View;
use super::{said, shorten};

/// Characters of the output's end that are looked at.
const SOURCE: usize = 400;

/// Characters of them that are shown, in one line.
const SNIPPET: usize = 180;

/// Characters of the id.
const SHORT_ID: usize = 8;

/// The notice, or `None` where there is none to send: the session is not over, was never in the background, was begun
/// without notices or without a session key, was stopped because somebody asked for it, or succeeded in silence. Whether
/// a poll has told the end already is the caller's to know. `output` is the aggregate, or its tail.
pub fn exit_notice(view: &View, output: &str) -> Option<String> {
    let ending = Ending::of(view.end.as_ref()?);
    let begin = &view.begin;
    let wanted = view.backgrounded && begin.notify_on_exit && begin.session_key.is_some();
    let snippet = snippet(output);
    let silent = ending.code == Some(0) && ending.signal.is_none() && snippet.is_empty();
    if !wanted || ending.stopped || (silent && !begin.notify_empty_success) {
        return None;
    }
    let short: String = view.id.0.chars().take(SHORT_ID).collect();
    let mut notice = format!("Exec {} ({short}, {})", ending.status.as_str(), ending.how());
    if !snippet.is_empty() {
        notice += &format!(" :: {snippet}");
    }
    if ending.timed_out() {
        notice += &format!("\n\n{}", said::RETRY);
    }
    Some(notice)
}

/// One line of the output's end.
fn snippet(output: &str) -> String {
    let source = shorten::tail(output, SOURCE);
    let line = source.split_whitespace().collect::<Vec<_>>().join(" ");
    shorten::head(&line, SNIPPET)
}
