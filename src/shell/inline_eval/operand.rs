//! Programs whose first operand is code: awk, sed, xargs.

/// What stands for the flag where the operand is a program's text.
pub(super) const PROGRAM: &str = "<program>";
/// What stands for the flag where the operands are a command.
pub(super) const COMMAND: &str = "<command>";

/// How a program finds its first operand.
#[derive(Debug)]
pub(super) struct Operand {
    /// What the operand is.
    what: &'static str,
    /// Short flags whose value may be the next argument.
    short: &'static str,
    /// Long flags likewise.
    long: &'static [&'static str],
    /// The code comes from a file: then no operand is code.
    file: bool,
    /// Short flags without value, which may stand together.
    flags: &'static str,
}

pub(super) const AWK: Operand = Operand {
    what: PROGRAM,
    short: "FvilW",
    long: &["--field-separator", "--assign", "--include", "--load"],
    file: true,
    flags: "bcCghMnNOPrsStV",
};
pub(super) const SED: Operand =
    Operand { what: PROGRAM, short: "l", long: &["--line-length"], file: true, flags: "nrEsuz" };
/// Of `--eof`, `--replace` and `--max-lines` the value is optional and only behind `=`.
pub(super) const XARGS: Operand = Operand {
    what: COMMAND,
    short: "adEILnPs",
    long: &["--arg-file", "--delimiter", "--max-args", "--max-procs", "--max-chars", "--process-slot-var"],
    file: false,
    flags: "0ortpx",
};

/// What the first operand is, where there is one and it is code.
pub(super) fn find(operand: &Operand, arguments: &[&str]) -> Option<&'static str> {
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if *argument == "--" {
            return rest.next().map(|_| operand.what);
        }
        if let Some(long) = argument.strip_prefix("--") {
            if operand.file && (long == "file" || long.starts_with("file=")) {
                return None;
            }
            if operand.long.contains(argument) {
                rest.next();
            }
        } else if let Some(cluster) = argument.strip_prefix('-') {
            match short(operand, cluster) {
                Short::File => return None,
                Short::NextIsValue => {
                    rest.next();
                }
                Short::Complete => {}
            }
        } else if !argument.is_empty() {
            return Some(operand.what);
        }
    }
    None
}

enum Short {
    /// The code is in a file.
    File,
    /// The next argument is the value of the last letter.
    NextIsValue,
    /// Nothing more belongs to it.
    Complete,
}

fn short(operand: &Operand, cluster: &str) -> Short {
    // Only an `f` that stands first says so for certain; behind other letters it asks once too often, as upstream does.
    if operand.file && cluster.starts_with('f') {
        return Short::File;
    }
    let mut letters = cluster.chars();
    while let Some(letter) = letters.next() {
        if operand.short.contains(letter) {
            return if letters.as_str().is_empty() { Short::NextIsValue } else { Short::Complete };
        }
        if !operand.flags.contains(letter) {
            return Short::Complete;
        }
    }
    Short::Complete
}
