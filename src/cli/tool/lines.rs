//! Calls on standard input, one on each line: they run at once, and are answered in their order.

use std::io::{BufRead as _, Read as _};

use futures_util::StreamExt as _;
use tokio::sync::mpsc;

use super::{Answer, Asked, Caller, usage};
use crate::cli::print;
use crate::error::{EXIT_CREEL, Failure};
use crate::keeper::MAX_REQUEST;

/// Calls under way at once; more wait on standard input.
const AT_ONCE: usize = 64;

/// Answers every line. The exit status is 0 when all calls gave results, 1 when a tool threw, 125 when creel failed.
pub(super) async fn run(
    caller: Caller,
    read: impl Fn(&str) -> Result<Asked, Failure>,
) -> Result<u8, Failure> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || pump(&sender));
    let lines = futures_util::stream::unfold(receiver, |mut lines| async {
        let line: Result<String, String> = lines.recv().await?;
        Some((line, lines))
    });
    let (caller, read) = (&caller, &read);
    let answers = lines.map(|line| async move {
        match line.map_err(|why| Failure(usage("standard input", &why))).and_then(|line| read(&line)) {
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
fn pump(sender: &mpsc::Sender<Result<String, String>>) {
    let mut stdin = std::io::stdin().lock();
    let most = u64::try_from(MAX_REQUEST / 2).unwrap_or(u64::MAX);
    loop {
        let mut line = Vec::new();
        let read = stdin.by_ref().take(most).read_until(b'\n', &mut line);
        let ends = read.is_err();
        let line = match read {
            Ok(0) => return,
            Ok(count) if u64::try_from(count).unwrap_or(0) == most && !line.ends_with(b"\n") => {
                let _ = sender.blocking_send(Err(format!("a line has more than {most} bytes")));
                return;
            }
            Ok(_) => String::from_utf8(line).map_err(|_| "a line is not UTF-8".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        if line.as_ref().is_ok_and(|line| line.trim().is_empty()) {
            continue;
        }
        if sender.blocking_send(line).is_err() || ends {
            return;
        }
    }
}
