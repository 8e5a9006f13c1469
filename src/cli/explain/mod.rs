//! `creel explain`: one concrete decision, with every layer that had a say. Nothing is started, asked or changed.

mod text;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;

use super::paint::Paint;
use super::print;
use crate::client::Sandbox;
use crate::error::{EXIT_CREEL, Failure, Report};
use crate::policy::{Level, Verdict};
use crate::tools::context::{Context, SenderId};
use crate::tools::exec::explain::{Asked, Explainer};

/// A person has to decide.
pub(super) const EXIT_ASK: u8 = 3;
/// It is refused.
pub(super) const EXIT_DENY: u8 = 4;

/// One decision.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

/// What is asked about.
#[derive(Debug, Subcommand)]
enum Action {
    /// Say what would become of a command, and why: every layer in its order, the rule that decides with file and key, what
    /// would be started, and the smallest change that gives another verdict.
    ///
    /// The exit status is 0 where it may run, 3 where a person decides, 4 where it may not, 125 when creel failed.
    Exec(Box<Exec>),
}

/// `creel explain exec`.
#[derive(Debug, clap::Args)]
struct Exec {
    /// Session key; the agent's main session otherwise.
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
    /// Agent; the configured default otherwise.
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Host that the call names: auto, sandbox, gateway, node.
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Ask that the call names: off, on-miss, always.
    #[arg(long, value_name = "WHEN")]
    ask: Option<String>,
    /// Level of elevated in the message: off, on, ask, full.
    #[arg(long, value_name = "LEVEL")]
    elevated: Option<String>,
    /// Channel of the message that started the run.
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Id of the message's sender in the channel.
    #[arg(long, value_name = "ID")]
    sender: Option<String>,
    /// Directory that the call names.
    #[arg(long, value_name = "PATH")]
    workdir: Option<String>,
    /// Variable that the call sets; may be repeated.
    #[arg(long = "env", value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// PATH in which programs are looked for, instead of the one that commands on this machine get.
    #[arg(long, value_name = "DIRS")]
    path: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Configuration file instead of `openclaw.json` in the state directory.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Approvals document instead of the machine's.
    #[arg(long, value_name = "FILE")]
    approvals: Option<PathBuf>,
    /// The shell text.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: String,
}

/// Runs the subcommand.
pub async fn run(args: Args) -> ExitCode {
    let Action::Exec(args) = args.action;
    match exec(&args).await {
        Ok(verdict) => ExitCode::from(code(verdict)),
        Err(failure) => {
            print::failure(&failure, args.json);
            ExitCode::from(EXIT_CREEL)
        }
    }
}

/// The exit code of a verdict.
pub(super) const fn code(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Allow => 0,
        Verdict::Ask => EXIT_ASK,
        Verdict::Deny => EXIT_DENY,
    }
}

async fn exec(args: &Exec) -> Result<Verdict, Failure> {
    let mut base = Sandbox::options();
    if let Some(file) = &args.config {
        base = base.config(file);
    }
    let explainer = Explainer::read(&base, args.approvals.as_deref())?;
    let explained = explainer.explain(&args.asked()?).await?;
    if args.json {
        print::json(&explained);
    } else {
        print::exactly(&text::text(&explained, Paint::of_stdout()));
    }
    Ok(explained.verdict)
}

impl Exec {
    fn asked(&self) -> Result<Asked, Failure> {
        let level = self.elevated.as_deref().map(level).transpose()?;
        Ok(Asked {
            context: Context {
                agent: self.agent.clone(),
                session: self.session.clone(),
                channel: self.channel.clone(),
                sender: self.sender.as_ref().map(|id| SenderId {
                    id: Some(id.clone()),
                    authorized: true,
                    ..SenderId::default()
                }),
                elevated: self.elevated.clone(),
                ..Context::default()
            },
            command: self.command.clone(),
            host: self.host.clone(),
            ask: self.ask.clone(),
            // A level that is meant has to be refused aloud where its gates are closed.
            elevated: level.map(|level| level != Level::Off),
            workdir: self.workdir.clone(),
            env: self.env.iter().map(|text| variable(text)).collect::<Result<_, _>>()?,
            path: self.path.clone(),
        })
    }
}

fn level(word: &str) -> Result<Level, Failure> {
    let unknown = || {
        wrong(
            format!("{:?} is no level of elevated", crate::shown::one_line(word)),
            "--elevated",
            "write off, on, ask or full",
        )
    };
    Level::parse(word).ok_or_else(unknown)
}

fn variable(text: &str) -> Result<(String, String), Failure> {
    let unnamed = || {
        wrong(
            format!(
                "--env {:?} is not NAME=VALUE",
                crate::shown::one_line(text.split('=').next().unwrap_or_default())
            ),
            "--env NAME=VALUE",
            "write the name, = and the value",
        )
    };
    let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(unnamed)?;
    Ok((name.to_owned(), value.to_owned()))
}

fn wrong(message: String, rule: &str, fix: &str) -> Failure {
    Failure(Report { code: "CRL-CLI-011", message, rule: Some(rule.to_owned()), fix: fix.to_owned() })
}
