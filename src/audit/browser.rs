//! Live containers of the sandbox browser. Pure.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use super::finding::{Finding, Severity};

/// What marks such a container.
pub(super) const LABEL: &str = "openclaw.sandboxBrowser";
/// Label of the configuration's hash.
const HASH: &str = "openclaw.configHash";
/// Label of the epoch that made it.
const EPOCH_LABEL: &str = "openclaw.browserConfigEpoch";
/// The epoch of upstream's newest release (spec `sandbox.md` §5.3).
const EPOCH: &str = "2026-05-12-cdp-relay-auth";

/// One container.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BrowserContainer {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Ports of the host that lead into it, as `address:port`.
    pub published: Vec<String>,
}

/// What the engine said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BrowserLook {
    /// There is no engine to ask.
    NoEngine,
    /// It did not answer in this time.
    TimedOut(Duration),
    /// Running containers.
    Live(Vec<BrowserContainer>),
}

pub(super) fn checks(look: &BrowserLook) -> Vec<Finding> {
    match look {
        BrowserLook::NoEngine => Vec::new(),
        BrowserLook::TimedOut(after) => vec![Finding::new(
            "sandbox.browser_container.docker_probe_timeout",
            Severity::Warn,
            "The engine did not say which browser containers run",
            format!("no answer within {} ms", after.as_millis()),
            "see `creel engine status`, then audit again",
        )],
        BrowserLook::Live(all) => all.iter().flat_map(container).collect(),
    }
}

fn container(one: &BrowserContainer) -> Vec<Finding> {
    let name = &one.name;
    let again = format!("docker rm -f {name}; the agent host makes it anew");
    let mut all = Vec::new();
    let label =
        |name: &str| one.labels.get(name).map(String::as_str).filter(|value| !value.trim().is_empty());
    if label(HASH).is_none() {
        all.push(Finding::new(
            "sandbox.browser_container.hash_label_missing",
            Severity::Warn,
            "Nothing says how a browser container was configured",
            format!("container {name} has no label {HASH}"),
            again.clone(),
        ));
    }
    if label(EPOCH_LABEL) != Some(EPOCH) {
        let found = label(EPOCH_LABEL).unwrap_or("none");
        all.push(Finding::new(
            "sandbox.browser_container.hash_epoch_stale",
            Severity::Warn,
            "A browser container was made by an older version",
            format!("container {name} is of epoch {found}, now is {EPOCH}"),
            again.clone(),
        ));
    }
    let open: Vec<&str> =
        one.published.iter().map(String::as_str).filter(|place| !is_loopback(place)).collect();
    if !open.is_empty() {
        all.push(Finding::new(
            "sandbox.browser_container.non_loopback_publish",
            Severity::Critical,
            "A browser can be controlled from other machines",
            format!("container {name} is published at {}", open.join(", ")),
            again,
        ));
    }
    all
}

fn is_loopback(place: &str) -> bool {
    let host = place.rsplit_once(':').map_or(place, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
