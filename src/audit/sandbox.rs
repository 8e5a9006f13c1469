//! What the sandbox blocks open. Pure.

use serde_json::Value;

use super::finding::{Finding, Severity};
use super::raw::{self, Layer, at};
use crate::config::network::Refused;
use crate::config::{Document, env, network};
use crate::paths::{BindError, BindRefusal, BindSyntax, Special};

pub(super) fn checks(document: &Document, binds: &[BindError]) -> Vec<Finding> {
    let root = document.root();
    let mut all = mode_off(document);
    all.extend(binds.iter().filter_map(|bind| refused_bind(document, bind)));
    for layer in raw::layers(root) {
        all.extend(networks(document, &layer));
        all.extend(profiles(document, &layer));
        all.extend(credentials(document, &layer));
        all.extend(softened(document, &layer));
    }
    all
}

/// A container that is configured and never made.
fn mode_off(document: &Document) -> Vec<Finding> {
    let root = document.root();
    let layers = raw::layers(root);
    let any_on = layers.iter().any(|layer| raw::mode(root, layer.block) != "off");
    let idle = |layer: &&Layer<'_>| {
        let set = at(layer.block, &["sandbox", "docker"]).and_then(Value::as_object);
        let off = raw::mode(root, layer.block) == "off";
        set.is_some_and(|block| !block.is_empty()) && off && (layer.agent.is_some() || !any_on)
    };
    let one = |layer: &Layer<'_>| {
        let key = format!("{}.sandbox.docker", layer.key);
        Finding::new(
            "sandbox.docker_config_mode_off",
            Severity::Warn,
            "The sandbox is configured and switched off",
            format!("{key} is written, and the effective mode is off: commands run on the host"),
            "set agents.defaults.sandbox.mode to non-main or all, or remove the block",
        )
        .at(document, &key)
    };
    layers.iter().filter(idle).map(one).collect()
}

fn refused_bind(document: &Document, bind: &BindError) -> Option<Finding> {
    let ends = |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "sock");
    let named = bind.judged.as_ref().is_some_and(ends) || bind.written.contains(".sock:");
    let socket = named || bind.special == Some(Special::Socket);
    let (check, severity, title) = match &*bind.refusal {
        BindRefusal::Syntax(BindSyntax::NotAbsolute(_)) => {
            ("sandbox.bind_mount_non_absolute", Severity::Warn, "A bind has no absolute source")
        }
        BindRefusal::Denied(_) if socket => (
            "sandbox.dangerous_bind_mount",
            Severity::Critical,
            "A bind gives the engine's socket away: that is root on the host",
        ),
        BindRefusal::SpecialFile(_) => {
            ("sandbox.dangerous_bind_mount", Severity::Critical, "A bind gives a socket or device away")
        }
        BindRefusal::DeniedByMount(_) => (
            "sandbox.dangerous_bind_mount",
            Severity::Critical,
            "A bind gives a denied path of the host away, under another name",
        ),
        BindRefusal::Denied(_) => (
            "sandbox.dangerous_bind_mount",
            Severity::Critical,
            "A bind gives a denied path of the host away",
        ),
        _ => return None,
    };
    let fix = crate::error::Diagnose::report(bind).fix;
    let detail = format!("{bind}; creel refuses it whatever flag is set");
    Some(Finding::new(check, severity, title, detail, fix).at(document, &bind.key))
}

fn networks(document: &Document, layer: &Layer<'_>) -> Vec<Finding> {
    let one = |part: &str| {
        let mode = at(layer.block, &["sandbox", part, "network"])?.as_str()?;
        // The flag opens a joined network, and the audit names it all the same.
        let refused = network::check_network(mode, false).err()?;
        let key = format!("{}.sandbox.{part}.network", layer.key);
        Some(
            Finding::new(
                "sandbox.dangerous_network_mode",
                Severity::Critical,
                "The sandbox's network is not its own",
                format!("{key} is {mode:?}: {refused}"),
                own_network(refused),
            )
            .at(document, &key),
        )
    };
    ["docker", "browser"].into_iter().filter_map(one).collect()
}

/// What ends the finding. The fix of a refusal also names the flag that allows it, which would not end this.
fn own_network(refused: Refused) -> &'static str {
    match refused {
        Refused::Join => {
            "write \"none\", or \"bridge\" where the network is needed, and remove \
             dangerouslyAllowContainerNamespaceJoin where it is set"
        }
        _ => refused.fix(),
    }
}

fn profiles(document: &Document, layer: &Layer<'_>) -> Vec<Finding> {
    let one = |(name, check): (&str, &str)| {
        let profile = at(layer.block, &["sandbox", "docker", name])?.as_str()?;
        let refused = network::check_profile(profile).err()?;
        let key = format!("{}.sandbox.docker.{name}", layer.key);
        let detail = format!("{key} is {profile:?}: {refused}");
        let title = "A security profile is switched off";
        Some(Finding::new(check, Severity::Critical, title, detail, refused.fix()).at(document, &key))
    };
    let both = [
        ("seccompProfile", "sandbox.dangerous_seccomp_profile"),
        ("apparmorProfile", "sandbox.dangerous_apparmor_profile"),
    ];
    both.into_iter().filter_map(one).collect()
}

/// Names only: a value never leaves.
fn credentials(document: &Document, layer: &Layer<'_>) -> Option<Finding> {
    let key = format!("{}.sandbox.docker.env", layer.key);
    let vars = at(layer.block, &["sandbox", "docker", "env"])?.as_object()?;
    let names: Vec<&str> =
        vars.keys().map(|name| name.trim()).filter(|name| env::secret(name).is_some()).collect();
    (!names.is_empty()).then(|| {
        Finding::new(
            "sandbox.env_credentials",
            Severity::Warn,
            "Variables of the sandbox look like credentials",
            format!("every command of the sandbox can read {}", names.join(", ")),
            "leave out what commands do not need, or mount a file that holds it",
        )
        .at(document, &key)
    })
}

/// Measures that are switched off by configuration.
fn softened(document: &Document, layer: &Layer<'_>) -> Vec<Finding> {
    let block = at(layer.block, &["sandbox", "docker"]);
    let value = |name: &str| block.and_then(|block| block.get(name));
    let key = |name: &str| format!("{}.sandbox.docker.{name}", layer.key);
    let one = |check: &str, name: &str, title: &str, detail: &str, fix: &str| {
        Finding::new(check, Severity::Warn, title, detail, fix).at(document, &key(name))
    };
    let mut all = Vec::new();
    if value("readOnlyRoot") == Some(&Value::Bool(false)) {
        all.push(one(
            "sandbox.writable_root",
            "readOnlyRoot",
            "The sandbox's root file system is writable",
            "a command can change the sandbox's own programs",
            "remove the key",
        ));
    }
    let drops = value("capDrop").and_then(Value::as_array);
    let everything = |list: &Vec<Value>| {
        list.iter().filter_map(Value::as_str).any(|name| name.trim().eq_ignore_ascii_case("all"))
    };
    if drops.is_some_and(|list| !everything(list)) {
        all.push(one(
            "sandbox.capabilities_kept",
            "capDrop",
            "The sandbox keeps capabilities",
            "capDrop does not name ALL: commands that run as root hold the engine's other capabilities",
            "remove the key: ALL is dropped by default",
        ));
    }
    let user = value("user").and_then(Value::as_str).map(str::trim).unwrap_or_default();
    if user.split(':').next().is_some_and(|user| user == "0" || user == "root") {
        all.push(one(
            "sandbox.root_user",
            "user",
            "Commands of the sandbox run as root",
            "what escapes from a bind belongs to root on the host",
            "remove the key: commands then run as the workspace's owner",
        ));
    }
    all
}
