//! One line of the result: a quantity, its control, its bound.

use serde_json::{Value, json};

use crate::stats::Series;

/// A measured row. Several rows may share an id: one bound of the design each, told apart by `control`.
#[derive(Debug)]
pub(crate) struct Row {
    /// The design's name for it.
    pub(crate) id: &'static str,
    /// Which part of the row, for people.
    pub(crate) what: String,
    /// Unit of all numbers but the ratio.
    pub(crate) unit: &'static str,
    /// What creel took.
    pub(crate) series: Series,
    /// What it is compared with.
    pub(crate) control: String,
    /// Median of that.
    pub(crate) control_p50: Option<f64>,
    /// creel over control, or control over creel where the bound says so.
    pub(crate) ratio: Option<f64>,
    /// The bound in words.
    pub(crate) bound: String,
    /// It is met.
    pub(crate) ok: bool,
    /// Where it is missed: the controls of this machine leave no room for it, so that it says nothing of creel.
    pub(crate) beyond_reach: bool,
}

impl Row {
    /// The row as `bench.json` has it.
    pub(crate) fn json(&self) -> Value {
        json!({
            "id": self.id,
            "unit": self.unit,
            "p50": round(self.series.p50()),
            "p95": round(self.series.p(95)),
            "p99": round(self.series.p(99)),
            "control": format!("{}: {}", self.what, self.control),
            "control_p50": self.control_p50.map(round),
            "ratio": self.ratio.map(round),
            "bound": self.bound,
            "ok": self.ok,
        })
    }

    /// The row as a line of the table.
    pub(crate) fn cells(&self) -> [String; 11] {
        let optional = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), short);
        [
            format!("`{}`", self.id),
            self.what.clone(),
            self.unit.to_owned(),
            short(self.series.p50()),
            short(self.series.p(95)),
            short(self.series.p(99)),
            self.control.clone(),
            optional(self.control_p50),
            optional(self.ratio),
            self.bound.clone(),
            match (self.ok, self.beyond_reach) {
                (true, _) => "yes",
                (false, true) => "no, beyond reach here",
                (false, false) => "**no**",
            }
            .to_owned(),
        ]
    }
}

fn round(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// Three digits that matter.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}
