//! Leave to run a command outside every sandbox. A type of its own: what may run in a container may not therefore run
//! on a machine, and the compiler says so.

use super::binding::{Binding, Pin, Sum};
use super::permit::{Command, Permit};
use super::policy::{Decision, Target};

/// Everything that is decided about, and that nothing may change afterwards.
#[derive(Clone, PartialEq, Eq)]
pub struct HostCommand {
    /// The command.
    pub command: Command,
    /// Which host.
    pub host: Target,
    /// The working directory, canonical.
    pub workdir: String,
    /// Variables of the call that passed the filter.
    pub env: Vec<(String, String)>,
    /// The session.
    pub session: String,
    /// The agent.
    pub agent: String,
}

impl std::fmt::Debug for HostCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostCommand")
            .field("command", &self.command)
            .field("host", &self.host)
            .field("workdir", &self.workdir)
            .field("env", &super::Names(&self.env))
            .field("session", &self.session)
            .field("agent", &self.agent)
            .finish()
    }
}

/// Why a command may run on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ground {
    /// Nobody wrote anything, and the built-in default is `full`/`off`.
    BuiltIn,
    /// Somebody wrote `full` at this key, and nothing that has a say is stricter.
    Written(String),
    /// Elevated `full`, where neither the configuration nor the machine's document would ask (spec `exec.md` §9.4).
    ElevatedFull,
    /// All of it is listed.
    Listed {
        /// Ids of the entries that cover it, or their patterns where they have none; empty where safe programs do.
        entries: Vec<String>,
    },
    /// Somebody approved it.
    Approved {
        /// The question's id.
        id: String,
        /// What was decided: never [`Decision::Deny`].
        decision: Decision,
        /// Who decided, where that is known.
        by: Option<String>,
    },
    /// The automatic reviewer allowed this run.
    Reviewed,
    /// Nobody could be asked, and the fallback lets it run.
    Fallback,
    /// A grant with a budget, by its id.
    Grant(String),
}

/// What a permit has pinned beside the command.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pinned {
    arg0: Option<String>,
    pins: Vec<Pin>,
    /// Of everything that was bound.
    binding: String,
}

/// Leave to run one command on one host. Only [`super::host`] can make one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPermit {
    permit: Permit,
    host: Target,
    agent: String,
    ground: Ground,
    pinned: Option<Pinned>,
    expires_at_ms: Option<u64>,
    digest: String,
}

impl HostPermit {
    /// For a command that was decided about, whatever its files are: `full`.
    pub(super) fn new(command: HostCommand, ground: Ground) -> Self {
        Self::made(command, ground, None, None)
    }

    /// For a command that was decided about as it is bound. What was bound is what runs: command, directory and environment
    /// are the binding's, whatever `command` says by now (A155, A167). It is good until `expires_at_ms` (Unix
    /// milliseconds; `None`: as long as it is held).
    pub(super) fn bound(
        command: HostCommand,
        ground: Ground,
        binding: &Binding,
        expires_at_ms: Option<u64>,
    ) -> Self {
        let command = HostCommand {
            command: binding.command().clone(),
            workdir: binding.cwd().to_string_lossy().into_owned(),
            env: binding.env().to_vec(),
            ..command
        };
        let pinned = Pinned {
            arg0: binding.arg0().map(str::to_owned),
            pins: binding.pins(),
            binding: binding.digest().to_owned(),
        };
        Self::made(command, ground, Some(pinned), expires_at_ms)
    }

    fn made(
        command: HostCommand,
        ground: Ground,
        pinned: Option<Pinned>,
        expires_at_ms: Option<u64>,
    ) -> Self {
        let HostCommand { command, host, workdir, env, session, agent } = command;
        let permit = Permit::sandbox(session, command, Some(workdir), env);
        let mut sum = Sum::default();
        for part in ["host", word(host), &agent, permit.digest()] {
            sum.part(part.as_bytes());
        }
        if let Some(pinned) = &pinned {
            sum.part(pinned.binding.as_bytes());
            sum.part(pinned.arg0.as_deref().unwrap_or("\0").as_bytes());
            sum.pins(&pinned.pins);
        }
        sum.number(expires_at_ms.unwrap_or(u64::MAX));
        Self { permit, host, agent, ground, pinned, expires_at_ms, digest: sum.hex() }
    }

    /// What is planned and spawned.
    pub(crate) fn command(&self) -> &Permit {
        &self.permit
    }

    /// The host that it is for.
    pub fn host(&self) -> Target {
        self.host
    }

    /// The agent on whose behalf it runs.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// Why it may.
    pub fn ground(&self) -> &Ground {
        &self.ground
    }

    /// What the supervisor compares right before the start; empty where nothing was bound.
    pub(crate) fn pins(&self) -> &[Pin] {
        self.pinned.as_ref().map(|pinned| pinned.pins.as_slice()).unwrap_or_default()
    }

    /// What an argv's program is called by, where that is not its path.
    pub(crate) fn arg0(&self) -> Option<&str> {
        self.pinned.as_ref()?.arg0.as_deref()
    }

    /// It was decided about these very words and files: no alias and no function of the user's may take their place (5.35).
    pub fn exact(&self) -> bool {
        self.pinned.is_some()
    }

    /// When it ends, in Unix milliseconds.
    pub fn expires_at_ms(&self) -> Option<u64> {
        self.expires_at_ms
    }

    /// Hex SHA-256 over everything the permit binds: host, agent, session, command, directory, environment, files, expiry.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

pub(super) const fn word(host: Target) -> &'static str {
    match host {
        Target::Sandbox => "sandbox",
        Target::Gateway => "gateway",
        Target::Node => "node",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permit(change: impl FnOnce(&mut HostCommand)) -> HostPermit {
        let mut command = HostCommand {
            command: Command::Shell("ls".to_owned()),
            host: Target::Gateway,
            workdir: "/w".to_owned(),
            env: vec![("A".to_owned(), "secret".to_owned())],
            session: "agent:main:main".to_owned(),
            agent: "main".to_owned(),
        };
        change(&mut command);
        HostPermit::new(command, Ground::ElevatedFull)
    }

    #[test]
    fn the_digest_binds_every_part() {
        let base = permit(|_| {});
        assert_eq!(base.digest(), permit(|_| {}).digest());
        let others: [fn(&mut HostCommand); 6] = [
            |command| command.command = Command::Argv(vec!["ls".to_owned()]),
            |command| command.host = Target::Node,
            |command| command.workdir.push('x'),
            |command| command.env.clear(),
            |command| command.session.push('x'),
            |command| command.agent.push('x'),
        ];
        for change in others {
            assert_ne!(base.digest(), permit(change).digest());
        }
        assert_ne!(base.digest(), base.command().digest(), "a sandbox's permit is another");
        assert!(!format!("{base:?}").contains("secret"));
    }
}
