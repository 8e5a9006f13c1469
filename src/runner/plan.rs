//! From a permit and the sandbox's settings to the exact argv, environment and directory. Pure; both transports use it.

use super::host_plan::term;
use crate::approvals::{Command, Names, Permit};

/// The private variable that carries the PATH past the login profile (seed-000, spec `exec.md` §3.5).
const PATH_CARRIER: &str = "OPENCLAW_PREPEND_PATH";
/// PATH of an image that sets none: the kernel's and every distribution's default directories.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What surrounds every command of a sandbox.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Setting {
    /// Environment of the image.
    pub image_env: Vec<(String, String)>,
    /// Environment from the configuration; passed as written, never part of the container's own.
    pub env: Vec<(String, String)>,
    /// Directories put before PATH (`tools.exec.pathPrepend`).
    pub path_prepend: Vec<String>,
    /// Directory of commands that name none.
    pub workdir: String,
    /// HOME of every command; `None` is the command's own directory (spec `exec.md` §3.1).
    pub home: Option<String>,
}

/// A command in its final form.
#[derive(Clone, PartialEq, Eq)]
pub struct Plan {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Complete environment, one entry a name.
    pub env: Vec<(String, String)>,
    /// Directory in the container.
    pub workdir: String,
    /// `argv` is a login shell with the command's text.
    pub shell: bool,
}

impl std::fmt::Debug for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setting")
            .field("image_env", &Names(&self.image_env))
            .field("env", &Names(&self.env))
            .field("path_prepend", &self.path_prepend)
            .field("workdir", &self.workdir)
            .field("home", &self.home)
            .finish()
    }
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plan")
            .field("argv", &self.argv)
            .field("env", &Names(&self.env))
            .field("workdir", &self.workdir)
            .field("shell", &self.shell)
            .finish()
    }
}

impl Plan {
    /// Lays image, configuration and call over each other (later wins), forces the marker, and rebuilds PATH.
    pub fn new(permit: &Permit, setting: &Setting, tty: bool) -> Self {
        let workdir = permit.workdir().unwrap_or(&setting.workdir).to_owned();
        let mut env: Vec<(String, String)> = Vec::new();
        let mut set = |name: &str, value: &str| {
            env.retain(|(known, _)| known != name);
            env.push((name.to_owned(), value.to_owned()));
        };
        for (name, value) in &setting.image_env {
            set(name, value);
        }
        set("HOME", setting.home.as_deref().unwrap_or(&workdir));
        for (name, value) in setting.env.iter().chain(permit.env()) {
            set(name, value);
        }
        if tty {
            // The image's own says nothing about this terminal.
            let named = value(permit.env(), "TERM").or_else(|| value(&setting.env, "TERM"));
            set("TERM", term(named));
        }
        set("OPENCLAW_SHELL", "exec");
        let path = path(permit, setting);
        set("PATH", &path);
        let (argv, shell) = match permit.command() {
            Command::Argv(argv) => (argv.clone(), false),
            Command::Shell(text) => {
                set(PATH_CARRIER, &path);
                // The profile's own commands are the image's, whatever the call wants to find.
                set("PATH", value(&setting.image_env, "PATH").unwrap_or(DEFAULT_PATH));
                (vec!["/bin/sh".to_owned(), "-lc".to_owned(), login(text)], true)
            }
        };
        Self { argv, env, workdir, shell }
    }
}

/// The prepend list, then the call's PATH, else the configured one, else the image's.
fn path(permit: &Permit, setting: &Setting) -> String {
    let base = value(permit.env(), "PATH")
        .or_else(|| value(&setting.env, "PATH"))
        .or_else(|| value(&setting.image_env, "PATH"))
        .unwrap_or(DEFAULT_PATH);
    let mut entries: Vec<&str> = Vec::new();
    for entry in setting.path_prepend.iter().map(|entry| entry.trim()).chain(base.split(':')) {
        if !entry.is_empty() && !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    entries.join(":")
}

/// The last value of a variable that is not empty.
fn value<'a>(env: &'a [(String, String)], wanted: &str) -> Option<&'a str> {
    let found = env.iter().rev().find(|(name, value)| name == wanted && !value.is_empty());
    found.map(|(_, value)| value.as_str())
}

/// The command's text behind a rebuild of PATH: ours first, then what the login shell has.
///
/// The list is data in a variable, never text of the script. On one line, so that the shell's line numbers stay
/// the command's own. Empty entries of the profile are dropped: they mean the current directory.
fn login(text: &str) -> String {
    format!(
        "__p=${PATH_CARRIER};unset {PATH_CARRIER};__r=$PATH:;while [ -n \"$__r\" ];do __d=${{__r%%:*}};__r=${{__r#*:}};\
         case \":$__p:\" in *\":$__d:\"*);;*)__p=$__p${{__d:+:$__d}};;esac;done;PATH=$__p;export PATH;\
         unset __p __r __d;{text}"
    )
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    fn setting() -> Setting {
        Setting {
            image_env: vec![pair("PATH", "/img/bin:/bin"), pair("A", "image")],
            env: vec![pair("A", "config"), pair("LANG", "C.UTF-8")],
            path_prepend: vec!["/pre".to_owned(), " /pre ".to_owned(), String::new()],
            workdir: "/workspace".to_owned(),
            home: None,
        }
    }

    fn get<'a>(plan: &'a Plan, name: &str) -> Option<&'a str> {
        let mut found = plan.env.iter().filter(|(known, _)| known == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert_eq!(found.next(), None, "{name} is set twice");
        value
    }

    #[test]
    fn layers_of_the_environment() {
        let call = vec![pair("A", "call"), pair("OPENCLAW_SHELL", "mine")];
        let permit = Permit::sandbox("s", Command::Argv(vec!["x".to_owned()]), Some("/tmp".to_owned()), call);
        let plan = Plan::new(&permit, &setting(), true);
        assert_eq!(get(&plan, "A"), Some("call"));
        assert_eq!(get(&plan, "LANG"), Some("C.UTF-8"));
        assert_eq!(get(&plan, "HOME"), Some("/tmp"));
        assert_eq!(get(&plan, "OPENCLAW_SHELL"), Some("exec"));
        assert_eq!(get(&plan, "PATH"), Some("/pre:/img/bin:/bin"));
        assert_eq!(get(&plan, "TERM"), Some("xterm-256color"));
        assert_eq!((plan.argv.len(), plan.shell, plan.workdir.as_str()), (1, false, "/tmp"));
    }

    #[test]
    fn the_calls_path_wins_and_nothing_is_pasted_into_the_script() {
        let hostile = "/a$(touch x):/b\";rm -rf /";
        let permit =
            Permit::sandbox("s", Command::Shell("echo hi".to_owned()), None, vec![pair("PATH", hostile)]);
        let plan = Plan::new(&permit, &setting(), false);
        assert_eq!(get(&plan, PATH_CARRIER), Some(&*format!("/pre:{hostile}")));
        assert!(plan.shell && !plan.argv[2].contains("touch x"));
        assert!(plan.argv[2].ends_with(";echo hi") && !plan.argv[2].contains('\n'));
    }

    /// The script is run by the host's own shell: what it computes is what the container's shell computes.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test of text for a shell needs a shell")]
    fn the_profile_only_adds() {
        let run = |carrier: &str, profile: &str| {
            let script = format!("PATH={profile};{}", login("echo \"$PATH\"; set | grep -c '^__[prd]='"));
            let output = std::process::Command::new("/bin/sh")
                .args(["-c", &script])
                .env_clear()
                .env(PATH_CARRIER, carrier)
                .output()
                .unwrap();
            String::from_utf8(output.stdout).unwrap().lines().next().unwrap_or_default().to_owned()
        };
        assert_eq!(run("/a:/b", "/b:/c::/a:/d"), "/a:/b:/c:/d");
        assert_eq!(run("/x y:/*", "/*:/z"), "/x y:/*:/z");
        assert_eq!(run("/a", "/a"), "/a");
    }
}
