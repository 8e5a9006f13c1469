//! Where the rows go: a table on the terminal, `target/bench.json`, and the specification.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::Fallible;
use crate::ground::Ground;
use crate::row::Row;

/// The table in the specification stands between these.
const BEGIN: &str = "<!-- bench: begin -->\n";
const END: &str = "<!-- bench: end -->\n";
/// Runnable tasks above which the machine is not quiet.
const QUIET: f64 = 1.5;

/// The machine and its load at the beginning of the run.
#[derive(Debug)]
pub(crate) struct Machine {
    cpu: String,
    cores: usize,
    kernel: String,
    engine: String,
    load: f64,
}

impl Machine {
    pub(crate) fn look(ground: &Ground) -> Self {
        let cpu = read("/proc/cpuinfo");
        let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let load = read("/proc/loadavg");
        let facts = ground.engine.facts();
        Self {
            cpu: cpu.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.to_owned()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            engine: format!("{:?} {}", facts.kind, facts.version),
            load: load.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0.0),
        }
    }

    /// Says so where others are at work too.
    pub(crate) fn warn(&self) {
        if self.load > QUIET {
            eprintln!("warning: load average {}: other work falsifies what follows", self.load);
        }
    }

    fn json(&self, quick: bool) -> Value {
        json!({
            "cpu": self.cpu, "cores": self.cores, "kernel": self.kernel, "engine": self.engine,
            "load": self.load, "quick": quick,
        })
    }

    fn sentence(&self) -> String {
        let Self { cpu, cores, kernel, engine, load } = self;
        let noise = if *load > QUIET { ", **not quiet**" } else { "" };
        format!("{cpu}, {cores} cores, Linux {kernel}, {engine}; load average before the run {load}{noise}.")
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// A Markdown table, padded so that it can be read on a terminal too.
pub(crate) fn table(rows: &[Row]) -> String {
    let head = ["id", "what", "unit", "p50", "p95", "p99", "control", "its p50", "ratio", "bound", "ok"];
    let mut lines = vec![head.map(str::to_owned)];
    lines.extend(rows.iter().map(Row::cells));
    let mut widths = [0; 11];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    lines.insert(1, widths.map(|width| "-".repeat(width)));
    let mut text = String::new();
    for line in lines {
        for (cell, width) in line.iter().zip(widths) {
            text = format!("{text}| {cell:<width$} ");
        }
        text.push_str("|\n");
    }
    text
}

/// Writes `target/bench.json`, whose path it returns.
pub(crate) fn write_json(machine: &Machine, quick: bool, rows: &[Row]) -> Fallible<PathBuf> {
    let rows: Vec<Value> = rows.iter().map(Row::json).collect();
    let document = json!({ "machine": machine.json(quick), "rows": rows });
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| package().join("target"), PathBuf::from);
    let path = target.join("bench.json");
    std::fs::create_dir_all(&target)?;
    std::fs::write(&path, format!("{document:#}\n"))?;
    Ok(path)
}

/// Replaces the table in the specification.
pub(crate) fn write_specification(machine: &Machine, rows: &[Row]) -> Fallible<()> {
    let path = package().join("docs/specification.md");
    let text = std::fs::read_to_string(&path)?;
    let missing = || format!("{} has no place for the table", path.display());
    let (front, rest) = text.split_once(BEGIN).ok_or_else(missing)?;
    let (_, back) = rest.split_once(END).ok_or_else(missing)?;
    let fresh = format!("{front}{BEGIN}\n{}\n\n{}\n{END}{back}", machine.sentence(), table(rows));
    std::fs::write(&path, fresh)?;
    Ok(())
}

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
