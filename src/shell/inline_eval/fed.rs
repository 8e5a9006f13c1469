//! Interpreters that run what they read: with a document, at the end of a pipe, told to read their input, or alone.

/// How an interpreter finds the file that it runs.
#[derive(Debug)]
pub(super) struct Reads {
    /// Letters whose value may be the next argument.
    short: &'static str,
    /// Letters with which it runs no input: those that bring code or a module along, and those that only tell something.
    ends: &'static str,
    /// Long options whose value is the next argument.
    long: &'static [&'static str],
}

pub(super) const PYTHON: Reads = Reads { short: "WXQ", ends: "cmVh", long: &["--check-hash-based-pycs"] };
pub(super) const NODE: Reads = Reads {
    short: "rC",
    ends: "epvh",
    long: &[
        "--require",
        "--import",
        "--loader",
        "--experimental-loader",
        "--conditions",
        "--env-file",
        "--input-type",
        "--title",
    ],
};
pub(super) const PERL: Reads = Reads { short: "I", ends: "eEvVh", long: &[] };
pub(super) const RUBY: Reads = Reads { short: "IrCEK", ends: "evh", long: &["--encoding", "--require"] };
pub(super) const PHP: Reads =
    Reads { short: "dcz", ends: "rBRESfFivmlwsh", long: &["--define", "--php-ini"] };
pub(super) const OTHER: Reads = Reads { short: "lL", ends: "evfh", long: &[] };

/// Operands that stand for what is read.
const INPUT: &[&str] = &["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "php://stdin"];
/// They only tell something, or say where code comes from.
const TELLS: &[&str] =
    &["--version", "--help", "--eval", "--print", "--check", "--test", "--run", "--file", "--watch"];

/// Whether it runs what it reads. Without options and operands it does; with options alone only where something is `fed` to it.
pub(super) fn runs(reads: &Reads, arguments: &[&str], fed: bool) -> bool {
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if INPUT.contains(argument) {
            return true;
        }
        if *argument == "--" {
            return rest.next().map_or(fed, |operand| INPUT.contains(operand));
        }
        if let Some(long) = argument.strip_prefix("--") {
            let name = argument.split('=').next().unwrap_or_default();
            if TELLS.contains(&name)
                || reads.long.contains(argument) && rest.next().is_none()
                || long.is_empty()
            {
                return false;
            }
        } else if let Some(letters) = argument.strip_prefix('-') {
            match letters.find(|letter| reads.ends.contains(letter) || reads.short.contains(letter)) {
                Some(at)
                    if letters
                        .get(at..)
                        .is_some_and(|rest| rest.starts_with(|letter| reads.ends.contains(letter))) =>
                {
                    return false;
                }
                Some(at) if at + 1 == letters.len() => {
                    rest.next();
                }
                _ => {}
            }
        } else if !argument.is_empty() {
            return false;
        }
    }
    fed || arguments.is_empty()
}
