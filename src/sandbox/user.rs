//! Who the processes of a sandbox are (design §1, "container user"). Pure.

/// The user id that owns creel's own workspaces where creel runs as root.
pub const SANDBOX_ID: u32 = 1000;

/// What the decision depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Situation {
    /// Owner and group of the workspace on the host.
    pub(super) owner: (u32, u32),
    /// This process's user.
    pub(super) own_uid: u32,
    /// The engine runs without root: its container root is `own_uid` on the host.
    pub(super) rootless: bool,
}

/// The chosen user and what should be said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    /// `uid[:gid]`, or a name that the configuration gives.
    pub(super) user: String,
    /// A warning, where the choice is weaker than the rule.
    pub(super) warning: Option<String>,
}

/// Who gets a workspace that creel makes as root: the configured user, where numbers tell who that is. Without a group it
/// is root's, as the engine has it.
pub(super) fn own_user(configured: Option<&str>) -> (u32, u32) {
    let numbers = configured.and_then(|user| {
        let (uid, gid) = user.trim().split_once(':').unwrap_or((user.trim(), "0"));
        Some((uid.parse().ok()?, gid.parse().ok()?))
    });
    numbers.unwrap_or((SANDBOX_ID, SANDBOX_ID))
}

/// The configured user, else the owner of the workspace.
pub(super) fn choose(configured: Option<&str>, cap_drop: &[String], situation: Situation) -> Choice {
    if let Some(user) = configured.map(str::trim).filter(|user| !user.is_empty()) {
        return Choice {
            user: user.to_owned(),
            warning: root_warning(user, cap_drop, "the configuration asks for it"),
        };
    }
    let (uid, gid) = situation.owner;
    if situation.rootless && uid == situation.own_uid && uid != 0 {
        // Any other id would be a subordinate id on the host, which cannot write the workspace.
        let warning = format!("commands run as root of a rootless engine, which is user {uid} on the host");
        return Choice { user: "0:0".to_owned(), warning: Some(warning) };
    }
    let user = format!("{uid}:{gid}");
    let warning = root_warning(&user, cap_drop, "root owns the workspace");
    Choice { user, warning }
}

fn root_warning(user: &str, cap_drop: &[String], why: &str) -> Option<String> {
    if !matches!(user.split(':').next(), Some("0" | "root")) {
        return None;
    }
    let powers = if cap_drop.iter().any(|name| name.trim().eq_ignore_ascii_case("ALL")) {
        "without any capability".to_owned()
    } else if cap_drop.is_empty() {
        "and keep the engine's usual capabilities, since docker.capDrop names none".to_owned()
    } else {
        let dropped = cap_drop.join(", ");
        format!(
            "and keep the engine's usual capabilities except {dropped}, which is all that docker.capDrop names"
        )
    };
    Some(format!("commands run as root {powers}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_workspaces_belong_to_who_works_in_them() {
        assert_eq!(own_user(None), (1000, 1000));
        assert_eq!(own_user(Some(" 12:34 ")), (12, 34));
        assert_eq!(own_user(Some("12")), (12, 0));
        assert_eq!(own_user(Some("0:0")), (0, 0));
        // The image knows who that is, creel does not.
        assert_eq!(own_user(Some("node")), (1000, 1000));
    }

    #[test]
    fn the_owner_unless_configured() {
        let at = |owner, own_uid, rootless| Situation { owner, own_uid, rootless };
        let all = ["all".to_owned()];
        let case = |configured, situation| choose(configured, &all, situation);
        assert_eq!(case(None, at((1000, 1000), 0, false)).user, "1000:1000");
        assert_eq!(case(None, at((501, 20), 501, false)), Choice { user: "501:20".into(), warning: None });
        let root = case(None, at((0, 0), 0, false));
        assert_eq!(root.user, "0:0");
        assert_eq!(
            root.warning.unwrap(),
            "commands run as root without any capability: root owns the workspace"
        );
        for (cap_drop, words) in [(&[][..], "names none"), (&["NET_RAW".to_owned()], "except NET_RAW")] {
            let warning = choose(Some("0"), cap_drop, at((5, 5), 0, false)).warning.unwrap();
            assert!(warning.contains(words) && warning.contains("keep"), "{warning}");
        }
        assert_eq!(case(None, at((501, 20), 501, true)).user, "0:0");
        assert_eq!(case(None, at((7, 7), 501, true)).user, "7:7");
        assert_eq!(case(Some(" 5:6 "), at((0, 0), 0, false)), Choice { user: "5:6".into(), warning: None });
        assert!(case(Some("root"), at((5, 5), 0, false)).warning.is_some());
        assert_eq!(case(Some("  "), at((5, 6), 0, false)).user, "5:6");
    }
}
