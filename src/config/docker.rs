//! The block `sandbox.docker` (spec `sandbox.md` §1.2), as one layer writes it.

use std::net::IpAddr;

use super::network::{self, Refused};
use super::reader::{Block, Set};
use super::{env, limits};
use crate::engine::{Tmpfs, Ulimit};
use crate::paths::{BindSpec, lexical};
use crate::sandbox::Rule;

/// Every key of the block; there is none that grants a privilege, and none is accepted.
pub(super) const KEYS: &[&str] = &[
    "image",
    "containerPrefix",
    "workdir",
    "readOnlyRoot",
    "tmpfs",
    "network",
    "user",
    "capDrop",
    "env",
    "setupCommand",
    "pidsLimit",
    "memory",
    "memorySwap",
    "cpus",
    "gpus",
    "ulimits",
    "seccompProfile",
    "apparmorProfile",
    "dns",
    "extraHosts",
    "binds",
    "dangerouslyAllowReservedContainerTargets",
    "dangerouslyAllowExternalBindSources",
    "dangerouslyAllowContainerNamespaceJoin",
    "dangerouslyAllowUnenforced",
];

/// Paths in the container that cannot be a working directory or a temporary file system.
const NO_WORKDIR: &[&str] = &["/proc", "/sys", "/dev", crate::paths::policy::OWN_TARGET];

/// What one layer says; `None` where it says nothing.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the fields are the keys of the block, documented in `DockerSettings`")]
pub struct DockerLayer {
    pub image: Option<Set<String>>,
    pub container_prefix: Option<Set<String>>,
    pub workdir: Option<Set<String>>,
    pub read_only_root: Option<Set<bool>>,
    pub tmpfs: Option<Set<Vec<Tmpfs>>>,
    pub network: Option<Set<String>>,
    pub user: Option<Set<String>>,
    pub cap_drop: Option<Set<Vec<String>>>,
    pub env: Option<Vec<Set<(String, String)>>>,
    pub setup_command: Option<Set<String>>,
    pub pids_limit: Option<Set<u64>>,
    pub memory: Option<Set<u64>>,
    pub memory_swap: Option<Set<i64>>,
    pub nano_cpus: Option<Set<u64>>,
    pub gpus: Option<Set<String>>,
    pub ulimits: Vec<Set<Ulimit>>,
    pub seccomp_profile: Option<Set<String>>,
    pub apparmor_profile: Option<Set<String>>,
    pub dns: Option<Set<Vec<String>>>,
    pub extra_hosts: Option<Set<Vec<String>>>,
    pub binds: Vec<Set<String>>,
    pub allow_reserved_targets: Option<Set<bool>>,
    pub allow_external_sources: Option<Set<bool>>,
    pub allow_namespace_join: Option<Set<bool>>,
    pub allow_unenforced: Option<Set<Vec<Rule>>>,
}

impl DockerLayer {
    /// Reads `docker` out of a sandbox block.
    pub fn read(sandbox: &Block<'_>) -> Option<Self> {
        let block = &sandbox.closed("docker", KEYS)?;
        let allow_namespace_join = block.flag("dangerouslyAllowContainerNamespaceJoin");
        let join = allow_namespace_join.as_ref().is_some_and(|set| set.value);
        Some(Self {
            image: block.word("image"),
            container_prefix: container_prefix(block, "containerPrefix"),
            workdir: workdir(block),
            read_only_root: block.flag("readOnlyRoot"),
            tmpfs: tmpfs(block),
            network: network(block, "network", join),
            user: user(block),
            cap_drop: cap_drop(block),
            env: variables(block),
            setup_command: setup_command(block),
            pids_limit: block.whole("pidsLimit", 1),
            memory: parsed(block, "memory", limits::memory),
            memory_swap: parsed(block, "memorySwap", limits::memory_swap),
            nano_cpus: parsed(block, "cpus", limits::nano_cpus),
            gpus: block.word("gpus"),
            ulimits: ulimits(block),
            seccomp_profile: profile(block, "seccompProfile"),
            apparmor_profile: profile(block, "apparmorProfile"),
            dns: checked(block, "dns", |text| text.parse::<IpAddr>().is_ok(), "an address such as 1.1.1.1"),
            extra_hosts: checked(block, "extraHosts", is_host_entry, "host:address"),
            binds: binds(block, "binds"),
            allow_reserved_targets: block.flag("dangerouslyAllowReservedContainerTargets"),
            allow_external_sources: block.flag("dangerouslyAllowExternalBindSources"),
            allow_namespace_join,
            allow_unenforced: unenforced(block),
        })
    }
}

/// Container names begin with a letter or digit and go on with `_`, `.` or `-` beside them.
pub(super) fn container_prefix(block: &Block<'_>, name: &str) -> Option<Set<String>> {
    let set = block.text(name)?;
    let first = set.value.chars().next().is_none_or(|c| c.is_ascii_alphanumeric());
    let rest = set.value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
    if first && rest {
        return Some(set);
    }
    block.problem(
        name,
        format!("{:?} cannot begin a container's name", set.value),
        "use letters, digits, and after the first character _ . -",
    );
    None
}

fn workdir(block: &Block<'_>) -> Option<Set<String>> {
    let set = block.word("workdir")?;
    let clean = lexical::clean_text(&set.value);
    let taken = NO_WORKDIR
        .iter()
        .find(|path| lexical::inside(std::path::Path::new(path), std::path::Path::new(&clean)));
    let wrong = match taken {
        Some(path) => Some(format!("lies in {path}")),
        None if !clean.starts_with('/') || clean == "/" => Some("is not an absolute path below /".to_owned()),
        None => lexical::unreadable(&clean).map(|what| format!("contains {what}")),
    };
    match wrong {
        None => Some(set.map(|_| clean)),
        Some(wrong) => {
            block.problem("workdir", format!("{:?} {wrong}", set.value), "write a path such as /workspace");
            None
        }
    }
}

fn tmpfs(block: &Block<'_>) -> Option<Set<Vec<Tmpfs>>> {
    let set = mounts(block, "tmpfs")?;
    let entry = |item: Set<String>| {
        let (target, options) = item.value.split_once(':').unwrap_or((&item.value, ""));
        let clean = lexical::clean_text(target.trim());
        let taken = NO_WORKDIR.iter().any(|path| {
            let (path, clean) = (std::path::Path::new(path), std::path::Path::new(&clean));
            lexical::inside(path, clean) && path != std::path::Path::new("/dev") || clean == path
        });
        let unreadable = lexical::unreadable(&item.value).or_else(|| lexical::unreadable(&clean)).is_some();
        if !clean.starts_with('/') || clean == "/" || taken || unreadable {
            let message = format!("{:?} is no place for a temporary file system", item.value);
            block.problem_at(&item.key, message, "write path[:options], for example /tmp:size=64m");
            return None;
        }
        let options = options.trim().to_owned();
        if let Err(bad) = super::tmpfs::check(&options) {
            block.problem_at(&item.key, format!("{:?}: {}", item.value, bad.message), bad.fix);
            return None;
        }
        Some(Tmpfs { target: clean, options })
    };
    Some(set.map(|items| items.into_iter().filter_map(entry).collect()))
}

/// A network mode, trimmed.
pub(super) fn network(block: &Block<'_>, name: &str, allow_join: bool) -> Option<Set<String>> {
    let set = block.text(name)?.map(|text| text.trim().to_owned());
    accept(block, name, &set, network::check_network(&set.value, allow_join)).then_some(set)
}

fn profile(block: &Block<'_>, name: &str) -> Option<Set<String>> {
    let set = block.text(name)?.map(|text| text.trim().to_owned());
    let sound = accept(block, name, &set, network::check_profile(&set.value));
    (sound && !set.value.is_empty()).then_some(set)
}

fn accept(block: &Block<'_>, name: &str, set: &Set<String>, verdict: Result<(), Refused>) -> bool {
    if let Err(refused) = verdict {
        block.problem(name, format!("{:?} is refused: {refused}", set.value), refused.fix());
    }
    verdict.is_ok()
}

/// Blank means "derive it", as upstream has it.
fn user(block: &Block<'_>) -> Option<Set<String>> {
    let set = block.text("user")?.map(|text| text.trim().to_owned());
    if lexical::unreadable(&set.value).is_some() || set.value.contains(char::is_whitespace) {
        block.problem("user", format!("{:?} is no user", set.value), "write uid:gid, for example 1000:1000");
        return None;
    }
    (!set.value.is_empty()).then_some(set)
}

fn cap_drop(block: &Block<'_>) -> Option<Set<Vec<String>>> {
    let set = block.list("capDrop")?;
    let names: Vec<String> = set
        .value
        .iter()
        .map(|item| item.value.trim().to_uppercase())
        .filter(|name| !name.is_empty())
        .collect();
    if names.is_empty() {
        let fix = "remove the key: ALL is dropped by default; or name what to drop";
        block.problem("capDrop", "an empty list would leave every default capability", fix);
        return None;
    }
    Some(Set { value: names, key: set.key })
}

/// Names of rules that the kernel need not enforce; a misspelt one would open nothing and is told.
fn unenforced(block: &Block<'_>) -> Option<Set<Vec<Rule>>> {
    let set = block.list("dangerouslyAllowUnenforced")?;
    let rule = |item: Set<String>| {
        let found = Rule::parse(item.value.trim());
        if found.is_none() {
            let known: Vec<&str> = Rule::ALL.iter().map(|rule| rule.as_str()).collect();
            let near = super::reader::nearest(&item.value, &known);
            let fix = near.map_or_else(
                || format!("known are {}", known.join(", ")),
                |near| format!("did you mean {near}?"),
            );
            block.problem_at(&item.key, format!("{:?} is no rule of the boundary", item.value), fix);
        }
        found
    };
    Some(set.map(|items| items.into_iter().filter_map(rule).collect()))
}

fn variables(block: &Block<'_>) -> Option<Vec<Set<(String, String)>>> {
    let vars = block.open("env")?;
    let variable = |written: &str| {
        let name = written.trim();
        // The value may be a secret; it is never shown.
        if !vars.raw(written)?.value.is_string() {
            vars.problem(written, "must be a string", "write the value in quotes");
            return None;
        }
        let set = vars.text(written)?;
        if let Some(wrong) = env::bad_name(name).or_else(|| env::bad_value(&set.value)) {
            vars.problem(written, wrong, "rename it, or write the value on one line");
            return None;
        }
        Some(set.map(|value| (name.to_owned(), value)))
    };
    Some(vars.names().into_iter().filter_map(variable).collect())
}

/// Text, or lines.
fn setup_command(block: &Block<'_>) -> Option<Set<String>> {
    let raw = block.raw("setupCommand")?;
    let set = if raw.value.is_array() {
        block.list("setupCommand")?.map(|lines| {
            let lines: Vec<String> = lines.into_iter().map(|line| line.value).collect();
            lines.join("\n")
        })
    } else {
        block.text("setupCommand")?
    };
    (!set.value.trim().is_empty()).then_some(set)
}

fn parsed<T>(
    block: &Block<'_>,
    name: &str,
    parse: impl Fn(&serde_json::Value) -> Result<T, String>,
) -> Option<Set<T>> {
    let Set { value, key } = block.raw(name)?;
    match parse(value) {
        Ok(value) => Some(Set { value, key }),
        Err(message) => {
            block.problem(name, message, format!("correct {key}, or remove it"));
            None
        }
    }
}

fn ulimits(block: &Block<'_>) -> Vec<Set<Ulimit>> {
    let Some(all) = block.open("ulimits") else { return Vec::new() };
    let one = |name: &str| parsed(&all, name, |value| limits::ulimit(name, value));
    all.names().into_iter().filter_map(one).collect()
}

fn checked(
    block: &Block<'_>,
    name: &str,
    sound: impl Fn(&str) -> bool,
    wanted: &str,
) -> Option<Set<Vec<String>>> {
    let set = block.list(name)?;
    let item = |item: Set<String>| {
        let text = item.value.trim().to_owned();
        if !sound(&text) {
            let message = format!("must be {wanted}, got: {:?}", item.value);
            block.problem_at(&item.key, message, format!("write {wanted}"));
            return None;
        }
        Some(text)
    };
    Some(set.map(|items| items.into_iter().filter_map(item).collect()))
}

/// `name:address`, or the engine's word `host-gateway` for the address.
fn is_host_entry(text: &str) -> bool {
    text.split_once(':').is_some_and(|(name, address)| {
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c));
        plain && (address == "host-gateway" || address.parse::<IpAddr>().is_ok())
    })
}

/// The most entries of one list of mounts. Each bind's source is held open while a container is made, and every engine
/// takes longer with each mount.
pub const MAX_MOUNTS: usize = 256;

/// A list of mounts that is not absurdly long.
fn mounts(block: &Block<'_>, name: &str) -> Option<Set<Vec<Set<String>>>> {
    let count = block.raw(name)?.value.as_array().map_or(0, Vec::len);
    if count > MAX_MOUNTS {
        let message = format!("has {count} entries, a sandbox takes at most {MAX_MOUNTS} from one list");
        block.problem(name, message, "mount directories that hold several of them");
        return None;
    }
    block.list(name)
}

/// Binds that are sound as text; where they lead is judged when a sandbox is made.
pub(super) fn binds(block: &Block<'_>, name: &str) -> Vec<Set<String>> {
    let Some(set) = mounts(block, name) else { return Vec::new() };
    let sound = |item: Set<String>| match BindSpec::parse(&item.value) {
        Ok(_) => Some(item),
        Err(error) => {
            block.problem_at(&item.key, format!("bind {:?} is refused: {error}", item.value), error.fix());
            None
        }
    };
    set.value.into_iter().filter_map(sound).collect()
}
