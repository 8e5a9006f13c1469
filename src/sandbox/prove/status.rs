//! Checks over `/proc/self/status` of PID 1.

use super::{Check, Rule, Verdict};
use crate::engine::ContainerSpec;

/// Capability names by bit number (`linux/capability.h`).
const CAPABILITIES: [&str; 41] = [
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
];

/// The sets that must be empty: what PID 1 has, and what anything below it could get.
const SETS: [&str; 5] = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"];

/// Process checks: privileges, capabilities, filter, user, groups, profile.
pub(super) fn checks(spec: &ContainerSpec, status: &str) -> Vec<Check> {
    let mut checks = vec![
        flag(status, Rule::NoNewPrivileges, "NoNewPrivs", "1"),
        capabilities(&spec.cap_drop, status),
        flag(status, Rule::Seccomp, "Seccomp", "2"),
    ];
    if let Some(user) = &spec.user {
        checks.push(ids(user, status));
        checks.push(groups(user, status));
    }
    checks
}

/// The value of one line of a status file.
fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

fn flag(status: &str, rule: Rule, name: &str, asked: &str) -> Check {
    match field(status, name) {
        Some(value) => Check::new(rule, asked, value, Verdict::of(value == asked)),
        None => Check::new(rule, asked, "not told by this kernel", Verdict::Unknown),
    }
}

fn capabilities(dropped: &[String], status: &str) -> Check {
    let asked = format!("drop {}", dropped.join(", "));
    let Some(mask) = mask(dropped) else {
        return Check::new(
            Rule::Capabilities,
            asked,
            "a name that this build does not know",
            Verdict::Unknown,
        );
    };
    let mut left = Vec::new();
    for set in SETS {
        match field(status, set).map(|hex| u64::from_str_radix(hex, 16)) {
            Some(Ok(bits)) if bits & mask == 0 => {}
            Some(Ok(bits)) => left.push(format!("{set} {}", names(bits & mask))),
            // Kernels before 4.3 have no ambient set.
            None if set == "CapAmb" => {}
            _ => return Check::new(Rule::Capabilities, asked, format!("{set} unreadable"), Verdict::Unknown),
        }
    }
    let observed = if left.is_empty() { "none of them left".to_owned() } else { left.join("; ") };
    Check::new(Rule::Capabilities, asked, observed, Verdict::of(left.is_empty()))
}

/// The bits of the capabilities named, with or without `CAP_`, in any case; `None` for a name that is not known.
pub fn mask(dropped: &[String]) -> Option<u64> {
    dropped.iter().try_fold(0_u64, |mask, name| {
        let name = name.trim().to_ascii_uppercase();
        let name = name.strip_prefix("CAP_").unwrap_or(&name);
        if name == "ALL" {
            return Some(u64::MAX);
        }
        CAPABILITIES.iter().position(|known| *known == name).map(|bit| mask | (1 << bit))
    })
}

/// The names of the capabilities whose bits are set.
pub fn names(bits: u64) -> String {
    let set = |bit: &usize| bits & (1 << bit) != 0;
    let name =
        |bit: usize| CAPABILITIES.get(bit).map_or_else(|| format!("#{bit}"), |name| (*name).to_owned());
    (0..64).filter(set).map(name).collect::<Vec<_>>().join(",")
}

/// Numeric user and, where given, group.
fn numbers(user: &str) -> Option<(u32, Option<u32>)> {
    match user.split_once(':') {
        Some((user, group)) => Some((user.parse().ok()?, Some(group.parse().ok()?))),
        None => Some((user.parse().ok()?, None)),
    }
}

fn ids(user: &str, status: &str) -> Check {
    let observed = |name| field(status, name).map(|text| text.split_whitespace().collect::<Vec<_>>());
    let (uids, gids) = (observed("Uid").unwrap_or_default(), observed("Gid").unwrap_or_default());
    let told = format!("uid {}, gid {}", uids.join("/"), gids.join("/"));
    let Some((uid, gid)) = numbers(user) else {
        // A name is looked up in the image by the engine; there is nothing here to compare it with.
        return Check::new(Rule::User, user, told, Verdict::Unknown);
    };
    let all =
        |seen: &[&str], asked: u32| seen.len() == 4 && seen.iter().all(|id| id.parse::<u32>() == Ok(asked));
    let ok = all(&uids, uid) && gid.is_none_or(|gid| all(&gids, gid));
    Check::new(Rule::User, user, told, Verdict::of(ok))
}

fn groups(user: &str, status: &str) -> Check {
    let own = numbers(user).and_then(|(_, group)| group);
    let asked = "no further groups";
    match (own, field(status, "Groups")) {
        (Some(own), Some(seen)) => {
            let further = |id: &str| id.parse::<u32>() != Ok(own);
            let ok = !seen.split_whitespace().any(further);
            Check::new(Rule::Groups, asked, if ok { "none" } else { seen }, Verdict::of(ok))
        }
        // Without a numeric group the image decides about groups.
        (None, Some(seen)) => Check::new(Rule::Groups, "the image's", seen, Verdict::Ok),
        (_, None) => Check::new(Rule::Groups, asked, "not told", Verdict::Unknown),
    }
}
