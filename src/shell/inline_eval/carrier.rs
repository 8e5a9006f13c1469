//! Programs that run another program, and where its argument list begins.

use std::collections::BTreeSet;

/// The grammar of one carrier, as far as it takes to find what it runs.
#[derive(Debug)]
struct Carrier {
    names: &'static [&'static str],
    /// Short flags with a value.
    short: &'static str,
    /// Long flags whose value may be the next argument.
    long: &'static [&'static str],
    /// Short flags without value.
    flags: &'static str,
    /// Operands in front of the program.
    skip: usize,
    /// `NAME=value` may stand in front of the program.
    assignments: bool,
}

const fn plain(names: &'static [&'static str]) -> Carrier {
    Carrier { names, short: "", long: &[], flags: "", skip: 0, assignments: false }
}

static CARRIERS: &[Carrier] = &[
    Carrier {
        short: "uCPS",
        long: &["--unset", "--chdir", "--split-string"],
        flags: "iv0",
        assignments: true,
        ..plain(&["env"])
    },
    Carrier {
        short: "ugphCcDRrTtU",
        long: &[
            "--user",
            "--group",
            "--prompt",
            "--host",
            "--close-from",
            "--chdir",
            "--chroot",
            "--role",
            "--type",
            "--command-timeout",
            "--other-user",
            "--login-class",
        ],
        flags: "AbEeHiKklnPSsVv",
        assignments: true,
        ..plain(&["sudo"])
    },
    Carrier { short: "uCa", flags: "Lns", ..plain(&["doas"]) },
    Carrier { flags: "p", ..plain(&["command", "builtin", "eval"]) },
    Carrier { short: "a", flags: "cl", ..plain(&["exec"]) },
    Carrier { short: "n", long: &["--adjustment", "--priority"], flags: "0123456789", ..plain(&["nice"]) },
    plain(&[
        "nohup",
        "busybox",
        "toybox",
        "catchsegv",
        "eatmydata",
        "torify",
        "torsocks",
        "proxychains",
        "proxychains4",
        "unbuffer",
        "linux32",
        "linux64",
        "firejail",
        "bwrap",
        "arch",
    ]),
    Carrier {
        short: "ks",
        long: &["--kill-after", "--signal"],
        flags: "fpv",
        skip: 1,
        ..plain(&["timeout"])
    },
    Carrier { short: "fo", long: &["--format", "--output"], flags: "ahlpqvV", ..plain(&["time"]) },
    Carrier {
        short: "Ew",
        long: &["--conflict-exit-code", "--timeout", "--wait"],
        flags: "eFnosx",
        skip: 1,
        ..plain(&["flock"])
    },
    Carrier { short: "tw", flags: "dimsu", ..plain(&["caffeinate"]) },
    Carrier { short: "fpdnD", ..plain(&["sandbox-exec"]) },
    Carrier { short: "ioe", long: &["--input", "--output", "--error"], ..plain(&["stdbuf"]) },
    Carrier { flags: "cfw", ..plain(&["setsid"]) },
    Carrier { short: "cnpPu", long: &["--class", "--classdata"], flags: "t", ..plain(&["ionice"]) },
    Carrier { short: "TPDp", flags: "abdefiorRvm", skip: 1, ..plain(&["chrt"]) },
    Carrier { flags: "acp", skip: 1, ..plain(&["taskset", "setarch"]) },
    Carrier { short: "GRSlw", flags: "CTUcfimnpru", ..plain(&["unshare"]) },
    Carrier { short: "GSrtw", flags: "CFTUaimnpuZ", ..plain(&["nsenter"]) },
    Carrier { short: "EIOPSUXabeopsu", flags: "ACDFThcdfikqrtvVwxyz", ..plain(&["strace", "ltrace"]) },
    Carrier { short: "nq", long: &["--interval"], flags: "bcdegptwx", ..plain(&["watch"]) },
    Carrier { skip: 1, long: &["--userspec", "--groups"], ..plain(&["chroot", "gosu"]) },
    Carrier { short: "ugG", long: &["--user", "--group"], ..plain(&["runuser"]) },
    Carrier { short: "elps", long: &["--limit"], flags: "bfimqvz", ..plain(&["cpulimit"]) },
    Carrier { short: "CNPilmp", ..plain(&["numactl"]) },
    Carrier { long: &["--user"], ..plain(&["pkexec"]) },
    Carrier { ..plain(&["setpriv", "systemd-run", "xvfb-run", "proot", "xcrun"]) },
];

/// Programs that run another one, of whose options and operands in front of it nothing is known: each tail may be it.
const ANY: &[&str] = &[
    "aa-exec",
    "abduco",
    "alpha",
    "aoss",
    "apptainer",
    "cage",
    "capsh",
    "catatonit",
    "cgexec",
    "choom",
    "chpst",
    "chronic",
    "cset",
    "daemon",
    "daemonize",
    "dbus-launch",
    "dbus-run-session",
    "dchroot",
    "dtach",
    "dumb-init",
    "envdir",
    "envuidgid",
    "fakechroot",
    "fakeroot",
    "faketime",
    "gamemoderun",
    "gamescope",
    "heaptrack",
    "hyperfine",
    "i386",
    "i486",
    "i586",
    "i686",
    "ifne",
    "ld.so",
    "login",
    "logsave",
    "lxc-attach",
    "lxc-execute",
    "lxc-usernsexec",
    "machinectl",
    "mangohud",
    "minijail0",
    "mips",
    "mips64",
    "mispipe",
    "mpiexec",
    "mpirun",
    "multitime",
    "nix-shell",
    "nq",
    "nsjail",
    "optirun",
    "orterun",
    "padsp",
    "parisc",
    "pasta",
    "pee",
    "pgrphack",
    "pipesz",
    "ppc64",
    "primusrun",
    "prlimit",
    "pseudo",
    "pw-jack",
    "reptyr",
    "rlwrap",
    "rootlesskit",
    "rr",
    "run0",
    "runcon",
    "s390",
    "s390x",
    "schroot",
    "setlock",
    "setuidgid",
    "sg",
    "singularity",
    "slirp4netns",
    "softlimit",
    "sparc64",
    "spawn-fcgi",
    "srun",
    "ssh-agent",
    "sshpass",
    "start-stop-daemon",
    "startx",
    "sudoedit",
    "systemd-cat",
    "systemd-inhibit",
    "systemd-nspawn",
    "tini",
    "tsocks",
    "tsp",
    "uclampset",
    "uname26",
    "valgrind",
    "vglrun",
    "weston-launch",
    "with-contenv",
    "x86_64",
    "xinit",
    "zzuf",
];

/// What a carrier may run.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::shell) enum Inner {
    /// The tails of its arguments that begin here; several where an option is not known.
    Tails(BTreeSet<usize>),
    /// Words that it makes of its arguments, with itself in front.
    Split(Vec<String>),
}

fn of(name: &str) -> Option<&'static Carrier> {
    CARRIERS.iter().find(|carrier| carrier.names.contains(&name))
}

/// Whether a program runs another one.
pub(in crate::shell) fn is_one(name: &str) -> bool {
    of(name).is_some() || any(name)
}

/// Whether each tail may be what runs. The loader of programs is one of them, whatever its version.
fn any(name: &str) -> bool {
    ANY.contains(&name)
        || ["ld-linux", "ld-musl", "ld.so", "ld64.so"].iter().any(|loader| name.starts_with(loader))
}

/// What a carrier may run; behind an option that is not known both readings. `None` where the program runs no other. A
/// query (`command -v`) runs none either.
pub(in crate::shell) fn inner(name: &str, arguments: &[&str]) -> Option<Inner> {
    if any(name) {
        return Some(Inner::Tails((0..arguments.len()).collect()));
    }
    let carrier = of(name)?;
    if name == "command" && arguments.first().is_some_and(|first| ["-v", "-V"].contains(first)) {
        return None;
    }
    let split = if name == "env" { split_string(arguments) } else { None };
    Some(split.map_or_else(|| Inner::Tails(starts(carrier, arguments)), Inner::Split))
}

/// Where the inner program may begin, by every reading of the options in front of it.
fn starts(carrier: &Carrier, arguments: &[&str]) -> BTreeSet<usize> {
    let assigned = |word: &str| carrier.assignments && word.contains('=') && !word.starts_with('-');
    let operands = |from: usize| {
        let rest = arguments.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|word| assigned(word)).count() + carrier.skip
    };
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![0];
    while let Some(at) = open.pop() {
        if !seen.insert(at) {
            continue;
        }
        let Some(argument) = arguments.get(at) else { continue };
        if *argument == "--" {
            found.insert(operands(at + 1));
        } else if !argument.is_empty() && !argument.starts_with('-') && !assigned(argument) {
            found.insert(operands(at));
        } else {
            match takes(carrier, argument) {
                Takes::Nothing => open.push(at + 1),
                Takes::Next => open.push(at + 2),
                Takes::Perhaps => open.extend([at + 1, at + 2]),
            }
        }
    }
    found
}

enum Takes {
    Nothing,
    Next,
    Perhaps,
}

fn takes(carrier: &Carrier, argument: &str) -> Takes {
    if argument.starts_with("--") {
        return match () {
            () if argument.contains('=') => Takes::Nothing,
            () if carrier.long.contains(&argument) => Takes::Next,
            () => Takes::Perhaps,
        };
    }
    let mut letters = argument.strip_prefix('-').unwrap_or_default().chars();
    while let Some(letter) = letters.next() {
        if carrier.short.contains(letter) {
            return if letters.as_str().is_empty() { Takes::Next } else { Takes::Nothing };
        }
        if !carrier.flags.contains(letter) {
            return Takes::Perhaps;
        }
    }
    Takes::Nothing
}

/// `env -S 'python3 -c x' y`: the text is split into words in front of the rest.
fn split_string(arguments: &[&str]) -> Option<Vec<String>> {
    for (at, argument) in arguments.iter().enumerate() {
        let rest = |from: usize| arguments.get(from..).unwrap_or_default();
        let own = |text: &str, rest: &[&str]| {
            let words = text.split_whitespace().map(|word| word.trim_matches(['"', '\'']).to_owned());
            let options = ["env".to_owned()].into_iter();
            Some(options.chain(words).chain(rest.iter().map(|word| (*word).to_owned())).collect())
        };
        if *argument == "-S" || *argument == "--split-string" {
            return own(arguments.get(at + 1)?, rest(at + 2));
        }
        let text = argument.strip_prefix("--split-string=").or_else(|| {
            let cluster = argument.strip_prefix('-').filter(|cluster| !cluster.starts_with('-'))?;
            let (before, text) = cluster.split_once('S')?;
            before.chars().all(|letter| matches!(letter, 'i' | 'v' | '0')).then_some(text)
        });
        match text {
            Some("") => return own(arguments.get(at + 1)?, rest(at + 2)),
            Some(text) => return own(text, rest(at + 1)),
            None if !argument.starts_with('-') && !argument.contains('=') => return None,
            None => {}
        }
    }
    None
}
