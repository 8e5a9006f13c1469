//! Bodies of the calls that make something: a container, a command. Pure; the sources of mounts are returned, to be
//! looked at on the host.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::json::{Body, text_map, texts};
use super::{Denial, Rules, forms, is_clean};
use crate::sandbox::labels;

/// The one option that every sandbox has, in the one form that creel writes.
const NO_NEW_PRIVILEGES: &str = "no-new-privileges";

/// A container as it is forwarded, and what it mounts.
#[derive(Debug)]
pub(super) struct Create {
    /// The body.
    pub(super) body: Value,
    /// Sources of its mounts.
    pub(super) sources: Vec<PathBuf>,
}

impl Create {
    /// The body with other sources in the place of its own, in their order.
    pub(super) fn mounting(mut self, sources: &[PathBuf]) -> Value {
        let mounts = self.body.pointer_mut("/HostConfig/Mounts").and_then(Value::as_array_mut);
        for (mount, source) in mounts.into_iter().flatten().zip(sources) {
            if let Some(mount) = mount.as_object_mut() {
                mount.insert("Source".to_owned(), source.to_string_lossy().into());
            }
        }
        self.body
    }
}

/// Judges the body of a create call: what creel asks for is let through, and nothing that is weaker.
pub(super) fn container(text: &[u8], rules: &Rules, installation: &str) -> Result<Create, Denial> {
    let mut body = Body::parse("container", text)?;
    body.form("Image", forms::image)?;
    body.form("User", forms::user)?;
    body.form("WorkingDir", forms::workdir)?;
    body.keep(&["Entrypoint", "Cmd", "Env"], texts)?;
    body.keep(&["AttachStdin", "OpenStdin", "StdinOnce", "Tty"], Value::is_boolean)?;
    body.keep(&["StopTimeout"], Value::is_u64)?;
    let labels = body.take("Labels").filter(text_map).unwrap_or_default();
    if labels.get(labels::INSTALLATION).and_then(Value::as_str) != Some(installation) {
        return Err(body.denied("Labels", "do not name the installation that this proxy serves"));
    }
    // Other programs on the host act on labels: they route to a container, schedule in it, remove it.
    let strange =
        labels.as_object().into_iter().flatten().find(|(name, _)| !labels::ALL.contains(&name.as_str()));
    if let Some((name, _)) = strange {
        return Err(body.denied("Labels", &format!("hold {name:?}, which is not a label of creel's")));
    }
    body.put("Labels", labels);
    let host = body.take("HostConfig").unwrap_or_default();
    let (host, sources) = host_config(Body::of("HostConfig", host)?, rules)?;
    body.put("HostConfig", host);
    Ok(Create { body: body.finish()?, sources })
}

/// Isolation, mounts, limits. What makes a sandbox one must be asked for; what opens it is not known here.
fn host_config(mut host: Body, rules: &Rules) -> Result<(Value, Vec<PathBuf>), Denial> {
    host.keep(&["ReadonlyRootfs", "Init"], Value::is_boolean)?;
    host.forms("Dns", forms::address)?;
    host.forms("ExtraHosts", forms::host_entry)?;
    tmpfs(&mut host)?;
    host.keep(&["Memory", "MemorySwap", "NanoCpus"], Value::is_i64)?;
    let network = host.take("NetworkMode").unwrap_or_default();
    if !network.as_str().is_some_and(|name| rules.networks.iter().any(|allowed| allowed == name)) {
        return Err(host.denied("NetworkMode", "is not a network that this proxy allows (--network)"));
    }
    host.put("NetworkMode", network);
    let dropped = host.take("CapDrop").filter(texts).unwrap_or_default();
    if !dropped.as_array().is_some_and(|all| all.iter().any(|one| one == "ALL")) {
        return Err(host.denied("CapDrop", "does not drop ALL capabilities"));
    }
    host.put("CapDrop", dropped);
    let pids = host.take("PidsLimit").unwrap_or_default();
    if pids.as_i64().is_none_or(|pids| pids <= 0) {
        return Err(host.denied("PidsLimit", "is missing"));
    }
    host.put("PidsLimit", pids);
    security(&mut host, &rules.profiles)?;
    let ulimits = host.take("Ulimits").unwrap_or_else(|| Value::Array(Vec::new()));
    host.put("Ulimits", each(ulimits, "Ulimits", ulimit)?);
    let mut sources = Vec::new();
    let mounts = host.take("Mounts").unwrap_or_else(|| Value::Array(Vec::new()));
    host.put("Mounts", each(mounts, "Mounts", |entry| mount(entry, rules, &mut sources))?);
    Ok((host.finish()?, sources))
}

/// Temporary file systems: place and options.
fn tmpfs(host: &mut Body) -> Result<(), Denial> {
    let Some(all) = host.take("Tmpfs") else { return Ok(()) };
    let sound = |(target, options): (&String, &Value)| {
        forms::tmpfs_target(target) && options.as_str().is_some_and(forms::tmpfs_options)
    };
    if !all.as_object().is_some_and(|all| all.iter().all(sound)) {
        return Err(host.strange("Tmpfs", &all));
    }
    host.put("Tmpfs", all);
    Ok(())
}

/// `no-new-privileges`, and at most a profile of `AppArmor` that was named, each exactly as creel writes it. The engine
/// reads these options generously; a seccomp profile of the caller's could allow everything.
fn security(host: &mut Body, profiles: &[String]) -> Result<(), Denial> {
    let options = host.take("SecurityOpt").filter(texts).unwrap_or_default();
    let options: Vec<&str> = options.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !options.contains(&NO_NEW_PRIVILEGES) {
        return Err(host.denied("SecurityOpt", "lacks no-new-privileges"));
    }
    let named = |option: &str| {
        option.strip_prefix("apparmor=").is_some_and(|name| profiles.iter().any(|known| known == name))
    };
    if let Some(other) = options.iter().find(|option| **option != NO_NEW_PRIVILEGES && !named(option)) {
        let shown: String = other.chars().take(40).collect();
        let reason = format!("holds {shown:?}, which this proxy does not allow (--apparmor)");
        return Err(host.denied("SecurityOpt", &reason));
    }
    if options.len() > 2 {
        return Err(host.denied("SecurityOpt", "says something twice"));
    }
    host.put("SecurityOpt", options.into_iter().map(Value::from).collect::<Vec<_>>());
    Ok(())
}

/// Every entry of a list, checked.
fn each(
    list: Value,
    name: &'static str,
    mut one: impl FnMut(Value) -> Result<Value, Denial>,
) -> Result<Value, Denial> {
    match list {
        Value::Array(entries) => {
            entries.into_iter().map(&mut one).collect::<Result<Vec<_>, _>>().map(Value::Array)
        }
        _ => Err(Denial::new(format!("{name} is not a list"))),
    }
}

fn ulimit(entry: Value) -> Result<Value, Denial> {
    let mut body = Body::of("Ulimits", entry)?;
    body.form("Name", forms::limit)?;
    body.keep(&["Soft", "Hard"], Value::is_i64)?;
    body.finish()
}

/// A bind mount below a root.
fn mount(entry: Value, rules: &Rules, sources: &mut Vec<PathBuf>) -> Result<Value, Denial> {
    let mut body = Body::of("Mounts", entry)?;
    body.form("Target", forms::target)?;
    body.keep(&["ReadOnly"], Value::is_boolean)?;
    match body.take("Type") {
        Some(kind) if kind == "bind" => body.put("Type", kind),
        _ => return Err(body.denied("Type", "is not bind")),
    }
    let source = body.take("Source").unwrap_or_default();
    let Some(text) = source.as_str().filter(|text| is_clean(text)) else {
        return Err(body.denied("Source", "is not an absolute path without `.` and `..`"));
    };
    if !rules.roots.iter().any(|root| Path::new(text).starts_with(root)) {
        let reason = format!("{text:?} is not below a directory that this proxy allows (--root)");
        return Err(body.denied("Source", &reason));
    }
    sources.push(PathBuf::from(text));
    body.put("Source", source);
    body.finish()
}

/// Judges a command of the engine's exec API: as its container, never with more rights.
pub(super) fn exec(text: &[u8]) -> Result<Value, Denial> {
    let mut body = Body::parse("exec", text)?;
    body.keep(&["AttachStdin", "AttachStdout", "AttachStderr", "Tty"], Value::is_boolean)?;
    body.keep(&["Cmd", "Env"], texts)?;
    body.form("User", forms::user)?;
    body.form("WorkingDir", forms::workdir)?;
    body.finish()
}

/// The body of the start of such a command.
pub(super) fn exec_start(text: &[u8]) -> Result<Value, Denial> {
    let mut body = Body::parse("exec", text)?;
    body.keep(&["Detach", "Tty"], Value::is_boolean)?;
    body.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::proxy::{Allowed, CLIENT_LABEL};
    use crate::engine::{ContainerSpec, Limits, Mount, Tmpfs, Ulimit, translate};
    use crate::paths::DenyEnv;
    use crate::state::StateDir;

    const ID: &str = "0123456789abcdef0123456789abcdef";

    fn rules() -> Rules {
        let allowed = Allowed { roots: vec!["/srv/creel".into()], ..Allowed::default() };
        Rules::new(StateDir::at("/s"), allowed, DenyEnv::default()).unwrap()
    }

    fn spec() -> ContainerSpec {
        ContainerSpec {
            name: "box".into(),
            image: "sha256:1".into(),
            argv: vec!["/.creel/init".into(), "pid1".into()],
            env: vec![("OPENCLAW_CLI".into(), "1".into())],
            labels: [(labels::INSTALLATION.to_owned(), ID.to_owned())].into(),
            user: Some("1000:1000".into()),
            workdir: "/workspace".into(),
            mounts: vec![Mount {
                source: "/srv/creel/w".into(),
                target: "/workspace".into(),
                read_only: false,
            }],
            tmpfs: vec![Tmpfs { target: "/tmp".into(), options: "rw".into() }],
            network: "none".into(),
            dns: vec!["1.1.1.1".into()],
            extra_hosts: vec!["a:1.2.3.4".into()],
            read_only_root: true,
            cap_drop: vec!["ALL".into()],
            seccomp: None,
            apparmor: Some("docker-default".into()),
            limits: Limits {
                memory: Some(1 << 30),
                memory_swap: Some(-1),
                nano_cpus: Some(1_000_000_000),
                pids: Some(64),
                ulimits: vec![Ulimit { name: "nofile".into(), soft: 1, hard: 2 }],
            },
            gpus: None,
            engine_init: false,
            stdin: true,
            stop_timeout_s: 10,
        }
    }

    fn body(spec: ContainerSpec) -> Value {
        serde_json::to_value(translate::create_body(spec, Vec::new()).unwrap()).unwrap()
    }

    fn judge(body: &Value) -> Result<Create, Denial> {
        container(body.to_string().as_bytes(), &rules(), ID)
    }

    /// What creel itself asks for arrives unchanged: the filter and the translation are two views of one thing.
    #[test]
    fn every_sandbox_of_creel_is_let_through() {
        let asked = body(spec());
        let create = judge(&asked).unwrap();
        assert_eq!(create.sources, [PathBuf::from("/srv/creel/w")]);
        pretty_assertions::assert_eq!(create.body, asked);
    }

    #[test]
    fn what_is_weaker_is_refused() {
        let weaker: [fn(&mut ContainerSpec); 9] = [
            |spec| spec.network = "host".into(),
            |spec| spec.network = "bridge".into(),
            |spec| spec.cap_drop = vec!["NET_RAW".into()],
            |spec| spec.seccomp = Some("{}".into()),
            |spec| spec.apparmor = Some("unconfined".into()),
            |spec| spec.limits.pids = None,
            |spec| spec.gpus = Some("all".into()),
            |spec| spec.labels.clear(),
            |spec| drop(spec.labels.insert(CLIENT_LABEL.into(), "1".into())),
        ];
        for (at, weaken) in weaker.into_iter().enumerate() {
            let mut spec = spec();
            weaken(&mut spec);
            assert!(judge(&body(spec)).is_err(), "{at}");
        }
    }

    #[test]
    fn texts_that_the_engine_would_read_generously_are_refused() {
        type Change = (&'static str, fn(&mut ContainerSpec, &str), &'static [&'static str]);
        let wrong: [Change; 9] = [
            (
                "SecurityOpt",
                |spec, text| spec.apparmor = Some(text.into()),
                &[
                    "unconfined",
                    " unconfined",
                    "Unconfined",
                    ":root:unconfined",
                    "docker-default ",
                    "other",
                    "",
                ],
            ),
            (
                "NetworkMode",
                |spec, text| spec.network = text.into(),
                &["none ", "None", "host", "container:a"],
            ),
            ("User", |spec, text| spec.user = Some(text.into()), &[" 0", "0:0:0", "a b"]),
            ("Image", |spec, text| spec.image = text.into(), &["a b", "../a", " a"]),
            ("WorkingDir", |spec, text| spec.workdir = text.into(), &["w", "/w/../x"]),
            (
                "Target",
                |spec, text| spec.mounts[0].target = text.into(),
                &["/", "/proc", "/x/../sys", "/dev/x"],
            ),
            ("Tmpfs", |spec, text| spec.tmpfs[0].options = text.into(), &["bind", "rw,shared", "rw, suid"]),
            ("Dns", |spec, text| spec.dns = vec![text.into()], &["1.1.1.1 ", "a"]),
            ("ExtraHosts", |spec, text| spec.extra_hosts = vec![text.into()], &["a:b", "a:1.1.1.1\n"]),
        ];
        for (key, change, texts) in wrong {
            for text in texts {
                let mut spec = spec();
                change(&mut spec, text);
                let error = judge(&body(spec)).unwrap_err().to_string();
                assert!(error.contains(key), "{key} {text:?}: {error}");
            }
        }
        for options in
            [json!(["no-new-privileges:true"]), json!(["no-new-privileges", "no-new-privileges=false"])]
        {
            let mut asked = body(spec());
            asked["HostConfig"]["SecurityOpt"] = options;
            assert!(judge(&asked).is_err(), "{asked}");
        }
        let mut labelled = spec();
        labelled.labels.insert("traefik.enable".into(), "true".into());
        assert!(judge(&body(labelled)).unwrap_err().to_string().contains("traefik.enable"));
    }

    #[test]
    fn a_profile_that_was_named_is_let_through() {
        let profiles = vec!["mine".to_owned()];
        let allowed = Allowed { roots: vec!["/srv/creel".into()], profiles, ..Allowed::default() };
        let rules = Rules::new(StateDir::at("/s"), allowed, DenyEnv::default()).unwrap();
        let asked = body(ContainerSpec { apparmor: Some("mine".into()), ..spec() }).to_string();
        assert!(container(asked.as_bytes(), &rules, ID).is_ok());
    }

    #[test]
    fn only_sources_below_a_root() {
        for source in [
            "/",
            "/etc",
            "/srv",
            "/srv/creel2",
            "/srv/creel/../etc",
            "srv/creel",
            "/srv/creel//x",
            "/srv/creel/./x",
            "",
        ] {
            let mut spec = spec();
            spec.mounts[0].source = source.into();
            assert!(judge(&body(spec)).is_err(), "{source}");
        }
    }

    #[test]
    fn keys_that_open_a_container_are_not_known() {
        let opening = [
            ("Privileged", json!(true)),
            ("privileged", json!(true)),
            ("PidMode", json!("host")),
            ("IpcMode", json!("host")),
            ("UTSMode", json!("host")),
            ("UsernsMode", json!("host")),
            ("CgroupnsMode", json!("host")),
            ("Binds", json!(["/:/host"])),
            ("VolumesFrom", json!(["other"])),
            ("Devices", json!([{"PathOnHost": "/dev/sda"}])),
            ("DeviceCgroupRules", json!(["a *:* rwm"])),
            ("CapAdd", json!(["SYS_ADMIN"])),
            ("capadd", json!(["SYS_ADMIN"])),
            ("Runtime", json!("other")),
            ("CgroupParent", json!("/")),
            ("OomScoreAdj", json!(-1000)),
            ("Sysctls", json!({"kernel.x": "1"})),
            ("MaskedPaths", json!(["/x"])),
            ("PublishAllPorts", json!(true)),
            ("RestartPolicy", json!({"Name": "always"})),
            ("AutoRemove", json!(true)),
            ("LogConfig", json!({"Type": "syslog"})),
        ];
        for (key, value) in opening {
            let mut asked = body(spec());
            asked["HostConfig"][key] = value;
            let error = judge(&asked).unwrap_err();
            assert!(error.to_string().contains(key), "{error}");
        }
        for (key, value) in
            [("Volumes", json!({"/x": {}})), ("NetworkingConfig", json!({"EndpointsConfig": {"a": {}}}))]
        {
            let mut asked = body(spec());
            asked[key] = value;
            assert!(judge(&asked).is_err(), "{key}");
        }
        let mut propagated = body(spec());
        propagated["HostConfig"]["Mounts"][0]["BindOptions"] = json!({"Propagation": "shared"});
        assert!(judge(&propagated).is_err());
        let mut volume = body(spec());
        volume["HostConfig"]["Mounts"][0]["Type"] = json!("volume");
        assert!(judge(&volume).is_err());
    }

    #[test]
    fn commands_have_the_rights_of_their_container() {
        assert!(exec(br#"{"Cmd":["true"],"AttachStdout":true,"User":"1:1"}"#).is_ok());
        assert!(exec(br#"{"Cmd":["true"],"Privileged":true}"#).is_err());
        assert!(exec(br#"{"Cmd":["true"],"privileged":true}"#).is_err());
        assert!(exec_start(br#"{"Detach":false,"Tty":true}"#).is_ok());
    }

    proptest::proptest! {
        /// Whatever is added to a sandbox that is let through: it is refused, or changes nothing that matters.
        #[test]
        fn nothing_unknown_is_forwarded(key in "[A-Za-z]{1,16}", text in ".{0,8}", in_host: bool) {
            let plain = judge(&body(spec())).unwrap().body;
            let mut asked = body(spec());
            let place = if in_host { &mut asked["HostConfig"] } else { &mut asked };
            proptest::prop_assume!(place.get(&key).is_none());
            place[&key] = json!({ "x": text });
            if let Ok(create) = judge(&asked) {
                proptest::prop_assert_eq!(create.body, plain);
            }
        }

        #[test]
        fn any_body_is_judged(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = container(&bytes, &rules(), ID);
            let _ = exec(&bytes);
        }
    }
}
