//! Calls on standard input, one on each line: they run at once, and are answered in their order.

use std::io::{BufRead, Read as _};

use futures_util::StreamExt as _;
use tokio::sync::mpsc;

use super::{Answer, Asked, Caller, usage};
use crate::cli::print;
use crate::error::{EXIT_CREEL, Failure};
use crate::keeper::MAX_REQUEST;

/// Calls under way at once; more wait on standard input.
const AT_ONCE: usize = 64;

/// Most bytes of a line, its end included.
const MOST: usize = MAX_REQUEST / 2;

/// A line, or why it is none.
#[derive(Debug)]
struct Line {
    /// Its number; the first is 1.
    number: usize,
    text: Result<String, Unread>,
}

/// Why a line cannot be read, and what helps where its call would not.
#[derive(Debug)]
struct Unread {
    why: String,
    fix: Option<String>,
}

impl Line {
    /// The call on it; a refusal names the line.
    fn call<T>(self, read: impl Fn(&str) -> Result<T, String>, fix: &str) -> Result<T, Failure> {
        let text = self.text.and_then(|text| read(&text).map_err(|why| Unread { why, fix: None }));
        text.map_err(|Unread { why, fix: own }| {
            let what = format!("line {} of standard input", self.number);
            Failure(usage(&what, &why, own.as_deref().unwrap_or(fix)))
        })
    }
}

/// Answers every line. The exit status is 0 when all calls gave results, 1 when a tool threw, 125 when creel failed.
pub(super) async fn run(
    caller: Caller,
    fix: &'static str,
    read: impl Fn(&str) -> Result<Asked, String>,
) -> Result<u8, Failure> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || pump(&sender));
    let lines = futures_util::stream::unfold(receiver, |mut lines| async {
        let line: Line = lines.recv().await?;
        Some((line, lines))
    });
    let (caller, read) = (&caller, &read);
    let answers = lines.map(|line| async move {
        match line.call(read, fix) {
            Ok(asked) => caller.call(asked).await,
            Err(failure) => Answer::refused(&failure),
        }
    });
    let mut answers = Box::pin(answers.buffered(AT_ONCE));
    let mut status = 0;
    let mut asked_to_end = false;
    let mut interrupted = Box::pin(crate::cli::interrupted());
    loop {
        tokio::select! {
            answer = answers.next() => {
                let Some(answer) = answer else { return Ok(status) };
                print::compact(&answer.line);
                status = worse(status, answer.status);
            }
            () = &mut interrupted => {
                interrupted = Box::pin(crate::cli::interrupted());
                if std::mem::replace(&mut asked_to_end, true) {
                    return Ok(130);
                }
                caller.take_back().await;
            }
        }
    }
}

/// 125 over 1 over 0.
fn worse(one: u8, other: u8) -> u8 {
    if one == EXIT_CREEL || other == EXIT_CREEL { EXIT_CREEL } else { one.max(other) }
}

/// Reads on a thread of its own: a blocking read cannot be cancelled, and the process does not wait for it.
fn pump(sender: &mpsc::Sender<Line>) {
    let mut input = std::io::stdin().lock();
    let mut number = 0;
    while let Some((text, ends)) = next(&mut input) {
        number += 1;
        if text.as_ref().is_ok_and(|line| line.trim().is_empty()) {
            continue;
        }
        if sender.blocking_send(Line { number, text }).is_err() || ends {
            return;
        }
    }
}

/// The next line, and whether nothing can be read after it.
fn next(input: &mut impl BufRead) -> Option<(Result<String, Unread>, bool)> {
    let most = u64::try_from(MOST).unwrap_or(u64::MAX);
    let unread = |why: String, fix: &str| Err(Unread { why, fix: Some(fix.to_owned()) });
    let mut line = Vec::new();
    match input.by_ref().take(most).read_until(b'\n', &mut line) {
        Ok(0) => None,
        Ok(count) if count == MOST && !line.ends_with(b"\n") => {
            let why = format!("it has more than {MOST} bytes, and what follows was not read");
            Some((unread(why, "write large input into a file that the command reads"), true))
        }
        Ok(_) => {
            let text = String::from_utf8(line).map_err(|_| Unread {
                why: "it is not UTF-8".to_owned(),
                fix: Some("write it in UTF-8".to_owned()),
            });
            Some((text, false))
        }
        Err(error) => Some((unread(error.to_string(), "give a standard input that can be read"), true)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_no_call_is_named() {
        let mut input = std::io::Cursor::new(b"{\"a\":1}\n\xff\n".to_vec());
        let (first, ends) = next(&mut input).unwrap();
        assert_eq!((first.unwrap().trim(), ends), ("{\"a\":1}", false));
        let (second, _) = next(&mut input).unwrap();
        let line = Line { number: 2, text: second };
        let Failure(report) = line.call(|_| Ok(()), "x").unwrap_err();
        assert_eq!(report.message, "line 2 of standard input is not what is expected: it is not UTF-8");
        assert_eq!(report.fix, "write it in UTF-8");
        let line = Line { number: 7, text: Ok("{".to_owned()) };
        let Failure(report) = line.call(super::super::read::<Asked>, "send a call").unwrap_err();
        assert!(report.message.starts_with("line 7 of standard input"), "{}", report.message);
        assert_eq!(report.fix, "send a call");
        assert!(next(&mut input).is_none());
    }
}
