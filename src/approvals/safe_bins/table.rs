//! The built-in profiles (spec `approvals.md` §6.1).

use super::profile::Profile;

struct Row {
    name: &'static str,
    operands: (usize, usize),
    values: &'static [&'static str],
    booleans: &'static [&'static str],
    denied: &'static [&'static str],
}

static ROWS: &[Row] = &[
    Row {
        name: "cut",
        operands: (0, 0),
        values: &[
            "--bytes",
            "--characters",
            "--fields",
            "--delimiter",
            "--output-delimiter",
            "-b",
            "-c",
            "-f",
            "-d",
        ],
        booleans: &["--complement", "--only-delimited", "--zero-terminated", "-n", "-s", "-z"],
        denied: &[],
    },
    Row {
        name: "uniq",
        operands: (0, 0),
        values: &["--skip-fields", "--skip-chars", "--check-chars", "--group", "-f", "-s", "-w"],
        booleans: &[
            "--count",
            "--repeated",
            "--unique",
            "--ignore-case",
            "--zero-terminated",
            "-c",
            "-d",
            "-u",
            "-i",
            "-z",
        ],
        denied: &[],
    },
    Row {
        name: "head",
        operands: (0, 0),
        values: &["--lines", "--bytes", "-n", "-c"],
        booleans: &["--quiet", "--silent", "--verbose", "--zero-terminated", "-q", "-v", "-z"],
        denied: &[],
    },
    Row {
        name: "tail",
        operands: (0, 0),
        values: &["--lines", "--bytes", "--sleep-interval", "--max-unchanged-stats", "--pid", "-n", "-c"],
        booleans: &["--quiet", "--silent", "--verbose", "--zero-terminated", "-q", "-v", "-z"],
        denied: &["--follow", "--retry", "-F", "-f"],
    },
    Row {
        name: "tr",
        operands: (1, 2),
        values: &[],
        booleans: &[
            "--complement",
            "--delete",
            "--squeeze-repeats",
            "--truncate-set1",
            "-C",
            "-c",
            "-d",
            "-s",
            "-t",
        ],
        denied: &[],
    },
    Row {
        name: "wc",
        operands: (0, 0),
        values: &[],
        booleans: &[
            "--bytes",
            "--chars",
            "--lines",
            "--max-line-length",
            "--words",
            "-L",
            "-c",
            "-l",
            "-m",
            "-w",
        ],
        denied: &["--files0-from"],
    },
    // The pattern is given as `-e`: an operand could be a file (6.07).
    Row {
        name: "grep",
        operands: (0, 0),
        values: &[
            "--regexp",
            "--max-count",
            "--after-context",
            "--before-context",
            "--context",
            "--devices",
            "--binary-files",
            "--exclude",
            "--include",
            "--label",
            "-e",
            "-m",
            "-A",
            "-B",
            "-C",
            "-D",
        ],
        booleans: &[],
        denied: &[
            "--file",
            "--exclude-from",
            "--dereference-recursive",
            "--directories",
            "--recursive",
            "-f",
            "-d",
            "-r",
            "-R",
        ],
    },
    Row {
        name: "sort",
        operands: (0, 0),
        values: &[
            "--key",
            "--field-separator",
            "--buffer-size",
            "--parallel",
            "--batch-size",
            "-k",
            "-t",
            "-S",
        ],
        booleans: &[],
        denied: &[
            "--compress-program",
            "--files0-from",
            "--output",
            "--random-source",
            "--temporary-directory",
            "-T",
            "-o",
        ],
    },
];

/// The profile of a program that creel knows.
pub(super) fn builtin(name: &str) -> Option<Profile> {
    let row = ROWS.iter().find(|row| row.name == name)?;
    let owned = |flags: &[&str]| flags.iter().map(|flag| (*flag).to_owned()).collect();
    Some(Profile {
        min: row.operands.0,
        max: Some(row.operands.1),
        values: owned(row.values),
        booleans: owned(row.booleans),
        denied: owned(row.denied),
        custom: false,
    })
}
