use pretty_assertions::assert_eq;

use super::*;
use crate::engine::{Limits, Tmpfs};
use crate::wire::PathFacts;

const STATUS: &str = "Name:\tinit\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\nGroups:\t\n\
CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n\
CapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n";

const MOUNTS: &str = "\
500 400 0:50 / / ro,relatime - overlay overlay rw,lowerdir=/l
501 500 0:51 / /proc rw,nosuid,nodev,noexec - proc proc rw
502 500 0:52 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k
503 500 0:53 / /tmp rw,nosuid,nodev,noexec - tmpfs tmpfs rw,size=524288k
504 500 254:0 /w /workspace rw,relatime - ext4 /dev/vda rw
505 500 254:0 /i /.creel/init ro,relatime - ext4 /dev/vda rw
506 500 254:0 /r /data\\040set ro,relatime - ext4 /dev/vda rw
507 500 254:0 /h /etc/hosts rw - ext4 /dev/vda rw
";

fn spec() -> ContainerSpec {
    let mount =
        |target: &str, read_only| Mount { source: "/s".to_owned(), target: target.to_owned(), read_only };
    ContainerSpec {
        name: "box".to_owned(),
        image: "i".to_owned(),
        argv: Vec::new(),
        env: Vec::new(),
        labels: BTreeMap::new(),
        user: Some("1000:1000".to_owned()),
        workdir: "/workspace".to_owned(),
        mounts: vec![mount("/workspace", false), mount("/data set", true), mount("/.creel/init", true)],
        tmpfs: vec![Tmpfs {
            target: "/tmp".to_owned(),
            options: "rw,noexec,nosuid,nodev,size=512m".to_owned(),
        }],
        network: "none".to_owned(),
        dns: Vec::new(),
        extra_hosts: Vec::new(),
        read_only_root: true,
        cap_drop: vec!["ALL".to_owned()],
        seccomp: None,
        apparmor: None,
        limits: Limits { pids: Some(1024), ..Limits::default() },
        gpus: None,
        engine_init: false,
        stdin: false,
        stop_timeout_s: 10,
    }
}

fn path(path: &str, ino: u64, read_only: bool) -> PathFacts {
    PathFacts {
        path: path.to_owned(),
        dev: 9,
        ino,
        read_only,
        uid: 1000,
        mode: 0o40755,
        ..PathFacts::default()
    }
}

fn facts() -> Facts {
    Facts {
        status: STATUS.to_owned(),
        mountinfo: MOUNTS.to_owned(),
        limits: vec![("pids.max".to_owned(), "1024\n".to_owned())],
        interfaces: vec!["lo".to_owned(), "sit0".to_owned()],
        paths: vec![
            path("/", 1, true),
            path("/workspace", 2, false),
            path("/data set", 3, true),
            path("/.creel/init", 4, true),
        ],
    }
}

fn identities() -> BTreeMap<String, Identity> {
    [("/workspace", 2), ("/data set", 3), ("/.creel/init", 4)]
        .map(|(target, ino)| (target.to_owned(), Identity { dev: 9, ino }))
        .into()
}

fn judge(change: impl FnOnce(&mut ContainerSpec, &mut Facts)) -> Hardening {
    let (mut spec, mut facts) = (spec(), facts());
    change(&mut spec, &mut facts);
    prove(&spec, &identities(), &facts)
}

/// The rules that failed after a change.
fn broken(change: impl FnOnce(&mut ContainerSpec, &mut Facts)) -> Vec<Rule> {
    judge(change).gaps().map(|check| check.rule).collect()
}

#[test]
fn a_hard_container_passes_everything() {
    let hardening = judge(|_, _| ());
    let wrong: Vec<_> = hardening.checks.iter().filter(|check| check.verdict != Verdict::Ok).collect();
    assert_eq!(wrong, Vec::<&Check>::new());
    assert_eq!(hardening.warnings, Vec::<String>::new());
    assert_eq!(hardening.checks.len(), 14);
}

#[test]
fn each_lost_protection_is_a_gap_of_its_own() {
    let status = |from: &'static str, to: &'static str| {
        move |_: &mut ContainerSpec, facts: &mut Facts| facts.status = facts.status.replace(from, to)
    };
    assert_eq!(broken(status("NoNewPrivs:\t1", "NoNewPrivs:\t0")), [Rule::NoNewPrivileges]);
    assert_eq!(broken(status("Seccomp:\t2", "Seccomp:\t0")), [Rule::Seccomp]);
    assert_eq!(
        broken(status("CapBnd:\t0000000000000000", "CapBnd:\t00000000a80425fb")),
        [Rule::Capabilities]
    );
    assert_eq!(broken(status("Uid:\t1000\t1000", "Uid:\t0\t1000")), [Rule::User]);
    assert_eq!(broken(status("Groups:\t", "Groups:\t999 1000")), [Rule::Groups]);
    assert_eq!(broken(|_, facts| facts.interfaces.push("eth0".to_owned())), [Rule::Network]);
    assert_eq!(broken(|_, facts| facts.paths[0].read_only = false), [Rule::ReadOnlyRoot]);
    assert_eq!(broken(|_, facts| facts.paths[1].ino = 77), [Rule::Mount]);
    assert_eq!(broken(|_, facts| facts.paths[1].dev = 77), [Rule::Mount]);
    assert_eq!(broken(|_, facts| facts.paths[2].read_only = false), [Rule::Mount]);
    assert_eq!(broken(|_, facts| facts.paths[3].errno = 2), [Rule::Mount]);
    assert_eq!(broken(|_, facts| facts.limits[0].1 = "max".to_owned()), [Rule::Pids]);
}

#[test]
fn a_writable_mount_below_a_read_only_bind_is_found() {
    let below = "508 506 0:60 / /data\\040set/sub rw - tmpfs t rw\n";
    let hardening = judge(|_, facts| facts.mountinfo.push_str(below));
    let gap = hardening.gaps().next().unwrap();
    assert_eq!((gap.rule, gap.observed.as_str()), (Rule::Submounts, "/data set/sub"));
    assert!(broken(|_, facts| facts.mountinfo.push_str(&below.replace(" rw - ", " ro - "))).is_empty());
    // Below a writable bind it gives no more access, but is told.
    let told = judge(|_, facts| facts.mountinfo.push_str(&below.replace("data\\040set", "workspace")));
    assert!(told.gaps().next().is_none());
    assert_eq!(told.warnings.len(), 1);
}

#[test]
fn a_target_behind_a_link_is_no_proof() {
    let moved = |_: &mut ContainerSpec, facts: &mut Facts| {
        facts.mountinfo = facts.mountinfo.replace("/workspace", "/elsewhere");
    };
    assert_eq!(broken(moved), [Rule::Mount]);
}

#[test]
fn a_source_without_identity_is_no_proof() {
    let hardening = prove(&spec(), &BTreeMap::new(), &facts());
    assert_eq!(hardening.gaps().count(), 3);
}

#[test]
fn a_host_file_system_that_is_read_only_is_no_gap() {
    assert!(broken(|_, facts| facts.paths[1].read_only = true).is_empty());
}

#[test]
fn a_workspace_of_somebody_else_is_told() {
    let told = judge(|_, facts| facts.paths[1].uid = 65534).warnings;
    assert_eq!(told, ["/workspace belongs to user 65534 inside, commands run as 1000"]);
    let open = judge(|_, facts| (facts.paths[1].uid, facts.paths[1].mode) = (65534, 0o40777));
    assert!(open.warnings.is_empty());
}

#[test]
fn single_capabilities_are_looked_up_by_name() {
    let only = |dropped: &str, bounding: &str| {
        broken(|spec, facts| {
            spec.cap_drop = vec![dropped.to_owned()];
            facts.status = facts.status.replace("CapBnd:\t0000000000000000", &format!("CapBnd:\t{bounding}"));
        })
    };
    assert_eq!(only("NET_RAW", "0000000000002000"), [Rule::Capabilities]);
    assert_eq!(only("cap_net_raw", "0000000000002000"), [Rule::Capabilities]);
    assert!(only("NET_RAW", "0000000000001000").is_empty());
    let unknown = judge(|spec, _| spec.cap_drop = vec!["NET_NOVEL".to_owned()]);
    assert_eq!(unknown.unknown().map(|check| check.rule).collect::<Vec<_>>(), [Rule::Capabilities]);
}

#[test]
fn limits_of_both_versions() {
    let limits = Limits {
        memory: Some(268_435_456),
        memory_swap: Some(536_870_912),
        nano_cpus: Some(1_500_000_000),
        pids: Some(64),
        ulimits: Vec::new(),
    };
    let with = |files: &[(&str, &str)]| {
        let files: Vec<_> =
            files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        limits::checks(&limits, &files).into_iter().map(|check| check.verdict).collect::<Vec<_>>()
    };
    let one = [
        ("pids.max", "64"),
        ("memory.limit_in_bytes", "268435456"),
        ("memory.memsw.limit_in_bytes", "536870912"),
        ("cpu.cfs_quota_us", "150000"),
        ("cpu.cfs_period_us", "100000"),
    ];
    assert_eq!(with(&one), [Verdict::Ok; 4]);
    let two = [
        ("pids.max", "64"),
        ("memory.max", "268435456"),
        ("memory.swap.max", "268435456"),
        ("cpu.max", "150000 100000"),
    ];
    assert_eq!(with(&two), [Verdict::Ok; 4]);
    let open =
        [("pids.max", "max"), ("memory.max", "max"), ("memory.swap.max", "max"), ("cpu.max", "max 100000")];
    assert_eq!(with(&open), [Verdict::NotEnforced; 4]);
    assert_eq!(with(&[]), [Verdict::Unknown; 4]);
}

#[test]
fn nothing_readable_is_never_ok() {
    let hardening = prove(&spec(), &identities(), &Facts::default());
    let ok: Vec<_> = hardening.checks.iter().filter(|check| check.verdict == Verdict::Ok).collect();
    // An empty mount table holds nothing writable below anything, but its mounts are missing from it as well.
    assert!(ok.iter().all(|check| check.rule == Rule::Submounts), "{ok:?}");
    let refused: Vec<_> = hardening.refused(&[]).iter().map(|check| check.rule).collect();
    let boundary = [Rule::NoNewPrivileges, Rule::Capabilities, Rule::Seccomp, Rule::User];
    assert_eq!(refused[..4], boundary);
    assert_eq!(refused[4..], [Rule::Network, Rule::ReadOnlyRoot, Rule::Mount, Rule::Mount, Rule::Mount]);
}

#[test]
fn an_engine_that_cannot_limit_does_not() {
    let mut hardening = judge(|_, facts| facts.limits.clear());
    assert!(hardening.refused(&[]).is_empty());
    hardening.believe_the_worst(|_| true);
    assert!(hardening.refused(&[]).is_empty());
    hardening.believe_the_worst(|rule| rule != Rule::Pids);
    assert_eq!(hardening.refused(&[])[0].rule, Rule::Pids);
}

#[test]
fn a_listed_rule_may_stay_open() {
    let hardening = judge(|_, facts| facts.limits[0].1 = "max".to_owned());
    assert_eq!(hardening.refused(&[]).len(), 1);
    assert!(hardening.refused(&[Rule::Pids]).is_empty());
    assert_eq!(hardening.refused(&[Rule::Memory]).len(), 1);
    let json = serde_json::to_value(&hardening).unwrap();
    let back: Hardening = serde_json::from_value(json).unwrap();
    assert_eq!(back, hardening);
}
