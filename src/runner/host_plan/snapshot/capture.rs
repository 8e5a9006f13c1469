//! What is asked of the user's shell, and the file that its answer becomes (spec `exec.md` §4.2). Pure but for the
//! asking.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use super::super::env::Vars;
use super::super::probe::{Question, ask};
use super::super::shell::{Family, Shell};
use super::super::wrap::{SAFE, SNAPSHOT};
use super::secrets;

/// How long startup files may take.
const LIMIT: Duration = Duration::from_secs(5);
/// How long reading the snapshot back may take.
const CHECK_LIMIT: Duration = Duration::from_secs(2);
/// Bytes of the largest snapshot.
const MOST: usize = 1024 * 1024;

/// Functions before aliases: a function's body was read when it was defined, and is not to be read again with today's
/// aliases. `builtin`, because the startup files may have given any name another meaning.
const BASH: &str = r#"builtin unset HISTFILE;builtin printf '\000%s\000' "$CREEL_PROBE_MARK";builtin declare -f;builtin printf '\000';builtin alias -p;builtin printf '\000';for __creel_name in @SAFE@;do if [ -n "${!__creel_name}" ];then builtin printf '%s=%s\000' "$__creel_name" "${!__creel_name}";fi;done;builtin printf '\000%s\000' "$CREEL_PROBE_MARK""#;

/// Functions that are still to be loaded are left out: where they lie is not part of the snapshot. Empty variables too,
/// here and there: zsh has some that nobody set.
const ZSH: &str = r#"if [[ -r "${ZDOTDIR:-$HOME}/.zshrc" ]];then . "${ZDOTDIR:-$HOME}/.zshrc";fi;builtin unset HISTFILE;builtin printf '\000%s\000' "$CREEL_PROBE_MARK";for __creel_name in ${(k)functions};do if [[ "$functions[$__creel_name]" != *'builtin autoload -X'* ]];then builtin functions -- "$__creel_name";fi;done;builtin printf '\000';builtin alias -L;builtin printf '\000';for __creel_name in @SAFE@;do if [[ -n "${(P)__creel_name}" ]];then builtin printf '%s=%s\000' "$__creel_name" "${(P)__creel_name}";fi;done;builtin printf '\000%s\000' "$CREEL_PROBE_MARK""#;

/// Asks the shell, with its startup files read, what a snapshot holds; the text of the file.
pub(super) async fn capture(shell: &Shell, env: &Vars, cwd: &Path) -> Option<String> {
    let (options, script): (&[&str], &str) = match shell.family {
        Family::Bash => (&["-i", "-c"], BASH),
        Family::Zsh => (&["-f", "-i", "-c"], ZSH),
        Family::Posix | Family::Foreign => return None,
    };
    let mut argv = vec![shell.program.clone()];
    argv.extend(options.iter().map(|option| (*option).to_owned()));
    argv.push(script.replace("@SAFE@", &SAFE.join(" ")));
    let answer = ask(Question { argv: &argv, env, dir: Some(cwd), limit: LIMIT, most: MOST }).await?;
    file(shell.family, &String::from_utf8(answer).ok()?)
}

/// Whether the shell can read the file back, started as it is for commands.
pub(super) async fn readable(shell: &Shell, env: &Vars, cwd: &Path, file: &Path) -> bool {
    let Some(file) = file.to_str() else { return false };
    let script = r#". "$CREEL_SHELL_SNAPSHOT" >/dev/null 2>&1 && builtin printf '\000%s\000ok\000%s\000' "$CREEL_PROBE_MARK" "$CREEL_PROBE_MARK""#;
    let mut argv = shell.argv();
    argv.push(script.to_owned());
    let mut env = env.clone();
    env.insert(SNAPSHOT.to_owned(), file.to_owned());
    let question = Question { argv: &argv, env: &env, dir: Some(cwd), limit: CHECK_LIMIT, most: 64 };
    ask(question).await.is_some_and(|answer| answer == b"ok")
}

/// The file for an answer; `None` where a secret may be in it.
fn file(family: Family, answer: &str) -> Option<String> {
    let mut parts = answer.split('\0');
    let (functions, aliases) = (parts.next()?, parts.next()?);
    let mut text = String::from("# What the startup files define; creel makes it anew.\n");
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        if SAFE.contains(&name) && !secrets::secret_name(name) {
            // Exported, CDPATH would make `cd` of every script print.
            let export = if name == "CDPATH" { "" } else { "export " };
            let _ = writeln!(text, "{export}{name}={}", quoted(value));
        }
    }
    // Patterns of this kind are read only where they are switched on, which an interactive shell often has.
    let (on, off) =
        if family == Family::Bash { ("shopt -s extglob\n", "shopt -u extglob\n") } else { ("", "") };
    for part in [on, functions, "\n", off, aliases, "\n:\n"] {
        text.push_str(part);
    }
    (!secrets::suspicious(&text)).then_some(text)
}

/// Text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files() {
        let answer =
            "f () \n{ \n    echo hi\n}\n\0alias ll='ls -l'\n\0PATH=/a b:/it's\0CDPATH=/c\0EVIL=x\0GOPATH=\0";
        let text = file(Family::Bash, answer).unwrap();
        for part in ["export PATH='/a b:/it'\\''s'\n", "\nCDPATH='/c'\n", "export GOPATH=''\n", "\nalias ll="]
        {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains("EVIL") && text.ends_with("\n:\n"));
        assert!(text.find("echo hi").unwrap() < text.find("alias ll").unwrap());
        assert_eq!(file(Family::Bash, "\0alias x='TOKEN=abcdef y'\n\0"), None);
        assert_eq!(file(Family::Bash, "only one part"), None);
    }
}
