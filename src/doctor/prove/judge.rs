//! What was observed against what was intended. Pure: lines in, verdicts out.

use serde::Serialize;

use super::intended::{Expectation, Intended};
use crate::sandbox::{Rule, prove};
use crate::wire::probe::{Attempt, Outcome, Tried};

/// How an attempt ended for the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// What must not work does not work, and what must work does.
    Held,
    /// It works, and the configuration says so.
    Allowed,
    /// Nothing can be said: no answer, or none that is believed.
    Unknown,
    /// It works and must not.
    Open,
}

impl Verdict {
    /// The word for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Allowed => "allowed",
            Self::Unknown => "UNKNOWN",
            Self::Open => "OPEN",
        }
    }

    /// The boundary is as configured.
    pub fn is_sound(self) -> bool {
        matches!(self, Self::Held | Self::Allowed)
    }
}

/// One attempt, intended next to observed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Stable id of the kind of attempt.
    pub check: &'static str,
    /// On what; empty where there is only one.
    pub subject: String,
    /// What is tried, for people.
    pub title: &'static str,
    /// What must come of it.
    pub intended: String,
    /// What came of it.
    pub observed: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The key that decides, or the built-in rule.
    pub rule: String,
}

/// Judges a probe, or the reason why there is none: then every question is open.
pub fn judge(intended: &Intended, probe: Result<&[Tried], &str>) -> Vec<Row> {
    let (tried, silence) = match probe {
        Ok(tried) => (tried, "no answer"),
        Err(reason) => (&[][..], reason),
    };
    let mut rows: Vec<Row> = tried.iter().map(|one| row(intended, one)).collect();
    for (attempt, subject) in intended.questions() {
        let answers = |one: &&Tried| {
            one.attempt == attempt && subject.as_ref().is_none_or(|subject| one.subject == *subject)
        };
        if !tried.iter().any(|one| answers(&one)) {
            let subject = subject.unwrap_or_default();
            let wanted = text_of(intended.expectation(attempt, &subject));
            rows.push(make(intended, attempt, &subject, wanted, silence.to_owned(), Verdict::Unknown));
        }
    }
    rows.sort_by_key(|row| Attempt::ALL.iter().position(|attempt| attempt.as_str() == row.check));
    rows
}

fn make(
    intended: &Intended,
    attempt: Attempt,
    subject: &str,
    wanted: &str,
    observed: String,
    verdict: Verdict,
) -> Row {
    Row {
        check: attempt.as_str(),
        subject: subject.to_owned(),
        title: title(attempt),
        intended: wanted.to_owned(),
        observed,
        verdict,
        rule: intended.rule(attempt, subject),
    }
}

fn text_of(expectation: Expectation) -> &'static str {
    match expectation {
        Expectation::Refused => "refused",
        Expectation::Open => "allowed by the configuration",
        Expectation::Works => "works",
    }
}

fn row(intended: &Intended, one: &Tried) -> Row {
    let Tried { attempt, subject, outcome, detail } = one;
    if *outcome == Outcome::Saw {
        let (wanted, verdict) = seen(intended, *attempt, subject, detail);
        let observed = match (attempt, verdict) {
            (Attempt::HostPath, Verdict::Open) => "the host's own".to_owned(),
            (Attempt::DeniedBelow, _) => found(intended, detail),
            _ => shown(*attempt, detail),
        };
        return make(intended, *attempt, subject, &wanted, observed, verdict);
    }
    if matches!(attempt, Attempt::Namespace | Attempt::Interfaces | Attempt::NoNewPrivileges)
        || matches!(attempt, Attempt::SystemCallFilter | Attempt::AbstractSockets | Attempt::Processes)
    {
        // These are looked at, not tried: without a look nothing is known.
        return make(intended, *attempt, subject, "to be seen", observed(one), Verdict::Unknown);
    }
    let expectation = intended.expectation(*attempt, subject);
    let works = *outcome == Outcome::Worked || reached(*attempt, *outcome);
    let verdict = match (expectation, works) {
        (Expectation::Refused, true) => Verdict::Open,
        (Expectation::Refused | Expectation::Open, false) | (Expectation::Works, true) => Verdict::Held,
        (Expectation::Open, true) => Verdict::Allowed,
        (Expectation::Works, false) => Verdict::Unknown,
    };
    make(intended, *attempt, subject, text_of(expectation), observed(one), verdict)
}

/// A system call that is turned down for its arguments got past the filter and past the question of permission.
fn reached(attempt: Attempt, outcome: Outcome) -> bool {
    const EPERM: i32 = 1;
    const EACCES: i32 = 13;
    const ENOSYS: i32 = 38;
    match outcome {
        Outcome::Refused(errno) if attempt == Attempt::SystemCall => {
            !matches!(errno, EPERM | EACCES | ENOSYS)
        }
        _ => false,
    }
}

/// What was seen against what must be.
fn seen(intended: &Intended, attempt: Attempt, subject: &str, detail: &str) -> (String, Verdict) {
    let of = |sound: bool| if sound { Verdict::Held } else { Verdict::Open };
    let or_let = |sound: bool, rule: Rule| match (sound, intended.lets(rule)) {
        (false, true) => Verdict::Allowed,
        (sound, _) => of(sound),
    };
    let number = detail.parse::<u64>().ok();
    match attempt {
        Attempt::HostPath => {
            let host = intended.host_paths.get(subject);
            ("not the host's".to_owned(), host.map_or(Verdict::Unknown, |host| of(host != detail)))
        }
        Attempt::DeniedBelow => {
            ("nothing denied".to_owned(), if detail.is_empty() { Verdict::Unknown } else { Verdict::Open })
        }
        Attempt::Namespace => {
            let Some(own) = intended.namespaces.get(subject).filter(|_| number.is_some()) else {
                return ("not the host's".to_owned(), Verdict::Unknown);
            };
            match (own == detail, Intended::must_differ(subject)) {
                (true, false) => ("the engine's choice".to_owned(), Verdict::Allowed),
                (same, _) => ("not the host's".to_owned(), of(!same)),
            }
        }
        Attempt::Processes => {
            ("the sandbox's own".to_owned(), number.map_or(Verdict::Unknown, |_| Verdict::Held))
        }
        Attempt::Capabilities => {
            let dropped = prove::capability_mask(&intended.cap_drop);
            let (Some(dropped), Ok(bits)) = (dropped, u64::from_str_radix(detail, 16)) else {
                return ("known names".to_owned(), Verdict::Unknown);
            };
            let wanted = format!("without {}", intended.cap_drop.join(","));
            let verdict = or_let(bits & dropped == 0, Rule::Capabilities);
            // What is left is left by the configuration.
            (wanted, if verdict == Verdict::Held && bits != 0 { Verdict::Allowed } else { verdict })
        }
        Attempt::NoNewPrivileges => ("1".to_owned(), or_let(detail == "1", Rule::NoNewPrivileges)),
        Attempt::SystemCallFilter => ("2 (a filter)".to_owned(), or_let(detail == "2", Rule::Seccomp)),
        Attempt::Interfaces => interfaces(intended, detail),
        Attempt::AbstractSockets => {
            ("none".to_owned(), number.map_or(Verdict::Unknown, |count| of(count == 0)))
        }
        // Nothing else is told by what is seen.
        _ => (text_of(intended.expectation(attempt, subject)).to_owned(), Verdict::Unknown),
    }
}

/// What a search found: `device:inode path`.
fn found(intended: &Intended, detail: &str) -> String {
    let Some((identity, path)) = detail.split_once(' ') else {
        return "not everything could be looked at".to_owned();
    };
    let name = intended.denied.get(identity).map_or("a file that was not asked for", String::as_str);
    format!("{path} is the host's {name}")
}

fn interfaces(intended: &Intended, detail: &str) -> (String, Verdict) {
    if detail.is_empty() {
        return ("to be seen".to_owned(), Verdict::Unknown);
    }
    let only = prove::only_loopback(detail.split(','));
    match (intended.isolated(), only) {
        (true, only) => ("loopback only".to_owned(), if only { Verdict::Held } else { Verdict::Open }),
        (false, true) => (format!("network {}", intended.network), Verdict::Held),
        (false, false) => (format!("network {}", intended.network), Verdict::Allowed),
    }
}

fn shown(attempt: Attempt, detail: &str) -> String {
    match attempt {
        Attempt::Capabilities => match u64::from_str_radix(detail, 16) {
            Ok(0) => "none".to_owned(),
            Ok(bits) => prove::capability_names(bits),
            Err(_) => detail.to_owned(),
        },
        Attempt::HostPath => format!("another file (device and inode {detail})"),
        _ => detail.to_owned(),
    }
}

fn observed(one: &Tried) -> String {
    let after = if one.detail.is_empty() { String::new() } else { format!(" after {}", one.detail) };
    match one.outcome {
        Outcome::Worked => format!("works{after}"),
        Outcome::Refused(errno) => {
            let text = std::io::Error::from_raw_os_error(errno).to_string();
            let text = text.split(" (os error").next().unwrap_or_default().to_lowercase();
            format!("refused{after}: {text}")
        }
        Outcome::NoEffect => "no effect".to_owned(),
        Outcome::Absent if one.attempt == Attempt::DeniedBelow => "nothing found".to_owned(),
        Outcome::Absent => "nothing there".to_owned(),
        Outcome::Saw => one.detail.clone(),
    }
}

fn title(attempt: Attempt) -> &'static str {
    match attempt {
        Attempt::Write => "write to",
        Attempt::HostPath => "see the host's",
        Attempt::DeniedBelow => "find denied files of the host below",
        Attempt::KernelSetting => "open the kernel's setting",
        Attempt::KernelSecret => "read the kernel's secret",
        Attempt::ControlGroup => "make a control group in",
        Attempt::DeviceNode => "make a device in",
        Attempt::Device => "open the device",
        Attempt::Namespace => "share the namespace",
        Attempt::Processes => "see processes",
        Attempt::UserId => "become another user",
        Attempt::Capabilities => "hold capabilities in",
        Attempt::NoNewPrivileges => "no new privileges",
        Attempt::SystemCallFilter => "system call filter",
        Attempt::SystemCall => "reach the system call",
        Attempt::NewNamespace => "make a namespace",
        Attempt::Mount => "mount",
        Attempt::ChangeRoot => "change the root directory",
        Attempt::InitRoot => "open the root of PID 1",
        Attempt::InitMemory => "read PID 1 through",
        Attempt::InitTrace => "trace PID 1",
        Attempt::InitSignal => "end or stop PID 1 with",
        Attempt::Interfaces => "network interfaces",
        Attempt::Route => "find a route to",
        Attempt::RawSocket => "open a raw socket",
        Attempt::AbstractSockets => "see abstract sockets",
        Attempt::EngineSocket | Attempt::EnginePort => "reach the engine at",
        Attempt::ProcessLimit => "make more processes than allowed",
    }
}
