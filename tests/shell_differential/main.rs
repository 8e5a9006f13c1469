//! What the analyser accepts is what real shells run: exactly the listed commands, with exactly the listed words, and nothing
//! else; and what is run in place of it does the same with its programs named by their paths.
//!
//! `CREEL_DIFFERENTIAL_CASES` (300) says how many texts are run, `CREEL_DIFFERENTIAL_SEED` (0) which.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests: a failure here is a failed test, and the shells are what is compared with"
)]

mod bench;
mod expected;
mod texts;

use std::cell::RefCell;

use creel::approvals::Command;
use creel::approvals::allowlist::Allowlist;
use creel::approvals::assess::{Assessed, Rules, assess};
use creel::approvals::enforce::enforce;
use creel::approvals::programs::HostPrograms;
use creel::approvals::safe_bins::SafeBins;
use creel::shell::analyse::Runs;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use bench::{Bench, Call, SHELLS};
use expected::{Expected, expected};

fn setting(name: &str, default: u32) -> u32 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Runs a property over texts, always the same ones.
fn check(
    share: u32,
    texts: impl Strategy<Value = String>,
    test: impl Fn(String) -> Result<(), TestCaseError>,
) {
    let cases = setting("CREEL_DIFFERENTIAL_CASES", 300) * share / 100;
    let mut seed = [0u8; 32];
    seed[..4].copy_from_slice(&setting("CREEL_DIFFERENTIAL_SEED", 0).to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let config =
        Config { cases, failure_persistence: None, max_global_rejects: cases * 200, ..Config::default() };
    TestRunner::new_with_rng(config, rng).run(&texts, test).unwrap();
}

/// How often each kind of comparison was made.
#[derive(Default)]
struct Counts {
    compared: usize,
    certain: usize,
    pinned: usize,
}

struct Lab {
    bench: RefCell<Bench>,
    counts: RefCell<Counts>,
}

impl Lab {
    fn new() -> Self {
        Self { bench: RefCell::new(Bench::new()), counts: RefCell::default() }
    }

    /// Compares one text; one that is not accepted says nothing.
    fn compare(&self, text: &str) -> Result<(), TestCaseError> {
        let judged = self.assess(text);
        let found = judged.analysis.as_ref().ok().and_then(|groups| expected(text, groups, false));
        let Some(expected) = found else { return Err(TestCaseError::reject("not accepted")) };
        for call in &expected.listed {
            self.bench.borrow_mut().program(call.first().map(String::as_str).unwrap_or_default());
        }
        self.counts.borrow_mut().compared += 1;
        self.counts.borrow_mut().certain += usize::from(expected.sure);
        for shell in SHELLS {
            let ran = self.bench.borrow().run(shell, text);
            agree(&format!("{shell} {text:?}"), &expected, &ran)?;
        }
        // Its programs are there by now.
        self.compare_pinned(text)
    }

    fn compare_pinned(&self, text: &str) -> Result<(), TestCaseError> {
        let judged = self.assess(text);
        let Some(expected) = judged.analysis.as_ref().ok().and_then(|groups| expected(text, groups, true))
        else {
            return Ok(());
        };
        let Ok(enforced) = enforce(&judged, false) else { return Ok(()) };
        self.counts.borrow_mut().pinned += 1;
        let expected = Expected { steps: short(expected.steps), listed: bare(expected.listed), ..expected };
        // A shell whose text was not judged command by command keeps it as it is.
        let kept = opaque(&judged);
        let bench = self.bench.borrow();
        match &enforced.command {
            Command::Argv(words) => {
                let ran = bare(bench.run_words(words, enforced.arg0.as_deref()));
                agree(&format!("{words:?}"), &expected, &ran)
            }
            Command::Shell(pinned) => SHELLS.iter().try_for_each(|shell| {
                let ran = bench.run(shell, pinned);
                let paths = kept || ran.iter().all(|call| call[0].starts_with('/'));
                prop_assert!(paths, "{shell} found a program of {pinned:?} by itself: {ran:?}");
                agree(&format!("{shell} {pinned:?} for {text:?}"), &expected, &bare(ran))
            }),
        }
    }

    fn assess(&self, text: &str) -> Assessed {
        let bench = self.bench.borrow();
        let (path, home) = (bench.bin().to_str().unwrap().to_owned(), bench.root().to_owned());
        let (list, safe) = (Allowlist::default(), SafeBins::default());
        let rules = Rules { allow: &list, deny: &list, safe: &safe, skills: &[], strict_inline: false };
        assess(text, &bench.cwd(), &rules, &HostPrograms::new(&path, Some(home)))
    }
}

/// Whether a shell's text stands for itself.
fn opaque(judged: &Assessed) -> bool {
    let groups = judged.analysis.as_deref().unwrap_or_default();
    let shells = groups.iter().flat_map(|group| &group.candidates);
    let read = shells.filter(|candidate| matches!(candidate.runs, Runs::Shell(_))).count();
    read > 0 && !judged.parts.iter().any(|part| part.nested)
}

/// Programs by their names, whatever their paths.
fn bare(calls: Vec<Call>) -> Vec<Call> {
    calls
        .into_iter()
        .map(|mut call| {
            if let Some(word) = call.first_mut() {
                *word = word.rsplit('/').next().unwrap_or_default().to_owned();
            }
            call
        })
        .collect()
}

fn short(steps: Vec<Vec<Call>>) -> Vec<Vec<Call>> {
    steps.into_iter().map(bare).collect()
}

/// Everything that ran was listed; where it is known what is reached, exactly that ran, in order.
fn agree(told: &str, expected: &Expected, ran: &[Call]) -> Result<(), TestCaseError> {
    let mut left = expected.listed.clone();
    for call in ran {
        let at = left.iter().position(|listed| listed == call);
        prop_assert!(at.is_some(), "{told} ran {call:?}; listed: {:?}", expected.listed);
        left.remove(at.unwrap());
    }
    if expected.sure {
        let mut rest = ran.to_vec();
        for step in &expected.steps {
            let mut now: Vec<Call> = rest.drain(..step.len().min(rest.len())).collect();
            let mut step = step.clone();
            now.sort();
            step.sort();
            prop_assert_eq!(&step, &now, "{} ran {:?}; expected {:?}", told, ran, &expected.steps);
        }
        prop_assert!(rest.is_empty(), "{told} ran {ran:?}; expected {:?}", expected.steps);
    }
    Ok(())
}

#[test]
fn shells_run_what_is_listed() {
    let lab = Lab::new();
    check(60, texts::made(), |text| lab.compare(&text));
    let counts = lab.counts.borrow();
    assert!(counts.certain * 3 > counts.compared, "{} of {}", counts.certain, counts.compared);
    assert!(counts.pinned * 3 > counts.compared, "{} of {}", counts.pinned, counts.compared);
}

/// The commands of the recorded verdicts, cut and joined.
#[test]
fn shells_run_what_is_listed_of_recorded_texts() {
    let lab = Lab::new();
    let root = lab.bench.borrow().root().to_str().unwrap().to_owned();
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/allowlist.json");
    let recorded: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let all = recorded["cases"].as_array().unwrap().iter();
    let mut texts: Vec<String> =
        all.filter_map(|case| case["command"].as_str()).map(|text| text.replace("${ROOT}", &root)).collect();
    texts.sort();
    texts.dedup();
    // Programs of the machine itself are not started.
    texts.retain(|text| !text.replace(&root, "").contains("/bin/") && text.len() < 2000);
    check(40, texts::recorded(texts), |text| {
        // A lock file and output of a wrapper are files.
        if ["flock", "nohup", "script"].iter().any(|word| text.contains(word)) {
            return Err(TestCaseError::reject("it makes a file"));
        }
        lab.compare(&text)
    });
}
