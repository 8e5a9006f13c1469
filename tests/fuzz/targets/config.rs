//! The configuration file: any text is read or refused; what is read keeps the rules after merging too.

#![no_main]

use std::path::{Path, PathBuf};

use creel::config::{Config, Places};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let var = |name: &str| (name == "HOME").then(|| "/home/fuzz".to_owned());
    let config = match Config::parse(text, Path::new("/etc/fuzz.json5"), &var) {
        Ok(config) => config,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let places = Places { home: Some(PathBuf::from("/home/fuzz")), state: PathBuf::from("/state") };
    let agents: Vec<_> = config.agents().iter().map(|agent| agent.id.clone()).collect();
    for agent in agents.into_iter().chain([config.default_agent()]) {
        let _ = config.exec(&agent);
        let Ok(sandbox) = config.sandbox(&agent, &places) else { continue };
        let docker = &sandbox.docker;
        assert!(sandbox.workspace_root.is_absolute() && sandbox.agent_workspace.is_absolute());
        assert!(docker.workdir.starts_with('/') && docker.workdir != "/");
        assert!(docker.pids_limit > 0 && !docker.cap_drop.is_empty());
        let network = docker.network.to_lowercase();
        assert!(!network.is_empty() && network != "host" && !network.starts_with("ns:"));
        assert!(docker.allow_namespace_join || !network.starts_with("container:"));
        for profile in [&docker.seccomp_profile, &docker.apparmor_profile].into_iter().flatten() {
            assert!(!profile.eq_ignore_ascii_case("unconfined"));
        }
    }
});
