//! Conformance with recorded verdicts: every case is equal, or different by a rule that
//! `docs/compatibility.md` lists.
//!
//! `cargo test --test conformance -- --nocapture` prints the table. `CREEL_VECTORS=<dir>` reads other files of
//! the same format. An area is one file in `areas/`, entered in [`areas::all`].

#[cfg(test)]
mod areas;
#[cfg(test)]
mod harness;

#[cfg(test)]
mod tests {
    use super::{areas, harness};

    /// The table, and nothing unexplained.
    #[test]
    fn recorded_verdicts() {
        let table = harness::run(&harness::vectors(), &areas::all());
        println!("{table}");
        assert!(!table.rows.is_empty(), "no vectors found");
        let unexplained: Vec<_> = table.rows.iter().flat_map(|row| &row.unexplained).collect();
        assert!(unexplained.is_empty(), "{} unexplained: {unexplained:#?}", unexplained.len());
    }

    /// Every deviation is told to the reader of the documentation.
    #[test]
    fn every_rule_is_documented() {
        let page = std::fs::read_to_string(harness::package().join("docs/compatibility.md")).unwrap();
        for rule in areas::all().iter().flat_map(|area| area.rules()) {
            let row = format!("| `{}` |", rule.name);
            assert!(page.contains(&row), "docs/compatibility.md has no row for {}", rule.name);
        }
    }

    /// A difference that no rule covers is never passed over.
    #[test]
    fn a_difference_without_a_rule_is_unexplained() {
        struct Always;
        impl harness::Area for Always {
            fn name(&self) -> &'static str {
                "x"
            }
            fn judge(&self, case: &harness::Case<'_>) -> harness::Judgement {
                harness::Judgement::Differs { creel: case.expect.clone(), kind: harness::Difference::Looser }
            }
            fn rules(&self) -> &'static [harness::Rule] {
                &[harness::Rule { name: "r", direction: harness::Direction::Stricter, applies: |_| true }]
            }
        }
        let dir = tempfile::tempdir().unwrap();
        let text = r#"{"format": "creel-vectors/x/1", "cases": [{"id": "1", "input": {}, "expect": {}}]}"#;
        std::fs::write(dir.path().join("x.json"), text).unwrap();
        let table = harness::run(dir.path(), &[Box::new(Always)]);
        assert_eq!(table.rows[0].unexplained.len(), 1, "a rule for stricter verdicts excused a looser one");
        let table = harness::run(dir.path(), &[]);
        assert_eq!((table.rows[0].not_covered, table.rows[0].cases), (1, 1));
    }
}
