//! The flags of interpreters that put code on the command line (spec `approvals.md` 8.06).

use super::fed::{self, Reads};
use super::operand::Operand;
use super::{given, program};

/// Finds code in arguments, as it is told to people.
pub(super) type Given = fn(&[&str]) -> Option<&'static str>;

/// One family of programs.
#[derive(Debug)]
pub(super) struct Program {
    /// Names, without version.
    pub names: &'static [&'static str],
    /// Flags that are compared without case.
    pub flags: &'static [&'static str],
    /// Flags whose other case is another flag.
    pub cased: &'static [&'static str],
    /// Short flags that take what is joined to them, in this case; told as the flag beside it.
    pub joined: &'static [(&'static str, &'static str)],
    /// Of letters that stand together those that take the rest as their value, and those that take code. Whatever is in front
    /// of the latter, known or not, does not hide them.
    pub cluster: Option<(&'static str, &'static str)>,
    /// Long flags of which a beginning is enough; how much of it, and whether an empty value behind `=` counts.
    pub short_of: &'static [(&'static str, usize, bool)],
    /// Subcommands that take code.
    pub words: &'static [&'static str],
    /// What the first operand is.
    pub operand: Option<&'static Operand>,
    /// `--` does not end the flags.
    pub past_end: bool,
    /// A value behind `=` counts for flags with one dash too.
    pub single_equals: bool,
    /// Code in arguments that no flag of the lists above tells.
    pub given: Option<Given>,
    /// It runs what it reads where it is given no file.
    pub reads: Option<&'static Reads>,
    /// Beyond the list of names that upstream calls interpreters.
    pub beyond: bool,
}

const NONE: Program = Program {
    names: &[],
    flags: &[],
    cased: &[],
    joined: &[],
    cluster: None,
    short_of: &[],
    words: &[],
    operand: None,
    past_end: false,
    single_equals: false,
    given: None,
    reads: None,
    beyond: false,
};

const PYTHON: Program = Program {
    names: &["python", "python2", "python3", "pypy", "pypy3"],
    flags: &["-c"],
    joined: &[("-c", "-c")],
    cluster: Some(("WXQm", "c")),
    given: Some(given::python),
    reads: Some(&fed::PYTHON),
    ..NONE
};
const NODE: Program = Program {
    names: &["node", "nodejs"],
    flags: &["-e", "--eval", "-p", "--print"],
    joined: &[("-e", "-e"), ("-p", "-p")],
    given: Some(given::data),
    reads: Some(&fed::NODE),
    ..NONE
};
/// Of a mode, `e` and `E` alike.
const E: &[&str] = &["-e"];
const E_JOINED: &[(&str, &str)] = &[("-e", "-e")];

static PROGRAMS: &[Program] = &[
    PYTHON,
    Program { names: &["pythonw", "python3m", "ipython", "ipython3"], beyond: true, ..PYTHON },
    NODE,
    Program { names: &["bun"], words: &["exec"], ..NODE },
    Program { names: &["deno"], words: &["eval"], ..NODE },
    Program { names: &["ts-node", "tsx"], beyond: true, ..NODE },
    Program {
        names: &["awk", "gawk", "mawk", "nawk"],
        flags: E,
        joined: E_JOINED,
        short_of: &[("--source", 3, true)],
        operand: Some(&super::operand::AWK),
        ..NONE
    },
    RUBY,
    Program { names: &["jruby"], beyond: true, ..RUBY },
    Program {
        names: &["perl"],
        flags: E,
        joined: &[("-e", "-e"), ("-E", "-e")],
        cluster: Some(("IMmDxFCi", "eE")),
        given: Some(given::perl),
        reads: Some(&fed::PERL),
        ..NONE
    },
    Program {
        names: &["php"],
        given: Some(given::php),
        reads: Some(&fed::PHP),
        cased: &["-r", "-B", "-E", "-R"],
        joined: &[("-r", "-r"), ("-B", "-B"), ("-E", "-E"), ("-R", "-R")],
        short_of: &[
            ("--run", 5, false),
            ("--process-begin", 15, false),
            ("--process-code", 14, false),
            ("--process-end", 13, false),
        ],
        ..NONE
    },
    Program {
        names: &["r", "rscript", "osascript", "lua"],
        flags: E,
        joined: E_JOINED,
        reads: Some(&fed::OTHER),
        ..NONE
    },
    Program {
        names: &["luajit"],
        flags: E,
        joined: E_JOINED,
        reads: Some(&fed::OTHER),
        beyond: true,
        ..NONE
    },
    Program {
        names: &["julia"],
        flags: &["-e", "--eval", "--print"],
        cased: &["-E"],
        joined: &[("-e", "-e"), ("-E", "-E")],
        reads: Some(&fed::OTHER),
        ..NONE
    },
    Program {
        names: &["elixir", "iex"],
        flags: &["-e", "--eval", "--rpc-eval"],
        reads: Some(&fed::OTHER),
        ..NONE
    },
    Program { names: &["guile"], flags: &["-c", "-e"], reads: Some(&fed::OTHER), ..NONE },
    Program { names: &["groovy"], flags: E, cluster: Some(("Dcibl", "e")), ..NONE },
    Program {
        names: &["scala", "scala-cli"],
        flags: &[
            "-e",
            "--script-snippet",
            "--execute-script",
            "--execute-sc",
            "--execute-scala-script",
            "--scala-snippet",
            "--execute-scala",
            "--java-snippet",
            "--execute-java",
            "--markdown-snippet",
            "--md-snippet",
            "--execute-markdown",
            "--execute-md",
        ],
        ..NONE
    },
    Program { names: &["clojure", "clj"], flags: &["-e", "--eval"], ..NONE },
    Program { names: &["raku", "perl6"], flags: E, joined: E_JOINED, cluster: Some(("IM", "e")), ..NONE },
    Program { names: &["ghc", "ghci"], flags: E, ..NONE },
    Program { names: &["erl", "werl"], flags: &["-eval", "-run", "-s"], ..NONE },
    Program {
        names: &["gdb"],
        flags: &[
            "-ex",
            "-iex",
            "-eiex",
            "--ex",
            "--iex",
            "--eiex",
            "-eval-command",
            "-init-eval-command",
            "-early-init-eval-command",
            "--eval-command",
            "--init-eval-command",
            "--early-init-eval-command",
        ],
        short_of: &[
            ("-eval-command", 3, true),
            ("-init-eval-command", 7, true),
            ("-early-init-eval-command", 13, true),
            ("--eval-command", 4, true),
            ("--init-eval-command", 8, true),
            ("--early-init-eval-command", 14, true),
        ],
        single_equals: true,
        ..NONE
    },
    Program { names: &["expect"], flags: &["-c"], joined: &[("-c", "-c")], ..NONE },
    Program { names: &["find"], flags: &["-exec", "-execdir", "-ok", "-okdir"], past_end: true, ..NONE },
    Program {
        names: &["make", "gmake"],
        flags: &["-f", "--file", "--makefile", "--eval"],
        cased: &["-E"],
        joined: &[("-f", "-f"), ("-E", "-E")],
        cluster: Some(("CIoWjl", "fE")),
        given: Some(given::make),
        short_of: &[("--eval", 4, true), ("--file", 4, false), ("--makefile", 5, false)],
        ..NONE
    },
    Program {
        names: &["sed", "gsed"],
        cased: &["-e"],
        joined: E_JOINED,
        operand: Some(&super::operand::SED),
        ..NONE
    },
    Program { names: &["xargs"], operand: Some(&super::operand::XARGS), ..NONE },
];

const RUBY: Program = Program {
    names: &["ruby"],
    flags: E,
    joined: E_JOINED,
    cluster: Some(("ICEFKTrix", "e")),
    reads: Some(&fed::RUBY),
    ..NONE
};

/// The program of a name, with a version behind it or without.
pub(super) fn of(name: &str) -> Option<&'static Program> {
    let bare = program::unversioned(name);
    let named = |wanted: &str| PROGRAMS.iter().find(|program| program.names.contains(&wanted));
    named(name).or_else(|| named(bare))
}

/// Whether a name is one of the list that upstream calls interpreters.
pub(super) fn listed(name: &str) -> bool {
    PROGRAMS.iter().any(|program| !program.beyond && program.names.contains(&name))
}
