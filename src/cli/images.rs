//! `creel images`: build and list the images that need no registry.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::print;
use crate::engine::Engine;
use crate::error::Failure;
use crate::image::{
    Event, ExtraCa, ImageError, Order, Outcome, Recipe, Reference, Source, Status, build, list, pull,
};
use crate::state::StateDir;

/// Build, list and pull sandbox images; building needs no registry.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Build images from distribution packages; one that is up to date is left alone.
    Build(BuildArgs),
    /// Show each image: built or not, up to date or not, size, id.
    List(ListArgs),
    /// Get an image from a registry, with the docker client's credentials for it.
    Pull(PullArgs),
}

#[derive(Debug, clap::Args)]
struct BuildArgs {
    /// Images to build: `minimal`, `sandbox`, `sandbox-common`, `sandbox-common-build`, `creel`. The first two when none
    /// is named.
    names: Vec<String>,
    /// Build even where the image is up to date.
    #[arg(long)]
    force: bool,
    /// Trust the certificates in this PEM file too (a company proxy's, say).
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Give the image this reference instead of its own.
    #[arg(long, value_name = "NAME:TAG")]
    tag: Option<String>,
    /// Let the engine build the image's Dockerfile; its base image must be there or in a reachable registry.
    #[arg(long)]
    from_dockerfile: bool,
    /// Build the Dockerfile on this image instead of `debian:bookworm-slim`.
    #[arg(long, value_name = "IMAGE", requires = "from_dockerfile")]
    base: Option<String>,
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Show this image only.
    name: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct PullArgs {
    /// Image reference; the configured sandbox image when none is given.
    name: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Failures are told as JSON too.
    pub(super) fn json(&self) -> bool {
        match &self.command {
            Command::Build(_) => false,
            Command::List(args) => args.json,
            Command::Pull(args) => args.json,
        }
    }
}

/// Runs the subcommand: results go to standard output, progress to standard error.
pub async fn run(
    args: Args,
    config: Option<&Path>,
    engine: &Engine,
    state: &StateDir,
) -> Result<(), Failure> {
    match args.command {
        Command::Build(args) => Ok(run_build(args, engine, state).await?),
        Command::List(args) => Ok(run_list(&args, engine).await?),
        Command::Pull(args) => run_pull(args, config, engine).await,
    }
}

async fn run_pull(args: PullArgs, config: Option<&Path>, engine: &Engine) -> Result<(), Failure> {
    let reference = match args.name {
        Some(name) => name,
        None => configured(config)?,
    };
    let meter = Meter::new("pull", std::io::stderr().is_terminal());
    let tell = |event: Event<'_>| meter.tell(event);
    let logins = docker_config();
    let pulled = tokio::select! {
        pulled = pull(engine, &reference, logins.as_deref(), &tell) => pulled,
        () = super::interrupted() => Err(ImageError::Interrupted),
    };
    meter.clear();
    let image = pulled?;
    if args.json {
        print::json(&serde_json::json!({ "reference": reference, "id": image.id, "size": image.size }));
        return Ok(());
    }
    let took = meter.begun.elapsed().as_secs_f64();
    print::line(&format!("pulled {reference} in {took:.1} s ({}, {})", short(&image.id), size(image.size)));
    Ok(())
}

/// The image of a sandbox without further options.
fn configured(config: Option<&Path>) -> Result<String, Failure> {
    let options = crate::Sandbox::options();
    let options = match config {
        Some(file) => options.config(file),
        None => options,
    };
    Ok(options.preview()?.request.image)
}

/// The docker client's configuration, where this user has one.
fn docker_config() -> Option<String> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let dir =
        set("DOCKER_CONFIG").map(PathBuf::from).or_else(|| Some(Path::new(&set("HOME")?).join(".docker")));
    std::fs::read_to_string(dir?.join("config.json")).ok()
}

async fn run_build(args: BuildArgs, engine: &Engine, state: &StateDir) -> Result<(), ImageError> {
    for order in orders(args)? {
        let meter = Meter::new(order.recipe.name(), std::io::stderr().is_terminal());
        let cancel = CancellationToken::new();
        let tell = |event: Event<'_>| meter.tell(event);
        let work = Box::pin(build(engine, state, &order, &tell, &cancel));
        let (outcome, ()) = tokio::join!(
            async {
                let outcome = work.await;
                cancel.cancel();
                outcome
            },
            async {
                cancel.run_until_cancelled(super::interrupted()).await;
                cancel.cancel();
            }
        );
        meter.clear();
        print::put(&told(&order, &outcome?, meter.begun.elapsed()));
    }
    Ok(())
}

/// What the arguments ask for, checked as a whole before anything is built.
fn orders(args: BuildArgs) -> Result<Vec<Order>, ImageError> {
    let mut recipes = args.names.iter().map(|name| Recipe::parse(name)).collect::<Result<Vec<_>, _>>()?;
    if recipes.is_empty() {
        recipes = Recipe::USUAL.to_vec();
    }
    recipes.sort();
    recipes.dedup();
    if args.tag.is_some() && recipes.len() != 1 {
        let what = "--tag needs exactly one image";
        return Err(ImageError::BadOptions {
            what,
            fix: "name the image, such as: images build minimal --tag NAME:TAG",
        });
    }
    let tag = args.tag.as_deref().map(Reference::parse).transpose()?;
    let ca = args.ca.as_deref().map(ExtraCa::read).transpose()?;
    let source = if args.from_dockerfile { Source::Dockerfile { base: args.base } } else { Source::Packages };
    let order = |recipe| Order {
        recipe,
        reference: tag.clone().unwrap_or_else(|| Reference::of(recipe)),
        source: source.clone(),
        ca: ca.clone(),
        force: args.force,
    };
    Ok(recipes.into_iter().map(order).collect())
}

fn told(order: &Order, outcome: &Outcome, took: Duration) -> String {
    let image = outcome.image();
    let facts = format!("{}, {}", short(&image.id), size(image.size));
    match outcome {
        Outcome::UpToDate(_) => {
            format!("{}: {} is up to date ({facts})\n", order.recipe.name(), order.reference)
        }
        Outcome::Built(_) => {
            format!(
                "{}: built {} in {:.1} s ({facts})\n",
                order.recipe.name(),
                order.reference,
                took.as_secs_f64()
            )
        }
    }
}

async fn run_list(args: &ListArgs, engine: &Engine) -> Result<(), ImageError> {
    let only = args.name.as_deref().map(Recipe::parse).transpose()?;
    let found = list(engine, only).await?;
    if args.json {
        print::json(&found);
    } else {
        print::put(&table(&found));
    }
    Ok(())
}

/// The list for people.
fn table(found: &[Status]) -> String {
    let width = found.iter().map(|status| status.reference.len()).max().unwrap_or(0).max("REFERENCE".len());
    let names = found.iter().map(|status| status.name.len()).max().unwrap_or(0).max("NAME".len());
    let mut text = format!(
        "{:names$} {:width$} {:10} {:>9} {:12} CREATED\n",
        "NAME", "REFERENCE", "STATE", "SIZE", "ID"
    );
    for status in found {
        let state = match (status.built, status.up_to_date) {
            (false, _) => "not built",
            (true, true) => "up to date",
            (true, false) => "outdated",
        };
        let bytes = status.size.map_or_else(|| "-".to_owned(), size);
        let id = status.id.as_deref().map_or("-", short);
        let created = status.created.as_deref().unwrap_or("-");
        let created = created.split('.').next().unwrap_or(created);
        let (name, reference) = (status.name, &status.reference);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:names$} {reference:width$} {state:10} {bytes:>9} {id:12} {created}");
    }
    for hint in found.iter().filter_map(|status| status.hint.as_ref()) {
        let _ = writeln!(text, "{hint}");
    }
    text
}

/// The first twelve digits of an image id, as docker shows it.
fn short(id: &str) -> &str {
    let digits = id.strip_prefix("sha256:").unwrap_or(id);
    digits.get(..12).unwrap_or(digits)
}

/// Bytes in decimal units with one digit, as docker shows them.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{}.{} kB", bytes / 1000, bytes % 1000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// Progress on standard error: one line per stage, and on a terminal one line that is always the latest.
struct Meter {
    name: &'static str,
    begun: Instant,
    terminal: bool,
    stage: Mutex<String>,
}

impl Meter {
    fn new(name: &'static str, terminal: bool) -> Self {
        Self { name, begun: Instant::now(), terminal, stage: Mutex::new(String::new()) }
    }

    fn tell(&self, event: Event<'_>) {
        let Ok(mut stage) = self.stage.lock() else { return };
        if let Event::Stage(name) = event {
            name.clone_into(&mut stage);
        }
        let text = line(self.name, self.begun.elapsed(), &stage, event, self.terminal);
        // Progress that cannot be shown must not end a build.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    /// Takes the latest line off the terminal.
    fn clear(&self) {
        if self.terminal {
            let _ = std::io::stderr().write_all(b"\r\x1b[2K");
        }
    }
}

/// What one event writes. Pure.
fn line(name: &str, elapsed: Duration, stage: &str, event: Event<'_>, terminal: bool) -> String {
    let seconds = elapsed.as_secs_f64();
    match event {
        Event::Stage(_) if terminal => format!("\r\x1b[2K[{seconds:6.1} s] {name}: {stage}"),
        Event::Stage(_) => format!("[{seconds:6.1} s] {name}: {stage}\n"),
        Event::Line(text) if terminal => {
            let text: String = text.chars().take(60).collect();
            format!("\r\x1b[2K[{seconds:6.1} s] {name}: {stage}: {text}")
        }
        // Without a terminal the stages tell enough; a failure quotes the last lines.
        Event::Line(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    fn parse(words: &[&str]) -> Result<Vec<Order>, String> {
        let words = [&["images", "build"], words].concat();
        let cli = Cli::try_parse_from(words).map_err(|error| error.to_string())?;
        match cli.args.command {
            Command::Build(args) => orders(args).map_err(|error| error.to_string()),
            Command::List(_) | Command::Pull(_) => Err("other".to_owned()),
        }
    }

    #[test]
    fn orders_from_arguments() {
        let all = parse(&[]).unwrap();
        assert_eq!(all, [Order::of(Recipe::Minimal), Order::of(Recipe::Sandbox)]);
        let one = parse(&["sandbox", "--tag", "a:b", "--from-dockerfile", "--base", "c", "--force"]).unwrap();
        assert_eq!(
            one,
            [Order {
                recipe: Recipe::Sandbox,
                reference: Reference::parse("a:b").unwrap(),
                source: Source::Dockerfile { base: Some("c".to_owned()) },
                ca: None,
                force: true,
            }]
        );
        assert_eq!(parse(&["minimal", "minimal"]).unwrap().len(), 1);
    }

    #[test]
    fn refusals() {
        assert_eq!(parse(&["--tag", "a:b"]).unwrap_err(), "--tag needs exactly one image");
        assert!(parse(&["nope"]).unwrap_err().contains("`nope`"));
        assert!(parse(&["minimal", "--base", "x"]).unwrap_err().contains("--from-dockerfile"));
        assert!(parse(&["minimal", "--ca", "/no/such/file"]).unwrap_err().contains("/no/such/file"));
    }

    #[test]
    fn progress_lines() {
        let second = Duration::from_millis(1500);
        assert_eq!(line("minimal", second, "x", Event::Stage("x"), false), "[   1.5 s] minimal: x\n");
        assert_eq!(line("minimal", second, "x", Event::Line("y"), false), "");
        assert_eq!(
            line("minimal", second, "x", Event::Line("y"), true),
            "\r\u{1b}[2K[   1.5 s] minimal: x: y"
        );
    }

    #[test]
    fn sizes_and_ids() {
        assert_eq!(size(208_700_000), "208.7 MB");
        assert_eq!(size(1_250), "1.2 kB");
        assert_eq!(short("sha256:0123456789abcdef"), "0123456789ab");
    }
}
