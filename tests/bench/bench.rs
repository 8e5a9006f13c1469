//! Measures creel against its bounds (`docs/specification.md`), each with its control in the same run.
//!
//! `cargo bench --bench creel -- [--quick] [--strict] [ROW…]`. Needs a container engine, creel-init (`make init`), and root for
//! `init-rss`. Exits with 2 where something could not be measured, and with `--strict` with 1 where a bound is
//! missed; without it a missed bound is in the table, in bold.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark is a program of its own: the table goes to standard output, the rest to standard error"
)]

mod cold;
mod control;
mod exec;
mod explain;
mod ground;
mod keeper;
mod memory;
mod policy;
mod report;
mod row;
mod stats;
mod stream;
mod verdict;
mod warm;

use std::process::ExitCode;

use creel::image::Recipe;

use crate::ground::{Ground, Scale};
use crate::row::Row;

/// What a measurement returns.
type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// Names on the command line; all where none is given.
const ROWS: [&str; 12] = [
    "exec-login-shell",
    "exec-rate",
    "stdout-stream",
    "warm-first-command",
    "cold-overhead",
    "explain-wall",
    "tool-policy",
    "verdict",
    "allowlist-10k",
    "init-rss",
    "gateway-rss",
    "restart-100",
];

fn main() -> ExitCode {
    // cargo adds `--bench`.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let quick = args.iter().any(|arg| arg == "--quick");
    let strict = args.iter().any(|arg| arg == "--strict");
    let only: Vec<&str> = args.iter().map(String::as_str).filter(|arg| !arg.starts_with("--")).collect();
    if let Some(unknown) = only.iter().find(|name| !ROWS.contains(*name)) {
        eprintln!("no row {unknown}; there are {}", ROWS.join(", "));
        return ExitCode::from(2);
    }
    // One thread, as the command line has.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let measured = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(run(quick, &only)));
    match measured {
        Ok(missed) if missed == 0 || !strict => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("could not measure: {error}");
            ExitCode::from(2)
        }
    }
}

/// Measures, reports, and returns how many bounds were missed.
async fn run(quick: bool, only: &[&str]) -> Fallible<usize> {
    let ground = Ground::new(if quick { Scale::Quick } else { Scale::Full }).await?;
    let machine = report::Machine::look(&ground);
    machine.warn();
    let wanted = |ids: &[&str]| only.is_empty() || ids.iter().any(|id| only.contains(id));
    let mut rows: Vec<Row> = Vec::new();
    // First, while no other sandbox shares pages of creel-init with it.
    if wanted(&["init-rss"]) {
        rows.extend(memory::rows(&ground).await?);
    }
    if wanted(&["exec-login-shell", "exec-rate"]) {
        for recipe in [Recipe::Minimal, Recipe::Sandbox] {
            rows.extend(exec::rows(&ground, recipe).await?);
        }
    }
    if wanted(&["stdout-stream"]) {
        rows.extend(stream::rows(&ground).await?);
    }
    if wanted(&["cold-overhead"]) {
        rows.extend(Box::pin(cold::rows(&ground)).await?);
    }
    if wanted(&["warm-first-command"]) {
        rows.extend(Box::pin(warm::rows(&ground)).await?);
    }
    if wanted(&["explain-wall"]) {
        rows.extend(explain::rows(&ground).await?);
    }
    if wanted(&["verdict", "allowlist-10k"]) {
        rows.extend(verdict::rows(ground.scale)?);
    }
    if wanted(&["tool-policy"]) {
        rows.extend(policy::rows(ground.scale)?);
    }
    // Last: the installation has a configuration of its own meanwhile.
    if wanted(&["gateway-rss", "restart-100"]) {
        rows.extend(Box::pin(keeper::rows(&ground, |id| wanted(&[id]))).await?);
    }
    let place = |row: &Row| ROWS.iter().position(|id| *id == row.id);
    rows.sort_by_key(place);
    println!("{}", report::table(&rows));
    if only.is_empty() {
        let path = report::write_json(&machine, quick, &rows)?;
        eprintln!("written: {}", path.display());
        if !quick {
            report::write_specification(&machine, &rows)?;
        }
    }
    let missed = rows.iter().filter(|row| !row.ok && !row.beyond_reach).count();
    if missed > 0 {
        eprintln!("{missed} of {} bounds missed", rows.len());
    }
    Ok(missed)
}
