//! Checks over what only the host's `/proc` tells of PID 1: its rlimits and its `AppArmor` profile.

use std::io::ErrorKind;

use super::{Check, Rule, Verdict};
use crate::engine::{ContainerSpec, Ulimit};

/// Names of rlimits and how the kernel titles them in `/proc/<pid>/limits`.
const TITLES: [(&str, &str); 15] = [
    ("as", "Max address space"),
    ("core", "Max core file size"),
    ("cpu", "Max cpu time"),
    ("data", "Max data size"),
    ("fsize", "Max file size"),
    ("locks", "Max file locks"),
    ("memlock", "Max locked memory"),
    ("msgqueue", "Max msgqueue size"),
    ("nice", "Max nice priority"),
    ("nofile", "Max open files"),
    ("nproc", "Max processes"),
    ("rss", "Max resident set"),
    ("rtprio", "Max realtime priority"),
    ("sigpending", "Max pending signals"),
    ("stack", "Max stack size"),
];

/// What was read; `None` where this process cannot see PID 1.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outside {
    /// `/proc/<pid>/limits`.
    pub limits: Option<String>,
    /// The security label, empty where the kernel has no module that gives one.
    pub label: Option<String>,
}

impl Outside {
    /// Reads both of the process that the host knows by this number. Where creel is in a container itself, the number
    /// means another process or none: nothing is read then.
    pub fn of(pid1: i32) -> Self {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid1}/{name}"));
        if !read("status").is_ok_and(|status| is_inner_first(&status)) {
            return Self::default();
        }
        let label = read("attr/apparmor/current").or_else(|_| read("attr/current"));
        Self {
            limits: read("limits").ok(),
            label: match label {
                Ok(label) => Some(label.trim_matches(['\0', '\n']).to_owned()),
                // The file is there, and no module answers for it.
                Err(error) if error.kind() == ErrorKind::InvalidInput => Some(String::new()),
                Err(_) => None,
            },
        }
    }
}

/// The process is number 1 of a pid namespace below this one.
fn is_inner_first(status: &str) -> bool {
    let row = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    let numbers: Vec<&str> = row.unwrap_or_default().split_whitespace().collect();
    numbers.len() > 1 && numbers.last() == Some(&"1")
}

/// One check where rlimits were asked for, one where a profile was. Pure.
pub fn outside(spec: &ContainerSpec, seen: &Outside) -> Vec<Check> {
    let profile = spec.apparmor.as_deref().map(|profile| apparmor(profile, seen.label.as_deref()));
    let each = spec.limits.ulimits.iter().map(|asked| rlimit(asked, seen.limits.as_deref()));
    each.chain(profile).collect()
}

fn apparmor(profile: &str, label: Option<&str>) -> Check {
    let (observed, verdict) = match label {
        None => ("not readable from here", Verdict::Unknown),
        Some("") => ("the kernel has no AppArmor", Verdict::NotEnforced),
        // A profile that only complains holds nobody.
        Some(label) => (label, Verdict::of(label == format!("{profile} (enforce)"))),
    };
    Check::new(Rule::Apparmor, profile, observed, verdict)
}

fn rlimit(asked: &Ulimit, limits: Option<&str>) -> Check {
    let told = format!("{}:{}", asked.soft, asked.hard);
    let title = TITLES.iter().find(|(name, _)| *name == asked.name).map(|(_, title)| *title);
    let row = title.zip(limits).and_then(|(title, limits)| {
        let mut numbers = limits.lines().find_map(|line| line.strip_prefix(title))?.split_whitespace();
        Some(format!("{}:{}", numbers.next()?, numbers.next()?))
    });
    let check = match row {
        Some(seen) => Check::new(Rule::Ulimits, &*told, &*seen, Verdict::of(seen == told)),
        None => Check::new(Rule::Ulimits, &*told, "not readable from here", Verdict::Unknown),
    };
    check.about(&*asked.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rlimits_are_compared_by_the_kernels_titles() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max open files            512                  1024                 files\n";
        let asked = |soft, hard| Ulimit { name: "nofile".to_owned(), soft, hard };
        assert_eq!(rlimit(&asked(512, 1024), Some(limits)).verdict, Verdict::Ok);
        let other = rlimit(&asked(512, 512), Some(limits));
        assert_eq!((other.verdict, other.observed.as_str()), (Verdict::NotEnforced, "512:1024"));
        assert_eq!(rlimit(&asked(1, 1), None).verdict, Verdict::Unknown);
        assert_eq!(rlimit(&asked(1, 1), Some("")).verdict, Verdict::Unknown);
    }

    #[test]
    fn a_profile_must_be_in_force() {
        let verdict = |label| apparmor("mine", label).verdict;
        assert_eq!(verdict(Some("mine (enforce)")), Verdict::Ok);
        for label in ["", "unconfined", "mine (complain)", "other (enforce)"] {
            assert_eq!(verdict(Some(label)), Verdict::NotEnforced, "{label}");
        }
        assert_eq!(verdict(None), Verdict::Unknown);
    }

    #[test]
    fn only_the_first_process_of_a_container_is_read() {
        assert!(is_inner_first("Name:\tx\nNSpid:\t4711\t1\n"));
        for other in ["NSpid:\t4711\n", "NSpid:\t1\n", "NSpid:\t4711\t12\n", ""] {
            assert!(!is_inner_first(other), "{other:?}");
        }
        let own = i32::try_from(std::process::id()).unwrap();
        assert_eq!(Outside::of(own), Outside::default());
        assert_eq!(Outside::of(i32::MAX), Outside::default());
    }
}
