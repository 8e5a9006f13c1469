//! Programs that run another one, with the options that are understood (spec `approvals.md` §7). An option that is not makes
//! it unclear where the inner command begins.

use super::{Argument, packages, runs};
use crate::shell::inline_eval::{carrier, program};

/// How many wrappers are looked through (7.01).
pub(super) const MAX_DEPTH: usize = 4;

/// What a wrapper runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inner {
    /// It is none.
    None,
    /// The command that begins at this word.
    At(usize),
    /// It asks about a command and runs none.
    Query,
    /// It changes more than is modelled, or an option is not known.
    Blocked,
}

/// A wrapper that changes nothing but how the inner command is started.
struct Wrapper {
    name: &'static str,
    flags: &'static [&'static str],
    /// Short letters without value that may stand together.
    cluster: &'static str,
    /// Options with a value behind them, or behind `=`.
    values: &'static [&'static str],
    /// Short options whose value may be joined to them.
    joined: &'static [&'static str],
    /// Operands in front of the command.
    skip: usize,
}

const PLAIN: Wrapper = Wrapper { name: "", flags: &[], cluster: "", values: &[], joined: &[], skip: 0 };

static WRAPPERS: &[Wrapper] = &[
    Wrapper { name: "nice", values: &["-n", "--adjustment", "--priority"], joined: &["-n"], ..PLAIN },
    Wrapper { name: "nohup", ..PLAIN },
    Wrapper {
        name: "timeout",
        flags: &["--foreground", "--preserve-status", "-v", "--verbose"],
        values: &["-k", "--kill-after", "-s", "--signal"],
        joined: &["-k", "-s"],
        skip: 1,
        ..PLAIN
    },
    Wrapper {
        name: "stdbuf",
        values: &["-i", "-o", "-e", "--input", "--output", "--error"],
        joined: &["-i", "-o", "-e"],
        ..PLAIN
    },
    Wrapper {
        name: "time",
        flags: &["-a", "--append", "-l", "-p", "-q", "--quiet", "-v", "--verbose"],
        values: &["-f", "--format"],
        ..PLAIN
    },
    Wrapper {
        name: "flock",
        flags: &["--close", "--exclusive", "--nb", "--no-fork", "--nonblock", "--shared", "--verbose"],
        cluster: "eFnosx",
        values: &["-E", "-w", "--conflict-exit-code", "--timeout", "--wait"],
        skip: 1,
        ..PLAIN
    },
];

/// Shells, whether their text is read or not (7.06).
pub(super) fn is_shell(name: &str) -> bool {
    const SHELLS: &[&str] = &[
        "ash",
        "bash",
        "csh",
        "dash",
        "elvish",
        "fish",
        "ksh",
        "mksh",
        "nu",
        "osh",
        "sh",
        "tcsh",
        "xonsh",
        "yash",
        "zsh",
        "cmd",
        "powershell",
        "pwsh",
        "rbash",
        "lksh",
        "bash-static",
        "hush",
        "ion",
        "loksh",
        "mksh-static",
        "murex",
        "oksh",
        "pdksh",
        "posh",
        "rksh",
        "rzsh",
        "sash",
        "static-sh",
        "zsh-static",
    ];
    SHELLS.contains(&name) || SHELLS.contains(&program::unversioned(name))
}

/// Programs that start what their arguments name, and change what that is.
const CARRIERS: &[&str] = &[
    "agetty",
    "at",
    "autossh",
    "batch",
    "busybox",
    "ccache",
    "coreutils",
    "distcc",
    "entr",
    "env-parallel",
    "getty",
    "icecc",
    "inotifyd",
    "parallel",
    "parallel-ssh",
    "run-parts",
    "sccache",
    "screen",
    "script",
    "scriptreplay",
    "sem",
    "tmux",
    "toybox",
    "xargs",
];
/// Programs that start what their arguments name behind one of these words, and manage something else otherwise.
const SUBCOMMANDS: &[(&[&str], &[&str])] = &[
    (&["asdf"], &["exec", "env", "shell", "cmd"]),
    (&["direnv"], &["exec"]),
    (&["mise", "rtx"], &["exec", "x", "run", "r", "watch", "w", "en", "task", "tasks", "t", "shell"]),
    (&["nix"], &["run", "shell", "develop", "fmt"]),
    (&["rustup", "volta", "conda", "mamba", "micromamba", "pyenv", "rbenv", "nodenv"], &["run", "exec"]),
    (&["perf"], &["record", "stat", "trace", "mem", "kvm", "c2c", "sched", "lock"]),
    (&["snap", "flatpak"], &["run", "shell"]),
    (&["aqua"], &["exec", "x"]),
    (&["poetry", "pipenv", "pdm", "hatch", "rye"], &["run", "shell"]),
    (&["uv"], &["run", "tool", "x"]),
    (&["pipx"], &["run", "runpip"]),
    (&["bundle", "bundler"], &["exec", "console"]),
    (&["busctl", "dbus-send"], &["call"]),
    (&["ip"], &["exec", "vrf", "netns"]),
];
/// Wrappers that change who or where the inner command is, or how long it lives (7.01).
const BLOCKED: &[&str] = &[
    "bwrap",
    "catchsegv",
    "chrt",
    "chroot",
    "cpulimit",
    "doas",
    "eatmydata",
    "firejail",
    "gosu",
    "ionice",
    "linux32",
    "linux64",
    "nsenter",
    "numactl",
    "pkexec",
    "proot",
    "proxychains",
    "proxychains4",
    "runuser",
    "setarch",
    "setsid",
    "setpriv",
    "su",
    "su-exec",
    "sudo",
    "systemd-run",
    "taskset",
    "torify",
    "torsocks",
    "unbuffer",
    "unshare",
    "watch",
    "xvfb-run",
    "sg",
    "newgrp",
    "login",
    "machinectl",
    "start-stop-daemon",
    "chpst",
    "fakeroot",
    "fakechroot",
];
/// Options that make a program start another one.
const STARTING: &[(&[&str], &[&str])] = &[
    (&["rg"], &["--pre", "--hostname-bin"]),
    (&["fd", "fdfind"], &["-x", "-X", "--exec", "--exec-batch"]),
    (
        &["tar", "gtar", "bsdtar"],
        &[
            "-I",
            "-F",
            "--use-compress-program",
            "--to-command",
            "--checkpoint-action",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
            "--rmt-command",
        ],
    ),
    (&["sort"], &["--compress-program"]),
    (&["split"], &["--filter"]),
    (&["rsync"], &["-e", "--rsh", "--rsync-path"]),
    (&["scp", "sftp"], &["-o", "-F", "-S", "-D"]),
    (&["man"], &["-P", "-H", "--pager", "--html"]),
    (&["tcpdump"], &["-z"]),
    (&["nc", "ncat", "netcat"], &["-e", "-c", "--exec", "--sh-exec", "--lua-exec"]),
    (&["zip"], &["-TT", "--unzip-command"]),
    (&["wget"], &["--use-askpass"]),
];

/// Whether a name is that of a program that runs another one in one way or the other.
pub(super) fn is_known(name: &str) -> bool {
    name == "env"
        || WRAPPERS.iter().any(|wrapper| wrapper.name == name)
        || BLOCKED.contains(&name)
        || CARRIERS.contains(&name)
}

/// Whether a program starts others that its arguments name.
pub(super) fn starts_others(name: &str, words: &[Argument]) -> bool {
    if CARRIERS.contains(&name) || packages::starts(name, words) || name == "find" && runs::code_of(words) {
        return true;
    }
    let first = || words.iter().skip(1).find(|word| !word.text.starts_with('-'));
    let behind = |(names, commands): &(&[&str], &[&str])| {
        names.contains(&name) && first().is_some_and(|word| commands.contains(&word.text.as_str()))
    };
    if name == "ssh" && configured(words) || SUBCOMMANDS.iter().any(behind) {
        return true;
    }
    let Some((_, options)) = STARTING.iter().find(|(names, _)| names.contains(&name)) else { return false };
    // The first word of `tar` may be letters without a dash.
    let old = |at: usize| at == 0 && name.ends_with("tar");
    let given =
        |(at, word): (usize, &Argument)| options.iter().any(|option| has(&word.text, option, old(at)));
    words.iter().skip(1).enumerate().any(given)
}

/// Whether `ssh` gets options that name programs to be run or loaded here. What stands behind the host and is no option is the
/// command there, and of its words none is an option of this program.
fn configured(words: &[Argument]) -> bool {
    /// They take a value.
    const VALUES: &str = "BbcDEeFIiJLlmOoPpQRSWw";
    let mut words = words.iter().skip(1).map(|word| word.text.as_str());
    let mut host = false;
    while let Some(word) = words.next() {
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            if host {
                return false;
            }
            host = true;
            continue;
        };
        let Some(at) = letters.find(|letter| VALUES.contains(letter)) else { continue };
        let (_, value) = letters.split_at(at);
        if value.starts_with(['o', 'F', 'I']) {
            return true;
        }
        if value.len() == 1 {
            words.next();
        }
    }
    false
}

/// Whether a word is an option, alone or among other letters, its value joined to it or not; of a long one a beginning is
/// enough.
fn has(word: &str, option: &str, old: bool) -> bool {
    if option.starts_with("--") {
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        return name.len() > 3 && option.starts_with(name);
    }
    let letters = match word.strip_prefix('-') {
        Some(letters) => letters,
        None if old => word,
        None => return false,
    };
    !letters.starts_with('-') && option.chars().skip(1).any(|letter| letters.contains(letter))
}

/// What a command line runs in turn. `called` is the command word as written.
pub(super) fn inner(name: &str, called: &str, argv: &[Argument]) -> Inner {
    let arguments = argv.get(1..).unwrap_or_default();
    let other = || carrier::is_one(name) || BLOCKED.contains(&name);
    if BLOCKED.contains(&name) {
        return Inner::Blocked;
    }
    if arguments.is_empty() && name != "env" {
        // `nohup` alone runs nothing, `sudo` alone whatever it is set to; a word of the shell alone nothing.
        let own = matches!(name, "exec" | "command" | "builtin" | "eval");
        let wraps = WRAPPERS.iter().any(|wrapper| wrapper.name == name) || other();
        return if wraps && !own { Inner::Blocked } else { Inner::None };
    }
    match name {
        "exec" | "command" if called == name => word_of_the_shell(name, arguments),
        // Not every shell has it: there a program of that name runs.
        "builtin" if called == name => Inner::Blocked,
        "env" if called_plainly(name, called) => match arguments.first().map(|word| word.text.as_str()) {
            Some("-" | "--") if arguments.len() > 1 => plain(arguments, 1),
            Some(_) => plain(arguments, 0),
            None => Inner::Blocked,
        },
        _ => match WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
            Some(wrapper) if called_plainly(name, called) => transparent(wrapper, arguments),
            Some(_) => Inner::Blocked,
            None if other() => Inner::Blocked,
            None => Inner::None,
        },
    }
}

/// Whether it is called by its very name, or by a path where the system's programs are.
fn called_plainly(name: &str, called: &str) -> bool {
    called == name
        || ["/bin/", "/usr/bin/"].iter().any(|directory| called.strip_prefix(directory) == Some(name))
}

fn word_of_the_shell(name: &str, arguments: &[Argument]) -> Inner {
    match arguments.first().map(|word| word.text.as_str()) {
        Some("-v" | "-V") if name == "command" => Inner::Query,
        Some("--") if arguments.len() > 1 => Inner::At(2),
        Some(option) if option.starts_with('-') => Inner::Blocked,
        Some(_) => Inner::At(1),
        None => Inner::None,
    }
}

/// `env` without options and assignments.
fn plain(arguments: &[Argument], from: usize) -> Inner {
    match arguments.get(from) {
        Some(word) if !word.text.starts_with('-') && !word.text.contains('=') && !word.expands => {
            Inner::At(from + 1)
        }
        _ => Inner::Blocked,
    }
}

fn transparent(wrapper: &Wrapper, arguments: &[Argument]) -> Inner {
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        let text = argument.text.as_str();
        if argument.expands {
            return Inner::Blocked;
        }
        if text == "--" {
            at += 1;
            break;
        }
        if !text.starts_with('-') || text == "-" {
            break;
        }
        match taken(wrapper, text) {
            Some(words) => at += words,
            None => return Inner::Blocked,
        }
    }
    at += wrapper.skip;
    match arguments.get(at) {
        // Behind the operands no option may stand: `flock file -c text`.
        Some(word) if !word.text.starts_with('-') && !word.expands => {
            let skipped = arguments.get(..at).unwrap_or_default();
            if skipped.iter().any(|word| word.expands) { Inner::Blocked } else { Inner::At(at + 1) }
        }
        _ => Inner::Blocked,
    }
}

/// How many words an option takes, itself among them; nothing where it is not known.
fn taken(wrapper: &Wrapper, text: &str) -> Option<usize> {
    if wrapper.flags.contains(&text) {
        return Some(1);
    }
    if wrapper.values.contains(&text) {
        return Some(2);
    }
    let named = text
        .split_once('=')
        .is_some_and(|(name, _)| name.starts_with("--") && wrapper.values.contains(&name));
    let joined = wrapper.joined.iter().any(|option| text.len() > option.len() && text.starts_with(option));
    let letters = text.strip_prefix('-').unwrap_or_default();
    let cluster = !letters.is_empty() && letters.chars().all(|letter| wrapper.cluster.contains(letter));
    let number =
        wrapper.name == "nice" && !letters.is_empty() && letters.bytes().all(|byte| byte.is_ascii_digit());
    (named || joined || cluster || number).then_some(1)
}
