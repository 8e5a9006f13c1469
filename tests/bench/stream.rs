//! `stdout-stream`: a gibibyte out of a sandbox.

use std::time::Instant;

use creel::Sandbox;
use creel::image::Recipe;
use creel::runner::Progress;

use crate::Fallible;
use crate::control::{self, engine_exec};
use crate::ground::Ground;
use crate::row::Row;
use crate::stats::{Better, Series, number};

/// Against the local pipe and against the engine's stream, one round of each in turn.
pub(crate) async fn rows(ground: &Ground) -> Fallible<Vec<Row>> {
    let image = ground.image(Recipe::Minimal).await?;
    let sandbox = ground.options(&image).open().await?;
    let (bytes, rounds) = ground.scale.of((1 << 30, 5), (128 << 20, 3));
    let text = bytes.to_string();
    let high = || Series::new(Better::High);
    let (mut ours, mut pipe, mut engine) = (high(), high(), high());
    let rate = |seconds: f64| number(bytes) / seconds / 1_048_576.0;
    stream(&sandbox, 16 << 20).await?;
    for _ in 0..rounds {
        pipe.push(rate(control::seconds(&sandbox, &["pipe", &text]).await?));
        ours.push(rate(stream(&sandbox, bytes).await?));
        let start = Instant::now();
        let argv = [creel::sandbox::INIT_TARGET, "control", "write", &text];
        let seen = engine_exec(&ground.engine, sandbox.container(), &argv).await?;
        if seen != bytes {
            return Err(format!("the engine delivered {seen} of {bytes} bytes").into());
        }
        engine.push(rate(start.elapsed().as_secs_f64()));
    }
    sandbox.stop().await?;
    let row = |what: &str, control: &str, other: &Series, least: f64| {
        let ratio = ours.p50() / other.p50();
        Row {
            id: "stdout-stream",
            what: what.to_owned(),
            unit: "MiB/s",
            series: ours.clone(),
            control: control.to_owned(),
            control_p50: Some(other.p50()),
            ratio: Some(ratio),
            bound: format!(">= {least} x"),
            ok: ratio >= least,
            beyond_reach: false,
        }
    };
    Ok(vec![
        row("against a pipe", "64 KiB writes through a default pipe in the container", &pipe, 0.5),
        row("against the engine", "the same program over the engine's exec API", &engine, 2.0),
    ])
}

/// Seconds until `bytes` have been read and the result is there.
async fn stream(sandbox: &Sandbox, bytes: u64) -> Fallible<f64> {
    let start = Instant::now();
    let mut running = sandbox.start(&control::call(sandbox, &["write", &bytes.to_string()])).await?;
    let mut seen = 0;
    loop {
        match running.next().await? {
            Progress::Output(_, data) => seen += u64::try_from(data.len())?,
            Progress::Done(outcome) if outcome.code == Some(0) && seen == bytes => {
                return Ok(start.elapsed().as_secs_f64());
            }
            Progress::Done(outcome) => return Err(format!("{seen} of {bytes} bytes, {outcome:?}").into()),
            Progress::Started(_) | Progress::Input { .. } => {}
        }
    }
}
