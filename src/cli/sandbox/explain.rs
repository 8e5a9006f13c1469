//! `creel sandbox explain`: the answer as JSON, or as text that a tired person can read.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::cli::Common;
use crate::cli::paint::Paint;
use crate::cli::print;
use crate::client::Sandbox;
use crate::config::{self, Config, Mode, Places};
use crate::engine::Discovery;
use crate::error::{Failure, Report};
use crate::explain::{self, At, ContainerState, ExecTool, Explanation, Live};
use crate::sandbox::Verdict;
use crate::shown::{lines, one_line};
use crate::state::StateDir;

/// Whose sandbox.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Session key or name; by default the agent's main session.
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
    /// Agent; by default the session's own, else the configured default.
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
}

/// Runs the subcommand.
pub(super) async fn run(args: Args, common: &Common, json: bool) -> Result<(), Failure> {
    let var = |name: &str| std::env::var(name).ok();
    let state = StateDir::locate(var)?;
    let home = var("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let places = Places { home, state: state.root().to_owned() };
    let config = Config::load(&config::locate(common.config.as_deref(), &var, &state), &var)?;
    let subject = config.subject(args.agent.as_deref(), args.session.as_deref())?;
    let mut options = Sandbox::options().agent(subject.agent.as_str()).session(subject.session.as_str());
    if let Some(file) = &common.config {
        options = options.config(file);
    }
    let discovery = Discovery::from_process(common.engine.clone());
    let live = explain::look(&options, &discovery).await;
    let explanation = explain::explain(&config, &places, &subject, live)?;
    if json {
        print::json(&explanation);
    } else {
        print::exactly(&text(&explanation, Paint::of_stdout()));
    }
    Ok(())
}

/// Upstream's labels in upstream's order, then what creel adds. Writing to a string cannot fail.
fn text(all: &Explanation, paint: Paint) -> String {
    let mut out = String::new();
    let sandbox = &all.sandbox;
    let access = if sandbox.session_is_sandboxed { "(unknown)" } else { "(direct host)" };
    let workdir =
        sandbox.runtime_workdir.as_deref().filter(|_| sandbox.session_is_sandboxed).unwrap_or(access);
    let runtime = if sandbox.session_is_sandboxed { paint.good("sandboxed") } else { paint.bad("direct") };
    let _ = writeln!(
        out,
        "{}\n  agentId: {}\n  sessionKey: {}\n  mainSessionKey: {}\n  runtime: {runtime}\n  mode: {} scope: {}\n  \
         workspaceAccess: {} workspaceRoot: {}\n  effectiveHostWorkspaceRoot: {}\n  backend: {} runtimeWorkdir: \
         {workdir} workspaceSource: {}",
        paint.heading("Effective sandbox:"),
        all.agent_id,
        all.session_key,
        all.main_session_key,
        word(&sandbox.mode),
        word(&sandbox.scope),
        word(&sandbox.workspace_access),
        sandbox.workspace_root.display(),
        sandbox.effective_host_workspace_root.display(),
        sandbox.backend,
        sandbox.workspace_source,
    );
    if !sandbox.workspace_mounts.is_empty() {
        let _ = writeln!(out, "  workspaceMounts:");
        for mount in &sandbox.workspace_mounts {
            let mode = if mount.writable { "rw" } else { "ro" };
            let source = word(&mount.source);
            let _ = writeln!(
                out,
                "    - {} -> {} {mode} ({source})",
                mount.host_root.display(),
                mount.container_root
            );
        }
    }
    let tools = &sandbox.tools;
    let _ = writeln!(
        out,
        "\n{}\n  allow ({}): {}\n  deny  ({}): {}",
        paint.heading("Sandbox tool policy:"),
        word(&tools.sources.allow.source),
        list(&tools.allow),
        word(&tools.sources.deny.source),
        list(&tools.deny),
    );
    let elevated = &all.elevated;
    let _ = writeln!(
        out,
        "\n{}\n  enabled: {}\n  channel: {}\n  allowedByConfig: {}",
        paint.heading("Elevated:"),
        elevated.enabled,
        elevated.channel.as_deref().unwrap_or("(unknown)"),
        elevated.allowed_by_config,
    );
    if !elevated.failures.is_empty() {
        let gates: Vec<String> =
            elevated.failures.iter().map(|one| format!("{} ({})", word(&one.gate), one.key)).collect();
        let _ = writeln!(out, "  failing gates: {}", gates.join(", "));
    }
    own(&mut out, all, paint);
    if sandbox.mode == Mode::NonMain && sandbox.session_is_sandboxed {
        let _ = writeln!(out, "\nHint: the main session {} runs on the host", all.main_session_key);
    }
    let _ = writeln!(out, "\n{}", paint.heading("Fix-it:"));
    for key in &all.fix_it {
        let _ = writeln!(out, "  - {key}");
    }
    let _ = writeln!(out, "\nDocs: {}", all.docs_url);
    out
}

/// What upstream does not tell.
fn own(out: &mut String, all: &Explanation, paint: Paint) {
    let own = &all.creel;
    let _ = writeln!(out, "\n{}\n  configuration: {}", paint.heading("creel:"), own.config_file.display());
    for (setting, source) in &own.sources {
        let place =
            source.origin.as_ref().map(|at| format!(" ({}:{})", at.line, at.column)).unwrap_or_default();
        let _ = writeln!(out, "    {setting} by {}{place}", source.key);
    }
    engine(out, &own.live, paint);
    exec(out, &own.exec, paint);
    // Refused binds are among the problems, each for itself.
    let told = |refused: &Report| !own.problems.is_empty() && refused.code.starts_with("CRL-BIND");
    let other = own.live.refused.iter().filter(|refused| !told(refused));
    for problem in other.chain(&own.problems) {
        let text = lines(&problem.to_string());
        let _ = writeln!(out, "  {} {}", paint.bad("refused:"), indented(&text, "  "));
    }
    if !own.credential_names.is_empty() {
        let _ = writeln!(out, "  credential-like variables: {}", own.credential_names.join(", "));
    }
    match (&own.live.container, &own.live.planned) {
        (Some(state), _) => container(out, state, paint),
        (None, Some(_)) => {
            let _ = writeln!(out, "  container: none yet; the first command makes it");
        }
        (None, None) => {}
    }
    if let Some(pool) = own.live.pool.as_ref().filter(|pool| pool.draws || pool.waiting > 0) {
        let draws = if pool.draws { "a new session draws from it" } else { "not for this session" };
        let keeper = pool.keeper.map_or_else(|| "none".to_owned(), |process| format!("process {process}"));
        let _ = writeln!(out, "  pool: {draws}; {} waiting, keeper: {keeper}", pool.waiting);
    }
    if let Some(planned) = &own.live.planned {
        let _ = writeln!(
            out,
            "    image {}, user {}, network {}, root {}, capabilities dropped: {}",
            planned.image,
            planned.user,
            planned.network,
            if planned.read_only_root { "read-only" } else { "writable" },
            planned.cap_drop.join(" "),
        );
        for warning in &planned.warnings {
            let _ = writeln!(out, "    note: {}", one_line(warning));
        }
    }
}

/// The further lines of a text, moved to the right.
fn indented(text: &str, by: &str) -> String {
    text.replace('\n', &format!("\n{by}"))
}

/// Nothing where the agent may call it.
fn exec(out: &mut String, exec: &ExecTool, paint: Paint) {
    let Some(first) = exec.removed_by.first() else { return };
    let place = |at: &At| format!(" ({}:{})", at.line, at.column);
    let place = first.origin.as_ref().map_or_else(|| " (built in)".to_owned(), place);
    let _ = writeln!(out, "  exec: {}, by {}{place}", paint.bad("not callable"), first.key);
    if exec.removed_by.len() > 1 {
        let others: Vec<&str> = exec.removed_by.iter().skip(1).map(|one| one.key.as_str()).collect();
        let _ = writeln!(out, "    and by {}", others.join(", "));
    }
    let _ = writeln!(out, "    change: {}", exec.changes.join("; "));
    if let Some(see) = &exec.see {
        let _ = writeln!(out, "    see: {see}");
    }
}

fn engine(out: &mut String, live: &Live, paint: Paint) {
    let Some(engine) = &live.engine else { return };
    let _ = match (&engine.facts, &engine.error) {
        (Some(facts), _) => writeln!(
            out,
            "  engine: {} {} at {} ({})",
            one_line(&facts.kind.to_string()),
            one_line(&facts.version),
            one_line(&facts.endpoint.to_string()),
            facts.origin
        ),
        (None, Some(error)) => {
            let word = paint.bad("not answered");
            writeln!(out, "  engine: {word}: {}\n    fix:  {}", lines(&error.message), lines(&error.fix))
        }
        (None, None) => Ok(()),
    };
    for attempt in engine.tried.iter().filter(|_| engine.facts.is_some()) {
        let _ = writeln!(out, "    tried {}", one_line(&attempt.to_string()));
    }
    if let Some(own) = &live.creel_container {
        let _ = writeln!(
            out,
            "  creel runs in container {}; sandboxes mount what is mounted there:",
            one_line(&own.name)
        );
        for mount in &own.mounts {
            let mode = if mount.read_only { "ro" } else { "rw" };
            let (source, target) = (one_line(&mount.source), one_line(&mount.target));
            let _ = writeln!(out, "    - {source} on the host -> {target} {mode}");
        }
        if own.engine_socket_mounted {
            let _ = writeln!(
                out,
                "    the engine's own socket is mounted there: put `creel engine proxy` before it"
            );
        }
    }
    if let Some(road) = &live.transport {
        let _ = writeln!(out, "  transport: {}, because {}", word(&road.road), road.why);
    }
}

fn container(out: &mut String, state: &ContainerState, paint: Paint) {
    let proof = match state.proven {
        Some(true) => paint.good("proven"),
        Some(false) => paint.bad("unproven"),
        None => "not asked".to_owned(),
    };
    let status = one_line(&state.status);
    let _ = writeln!(out, "  container: {status}, {proof}, in use by {}", state.leases);
    for line in &state.drift {
        let _ = writeln!(out, "    {} {}", paint.bad("drift:"), one_line(line));
    }
    let total = state.hardening.checks.len();
    let held = state.hardening.checks.iter().filter(|check| check.verdict == Verdict::Ok).count();
    let _ = writeln!(out, "    hardening: {held} of {total} rules as asked, read back from the kernel");
    for check in state.hardening.checks.iter().filter(|check| check.verdict != Verdict::Ok) {
        let told = format!("{}: asked {}, is {}", check.title(), check.asked, check.observed);
        let _ = writeln!(out, "      {}", one_line(&told));
    }
    for mount in &state.mounts {
        let verdict =
            if mount.verdict == Verdict::Ok { paint.good("proven") } else { paint.bad("not proven") };
        let target = one_line(mount.subject.as_deref().unwrap_or_default());
        let _ = writeln!(out, "    mount {target}: {verdict}");
    }
}

/// The word that JSON has for a value.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "(empty)".to_owned() } else { names.join(", ") }
}
