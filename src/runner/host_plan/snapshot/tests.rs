use std::os::unix::fs::PermissionsExt as _;

use super::*;

/// A home with a `.bashrc`, a state directory, and a gateway that runs bash.
pub(super) struct Place {
    dir: tempfile::TempDir,
    root: PathBuf,
    gateway: Vars,
}

impl Place {
    fn new(bashrc: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = resolve(dir.path()).unwrap();
        for name in ["home", "state", "work"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        std::fs::write(root.join("home/.bashrc"), bashrc).unwrap();
        let gateway = [("PATH", "/usr/bin:/bin"), ("SHELL", "/bin/bash"), ("FOO", "from the gateway")];
        let gateway = gateway.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Self { dir, root, gateway }
    }

    async fn get(&self, known: &Snapshots) -> Option<String> {
        let shell = Shell::choose(self.gateway.get("SHELL").map(String::as_str), |_| None);
        let (home, state, cwd) =
            (self.root.join("home"), self.dir.path().join("state"), self.root.join("work"));
        let (home, state, cwd) = (home.as_path(), state.as_path(), cwd.as_path());
        known.get(&Wanted { shell: &shell, gateway: &self.gateway, home, state, cwd }).await
    }

    async fn text(&self) -> Option<String> {
        Some(std::fs::read_to_string(self.get(&Snapshots::default()).await?).unwrap())
    }

    fn files(&self) -> usize {
        std::fs::read_dir(self.root.join("state/cache/shell-snapshots")).map_or(0, Iterator::count)
    }
}

#[tokio::test]
async fn aliases_functions_and_few_variables() {
    let place = Place::new(
        "echo noise; alias ll='ls -l'; greet() { echo \"hello $1\"; }; export GOPATH=/go OTHER=x; CDPATH=/c\n\
         shopt -s extglob\n\
         ext() { case $1 in !(a|b)) echo other;; esac; }\n\
         env >\"$HOME/seen\"",
    );
    let text = place.text().await.unwrap();
    for part in [
        "alias ll='ls -l'",
        "greet ()",
        "export GOPATH='/go'",
        "\nCDPATH='/c'",
        "export PATH='/usr/bin:/bin'",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("OTHER") && !text.contains("FOO"), "{text}");
    let seen = std::fs::read_to_string(place.root.join("home/seen")).unwrap();
    assert!(seen.contains("OPENCLAW_SHELL=exec") && !seen.contains("FOO="), "{seen}");
}

#[tokio::test]
async fn taken_once_and_kept_private() {
    let place = Place::new("echo x >>\"$HOME/count\"; alias a=b");
    let known = Snapshots::default();
    let (one, two) = tokio::join!(place.get(&known), place.get(&known));
    assert!(one.is_some());
    assert_eq!((one.clone(), place.get(&Snapshots::default()).await), (two, one.clone()));
    assert_eq!(std::fs::read_to_string(place.root.join("home/count")).unwrap(), "x\n");
    let file = PathBuf::from(one.unwrap());
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(file.extension().unwrap(), "sh");
    // Another startup file is another snapshot, and one that is not private any more is taken anew.
    std::fs::write(place.root.join("home/.bashrc"), "alias c=d").unwrap();
    let other = PathBuf::from(place.get(&known).await.unwrap());
    assert_ne!(other, file);
    std::fs::write(&other, "touch /tmp/never").unwrap();
    std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o666)).unwrap();
    place.get(&known).await.unwrap();
    assert!(std::fs::read_to_string(&other).unwrap().contains("alias c="));
}

#[tokio::test]
async fn secrets_leave_nothing_on_disk() {
    for bashrc in [
        "alias deploy='API_TOKEN=abcdef deploy'",
        "f() { curl -u me -H 'Authorization: Bearer abcdef' \"$1\"; }",
        "f() { export MY_PASSWORD=\"hunter2\"; }",
    ] {
        let place = Place::new(bashrc);
        assert_eq!(place.text().await, None, "{bashrc}");
        assert_eq!(place.files(), 0, "{bashrc}");
    }
    let place = Place::new("export SECRET_TOKEN=abcdef; alias a=b");
    assert!(!place.text().await.unwrap().contains("abcdef"));
}

#[tokio::test]
async fn startup_files_that_do_not_answer() {
    for bashrc in ["exit 3", "exec >/dev/null", "kill -9 $$", "builtin() { :; }", "exec sh -c 'exit 0'"] {
        let place = Place::new(bashrc);
        assert_eq!(place.text().await, None, "{bashrc}");
        assert_eq!(place.files(), 0, "{bashrc}");
    }
}

#[tokio::test]
async fn what_hangs_is_waited_for_once() {
    let place = Place::new("echo x >>\"$HOME/count\"; sleep 1000");
    let known = Snapshots::default();
    assert_eq!(place.get(&known).await, None);
    assert_eq!(place.get(&known).await, None);
    assert_eq!(std::fs::read_to_string(place.root.join("home/count")).unwrap_or_default().lines().count(), 1);
}

#[tokio::test]
async fn not_for_every_shell_and_not_where_switched_off() {
    let mut place = Place::new("alias a=b");
    for off in ["0", " FALSE ", "no", "Off"] {
        place.gateway.insert(SWITCH.to_owned(), off.to_owned());
        assert_eq!(place.text().await, None);
    }
    place.gateway.insert(SWITCH.to_owned(), "1".to_owned());
    place.gateway.insert("SHELL".to_owned(), "/bin/dash".to_owned());
    assert_eq!(place.text().await, None);
    assert!(!place.root.join("state/cache").exists());
    place.gateway.insert("SHELL".to_owned(), "/bin/bash".to_owned());
    assert!(place.text().await.is_some());
}
