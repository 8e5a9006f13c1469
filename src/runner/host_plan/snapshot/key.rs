//! Which snapshot belongs to a command: a digest over everything that startup files can depend on (spec `exec.md`
//! §4.2). Pure.

use sha2::{Digest as _, Sha256};

use super::super::env::Vars;
use super::super::shell::Shell;
use super::super::wrap::SAFE;

/// The form of the file. Another form is another file.
const VERSION: &str = "creel-1";

/// The startup file as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Startup {
    /// Its path.
    pub(super) path: String,
    /// Modification time in nanoseconds, and size; absent where there is no file.
    pub(super) found: Option<(i128, u64)>,
}

/// What a snapshot depends on.
pub(super) struct Origin<'a> {
    pub(super) shell: &'a Shell,
    pub(super) cwd: &'a str,
    pub(super) home: &'a str,
    pub(super) state: &'a str,
    /// The environment in which it is taken.
    pub(super) env: &'a Vars,
    pub(super) startup: &'a Startup,
}

/// 64 hex digits. Every part is preceded by its length, so that moving a border makes another key.
pub(super) fn key(origin: &Origin<'_>) -> String {
    let mut hash = Sha256::new();
    let mut part = |text: &str| {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    };
    for text in [VERSION, &origin.shell.program, &origin.shell.args.join(" ")] {
        part(text);
    }
    for text in [origin.cwd, origin.home, origin.state] {
        part(text);
    }
    for name in SAFE {
        part(origin.env.get(*name).map_or("", String::as_str));
        part(if origin.env.contains_key(*name) { "set" } else { "unset" });
    }
    part(&origin.startup.path);
    part(&format!("{:?}", origin.startup.found));
    crate::state::hex(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_counts() {
        let shell = Shell::choose(Some("/bin/bash"), |_| None);
        let other_shell = Shell::choose(Some("/bin/zsh"), |_| None);
        let env: Vars = [("PATH".to_owned(), "/bin".to_owned())].into();
        let empty: Vars = [("PATH".to_owned(), String::new())].into();
        let file = Startup { path: "/h/.bashrc".to_owned(), found: Some((1, 2)) };
        let changed = Startup { found: Some((2, 2)), ..file.clone() };
        let base = || Origin { shell: &shell, cwd: "/w", home: "/h", state: "/s", env: &env, startup: &file };
        let all = [
            base(),
            Origin { shell: &other_shell, ..base() },
            Origin { cwd: "/x", ..base() },
            Origin { home: "/x", ..base() },
            Origin { state: "/x", ..base() },
            Origin { env: &empty, ..base() },
            Origin { env: &Vars::new(), ..base() },
            Origin { startup: &changed, ..base() },
        ]
        .map(|origin| key(&origin));
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert_eq!(all[0], key(&base()));
        assert_eq!(all[0].len(), 64);
    }
}
