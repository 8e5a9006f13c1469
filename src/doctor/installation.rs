//! Checks of creel-init and of the state directory. Pure.

use super::facts::{Facts, StateLook};
use super::finding::{Finding, Repair};

const STATE: &str = "CREEL_STATE_DIR";

pub(super) fn checks(facts: &Facts) -> Vec<Finding> {
    let mut all = vec![match &facts.init {
        Ok(path) => {
            Finding::ok("init.found", format!("creel-init is static and can be PID 1: {}", path.display()))
        }
        Err(report) => {
            let finding = Finding::error("init.unusable", report.message.clone()).fix(report.fix.clone());
            finding.rule(report.rule.clone().unwrap_or_default())
        }
    }];
    all.extend(state(&facts.state));
    all
}

fn state(look: &StateLook) -> Vec<Finding> {
    let mut all = Vec::new();
    let root = look.root.display();
    if look.noexec {
        all.push(
            Finding::error(
                "state.noexec",
                format!("{root} is on a file system mounted noexec: creel-init cannot be started from there"),
            )
            .rule(STATE)
            .fix("set CREEL_STATE_DIR to a directory on a file system that allows execution"),
        );
    }
    if look.read_only {
        all.push(
            Finding::error("state.read-only", format!("{root} cannot be written by this user"))
                .rule(STATE)
                .fix(format!("make {root} writable, or set CREEL_STATE_DIR elsewhere")),
        );
    }
    for (path, kind) in &look.not_own {
        let what = format!("{} is no directory of creel's own: it is a {kind}", path.display());
        all.push(
            Finding::error("state.link", what)
                .rule(STATE)
                .fix(format!("remove it, creel makes it anew: rm {}", path.display())),
        );
    }
    if look.writable_by_others {
        all.push(
            Finding::warning(
                "state.writable",
                format!("{root} can be written by other users of this machine"),
            )
            .rule(STATE)
            .fix(format!("chmod go-w {root}: whoever writes there replaces the configuration")),
        );
    }
    for (path, uid) in &look.foreign {
        let what = format!("{} belongs to user {uid}", path.display());
        all.push(
            Finding::error("state.owner", what)
                .rule(STATE)
                .fix(format!("chown it to the user that runs creel, or remove it: rm -r {}", path.display())),
        );
    }
    for (path, mode) in &look.open {
        let what = format!("{} can be entered by other users (mode {mode:o})", path.display());
        all.push(
            Finding::warning("state.mode", what)
                .rule("built-in: only its owner enters creel's directory")
                .fix(format!("chmod 700 {}", path.display()))
                .repair(Repair::StateModes),
        );
    }
    if all.is_empty() {
        all.push(Finding::ok("state.usable", format!("state directory {root}")));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::finding::Severity;
    use super::*;

    #[test]
    fn each_check_has_its_case() {
        let good = StateLook { root: "/s".into(), ..StateLook::default() };
        assert_eq!(state(&good)[0].id, "state.usable");
        for (look, id, severity) in [
            (StateLook { noexec: true, ..good.clone() }, "state.noexec", Severity::Error),
            (StateLook { read_only: true, ..good.clone() }, "state.read-only", Severity::Error),
            (StateLook { writable_by_others: true, ..good.clone() }, "state.writable", Severity::Warning),
            (
                StateLook { not_own: vec![("/s/creel/run".into(), "link")], ..good.clone() },
                "state.link",
                Severity::Error,
            ),
            (
                StateLook { foreign: vec![("/s/creel".into(), 7)], ..good.clone() },
                "state.owner",
                Severity::Error,
            ),
            (
                StateLook { open: vec![("/s/creel".into(), 0o755)], ..good.clone() },
                "state.mode",
                Severity::Warning,
            ),
        ] {
            let all = state(&look);
            assert_eq!((all.len(), all[0].id, all[0].severity), (1, id, severity));
        }
    }
}
