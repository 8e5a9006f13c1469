//! Class 4: safe bins.

use std::os::unix::fs::PermissionsExt as _;

use creel::approvals::allowlist::Allowlist;
use creel::approvals::assess::{By, Rules, assess};
use creel::approvals::programs::HostPrograms;
use creel::approvals::safe_bins::{Problem, SafeBins, writable};
use creel::config::reader::Set;
use creel::config::{SafeBinProfile, SafeBinSettings};

use crate::class3::Tree;

/// The usual safe bins and the two that are chosen, all of them in a trusted directory.
fn settings(tree: &Tree, names: &[&str]) -> SafeBinSettings {
    let keyed = |value| Set { value, key: "tools.exec.safeBins".to_owned() };
    SafeBinSettings {
        bins: Some(keyed(names.iter().map(|name| (*name).to_owned()).collect())),
        trusted_dirs: vec![Set { value: tree.at("usr").display().to_string(), key: String::new() }],
        ..SafeBinSettings::default()
    }
}

fn tree() -> Tree {
    let names = ["head", "tail", "cut", "tr", "wc", "grep", "sort", "jq", "awk", "python3", "cat"];
    let files: Vec<String> =
        names.iter().map(|name| format!("usr/{name}")).chain(["mine/head".to_owned()]).collect();
    Tree::new(&files.iter().map(String::as_str).collect::<Vec<_>>())
}

fn covers(tree: &Tree, settings: &SafeBinSettings, path: &[&str], text: &str) -> bool {
    let lookup: HostPrograms = tree.programs(path);
    let safe = SafeBins::new(settings, &lookup);
    let none = Allowlist::default();
    let rules = Rules { allow: &none, deny: &none, safe: &safe, skills: &[], strict_inline: false };
    let assessed = assess(text, &tree.root(), &rules, &lookup);
    assessed.satisfied && assessed.parts.iter().all(|part| part.by == By::SafeBin)
}

/// What is covered of these, and of the twins.
fn check(misses: &[&str], twins: &[&str]) {
    let tree = tree();
    let settings = settings(&tree, &["head", "tail", "cut", "tr", "wc", "grep", "sort"]);
    for text in misses {
        assert!(!covers(&tree, &settings, &["usr"], text), "{text}");
    }
    for text in twins {
        assert!(covers(&tree, &settings, &["usr"], text), "{text}");
    }
}

#[test]
fn a061_expansions() {
    check(
        &["head *", "tail $HOME/.ssh/config", "head ~/.netrc", "head -n {1,2}", "tail \"$HOME\"", "cut -f ?"],
        &["head -n 1", "tr -d '$'"],
    );
}

#[test]
fn a062_a063_flags_that_write_run_or_read() {
    check(
        &[
            "sort -o MARK",
            "grep -r x",
            "grep -R -e x",
            "sort --compress-program=./x -S1",
            "sort --compress-prog ./x",
            "sort -T /tmp",
            "sort --files0-from=x",
            "grep -f x",
            "tail -f",
            "wc --files0-from=x",
        ],
        &["sort -k1", "grep -e x", "sort -S 1"],
    );
}

#[test]
fn a065_a066_clusters() {
    check(
        &["sort -oMARK", "sort -k1 -oMARK", "tr -dZ x", "head -qZ", "cut -sQ -f1", "wc -lF"],
        &["cut -f1 -d, -z", "tr -ds x y", "head -qn1"],
    );
}

#[test]
fn a067_a_pattern_frees_an_operand() {
    check(
        &["grep -e x .env", "grep x", "grep --regexp=x file", "head -n 1 file"],
        &["grep -e x", "grep --regexp=x"],
    );
}

#[test]
fn a069_a_program_in_front() {
    let tree = tree();
    let settings = settings(&tree, &["head"]);
    assert!(!covers(&tree, &settings, &["mine", "usr"], "head -n 1"));
    assert!(covers(&tree, &settings, &["usr", "mine"], "head -n 1"));
    let untrusted = SafeBinSettings { trusted_dirs: Vec::new(), ..settings };
    assert!(!covers(&tree, &untrusted, &["usr"], "head -n 1"), "a directory of PATH is not trusted for that");
}

#[test]
fn a070_a_directory_into_which_others_write() {
    let tree = tree();
    let (usr, lookup) = (tree.at("usr"), tree.programs(&["usr"]));
    let safe = SafeBins::new(&settings(&tree, &["head"]), &lookup);
    let told = || writable(safe.directories()).contains(&usr);
    assert!(!told());
    std::fs::set_permissions(&usr, std::fs::Permissions::from_mode(0o777)).unwrap();
    assert!(told());
    // A link out of it is followed before anything is trusted.
    std::fs::remove_file(usr.join("head")).unwrap();
    std::os::unix::fs::symlink("../mine/head", usr.join("head")).unwrap();
    let safe = |name: &str| covers(&tree, &settings(&tree, &["head"]), &["usr"], name);
    assert!(safe("head -n 1"), "a trusted directory says what its programs are");
    let mine = tree.at("mine/head");
    assert!(!safe(&format!("{} file", mine.display())));
}

#[test]
fn a071_no_profile_for_any_name() {
    let tree = tree();
    let mut settings = settings(&tree, &["python3", "cat", "head"]);
    let problems = SafeBins::new(&settings, &tree.programs(&["usr"])).problems().to_vec();
    assert_eq!(problems, [Problem::Language("python3".to_owned()), Problem::NoProfile("cat".to_owned())]);
    settings.profiles.insert("python3".to_owned(), SafeBinProfile::default());
    for text in ["python3 -c 'print(1)'", "python3", "cat x", "cat"] {
        assert!(!covers(&tree, &settings, &["usr"], text), "{text}");
    }
    assert!(covers(&tree, &settings, &["usr"], "head -n 1"));
}

#[test]
fn a073_languages_are_never_safe_bins() {
    let tree = tree();
    let mut settings = settings(&tree, &["awk", "jq", "wc"]);
    settings
        .profiles
        .insert("awk".to_owned(), SafeBinProfile { max_positional: Some(2), ..SafeBinProfile::default() });
    assert!(!covers(&tree, &settings, &["usr"], "awk 1") && !covers(&tree, &settings, &["usr"], "jq ."));
    let problems = SafeBins::new(&settings, &tree.programs(&["usr"])).problems().len();
    assert_eq!(problems, 2, "both are told");
    assert!(covers(&tree, &settings, &["usr"], "wc -l"));
}

#[test]
fn a074_no_exceptions_for_a_text() {
    check(
        &["cat X && printf y && ./evil", "head -n 1 && ./evil", "./evil | head -n 1"],
        &["head -n 1 | wc -l"],
    );
}
