//! What must hold in a sandbox, as configured. Pure.

use std::collections::BTreeMap;

use crate::sandbox::{INIT_TARGET, MEET_TARGET, Rule, SandboxRequest, prove};
use crate::wire::probe::{
    Attempt, CAPABILITY_SETS, KERNEL_SECRETS, KERNEL_SETTINGS, MOUNTS, NAMESPACES, NEW_NAMESPACES,
    RAW_SOCKETS, ROUTES, SYSTEM_CALLS,
};

/// Above this many processes the limit is not tried: the attempt itself would be the harm.
const MOST_PROCESSES: u64 = 4096;
/// Memory that each of them may take, in bytes: with less the attempt would meet the limit on memory, which kills.
const PROCESS_BYTES: u64 = 64 * 1024;
/// Directories of the image that stand for all of it.
const IMAGE_DIRS: [&str; 3] = ["/", "/etc", "/usr/bin"];
/// Namespaces that an engine may share with the host without giving anything away that the other checks do not see.
const SHARABLE: [&str; 2] = ["user", "cgroup"];

/// What must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Intended {
    /// Network mode.
    pub network: String,
    /// The root file system is read-only.
    pub read_only_root: bool,
    /// Capabilities to drop.
    pub cap_drop: Vec<String>,
    /// The user id of commands.
    pub uid: Option<u32>,
    /// The configuration brings its own seccomp profile: which calls it lets through is its business.
    pub own_seccomp: bool,
    /// Processes and threads.
    pub pids: Option<u64>,
    /// Memory in bytes.
    pub memory: Option<u64>,
    /// Paths that commands may write to.
    pub writable: Vec<String>,
    /// Mounts that they may not.
    pub read_only: Vec<String>,
    /// Device and inode of paths of the host.
    pub host_paths: BTreeMap<String, String>,
    /// Mounts below which none of the denied paths may be.
    pub searched: Vec<String>,
    /// Device and inode of denied paths of the host, with their names.
    pub denied: BTreeMap<String, String>,
    /// The numbers of creel's own namespaces.
    pub namespaces: BTreeMap<String, String>,
    /// Where engines listen.
    pub sockets: Vec<String>,
    /// Rules that the configuration lets go unenforced.
    pub unenforced: Vec<Rule>,
    /// Setting (`docker.network`) to the key that decided it and its place.
    pub keys: BTreeMap<&'static str, String>,
}

/// What an attempt must come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expectation {
    /// It must not work.
    Refused,
    /// The configuration opens it.
    Open,
    /// It must work: a probe that cannot do what is allowed proves nothing by failing at the rest.
    Works,
}

impl Intended {
    /// What a request asks for. `user` is the `uid:gid` that commands have.
    pub fn of(request: &SandboxRequest, user: &str) -> Self {
        let workspace = &request.workspace;
        let covered = request.binds.iter().any(|bind| bind.target == workspace.target);
        let mut intended = Self {
            network: request.network.clone(),
            read_only_root: request.read_only_root,
            cap_drop: request.cap_drop.clone(),
            uid: user.split(':').next().and_then(|uid| uid.parse().ok()),
            own_seccomp: request.seccomp.is_some(),
            pids: request.limits.pids,
            memory: request.limits.memory,
            unenforced: request.allow_unenforced.clone(),
            ..Self::default()
        };
        let own = if workspace.read_only { &mut intended.read_only } else { &mut intended.writable };
        if !covered {
            own.push(workspace.target.clone());
        }
        // What the workspace shows is looked through with it.
        let own =
            |source: &std::path::Path| !intended.writable.is_empty() && source.starts_with(&workspace.dir);
        let open = request.binds.iter().filter(|bind| !bind.read_only && !own(&bind.source));
        let open: Vec<String> = open.map(|bind| bind.target.clone()).collect();
        intended.searched = intended.writable.iter().cloned().chain(open).collect();
        let guarded = request.binds.iter().filter(|bind| bind.read_only);
        intended.read_only.extend(guarded.map(|bind| bind.target.clone()));
        intended.read_only.extend([INIT_TARGET, MEET_TARGET].map(str::to_owned));
        intended
    }

    /// The arguments of the probe.
    pub(super) fn arguments(&self, nonce: &str) -> Vec<String> {
        let mut args =
            vec![INIT_TARGET.to_owned(), "probe".to_owned(), "--nonce".to_owned(), nonce.to_owned()];
        let mut add = |flag: &str, value: &str| args.extend([flag.to_owned(), value.to_owned()]);
        for path in self.written() {
            add("--write", path);
        }
        for path in self.host_paths.keys() {
            add("--host", path);
        }
        for path in &self.searched {
            add("--search", path);
        }
        for identity in self.denied.keys() {
            add("--denied", identity);
        }
        for path in &self.sockets {
            add("--socket", path);
        }
        if let Some(limit) = self.tried_pids() {
            add("--pids", &limit.to_string());
        }
        args
    }

    fn written(&self) -> impl Iterator<Item = &str> {
        let own = self.writable.iter().chain(&self.read_only).map(String::as_str);
        let image = IMAGE_DIRS.into_iter().filter(|dir| !self.writable.iter().any(|one| one == dir));
        own.chain(image.filter(|dir| !self.read_only.iter().any(|one| one == dir)))
    }

    fn tried_pids(&self) -> Option<u64> {
        let fits = |limit: &u64| self.memory.is_none_or(|memory| memory / PROCESS_BYTES > *limit);
        self.pids.filter(|limit| *limit <= MOST_PROCESSES).filter(fits)
    }

    /// Everything that must be answered; without a subject any answer about the attempt counts.
    pub(super) fn questions(&self) -> Vec<(Attempt, Option<String>)> {
        let each = |attempt, subjects: &[&str]| {
            subjects.iter().map(|text| (attempt, Some((*text).to_owned()))).collect::<Vec<_>>()
        };
        let once = |attempt| vec![(attempt, Some(String::new()))];
        let written: Vec<&str> = self.written().collect();
        let searched: Vec<&str> = self.searched.iter().map(String::as_str).collect();
        let host: Vec<&str> = self.host_paths.keys().map(String::as_str).collect();
        let sockets: Vec<&str> = self.sockets.iter().map(String::as_str).collect();
        let mut all = [
            each(Attempt::Write, &written),
            each(Attempt::HostPath, &host),
            each(Attempt::DeniedBelow, &searched),
            each(Attempt::KernelSetting, &KERNEL_SETTINGS),
            each(Attempt::KernelSecret, &KERNEL_SECRETS),
            vec![(Attempt::ControlGroup, None), (Attempt::DeviceNode, None), (Attempt::Device, None)],
            each(Attempt::Namespace, &NAMESPACES),
            once(Attempt::Processes),
            once(Attempt::UserId),
            each(Attempt::Capabilities, &CAPABILITY_SETS),
            once(Attempt::NoNewPrivileges),
            once(Attempt::SystemCallFilter),
            each(Attempt::SystemCall, &SYSTEM_CALLS),
            each(Attempt::NewNamespace, &NEW_NAMESPACES),
            each(Attempt::Mount, &MOUNTS),
            once(Attempt::ChangeRoot),
            vec![(Attempt::InitRoot, None), (Attempt::InitMemory, None)],
            once(Attempt::InitTrace),
            vec![(Attempt::InitSignal, None)],
            once(Attempt::Interfaces),
            each(Attempt::Route, &ROUTES),
            each(Attempt::RawSocket, &RAW_SOCKETS),
            once(Attempt::AbstractSockets),
            each(Attempt::EngineSocket, &sockets),
            vec![(Attempt::EnginePort, None)],
        ]
        .concat();
        if self.tried_pids().is_some() {
            all.extend(once(Attempt::ProcessLimit));
        }
        all
    }

    /// What an attempt must come to.
    pub(super) fn expectation(&self, attempt: Attempt, subject: &str) -> Expectation {
        let open = match attempt {
            Attempt::Write if self.writable.iter().any(|path| path == subject) => return Expectation::Works,
            Attempt::Write => {
                let image = !self.read_only.iter().any(|path| path == subject);
                image && (!self.read_only_root || self.lets(Rule::ReadOnlyRoot))
            }
            Attempt::Route => !self.isolated(),
            Attempt::RawSocket => self.has("NET_RAW"),
            Attempt::UserId => self.has("SETUID"),
            Attempt::ChangeRoot => self.has("SYS_CHROOT"),
            Attempt::DeviceNode => self.has("MKNOD"),
            Attempt::SystemCall => self.own_seccomp || self.lets(Rule::Seccomp),
            Attempt::ProcessLimit => self.lets(Rule::Pids),
            _ => false,
        };
        if open { Expectation::Open } else { Expectation::Refused }
    }

    /// No way out is configured.
    pub(super) fn isolated(&self) -> bool {
        self.network == "none" && !self.lets(Rule::Network)
    }

    /// The configuration lets a rule go unenforced.
    pub(super) fn lets(&self, rule: Rule) -> bool {
        self.unenforced.contains(&rule)
    }

    /// Commands may use a capability: only root has any, and only what is not dropped.
    fn has(&self, name: &str) -> bool {
        let one = prove::capability_mask(&[name.to_owned()]).unwrap_or(0);
        let kept = prove::capability_mask(&self.cap_drop).is_some_and(|dropped| dropped & one == 0);
        self.uid.is_none_or(|uid| uid == 0) && (kept || self.lets(Rule::Capabilities))
    }

    /// A namespace that must not be the one that creel is in.
    pub(super) fn must_differ(namespace: &str) -> bool {
        !SHARABLE.contains(&namespace)
    }

    /// The key that decides about an attempt, or the built-in rule.
    pub(super) fn rule(&self, attempt: Attempt, subject: &str) -> String {
        let mounted = |paths: &[String]| paths.iter().any(|path| path == subject);
        let setting = match attempt {
            Attempt::Write if subject == INIT_TARGET || subject == MEET_TARGET => "",
            Attempt::Write if mounted(&self.read_only) || mounted(&self.writable) => "workspaceAccess",
            Attempt::Write => "docker.readOnlyRoot",
            Attempt::Interfaces | Attempt::Route | Attempt::AbstractSockets | Attempt::EnginePort => {
                "docker.network"
            }
            Attempt::UserId
            | Attempt::Capabilities
            | Attempt::ChangeRoot
            | Attempt::DeviceNode
            | Attempt::RawSocket => "docker.capDrop",
            Attempt::SystemCall | Attempt::SystemCallFilter => "docker.seccompProfile",
            Attempt::ProcessLimit => "docker.pidsLimit",
            Attempt::HostPath | Attempt::EngineSocket | Attempt::DeniedBelow => "docker.binds",
            _ => "",
        };
        if attempt == Attempt::Namespace && !Self::must_differ(subject) {
            return "built-in: the engine decides whether it is shared".to_owned();
        }
        if setting.is_empty() {
            return "built-in: no key opens this".to_owned();
        }
        let built_in = || format!("agents.defaults.sandbox.{setting} (built-in value)");
        self.keys.get(setting).cloned().unwrap_or_else(built_in)
    }
}
