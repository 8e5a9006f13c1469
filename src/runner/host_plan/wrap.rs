//! What stands before a command's text in its shell (spec `exec.md` §3.5, §4.2). Pure.
//!
//! Values travel in variables and never in the script: a directory's name is not code. Everything is on one line.

use std::fmt::Write as _;

use super::env::Vars;
use super::shell::{Family, Shell};

/// Carries the prepended directories past whatever the shell reads at its start.
pub(super) const PATH_CARRIER: &str = "OPENCLAW_PREPEND_PATH";
/// Carries the snapshot's path.
pub(super) const SNAPSHOT: &str = "CREEL_SHELL_SNAPSHOT";

/// The variables that a snapshot may hold, sorted (spec `exec.md` §4.2).
pub(super) const SAFE: &[&str] = &[
    "ASDF_DIR",
    "BUN_INSTALL",
    "CARGO_HOME",
    "CDPATH",
    "GOENV_ROOT",
    "GOPATH",
    "GOROOT",
    "HOMEBREW_CELLAR",
    "HOMEBREW_PREFIX",
    "HOMEBREW_REPOSITORY",
    "INFOPATH",
    "MANPATH",
    "NVM_DIR",
    "PATH",
    "PNPM_HOME",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "RUSTUP_HOME",
    "VOLTA_HOME",
];

/// Puts the directories of [`PATH_CARRIER`] before PATH.
const PREPEND: &str = "PATH=$OPENCLAW_PREPEND_PATH${PATH:+:$PATH};export PATH;unset OPENCLAW_PREPEND_PATH;";
/// The same behind a snapshot, which may have given the builtins' names another meaning.
const PREPEND_LATE: &str =
    "PATH=$OPENCLAW_PREPEND_PATH${PATH:+:$PATH};builtin export PATH;builtin unset OPENCLAW_PREPEND_PATH;";

/// The argv of a command's text.
pub(super) fn plain(shell: &Shell, prepend: bool, text: &str) -> Vec<String> {
    let before = if prepend { PREPEND } else { "" };
    let mut argv = shell.argv();
    argv.push(format!("{before}{text}"));
    argv
}

/// The argv of a command's text behind a snapshot. `now` is the environment that the shell starts with, `gateway` the one
/// in which the snapshot was taken: where they differ, what holds now is not to be undone by the snapshot.
///
/// The text is evaluated late, from an argument, so that its aliases are known when it is read.
pub(super) fn behind_snapshot(
    shell: &Shell,
    prepend: bool,
    now: &Vars,
    gateway: &Vars,
    text: &str,
) -> Vec<String> {
    let (mut save, mut restore) = (String::new(), String::new());
    for name in SAFE.iter().filter(|name| now.get(**name) != gateway.get(**name)) {
        let _ = if now.contains_key(*name) {
            let _ = write!(save, "__creel_{name}=${name};");
            write!(restore, "builtin export {name}=\"$__creel_{name}\";builtin unset __creel_{name};")
        } else {
            write!(restore, "builtin unset {name};")
        };
    }
    let aliases = if shell.family == Family::Bash { "shopt -s expand_aliases;" } else { "" };
    let path = if prepend { PREPEND_LATE } else { "" };
    // In evaluated text aliases are looked for, hence the backslash.
    let script = format!(
        "{aliases}{save}if [ -r \"$CREEL_SHELL_SNAPSHOT\" ];then . \"$CREEL_SHELL_SNAPSHOT\" >/dev/null 2>&1;fi;\
         builtin unset CREEL_SHELL_SNAPSHOT;{restore}{path}builtin eval \"\\builtin shift;$1\""
    );
    let mut argv = shell.argv();
    argv.extend([script, shell.program.clone(), text.to_owned()]);
    argv
}
