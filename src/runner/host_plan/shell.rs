//! Which shell runs a command on the gateway's host (spec `exec.md` §4.1). Pure.

/// What can be written in a shell's language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Family {
    /// GNU bash.
    Bash,
    /// The Z shell.
    Zsh,
    /// Another one with the grammar of POSIX.
    #[default]
    Posix,
    /// Unknown: nothing is put before a command.
    Foreign,
}

/// A shell and what it is called with before the command's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shell {
    /// The program, absolute where it was found.
    pub(super) program: String,
    /// Options; the text follows.
    pub(super) args: &'static [&'static str],
    /// Its language.
    pub(super) family: Family,
}

const BASH: &[&str] = &["--noprofile", "--norc", "-c"];
const ZSH: &[&str] = &["-f", "-c"];
const FISH: &[&str] = &["--no-config", "-c"];
const PLAIN: &[&str] = &["-c"];
/// Shells that understand what creel puts before a command.
const POSIX: &[&str] =
    &["sh", "dash", "ash", "ksh", "ksh93", "mksh", "lksh", "oksh", "pdksh", "yash", "busybox"];

impl Default for Shell {
    fn default() -> Self {
        Self::named("sh")
    }
}

impl Shell {
    /// The shell for `SHELL` of the gateway's own process, never of a call: whoever chooses the interpreter decides what
    /// an approved text means. `find` looks a program up in the gateway's PATH.
    ///
    /// A path that is not absolute counts as unset: relative to the command's directory it could be anything.
    pub(super) fn choose(shell: Option<&str>, find: impl Fn(&str) -> Option<String>) -> Self {
        let shell = shell.map(str::trim).filter(|shell| shell.starts_with('/'));
        match shell.map(|shell| (shell, base(shell))) {
            None | Some((_, "false" | "nologin" | "")) => {
                let found = find("sh").or_else(|| find("bash"));
                found.map_or_else(Self::default, |found| Self { args: PLAIN, ..Self::named(&found) })
            }
            // Models write for sh; fish would misread them.
            Some((shell, "fish")) => {
                let found = find("bash").or_else(|| find("sh"));
                found.map_or_else(|| Self::named(shell), |found| Self::named(&found))
            }
            Some((shell, _)) => Self::named(shell),
        }
    }

    /// The shell for a text that was judged: bash as configured, else sh. Others expand words that these leave alone.
    pub(super) fn exact(self, find: impl Fn(&str) -> Option<String>) -> Self {
        if self.family == Family::Bash {
            return self;
        }
        match base(&self.program) {
            "sh" | "dash" => self,
            _ => Self::choose(None, find),
        }
    }

    /// A shell as its name says.
    fn named(program: &str) -> Self {
        let (args, family) = match base(program) {
            "bash" => (BASH, Family::Bash),
            "zsh" => (ZSH, Family::Zsh),
            "fish" => (FISH, Family::Foreign),
            name if POSIX.contains(&name) => (PLAIN, Family::Posix),
            _ => (PLAIN, Family::Foreign),
        };
        Self { program: program.to_owned(), args, family }
    }

    /// Program and options.
    pub(super) fn argv(&self) -> Vec<String> {
        let args = self.args.iter().map(|arg| (*arg).to_owned());
        std::iter::once(self.program.clone()).chain(args).collect()
    }
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table() {
        let all = |name: &str| matches!(name, "sh" | "bash").then(|| format!("/bin/{name}"));
        let bash_only = |name: &str| (name == "bash").then(|| "/opt/bash".to_owned());
        let none = |_: &str| None;
        let line = |shell: Shell| shell.argv().join(" ");
        for (given, wanted) in [
            (Some("/usr/bin/bash"), "/usr/bin/bash --noprofile --norc -c"),
            (Some(" /bin/bash "), "/bin/bash --noprofile --norc -c"),
            (Some("/bin/zsh"), "/bin/zsh -f -c"),
            (Some("/usr/bin/fish"), "/bin/bash --noprofile --norc -c"),
            (Some("/bin/dash"), "/bin/dash -c"),
            (Some("/bin/tcsh"), "/bin/tcsh -c"),
            (Some("/bin/rbash"), "/bin/rbash -c"),
            (None, "/bin/sh -c"),
            (Some(" "), "/bin/sh -c"),
            (Some("/bin/false"), "/bin/sh -c"),
            (Some("/usr/sbin/nologin"), "/bin/sh -c"),
            (Some("bash"), "/bin/sh -c"),
            (Some("./bin/bash"), "/bin/sh -c"),
            (Some("/bin/"), "/bin/sh -c"),
        ] {
            assert_eq!(line(Shell::choose(given, all)), wanted, "{given:?}");
        }
        // Only as asked for does bash get its own options: as the last resort it is called like sh.
        assert_eq!(line(Shell::choose(None, bash_only)), "/opt/bash -c");
        assert_eq!(line(Shell::choose(Some("/x/fish"), bash_only)), "/opt/bash --noprofile --norc -c");
        assert_eq!(line(Shell::choose(None, none)), "sh -c");
        assert_eq!(line(Shell::choose(Some("/x/fish"), none)), "/x/fish --no-config -c");
    }

    #[test]
    fn a_judged_text_is_run_by_a_shell_that_it_was_judged_for() {
        let all = |name: &str| matches!(name, "sh" | "bash").then(|| format!("/bin/{name}"));
        for (given, wanted) in [
            ("/usr/bin/bash", "/usr/bin/bash --noprofile --norc -c"),
            ("/bin/dash", "/bin/dash -c"),
            ("/bin/zsh", "/bin/sh -c"),
            ("/bin/ksh", "/bin/sh -c"),
            ("/bin/tcsh", "/bin/sh -c"),
            ("/bin/rbash", "/bin/sh -c"),
        ] {
            assert_eq!(Shell::choose(Some(given), all).exact(all).argv().join(" "), wanted, "{given}");
        }
    }

    #[test]
    fn families() {
        let family = |shell: &str| Shell::choose(Some(shell), |_| None).family;
        assert_eq!(family("/bin/dash"), Family::Posix);
        for restricted in ["/bin/rbash", "/bin/tcsh", "/usr/bin/nu"] {
            assert_eq!(family(restricted), Family::Foreign, "{restricted}");
        }
    }
}
