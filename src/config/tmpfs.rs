//! The options of a temporary file system, as far as engine and kernel know them. Pure.
//!
//! An engine hands them on when a sandbox starts, and the kernel then says only that some argument is wrong.

use super::reader::nearest;

/// Options that stand alone.
const FLAGS: &[&str] = &[
    "defaults",
    "ro",
    "rw",
    "suid",
    "nosuid",
    "dev",
    "nodev",
    "exec",
    "noexec",
    "sync",
    "async",
    "dirsync",
    "mand",
    "nomand",
    "atime",
    "noatime",
    "diratime",
    "nodiratime",
    "relatime",
    "norelatime",
    "strictatime",
    "nostrictatime",
];

/// An option with a value: its name, what a value is, an example.
type Valued = (&'static str, fn(&str) -> bool, &'static str);

const VALUES: &[Valued] = &[
    ("size", is_size_or_share, "size=64m"),
    ("nr_blocks", is_size, "nr_blocks=4k"),
    ("nr_inodes", is_size, "nr_inodes=10k"),
    ("mode", is_mode, "mode=1777"),
    ("uid", is_id, "uid=1000"),
    ("gid", is_id, "gid=1000"),
    ("mpol", is_policy, "mpol=default"),
];

/// What is wrong with an option, and what helps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BadOption {
    /// What is wrong.
    pub(super) message: String,
    /// What helps.
    pub(super) fix: String,
}

/// The first option of `a,b=c` that would stop a sandbox from starting.
pub(super) fn check(options: &str) -> Result<(), BadOption> {
    if options.is_empty() { Ok(()) } else { options.split(',').try_for_each(one) }
}

fn one(option: &str) -> Result<(), BadOption> {
    let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
    let known = VALUES.iter().find(|(known, ..)| *known == name);
    match (known, value) {
        (Some((_, sound, _)), Some(value)) if sound(value) => Ok(()),
        (Some((.., example)), _) => Err(BadOption {
            message: format!("{option:?} has no value that the kernel understands"),
            fix: format!("write it like {example}"),
        }),
        (None, None) if FLAGS.contains(&name) => Ok(()),
        (None, Some(_)) if FLAGS.contains(&name) => Err(BadOption {
            message: format!("{option:?} has a value, and {name} takes none"),
            fix: format!("write {name}"),
        }),
        (None, _) => Err(unknown(option, name)),
    }
}

fn unknown(option: &str, name: &str) -> BadOption {
    let all: Vec<&str> = VALUES.iter().map(|(name, ..)| *name).chain(FLAGS.iter().copied()).collect();
    let fix = match nearest(name.trim(), &all) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("known are {}", all.join(", ")),
    };
    BadOption { message: format!("{option:?} is no option of a temporary file system"), fix }
}

/// A number, decimal as the kernel reads it, and at most one of its letters for powers of 1024.
fn is_size(text: &str) -> bool {
    let digits = text.strip_suffix(['k', 'K', 'm', 'M', 'g', 'G', 't', 'T', 'p', 'P']).unwrap_or(text);
    is_number(digits)
}

/// The same, or a share of the machine's memory.
fn is_size_or_share(text: &str) -> bool {
    is_size(text) || text.strip_suffix('%').is_some_and(is_number)
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|digit| digit.is_ascii_digit()) && text.parse::<u64>().is_ok()
}

/// Octal, with the sticky bit and its like.
fn is_mode(text: &str) -> bool {
    let octal = (1..=5).contains(&text.len()) && text.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
    octal && u32::from_str_radix(text, 8).is_ok_and(|mode| mode <= 0o7777)
}

fn is_id(text: &str) -> bool {
    is_number(text) && text.parse::<u32>().is_ok_and(|id| id != u32::MAX)
}

/// The names of the kernel's policies; the nodes after a colon are its own business.
fn is_policy(text: &str) -> bool {
    let name = text.split([':', '=']).next().unwrap_or_default();
    ["default", "prefer", "bind", "interleave", "local"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_engine_and_kernel_know() {
        for good in [
            "",
            "rw,exec,nosuid,nodev,size=512m,mode=0700,uid=1000,gid=1000",
            "size=50%,nr_inodes=10k,nr_blocks=1M",
            "size=1048576,mode=1777",
            "ro,noexec,mpol=interleave:0-3",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (bad, word) in [
            ("sise=1", "did you mean size?"),
            ("exce", "did you mean exec?"),
            ("rw, exec", "did you mean exec?"),
            ("rw,,exec", "known are"),
            ("size", "size=64m"),
            ("size=64mb", "size=64m"),
            ("size=-1", "size=64m"),
            ("size=+1", "size=64m"),
            ("size=", "size=64m"),
            ("size=99999999999999999999", "size=64m"),
            ("mode=0900", "mode=1777"),
            ("mode=77777", "mode=1777"),
            ("uid=me", "uid=1000"),
            ("exec=1", "write exec"),
            ("mpol=x", "mpol=default"),
            ("huge=always", "known are"),
            ("rprivate", "known are"),
        ] {
            let error = check(bad).unwrap_err();
            assert!(error.fix.contains(word), "{bad}: {error:?}");
        }
    }
}
