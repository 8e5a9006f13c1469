//! Compares what was asked for with what the kernel enforces. Pure: values in, a report out.
//!
//! Engines accept settings and drop them silently (rootless and Swarm modes, missing cgroup controllers), and a
//! path may be swapped between validation and mount. So nothing that was only requested is believed.

mod denied;
mod limits;
mod mounts;
mod outside;
mod report;
mod status;

use std::collections::BTreeMap;

pub use denied::denied;
pub use outside::{Outside, outside};
pub use report::{Check, Hardening, Rule, Verdict};
pub use status::{mask as capability_mask, names as capability_names};

use super::request::Identity;
use crate::engine::{ContainerSpec, Mount};
use crate::wire::Facts;

/// The paths to ask init about, in the order that [`prove`] expects nothing of.
pub fn paths(spec: &ContainerSpec) -> Vec<String> {
    let mounts = spec.mounts.iter().map(|mount| mount.target.clone());
    std::iter::once("/".to_owned()).chain(mounts).collect()
}

/// Judges `facts` against `spec`. `identities` holds the identity of each mount's source, by target.
pub fn prove(spec: &ContainerSpec, identities: &BTreeMap<String, Identity>, facts: &Facts) -> Hardening {
    let table = mounts::Table::parse(&facts.mountinfo);
    let mut checks = status::checks(spec, &facts.status);
    checks.push(network(spec, &facts.interfaces));
    checks.push(mounts::root(spec, facts));
    let mount = |mount: &Mount| mounts::mount(mount, identities.get(&mount.target), &table, facts);
    checks.extend(spec.mounts.iter().map(mount));
    checks.extend(mounts::submounts(spec, &table));
    checks.extend(spec.tmpfs.iter().map(|tmpfs| mounts::tmpfs(tmpfs, &table)));
    checks.extend(limits::checks(&spec.limits, &facts.limits));
    let mut warnings = mounts::warnings(spec, &table);
    warnings.extend(unwritable(spec, facts));
    Hardening { checks, warnings }
}

/// The working directory belongs to somebody else inside: user namespaces shift owners, and root without
/// capabilities may write only what is root's.
fn unwritable(spec: &ContainerSpec, facts: &Facts) -> Option<String> {
    const OTHERS_MAY_WRITE: u32 = 0o002;
    let uid: u32 = spec.user.as_deref()?.split(':').next()?.parse().ok()?;
    let mount = spec.mounts.iter().find(|mount| mount.target == spec.workdir && !mount.read_only)?;
    let seen = facts.paths.iter().find(|seen| seen.path == mount.target && seen.errno == 0)?;
    let foreign = seen.uid != uid && seen.mode & OTHERS_MAY_WRITE == 0;
    foreign.then(|| format!("{} belongs to user {} inside, commands run as {uid}", mount.target, seen.uid))
}

/// Devices that some kernels put into every network namespace; they carry nothing unless configured.
const FALLBACK_DEVICES: [&str; 9] =
    ["tunl0", "gre0", "gretap0", "erspan0", "ip_vti0", "ip6_vti0", "sit0", "ip6tnl0", "ip6gre0"];

/// The interface leads out, as far as its name tells.
fn leads_out(name: &str) -> bool {
    name != "lo" && !FALLBACK_DEVICES.contains(&name)
}

/// None of these interfaces leads out.
pub fn only_loopback<'a>(names: impl IntoIterator<Item = &'a str>) -> bool {
    !names.into_iter().any(leads_out)
}

fn network(spec: &ContainerSpec, interfaces: &[String]) -> Check {
    let real: Vec<&str> = interfaces.iter().map(String::as_str).filter(|name| leads_out(name)).collect();
    let observed = if real.is_empty() { "loopback only".to_owned() } else { real.join(", ") };
    let verdict = if spec.network != "none" {
        Verdict::Ok
    } else if interfaces.is_empty() {
        // Even an empty namespace has `lo`: nothing listed means that nothing could be read.
        Verdict::Unknown
    } else {
        Verdict::of(real.is_empty())
    };
    Check::new(Rule::Network, spec.network.clone(), observed, verdict)
}

#[cfg(test)]
mod tests;
