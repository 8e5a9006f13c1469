//! `creel events`: what happened that a conversation should hear of.

use serde_json::{Value, json};

use super::print;
use crate::error::Failure;
use crate::keeper::{Gone, KeeperError, Keepers, News, Repeat, own_program};
use crate::shown;
use crate::state::StateDir;

/// Which events, and for how long.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Wait for more.
    #[arg(long, short)]
    follow: bool,
    /// Only events after this number.
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    since: u64,
    /// Only those of one conversation, by its session key.
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
    /// Mark what was printed as delivered: nobody is told of it again.
    #[arg(long)]
    ack: bool,
    /// Print a JSON object on each line.
    #[arg(long)]
    json: bool,
}

impl Args {
    /// The caller reads JSON.
    pub(super) fn json(&self) -> bool {
        self.json
    }
}

/// Prints what there is; with `--follow` until a signal.
pub async fn run(args: Args) -> Result<(), Failure> {
    let state = StateDir::locate(|name| std::env::var(name).ok())?;
    let keepers = Keepers::new(&state, &own_program()?);
    tokio::select! {
        done = follow(&keepers, &args) => Ok(done?),
        () = super::interrupted(), if args.follow => Ok(()),
    }
}

async fn follow(keepers: &Keepers, args: &Args) -> Result<(), KeeperError> {
    let mut since = args.since;
    let mut acked = Vec::new();
    'keepers: loop {
        let connection = keepers.connection().await?;
        let params = json!({ "since": since, "session": args.session, "follow": args.follow });
        let Ok(mut pending) = connection.ask("events.subscribe", params).await else { continue };
        loop {
            match pending.next().await {
                Ok(News::Update(update)) => {
                    let Some(event) = update.get("event") else { continue };
                    let seq = event.get("seq").and_then(Value::as_u64).unwrap_or(since);
                    since = since.max(seq);
                    show(event, args.json);
                    if args.ack {
                        acked.push(seq);
                    }
                    if args.follow && args.ack {
                        // Its answer is not waited for: it would come behind events that nobody takes meanwhile.
                        let _ = connection.ask("events.ack", json!({ "seqs": [seq] })).await;
                    }
                }
                Ok(News::Done(Ok(_))) => break 'keepers,
                Ok(News::Done(Err(told))) => return Err(KeeperError::Told(told)),
                // The next keeper knows the same events.
                Err(Gone) => break,
            }
        }
    }
    if !acked.is_empty() {
        keepers.request("events.ack", json!({ "seqs": acked }), Repeat::Safe).await?;
    }
    Ok(())
}

fn show(event: &Value, json: bool) {
    if json {
        return print::compact(event);
    }
    let text = |name: &str| event.get(name).and_then(Value::as_str).map(shown::one_line).unwrap_or_default();
    let seq = event.get("seq").and_then(Value::as_u64).unwrap_or_default();
    // The text may have lines of its own; they are indented, so that none passes for an event.
    let said = event.get("text").and_then(Value::as_str).unwrap_or_default();
    let said = shown::lines(said).replace('\n', "\n    ");
    print::line(&format!("{seq} {} {}\n    {said}", text("sessionKey"), text("kind")));
}
