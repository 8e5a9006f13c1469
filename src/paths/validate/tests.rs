//! The verified cases of spec `sandbox.md` §6.6 and the advisories on mounts, and properties over random trees.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::super::deny::{DenyEnv, DenyList};
use super::super::resolve::resolve;
use super::*;

struct Tree {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Tree {
    fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("creel-bind").tempdir_in("/tmp").unwrap();
        let root = resolve(dir.path()).unwrap();
        for name in ["ws/sub", "outside", "home/.ssh", "home/project", "home/.kube"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        for (target, name) in [
            ("/etc", "ws/link"),
            ("/var/run", "ws/runlink"),
            ("../outside", "ws/out"),
            ("../home/.ssh", "ws/ssh"),
            ("/run/nothing-here", "ws/dangling"),
            ("loop", "ws/loop"),
            ("ws", "alias"),
        ] {
            symlink(target, root.join(name)).unwrap();
        }
        Self { _dir: dir, root }
    }

    fn policy(&self) -> BindPolicy {
        let env = DenyEnv { homes: vec![self.root.join("home")], ..DenyEnv::default() };
        BindPolicy::new(DenyList::new(&env), &[self.root.join("ws")])
    }

    fn rule(&self, bind: &str, policy: &BindPolicy) -> String {
        // Only at the front: the directory's own random name may hold either letter.
        let bind = match bind.split_at(1) {
            ("R", rest) => format!("{}{rest}", self.root.join("ws").display()),
            ("T", rest) => format!("{}{rest}", self.root.display()),
            _ => bind.to_owned(),
        };
        match validate(&bind, "k", policy) {
            Ok(_) => "ok".to_owned(),
            Err(error) => error.refusal.rule(),
        }
    }
}

#[test]
fn verified_cases() {
    let tree = Tree::new();
    let policy = tree.policy();
    for (bind, wanted) in [
        ("R/sub:/data:ro", "ok"),
        ("R/missing/deep:/data", "ok"),
        ("R/../ws:/x", "ok"),
        ("R//sub/./:/x/", "ok"),
        ("R:/workspacex", "ok"),
        ("/etc:/x", "bind-denied-upstream"),
        ("/etc/passwd:/x:ro", "bind-denied-upstream"),
        ("/root/foo:/x", "bind-denied-upstream"),
        ("/dev/null:/x", "bind-denied-upstream"),
        ("/:/x", "bind-denied-root"),
        ("/etc/..:/h", "bind-denied-root"),
        ("/var:/x", "bind-denied-upstream"),
        ("/var/run/docker.sock:/s", "bind-denied-upstream"),
        ("/run:/r:ro", "bind-denied-upstream"),
        ("T/home:/x", "bind-denied-upstream"),
        ("T/home/.ssh:/x", "bind-denied-upstream"),
        ("T/home/.sshx:/x", "bind-outside-roots"),
        ("R/link:/x", "bind-denied-upstream"),
        ("R/link/newdir:/x", "bind-denied-upstream"),
        ("R/runlink/newfile:/x", "bind-denied-upstream"),
        ("R/ssh:/x", "bind-denied-upstream"),
        ("R/out:/x", "bind-outside-roots"),
        ("R/out/new:/x", "bind-outside-roots"),
        ("T/alias/sub:/x", "bind-outside-roots"),
        ("R/dangling:/x", "bind-unresolvable"),
        ("R/dangling/x:/x", "bind-unresolvable"),
        ("R/loop:/x", "bind-unresolvable"),
        ("R:/workspace", "bind-reserved-target"),
        ("R:/workspace/sub", "bind-reserved-target"),
        ("R:/agent", "bind-reserved-target"),
        ("R:/workspace/../workspace", "bind-reserved-target"),
        ("R:/.creel/bin", "bind-reserved-target"),
        ("R:/proc/1", "bind-kernel-target"),
    ] {
        assert_eq!(tree.rule(bind, &policy), wanted, "{bind}");
    }
}

#[test]
fn flags_open_what_they_name_and_nothing_else() {
    let tree = Tree::new();
    let policy = tree.policy().allow_external(true).allow_reserved(true);
    assert_eq!(tree.rule("T/outside:/x", &policy), "ok");
    assert_eq!(tree.rule("R/out:/x", &policy), "ok");
    assert_eq!(tree.rule("R:/workspace/sub", &policy), "ok");
    assert_eq!(tree.rule("R:/.creel", &policy), "bind-reserved-target");
    assert_eq!(tree.rule("T/home/.kube:/x", &policy), "bind-denied-home-credentials");
    assert_eq!(tree.rule("/etc:/x", &policy), "bind-denied-upstream");
    assert_eq!(tree.rule("R/dangling:/x", &policy), "bind-unresolvable");
}

#[test]
fn the_real_working_directory_and_its_ancestors_are_reserved() {
    let tree = Tree::new();
    let policy = tree.policy().reserve(["/srv/work/"]);
    assert_eq!(tree.rule("R:/srv/work/x", &policy), "bind-reserved-target");
    assert_eq!(tree.rule("R:/srv", &policy), "bind-reserved-target");
    assert_eq!(tree.rule("R:/srv/other", &policy), "ok");
}

/// Nothing of it could be copied, so nobody is told to.
#[test]
fn what_is_no_file_is_not_to_be_copied() {
    use crate::error::Diagnose as _;
    let tree = Tree::new();
    let _socket = std::os::unix::net::UnixListener::bind(tree.root.join("home/.ssh/agent.sock")).unwrap();
    symlink(tree.root.join("home/.ssh/agent.sock"), tree.root.join("ws/agent")).unwrap();
    let fix = |source: &str| validate(&format!("{source}:/x"), "k", &tree.policy()).unwrap_err().report().fix;
    let in_tree = |name: &str| fix(&tree.root.join(name).to_string_lossy());
    for socket in [in_tree("home/.ssh/agent.sock"), in_tree("ws/agent")] {
        assert!(socket.contains("Run what needs it outside the sandbox"), "{socket}");
    }
    assert!(fix("/dev/null").contains("docker.gpus"));
    assert!(in_tree("home/.ssh").contains("copy what is needed"));
}

#[test]
fn a_socket_is_refused_wherever_it_lies() {
    let tree = Tree::new();
    let _socket = std::os::unix::net::UnixListener::bind(tree.root.join("ws/engine.sock")).unwrap();
    assert_eq!(tree.rule("R/engine.sock:/s:ro", &tree.policy()), "bind-special-file");
}

#[test]
fn targets_that_the_image_or_a_tmpfs_needs() {
    let tree = Tree::new();
    let policy = tree.policy().scratch(["/tmp", "/var/tmp"], false).scratch(["/home/creel"], true);
    for (bind, wanted) in [
        ("R/sub:/etc", "bind-system-target"),
        ("R/sub:/usr/local/bin/x:ro", "bind-system-target"),
        ("R/sub:/bin/../lib64/", "bind-system-target"),
        ("R/sub:/etcetera", "ok"),
        ("R/sub:/opt/bin", "ok"),
        ("R/sub:/tmp", "bind-scratch-target"),
        ("R/sub:/tmp/../tmp/", "bind-scratch-target"),
        ("R/sub:/var", "bind-scratch-target"),
        ("R/sub:/tmp/data", "ok"),
        ("R/sub:/tmpdata", "ok"),
        ("R/sub:/home/creel", "ok"),
        ("R/sub:/home/creel/.cache", "ok"),
        ("R/sub:/home", "bind-scratch-target"),
    ] {
        assert_eq!(tree.rule(bind, &policy), wanted, "{bind}");
    }
    let flagged = policy.allow_reserved(true);
    assert_eq!(tree.rule("R/sub:/etc/x", &flagged), "ok");
    assert_eq!(tree.rule("R/sub:/proc/x", &flagged), "bind-kernel-target");
    assert_eq!(tree.rule("R/sub:/tmp", &flagged), "bind-scratch-target");
}

#[test]
fn refusal_tells_rule_key_paths_and_fix() {
    use crate::error::Diagnose as _;
    let tree = Tree::new();
    let written = format!("{}/ws/link/x:/x", tree.root.display());
    let error = validate(&written, "agents.defaults.sandbox.docker.binds[0]", &tree.policy()).unwrap_err();
    let report = error.report();
    assert_eq!(report.code, "CRL-BIND-003");
    assert!(report.message.contains(&written) && report.message.contains("/etc/x"), "{}", report.message);
    assert_eq!(
        report.rule.as_deref(),
        Some("bind-denied-upstream at agents.defaults.sandbox.docker.binds[0]")
    );
    assert!(!report.fix.is_empty());
}

#[test]
fn all_refusals_come_at_once() {
    let tree = Tree::new();
    let refused = validate_all([("/etc:/a", "b[0]"), ("x", "b[1]")], &tree.policy()).unwrap_err();
    assert_eq!(refused.iter().map(|error| error.key.as_str()).collect::<Vec<_>>(), ["b[0]", "b[1]"]);
}

#[test]
fn no_root_means_nothing_is_allowed() {
    let tree = Tree::new();
    let policy = BindPolicy::new(DenyList::new(&DenyEnv::default()), &["ws".into()]);
    assert_eq!(tree.rule("R/sub:/x", &policy), "bind-outside-roots");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(300))]
    /// Whatever names are strung together: what is accepted resolves inside the root and meets no denied path.
    #[test]
    fn accepted_binds_stay_inside(parts in proptest::collection::vec(
        proptest::sample::select(vec![
            "ws", "sub", "..", ".", "link", "out", "ssh", "alias", "home", ".ssh", "dangling", "loop", "new", "",
            "runlink", "passwd", "outside",
        ]), 0..7), from_ws in proptest::bool::ANY, tail in "(:/[a-z./]{0,8}(:ro)?)?")
    {
        let tree = Tree::new();
        let start = if from_ws { tree.root.join("ws") } else { tree.root.clone() };
        let bind = format!("{}/{}{tail}", start.display(), parts.join("/"));
        if let Ok(valid) = validate(&bind, "k", &tree.policy()) {
            let resolved = Path::new(&valid.source_resolved);
            assert!(resolved.starts_with(tree.root.join("ws")), "{bind} -> {resolved:?}");
            assert_eq!(resolve(resolved).unwrap(), resolved, "resolved once is resolved for good");
            let env = DenyEnv { homes: vec![tree.root.join("home")], ..DenyEnv::default() };
            assert!(DenyList::new(&env).hit(resolved, &[]).is_none());
        }
    }

    #[test]
    fn validate_never_panics(text in "\\PC{0,60}") {
        let policy = BindPolicy::new(DenyList::default(), &[]);
        let _ = validate(&text, "k", &policy);
    }
}
