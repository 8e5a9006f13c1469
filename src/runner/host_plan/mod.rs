//! What surrounds a command on the gateway's host: shell, PATH, snapshot, environment (spec `exec.md` §3, §4).
//!
//! Gathered once for a call ([`HostSetting::gather`], which may start the user's shell), then planned without looking at
//! anything ([`HostSetting::plan`]).
//!
//! | file | concern |
//! |---|---|
//! | `shell` | which shell; pure |
//! | `env` | layers of the environment, also for a sandbox's call; pure |
//! | `path` | PATH as a list; pure |
//! | `wrap` | what stands before the command's text; pure |
//! | `login_path` | PATH of the user's login shell |
//! | `snapshot` | aliases and functions of the user's shell |
//! | `probe` | the user's shell as a program that is asked something |

mod env;
mod login_path;
mod path;
mod probe;
mod shell;
mod snapshot;
#[cfg(test)]
mod tests;
mod wrap;

use std::path::{Path, PathBuf};

pub use env::{EnvError, Surroundings, Vars, host_call, sandbox_call, term};
pub use path::prepend;

use self::shell::{Family, Shell};
use self::snapshot::Wanted;
use super::Plan;
use crate::approvals::{Command, Permit};

/// What the gateway's side knows, the same for all calls.
#[derive(Clone, Copy)]
pub struct HostSide<'a> {
    /// Environment of the gateway's process.
    pub env: &'a Vars,
    /// Home of the operator, for `~` in `pathPrepend` and for startup files.
    pub home: Option<&'a Path>,
    /// The state directory.
    pub state: &'a Path,
    /// `tools.exec.pathPrepend`, as configured.
    pub path_prepend: &'a [String],
}

/// What a call brings beside its permit.
#[derive(Debug, Clone, Copy)]
pub struct HostCall<'a> {
    /// The working directory, resolved.
    pub workdir: &'a Path,
    /// The shared store's `env` entries.
    pub store: &'a [(String, String)],
    /// Plugins, channel, subagent.
    pub surroundings: &'a Surroundings,
    /// The command was rebuilt from an approved plan, or is no shell text: no alias or function of the user's may take
    /// the place of a program, so there is no snapshot, and the shell is one whose grammar was judged.
    pub exact: bool,
}

/// Everything about the host that a plan needs, gathered before.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct HostSetting {
    shell: Shell,
    /// The gateway's environment and the shared store, filtered.
    lowest: Vars,
    /// What stands above the call's own variables.
    above: Vars,
    /// PATH after the login shell's was merged, without `prepend`.
    path: String,
    prepend: Vec<String>,
    /// The values in which a snapshot was taken.
    gateway: Vars,
    snapshot: Option<String>,
    workdir: String,
}

/// What was known of the user's shell, shared by all calls of a process: asking it takes time.
#[derive(Debug, Clone, Default)]
pub struct HostProbes {
    login: login_path::LoginPath,
    snapshots: snapshot::Snapshots,
}

impl std::fmt::Debug for HostSide<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Values of the environment stay out: they may be secrets.
        f.debug_struct("HostSide")
            .field("home", &self.home)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for HostSetting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostSetting")
            .field("shell", &self.shell)
            .field("path", &self.path)
            .field("prepend", &self.prepend)
            .field("snapshot", &self.snapshot)
            .field("workdir", &self.workdir)
            .finish_non_exhaustive()
    }
}

impl HostProbes {
    /// Probes that start no login shell: PATH is this process's own then.
    pub fn without_login() -> Self {
        Self { login: login_path::LoginPath::unasked(), ..Self::default() }
    }

    async fn snapshot(&self, shell: &Shell, side: &HostSide<'_>, call: &HostCall<'_>) -> Option<String> {
        let home = side.home.filter(|_| !call.exact)?;
        let (gateway, state, cwd) = (side.env, side.state, call.workdir);
        self.snapshots.get(&Wanted { shell, gateway, home, state, cwd }).await
    }
}

impl HostSetting {
    /// Looks up what a plan needs. Nothing here fails: a login shell that does not answer and a snapshot that cannot be
    /// had leave the command without them.
    ///
    /// The second value is one warning for each variable of the shared store that is not passed.
    pub async fn gather(
        probes: &HostProbes,
        side: &HostSide<'_>,
        call: &HostCall<'_>,
    ) -> (Self, Vec<String>) {
        let gateway_path = side.env.get("PATH").map(String::as_str);
        let shell =
            Shell::choose(side.env.get("SHELL").map(String::as_str), |name| found(gateway_path, name));
        let shell = if call.exact { shell.exact(|name| found(gateway_path, name)) } else { shell };
        let (mut lowest, refused) = env::lowest(side.env, call.store);
        let mut above = call.surroundings.vars();
        if call.exact {
            env::read_as_judged(&mut lowest);
            env::read_as_judged(&mut above);
        }
        let prepend = path::prepend(side.path_prepend, side.home);
        let (login, snapshot) = tokio::join!(probes.login.get(side.env), probes.snapshot(&shell, side, call));
        let setting = Self {
            path: path::without(&path::merge(login, gateway_path), &prepend),
            shell,
            lowest,
            above,
            prepend,
            gateway: side.env.clone(),
            snapshot,
            workdir: call.workdir.to_string_lossy().into_owned(),
        };
        let warning = |(name, why): (String, _)| {
            format!("The shared variable {name:?} was not passed to the command: {why}.")
        };
        (setting, refused.into_iter().map(warning).collect())
    }

    /// PATH of the command, as it is when its first program is looked up: what is decided about is searched in the same
    /// list. Only a snapshot, which no exact command has, can put another in its place.
    pub fn path(&self) -> String {
        path::joined(&self.prepend, &self.path)
    }

    /// The shell of a text: a program that runs, too.
    pub fn shell(&self) -> &str {
        &self.shell.program
    }

    /// The exact argv, environment and directory. Pure.
    pub fn plan(&self, permit: &Permit, tty: bool) -> Plan {
        let workdir = permit.workdir().unwrap_or(&self.workdir).to_owned();
        let mut env = env::layered(&self.lowest, permit.env(), &self.above, &workdir, tty);
        let (argv, shell) = match permit.command() {
            Command::Argv(argv) => {
                env.insert("PATH".to_owned(), path::joined(&self.prepend, &self.path));
                (argv.clone(), false)
            }
            Command::Shell(text) => (self.shell_argv(&mut env, text), true),
        };
        Plan { argv, env: env.into_iter().collect(), workdir, shell }
    }

    fn shell_argv(&self, env: &mut Vars, text: &str) -> Vec<String> {
        // The grammar of a foreign shell is not ours to write; its startup files have the last word.
        let carried = self.shell.family != Family::Foreign && !self.prepend.is_empty();
        let path = if carried { self.path.clone() } else { path::joined(&self.prepend, &self.path) };
        env.insert("PATH".to_owned(), path);
        if carried {
            env.insert(wrap::PATH_CARRIER.to_owned(), self.prepend.join(":"));
        }
        match &self.snapshot {
            Some(snapshot) => {
                let argv = wrap::behind_snapshot(&self.shell, carried, env, &self.gateway, text);
                env.insert(wrap::SNAPSHOT.to_owned(), snapshot.clone());
                argv
            }
            None => wrap::plain(&self.shell, carried, text),
        }
    }
}

/// A program of PATH. Directories that are not absolute are passed over: they would be the agent's.
fn found(path: Option<&str>, name: &str) -> Option<String> {
    let dirs = path.unwrap_or(path::DEFAULT).split(':').filter(|dir| dir.starts_with('/'));
    let mut files = dirs.map(|dir| Path::new(dir).join(name));
    files.find(|file| executable(file)).and_then(|file: PathBuf| file.to_str().map(str::to_owned))
}

fn executable(file: &Path) -> bool {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    file.is_file() && accessat(CWD, file, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}
