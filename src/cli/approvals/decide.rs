//! `creel approvals approve`, `deny` and `resolve`.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

use super::desk::{Desk, read};
use super::question::ended;
use crate::approvals::desk::{Answered, DAY_MS, MAX_DAYS, Terms};
use crate::approvals::policy::Decision;
use crate::cli::print;
use crate::error::{Failure, Report};
use crate::process::store::now_ms;
use crate::shown::one_line;

/// How long the outcome of "always" is waited for.
const OUTCOME: Duration = Duration::from_secs(3);

/// What is approved.
#[derive(Debug, clap::Args)]
pub(super) struct Approve {
    /// Its id, or the beginning of it.
    id: String,
    /// Allow it from now on: the same arguments in the same directory.
    #[arg(long)]
    always: bool,
    /// As --always, and it ends after this time: 90s, 30m, 2h, 7d.
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    lasts: Option<Duration>,
    /// As --always, for so many runs; the one that waits is the first.
    #[arg(long, value_name = "RUNS", value_parser = clap::value_parser!(u32).range(1..))]
    uses: Option<u32>,
    /// As --always, whatever the arguments, in and below this directory.
    #[arg(long, value_name = "DIR")]
    dir: Option<String>,
}

/// What is denied.
#[derive(Debug, clap::Args)]
pub(super) struct Deny {
    /// Its id, or the beginning of it.
    id: String,
    /// Why, for whoever reads the output of this command; it is not sent anywhere.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// What is decided, by its word.
#[derive(Debug, clap::Args)]
pub(super) struct Resolve {
    /// Its id, or the beginning of it.
    id: String,
    /// What is decided.
    #[arg(value_parser = ["allow-once", "allow-always", "deny"])]
    decision: String,
    /// Why, for whoever reads the output of this command; it is not sent anywhere.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// With allow-always: it ends after so many days.
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_DAYS)))]
    expires_in_days: Option<u32>,
}

pub(super) async fn approve(desk: &Desk, args: Approve, json: bool) -> Result<ExitCode, Failure> {
    let expires_at_ms =
        args.lasts.map(|time| now_ms().saturating_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)));
    let directory = args.dir.as_deref().map(directory).transpose()?;
    let terms = Terms { expires_at_ms, uses: args.uses, directory };
    let lasting = args.always || !terms.is_empty();
    let decision = if lasting { Decision::AllowAlways } else { Decision::AllowOnce };
    decide(desk, &args.id, decision, &terms, None, json).await
}

pub(super) async fn deny(desk: &Desk, args: Deny, json: bool) -> Result<ExitCode, Failure> {
    decide(desk, &args.id, Decision::Deny, &Terms::default(), args.reason.as_deref(), json).await
}

pub(super) async fn resolve(desk: &Desk, args: Resolve, json: bool) -> Result<ExitCode, Failure> {
    let decision = Decision::parse(&args.decision).unwrap_or(Decision::Deny);
    let expires_at_ms =
        args.expires_in_days.map(|days| now_ms().saturating_add(u64::from(days).saturating_mul(DAY_MS)));
    let terms = Terms { expires_at_ms, ..Terms::default() };
    decide(desk, &args.id, decision, &terms, args.reason.as_deref(), json).await
}

/// Decides. The exit status is 0 when that holds now, whoever decided it first; 1 when it does not (16.03).
async fn decide(
    desk: &Desk,
    id: &str,
    decision: Decision,
    terms: &Terms,
    reason: Option<&str>,
    json: bool,
) -> Result<ExitCode, Failure> {
    let answered = match answer(desk, id, decision, terms).await {
        Ok(answered) => answered,
        // The question stands as it stood: that is no failure of creel.
        Err(failure) if failure.0.code.starts_with("CRL-DESK-") => {
            print::failure(&failure, json);
            return Ok(ExitCode::FAILURE);
        }
        Err(failure) => return Err(failure),
    };
    let Answered { applied, approval } = &answered;
    if let Some(failure) = not_started(desk, decision, &answered).await? {
        print::failure(&failure, json);
        return Ok(ExitCode::FAILURE);
    }
    if json {
        let mut told = json!({ "applied": applied, "approval": approval, "alreadyResolved": !applied });
        if let (Some(map), Some(reason)) = (told.as_object_mut(), reason) {
            map.insert("cliReason".to_owned(), reason.into());
        }
        print::compact(&told);
        return Ok(ExitCode::SUCCESS);
    }
    let what = format!("{}: {}", approval.id, one_line(&approval.command_text));
    print::line(&match (applied, &approval.grant_id) {
        (true, Some(grant)) => format!("{}, grant {grant}: {what}", ended(approval)),
        (true, None) => format!("{}: {what}", ended(approval)),
        (false, _) => format!("already resolved (same decision): {what}"),
    });
    Ok(ExitCode::SUCCESS)
}

/// Why nothing was remembered and nothing ran after "always": what it writes may fail behind the answer. Waited for is not long;
/// a run that is not started by then is told to its conversation.
async fn not_started(
    desk: &Desk,
    decision: Decision,
    answered: &Answered,
) -> Result<Option<Failure>, Failure> {
    let Answered { applied, approval } = answered;
    let writes = *applied && decision == Decision::AllowAlways && approval.grant_id.is_none();
    if !writes || approval.always.is_empty() || approval.external {
        return Ok(None);
    }
    let until = std::time::Instant::now() + OUTCOME;
    while std::time::Instant::now() < until {
        let known = desk.record(&approval.id).await?;
        if let Some(outcome) = known.outcome {
            let failed = outcome.strip_prefix("not-started: ").map(|why| {
                Failure(Report {
                    code: "CRL-CLI-038",
                    message: format!(
                        "approval {} was taken, and nothing ran: {}",
                        approval.id,
                        one_line(why)
                    ),
                    rule: Some("built-in: what cannot be written down is not allowed".to_owned()),
                    fix: "mend what is said, and let the command be asked for again".to_owned(),
                })
            });
            return Ok(failed);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(None)
}

async fn answer(desk: &Desk, id: &str, decision: Decision, terms: &Terms) -> Result<Answered, Failure> {
    let record = desk.record(id).await?;
    let mut params = json!({ "id": record.id, "decision": decision.word(), "by": "cli" });
    if let (Some(map), false) = (params.as_object_mut(), terms.is_empty()) {
        map.insert("terms".to_owned(), json!(terms));
    }
    read(desk.ask("approvals.resolve", params).await?)
}

/// `90s`, `30m`, `2h`, `7d`.
fn time(text: &str) -> Result<Duration, String> {
    let wrong = || "a time is a whole number with s, m, h or d behind it, as in 30m".to_owned();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let whole = number.checked_mul(seconds).filter(|seconds| *seconds > 0).ok_or_else(wrong)?;
    let most = u64::from(MAX_DAYS) * 86_400;
    if whole > most { Err(format!("at most {MAX_DAYS}d")) } else { Ok(Duration::from_secs(whole)) }
}

/// The directory as commands see it: there, and without links on the way.
fn directory(text: &str) -> Result<String, Failure> {
    let refused = |why: &str| {
        Failure(Report {
            code: "CRL-CLI-035",
            message: format!("{:?} cannot be the directory of a grant: {why}", one_line(text)),
            rule: Some("--dir".to_owned()),
            fix: "name a directory that is there".to_owned(),
        })
    };
    let held = crate::paths::host_dir(Some(text), None, &std::env::current_dir().unwrap_or_default())
        .map_err(|error| refused(&error.to_string()))?;
    held.path().to_str().map(str::to_owned).ok_or_else(|| refused("its path is not text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_exactly() {
        assert_eq!(time("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(time("2h"), Ok(Duration::from_hours(2)));
        assert_eq!(time("3650d"), Ok(Duration::from_hours(3650 * 24)));
        for wrong in ["", "h", "2", "2w", "0s", "-1h", "1.5h", "3651d", "ä", "2ä", "99999999999999999999d"]
        {
            assert!(time(wrong).is_err(), "{wrong:?}");
        }
    }
}
