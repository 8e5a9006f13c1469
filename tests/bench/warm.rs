//! `warm-first-command`: a session that draws from a pool, against one that does not.

use std::time::{Duration, Instant};

use creel::SandboxOptions;
use creel::image::Recipe;
use creel::keeper::Pools;
use creel::sandbox::{Sandboxes, Timings};
use creel::state::StateDir;

use crate::Fallible;
use crate::ground::Ground;
use crate::row::Row;
use crate::stats::{Better, Series, ms, number};

/// Most milliseconds from the claim to the first exit.
const MOST_MS: f64 = 15.0;

/// The row: open and `true` in a new session, with and without one that waits, in turn.
pub(crate) async fn rows(ground: &Ground) -> Fallible<Vec<Row>> {
    let image = ground.image(Recipe::Minimal).await?;
    let (pooled, alone) = (config(ground, "pooled", 1)?, config(ground, "alone", 0)?);
    let base = ground.options(&image);
    let sandboxes = Sandboxes::open(ground.engine.clone(), &StateDir::at(ground.state_dir()))?;
    let mut keeper = Pools::new(sandboxes, base.clone(), None, Duration::from_hours(1));
    let mut session = 0;
    let mut next = |file: &std::path::Path| {
        session += 1;
        base.clone().config(file).session(format!("warm-{session}"))
    };
    // Wishes for the pool; the first look fills it.
    first(next(&pooled), false).await?;
    let low = || Series::new(Better::Low);
    let (mut warm, mut cold) = (low(), low());
    let mut steps: Vec<Timings> = Vec::new();
    for _ in 0..ground.scale.of(40, 8) {
        keeper.pass().await?;
        let (took, timings) = first(next(&pooled), true).await?;
        warm.push(took);
        steps.push(timings);
        cold.push(first(next(&alone), false).await?.0);
    }
    tell(&steps);
    Ok(vec![Row {
        id: "warm-first-command",
        what: "minimal, open and true".to_owned(),
        unit: "ms",
        control: "the same without a pool".to_owned(),
        control_p50: Some(cold.p50()),
        ratio: Some(cold.p50() / warm.p50()),
        bound: format!("p50 <= {MOST_MS}"),
        ok: warm.p50() <= MOST_MS,
        beyond_reach: false,
        series: warm,
    }])
}

/// Milliseconds from the first question to the exit of the first command.
async fn first(options: SandboxOptions, pooled: bool) -> Fallible<(f64, Timings)> {
    let start = Instant::now();
    let sandbox = options.open().await?;
    let done = sandbox.exec("true").await?;
    let took = ms(start.elapsed());
    if done.outcome.code != Some(0) || sandbox.ready().pooled != pooled {
        return Err(format!("not as it should be: {:?}, {:?}", done.outcome, sandbox.ready()).into());
    }
    let timings = sandbox.ready().timings;
    sandbox.stop().await?;
    Ok((took, timings))
}

fn config(ground: &Ground, name: &str, size: usize) -> Fallible<std::path::PathBuf> {
    let file = ground.dir().join(format!("{name}.json"));
    let text = format!("{{agents: {{defaults: {{sandbox: {{scope: 'session', pool: {{size: {size}}}}}}}}}}}");
    std::fs::write(&file, text)?;
    Ok(file)
}

fn tell(steps: &[Timings]) {
    type Step = fn(&Timings) -> u64;
    let names: [(&str, Step); 5] = [
        ("key", |t| t.prepare_us),
        ("lock", |t| t.lock_us),
        ("look", |t| t.inspect_us),
        ("take", |t| t.create_us),
        ("meet", |t| t.meet_us),
    ];
    let mut line = String::new();
    for (name, step) in names {
        let mut series = Series::new(Better::Low);
        for timings in steps {
            series.push(number(step(timings)) / 1e3);
        }
        line = format!("{line}  {name} {:.1}", series.p50());
    }
    eprintln!("claim, p50 of each step in ms:{line}");
}
