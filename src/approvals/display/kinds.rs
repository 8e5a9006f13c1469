//! What programs do with their words, as far as it matters for hiding some of them. Pure.

use crate::shell::words;

/// What a program does with its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It runs none of them, as far as is known.
    Plain,
    /// It passes them on: into a file, or to whoever reads.
    Prints,
    /// It runs text, or aliases and settings that are text.
    Text,
    /// It runs its words elsewhere, and sets variables for that.
    Carries,
    /// All of them may run.
    Runs,
}

/// Programs that run their words, beside those that the analyser knows.
const RUNS: &[&str] = &[
    "eval",
    "source",
    ".",
    "trap",
    "alias",
    "hash",
    "complete",
    "enable",
    "set",
    "ssh",
    "autossh",
    "mosh",
    "sshpass",
    "rsh",
    "dsh",
    "pssh",
    "pdsh",
    "at",
    "batch",
    "crontab",
    "tmux",
    "screen",
    "script",
    "expect",
    "gdb",
    "lldb",
    "su",
    "runuser",
    "chroot",
    "nsenter",
    "unshare",
    "bwrap",
    "firejail",
    "systemd-run",
    "machinectl",
    "entr",
    "watchexec",
    "parallel",
    "xargs",
    "find",
    "fd",
    "tar",
    "rsync",
    "scp",
    "sftp",
    "zip",
    "flock",
    "start-stop-daemon",
    "vagrant",
    "ansible",
    "salt",
    "fly",
    "heroku",
    "gcloud",
    "lxc",
    "incus",
    "wsl",
    "adb",
    "socat",
    "nc",
    "ncat",
    "dbus-launch",
    "ssh-agent",
    "xterm",
    "creel",
];
/// Programs that run text of options, settings or files.
const TEXT: &[&str] = &[
    "git",
    "hg",
    "svn",
    "make",
    "gmake",
    "bmake",
    "cmake",
    "ninja",
    "just",
    "task",
    "rake",
    "ant",
    "mvn",
    "gradle",
    "npm",
    "npx",
    "pnpm",
    "yarn",
    "bunx",
    "pip",
    "pipx",
    "uv",
    "uvx",
    "cargo",
    "go",
    "gem",
    "bundle",
    "composer",
    "vim",
    "vi",
    "nvim",
    "ex",
    "ed",
    "emacs",
    "emacsclient",
    "less",
    "more",
    "man",
    "sqlite3",
    "psql",
    "mysql",
    "gcc",
    "cc",
    "clang",
    "ld",
    "m4",
    "tclsh",
    "wish",
    "osascript",
    "pwsh",
    "powershell",
    "cmd",
    "busctl",
    "sed",
    "gsed",
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "jq",
    "yq",
    "dc",
    "bc",
    "gnuplot",
    "octave",
    "R",
    "rscript",
    "julia",
    "ghci",
    "runghc",
    "elixir",
    "erl",
    "scala",
    "groovy",
    "clojure",
    "racket",
    "guile",
    "sbcl",
    "swift",
    "kotlin",
    "jshell",
    "bpftrace",
    "tclsh",
    "aws",
];
/// Programs whose words run in another place.
const CARRIES: &[&str] =
    &["docker", "podman", "nerdctl", "kubectl", "oc", "docker-compose", "k3s", "crictl", "ctr"];
/// Programs that only pass on what they are given.
const PRINTS: &[&str] = &[
    "echo", "printf", "print", "yes", "cat", "tee", "seq", "export", "declare", "typeset", "readonly",
    "local", "read",
];

impl Kind {
    /// By the name of a program as it is called.
    pub(super) fn of(program: &str) -> Self {
        let name = words::bare(program);
        let among = |list: &[&str]| list.contains(&name.as_str());
        // Databases take statements, but their passwords are options like any other.
        if among(&["psql", "mysql"]) {
            Self::Plain
        } else if among(CARRIES) {
            Self::Carries
        } else if among(PRINTS) {
            Self::Prints
        } else if among(RUNS) || words::launches(program) {
            Self::Runs
        } else if among(TEXT) || words::interprets(program) {
            Self::Text
        } else {
            Self::Plain
        }
    }
}

/// A client of HTTP: headers that it is given are sent, and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Client {
    /// Headers are values of an option.
    Options,
    /// Headers are words as well.
    Words,
}

impl Client {
    pub(super) fn of(program: &str) -> Option<Self> {
        match words::bare(program).as_str() {
            "curl" | "wget" => Some(Self::Options),
            "http" | "https" | "xh" | "xhs" => Some(Self::Words),
            _ => None,
        }
    }

    /// The header that a word is or holds.
    pub(super) fn header<'v>(self, before: &str, value: &'v str) -> Option<&'v str> {
        if matches!(before, "-H" | "--header" | "--proxy-header") {
            return Some(value);
        }
        let attached =
            ["--header=", "--proxy-header=", "-H"].iter().find_map(|start| value.strip_prefix(start));
        attached.filter(|header| !header.is_empty()).or_else(|| {
            (self == Self::Words && value.contains(':') && !value.contains("://")).then_some(value)
        })
    }

    /// The cookies that a word is.
    pub(super) fn cookies<'v>(self, before: &str, value: &'v str) -> Option<&'v str> {
        (self == Self::Options && matches!(before, "-b" | "--cookie")).then_some(value)
    }
}
