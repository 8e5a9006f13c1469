//! `creel exec-policy`: the policy of commands on this machine, shown and set on both sides at once.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{approvals, print};
use crate::approvals::exec_policy::{Preset, Values, Wanted};
use crate::approvals::overview::{holds, overview};
use crate::approvals::policy::{Layers, Requested, words};
use crate::approvals::store::{self, StoreError};
use crate::config::exec::{Ask, ExecHost, Security};
use crate::config::{self, Config, Located, Places};
use crate::error::{Failure, Report};
use crate::explain;
use crate::state::StateDir;

/// The policy of commands on this machine.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
    /// Configuration file instead of `openclaw.json` in the state directory.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print JSON, on one line.
    #[arg(long, global = true)]
    json: bool,
}

/// What to do.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Show what is requested, what the document says, and what holds.
    Show,
    /// Set values; those that are not named stay.
    Set(Box<Set>),
    /// Set a policy by its name.
    Preset {
        /// yolo: everything runs; cautious: what is listed runs, the rest is asked; deny-all: nothing runs.
        #[arg(value_parser = preset)]
        name: Preset,
    },
}

/// The values.
#[derive(Debug, clap::Args)]
#[group(id = "values", required = true, multiple = true)]
struct Set {
    /// Where commands run: auto, sandbox, gateway.
    #[arg(long, value_name = "HOST", value_parser = host)]
    host: Option<ExecHost>,
    /// deny, allowlist, full.
    #[arg(long, value_name = "SECURITY", value_parser = security)]
    security: Option<Security>,
    /// off, on-miss, always.
    #[arg(long, value_name = "ASK", value_parser = ask)]
    ask: Option<Ask>,
    /// What holds where nobody can be asked: deny, allowlist, full.
    #[arg(long, value_name = "SECURITY", value_parser = security)]
    ask_fallback: Option<Security>,
}

fn host(text: &str) -> Result<ExecHost, String> {
    words::target(text).ok_or_else(|| "write auto, sandbox or gateway".to_owned())
}

fn security(text: &str) -> Result<Security, String> {
    words::security(text).ok_or_else(|| "write deny, allowlist or full".to_owned())
}

fn ask(text: &str) -> Result<Ask, String> {
    words::ask(text).ok_or_else(|| "write off, on-miss or always".to_owned())
}

fn preset(text: &str) -> Result<Preset, String> {
    let all = [Preset::Yolo, Preset::Cautious, Preset::DenyAll];
    let found = all.into_iter().find(|preset| text.trim().eq_ignore_ascii_case(preset.name()));
    found.ok_or_else(|| "write yolo, cautious or deny-all".to_owned())
}

impl Args {
    /// The caller reads JSON.
    pub(super) fn json(&self) -> bool {
        self.json
    }
}

fn var(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Both sides.
struct Sides {
    state: StateDir,
    located: Located,
    places: Places,
}

/// Shows or sets.
pub fn run(args: &Args) -> Result<(), Failure> {
    let state = StateDir::locate(var)?;
    let home = var("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let places = Places { home, state: state.root().to_owned() };
    let located = config::locate(args.config.as_deref(), &var, &state);
    let sides = Sides { state, located, places };
    let (name, done) = match &args.action {
        Action::Show => (None, None),
        Action::Preset { name } => {
            sides.apply(name.wanted())?;
            (Some("preset"), Some(Value::from(name.name())))
        }
        Action::Set(set) => {
            let Set { host, security, ask, ask_fallback } = **set;
            let wanted = Wanted { host, security, ask, ask_fallback };
            sides.apply(wanted)?;
            (Some("applied"), serde_json::to_value(wanted).ok())
        }
    };
    sides.show(args.json, name.zip(done))
}

impl Sides {
    fn config(&self) -> Result<Config, Failure> {
        Ok(Config::load(&self.located, &var)?)
    }

    /// The document first: a policy that holds on one side only is then no looser than either (spec `approvals.md` 16.12).
    fn apply(&self, wanted: Wanted) -> Result<(), Failure> {
        let config = self.config()?;
        let (global, _) = config.exec_layers(&config.default_agent());
        let now = Requested::of(&Layers { global: Some(global), ..Layers::default() }, false);
        if let Some(rule) = node_rule(&config, wanted) {
            return Err(node(rule));
        }
        let before = store::edit(&self.state, |document| Ok::<_, StoreError>(wanted.write(document)))?;
        let what = "setting the exec policy";
        let judge = |before: &str, after: &str| {
            let file = &self.located.path;
            explain::no_worse((before, after), ("tools.exec", what), file, &self.places, &var).map(|_| ())
        };
        let change = |text: &str| wanted.configure(text, &now);
        match config::store::update(&self.located, &self.state, judge, change) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.taken_back(wanted, before, error.into())),
        }
    }

    /// The failure of the configuration, and what became of the document.
    fn taken_back(&self, wanted: Wanted, before: Values, failure: Failure) -> Failure {
        let back = store::edit(&self.state, |document| {
            wanted.take_back(document, before);
            Ok::<_, StoreError>(())
        });
        let what = match back {
            Ok(()) => "the approvals document is as it was, but for what would have loosened it".to_owned(),
            Err(error) => format!("the approvals document has the new values: {error}"),
        };
        Failure(Report { message: format!("{}; {what}", failure.0.message), ..failure.0 })
    }

    fn show(&self, as_json: bool, done: Option<(&'static str, Value)>) -> Result<(), Failure> {
        let (config, local) = (self.config()?, store::read(&self.state));
        let found = overview(&config, &local);
        if as_json {
            let mut shown = json!({
                "configPath": self.located.path,
                "approvalsPath": local.path,
                "approvalsExists": local.exists(),
                "effectivePolicy": found,
            });
            if let (Some((name, value)), Some(map)) = (done, shown.as_object_mut()) {
                map.insert(name.to_owned(), value);
            }
            print::compact(&shown);
            return Ok(());
        }
        if done.is_some() {
            let policy = holds(&config, &local, None).policy();
            let mode = serde_json::to_value(policy.mode()).unwrap_or_default();
            print::line(&format!("written; mode {} holds now", mode.as_str().unwrap_or_default()));
        }
        print::line(&format!("configuration  {}", self.located.path.display()));
        print::line(&format!("approvals      {}", local.locator()));
        for problem in local.problems() {
            print::line(&format!("problem: {problem}"));
        }
        approvals::policy(&found);
        Ok(())
    }
}

/// What sends commands to a node, where anything does: a word of the call, or the key of the whole or of an agent.
/// Another `--host` does not help: an agent's own key would hold on, and which of both was meant is not known.
fn node_rule(config: &Config, wanted: Wanted) -> Option<String> {
    if wanted.host == Some(ExecHost::Node) {
        return Some("--host".to_owned());
    }
    let default = config.default_agent();
    let (global, _) = config.exec_layers(&default);
    let whole = Layers { global: Some(global), ..Layers::default() };
    let agents =
        config.agents().iter().map(|agent| Layers { agent: config.exec_layers(&agent.id).1, ..whole });
    let hosts = std::iter::once(whole).chain(agents).map(|layers| Requested::of(&layers, false).host);
    hosts.into_iter().find(|host| host.value == ExecHost::Node).map(|host| host.source.to_string())
}

/// The document of this machine does not decide about another one.
fn node(rule: String) -> Failure {
    let fix = if rule == "--host" {
        "name another host; a node's policy is set on the node".to_owned()
    } else {
        format!("creel config set {rule} gateway first, or set the policy on the node")
    };
    Failure(Report {
        code: "CRL-CLI-024",
        message: "commands would run on a node, where the approvals of this machine do not decide".to_owned(),
        rule: Some(rule),
        fix,
    })
}
