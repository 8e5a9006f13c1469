//! `explain-wall`: `creel sandbox explain --json` as a person waits for it, from the start of the process to its end.

use std::time::Instant;

use creel::host_tool::host_tool;
use creel::image::Recipe;

use crate::Fallible;
use crate::ground::Ground;
use crate::row::Row;
use crate::stats::{Better, Series, ms};

/// Most milliseconds, of which the engine may take eight.
const MOST_MS: f64 = 20.0;

/// The row: with a sandbox there, so that there is most to tell; `creel --version` is the start of a process alone.
pub(crate) async fn rows(ground: &Ground) -> Fallible<Vec<Row>> {
    let image = ground.image(Recipe::Minimal).await?;
    let state = ground.dir().join("explained");
    let config =
        format!("{{agents: {{defaults: {{sandbox: {{mode: 'all', docker: {{image: '{image}'}}}}}}}}}}");
    std::fs::create_dir_all(&state)?;
    std::fs::write(state.join("openclaw.json"), config)?;
    let options = ground.options(&image).config(state.join("openclaw.json"));
    let sandbox = options.open().await?;
    let low = || Series::new(Better::Low);
    let (mut whole, mut bare) = (low(), low());
    let mut answered = 0;
    for round in 0..ground.scale.of(200, 40) {
        let (took, out) = run(ground, &state, &["sandbox", "explain", "--json"]).await?;
        let told: serde_json::Value = serde_json::from_slice(&out)?;
        answered +=
            usize::from(told.pointer("/creel/engine/answered") == Some(&serde_json::Value::Bool(true)));
        let (control, _) = run(ground, &state, &["--version"]).await?;
        // The first brings the program into memory.
        if round > 0 {
            whole.push(took);
            bare.push(control);
        }
    }
    eprintln!("explain: the engine answered in time in {answered} runs");
    sandbox.stop().await?;
    Ok(vec![Row {
        id: "explain-wall",
        what: "whole process".to_owned(),
        unit: "ms",
        control: "creel --version".to_owned(),
        control_p50: Some(bare.p50()),
        ratio: Some(whole.p50() / bare.p50()),
        bound: format!("p50 <= {MOST_MS}"),
        ok: whole.p50() <= MOST_MS,
        beyond_reach: false,
        series: whole,
    }])
}

async fn run(ground: &Ground, config: &std::path::Path, args: &[&str]) -> Fallible<(f64, Vec<u8>)> {
    let mut command = host_tool(env!("CARGO_BIN_EXE_creel"));
    command.args(args).env("CREEL_STATE_DIR", ground.state_dir()).env_remove("OPENCLAW_CONFIG_PATH");
    command.env("CREEL_CONFIG", config.join("openclaw.json"));
    let start = Instant::now();
    let done = command.output().await?;
    let took = ms(start.elapsed());
    if !done.status.success() {
        return Err(format!("creel {args:?}: {}", String::from_utf8_lossy(&done.stderr)).into());
    }
    Ok((took, done.stdout))
}
