//! Directories as they are on a disk: where `cd` has led counts, not what its operand says.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::*;
use crate::approvals::allowlist::{DIRECTORY, bound_pattern};
use crate::approvals::binding::{BindError, Role, pin};
use crate::approvals::document::{Entry, Source};
use crate::approvals::enforce::enforce;
use crate::approvals::programs::HostPrograms;
use crate::paths::hold::hold;
use crate::paths::resolve::resolve;

/// `w` where commands begin, with a directory `sub`, and `link` that leads to `away`; a program in all of them.
struct Place {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("creel-dirs-").tempdir_in("/tmp").unwrap();
        let root = resolve(dir.path()).unwrap();
        for sub in ["w/sub", "away/deep", "bin"] {
            std::fs::create_dir_all(root.join(sub)).unwrap();
        }
        for tool in ["bin/tool", "w/sub/own", "away/own", "away/deep/own"] {
            std::fs::write(root.join(tool), "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(root.join(tool), std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        symlink("../away", root.join("w/link")).unwrap();
        Self { _dir: dir, root }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn lookup(&self) -> HostPrograms {
        HostPrograms::new(self.at("bin").to_str().unwrap(), None)
    }

    fn judged(&self, entry: &Entry, text: &str) -> Assessed {
        let lookup = self.lookup();
        let allow = Allowlist::compile(&[entry], &lookup);
        let (deny, safe) = (Allowlist::default(), SafeBins::default().with_system(&[Path::new("/usr/bin")]));
        let rules = Rules { allow: &allow, deny: &deny, safe: &safe, skills: &[], strict_inline: false };
        assess(text, &self.at("w"), &rules, &lookup)
    }

    fn covered(&self, entry: &Entry, text: &str) -> bool {
        self.judged(entry, text).satisfied
    }
}

#[test]
fn a_limit_to_a_directory_holds_behind_links() {
    let place = Place::new();
    let mut entry = Entry::of("tool");
    entry.unknown.insert(DIRECTORY.to_owned(), place.at("w").to_str().unwrap().into());
    for inside in ["tool", "cd sub && tool", "cd link; tool; true"] {
        let wanted = !inside.contains("link");
        assert_eq!(place.covered(&entry, inside), wanted, "{inside}");
    }
    for outside in
        ["cd link && tool", "cd link/deep && tool", "cd link && cd deep && tool", "cd none && tool"]
    {
        assert!(!place.covered(&entry, outside), "{outside}");
    }
    let inner = format!("cd link && {} -c 'cd deep && tool'", "/bin/sh");
    assert!(!place.covered(&entry, &inner));
    // The entry of the directory to which the link leads.
    entry.unknown.insert(DIRECTORY.to_owned(), place.at("away").to_str().unwrap().into());
    assert!(place.covered(&entry, "cd link && tool") && place.covered(&entry, "cd link/deep && tool"));
    // Without a limit nothing changes.
    assert!(place.covered(&Entry::of("tool"), "cd link && tool"));
    assert!(place.covered(&Entry::of("tool"), "cd none && tool"));
}

#[test]
fn what_was_approved_for_good_in_a_directory() {
    let place = Place::new();
    let bound = |dir: &str| Entry {
        arg_pattern: Some(bound_pattern(place.at(dir).to_str().unwrap(), &[])),
        source: Source::AllowAlways,
        ..Entry::of(place.at("bin/tool").to_str().unwrap())
    };
    assert!(place.covered(&bound("w/sub"), "cd sub && tool"));
    assert!(!place.covered(&bound("w/link"), "cd link && tool"));
    assert!(place.covered(&bound("away"), "cd link && tool"));
}

#[test]
fn the_directory_that_was_judged_is_bound_by_its_name() {
    let place = Place::new();
    let own = Entry::of(place.at("away/own").to_str().unwrap());
    let assessed = place.judged(&own, "cd link && ./own");
    assert!(assessed.satisfied);
    let enforced = enforce(&assessed, false).unwrap();
    let held = hold(&place.at("w")).unwrap();
    let binding = pin(&assessed, &enforced, &held, &[], &place.lookup()).unwrap();
    let described = binding.describe();
    let directory = described.files.iter().find(|file| file.role == Role::Directory).unwrap();
    assert_eq!(Path::new(&directory.path), place.at("w/link"));
    assert_eq!(Path::new(&directory.real), place.at("away"));
    assert_eq!(binding.verify(&place.lookup()), Ok(()));
    std::fs::remove_file(place.at("w/link")).unwrap();
    symlink("sub", place.at("w/link")).unwrap();
    assert_eq!(binding.verify(&place.lookup()), Err(BindError::Cwd));
}
