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
    let head = format!("Exec {} ({short}, {})", ending.status.as_str(), ending.how());
    let shown = if snippet.is_empty() { String::new() } else { format!(" :: {snippet}") };
    let retry = if ending.timed_out() { format!("\n\n{}", said::RETRY) } else { String::new() };
    Some(head + &shown + &retry)
}

/// One line of the output's end.
fn snippet(output: &str) -> String {
    let source = shorten::tail(output, SOURCE);
    let line = source.split_whitespace().collect::<Vec<_>>().join(" ");
    shorten::head(&line, SNIPPET)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::process::fixture::{finished, running, stopped};
    use crate::runner::{Death, Processes};

    #[test]
    fn exact_forms() {
        let of = |death, code, signal, output: &str| exit_notice(&finished(death, code, signal), output);
        let is = |notice: Option<String>, text: &str| assert_eq!(notice.as_deref(), Some(text));
        is(of(Death::Exit, Some(0), None, "done\n"), "Exec completed (keen-ott, code 0) :: done");
        is(of(Death::Exit, Some(3), None, ""), "Exec completed (keen-ott, code 3)");
        is(of(Death::Exit, Some(127), None, ""), "Exec failed (keen-ott, code 127)");
        is(of(Death::Signal, None, Some(9), " a\t\r\n b "), "Exec failed (keen-ott, signal SIGKILL) :: a b");
        is(of(Death::EngineLost, None, None, ""), "Exec failed (keen-ott, unknown exit code)");
        let late = of(Death::Timeout, None, Some(15), "x").unwrap();
        assert_eq!(late, format!("Exec failed (keen-ott, signal SIGTERM) :: x\n\n{}", said::RETRY));
    }

    #[test]
    fn all_conditions_must_hold() {
        let done = || finished(Death::Exit, Some(0), None);
        assert!(exit_notice(&done(), "x").is_some());
        assert_eq!(exit_notice(&running(0), "x"), None);
        assert_eq!(exit_notice(&View { backgrounded: false, ..done() }, "x"), None);
        assert_eq!(exit_notice(&done(), " \n"), None, "success in silence");
        let with = |change: fn(&mut View)| {
            let mut view = done();
            change(&mut view);
            exit_notice(&view, "")
        };
        assert!(with(|view| view.begin.notify_empty_success = true).is_some());
        assert_eq!(
            with(|view| (view.begin.notify_empty_success, view.begin.notify_on_exit) = (true, false)),
            None
        );
        assert_eq!(
            with(|view| (view.begin.notify_empty_success, view.begin.session_key) = (true, None)),
            None
        );
        assert_eq!(exit_notice(&stopped(None, Some(15)), "x"), None, "asked for");
        let mut view = stopped(None, Some(9));
        view.end.as_mut().unwrap().outcome.processes = Some(Processes::default());
        assert!(exit_notice(&view, "").is_some(), "a failed cleanup is told");
    }

    #[test]
    fn the_snippet_is_the_beginning_of_the_end() {
        let output = format!("{}{}", "a".repeat(1000), "b ".repeat(150));
        let snippet = snippet(&output);
        assert!(snippet.starts_with("aaaa") && snippet.ends_with('…'), "{snippet}");
        assert_eq!((snippet.chars().count(), snippet.matches('a').count()), (180, 100));
    }
}
