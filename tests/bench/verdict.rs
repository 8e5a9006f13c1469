//! What it costs to decide about one line: nothing is asked of the machine, what a look at it would say is at hand.

use std::collections::HashMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use creel::approvals::allowlist::{Allowlist, Subject};
use creel::approvals::assess::{Rules, assess};
use creel::approvals::document::Entry;
use creel::approvals::policy::{ModePolicy, judge};
use creel::approvals::programs::{Lookup, Program};
use creel::approvals::safe_bins::SafeBins;
use creel::config::SafeBinSettings;
use creel::config::exec::{Ask, Security};
use serde_json::Value;

use crate::Fallible;
use crate::ground::Scale;
use crate::row::Row;
use crate::stats::{Better, Series};

/// Microseconds that a verdict may take.
const MOST_US: f64 = 50.0;
/// How much more ten thousand entries may cost than ten.
const MOST_RATIO: f64 = 2.0;

/// The two rows.
pub(crate) fn rows(scale: Scale) -> Fallible<Vec<Row>> {
    Ok(vec![verdict(scale)?, entries(scale)?])
}

/// The files of the recordings, as they would be found.
struct Known {
    files: HashMap<PathBuf, PathBuf>,
    path: Vec<PathBuf>,
}

impl Known {
    fn of(file: &Value) -> Self {
        let mut files = HashMap::new();
        for entry in file["fixture"].as_array().into_iter().flatten() {
            let path = Path::new("/r").join(entry["path"].as_str().unwrap_or_default());
            let real = entry["target"].as_str().map_or_else(|| path.clone(), |to| path.with_file_name(to));
            files.insert(path, real);
        }
        Self { files, path: vec!["/r/usr/bin".into(), "/r/opt/tools/bin".into()] }
    }
}

impl Lookup for Known {
    fn program(&self, word: &str, dir: Option<&Path>) -> Option<Program> {
        let found = |path: PathBuf| {
            let real = self.files.get(&path)?.clone();
            Some(Program { invoked: path, real })
        };
        if word.contains('/') {
            return found(dir?.join(word));
        }
        self.path.iter().find_map(|directory| found(directory.join(word)))
    }

    fn file(&self, operand: &str, dir: Option<&Path>) -> Option<PathBuf> {
        self.files.get(&dir?.join(operand)).cloned()
    }

    fn directory(&self, path: &Path) -> Option<PathBuf> {
        Some(path.to_owned())
    }

    fn home(&self) -> Option<&Path> {
        Some(Path::new("/r/home/user"))
    }
}

/// Every recorded line and its own list.
fn cases(file: &Value, known: &Known) -> Vec<(String, Allowlist)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let entry = |entry: &Value| Entry {
        arg_pattern: entry["argPattern"].as_str().map(str::to_owned),
        ..Entry::of(text(&entry["pattern"]))
    };
    let case = |case: &Value| {
        let entries: Vec<Entry> = case["allowlist"].as_array().into_iter().flatten().map(entry).collect();
        let list = Allowlist::compile(&entries.iter().collect::<Vec<_>>(), known);
        (text(&case["command"]), list)
    };
    file["cases"].as_array().into_iter().flatten().map(case).collect()
}

fn verdict(scale: Scale) -> Fallible<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/allowlist.json");
    let text = std::fs::read_to_string(path)?.replace("${ROOT}", "/r");
    let file: Value = serde_json::from_str(&text)?;
    let known = Known::of(&file);
    let cases = cases(&file, &known);
    let safe = SafeBins::new(&SafeBinSettings::default(), &known).with_system(&[Path::new("/r/usr/bin")]);
    let deny = Allowlist::default();
    let (policy, cwd) =
        (ModePolicy::pair(Security::Allowlist, Ask::OnMiss), Path::new("/r/home/user/project"));
    let low = || Series::new(Better::Low);
    let (mut whole, mut read) = (low(), low());
    for _ in 0..scale.of(10, 2) {
        for (command, allow) in &cases {
            let rules = Rules { allow, deny: &deny, safe: &safe, skills: &[], strict_inline: false };
            let start = Instant::now();
            let assessed = assess(black_box(command), cwd, &rules, &known);
            black_box(judge(policy, &assessed.facts(false)));
            whole.push(start.elapsed().as_secs_f64() * 1e6);
            // What nobody can do without: to look at each character once.
            let start = Instant::now();
            black_box(black_box(command).chars().filter(|c| c.is_whitespace()).count());
            read.push(start.elapsed().as_secs_f64() * 1e6);
        }
    }
    Ok(Row {
        id: "verdict",
        what: format!("{} recorded lines", cases.len()),
        unit: "µs",
        control: "looking at each character once".to_owned(),
        control_p50: Some(read.p50()),
        ratio: None,
        bound: format!("p50 <= {MOST_US}"),
        ok: whole.p50() <= MOST_US,
        beyond_reach: false,
        series: whole,
    })
}

/// A list of which the last entry is the one that is meant.
fn long_list(count: usize) -> Allowlist {
    let known = Known { files: HashMap::new(), path: Vec::new() };
    let pattern = |at: usize| match at % 5 {
        0 => format!("tool-{at}"),
        1 => format!("/opt/tools/{at}/bin/tool"),
        2 => format!("~/projects/**/bin/tool-{at}"),
        3 => format!("/srv/{at}/bin/*"),
        _ => format!("name-{at}-*"),
    };
    let last = Entry { arg_pattern: Some("^status$".to_owned()), ..Entry::of("/usr/bin/git") };
    let entries: Vec<Entry> = (1..count).map(pattern).map(Entry::of).chain([last]).collect();
    Allowlist::compile(&entries.iter().collect::<Vec<_>>(), &known)
}

/// One program, looked for in a long list and in a short one.
fn entries(scale: Scale) -> Fallible<Row> {
    let (long, short) = (long_list(10_000), long_list(10));
    let program = Program { invoked: "/usr/bin/git".into(), real: "/usr/bin/git".into() };
    let arguments = ["status".to_owned()];
    let subject =
        Subject { word: "git", program: Some(&program), arguments: &arguments, dir: None, shell: false };
    if long.find(&subject) != Some(9_999) {
        return Err("the entry was not found".into());
    }
    let timed = |list: &Allowlist| {
        let start = Instant::now();
        for _ in 0..100 {
            black_box(list.find(black_box(&subject)));
        }
        start.elapsed().as_secs_f64() * 1e4
    };
    let low = || Series::new(Better::Low);
    let (mut of_long, mut of_short) = (low(), low());
    for _ in 0..scale.of(500, 100) {
        of_long.push(timed(&long));
        of_short.push(timed(&short));
    }
    let ratio = of_long.p50() / of_short.p50();
    Ok(Row {
        id: "allowlist-10k",
        what: "10,000 entries".to_owned(),
        unit: "µs",
        control: "10 entries".to_owned(),
        control_p50: Some(of_short.p50()),
        ratio: Some(ratio),
        bound: format!("<= {MOST_RATIO} x"),
        ok: ratio <= MOST_RATIO,
        beyond_reach: false,
        series: of_long,
    })
}
