//! Reads vectors, lets each area judge its file, sorts the differences by rule.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// One recorded case.
pub(crate) struct Case<'a> {
    /// The case's `kind`, empty where the file has one kind only.
    pub(crate) kind: &'a str,
    /// Its input.
    pub(crate) input: &'a Value,
    /// What upstream answered.
    pub(crate) expect: &'a Value,
    /// The whole file, for fixtures.
    pub(crate) file: &'a Value,
}

/// How creel's verdict differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Difference {
    /// It refuses what upstream accepts, or refuses for another reason.
    Stricter,
    /// It accepts what upstream refuses.
    Looser,
    /// Both accept, with another result.
    Other,
}

/// One way in which a verdict of many parts differs; each needs a rule of its own.
pub(crate) struct Facet {
    /// The part.
    pub(crate) part: String,
    /// What upstream has there.
    pub(crate) upstream: Value,
    /// What creel has there.
    pub(crate) creel: Value,
    /// How it differs.
    pub(crate) kind: Difference,
}

/// What an area makes of a case.
pub(crate) enum Judgement {
    /// The same verdict.
    Equal,
    /// Another verdict, which a rule must explain.
    Differs {
        /// creel's verdict.
        creel: Value,
        /// How it differs.
        kind: Difference,
    },
    /// A verdict of many parts, some of which differ; none means equal.
    Facets(Vec<Facet>),
    /// This kind of case is not judged yet.
    NotCovered,
}

/// Which differences a rule may explain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// creel refuses more.
    Stricter,
    /// creel accepts more.
    Looser,
    /// Neither: another answer to the same question.
    Other,
}

/// What a rule looks at: never an id.
pub(crate) struct Facts<'a> {
    /// The part of the verdict that differs; empty where it is judged as a whole.
    pub(crate) part: &'a str,
    /// The case's kind.
    pub(crate) kind: &'a str,
    /// Its input.
    pub(crate) input: &'a Value,
    /// Upstream's verdict.
    pub(crate) upstream: &'a Value,
    /// creel's verdict.
    pub(crate) creel: &'a Value,
}

/// A deliberate deviation, listed in `docs/compatibility.md` under its name.
pub(crate) struct Rule {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it may explain.
    pub(crate) direction: Direction,
    /// Whether it explains a case.
    pub(crate) applies: fn(&Facts<'_>) -> bool,
}

/// One file of vectors and how creel answers it.
pub(crate) trait Area {
    /// The area in the file's `format` (`creel-vectors/<area>/1`).
    fn name(&self) -> &'static str;
    /// Judges one case.
    fn judge(&self, case: &Case<'_>) -> Judgement;
    /// The deviations of the area.
    fn rules(&self) -> &'static [Rule];
}

/// The line of one file.
#[derive(Default)]
pub(crate) struct Row {
    pub(crate) file: String,
    pub(crate) cases: usize,
    pub(crate) equal: usize,
    pub(crate) stricter: usize,
    pub(crate) looser: usize,
    pub(crate) other: usize,
    pub(crate) not_covered: usize,
    pub(crate) by_rule: BTreeMap<&'static str, usize>,
    pub(crate) unexplained: Vec<String>,
}

/// All lines.
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
}

/// The package's directory.
pub(crate) fn package() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The directory of vectors: `CREEL_VECTORS`, else the one in the package.
pub(crate) fn vectors() -> PathBuf {
    std::env::var_os("CREEL_VECTORS").map_or_else(|| package().join("tests/vectors"), PathBuf::from)
}

/// Judges every file in `dir`.
pub(crate) fn run(dir: &Path, areas: &[Box<dyn Area>]) -> Table {
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap_or_else(|error| panic!("{}: {error}", dir.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    files.sort();
    Table { rows: files.iter().map(|path| row(path, areas)).collect() }
}

fn row(path: &Path, areas: &[Box<dyn Area>]) -> Row {
    let text = std::fs::read_to_string(path).unwrap();
    let file: Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let format = file["format"].as_str().unwrap_or_default();
    let name = format.strip_prefix("creel-vectors/").and_then(|rest| rest.strip_suffix("/1"));
    let area = areas.iter().find(|area| Some(area.name()) == name);
    let cases = file["cases"].as_array().map_or(&[][..], Vec::as_slice);
    let mut row = Row {
        file: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        cases: cases.len(),
        ..Row::default()
    };
    match area {
        None => row.not_covered = cases.len(),
        Some(area) => cases.iter().for_each(|case| row.count(&**area, &file, case)),
    }
    row
}

impl Row {
    fn count(&mut self, area: &dyn Area, file: &Value, recorded: &Value) {
        let case = Case {
            kind: recorded["kind"].as_str().unwrap_or_default(),
            // Some files have the input beside the verdict.
            input: recorded.get("input").unwrap_or(recorded),
            expect: &recorded["expect"],
            file,
        };
        let id = &recorded["id"];
        match area.judge(&case) {
            Judgement::Equal => self.equal += 1,
            Judgement::NotCovered => self.not_covered += 1,
            Judgement::Differs { creel, kind } => {
                let facet = Facet { part: String::new(), upstream: case.expect.clone(), creel, kind };
                self.explain(area, &case, &[facet], id);
            }
            Judgement::Facets(facets) if facets.is_empty() => self.equal += 1,
            Judgement::Facets(facets) => self.explain(area, &case, &facets, id),
        }
    }

    /// A case is explained when each of its differences is; it counts as what the worst of them is.
    fn explain(&mut self, area: &dyn Area, case: &Case<'_>, facets: &[Facet], id: &Value) {
        let mut rules = Vec::new();
        for facet in facets {
            let Facet { part, upstream, creel, kind } = facet;
            let facts = Facts { part, kind: case.kind, input: case.input, upstream, creel };
            let may = |rule: &&Rule| match rule.direction {
                Direction::Stricter => *kind == Difference::Stricter,
                Direction::Looser => *kind == Difference::Looser,
                Direction::Other => *kind == Difference::Other,
            };
            let Some(rule) = area.rules().iter().filter(may).find(|rule| (rule.applies)(&facts)) else {
                let input = case.input.get("config").unwrap_or(case.input);
                self.unexplained
                    .push(format!("{id} {kind:?} {part} {input}: upstream {upstream}, creel {creel}"));
                return;
            };
            rules.push(rule);
        }
        let any = |direction| rules.iter().any(|rule| rule.direction == direction);
        match (any(Direction::Looser), any(Direction::Stricter)) {
            (true, _) => self.looser += 1,
            (false, true) => self.stricter += 1,
            (false, false) => self.other += 1,
        }
        for rule in rules {
            *self.by_rule.entry(rule.name).or_default() += 1;
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<22}{:>7}{:>7}{:>18}{:>16}{:>15}{:>13}{:>17}",
            "file",
            "cases",
            "equal",
            "stricter-by-rule",
            "looser-by-rule",
            "other-by-rule",
            "unexplained",
            "not yet covered"
        )?;
        for row in &self.rows {
            writeln!(
                f,
                "{:<22}{:>7}{:>7}{:>18}{:>16}{:>15}{:>13}{:>17}",
                row.file,
                row.cases,
                row.equal,
                row.stricter,
                row.looser,
                row.other,
                row.unexplained.len(),
                row.not_covered
            )?;
            for (rule, count) in &row.by_rule {
                writeln!(f, "    {count:>5}  {rule}")?;
            }
        }
        Ok(())
    }
}
