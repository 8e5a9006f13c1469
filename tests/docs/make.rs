//! The Makefile finds what cargo built, wherever that is.

use std::process::Command;

use crate::page::root;

/// What `make` would run for a target.
#[expect(clippy::disallowed_methods, reason = "asks make, as a person does")]
fn plan(target: &str, dir: Option<&str>) -> String {
    let mut make = Command::new("make");
    make.args(["-n", "-B", target])
        .current_dir(root())
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("MAKEFLAGS");
    make.envs(dir.map(|dir| ("CARGO_TARGET_DIR", dir)));
    let done = make.output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn the_target_directory_is_the_one_that_cargo_uses() {
    let plain = plan("install", None);
    let moved = plan("install", Some("/else where"));
    for part in ["\"target/init\"", "\"target/release/creel\"", "\"target/init/init/creel-init\""] {
        assert!(plain.contains(part), "{part} in {plain}");
        let part = part.replace("target/", "/else where/");
        assert!(moved.contains(&part), "{part} in {moved}");
    }
    assert!(!moved.contains("\"target/"), "{moved}");
    let script = std::fs::read_to_string(root().join(".ci/run")).unwrap();
    assert!(script.contains("${CARGO_TARGET_DIR:-target}"), "the log and the binary lie elsewhere");
}
