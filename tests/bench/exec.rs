//! `exec-login-shell` and `exec-rate`: short commands, one at a time and many.

use std::time::Instant;

use creel::Sandbox;
use creel::image::Recipe;
use futures_util::future::try_join_all;

use crate::Fallible;
use crate::control::{self, Spawner, engine_exec};
use crate::ground::Ground;
use crate::row::Row;
use crate::stats::{Better, Series, ms, number};

/// The shortest command that a login shell can run.
const LOGIN: [&str; 3] = ["/bin/sh", "-lc", "true"];
/// Most milliseconds that a command may take beyond a local fork and exec.
const MOST_OVERHEAD_MS: f64 = 0.35;

/// Both rows of one image.
pub(crate) async fn rows(ground: &Ground, recipe: Recipe) -> Fallible<Vec<Row>> {
    let image = ground.image(recipe).await?;
    let sandbox = ground.options(&image).open().await?;
    let mut rows = login_shell(ground, &sandbox, recipe).await?;
    rows.push(rate(ground, &sandbox, recipe).await?);
    sandbox.stop().await?;
    Ok(rows)
}

/// Milliseconds of one command as a caller of the library sees it.
async fn once(sandbox: &Sandbox) -> Fallible<f64> {
    let start = Instant::now();
    let done = sandbox.exec("true").await?;
    let took = ms(start.elapsed());
    match done.outcome.code {
        Some(0) => Ok(took),
        _ => Err(format!("`true` ended so: {:?}", done.outcome).into()),
    }
}

async fn login_shell(ground: &Ground, sandbox: &Sandbox, recipe: Recipe) -> Fallible<Vec<Row>> {
    let low = || Series::new(Better::Low);
    let (mut whole, mut local, mut beyond, mut engine) = (low(), low(), low(), low());
    let mut spawner = Spawner::start(sandbox, &LOGIN).await?;
    let (pairs, engine_every) = ground.scale.of((2000, 50), (400, 40));
    for warm_up in 0..20 {
        once(sandbox).await?;
        if warm_up == 0 {
            engine_exec(&ground.engine, sandbox.container(), &LOGIN).await?;
        }
        spawner.once().await?;
    }
    for pair in 0..pairs {
        // Who goes first alternates, so that neither always finds the other's caches.
        let (took, control) = if pair % 2 == 0 {
            let control = spawner.once().await?;
            (once(sandbox).await?, control)
        } else {
            (once(sandbox).await?, spawner.once().await?)
        };
        whole.push(took);
        local.push(control);
        beyond.push(took - control);
        if pair % engine_every == 0 {
            let start = Instant::now();
            engine_exec(&ground.engine, sandbox.container(), &LOGIN).await?;
            engine.push(ms(start.elapsed()));
            // The engine's helpers are still ending; what comes next is not counted.
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            once(sandbox).await?;
            spawner.once().await?;
        }
    }
    spawner.end().await?;
    let overhead = beyond.p50();
    let times = engine.p50() / whole.p50();
    let least = if recipe == Recipe::Minimal { 50.0 } else { 10.0 };
    let name = recipe.name();
    Ok(vec![
        Row {
            id: "exec-login-shell",
            what: format!("{name}, beyond local"),
            unit: "ms",
            ratio: Some(whole.p50() / local.p50()),
            control: "fork+exec of sh -lc true in the container".to_owned(),
            control_p50: Some(local.p50()),
            bound: format!("p50 <= {MOST_OVERHEAD_MS}"),
            ok: overhead <= MOST_OVERHEAD_MS,
            beyond_reach: false,
            series: beyond,
        },
        Row {
            id: "exec-login-shell",
            what: format!("{name}, whole"),
            unit: "ms",
            control: "sh -lc true by the engine's exec API".to_owned(),
            control_p50: Some(engine.p50()),
            ratio: Some(times),
            bound: format!("engine / creel >= {least}"),
            ok: times >= least,
            // Both bounds of the row together: even with all that the first one grants, the engine would be too fast.
            beyond_reach: engine.p50() < least * (local.p50() + MOST_OVERHEAD_MS),
            series: whole,
        },
    ])
}

/// Commands a second, of each side at the width that suits it best.
async fn rate(ground: &Ground, sandbox: &Sandbox, recipe: Recipe) -> Fallible<Row> {
    let (rounds, total) = ground.scale.of((5, 600), (3, 150));
    let mut ours: Vec<Series> = Vec::new();
    let mut local: Vec<Series> = Vec::new();
    for width in 2..=4_u64 {
        let (mut mine, mut control) = (Series::new(Better::High), Series::new(Better::High));
        for _ in 0..rounds {
            let words = [total.to_string(), width.to_string()];
            let words = [&["rate", &words[0], &words[1], "--"][..], &LOGIN].concat();
            control.push(number(total) / control::seconds(sandbox, &words).await?);
            mine.push(sustained(sandbox, total, width).await?);
        }
        ours.push(mine);
        local.push(control);
    }
    let best = |list: Vec<Series>| list.into_iter().max_by(|one, two| one.p50().total_cmp(&two.p50()));
    let (ours, local) = (best(ours).ok_or("no width")?, best(local).ok_or("no width")?);
    let ratio = ours.p50() / local.p50();
    let (bound, ok) = if recipe == Recipe::Minimal {
        (">= 400 /s".to_owned(), ours.p50() >= 400.0)
    } else {
        (">= 0.8 x local".to_owned(), ratio >= 0.8)
    };
    Ok(Row {
        id: "exec-rate",
        what: recipe.name().to_owned(),
        unit: "/s",
        series: ours,
        control: "parallel fork+exec of sh -lc true in the container".to_owned(),
        control_p50: Some(local.p50()),
        ratio: Some(ratio),
        bound,
        ok,
        beyond_reach: false,
    })
}

async fn sustained(sandbox: &Sandbox, total: u64, width: u64) -> Fallible<f64> {
    let start = Instant::now();
    let lane = |lane: u64| async move {
        for _ in (lane..total).step_by(usize::try_from(width).unwrap_or(1)) {
            once(sandbox).await?;
        }
        Fallible::Ok(())
    };
    try_join_all((0..width).map(lane)).await?;
    Ok(number(total) / start.elapsed().as_secs_f64())
}
