//! Forms of the texts in a request: those that creel writes, and no others. Pure.
//!
//! The engine reads its texts generously: with spaces around them, in any case, with a second part behind a colon, with
//! the beginning of an id for all of it. What is let through here leaves it nothing to be generous about.

use std::net::IpAddr;

use super::is_clean;

/// Longest name of anything; an id has 64 characters.
const NAME_MAX: usize = 128;
/// Words among the options of a temporary file system. `bind`, `remount` or `shared` would make it something else, `dev`
/// and `suid` a weaker one.
const TMPFS_WORDS: [&str; 9] =
    ["rw", "ro", "exec", "noexec", "nosuid", "nodev", "noatime", "relatime", "nodiratime"];
/// Its options with a number.
const TMPFS_NUMBERS: [&str; 6] = ["size", "mode", "uid", "gid", "nr_inodes", "nr_blocks"];

fn made_of(text: &str, plain: impl Fn(u8) -> bool) -> bool {
    !text.is_empty() && text.len() <= NAME_MAX && text.bytes().all(plain)
}

/// The whole id of a container or of a command, as the engine tells it.
pub(super) fn full_id(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A name or an id.
pub(super) fn name(text: &str) -> bool {
    let first = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    first && made_of(text, |byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

/// A name for a container. One of hexadecimal digits alone would be taken for the beginning of another's id.
pub(super) fn given_name(text: &str) -> bool {
    name(text) && !text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// An image's reference or id.
pub(super) fn image(text: &str) -> bool {
    let part = |part: &str| part.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    text.len() <= 512
        && text.split('/').all(part)
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-/:@".contains(&byte))
}

/// `uid:gid`, or names.
pub(super) fn user(text: &str) -> bool {
    let part = |part: &str| made_of(part, |byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
    match text.split_once(':') {
        Some((user, group)) => part(user) && part(group),
        None => part(text),
    }
}

/// A directory in the container that commands work in.
pub(super) fn workdir(text: &str) -> bool {
    text == "/" || (is_clean(text) && !text.contains(char::is_control))
}

/// A place in the container for a mount: not the container itself, and not the kernel's file systems, which an engine
/// fills and protects while it starts a container.
pub(super) fn target(text: &str) -> bool {
    let below =
        |dir: &str| text.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    is_clean(text)
        && !text.contains(char::is_control)
        && !["/proc", "/sys", "/dev"].iter().any(|dir| below(dir))
}

/// A place for a temporary file system: that of shared memory too.
pub(super) fn tmpfs_target(text: &str) -> bool {
    target(text) || text == "/dev/shm"
}

/// Options of a temporary file system.
pub(super) fn tmpfs_options(text: &str) -> bool {
    let number = |text: &str| {
        let digits = text.trim_end_matches(['k', 'm', 'g', 'K', 'M', 'G', '%']);
        text.len() - digits.len() <= 1 && made_of(digits, |byte| byte.is_ascii_digit())
    };
    let known = |option: &str| match option.split_once('=') {
        Some((name, value)) => TMPFS_NUMBERS.contains(&name) && number(value),
        None => TMPFS_WORDS.contains(&option),
    };
    text.is_empty() || text.split(',').all(known)
}

/// The address of a name server.
pub(super) fn address(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok()
}

/// `host:address`.
pub(super) fn host_entry(text: &str) -> bool {
    text.split_once(':').is_some_and(|(host, to)| name(host) && (to == "host-gateway" || address(to)))
}

/// The name of a limit.
pub(super) fn limit(text: &str) -> bool {
    made_of(text, |byte| byte.is_ascii_lowercase())
}

/// The name of a profile of `AppArmor` that confines.
pub(super) fn profile(text: &str) -> bool {
    name(text) && !text.eq_ignore_ascii_case("unconfined")
}

/// A parameter of a query that has no other form than this; `None` for one that is judged elsewhere.
pub(super) fn parameter(name_of: &str, value: &str) -> Option<bool> {
    let digits = |text: &str| made_of(text, |byte| byte.is_ascii_digit());
    Some(match name_of {
        "all" | "digests" | "manifests" | "shared-size" | "size" | "stream" | "stdin" | "follow"
        | "stdout" | "stderr" | "timestamps" | "v" | "force" | "link" => {
            matches!(value, "true" | "false" | "1" | "0")
        }
        "name" => given_name(value),
        "t" => digits(value.strip_prefix('-').unwrap_or(value)),
        "h" | "w" => digits(value),
        "tail" => value == "all" || digits(value),
        "since" | "until" => made_of(value, |byte| byte.is_ascii_digit() || byte == b'.'),
        "signal" => made_of(value, |byte| byte.is_ascii_alphanumeric() || b"+-".contains(&byte)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(form: fn(&str) -> bool, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(form(text), "{text:?} is good");
            // The engine would trim it, fold its case, or read on after a colon.
            for other in [format!(" {text}"), format!("{text} "), format!("{text}\n"), format!("{text}\0")] {
                assert!(!form(&other), "{other:?}");
            }
        }
        for text in bad {
            assert!(!form(text), "{text:?} is bad");
        }
    }

    #[test]
    fn names() {
        let id = "0a".repeat(32);
        check(full_id, &[&id], &["", "0a", &id.to_uppercase(), &format!("{id}0")]);
        check(name, &["box", "box-1_a.b", &id], &["", "-a", ".a", "a/b", "a:b", "*", "a*", "^a"]);
        check(given_name, &["box", "creel-0a"], &["c", "0a", &id, "CAFE", ""]);
        check(image, &["sha256:0a", "a/b:c", "h:1/a@sha256:0"], &["", "/a", "a//b", "../a", "a b"]);
        check(user, &["0", "1000:1000", "node"], &["", "1000:", ":0", "1:2:3", "a b"]);
        check(
            profile,
            &["docker-default"],
            &["", "unconfined", "Unconfined", ":root:unconfined", "a//null-x"],
        );
    }

    #[test]
    fn places() {
        let bad = ["", "/", "x", "/x/", "/x/../proc", "/proc", "/proc/self", "/sys", "/dev", "/dev/null"];
        for good in ["/workspace", "/.creel/init", "/procs", "/a b "] {
            assert!(target(good) && workdir(good), "{good:?}");
        }
        for bad in bad.into_iter().chain(["/x\n", "/x\0"]) {
            assert!(!target(bad), "{bad:?}");
        }
        assert!(tmpfs_target("/dev/shm") && tmpfs_target("/tmp") && !tmpfs_target("/dev"));
        check(
            tmpfs_options,
            &["rw,noexec,nosuid,nodev,size=512m,mode=0700,uid=1,gid=1", "size=50%"],
            &[
                "bind", "rw,bind", "remount", "shared", "suid", "dev", "size", "size=1mm", "mpol=x", "rw,",
                "RW",
            ],
        );
        check(
            host_entry,
            &["a:1.2.3.4", "a:::1", "h:host-gateway"],
            &["a", ":1.1.1.1", "a:b", "a b:1.1.1.1"],
        );
        assert!(workdir("/") && !workdir("") && !workdir("w") && !workdir("/w/..") && !workdir("/w\n"));
    }

    #[test]
    fn parameters() {
        for (name, good, bad) in [
            ("all", "true", "TRUE"),
            ("name", "box", "cafe"),
            ("t", "-1", "1s"),
            ("tail", "all", "*"),
            ("since", "1700000000.5", "2h"),
            ("signal", "SIGRTMIN+1", "a b"),
        ] {
            assert_eq!((parameter(name, good), parameter(name, bad)), (Some(true), Some(false)), "{name}");
        }
        assert_eq!(parameter("filters", "{}"), None);
    }
}
