//! Plans, run by the real shells of this machine.

use std::os::unix::fs::symlink;
use std::process::Output;

use super::*;
use crate::paths::resolve::resolve;

/// A gateway with a home, a state directory and a shell.
struct Gateway {
    _dir: tempfile::TempDir,
    root: PathBuf,
    env: Vars,
    prepend: Vec<String>,
    surroundings: Surroundings,
    exact: bool,
}

impl Gateway {
    fn new(shell: &str, startup: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = resolve(dir.path()).unwrap();
        for name in ["home", "state", "work"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        std::fs::write(root.join("home/.bashrc"), startup).unwrap();
        std::fs::write(root.join("home/.profile"), "PATH=/login/bin:/usr/bin:/bin\n").unwrap();
        let home = root.join("home").display().to_string();
        let env = [("PATH", "/usr/bin:/bin"), ("SHELL", shell), ("HOME", &home)];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Self {
            _dir: dir,
            root,
            env,
            prepend: Vec::new(),
            surroundings: Surroundings::default(),
            exact: false,
        }
    }

    async fn setting(&self, store: &[(String, String)]) -> (HostSetting, Vec<String>) {
        let (home, state, work) = (self.root.join("home"), self.root.join("state"), self.root.join("work"));
        let side = HostSide { env: &self.env, home: Some(&home), state: &state, path_prepend: &self.prepend };
        let call = HostCall { workdir: &work, store, surroundings: &self.surroundings, exact: self.exact };
        HostSetting::gather(&HostProbes::default(), &side, &call).await
    }

    async fn plan(&self, text: &str, env: &[(String, String)]) -> Plan {
        let command = Command::Shell(text.to_owned());
        let permit = Permit::sandbox("agent:main:main", command, None, env.to_vec());
        self.setting(&[]).await.0.plan(&permit, false)
    }

    async fn run(&self, text: &str) -> Output {
        run(&self.plan(text, &[]).await)
    }

    async fn says(&self, text: &str) -> String {
        let output = self.run(text).await;
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }
}

#[expect(clippy::disallowed_methods, reason = "a test of what a shell does needs a shell")]
fn run(plan: &Plan) -> Output {
    let (program, args) = plan.argv.split_first().unwrap();
    let mut command = std::process::Command::new(program);
    command.args(args).env_clear().envs(plan.env.iter().cloned()).current_dir(&plan.workdir);
    command.stdin(std::process::Stdio::null()).output().unwrap()
}

fn get<'a>(plan: &'a Plan, name: &str) -> Option<&'a str> {
    plan.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

const BASHRC: &str = "alias ll='echo an alias'\ngreet() { echo \"hello $1\"; }\nexport GOPATH=/rc/go\nPATH=/rc/bin\n\
                      unset() { echo mine; }\nexport() { echo mine; }\neval() { echo mine; }\nalias shift='echo mine'\n";

#[tokio::test]
async fn aliases_and_functions_work_behind_a_snapshot() {
    let gateway = Gateway::new("/bin/bash", BASHRC);
    assert_eq!(gateway.says("ll; greet you; echo \"$GOPATH\"").await, "an alias\nhello you\n/rc/go");
    assert_eq!(gateway.says("echo $#:$0:$1; for x in a b; do echo $x; done").await, "0:/bin/bash:\na\nb");
    assert_eq!(gateway.says("cat <<'E'\nit's $HOME\nE\necho 'a\nb' # c").await, "it's $HOME\na\nb");
    assert_eq!(gateway.run("(exit 7)").await.status.code(), Some(7));
    assert_eq!(gateway.run("exit 9; echo x").await.status.code(), Some(9));
    assert_eq!(gateway.run("nonesuch-program").await.status.code(), Some(127));
    assert_ne!(gateway.run("if then").await.status.code(), Some(0));
    let left = gateway.says("env; set | grep ^__creel").await;
    assert!(!left.contains("CREEL") && !left.contains("creel_") && !left.contains("PREPEND"), "{left}");
}

#[tokio::test]
async fn an_approved_plan_meets_no_alias() {
    let mut gateway = Gateway::new("/bin/bash", BASHRC);
    gateway.exact = true;
    assert_eq!(gateway.run("greet you").await.status.code(), Some(127));
    let permit = Permit::sandbox("s", Command::Argv(vec!["/bin/true".to_owned()]), None, Vec::new());
    let plan = gateway.setting(&[]).await.0.plan(&permit, false);
    assert_eq!((plan.argv.len(), plan.shell), (1, false));
}

/// The list that a decision searches is the one that the command gets, and no startup variable is in effect (11.4).
#[tokio::test]
async fn an_exact_plan_has_the_path_that_was_searched() {
    for shell in ["/bin/bash", "/bin/dash", "/bin/zsh"] {
        let mut gateway = Gateway::new(shell, "export PATH=/rc/bin");
        gateway.exact = true;
        gateway.prepend = vec!["/opt/first".to_owned(), "/usr/bin".to_owned()];
        for (name, value) in [("BASH_ENV", "/x"), ("ENV", "/x"), ("SHELLOPTS", "xtrace"), ("PS4", "$(x)")] {
            gateway.env.insert(name.to_owned(), value.to_owned());
        }
        let (setting, _) = gateway.setting(&[]).await;
        assert_eq!(gateway.says("echo \"$PATH\"").await, setting.path(), "{shell}");
        assert!(setting.path().starts_with("/opt/first:/usr/bin:"));
        let permit = |command| Permit::sandbox("s", command, None, Vec::new());
        let argv = setting.plan(&permit(Command::Argv(vec!["/bin/true".to_owned()])), false);
        assert_eq!(get(&argv, "PATH"), Some(&*setting.path()));
        for name in ["BASH_ENV", "ENV", "SHELLOPTS", "PS4", wrap::SNAPSHOT] {
            assert_eq!(get(&argv, name), None, "{name}");
        }
        assert!(setting.shell().ends_with("sh"), "{}", setting.shell());
    }
}

/// What holds for the command is not undone by a startup file, and the prepended directories stand before all.
#[tokio::test]
async fn the_prepended_path_survives_startup_files() {
    for shell in ["/bin/bash", "/bin/dash"] {
        let mut gateway = Gateway::new(shell, BASHRC);
        let path = gateway.says("echo \"$PATH\"").await;
        assert_eq!(path, "/login/bin:/usr/bin:/bin", "{shell}");
        gateway.prepend = ["~/bin", " /usr/bin ", "/usr/bin"].map(str::to_owned).to_vec();
        let home = gateway.root.join("home").display().to_string();
        assert_eq!(gateway.says("echo \"$PATH\"").await, format!("{home}/bin:/usr/bin:/login/bin:/bin"));
        let plan = gateway.plan("x", &[]).await;
        assert_eq!(get(&plan, "PATH"), Some("/login/bin:/bin"));
        assert_eq!(get(&plan, "OPENCLAW_PREPEND_PATH"), Some(&*format!("{home}/bin:/usr/bin")));
    }
    // The login shell adds nothing: the snapshot's PATH is the one that stands.
    let mut gateway = Gateway::new("/bin/bash", "export PATH=/rc/bin:/usr/bin:/bin");
    std::fs::write(gateway.root.join("home/.profile"), "PATH=/usr/bin:/bin\n").unwrap();
    gateway.prepend = vec!["/opt/first".to_owned()];
    assert_eq!(gateway.says("echo \"$PATH\"").await, "/opt/first:/rc/bin:/usr/bin:/bin");
}

#[tokio::test]
async fn names_of_directories_are_never_code() {
    for shell in ["/bin/bash", "/bin/dash"] {
        let mut gateway = Gateway::new(shell, BASHRC);
        let hostile = format!("{}/$(touch pwned)`touch pwned`;touch pwned;'\"\\ &", gateway.root.display());
        std::fs::create_dir_all(&hostile).unwrap();
        symlink("/bin/echo", Path::new(&hostile).join("tool")).unwrap();
        gateway.prepend = vec![hostile.clone()];
        // The state directory's name reaches the script too.
        std::fs::rename(gateway.root.join("state"), gateway.root.join("st';touch pwned;'ate")).unwrap();
        symlink("st';touch pwned;'ate", gateway.root.join("state")).unwrap();
        assert_eq!(gateway.says("tool found; ls").await, "found", "{shell}");
        assert!(gateway.says("echo \"$PATH\"").await.starts_with(&hostile));
        let plan = gateway.plan("true", &[]).await;
        assert!(plan.argv.iter().all(|arg| !arg.contains("touch")), "{:?}", plan.argv);
        assert_eq!(plan.env.iter().any(|(name, _)| name == wrap::SNAPSHOT), shell == "/bin/bash");
    }
}

/// Late evaluation keeps the numbers of lines; they count from the command's first line.
#[tokio::test]
async fn line_numbers() {
    for (shell, startup) in [("/bin/bash", "alias a=b"), ("/bin/bash", "exit"), ("/bin/dash", "")] {
        let mut gateway = Gateway::new(shell, startup);
        gateway.prepend = vec!["/opt/x".to_owned()];
        let output = gateway.run("true\ntrue\nnonesuch-program").await;
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(" 3: nonesuch-program:"), "{shell} {startup:?}: {error}");
    }
}

#[tokio::test]
async fn hostile_startup_files_are_harmless() {
    for startup in ["exit 3", "echo noise; exec >&-", "kill -9 $$", "set -e; false", "if"] {
        let gateway = Gateway::new("/bin/bash", startup);
        let output = gateway.run("echo fine").await;
        assert_eq!((output.stdout, output.stderr), (b"fine\n".to_vec(), Vec::new()), "{startup}");
    }
}

#[tokio::test]
async fn a_foreign_shell_gets_the_text_alone() {
    let mut gateway = Gateway::new("/bin/rbash", "");
    gateway.prepend = vec!["/opt/x".to_owned()];
    let plan = gateway.plan("echo \"$PATH\"", &[]).await;
    assert_eq!(plan.argv, ["/bin/rbash", "-c", "echo \"$PATH\""]);
    assert_eq!(String::from_utf8(run(&plan).stdout).unwrap(), "/opt/x:/login/bin:/usr/bin:/bin\n");
}

#[tokio::test]
async fn layers() {
    let mut gateway = Gateway::new("/bin/dash", "");
    for (name, value) in [
        ("A", "gateway"),
        ("LD_PRELOAD", "/x.so"),
        ("GH_TOKEN", "gh"),
        ("GITLAB_TOKEN", "gl"),
        ("OPENAI_API_KEY", "ai"),
        ("OPENCLAW_CHANNEL_CONTEXT", "{}"),
        ("OPENCLAW_PREPEND_PATH", "/evil"),
        ("TERM", "dumb"),
    ] {
        gateway.env.insert(name.to_owned(), value.to_owned());
    }
    let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
        list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let plugin = [("C", "plugin"), ("PATH", "/plugin"), ("OPENCLAW_CLI", "0"), ("BASH_ENV", "/x")];
    gateway.surroundings = Surroundings {
        plugin: pairs(&plugin).into_iter().collect(),
        sender: Some("u\"1".to_owned()),
        chat: None,
        subagent: true,
    };
    let store = pairs(&[("A", "store"), ("B", "store"), ("PATH", "/store"), ("NODE_OPTIONS", "x")]);
    let call = pairs(&[("B", "$HOME"), ("C", "call"), ("OPENCLAW_SHELL", "mine"), ("PATH", "/call")]);
    let (setting, warnings) = gateway.setting(&store).await;
    let permit = |env| Permit::sandbox("s", Command::Shell("env".to_owned()), None, env);
    let plan = setting.plan(&permit(call), false);
    for (name, wanted) in [
        ("A", Some("store")),
        ("B", Some("$HOME")),
        ("C", Some("plugin")),
        ("LD_PRELOAD", None),
        ("SHELL", None),
        ("GH_TOKEN", Some("gh")),
        ("GITLAB_TOKEN", None),
        ("OPENAI_API_KEY", Some("ai")),
        ("OPENCLAW_CHANNEL_CONTEXT", Some(r#"{"sender":{"id":"u\"1"}}"#)),
        ("OPENCLAW_PREPEND_PATH", None),
        ("OPENCLAW_SHELL", Some("exec")),
        ("OPENCLAW_CLI", Some("1")),
        ("OPENCLAW_SUBAGENT_EXEC", Some("1")),
        ("PATH", Some("/login/bin:/usr/bin:/bin")),
        ("TERM", Some("dumb")),
        ("NODE_OPTIONS", None),
        ("BASH_ENV", None),
    ] {
        assert_eq!(get(&plan, name), wanted, "{name}");
    }
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert_eq!(get(&setting.plan(&permit(Vec::new()), true), "TERM"), Some("xterm-256color"));
    assert_eq!(get(&setting.plan(&permit(pairs(&[("TERM", "vt100")])), true), "TERM"), Some("vt100"));
    let shown = format!("{setting:?}");
    assert!(!shown.contains("gh") && !shown.contains("\"ai\""), "{shown}");
}
