use std::path::PathBuf;
use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::sandbox::files::RunId;
use crate::sandbox::request::{Bind, Held, SandboxName, Workspace};

fn request() -> SandboxRequest {
    let workspace = Workspace {
        dir: PathBuf::from("/state/sandboxes/slug"),
        read_only: false,
        owned_by_creel: true,
        target: "/workspace".to_owned(),
    };
    let name = SandboxName::parse("openclaw-sbx-agent-main-0d6e4079-abcdef").unwrap();
    SandboxRequest::hardened(name, "agent:main", "creel-minimal:latest", workspace)
}

fn image() -> ImageFacts {
    ImageFacts {
        id: "sha256:1111".to_owned(),
        tags: Vec::new(),
        env: Vec::new(),
        user: String::new(),
        entrypoint: Vec::new(),
        labels: BTreeMap::new(),
        size: 0,
        created: String::new(),
    }
}

fn init() -> InitBinary {
    InitBinary {
        path: PathBuf::from("/state/creel/bin/d1/creel-init"),
        digest: "d1".to_owned(),
        identity: Identity { dev: 1, ino: 2 },
    }
}

fn built(request: &SandboxRequest) -> ContainerSpec {
    let (image, init, identities) = (image(), init(), BTreeMap::new());
    shape(
        request,
        &Context { image: &image, init: &init, user: "1000:1000", identities: &identities, nonce: false },
    )
}

fn hash(request: &SandboxRequest, image: &ImageFacts, init: &InitBinary, user: &str, ino: u64) -> String {
    let identities = BTreeMap::from([("/workspace".to_owned(), Identity { dev: 1, ino })]);
    inputs(request, &Context { image, init, user, identities: &identities, nonce: false }).hash()
}

fn labels(run: &RunId) -> labels::Labels<'_> {
    labels::Labels {
        installation: "0123456789abcdef0123456789abcdef",
        scope_key: Some("agent:main"),
        pool: None,
        created_ms: 7,
        hash: "h",
        init: "d1",
        image: "sha256:1111",
        reference: "creel-minimal:latest",
        run,
        idle: Duration::from_hours(24),
        max_age: Duration::ZERO,
    }
}

#[test]
fn hard_by_default() {
    let run = RunId::parse("0123456789abcdef").unwrap();
    let spec = complete(built(&request()), &labels(&run), "/state/creel/run/0123456789abcdef");
    let scratch = |target: &str, size: &str| json!({"target": target, "options": format!("rw,noexec,nosuid,nodev,size={size}")});
    let expected = json!({
        "name": "openclaw-sbx-agent-main-0d6e4079-abcdef",
        "image": "sha256:1111",
        "argv": ["/.creel/init", "pid1", "--meet", "/.creel/meet", "--idle", "86400"],
        "env": [["OPENCLAW_CLI", "1"]],
        "labels": {
            "openclaw.sandbox": "1",
            "openclaw.sessionKey": "agent:main",
            "openclaw.createdAtMs": "7",
            "openclaw.configHash": "h",
            "creel.installation": "0123456789abcdef0123456789abcdef",
            "creel.init": "d1",
            "creel.epoch": crate::sandbox::EPOCH,
            "creel.image": "sha256:1111",
            "creel.reference": "creel-minimal:latest",
            "creel.run": "0123456789abcdef",
            "creel.idle": "86400",
            "creel.expires": "0",
        },
        "user": "1000:1000",
        "workdir": "/workspace",
        "mounts": [
            {"source": "/state/sandboxes/slug", "target": "/workspace", "read_only": false},
            {"source": "/state/creel/bin/d1/creel-init", "target": "/.creel/init", "read_only": true},
            {"source": "/state/creel/run/0123456789abcdef", "target": "/.creel/meet", "read_only": true},
        ],
        "tmpfs": [
            scratch("/tmp", "512m"),
            scratch("/var/tmp", "512m"),
            scratch("/run", "64m"),
            {"target": "/home/creel", "options": "rw,exec,nosuid,nodev,size=512m,mode=0700,uid=1000,gid=1000"},
        ],
        "network": "none",
        "dns": [],
        "extra_hosts": [],
        "read_only_root": true,
        "cap_drop": ["ALL"],
        "seccomp": null,
        "apparmor": null,
        "limits": {"memory": null, "memory_swap": null, "nano_cpus": null, "pids": 1024, "ulimits": []},
        "gpus": null,
        "engine_init": false,
        "stop_timeout_s": 10,
    });
    assert_eq!(serde_json::to_value(&spec).unwrap(), expected);
}

#[test]
fn tmpfs_options_of_the_configuration_are_kept() {
    let mut request = request();
    request.tmpfs =
        ["/tmp:exec,size=1g", "/scratch:rw,exec", "/home/creel", "/tmp"].map(str::to_owned).to_vec();
    let list: Vec<_> = built(&request).tmpfs.into_iter().map(|tmpfs| (tmpfs.target, tmpfs.options)).collect();
    let pair = |target: &str, options: &str| (target.to_owned(), options.to_owned());
    assert_eq!(
        list,
        [
            pair("/scratch", "rw,exec,size=512m"),
            pair("/home/creel", "rw,noexec,nosuid,nodev,size=512m"),
            pair("/tmp", "rw,noexec,nosuid,nodev,size=512m"),
        ]
    );
}

#[test]
fn a_bind_replaces_the_workspace_at_the_same_target() {
    let dir = tempfile::tempdir().unwrap();
    let mut request = request();
    request.binds = vec![Bind {
        source: dir.path().to_owned(),
        target: "/workspace".to_owned(),
        read_only: true,
        held: Held::open(dir.path()).unwrap(),
    }];
    let spec = built(&request);
    let at: Vec<_> = spec.mounts.iter().filter(|mount| mount.target == "/workspace").collect();
    assert_eq!(at.len(), 1);
    assert!(at[0].read_only);
}

#[test]
fn whatever_changes_the_container_changes_the_hash() {
    let base = hash(&request(), &image(), &init(), "1000:1000", 5);
    assert_eq!(base, hash(&request(), &image(), &init(), "1000:1000", 5));
    assert_eq!(base.len(), 64);
    let changed = |change: fn(&mut SandboxRequest)| {
        let mut request = request();
        change(&mut request);
        hash(&request, &image(), &init(), "1000:1000", 5)
    };
    let others = [
        hash(&request(), &ImageFacts { id: "sha256:2222".to_owned(), ..image() }, &init(), "1000:1000", 5),
        hash(&request(), &image(), &InitBinary { digest: "d2".to_owned(), ..init() }, "1000:1000", 5),
        hash(&request(), &image(), &init(), "0:0", 5),
        hash(&request(), &image(), &init(), "1000:1000", 6),
        changed(|request| request.network = "bridge".to_owned()),
        changed(|request| request.read_only_root = false),
        changed(|request| request.limits.memory = Some(1 << 30)),
        changed(|request| request.cap_drop.clear()),
        changed(|request| request.tmpfs.reverse()),
        changed(|request| request.workspace.read_only = true),
        changed(|request| request.setup = Some("true".to_owned())),
    ];
    for (index, other) in others.iter().enumerate() {
        assert_ne!(&base, other, "change {index}");
    }
    // Both limits are prune's, the tag's name says nothing once it is resolved, the session shares the scope.
    assert_eq!(base, changed(|request| request.idle_limit = Duration::ZERO));
    assert_eq!(base, changed(|request| request.max_age = Duration::ZERO));
    assert_eq!(base, changed(|request| request.image = "another-tag".to_owned()));
    assert_eq!(base, changed(|request| request.session_key = "agent:main:other".to_owned()));
}
