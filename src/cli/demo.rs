//! `creel demo`: the product in a minute, on the real engine.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::Common;
use super::print;
use crate::client::{Call, Sandbox};
use crate::error::Failure;
use crate::image::{self, Order, Recipe};
use crate::runner::{Asked, Transport};
use crate::sandbox::{Hardening, Verdict};

/// The session that the demonstration uses.
const SESSION: &str = "agent:main:demo";

/// Show what creel does.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    /// Image to show it with.
    #[arg(long, value_name = "IMAGE", default_value = "creel-minimal:latest")]
    image: String,
}

/// Runs the demonstration.
pub async fn run(args: Args) -> Result<(), Failure> {
    let (engine, state) = args.common.places().await?;
    let facts = engine.facts();
    print::line(&format!(
        "engine    {:?} {} (API {}) at {}",
        facts.kind, facts.version, facts.api_version, facts.endpoint
    ));
    if let Some(recipe) = Recipe::of_reference(&args.image) {
        let start = Instant::now();
        let progress = |_: image::Event| {};
        let built =
            image::build(&engine, &state, &Order::of(recipe), &progress, &CancellationToken::new()).await?;
        let word =
            if matches!(built, image::Outcome::Built(_)) { "built from packages" } else { "up to date" };
        print::line(&format!("image     {} {word}, {}", args.image, ms(start.elapsed())));
    }
    let mut options = Sandbox::options().session(SESSION).image(&args.image);
    if let Some(address) = &args.common.engine {
        options = options.engine(address);
    }
    if let Some(file) = &args.common.config {
        options = options.config(file);
    }
    let start = Instant::now();
    let sandbox = options.open().await?;
    let ready = sandbox.ready();
    print::line(&format!("sandbox   {} ready in {}", ready.name, ms(start.elapsed())));
    print::line(&format!(
        "          of which the engine: create {}, start {}; creel: meet init {}, prove {}",
        us(ready.timings.create_us),
        us(ready.timings.start_us),
        us(ready.timings.meet_us),
        us(ready.timings.prove_us)
    ));
    let sandbox = commands(sandbox).await?;
    refused_bind(&options).await;
    hardening(&sandbox.ready().hardening);
    // Others may share it: the session is not part of its identity unless the scope says so.
    if !sandbox.stop_unless_used().await? {
        print::line("\nthe sandbox stays: another creel uses it");
    }
    Ok(())
}

/// Streams, an exit code, a tree that does not want to die, and the slow road for comparison.
async fn commands(sandbox: Sandbox) -> Result<Sandbox, Failure> {
    let plain = |text: &str| sandbox.call(text);
    let mut tree =
        plain("(setsid sh -c 'trap \"\" TERM; sleep 300' &); trap '' TERM; echo before; sleep 300");
    tree.options.timeout = Some(Duration::from_secs(1));
    tree.options.grace = Duration::from_millis(200);
    show(&sandbox, "streams", &plain("uname -a; id; pwd; echo to stderr >&2")).await?;
    show(&sandbox, "exit code", &plain("exit 42")).await?;
    show(&sandbox, "a tree that ignores TERM, limit 1 s", &tree).await?;
    let sandbox = sandbox.over(Transport::Engine);
    let call = sandbox.call("exit 42");
    show(&sandbox, "the same exit code over the engine's exec API", &call).await?;
    Ok(sandbox.over(Transport::Init))
}

async fn show(sandbox: &Sandbox, title: &str, call: &Call) -> Result<(), Failure> {
    let crate::approvals::Command::Shell(text) = &call.command else { return Ok(()) };
    print::line(&format!("\n── {title}\n$ {text}"));
    let start = Instant::now();
    let done = sandbox.run(call).await?;
    let elapsed = start.elapsed();
    for (name, bytes) in [("stdout", &done.stdout), ("stderr", &done.stderr)] {
        for line in String::from_utf8_lossy(bytes).lines() {
            print::line(&format!("  {name} │ {line}"));
        }
    }
    let asked = Asked { timeout: call.options.timeout, ..Asked::default() };
    if let Some(report) = done.outcome.describe(&asked) {
        print::line(&format!("  {report}"));
    }
    let road = match done.outcome.transport {
        Transport::Init => "init",
        Transport::Engine => "engine exec",
    };
    print::line(&format!("  → status {}, {} over {road}", done.outcome.exit_status(), ms(elapsed)));
    Ok(())
}

/// A bind that no flag allows.
async fn refused_bind(options: &crate::client::SandboxOptions) {
    print::line("\n── a bind that is refused\n$ creel exec --bind /etc:/host-etc -- 'cat /host-etc/shadow'");
    let start = Instant::now();
    match options.clone().bind("/etc:/host-etc").open().await {
        Err(failure) => print::line(&format!(
            "  {failure}\n  → refused in {}, before any container was made",
            ms(start.elapsed())
        )),
        Ok(_) => print::line("  → NOT refused: this is a fault of creel"),
    }
}

fn hardening(hardening: &Hardening) {
    print::line("\n── what the kernel enforces, read back after the start");
    for check in &hardening.checks {
        let mark = match check.verdict {
            Verdict::Ok => "ok",
            Verdict::NotEnforced => "NOT ENFORCED",
            Verdict::Unknown => "unknown",
        };
        let subject = check.subject.as_deref().unwrap_or_default();
        print::line(&format!("  {:22} {:28} {:34} {mark}", check.rule.as_str(), subject, check.observed));
    }
}

fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

fn us(micros: u64) -> String {
    ms(Duration::from_micros(micros))
}
