//! `creel doctor --prove`: intended next to observed.

use std::path::PathBuf;

use tokio::signal::unix::{SignalKind, signal};

use super::Common;
use super::paint::Paint;
use super::print;
use crate::client::Sandbox;
use crate::config::{self, Config, Places};
use crate::doctor::prove::{self, Proof, Row, Verdict};
use crate::error::Failure;
use crate::policy::audit::shown;
use crate::shown::one_line;
use crate::state::StateDir;

/// True where nothing is open and nothing unknown.
pub(super) async fn run(
    common: &Common,
    agent: Option<&str>,
    session: Option<&str>,
    json: bool,
) -> Result<bool, Failure> {
    let var = |name: &str| std::env::var(name).ok();
    let state = StateDir::locate(var)?;
    let home = var("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let places = Places { home, state: state.root().to_owned() };
    let config = Config::load(&config::locate(common.config.as_deref(), &var, &state), &var)?;
    let subject = config.subject(agent, session)?;
    let keys = prove::keys(&config, &config.sandbox(&subject.agent, &places)?);
    let mut options = Sandbox::options().agent(subject.agent.as_str()).session(subject.session.as_str());
    if let Some(file) = &common.config {
        options = options.config(file);
    }
    if let Some(address) = &common.engine {
        options = options.engine(address);
    }
    let proof = prove::run(&options, keys, interrupted()).await?;
    if json {
        print::json(&proof);
    } else {
        show(&proof, Paint::of_stdout());
    }
    Ok(proof.sound)
}

/// Comes when somebody asks for an end; where signals cannot be listened to, never.
async fn interrupted() {
    let listen = |kind| signal(kind).ok();
    let all =
        (listen(SignalKind::interrupt()), listen(SignalKind::terminate()), listen(SignalKind::hangup()));
    match all {
        (Some(mut interrupt), Some(mut terminate), Some(mut hangup)) => {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
        }
        _ => std::future::pending().await,
    }
}

/// One line for each kind of attempt that held everywhere; every other attempt on a line of its own.
fn show(proof: &Proof, paint: Paint) {
    print::line(&format!("fresh sandbox of {}, user {}, now removed", proof.image, proof.user));
    for warning in &proof.warnings {
        print::line(&format!("note: {warning}"));
    }
    print::painted(&paint.heading(&format!("\n{:9} {:44} {:34} observed", "verdict", "attempt", "intended")));
    let mut rows = proof.attempts.as_slice();
    while let Some(first) = rows.first() {
        let same = |row: &&Row| {
            row.check == first.check && row.verdict == first.verdict && row.intended == first.intended
        };
        let count = rows.iter().take_while(same).count().max(1);
        let (group, rest) = rows.split_at_checked(count).unwrap_or((rows, &[]));
        if first.verdict == Verdict::Held && group.len() > 3 {
            line(first, &format!("{} ({} of them)", first.title, group.len()), paint, &told(group));
        } else {
            for row in group {
                line(row, format!("{} {}", row.title, shown(&row.subject)).trim_end(), paint, &row.observed);
            }
        }
        rows = rest;
    }
    let gaps: Vec<String> =
        proof.hardening.gaps().map(|gap| format!("{}: {}", gap.title(), gap.observed)).collect();
    if !gaps.is_empty() {
        print::line(&format!("\nread back from the kernel, not enforced: {}", gaps.join("; ")));
    }
    let count = |verdict| proof.attempts.iter().filter(|row| row.verdict == verdict).count();
    print::line(&format!(
        "\n{} attempts: {} held, {} allowed by the configuration, {} open, {} unknown",
        proof.attempts.len(),
        count(Verdict::Held),
        count(Verdict::Allowed),
        count(Verdict::Open),
        count(Verdict::Unknown),
    ));
}

/// What a group of attempts came to, each answer once.
fn told(group: &[Row]) -> String {
    let mut answers: Vec<&str> = Vec::new();
    for row in group {
        if !answers.contains(&row.observed.as_str()) {
            answers.push(&row.observed);
        }
    }
    match answers.as_slice() {
        [a, b, c, rest @ ..] if !rest.is_empty() => format!("{a}; {b}; {c}; …"),
        few => few.join("; "),
    }
}

fn line(row: &Row, attempt: &str, paint: Paint, observed: &str) {
    let word = format!("{:9}", row.verdict.as_str());
    let word = match row.verdict {
        Verdict::Held => paint.good(&word),
        Verdict::Allowed => paint.doubtful(&word),
        Verdict::Unknown | Verdict::Open => paint.bad(&word),
    };
    let (attempt, intended) = (one_line(attempt), one_line(&row.intended));
    print::painted(&format!("{word} {attempt:44} {intended:34} {}", shown(observed)));
    if row.verdict != Verdict::Held {
        print::line(&format!("{:9} rule: {}", "", row.rule));
    }
}
