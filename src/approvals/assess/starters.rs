//! Programs that start what their arguments name, for entries that deny: each later word may be what they start.
//!
//! A table of names, and no grammar: of a program that runs another one every word is compared. Programs that run others by
//! what stands in their own files are not seen here.

use crate::shell::inline_eval::program;

/// They start a program that stands in their words, or in a text that is one of their words.
const STARTERS: &[&str] = &[
    "ar",
    "arch",
    "at",
    "awk",
    "batch",
    "bwrap",
    "capsh",
    "chpst",
    "choom",
    "chroot",
    "chrt",
    "chronic",
    "command",
    "coproc",
    "cpulimit",
    "dbus-launch",
    "dbus-run-session",
    "doas",
    "eatmydata",
    "emacs",
    "entr",
    "env",
    "exec",
    "expect",
    "ex",
    "faketime",
    "fakeroot",
    "fd",
    "find",
    "firejail",
    "flock",
    "gawk",
    "gdb",
    "git",
    "gosu",
    "hash",
    "hyperfine",
    "i386",
    "ionice",
    "lldb",
    "linux32",
    "linux64",
    "ltrace",
    "mawk",
    "nawk",
    "nice",
    "nohup",
    "nsenter",
    "numactl",
    "parallel",
    "parset",
    "perf",
    "pkexec",
    "prlimit",
    "proot",
    "proxychains",
    "proxychains4",
    "rlwrap",
    "rsync",
    "run-parts",
    "runcon",
    "runuser",
    "scp",
    "script",
    "sem",
    "setarch",
    "setpriv",
    "setsid",
    "setuidgid",
    "sg",
    "softlimit",
    "split",
    "ssh",
    "start-stop-daemon",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-inhibit",
    "systemd-run",
    "tar",
    "task",
    "taskset",
    "time",
    "timeout",
    "torify",
    "torsocks",
    "toybox",
    "busybox",
    "trap",
    "tsocks",
    "unbuffer",
    "unshare",
    "uname26",
    "valgrind",
    "vi",
    "view",
    "vim",
    "nvim",
    "vimdiff",
    "watch",
    "x86_64",
    "xargs",
    "xvfb-run",
    "zip",
    "7z",
    "bpftrace",
    "uftrace",
    "heaptrack",
    "callgrind",
    "qemu-x86_64",
    "qemu-x86_64-static",
    "exch",
    "newgrp",
    "socat",
    "nc",
    "ncat",
    "make",
    "gmake",
    "catchsegv",
    "tini",
    "dumb-init",
    "catatonit",
    "s6-setuidgid",
    "dotenv",
    "direnv",
    "ssh-agent",
    "caffeinate",
];
/// Of these only a word behind one of their options or subcommands starts something: what else they are given are names of
/// files and patterns, which may be called like a program.
const BY_OPTION: &[(&str, &[&str])] = &[
    (
        "git",
        &[
            "-c",
            "--config-env",
            "--exec",
            "-x",
            "--exec-path",
            "--upload-pack",
            "--receive-pack",
            "bisect",
            "run",
            "foreach",
            "filter-branch",
            "--extcmd",
            "-u",
            "--pager",
            "-O",
            "--open-files-in-pager",
        ],
    ),
    (
        "tar",
        &[
            "--to-command",
            "--checkpoint-action",
            "-I",
            "--use-compress-program",
            "-F",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
            "--rmt-command",
        ],
    ),
    ("split", &["--filter"]),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("scp", &["-S", "-o"]),
    ("zip", &["-TT", "--unzip-command"]),
    ("find", &["-exec", "-execdir", "-ok", "-okdir"]),
    ("fd", &["-x", "-X", "--exec", "--exec-batch"]),
    ("make", &["SHELL"]),
    ("gmake", &["SHELL"]),
    ("socat", &[]),
    ("hash", &["-p"]),
    ("vi", &["-c", "--cmd", "-S"]),
    ("vim", &["-c", "--cmd", "-S"]),
    ("nvim", &["-c", "--cmd", "-S"]),
    ("view", &["-c", "--cmd"]),
    ("vimdiff", &["-c", "--cmd"]),
    ("ex", &["-c", "--cmd"]),
    ("emacs", &["-eval", "--eval", "-f", "--funcall"]),
];
/// Characters between words of a text that such a program runs.
const BETWEEN: &[char] =
    &[' ', '\t', '\n', '=', ';', '|', '&', '(', ')', '\'', '"', '`', '!', ',', '{', '}', '<', '>', '\0', ':'];

/// The words of a command, beside its own, that it may start.
pub(super) fn started(argv: &[String]) -> Vec<&str> {
    let Some((called, arguments)) = argv.split_first() else { return Vec::new() };
    let name = program::name(called);
    let loader = name.starts_with("ld-linux") || name.starts_with("ld-musl") || name.starts_with("ld.so");
    let versioned = program::unversioned(&name);
    if versioned == "sed" || versioned == "gsed" {
        return arguments.iter().filter(|text| executes(text)).flat_map(|text| pieces(text)).collect();
    }
    if !loader && !STARTERS.contains(&name.as_str()) && !STARTERS.contains(&versioned) {
        return Vec::new();
    }
    let options = BY_OPTION.iter().find(|(known, _)| *known == name).map(|(_, options)| *options);
    let from = match options.filter(|options| !options.is_empty()) {
        None => Some(0),
        Some(options) => arguments.iter().position(|word| {
            let long = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
            let joined = |option: &&str| {
                option.len() == 2
                    && option.starts_with('-')
                    && !word.starts_with("--")
                    && word.starts_with(*option)
            };
            // Long options may be cut short.
            let cut = |option: &&str| long.len() > 3 && long.starts_with("--") && option.starts_with(long);
            options.iter().any(|option| long == *option || joined(option) || cut(option))
        }),
    };
    let words = from.and_then(|from| arguments.get(from..)).unwrap_or_default();
    words.iter().flat_map(|word| pieces(word)).collect()
}

/// A word, and the words of a text that it may be.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let cut = |word: &str| word.contains(BETWEEN);
    let parts = cut(word).then(|| word.split(BETWEEN)).into_iter().flatten();
    std::iter::once(word).chain(parts).filter(|piece| !piece.is_empty() && !piece.starts_with('-'))
}

/// Whether a script of `sed` runs something: the command `e`, or the flag of a substitution.
fn executes(script: &str) -> bool {
    let command = script.char_indices().any(|(at, c)| {
        let before = script.get(..at).and_then(|before| before.chars().next_back());
        let after = script.get(at + 1..).and_then(|after| after.chars().next());
        c == 'e'
            && before
                .is_none_or(|c| c.is_ascii_digit() || matches!(c, '$' | ';' | '{' | '/' | ' ' | '\n' | '!'))
            && after.is_none_or(|c| matches!(c, ' ' | '\t' | '\n'))
    });
    let flags = script.split([';', '\n', '}']).any(|part| {
        let tail: String = part.trim_end().chars().rev().take_while(char::is_ascii_alphanumeric).collect();
        part.contains('s')
            && tail.contains('e')
            && tail
                .chars()
                .all(|c| c.is_ascii_digit() || matches!(c, 'e' | 'g' | 'p' | 'i' | 'I' | 'm' | 'M'))
    });
    command || flags
}
