//! Variables about which an entry need not say anything: how output looks, how much a program tells, and nothing of what
//! it loads, reads or starts.
//!
//! An entry was written with a program and its arguments in mind. A list of what is dangerous never ends, as every program
//! has variables of its own; so what a call may bring to a listed command is listed instead.

/// Names, each sorted; exactly as programs read them.
pub(super) const HARMLESS: &[&str] = &[
    "CARGO_TERM_COLOR",
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "FORCE_COLOR",
    "GIT_OPTIONAL_LOCKS",
    "GIT_PAGER",
    "GIT_TERMINAL_PROMPT",
    "LANG",
    "LINES",
    "NODE_DISABLE_COLORS",
    "NODE_ENV",
    "NODE_NO_WARNINGS",
    "NO_COLOR",
    "OPENCLAW_SUBAGENT_EXEC",
    "PAGER",
    "PIP_DISABLE_PIP_VERSION_CHECK",
    "PIP_NO_COLOR",
    "PIP_NO_INPUT",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
    "RUSTUP_TERM_COLOR",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TF_INPUT",
    "TF_IN_AUTOMATION",
    "TZ",
];
/// Parts of a locale.
const LOCALE: &[&str] =
    &["LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME"];
/// Bytes of a value that is still taken for a plain word.
const LONGEST: usize = 256;

/// Whether a listed command may have this variable of its call.
pub fn harmless(name: &str, value: &str) -> bool {
    let short = value.len() <= LONGEST && !value.chars().any(char::is_control);
    let number = || value.bytes().all(|byte| byte.is_ascii_digit());
    short
        && match name {
            "COLUMNS" | "LINES" => number(),
            // A pager that is switched off.
            "GIT_PAGER" | "PAGER" => matches!(value, "" | "cat"),
            // A place in a directory of descriptions, and no way out of it.
            "TERM" => plain(value),
            "TZ" => !value.starts_with([':', '/']) && !value.contains(".."),
            "LANG" => read_as_judged(value),
            _ if LOCALE.contains(&name) => read_as_judged(value),
            _ => HARMLESS.contains(&name),
        }
}

/// Whether a variable decides in which character set a shell reads its text.
pub fn names_charset(name: &str) -> bool {
    matches!(name, "LANG" | "LC_ALL" | "LC_CTYPE")
}

/// Whether a shell with this locale reads a text as it was judged: in UTF-8, or byte by byte. In Shift-JIS, Big5, GBK and
/// others a backslash may be the second byte of a character, and what it seems to quote is not quoted. A locale that names
/// no character set has one that only the system knows.
pub fn read_as_judged(value: &str) -> bool {
    if matches!(value, "" | "C" | "POSIX") {
        return true;
    }
    let charset = value.split_once('.').map_or(value, |(_, charset)| charset);
    let charset = charset.split('@').next().unwrap_or_default();
    value.split(['.', '@']).all(plain)
        && matches!(charset.to_ascii_lowercase().replace('-', "").as_str(), "utf8")
}

fn plain(word: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'+' | b'.');
    word.bytes().all(known) && !word.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_listed_command_may_have() {
        assert!(HARMLESS.is_sorted() && LOCALE.is_sorted());
        for (name, value) in [
            ("TERM", "xterm-256color"),
            ("TERM", "dumb"),
            ("LANG", "C.UTF-8"),
            ("LC_ALL", "de_DE.utf8"),
            ("LC_TIME", "C"),
            ("TZ", "Europe/Berlin"),
            ("COLUMNS", "120"),
            ("NO_COLOR", "1"),
            ("RUST_LOG", "debug,hyper=info"),
            ("PAGER", "cat"),
        ] {
            assert!(harmless(name, value), "{name}={value}");
        }
        for (name, value) in [
            ("LESS", "-k x"),
            ("FOO", "1"),
            ("DEBUG", "1"),
            ("HTTP_TIMEOUT", "1"),
            ("term", "dumb"),
            ("TERM", "../x"),
            ("TERM", "/tmp/x"),
            ("TZ", ":/tmp/x"),
            ("TZ", "../x"),
            ("COLUMNS", "a[$(x)]"),
            ("PAGER", "less"),
            ("LC_ALL", "ja_JP.SJIS"),
            ("LC_EVIL", "C"),
            ("CI", "a\nb"),
            ("TMPDIR", "/tmp/x"),
        ] {
            assert!(!harmless(name, value), "{name}={value}");
        }
        assert!(!harmless("RUST_LOG", &"x".repeat(LONGEST + 1)));
    }

    #[test]
    fn character_sets() {
        for value in ["", "C", "POSIX", "C.UTF-8", "en_US.utf8", "de_DE.UTF-8@euro", "UTF-8"] {
            assert!(read_as_judged(value), "{value}");
        }
        for value in [
            "ja_JP.SJIS",
            "zh_CN.GBK",
            "zh_TW.BIG5",
            "zh_TW",
            "ja_JP",
            "de_DE@euro",
            "x/y.UTF-8",
            "C.UTF-8.SJIS",
        ] {
            assert!(!read_as_judged(value), "{value}");
        }
    }
}
