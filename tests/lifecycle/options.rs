//! Every option of `sandbox.docker` on the real engine: it arrives, and it is read back.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::home::{Home, docker, inspect};

/// What was read back of the one sandbox: each check of a rule.
fn checks(home: &Home, rule: &str) -> Vec<Value> {
    let all = home.json(&["sandbox", "explain", "--json"]);
    let checks = all["creel"]["container"]["hardening"]["checks"].as_array().unwrap().clone();
    checks.into_iter().filter(|check| check["rule"] == rule).collect()
}

fn proven(home: &Home, rule: &str) {
    let checks = checks(home, rule);
    assert!(!checks.is_empty() && checks.iter().all(|check| check["verdict"] == "ok"), "{rule}: {checks:?}");
}

#[test]
fn without_configuration_it_is_hard() {
    let home = Home::new();
    assert_eq!(
        home.sh("ls /sys/class/net; touch /x 2>&1; id -u"),
        "lo\ntouch: /x: Read-only file system\n1000\n"
    );
    let facts = home.inspect();
    let host = &facts["HostConfig"];
    assert_eq!(host["NetworkMode"], "none");
    assert_eq!((&host["ReadonlyRootfs"], &host["Privileged"]), (&json!(true), &json!(false)));
    assert_eq!((&host["CapDrop"], &host["CapAdd"]), (&json!(["ALL"]), &Value::Null));
    assert_eq!((&host["SecurityOpt"], &host["PidsLimit"]), (&json!(["no-new-privileges"]), &json!(1024)));
    assert_eq!(host["Binds"], Value::Null, "engines make a missing source of those");
    for rule in
        ["no-new-privileges", "capabilities", "seccomp", "user", "groups", "network", "read-only-root"]
    {
        proven(&home, rule);
    }
    for rule in ["mount", "tmpfs", "pids"] {
        proven(&home, rule);
    }
}

#[test]
fn network_names_and_hosts() {
    let home = Home::with_docker(
        "network: 'bridge', dns: ['192.0.2.53', '192.0.2.54'], extraHosts: ['registry.test:192.0.2.9', 'six.test:2001:db8::1']",
    );
    let out = home.sh("ls /sys/class/net; grep nameserver /etc/resolv.conf; grep test /etc/hosts");
    for part in [
        "eth0",
        "nameserver 192.0.2.53\nnameserver 192.0.2.54\n",
        "192.0.2.9\tregistry.test",
        "2001:db8::1\tsix.test",
    ] {
        assert!(out.contains(part), "{part:?} is missing in {out}");
    }
    proven(&home, "network");
    let host = &home.inspect()["HostConfig"];
    assert_eq!(host["Dns"], json!(["192.0.2.53", "192.0.2.54"]));
    assert_eq!(host["ExtraHosts"], json!(["registry.test:192.0.2.9", "six.test:2001:db8::1"]));
}

#[test]
fn a_network_of_ones_own() {
    let home = Home::new();
    let name = home.dir().file_name().unwrap().to_string_lossy().to_lowercase();
    docker(&["network", "create", "--internal", &name]);
    home.docker(&format!("network: '{name}'"));
    let done = home.run(&["exec", "--", "ls /sys/class/net"]);
    let facts = home.inspect();
    home.ok(&["sandbox", "stop", "--all"]);
    docker(&["network", "rm", &name]);
    assert_eq!(done.out, "eth0\nlo\n", "{done:?}");
    assert_eq!(facts["HostConfig"]["NetworkMode"], name.as_str());
}

#[test]
fn a_missing_network_is_named() {
    let home = Home::with_docker("network: 'creel-nowhere'");
    let done = home.run(&["exec", "--", "true"]);
    assert!(done.status == Some(125) && done.err.contains("creel-nowhere"), "{done:?}");
    assert_eq!(home.containers().len(), 0);
}

#[test]
fn user_and_group() {
    for (user, wanted) in [("1234:2345", "1234 2345"), ("0:0", "0 0"), ("4321", "4321 0")] {
        let home = Home::with_docker(&format!("user: '{user}'"));
        assert_eq!(home.sh("echo $(id -u) $(id -g)").trim(), wanted);
        proven(&home, "user");
        assert_eq!(home.inspect()["Config"]["User"], user);
    }
}

#[test]
fn memory_swap_processors_and_processes() {
    let home = Home::with_docker("memory: '96m', memorySwap: '96m', cpus: 0.5, pidsLimit: 33");
    home.sh("true");
    for rule in ["memory", "swap", "cpu", "pids"] {
        proven(&home, rule);
    }
    let host = &home.inspect()["HostConfig"];
    assert_eq!((&host["Memory"], &host["MemorySwap"]), (&json!(96 << 20), &json!(96 << 20)));
    assert_eq!((&host["NanoCpus"], &host["PidsLimit"]), (&json!(500_000_000), &json!(33)));
    let home = Home::with_docker("memory: 67108864, memorySwap: -1, cpus: 2");
    home.sh("true");
    let host = &home.inspect()["HostConfig"];
    assert_eq!((&host["Memory"], &host["MemorySwap"]), (&json!(64 << 20), &json!(-1)));
    assert_eq!(host["NanoCpus"], 2_000_000_000_u64);
}

/// A number, text, text with two parts, both, and one of both alone.
#[test]
fn every_shape_of_ulimit() {
    let home = Home::with_docker(
        "ulimits: { nofile: 512, core: '0', fsize: '100:200', stack: { soft: 4096000, hard: 8192000 }, \
         memlock: { hard: 65536 }, nproc: { soft: 700 } }",
    );
    let out = home.sh("cat /proc/self/limits");
    let line = |name: &str| {
        let row = out.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {out}"));
        let mut numbers = row[name.len()..].split_whitespace();
        (numbers.next().unwrap().to_owned(), numbers.next().unwrap().to_owned())
    };
    for (name, soft, hard) in [
        ("Max open files", "512", "512"),
        ("Max core file size", "0", "0"),
        ("Max file size", "100", "200"),
        ("Max stack size", "4096000", "8192000"),
        ("Max locked memory", "65536", "65536"),
        ("Max processes", "700", "700"),
    ] {
        assert_eq!(line(name), (soft.to_owned(), hard.to_owned()), "{name}");
    }
    proven(&home, "ulimits");
}

#[test]
fn tmpfs_with_and_without_options() {
    let home =
        Home::with_docker("tmpfs: ['/tmp', '/fast:exec,size=3m,mode=0770,uid=1000', '/deep/down:size=1m']");
    let out = home.sh("cat /proc/mounts");
    let options = |target: &str| {
        let row = out
            .lines()
            .find(|line| line.split(' ').nth(1) == Some(target))
            .unwrap_or_else(|| panic!("{out}"));
        let parts: Vec<String> = row.split(' ').nth(3).unwrap().split(',').map(str::to_owned).collect();
        assert!(row.starts_with("tmpfs "), "{row}");
        parts
    };
    let holds = |target: &str, wanted: &[&str]| {
        let all = options(target);
        assert!(wanted.iter().all(|option| all.iter().any(|has| has == option)), "{target}: {all:?}");
    };
    holds("/tmp", &["rw", "noexec", "nosuid", "nodev", "size=524288k"]);
    holds("/fast", &["rw", "size=3072k", "mode=770", "uid=1000"]);
    assert!(!options("/fast").contains(&"noexec".to_owned()));
    holds("/deep/down", &["size=1024k"]);
    assert!(!out.contains(" /var/tmp ") && !out.contains(" /run "), "the list replaces the default: {out}");
    proven(&home, "tmpfs");
    assert_eq!(home.sh("printf '#!/bin/sh\necho ran' > /fast/x; chmod 755 /fast/x; /fast/x"), "ran\n");
}

#[test]
fn a_seccomp_profile_from_its_file() {
    let home = Home::with_docker("seccompProfile: 'DIR/profile.json'");
    home.run(&["exec", "--", "true"]).refused("CRL-CLIENT-001", &["profile.json", "docker.seccompProfile"]);
    let profile = json!({
        "defaultAction": "SCMP_ACT_ALLOW",
        "syscalls": [{"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO", "errnoRet": 95}],
    });
    std::fs::write(home.dir().join("profile.json"), profile.to_string()).unwrap();
    let out = home.sh("mkdir /tmp/x 2>&1; grep Seccomp: /proc/self/status");
    assert!(out.contains("supported") && out.contains("Seccomp:\t2"), "{out}");
    proven(&home, "seccomp");
    std::fs::write(home.dir().join("profile.json"), "not a profile").unwrap();
    home.ok(&["sandbox", "stop", "--all"]);
    let done = home.run(&["exec", "--", "true"]);
    assert!(done.status == Some(125) && done.err.contains("seccomp"), "{done:?}");
    assert_eq!(home.containers().len(), 0);
}

/// With a kernel that has it, the profile is on PID 1; without one nothing runs as if it were.
#[test]
fn an_apparmor_profile_is_on_or_refused() {
    let home = Home::with_docker("apparmorProfile: 'docker-default'");
    let done = home.run(&["exec", "--", "cat /proc/1/attr/current"]);
    let on = std::fs::read_to_string("/sys/module/apparmor/parameters/enabled")
        .is_ok_and(|text| text.trim() == "Y");
    if on {
        assert!(done.out.starts_with("docker-default"), "{done:?}");
        return proven(&home, "apparmor");
    }
    assert_eq!(done.status, Some(125), "{done:?}");
    assert!(done.err.contains("apparmor") && done.err.contains("dangerouslyAllowUnenforced"), "{done:?}");
    assert_eq!(home.containers().len(), 0);
    // By name, and said.
    home.docker("apparmorProfile: 'docker-default', dangerouslyAllowUnenforced: ['apparmor']");
    let done = home.run(&["exec", "--", "echo ran"]);
    assert_eq!((done.status, done.out.as_str()), (Some(0), "ran\n"), "{done:?}");
    assert!(done.err.contains("apparmor is not enforced, as allowed"), "{done:?}");
}

/// There is no GPU where these tests run: the engine's reason is told, with the key.
#[test]
fn gpus_that_are_not_there_are_a_clear_error() {
    let home = Home::with_docker("gpus: 'all'");
    let done = home.run(&["exec", "--", "true"]);
    assert_eq!(done.status, Some(125), "{done:?}");
    assert!(done.err.contains("gpu") && done.err.contains("docker.gpus"), "{done:?}");
    assert_eq!(home.containers().len(), 0);
    home.docker("gpus: 'many'");
    let done = home.run(&["exec", "--", "true"]);
    assert!(done.status == Some(125) && done.err.contains("many"), "{done:?}");
}

#[test]
fn labels_name_the_owner_and_nothing_secret() {
    let home = Home::with_docker("env: { API_TOKEN: 'sesame-1' }, setupCommand: 'echo sesame-2'");
    home.sh("true");
    let labels = home.inspect()["Config"]["Labels"].clone();
    let one = home.only();
    assert_eq!(
        (&labels["openclaw.sandbox"], &labels["openclaw.sessionKey"]),
        (&json!("1"), &one["sessionKey"])
    );
    assert_eq!(labels["openclaw.configHash"], one["configHash"]);
    assert_eq!(labels["openclaw.createdAtMs"].as_str().unwrap(), one["createdAtMs"].to_string());
    assert_eq!(labels["creel.reference"], crate::home::IMAGE);
    assert!(!labels.to_string().contains("sesame"), "{labels}");
}

/// Of the configuration, of the call, and what the set-up command says: none is visible to who may inspect.
#[test]
fn variables_arrive_and_are_not_in_the_inspect_output() {
    let home = Home::with_docker(
        "env: { API_TOKEN: 'sesame-1', LANG: 'x' }, setupCommand: 'test $API_TOKEN = sesame-1'",
    );
    let out =
        home.ok(&["exec", "--env", "MORE=sesame-3", "--", "echo $API_TOKEN $MORE $LANG $OPENCLAW_SHELL"]);
    assert_eq!(out, "sesame-1 sesame-3 x exec\n");
    let args = ["exec", "--transport", "engine", "--env", "MORE=sesame-4", "--", "echo $API_TOKEN $MORE"];
    assert_eq!(home.ok(&args), "sesame-1 sesame-4\n");
    let facts = home.inspect();
    assert!(!facts.to_string().contains("sesame"), "{facts}");
    let env = facts["Config"]["Env"].as_array().unwrap();
    assert!(env.contains(&json!("OPENCLAW_CLI=1")), "{env:?}");
    // Nor on a command line that any user of the host may read, nor in creel's own files.
    let own =
        std::process::Command::new("grep").args(["-rl", "sesame"]).arg(home.state().join("creel")).output();
    assert_eq!(String::from_utf8_lossy(&own.unwrap().stdout), "");
}

#[test]
fn a_writable_root() {
    let home = Home::with_docker("readOnlyRoot: false, user: '0:0'");
    assert_eq!(home.sh("echo new > /made; cat /made"), "new\n");
    assert_eq!(home.inspect()["HostConfig"]["ReadonlyRootfs"], false);
}

#[test]
fn capabilities_that_are_named_are_gone() {
    let home = Home::with_docker("capDrop: ['net_raw', 'CAP_CHOWN'], user: '0:0'");
    let out = home.sh("grep CapBnd /proc/self/status");
    let bits = u64::from_str_radix(out.trim().trim_start_matches("CapBnd:").trim(), 16).unwrap();
    assert!(bits != 0 && bits & (1 << 13 | 1) == 0, "{out}");
    proven(&home, "capabilities");
    // Whatever is left, privileges cannot be gained.
    proven(&home, "no-new-privileges");
}

#[test]
fn working_directory_and_prefix() {
    let home = Home::with_docker("workdir: '/srv/deep/work', containerPrefix: 'creel-opt-'");
    assert_eq!(home.sh("pwd; touch here; ls /srv/deep/work"), "/srv/deep/work\nhere\n");
    let one = home.only();
    assert!(one["containerName"].as_str().unwrap().starts_with("creel-opt-"), "{one}");
    assert_eq!(home.inspect()["Config"]["WorkingDir"], "/srv/deep/work");
}

#[test]
fn the_flag_for_external_sources() {
    let home = Home::new();
    let data = home.open_dir("data");
    std::fs::write(data.join("file"), "here").unwrap();
    home.docker("binds: ['DIR/data:/data:ro']");
    home.run(&["exec", "--", "true"]).refused(
        "CRL-BIND-008",
        &["agents.defaults.sandbox.docker.binds[0]", "dangerouslyAllowExternalBindSources"],
    );
    home.docker("binds: ['DIR/data:/data:ro'], dangerouslyAllowExternalBindSources: true");
    assert_eq!(
        home.sh("cat /data/file; touch /data/x 2>&1; true"),
        "heretouch: /data/x: Read-only file system\n"
    );
    home.ok(&["sandbox", "stop", "--all"]);
    // What no flag opens.
    home.docker("binds: ['/etc:/data:ro'], dangerouslyAllowExternalBindSources: true");
    home.run(&["exec", "--", "true"]).refused("CRL-BIND-003", &["/etc", "no flag"]);
}

#[test]
fn the_flag_for_joining_a_network() {
    let other = Home::with_docker("network: 'bridge'");
    let address = other.sh("hostname -i 2>/dev/null || ip -4 addr show eth0");
    let name = other.only()["containerName"].as_str().unwrap().to_owned();
    let home = Home::with_docker(&format!("network: 'container:{name}'"));
    home.run(&["exec", "--", "true"])
        .refused("CRL-CONFIG", &["docker.network", "dangerouslyAllowContainerNamespaceJoin"]);
    home.docker(&format!("network: 'container:{name}', dangerouslyAllowContainerNamespaceJoin: true"));
    assert_eq!(home.sh("hostname -i 2>/dev/null || ip -4 addr show eth0"), address);
    let facts = home.inspect();
    let joined =
        facts["HostConfig"]["NetworkMode"].as_str().unwrap().trim_start_matches("container:").to_owned();
    assert_eq!(inspect(&joined)["Id"], other.only()["id"]);
    for network in ["host", " HOST "] {
        home.ok(&["sandbox", "stop", "--all"]);
        home.docker(&format!("network: '{network}', dangerouslyAllowContainerNamespaceJoin: true"));
        home.run(&["exec", "--", "true"]).refused("CRL-CONFIG", &["docker.network"]);
        home.docker("");
    }
}

/// The engine's words name the network; the refusal names who asked for it too.
#[test]
fn a_network_that_is_not_there_is_told_with_its_key() {
    let home = Home::with_docker("network: 'no-such-net'");
    for network in ["no-such-net", "container:no-such-container"] {
        home.docker(&format!("network: '{network}', dangerouslyAllowContainerNamespaceJoin: true"));
        home.run(&["exec", "--", "true"]).refused(
            "CRL-SANDBOX-032",
            &[network, "openclaw.json:1:", "agents.defaults.sandbox.docker.network"],
        );
        assert_eq!(home.containers().len(), 0);
    }
}

#[test]
fn profiles_that_switch_filters_off_are_refused_by_key() {
    let home = Home::new();
    for (key, value) in [("seccompProfile", "unconfined"), ("apparmorProfile", " Unconfined ")] {
        home.docker(&format!("{key}: '{value}'"));
        home.run(&["exec", "--", "true"]).refused("CRL-CONFIG", &[&format!("docker.{key}")]);
    }
    for key in ["capAdd", "privileged", "securityOpt", "devices", "volumes"] {
        home.docker(&format!("{key}: ['x']"));
        home.run(&["exec", "--", "true"]).refused("CRL-CONFIG", &[key]);
    }
}
