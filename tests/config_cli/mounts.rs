//! A mount gives a directory a second name: what is denied stays denied under it, and nothing denied comes along.

use std::path::Path;

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::home::{Home, Mounted};

const IMAGE: &str = "creel-minimal:latest";

/// `creel exec` with these options, which must be refused for this code and tell all of these.
fn refused(home: &Home, options: &[&str], code: &str, told: &[&str]) {
    let err = home.refused(&[&["exec", "--image", IMAGE], options, &["--", "true"]].concat());
    for part in [&[code][..], told].concat() {
        assert!(err.contains(part), "{part} in {err}");
    }
}

fn bound(source: &Path) -> String {
    format!("{}:/data", source.display())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A home with a credential store in it, at the place that `HOME` names.
fn with_store() -> (Home, std::path::PathBuf) {
    let home = Home::new("{}");
    let store = home.beside("home/.ssh");
    std::fs::write(store.join("key"), "secret").unwrap();
    (home, store)
}

#[test]
fn nothing_denied_comes_along() {
    let (home, store) = with_store();
    let dir = home.beside("t/b");
    let below = home.beside("t/b/in");
    let mounted = Mounted::bind(&store, below.clone());
    let told = [text(&below), text(&store), "umount"];
    refused(&home, &["--bind", &bound(&dir)], "CRL-BIND-011", &[&told[..], &["--bind"]].concat());
    refused(&home, &["--bind", &format!("{}:ro", bound(&dir))], "bind-denied-by-mount", &told);
    refused(&home, &["--bind", &bound(dir.parent().unwrap())], "CRL-BIND-011", &told);
    refused(&home, &["--workspace", text(&dir)], "CRL-WORKSPACE-005", &told);
    drop(mounted);
    assert_eq!(home.ok(&["exec", "--image", IMAGE, "--bind", &bound(&dir), "--", "ls /data/in"]), "");

    // A file, and a file system of the kernel's own.
    let socket = dir.join("s");
    std::fs::write(&socket, "").unwrap();
    let mounted = Mounted::bind(Path::new("/var/run/docker.sock"), socket.clone());
    refused(&home, &["--bind", &bound(&dir)], "CRL-BIND-011", &[text(&socket), "/run/docker.sock"]);
    refused(&home, &["--bind", &bound(&socket)], "CRL-BIND-011", &["/run/docker.sock"]);
    drop(mounted);
    let _mounted = Mounted::new(&["-t", "proc", "-o", "ro", "none"], below.clone());
    refused(&home, &["--bind", &bound(&dir)], "CRL-BIND-011", &[text(&below), "own file system proc"]);
    refused(&home, &["--bind", &bound(&below)], "CRL-BIND-011", &["own file system proc"]);
}

#[test]
fn a_second_name_is_the_same_directory() {
    let (home, store) = with_store();
    let other = home.beside("t/al");
    let whole = home.beside("t/whole");
    let _mounted = Mounted::bind(&store, other.clone());
    let _all = Mounted::bind(store.parent().unwrap(), whole.clone());
    // A whole home is named for the first store in it.
    let user = store.parent().unwrap();
    for source in [&other, &other.join("key"), &whole.join(".ssh"), &whole.join(".ssh/key")] {
        refused(&home, &["--bind", &bound(source)], "CRL-BIND-011", &[text(&store), "no flag"]);
    }
    refused(&home, &["--bind", &bound(&whole)], "CRL-BIND-011", &[text(user), "along"]);
    for dir in [&other, &whole, &whole.join(".ssh")] {
        refused(&home, &["--workspace", text(dir)], "workspace-denied-by-mount", &[text(user)]);
    }
    // Something else in the same home is no store.
    home.beside("home/src");
    let source = whole.join("src");
    assert_eq!(home.ok(&["exec", "--image", IMAGE, "--bind", &bound(&source), "--", "ls /data"]), "");
}

/// Everybody who judges binds says the same.
#[test]
fn every_check_of_the_configuration_tells() {
    let (home, store) = with_store();
    let dir = home.beside("t/b");
    let below = home.beside("t/b/in");
    let config = format!(
        "{{ agents: {{ defaults: {{ sandbox: {{ mode: 'all', docker: {{ image: '{IMAGE}',\n binds: ['{}'], \
         dangerouslyAllowExternalBindSources: true }} }} }} }} }}",
        bound(&dir)
    );
    std::fs::write(home.file(), config).unwrap();
    assert_eq!(home.ok(&["exec", "--", "ls /data"]), "in\n");
    home.ok(&["sandbox", "stop", "--all"]);
    let _mounted = Mounted::bind(&store, below.clone());
    let key = "agents.defaults.sandbox.docker.binds[0]";
    let err = home.refused(&["exec", "--", "true"]);
    assert!(err.contains("CRL-BIND-011") && err.contains(key), "{err}");
    for command in [
        &["config", "validate"][..],
        &["sandbox", "explain", "--json"],
        &["doctor"],
        &["security", "audit", "--engine", "unix:///no/such.sock"],
    ] {
        let (out, err, _) = home.run(command);
        let all = format!("{out}{err}");
        assert!(all.contains(text(&below)) && all.contains(key), "{command:?}: {all}");
    }
    let (out, err, status) = home.run(&["security", "audit", "--json", "--engine", "unix:///no/such.sock"]);
    let all: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    assert_eq!((status, &all["findings"][0]["severity"]), (1, &"critical".into()), "{all:#}");
}

/// Workspaces that creel chooses: an agent's own, and one in the state directory.
#[test]
fn workspaces_are_looked_into_too() {
    let (home, store) = with_store();
    let dir = home.beside("ws");
    let write = |access: &str| {
        let config = format!(
            "{{ agents: {{ defaults: {{ workspace: '{}', sandbox: {{ mode: 'all', workspaceAccess: '{access}', \
             docker: {{ image: '{IMAGE}' }} }} }} }} }}",
            dir.display()
        );
        std::fs::write(home.file(), config).unwrap();
    };
    let below = home.beside("ws/in");
    let mounted = Mounted::bind(&store, below.clone());
    for access in ["rw", "ro"] {
        write(access);
        refused(&home, &[], "CRL-WORKSPACE-005", &[text(&below), text(&store)]);
    }
    drop(mounted);
    write("none");
    home.ok(&["exec", "--", "mkdir in"]);
    home.ok(&["sandbox", "stop", "--all"]);
    let boxes = home.state().join("sandboxes");
    let own = std::fs::read_dir(&boxes).unwrap().next().unwrap().unwrap().path().join("in");
    let _mounted = Mounted::bind(&store, own.clone());
    let err = home.refused(&["exec", "--", "true"]);
    assert!(err.contains("CRL-WORKSPACE-005") && err.contains(text(&own)), "{err}");
}

/// What is mounted and harmless is told and stays.
#[test]
fn ordinary_mounts_come_along() {
    let home = Home::new("{}");
    let dir = home.beside("t/b");
    let _mounted = Mounted::new(&["-t", "tmpfs", "none"], home.beside("t/b/in"));
    std::fs::write(dir.join("in/file"), "there").unwrap();
    let exec = ["exec", "--image", IMAGE, "--bind", &bound(&dir), "--", "cat /data/in/file"];
    let (out, err, status) = home.run(&exec);
    assert_eq!((out.as_str(), status), ("there", 0), "{err}");
    assert!(err.contains("/data/in is mounted writable although nobody asked for it"), "{err}");
}
