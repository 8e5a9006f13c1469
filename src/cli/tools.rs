//! `creel tools`: which tools a session has, and what took the others away.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::print;
use crate::config::{self, Config, Mode, Places, Subject};
use crate::error::Failure;
use crate::policy::{Caller, Judged, Policy, Removal, Sifted, Tool, changes};
use crate::session::{AgentId, SessionKey};
use crate::state::StateDir;

/// The tools of a session.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

/// What to do.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Show which tools a session has. Nothing is started.
    List(List),
}

/// `creel tools list`.
#[derive(Debug, clap::Args)]
struct List {
    /// Session key; the agent's main session otherwise.
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
    /// Agent; the configured default otherwise.
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Provider of the model, for `tools.byProvider`.
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Model, alone or as `provider/model`.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Show for each tool that is not there every rule that removes it, its key and place, and the changes that
    /// together bring it back.
    #[arg(long)]
    why: bool,
    /// Print JSON; it always holds the reasons.
    #[arg(long)]
    json: bool,
    /// Configuration file instead of `openclaw.json` in the state directory.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Runs the subcommand.
pub fn run(args: Args) -> ExitCode {
    let Action::List(list) = args.action;
    super::status(look(&list), list.json)
}

/// Everything that is printed.
struct View {
    config: Config,
    agent: AgentId,
    session: SessionKey,
    provider: Option<String>,
    model: Option<String>,
    mode: Mode,
    sandboxed: bool,
    policy: Policy,
    tools: Vec<Tool>,
    sifted: Sifted,
}

fn look(args: &List) -> Result<(), Failure> {
    let view = View::read(args)?;
    if args.json {
        print::json(&view.json());
    } else {
        view.table(args.why);
    }
    Ok(())
}

impl View {
    fn read(args: &List) -> Result<Self, Failure> {
        let var = |name: &str| std::env::var(name).ok();
        let state = StateDir::locate(var)?;
        let config = Config::load(&config::locate(args.config.as_deref(), &var, &state), &var)?;
        let Subject { agent, session, is_main, .. } =
            config.subject(args.agent.as_deref(), args.session.as_deref())?;
        let home = var("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let places = Places { home, state: state.root().to_owned() };
        let mode = config.sandbox(&agent, &places)?.mode;
        let sandboxed = mode.sandboxes(is_main);
        let (provider, model) = model(args.provider.as_deref(), args.model.as_deref());
        let caller =
            Caller { provider: provider.as_deref(), model: model.as_deref(), sandboxed, ..Caller::default() };
        let policy = config.tool_policy(&agent, &caller);
        let tools = config.known_tools();
        let sifted = policy.sift(&tools);
        Ok(Self { config, agent, session, provider, model, mode, sandboxed, policy, tools, sifted })
    }

    /// Where a key stands; `None` for what is built in.
    fn place(&self, key: &str) -> Option<String> {
        self.config.origin(key).map(|at| format!("{}:{}:{}", at.file.display(), at.line, at.column))
    }

    fn json(&self) -> Value {
        let unknown: Vec<Value> =
            self.unknown().map(|(text, key)| json!({ "entry": text, "key": key })).collect();
        let mut view = json!({
            "agentId": self.agent,
            "sessionKey": self.session.as_str(),
            "sandboxMode": self.mode,
            "sessionIsSandboxed": self.sandboxed,
            "steps": self.policy.steps().iter().map(|step| step.label().to_owned()).collect::<Vec<_>>(),
            "tools": self.sifted.tools.iter().map(|judged| self.tool(judged)).collect::<Vec<_>>(),
            "unknownEntries": unknown,
        });
        if let Some(map) = view.as_object_mut() {
            let mut put = |name: &str, value: &Option<String>| {
                if let Some(value) = value {
                    map.insert(name.to_owned(), json!(value));
                }
            };
            put("provider", &self.provider);
            put("model", &self.model);
        }
        view
    }

    fn tool(&self, judged: &Judged) -> Value {
        let mut map = Map::new();
        map.insert("name".to_owned(), json!(judged.tool.shown()));
        map.insert("verdict".to_owned(), json!(judged.verdict()));
        if let Some(owner) = judged.tool.owner() {
            map.insert("plugin".to_owned(), json!(owner));
        }
        if let Some(key) = self.limit(judged) {
            map.insert("limit".to_owned(), json!({ "to": "update", "key": key }));
        }
        let removals = self.policy.removals(&judged.tool);
        if let Some(first) = removals.first() {
            map.insert("removal".to_owned(), self.row(first));
            let rows: Vec<Value> = removals.iter().map(|removal| self.row(removal)).collect();
            map.insert("removals".to_owned(), json!(rows));
            map.insert("changes".to_owned(), json!(changes(&removals)));
        }
        Value::Object(map)
    }

    fn row(&self, removal: &Removal) -> Value {
        let mut row = json!(removal);
        if let (Some(row), Some(place)) = (row.as_object_mut(), self.place(&removal.key)) {
            row.insert("place".to_owned(), json!(place));
        }
        row
    }

    /// The key that leaves `gateway` only its updates.
    fn limit(&self, judged: &Judged) -> Option<&str> {
        self.policy
            .gateway_limited_by()
            .filter(|_| judged.tool.name() == "gateway" && judged.removal.is_none())
    }

    /// Entries of configured allow lists that name nothing known here. An MCP server's tools are not known before it
    /// runs.
    fn unknown(&self) -> impl Iterator<Item = (&str, &str)> {
        self.policy
            .unknown(&self.tools)
            .filter(|entry| !entry.text.contains("__"))
            .map(|entry| (entry.text.as_str(), entry.key.as_str()))
    }

    fn table(&self, why: bool) {
        let place = if self.sandboxed { "in a sandbox" } else { "on the host" };
        let mode = json!(self.mode);
        let mode = mode.as_str().unwrap_or_default();
        print::line(&format!("agent {}, session {}, {place} (mode {mode})", self.agent, self.session));
        let width = self.tools.iter().map(|tool| tool.shown().chars().count()).max().unwrap_or(0);
        for judged in &self.sifted.tools {
            let name = judged.tool.shown();
            let word = match (&judged.removal, self.limit(judged)) {
                (None, None) => "yes".to_owned(),
                (None, Some(key)) => format!("yes  update only ({key})"),
                (Some(_), _) if why => self.reasons(judged).join(&format!("\n  {:width$}       ", "")),
                (Some(removal), _) => format!("no   {}", self.by(removal)),
            };
            print::line(&format!("  {name:width$}  {word}"));
        }
        let allowed = self.sifted.allowed().count();
        print::line(&format!("{allowed} of {} tools", self.tools.len()));
        if self.sifted.nothing_left() {
            print::line("No tool is left: a run would stop before the model is asked.");
        }
        for (text, key) in self.unknown() {
            print::line(&format!("note: {text:?} ({key}) names no tool that is known here"));
        }
    }

    /// The key that decided, in a few words.
    fn by(&self, removal: &Removal) -> String {
        let verb = if removal.matched.is_some() { "denied by" } else { "not in" };
        let built_in = if self.place(&removal.key).is_some() { "" } else { " (built in)" };
        format!("{verb} {}{built_in}", removal.key)
    }

    /// Every rule on a line of its own, then what brings the tool back.
    fn reasons(&self, judged: &Judged) -> Vec<String> {
        let removals = self.policy.removals(&judged.tool);
        let one = |(at, removal): (usize, &Removal)| {
            let place = self.place(&removal.key).unwrap_or_else(|| "built in".to_owned());
            let matched = removal.matched.as_ref().map(|text| format!(" {text:?}")).unwrap_or_default();
            let verb = if removal.matched.is_some() { "denied by" } else { "not in" };
            let word = if at == 0 { "no   " } else { "" };
            format!("{word}{}: {verb} {}{matched} ({place})", removal.rule(), removal.key)
        };
        let changes = changes(&removals).join("; ");
        let mut lines: Vec<String> = removals.iter().enumerate().map(one).collect();
        lines.push(format!("change: {changes}"));
        lines
    }
}

/// `provider/model` names both; beside a provider its repetition is dropped.
fn model(provider: Option<&str>, model: Option<&str>) -> (Option<String>, Option<String>) {
    let split = model.and_then(|model| model.split_once('/'));
    let (provider, model) = match (provider, split) {
        (None, Some((provider, model))) => (Some(provider), Some(model)),
        (Some(provider), Some((head, model))) if head.trim().eq_ignore_ascii_case(provider.trim()) => {
            (Some(provider), Some(model))
        }
        _ => (provider, model),
    };
    (provider.map(str::to_owned), model.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::model;

    #[test]
    fn providers_and_models() {
        let both = |provider: &str, name: &str| (Some(provider.to_owned()), Some(name.to_owned()));
        assert_eq!(model(None, Some("openai/gpt-5")), both("openai", "gpt-5"));
        assert_eq!(model(Some("OpenAI"), Some("openai/gpt-5")), both("OpenAI", "gpt-5"));
        assert_eq!(model(Some("router"), Some("openai/gpt-5")), both("router", "openai/gpt-5"));
        assert_eq!(model(None, Some("gpt-5")), (None, Some("gpt-5".to_owned())));
    }
}
