//! `creel approvals watch`: a surface that stays. On a terminal it asks, one question after the other; else it prints a JSON
//! object on each line and takes answers as such.

use std::collections::VecDeque;
use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Instant;

use serde_json::{Value, json};

use super::desk::{Desk, read};
use super::question::{block, ended, keys, typed};
use super::typed::Lines;
use crate::approvals::desk::{Answered, Record};
use crate::cli::print;
use crate::error::{Failure, Report};
use crate::keeper::{Gone, News};
use crate::process::store::now_ms;

pub(super) async fn run(desk: &Desk, json: bool, reveal: bool) -> Result<ExitCode, Failure> {
    let asks = !json && std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let mut surface = Surface {
        desk,
        lines: Some(Lines::of_stdin()),
        asks,
        own: reveal || std::io::stdout().is_terminal(),
        waiting: VecDeque::new(),
        since: Instant::now(),
    };
    tokio::select! {
        done = surface.follow() => done?,
        () = crate::cli::interrupted() => {}
    }
    Ok(ExitCode::SUCCESS)
}

struct Surface<'a> {
    desk: &'a Desk,
    /// `None` once there are no more.
    lines: Option<Lines>,
    asks: bool,
    /// Nothing is redacted: what is printed is read on the operator's own terminal, or that is wanted.
    own: bool,
    waiting: VecDeque<Record>,
    /// When the question at the front was shown.
    since: Instant,
}

impl Surface<'_> {
    /// Follows one keeper after the other: the next one has other questions, or none.
    async fn follow(&mut self) -> Result<(), Failure> {
        loop {
            let connection = self.desk.keepers.connection().await?;
            let Ok(mut watch) = connection.ask("approvals.watch", json!({ "own": self.own })).await else {
                continue;
            };
            loop {
                tokio::select! {
                    news = watch.next() => match news {
                        Ok(News::Update(update)) => self.update(&update)?,
                        Ok(News::Done(Ok(_))) | Err(Gone) => break,
                        Ok(News::Done(Err(told))) => return Err(crate::keeper::KeeperError::Told(told).into()),
                    },
                    line = next(&mut self.lines, self.asks.then_some(self.since)) => match line {
                        Some(line) => self.line(&line).await?,
                        None => self.lines = None,
                    },
                }
            }
            self.lost();
        }
    }

    fn update(&mut self, update: &Value) -> Result<(), Failure> {
        if !self.asks {
            print::compact(update);
            return Ok(());
        }
        if let Some(record) = update.get("requested") {
            self.waiting.push_back(read(record.clone())?);
            if self.waiting.len() == 1 {
                self.show();
            }
        } else if let Some(record) = update.get("resolved") {
            self.resolved(&read(record.clone())?);
        } else {
            print::line("Questions are shown here as they come; Ctrl-C ends this, and decides nothing.");
        }
        Ok(())
    }

    fn resolved(&mut self, record: &Record) {
        let Some(at) = self.waiting.iter().position(|known| known.id == record.id) else { return };
        let _ = self.waiting.remove(at);
        print::line(&format!("\nApproval {}: {}", record.id, ended(record)));
        if at == 0 {
            self.show();
        }
    }

    fn lost(&mut self) {
        for record in std::mem::take(&mut self.waiting) {
            print::line(&format!("\nApproval {}: the keeper has ended, nothing of it runs", record.id));
        }
    }

    /// Shows the question at the front. What was typed before is no answer to it.
    fn show(&mut self) {
        let Some(record) = self.waiting.front() else { return };
        let _ = rustix::termios::tcflush(rustix::stdio::stdin(), rustix::termios::QueueSelector::IFlush);
        let more = self.waiting.len().saturating_sub(1);
        let more = if more == 0 { String::new() } else { format!("({more} more wait)\n") };
        print::put(&format!("\n{}\n{more}{}", block(record, now_ms()), keys(record)));
        self.since = Instant::now();
    }

    async fn line(&mut self, line: &str) -> Result<(), Failure> {
        if !self.asks {
            return self.sent(line).await;
        }
        let Some(record) = self.waiting.front() else { return Ok(()) };
        let Some(decision) = typed(line, record) else {
            print::put(&keys(record));
            return Ok(());
        };
        let params = json!({ "id": record.id, "decision": decision.word(), "by": "watch" });
        // What it comes to is shown when the question ends; somebody else may have been first.
        if let Err(failure) = self.desk.ask("approvals.resolve", params).await {
            print::failure(&failure, false);
        }
        Ok(())
    }

    /// `{"id", "decision"}` from a program; answered with `{"answered": …}` or `{"error": …}`.
    async fn sent(&mut self, line: &str) -> Result<(), Failure> {
        if line.trim().is_empty() {
            return Ok(());
        }
        let answer = match serde_json::from_str::<Value>(line) {
            Ok(mut params) => {
                if let Some(map) = params.as_object_mut() {
                    map.insert("by".to_owned(), "watch".into());
                }
                self.desk.ask("approvals.resolve", params).await
            }
            Err(error) => Err(Failure(Report {
                code: "CRL-CLI-036",
                message: format!("a line of standard input is no answer: {error}"),
                rule: Some("built-in: an answer is a JSON object on one line".to_owned()),
                fix: "send {\"id\": \"…\", \"decision\": \"allow-once\"}".to_owned(),
            })),
        };
        match answer {
            Ok(answered) => {
                let Answered { applied, approval } = read(answered)?;
                print::compact(
                    &json!({ "answered": { "id": approval.id, "applied": applied, "decision": approval.decision } }),
                );
            }
            Err(failure) => print::compact(&json!({ "error": failure.0 })),
        }
        Ok(())
    }
}

async fn next(lines: &mut Option<Lines>, since: Option<Instant>) -> Option<String> {
    match (lines, since) {
        (Some(lines), Some(since)) => lines.typed(since).await,
        (Some(lines), None) => lines.next().await,
        (None, _) => std::future::pending().await,
    }
}
