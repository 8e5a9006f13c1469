//! Reads what the checks need. Nothing is written, made or started.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use super::configuration;
use super::facts::{ApprovalsLook, ConfigLook, EngineLook, Facts, ImageLook, SafeBinLook, StateLook};
use crate::approvals::programs::{HostPrograms, Lookup as _};
use crate::approvals::safe_bins::SafeBins;
use crate::approvals::store::{self, lists};
use crate::client::SandboxOptions;
use crate::config::{Config, Document, Located, Places, document};
use crate::engine::{Discovery, Engine, EngineError};
use crate::error::Diagnose as _;
use crate::explain;
use crate::image::{self, Recipe};
use crate::sandbox::{self, InitSearch, Sandboxes};
use crate::state::StateDir;

/// Directories of creel's own that only their owner may enter; what is mounted into sandboxes lies below them.
const PRIVATE: [&str; 7] = ["", "run", "bin", "proof", "lock", "lease", "used"];
/// Files of a former registry, below the state directory.
const REGISTRY: [&str; 2] = ["sandbox/containers.json", "sandbox/browsers.json"];

/// Where to look.
#[derive(Debug)]
pub struct Around {
    /// The configuration file.
    pub located: Located,
    /// The state directory.
    pub state: StateDir,
    /// What relative paths are relative to.
    pub places: Places,
    /// The engine.
    pub discovery: Discovery,
    /// Where creel-init is looked for.
    pub init: InitSearch,
    /// Every sandbox is opened from these.
    pub options: SandboxOptions,
}

/// Looks at everything.
pub async fn look(around: &Around, var: &dyn Fn(&str) -> Option<String>) -> Facts {
    let config = configured(around, var);
    let (engine, handle) = ask(&around.discovery).await;
    let mut facts = Facts {
        state: state(around.state.root()),
        init: sandbox::locate_init(&around.init).map_err(|error| error.report()),
        engine,
        images: Vec::new(),
        sandboxes: None,
        stale_runs: Vec::new(),
        drift: Vec::new(),
        approvals: approvals(around, &config, var),
        config,
    };
    if let Some(engine) = handle {
        facts.images = images(&facts.config, &engine).await;
        // Without an installation there are no sandboxes, and looking must not make one.
        if around.state.known_installation().is_some()
            && let Ok(sandboxes) = Sandboxes::open(engine.clone(), &around.state)
        {
            facts.sandboxes = sandboxes.list().await.ok();
            let stale = sandboxes.stale_runs().await.unwrap_or_default();
            facts.stale_runs = stale.iter().map(|run| run.as_str().to_owned()).collect();
            facts.drift = drift(around, &facts, &engine).await;
        }
    }
    facts
}

fn configured(around: &Around, var: &dyn Fn(&str) -> Option<String>) -> ConfigLook {
    let Around { located, places, .. } = around;
    let text = document::read(located);
    let present = matches!(text, Ok(Some(_)));
    let read = text.as_ref().ok().map(|text| text.as_deref().unwrap_or("{}"));
    let config = match &text {
        Ok(text) => Config::parse(text.as_deref().unwrap_or("{}"), &located.path, var),
        Err(error) => Err(error.clone()),
    };
    let registry = REGISTRY.iter().map(|name| around.state.root().join(name));
    ConfigLook {
        file: located.path.clone(),
        present,
        mode: std::fs::metadata(&located.path).ok().map(|meta| meta.permissions().mode() & 0o7777),
        document: read.and_then(|text| Document::parse(text, &located.path).ok()),
        refused_here: config.as_ref().map(|config| explain::refused_here(config, places)).unwrap_or_default(),
        config,
        places: places.clone(),
        registry_files: registry.filter(|path| path.is_file()).collect(),
    }
}

/// Nothing is kept of what is read.
fn approvals(around: &Around, config: &ConfigLook, var: &dyn Fn(&str) -> Option<String>) -> ApprovalsLook {
    let state = &around.state;
    let local = store::peek(state);
    let file = std::fs::symlink_metadata(&local.path).ok().filter(std::fs::Metadata::is_file);
    ApprovalsLook {
        mode: file.map(|meta| meta.permissions().mode() & 0o7777),
        waiting: lists::waiting(&local.held.document, None),
        importable: store::import::waits(state),
        former_main: store::names_main_default(&local),
        safe_bins: config.config.as_ref().map(|config| safe_bins(config, around, var)).unwrap_or_default(),
        local,
    }
}

/// Each list once, however many agents have it.
fn safe_bins(config: &Config, around: &Around, var: &dyn Fn(&str) -> Option<String>) -> Vec<SafeBinLook> {
    let lookup = HostPrograms::new(&var("PATH").unwrap_or_default(), around.places.home.clone());
    let mut all: Vec<SafeBinLook> = Vec::new();
    for agent in configuration::agents(config) {
        let settings = config.exec(&agent).safe_bins;
        let Some(written) = &settings.bins else { continue };
        if all.iter().any(|known| known.key == written.key) {
            continue;
        }
        let bins = SafeBins::new(&settings, &lookup);
        let directories: Vec<&Path> = bins.directories().collect();
        let trusted = |name: &str, real: &Path| {
            let leads = |directory: &&Path| {
                let path = directory.join(name);
                lookup.program(&path.to_string_lossy(), None).is_some_and(|found| found.real == real)
            };
            real.parent().is_some_and(|parent| directories.contains(&parent)) || directories.iter().any(leads)
        };
        let outside = written.value.iter().filter_map(|name| {
            let real = lookup.program(name, None)?.real;
            (!trusted(name, &real)).then(|| (name.clone(), real))
        });
        all.push(SafeBinLook {
            key: written.key.clone(),
            problems: bins.problems().to_vec(),
            outside: outside.collect(),
        });
    }
    all
}

fn state(root: &Path) -> StateLook {
    let own_uid = rustix::process::geteuid().as_raw();
    let mut look = StateLook { root: root.to_owned(), ..StateLook::default() };
    let Some(there) = root.ancestors().find(|dir| dir.exists()) else { return look };
    if let Ok(stat) = rustix::fs::statvfs(there) {
        look.noexec = stat.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC);
    }
    look.read_only = rustix::fs::access(there, rustix::fs::Access::WRITE_OK).is_err();
    let writable = |meta: std::fs::Metadata| meta.permissions().mode() & 0o022 != 0;
    look.writable_by_others = std::fs::metadata(root).is_ok_and(writable);
    let own = root.join("creel");
    for part in PRIVATE {
        // Not `join("")`: a slash at the end would follow a link.
        let path = if part.is_empty() { own.clone() } else { own.join(part) };
        if let Err(kind) = crate::state::own_dir(&path) {
            look.not_own.push((path, kind));
            if part.is_empty() {
                break;
            }
            continue;
        }
        let Ok(meta) = std::fs::symlink_metadata(&path) else { continue };
        let mode = meta.permissions().mode() & 0o7777;
        if meta.uid() != own_uid {
            look.foreign.push((path, meta.uid()));
        } else if meta.is_dir() && mode & 0o077 != 0 {
            look.open.push((path, mode));
        }
    }
    look
}

async fn ask(discovery: &Discovery) -> (EngineLook, Option<Engine>) {
    match Engine::discover(discovery).await {
        Ok(engine) => {
            let mut look = EngineLook {
                tried: engine.facts().tried.clone(),
                facts: Some(engine.facts().clone()),
                ..EngineLook::default()
            };
            match engine.capabilities().await {
                Ok(capabilities) => look.capabilities = Some(capabilities.clone()),
                Err(error) => look.error = Some(error.report()),
            }
            (look, Some(engine))
        }
        Err(error) => {
            let tried = if let EngineError::NoEngine { tried } = &error { tried.clone() } else { Vec::new() };
            (EngineLook { tried, error: Some(error.report()), ..EngineLook::default() }, None)
        }
    }
}

/// Every image that some agent's sandboxes are made from.
async fn images(look: &ConfigLook, engine: &Engine) -> Vec<ImageLook> {
    let Ok(config) = &look.config else { return Vec::new() };
    let mut by_reference: BTreeMap<String, ImageLook> = BTreeMap::new();
    for sandbox in configuration::resolved(look, config) {
        let reference = sandbox.docker.image.clone();
        let key = sandbox.key("docker.image");
        let rule = key.map(|key| config.origin(key).map_or_else(|| key.to_owned(), |at| at.to_string()));
        let entry = by_reference.entry(reference.clone()).or_insert_with(|| ImageLook {
            reference,
            agents: Vec::new(),
            rule,
            present: false,
            outdated: false,
        });
        entry.agents.push(sandbox.agent.to_string());
    }
    for image in by_reference.values_mut() {
        if let Ok(Some(found)) = engine.image(&image.reference).await {
            image.present = true;
            image.outdated = Recipe::of_reference(&image.reference)
                .is_some_and(|recipe| image::is_outdated(recipe, &found));
        }
    }
    by_reference.into_values().collect()
}

/// Sandboxes that are older than the configuration: those of the agents' main sessions, and every other whose scope
/// names its session.
async fn drift(around: &Around, facts: &Facts, engine: &Engine) -> Vec<(String, String, Vec<String>)> {
    let Ok(config) = &facts.config.config else { return Vec::new() };
    let running = || facts.sandboxes.iter().flatten().filter(|one| one.running);
    let main = configuration::agents(config);
    let main = main.iter().map(|agent| around.options.clone().agent(agent.as_str()));
    let named = running().map(|one| around.options.clone().session(session_of(&one.session_key)));
    let mut all: Vec<(String, String, Vec<String>)> = Vec::new();
    for options in main.chain(named) {
        let Ok(preview) = options.preview() else { continue };
        let name = preview.request.name.to_string();
        if !running().any(|one| one.name == name) || all.iter().any(|known| known.0 == name) {
            continue;
        }
        let id = engine.image(&preview.request.image).await.ok().flatten().map(|image| image.id);
        let rootless = sandbox::rootless(&engine.facts().endpoint);
        let stored = sandbox::stored(&preview.state, &preview.request, id.as_deref(), rootless);
        if let Some(stored) = stored.filter(|stored| !stored.drift.is_empty()) {
            all.push((name, preview.request.agent, stored.drift));
        }
    }
    all
}

/// A scope key without what tells workspaces and variants apart.
fn session_of(scope: &str) -> &str {
    let cut = [":workspace:", ":variant:"].iter().filter_map(|mark| scope.find(mark)).min();
    cut.and_then(|end| scope.get(..end)).unwrap_or(scope)
}

#[cfg(test)]
mod tests {
    use super::session_of;

    #[test]
    fn sessions_of_scopes() {
        assert_eq!(session_of("agent:main:work:workspace:ab12"), "agent:main:work");
        assert_eq!(session_of("agent:main:work:variant:workspace:ab"), "agent:main:work");
        assert_eq!(session_of("agent:main:work"), "agent:main:work");
    }
}
