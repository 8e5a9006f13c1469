//! Leave to run a command outside every sandbox. A type of its own: what may run in a container may not therefore run
//! on a machine, and the compiler says so.

use sha2::{Digest as _, Sha256};

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
    /// Nobody wrote anything that restricts: the built-in policy is `full` and `off`.
    BuiltIn,
    /// Somebody wrote `full` at this key, and nothing that has a say is stricter.
    Written(String),
    /// Elevated `full`, where neither the configuration nor the machine's document would ask (spec `exec.md` §9.4).
    ElevatedFull,
    /// The list covers every command of it.
    Listed {
        /// Which entries, by their places in the list that was asked.
        entries: Vec<usize>,
    },
    /// A person approved it.
    Approved {
        /// The question.
        id: String,
        /// What was decided.
        decision: Decision,
        /// Who decided.
        by: String,
    },
    /// The automatic reviewer allowed this one run.
    Reviewed,
    /// Nobody could be asked, and the fallback lets it run (spec `approvals.md` §10).
    Fallback,
    /// A grant of this operation (spec `approvals.md` 9.42), by its id.
    Grant(String),
}

/// Leave to run one command on one host. Only [`super::host`] can make one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPermit {
    permit: Permit,
    host: Target,
    agent: String,
    ground: Ground,
    digest: String,
}

impl HostPermit {
    /// For a command that was decided about.
    pub(super) fn new(command: HostCommand, ground: Ground) -> Self {
        let HostCommand { command, host, workdir, env, session, agent } = command;
        let permit = Permit::sandbox(session, command, Some(workdir), env);
        let mut hash = Sha256::new();
        for part in ["host", word(host), &agent, permit.digest()] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        let digest = crate::state::hex(&hash.finalize());
        Self { permit, host, agent, ground, digest }
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

    /// Hex SHA-256 over everything the permit binds: host, agent, session, command, directory and environment.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

const fn word(host: Target) -> &'static str {
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
