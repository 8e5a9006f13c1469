//! Checks of the engine and of images. Pure.

use super::facts::{EngineLook, ImageLook};
use super::finding::Finding;

/// What every engine that creel can use is built on.
const SOCKET_RULE: &str = "built-in: the engine is found as the docker client finds it";

/// `used` says whether any session runs in a sandbox by configuration, `limited` what some sandbox has a limit on.
pub(super) fn checks(look: &EngineLook, used: bool, limited: &[&str]) -> Vec<Finding> {
    let mut all = Vec::new();
    let (facts, error) = (&look.facts, &look.error);
    if let Some(error) = error {
        let all_tried: Vec<String> = look.tried.iter().map(ToString::to_string).collect();
        let tried =
            if all_tried.is_empty() { String::new() } else { format!("; tried {}", all_tried.join("; ")) };
        // The error of an engine that was not found lists the places itself.
        let named = look.tried.first().is_some_and(|first| error.message.contains(&first.endpoint));
        let what = if named { error.message.clone() } else { format!("{}{tried}", error.message) };
        let finding = Finding::without_sandbox(used, "engine.unavailable", what).fix(error.fix.clone());
        all.push(finding.rule(error.rule.clone().unwrap_or_else(|| SOCKET_RULE.to_owned())));
    }
    let Some(facts) = facts else { return all };
    all.push(Finding::ok(
        "engine.found",
        format!(
            "{} {} (API {}) at {} ({})",
            facts.kind, facts.version, facts.api_version, facts.endpoint, facts.origin
        ),
    ));
    all.extend(
        look.tried.iter().map(|attempt| Finding::note("engine.tried", format!("tried before: {attempt}"))),
    );
    if !facts.local {
        all.push(
            Finding::error(
                "engine.remote",
                format!("the engine at {} is on another machine", facts.endpoint),
            )
            .rule("built-in: init needs a shared file system")
            .fix("use the engine of this machine, over its unix socket"),
        );
    }
    let Some(can) = &look.capabilities else { return all };
    let has =
        |name: &str| can.security_options.iter().any(|option| option.split(',').any(|part| part == name));
    let rule = "built-in: what is not enforced refuses the sandbox";
    if has("name=seccomp") {
        all.push(Finding::ok("engine.seccomp", "system calls are filtered by the engine's profile"));
    } else {
        all.push(
            Finding::error("engine.seccomp", "the engine filters no system calls")
                .rule(rule)
                .fix("use an engine and a kernel with seccomp"),
        );
    }
    if !has("name=apparmor") {
        all.push(Finding::note(
            "engine.apparmor",
            "the engine uses no AppArmor; the other measures hold without it",
        ));
    }
    let limits = [
        ("memory", can.memory_limit),
        ("swap", can.swap_limit),
        ("pids", can.pids_limit),
        ("cpu", can.cpu_quota),
    ];
    let missing: Vec<&str> = limits.iter().filter(|limit| !limit.1).map(|limit| limit.0).collect();
    if missing.is_empty() {
        let what =
            format!("limits are enforced (control groups v{}, {})", can.cgroup_version, can.cgroup_driver);
        all.push(Finding::ok("engine.limits", what));
    } else {
        let what = format!("the engine cannot limit {}", missing.join(", "));
        let wanted = missing.iter().any(|name| limited.contains(name));
        let finding = if wanted {
            Finding::warning("engine.limits", format!("{what}, and the configuration asks for it"))
        } else {
            Finding::note("engine.limits", format!("{what}; nothing asks for it"))
        };
        all.push(
            finding
                .rule(rule)
                .fix("give the engine these control groups, or name the rules in dangerouslyAllowUnenforced"),
        );
    }
    let ids = match (can.rootless, can.userns_remap) {
        (true, _) => "the engine runs without root: root in a sandbox is the engine's user",
        (_, true) => "root in a sandbox is an ordinary user of the host",
        _ => "user ids in a sandbox are those of the host; commands run as the workspace's owner",
    };
    all.push(Finding::ok("engine.users", ids));
    all
}

/// Images that are missing, or older than what makes them.
pub(super) fn images(images: &[ImageLook], used: bool) -> Vec<Finding> {
    images.iter().map(|image| one(image, used)).collect()
}

fn one(image: &ImageLook, used: bool) -> Finding {
    let ImageLook { reference, agents, .. } = image;
    let rule = image
        .rule
        .clone()
        .unwrap_or_else(|| "agents.defaults.sandbox.docker.image (built-in value)".to_owned());
    let who = agents.join(", ");
    if !image.present {
        let what = format!("image {reference} is missing (agents: {who})");
        let fix = crate::image::obtain(reference);
        return Finding::without_sandbox(used, "image.missing", what).rule(rule).fix(fix);
    }
    if image.outdated {
        let what = format!("image {reference} is older than its recipe (agents: {who})");
        return Finding::warning("image.outdated", what).rule(rule).fix(crate::image::obtain(reference));
    }
    Finding::ok("image.present", format!("image {reference} (agents: {who})"))
}

#[cfg(test)]
mod tests {
    use super::super::finding::Severity;
    use super::*;
    use crate::engine::discover::{Attempt, Origin};
    use crate::engine::{Capabilities, Endpoint, EngineFacts, EngineKind};
    use crate::error::Report;

    fn found(local: bool, capabilities: Capabilities) -> EngineLook {
        let facts = EngineFacts {
            endpoint: Endpoint::Unix("/s".into()),
            origin: Origin::System,
            kind: EngineKind::Docker,
            version: "20.10".to_owned(),
            server_api: "1.41".to_owned(),
            api_version: "1.41".to_owned(),
            os: "linux".to_owned(),
            local,
            tried: Vec::new(),
        };
        EngineLook { facts: Some(facts), capabilities: Some(capabilities), ..EngineLook::default() }
    }

    fn severities(findings: &[Finding]) -> Vec<(&str, Severity)> {
        findings.iter().map(|finding| (finding.id, finding.severity)).collect()
    }

    #[test]
    fn a_missing_engine_matters_where_sandboxes_are_used() {
        let attempt = Attempt {
            endpoint: "unix:///a".to_owned(),
            origin: Origin::System,
            failure: "no such socket".to_owned(),
        };
        let error = Report {
            code: "CRL-ENGINE-001",
            message: "none".to_owned(),
            rule: None,
            fix: "start one".to_owned(),
        };
        let look = EngineLook { tried: vec![attempt], error: Some(error), ..EngineLook::default() };
        for (used, severity) in [(false, Severity::Warning), (true, Severity::Error)] {
            let all = checks(&look, used, &["pids"]);
            assert_eq!(severities(&all), [("engine.unavailable", severity)]);
            assert!(all[0].what.contains("unix:///a (default socket): no such socket"), "{}", all[0].what);
            assert_eq!(all[0].fix, "start one");
        }
    }

    #[test]
    fn capabilities() {
        let full = Capabilities {
            memory_limit: true,
            swap_limit: true,
            pids_limit: true,
            cpu_quota: true,
            security_options: vec!["name=seccomp,profile=default".to_owned(), "name=apparmor".to_owned()],
            ..Capabilities::default()
        };
        let all = checks(&found(true, full.clone()), true, &["pids"]);
        assert!(all.iter().all(|finding| finding.severity == Severity::Ok), "{all:?}");
        let poor = Capabilities { pids_limit: false, security_options: Vec::new(), ..full };
        let all = checks(&found(false, poor), true, &["pids"]);
        let all = format!("{:?}", severities(&all));
        for part in [
            "(\"engine.remote\", Error)",
            "(\"engine.seccomp\", Error)",
            "(\"engine.apparmor\", Note)",
            "(\"engine.limits\", Warning)",
        ] {
            assert!(all.contains(part), "{part} in {all}");
        }
    }

    #[test]
    fn a_limit_that_nothing_asks_for_is_a_note() {
        let poor = Capabilities { pids_limit: true, ..Capabilities::default() };
        let of = |limited: &[&str]| {
            let all = checks(&found(true, poor.clone()), true, limited);
            all.iter().find(|one| one.id == "engine.limits").unwrap().severity
        };
        assert_eq!((of(&["pids"]), of(&["pids", "swap"])), (Severity::Note, Severity::Warning));
    }

    #[test]
    fn images_name_what_makes_them() {
        let image = ImageLook {
            reference: "creel-minimal:latest".to_owned(),
            agents: vec!["main".to_owned()],
            rule: None,
            present: false,
            outdated: false,
        };
        let missing = images(std::slice::from_ref(&image), true).remove(0);
        assert_eq!(
            (missing.id, missing.severity, missing.fix.as_str()),
            ("image.missing", Severity::Error, "creel images build minimal")
        );
        let old = ImageLook { present: true, outdated: true, ..image.clone() };
        assert_eq!(images(&[old], true)[0].id, "image.outdated");
        let other = ImageLook { reference: "debian:12".to_owned(), ..image };
        let missing = images(&[other], false).remove(0);
        // What `creel exec` says of the same image.
        let refused = crate::engine::EngineError::ImageMissing { image: "debian:12".to_owned() };
        assert_eq!(missing.fix, crate::error::Diagnose::report(&refused).fix);
        assert_eq!(missing.severity, Severity::Warning);
    }
}
