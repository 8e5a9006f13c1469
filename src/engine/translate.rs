//! A [`ContainerSpec`] in the engine's words. Pure.

use bollard::models::{
    ContainerCreateBody, DeviceRequest, HostConfig, Mount as EngineMount, MountType, ResourcesUlimits,
};

use super::{ContainerSpec, EngineError, Mount, Ulimit};

/// The request body that makes this container. `defaults` are rlimits for names that the spec does not mention.
pub(super) fn create_body(
    spec: ContainerSpec,
    defaults: Vec<Ulimit>,
) -> Result<ContainerCreateBody, EngineError> {
    let mut argv = spec.argv.iter().cloned();
    let program = argv.next().filter(|program| !program.is_empty());
    let program = program.ok_or(EngineError::BadValue {
        what: "argv of container",
        value: spec.name.clone(),
        reason: "a container needs a program to run",
    })?;
    Ok(ContainerCreateBody {
        image: Some(spec.image.clone()),
        // Both are set, so that nothing of the image's own command remains.
        entrypoint: Some(vec![program]),
        cmd: Some(argv.collect()),
        env: Some(spec.env.iter().map(|(name, value)| format!("{name}={value}")).collect()),
        labels: Some(spec.labels.clone().into_iter().collect()),
        user: spec.user.clone(),
        working_dir: Some(spec.workdir.clone()).filter(|dir| !dir.is_empty()),
        attach_stdin: Some(spec.stdin),
        open_stdin: Some(spec.stdin),
        // With the first connection to it the input ends: nobody attaches a second time.
        stdin_once: Some(spec.stdin),
        tty: Some(false),
        stop_timeout: Some(i64::from(spec.stop_timeout_s)),
        host_config: Some(host_config(spec, defaults)?),
        ..Default::default()
    })
}

/// Isolation, mounts and limits.
fn host_config(spec: ContainerSpec, defaults: Vec<Ulimit>) -> Result<HostConfig, EngineError> {
    if spec.network.trim().is_empty() {
        // An absent network means the engine's default bridge, with a way out.
        let reason = "a network must be named (`none` for no network)";
        return Err(EngineError::BadValue { what: "network of container", value: spec.name, reason });
    }
    let limits = spec.limits;
    Ok(HostConfig {
        network_mode: Some(spec.network),
        readonly_rootfs: Some(spec.read_only_root),
        cap_drop: Some(spec.cap_drop),
        security_opt: Some(security(spec.seccomp, spec.apparmor)),
        // `Mounts` refuse a missing source; `Binds` would create it as a directory of root.
        mounts: Some(spec.mounts.into_iter().map(mount).collect()),
        tmpfs: Some(spec.tmpfs.into_iter().map(|tmpfs| (tmpfs.target, tmpfs.options)).collect()),
        dns: Some(spec.dns),
        extra_hosts: Some(spec.extra_hosts),
        init: Some(spec.engine_init),
        memory: limits.memory.map(clamp),
        memory_swap: limits.memory_swap,
        nano_cpus: limits.nano_cpus.map(clamp),
        pids_limit: limits.pids.map(clamp),
        ulimits: Some(ulimits(limits.ulimits, defaults)),
        device_requests: spec.gpus.as_deref().map(gpus).transpose()?.map(|request| vec![request]),
        ..Default::default()
    })
}

/// `no-new-privileges` is not a choice.
fn security(seccomp: Option<String>, apparmor: Option<String>) -> Vec<String> {
    let mut options = vec!["no-new-privileges".to_owned()];
    options.extend(seccomp.map(|profile| format!("seccomp={profile}")));
    options.extend(apparmor.map(|profile| format!("apparmor={profile}")));
    options
}

fn mount(mount: Mount) -> EngineMount {
    EngineMount {
        typ: Some(MountType::BIND),
        source: Some(mount.source),
        target: Some(mount.target),
        read_only: Some(mount.read_only),
        ..Default::default()
    }
}

/// The spec's rlimits, then each default whose name it does not mention.
fn ulimits(asked: Vec<Ulimit>, defaults: Vec<Ulimit>) -> Vec<ResourcesUlimits> {
    let missing: Vec<Ulimit> =
        defaults.into_iter().filter(|default| asked.iter().all(|limit| limit.name != default.name)).collect();
    let all = asked.into_iter().chain(missing);
    all.map(|limit| ResourcesUlimits {
        name: Some(limit.name),
        soft: Some(limit.soft),
        hard: Some(limit.hard),
    })
    .collect()
}

/// `all`, a count, or `device=ID[,ID]`, as the docker client reads them.
fn gpus(text: &str) -> Result<DeviceRequest, EngineError> {
    let request = |count, device_ids| DeviceRequest {
        count,
        device_ids,
        capabilities: Some(vec![vec!["gpu".to_owned()]]),
        ..Default::default()
    };
    match text.trim() {
        "all" => Ok(request(Some(-1), None)),
        other => match (other.parse::<u32>(), other.strip_prefix("device=")) {
            (Ok(count), _) if count > 0 => Ok(request(Some(i64::from(count)), None)),
            (_, Some(ids)) if !ids.is_empty() => {
                Ok(request(None, Some(ids.split(',').map(str::to_owned).collect())))
            }
            _ => Err(EngineError::BadValue {
                what: "gpus",
                value: text.to_owned(),
                reason: "write `all`, a count, or `device=ID,ID`",
            }),
        },
    }
}

/// The engine's numbers are signed; what does not fit is no limit anyone meant.
fn clamp(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Limits;

    fn spec() -> ContainerSpec {
        ContainerSpec {
            name: "box".into(),
            image: "img".into(),
            argv: vec!["/init".into(), "-x".into()],
            env: vec![("A".into(), "1=2".into())],
            labels: [("l".to_owned(), "v".to_owned())].into(),
            user: Some("1000:1000".into()),
            workdir: "/w".into(),
            mounts: vec![Mount { source: "/s".into(), target: "/t".into(), read_only: true }],
            tmpfs: vec![],
            network: "none".into(),
            dns: vec![],
            extra_hosts: vec![],
            read_only_root: true,
            cap_drop: vec!["ALL".into()],
            seccomp: None,
            apparmor: Some("p".into()),
            limits: Limits { pids: Some(64), ..Limits::default() },
            gpus: None,
            engine_init: false,
            stdin: false,
            stop_timeout_s: 2,
        }
    }

    #[test]
    fn the_image_command_is_replaced_and_hardening_is_always_on() {
        let body = create_body(spec(), vec![]).unwrap();
        assert_eq!(body.entrypoint, Some(vec!["/init".to_owned()]));
        assert_eq!(body.cmd, Some(vec!["-x".to_owned()]));
        assert_eq!(body.env, Some(vec!["A=1=2".to_owned()]));
        let host = body.host_config.unwrap();
        assert_eq!(host.security_opt, Some(vec!["no-new-privileges".to_owned(), "apparmor=p".to_owned()]));
        assert_eq!(host.binds, None);
        assert_eq!(host.mounts.unwrap()[0].typ, Some(MountType::BIND));
        assert_eq!(host.pids_limit, Some(64));
        assert_eq!(host.memory, None);
    }

    #[test]
    fn absent_program_and_network_are_refused() {
        let no_program = ContainerSpec { argv: vec![], ..spec() };
        assert!(matches!(create_body(no_program, vec![]), Err(EngineError::BadValue { .. })));
        let no_network = ContainerSpec { network: " ".into(), ..spec() };
        assert!(matches!(create_body(no_network, vec![]), Err(EngineError::BadValue { .. })));
    }

    #[test]
    fn rlimits_of_the_spec_win_over_defaults() {
        let limit = |name: &str, soft| Ulimit { name: name.into(), soft, hard: soft };
        let got = ulimits(vec![limit("nofile", 10)], vec![limit("nofile", 99), limit("nproc", 7)]);
        let got: Vec<_> = got.into_iter().map(|limit| (limit.name.unwrap(), limit.soft.unwrap())).collect();
        assert_eq!(got, [("nofile".to_owned(), 10), ("nproc".to_owned(), 7)]);
    }

    #[test]
    fn gpu_requests() {
        assert_eq!(gpus("all").unwrap().count, Some(-1));
        assert_eq!(gpus("2").unwrap().count, Some(2));
        assert_eq!(gpus("device=a,b").unwrap().device_ids, Some(vec!["a".to_owned(), "b".to_owned()]));
        assert!(gpus("0").is_err() && gpus("x").is_err());
    }
}
