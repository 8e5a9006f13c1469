//! The permit: proof, checked by the compiler, that a decision was taken before a spawn (design invariant 2).

use sha2::{Digest as _, Sha256};

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Text for a login shell: `sh -lc TEXT`.
    Shell(String),
    /// A program and its arguments, no shell in between. Never empty.
    Argv(Vec<String>),
}

/// Leave to run one command in one place. Only this module can make one.
#[derive(Clone, PartialEq, Eq)]
pub struct Permit {
    command: Command,
    session: String,
    workdir: Option<String>,
    env: Vec<(String, String)>,
    digest: String,
}

impl std::fmt::Debug for Permit {
    /// Without the values of the environment: they may be secrets, and a debug form ends up in logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Permit")
            .field("command", &self.command)
            .field("session", &self.session)
            .field("workdir", &self.workdir)
            .field("env", &Names(&self.env))
            .finish_non_exhaustive()
    }
}

/// Shows the names of variables and no values.
pub(crate) struct Names<'a>(pub(crate) &'a [(String, String)]);

impl std::fmt::Debug for Names<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl Permit {
    /// Leave to run `command` inside the sandbox of `session`.
    ///
    /// Commands in a sandbox need no approval (spec `exec.md` §2.4 rule 4): the container is the boundary.
    /// `workdir` is a path in the container; `env` is laid over the sandbox's own environment as written.
    pub fn sandbox(
        session: impl Into<String>,
        command: Command,
        workdir: Option<String>,
        env: Vec<(String, String)>,
    ) -> Self {
        let session = session.into();
        let digest = digest(&session, &command, workdir.as_deref(), &env);
        Self { command, session, workdir, env, digest }
    }

    /// The command as it was permitted; the runner runs this and nothing else.
    pub fn command(&self) -> &Command {
        &self.command
    }

    /// The session on whose behalf the command runs.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// The working directory in the container, where one was asked for.
    pub fn workdir(&self) -> Option<&str> {
        self.workdir.as_deref()
    }

    /// The call's own environment.
    pub fn env(&self) -> &[(String, String)] {
        &self.env
    }

    /// Hex SHA-256 over everything the permit binds; names the permit in logs without its contents.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

/// Every part is preceded by its length, so that no two permits share a digest by moving a border.
fn digest(session: &str, command: &Command, workdir: Option<&str>, env: &[(String, String)]) -> String {
    let mut hash = Sha256::new();
    let mut part = |text: &str| {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    };
    part(session);
    match command {
        Command::Shell(text) => {
            part("shell");
            part(text);
        }
        Command::Argv(argv) => {
            part("argv");
            part(&argv.len().to_string());
            for argument in argv {
                part(argument);
            }
        }
    }
    part(workdir.unwrap_or("\0"));
    for (name, value) in env {
        part(name);
        part(value);
    }
    crate::state::hex(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_do_not_show() {
        let env = vec![("TOKEN".to_owned(), "s3cret".to_owned())];
        let text = format!("{:?}", Permit::sandbox("s", Command::Argv(Vec::new()), None, env));
        assert!(text.contains("TOKEN") && !text.contains("s3cret"), "{text}");
    }

    #[test]
    fn digest_binds_every_part() {
        let permit = |session: &str, argv: &[&str], dir: Option<&str>, env: &[(&str, &str)]| {
            Permit::sandbox(
                session,
                Command::Argv(argv.iter().map(|text| (*text).to_owned()).collect()),
                dir.map(str::to_owned),
                env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            )
        };
        let base = permit("s", &["a", "b"], None, &[("X", "1")]);
        assert_eq!(base.digest(), permit("s", &["a", "b"], None, &[("X", "1")]).digest());
        for other in [
            permit("t", &["a", "b"], None, &[("X", "1")]),
            permit("s", &["ab"], None, &[("X", "1")]),
            permit("s", &["a", "b"], Some("/"), &[("X", "1")]),
            permit("s", &["a", "b"], None, &[("X1", "")]),
        ] {
            assert_ne!(base.digest(), other.digest());
        }
    }
}
