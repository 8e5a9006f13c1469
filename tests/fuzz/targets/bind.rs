//! Bind specifications: what the parser and the validator accept must keep every rule that they state.

#![no_main]

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use creel::paths::deny::{DenyEnv, DenyList};
use creel::paths::validate::validate;
use creel::paths::{BindPolicy, BindSpec};

static DENY: LazyLock<DenyList> = LazyLock::new(|| {
    DenyList::new(&DenyEnv {
        homes: vec![PathBuf::from("/home/fuzz")],
        state_dir: Some(PathBuf::from("/home/fuzz/.openclaw")),
        named: vec![PathBuf::from("/srv/secret")],
    })
});

/// Every flag open: what is still refused is refused to everybody.
static OPEN: LazyLock<BindPolicy> = LazyLock::new(|| {
    BindPolicy::new(DENY.clone(), &[PathBuf::from("/srv")]).allow_reserved(true).allow_external(true)
});
static SHUT: LazyLock<BindPolicy> =
    LazyLock::new(|| BindPolicy::new(DENY.clone(), &[PathBuf::from("/srv")]).reserve(["/srv/work"]));

libfuzzer_sys::fuzz_target!(|text: &str| {
    let parsed = BindSpec::parse(text);
    if let Ok(spec) = &parsed {
        sound(&spec.source, &spec.target);
        let options = if spec.read_only { "ro" } else { "rw" };
        let again = BindSpec::parse(&format!("{}:{}:{options}", spec.source, spec.target));
        let again = again.expect("an accepted bind written out again is accepted");
        assert_eq!((&again.source, &again.target), (&spec.source, &spec.target));
    }
    let open = validate(text, "fuzz", &OPEN);
    if let Ok(bind) = &open {
        assert!(parsed.is_ok(), "valid, but not a bind");
        sound(&bind.source_resolved, &bind.target);
        assert!(DENY.hit(Path::new(&bind.source_resolved), &[]).is_none(), "{bind:?} is denied");
        for kernel in ["/proc", "/sys", "/dev", "/.creel"] {
            assert!(!Path::new(&bind.target).starts_with(kernel), "{bind:?} covers {kernel}");
        }
    }
    if let Ok(bind) = validate(text, "fuzz", &SHUT) {
        assert!(open.is_ok(), "a flag has closed something: {bind:?}");
        assert!(Path::new(&bind.source_resolved).starts_with("/srv"), "{bind:?} is outside the root");
        for reserved in ["/workspace", "/agent", "/srv/work"] {
            let (target, reserved) = (Path::new(&bind.target), Path::new(reserved));
            assert!(!target.starts_with(reserved) && !reserved.starts_with(target), "{bind:?}");
        }
    }
});

fn sound(source: &str, target: &str) {
    for path in [source, target] {
        assert!(
            path.starts_with('/') && !path.contains(':') && !path.chars().any(char::is_control),
            "{path:?}"
        );
    }
    let target = Path::new(target);
    assert!(target.parent().is_some(), "the root is no target");
    let plain = |part| matches!(part, std::path::Component::RootDir | std::path::Component::Normal(_));
    assert!(target.components().all(plain), "{target:?} is not clean");
}
