//! What the engine can enforce, from its own account. Asked for once, because it costs more than a ping.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Engine, EngineError};

/// What the engine says it can enforce. A limit that is requested proves nothing: rootless engines accept limits and
/// drop them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// The engine's architecture, as the kernel names it (`x86_64`).
    pub arch: String,
    /// Its kernel's release.
    pub kernel: String,
    /// It runs without root.
    pub rootless: bool,
    /// Root in a container is an ordinary user of the host.
    pub userns_remap: bool,
    /// `1` or `2`, empty where the engine does not say.
    pub cgroup_version: String,
    /// `cgroupfs`, `systemd`, or `none`: with `none` no limit is enforced.
    pub cgroup_driver: String,
    /// Memory limits are enforced.
    pub memory_limit: bool,
    /// Swap limits are enforced.
    pub swap_limit: bool,
    /// Limits on the number of processes are enforced.
    pub pids_limit: bool,
    /// Limits on CPU time are enforced.
    pub cpu_quota: bool,
    /// The engine's own words for its security options.
    pub security_options: Vec<String>,
    /// Names of the runtimes it can use.
    pub runtimes: BTreeSet<String>,
    /// The runtime it uses where none is named.
    pub default_runtime: String,
    /// The engine's name for its storage driver.
    pub storage_driver: String,
    /// The machine's name, as the engine sees it.
    pub host: String,
}

impl Engine {
    /// The engine's account of itself; asked once per handle (clones share it).
    pub async fn capabilities(&self) -> Result<&Capabilities, EngineError> {
        self.capabilities_cell()
            .get_or_try_init(|| async {
                self.get_json("engine information", "/info").await.map(capabilities)
            })
            .await
    }
}

/// What is read of the engine's answer.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Info {
    architecture: Option<String>,
    kernel_version: Option<String>,
    cgroup_version: Option<String>,
    cgroup_driver: Option<String>,
    memory_limit: Option<bool>,
    swap_limit: Option<bool>,
    pids_limit: Option<bool>,
    cpu_cfs_quota: Option<bool>,
    security_options: Option<Vec<String>>,
    runtimes: Option<BTreeMap<String, serde_json::Value>>,
    default_runtime: Option<String>,
    driver: Option<String>,
    name: Option<String>,
}

/// The engine's answer in our words.
fn capabilities(info: Info) -> Capabilities {
    let security_options = info.security_options.unwrap_or_default();
    let has = |name: &str| {
        security_options.iter().any(|option| option.split(',').any(|part| part == format!("name={name}")))
    };
    let cgroup_driver = info.cgroup_driver.unwrap_or_default();
    let enforced = |claim: Option<bool>| claim.unwrap_or(false) && cgroup_driver != "none";
    Capabilities {
        arch: info.architecture.unwrap_or_default(),
        kernel: info.kernel_version.unwrap_or_default(),
        rootless: has("rootless"),
        userns_remap: has("userns"),
        cgroup_version: info.cgroup_version.unwrap_or_default(),
        memory_limit: enforced(info.memory_limit),
        swap_limit: enforced(info.swap_limit),
        pids_limit: enforced(info.pids_limit),
        cpu_quota: enforced(info.cpu_cfs_quota),
        runtimes: info.runtimes.unwrap_or_default().into_keys().collect(),
        default_runtime: info.default_runtime.unwrap_or_default(),
        storage_driver: info.driver.unwrap_or_default(),
        host: info.name.unwrap_or_default(),
        cgroup_driver,
        security_options,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(options: &[&str], driver: &str) -> Capabilities {
        let json = serde_json::json!({
            "SecurityOptions": options, "CgroupDriver": driver, "MemoryLimit": true, "PidsLimit": true
        });
        capabilities(serde_json::from_value(json).unwrap())
    }

    #[test]
    fn limits_without_a_cgroup_driver_are_not_enforced() {
        let rootless = info(&["name=seccomp,profile=default", "name=rootless"], "none");
        assert!(rootless.rootless && !rootless.memory_limit && !rootless.pids_limit);
        let root = info(&["name=seccomp,profile=default", "name=userns"], "cgroupfs");
        assert!(
            root.userns_remap && !root.rootless && root.memory_limit && root.pids_limit && !root.swap_limit
        );
    }
}
