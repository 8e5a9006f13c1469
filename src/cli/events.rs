//! `creel events`: what happened that a conversation should hear of.

use serde_json::{Value, json};

use super::print;
use crate::config::Config;
use crate::error::Failure;
use crate::keeper::{Gone, KeeperError, Keepers, News, Repeat, own_program};
use crate::session::{AgentId, SessionKey};
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
    /// Only those of one conversation: its session key, or its name in the agent.
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
    /// Agent of a key that names none, instead of the configured default.
    #[arg(long, value_name = "ID", requires = "session")]
    agent: Option<String>,
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
pub async fn run(mut args: Args) -> Result<(), Failure> {
    let state = StateDir::locate(|name| std::env::var(name).ok())?;
    args.session = args
        .session
        .map(|key| conversation(&super::configuration(&state)?, args.agent.as_deref(), &key))
        .transpose()?;
    let keepers = Keepers::new(&state, &own_program()?);
    tokio::select! {
        done = follow(&keepers, &args) => Ok(done?),
        () = super::interrupted(), if args.follow => Ok(()),
    }
}

/// The key as events carry it. One of an agent that is gone is taken as it is: its events may still wait.
fn conversation(config: &Config, agent: Option<&str>, key: &str) -> Result<String, Failure> {
    let fallback = agent.map(AgentId::parse).transpose()?.unwrap_or_else(|| config.default_agent());
    Ok(SessionKey::parse(key, &fallback)?.as_str().to_owned())
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
    let about = event.pointer("/context/key").and_then(Value::as_str).map(shown::one_line);
    let about = about.map(|key| format!(" {key}")).unwrap_or_default();
    print::line(&format!("{seq} {} {}{about}\n    {said}", text("sessionKey"), text("kind")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_named_as_sessions_are() {
        let text = "{agents: {list: [{id: 'ops', default: true}, {id: 'web'}]}}";
        let config = Config::parse(text, std::path::Path::new("/c.json"), &|_| None).unwrap();
        let key = |agent, key| conversation(&config, agent, key).unwrap();
        assert_eq!(key(None, "Work"), "agent:ops:work");
        assert_eq!(key(Some("web"), "work"), "agent:web:work");
        assert_eq!(key(None, "AGENT:Web:Main"), "agent:web:main");
        assert_eq!(key(None, "agent:gone:main"), "agent:gone:main", "its events may still wait");
    }
}
