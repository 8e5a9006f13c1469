//! `compose/compose.yaml` as requests to the engine. Every key must be understood: what is added to the file must be
//! added here, so that the tests start what the file says.

use std::collections::HashMap;

use bollard::models::{ContainerCreateBody, HostConfig, RestartPolicy, RestartPolicyNameEnum};
use yaml_rust2::{Yaml, YamlLoader};

/// The file with its variables filled in.
pub(crate) struct File {
    yaml: Yaml,
    project: String,
}

impl File {
    /// Reads the file; `var` gives the variables.
    pub(crate) fn read(project: &str, var: &dyn Fn(&str) -> Option<String>) -> Self {
        let text = include_str!("../../compose/compose.yaml");
        let mut all = YamlLoader::load_from_str(text).unwrap();
        let yaml = fill(&all.remove(0), var);
        let file = Self { yaml, project: project.to_owned() };
        let top: Vec<_> = file.yaml.as_hash().unwrap().keys().filter_map(Yaml::as_str).collect();
        assert_eq!(top, ["services", "volumes"], "keys at the top");
        file
    }

    /// Names of the volumes that the file declares, as the engine has them.
    pub(crate) fn volumes(&self) -> Vec<String> {
        let names = self.yaml["volumes"].as_hash().unwrap().keys();
        names.map(|name| format!("{}_{}", self.project, name.as_str().unwrap())).collect()
    }

    /// The container of a service, with other words for the command where given.
    pub(crate) fn container(&self, service: &str, command: Option<&[&str]>) -> ContainerCreateBody {
        let service = self.yaml["services"][service].as_hash().expect("a service");
        let (mut body, mut host) = (ContainerCreateBody::default(), HostConfig::default());
        for (key, value) in service {
            let text = || value.as_str().map_or_else(|| panic!("{key:?}: {value:?}"), str::to_owned);
            match key.as_str().unwrap() {
                "image" => body.image = Some(text()),
                "command" => body.cmd = Some(list(value)),
                "user" => body.user = Some(text()),
                "working_dir" => body.working_dir = Some(text()),
                "environment" => {
                    body.env = Some(pairs(value).into_iter().map(|(k, v)| format!("{k}={v}")).collect());
                }
                "labels" => body.labels = Some(pairs(value)),
                "network_mode" => host.network_mode = Some(text()),
                "read_only" => host.readonly_rootfs = value.as_bool(),
                "cap_drop" => host.cap_drop = Some(list(value)),
                "cap_add" => host.cap_add = Some(list(value)),
                "security_opt" => host.security_opt = Some(list(value)),
                "pids_limit" => host.pids_limit = value.as_i64(),
                "tmpfs" => {
                    host.tmpfs = Some(list(value).into_iter().map(|path| (path, String::new())).collect());
                }
                "volumes" => host.binds = Some(list(value).iter().map(|one| self.volume(one)).collect()),
                "restart" => {
                    assert_eq!(text(), "unless-stopped");
                    let name = Some(RestartPolicyNameEnum::UNLESS_STOPPED);
                    host.restart_policy = Some(RestartPolicy { name, maximum_retry_count: None });
                }
                "depends_on" => assert_eq!(list(value), ["engine"]),
                other => panic!("key {other} of a service is not understood here"),
            }
        }
        body.host_config = Some(host);
        if let Some(command) = command {
            body.cmd = Some(command.iter().map(|word| (*word).to_owned()).collect());
        }
        body
    }

    /// A named volume belongs to the project.
    fn volume(&self, text: &str) -> String {
        if text.starts_with('/') { text.to_owned() } else { format!("{}_{text}", self.project) }
    }
}

fn list(value: &Yaml) -> Vec<String> {
    let items = value.as_vec().unwrap_or_else(|| panic!("{value:?} is not a list"));
    items.iter().map(|item| item.as_str().expect("a text").to_owned()).collect()
}

fn pairs(value: &Yaml) -> HashMap<String, String> {
    let text = |yaml: &Yaml| yaml.as_str().unwrap_or_else(|| panic!("{yaml:?} is not a text")).to_owned();
    value.as_hash().expect("a mapping").iter().map(|(key, value)| (text(key), text(value))).collect()
}

/// `${NAME:-default}` in every text.
fn fill(yaml: &Yaml, var: &dyn Fn(&str) -> Option<String>) -> Yaml {
    match yaml {
        Yaml::String(text) => Yaml::String(filled(text, var)),
        Yaml::Array(items) => Yaml::Array(items.iter().map(|item| fill(item, var)).collect()),
        Yaml::Hash(pairs) => {
            Yaml::Hash(pairs.iter().map(|(key, value)| (key.clone(), fill(value, var))).collect())
        }
        other => other.clone(),
    }
}

fn filled(text: &str, var: &dyn Fn(&str) -> Option<String>) -> String {
    let Some((before, rest)) = text.split_once("${") else { return text.to_owned() };
    let (inside, after) = rest.split_once('}').expect("a closing brace");
    let (name, default) = inside.split_once(":-").expect("a default");
    let value = var(name).unwrap_or_else(|| default.to_owned());
    format!("{before}{value}{}", filled(after, var))
}
