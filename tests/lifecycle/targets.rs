//! Targets of binds: refused before anything starts where they collide, mounted where they do not.

use pretty_assertions::assert_eq;

use crate::home::Home;

fn bound(home: &Home, target: &str) -> crate::home::Done {
    let source = home.open_dir("data");
    let spec = format!("{}:{target}", source.display());
    home.run(&["exec", "--bind", &spec, "--", "true"])
}

#[test]
fn collisions_are_refused_before_a_container_is_made() {
    let home = Home::with_docker("tmpfs: ['/tmp', '/scratch:size=1m']");
    bound(&home, "/tmp").refused("CRL-BIND-010", &["/tmp", "docker.tmpfs", "/tmp/data"]);
    bound(&home, "/scratch").refused("CRL-BIND-010", &["/scratch", "docker.tmpfs"]);
    bound(&home, "/home").refused("CRL-BIND-010", &["/home/creel", "another target"]);
    for target in ["/etc", "/etc/profile", "/bin", "/usr", "/usr/local/lib", "/lib", "/lib64", "/sbin"] {
        bound(&home, target).refused("CRL-BIND-009", &["dangerouslyAllowReservedContainerTargets"]);
    }
    for target in ["/proc", "/sys/fs", "/dev"] {
        bound(&home, target).refused("CRL-BIND-007", &["kernel", "/data"]);
    }
    bound(&home, "/.creel/x").refused("CRL-BIND-006", &["/.creel"]);
    bound(&home, "/workspace").refused("CRL-BIND-006", &["dangerouslyAllowReservedContainerTargets"]);
    assert_eq!(home.ok(&["sandbox", "list"]), "no sandboxes\n");
}

#[test]
fn below_a_tmpfs_and_over_a_tmpfs_that_is_not_configured_it_is_mounted() {
    let home = Home::with_docker("tmpfs: ['/tmp']");
    let source = home.open_dir("data");
    std::fs::write(source.join("file"), "here").unwrap();
    for target in ["/tmp/deep/data", "/home/creel/.cache", "/home/creel", "/var/tmp", "/run", "/opt/data"] {
        let spec = format!("{}:{target}:ro", source.display());
        let text = format!("cat {target}/file; touch {target}/x 2>/dev/null || echo ' ro'");
        assert_eq!(home.ok(&["exec", "--bind", &spec, "--", &text]), "here ro\n", "{target}");
        home.ok(&["sandbox", "stop", "--all"]);
    }
}

/// The flag opens what it names; it does not open the kernel's and creel's own.
#[test]
fn the_flag_for_reserved_targets() {
    let home = Home::new();
    let source = home.open_dir("data");
    std::fs::write(source.join("file"), "here").unwrap();
    let set = |target: &str| {
        home.docker(&format!(
            "binds: ['DIR/data:{target}:ro'], dangerouslyAllowReservedContainerTargets: true, \
             dangerouslyAllowExternalBindSources: true"
        ));
    };
    set("/usr/share/data");
    assert_eq!(home.sh("cat /usr/share/data/file"), "here");
    home.ok(&["sandbox", "stop", "--all"]);
    set("/workspace/sub");
    assert_eq!(home.sh("cat sub/file"), "here");
    home.ok(&["sandbox", "stop", "--all"]);
    set("/workspace");
    assert_eq!(home.sh("pwd; cat file"), "/workspace\nhere");
    home.ok(&["sandbox", "stop", "--all"]);
    for (target, code) in [("/proc/x", "CRL-BIND-007"), ("/.creel", "CRL-BIND-006"), ("/tmp", "CRL-BIND-010")]
    {
        set(target);
        home.run(&["exec", "--", "true"]).refused(code, &["agents.defaults.sandbox.docker.binds[0]"]);
    }
}

#[test]
fn a_workspace_on_a_tmpfs_is_a_problem_of_the_configuration() {
    let home = Home::with_docker("workdir: '/tmp'");
    home.run(&["exec", "--", "true"]).refused("CRL-CONFIG", &["docker.workdir", "temporary file system"]);
}
