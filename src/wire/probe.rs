//! What `creel-init probe` tells: one line for each attempt at what must not work. Pure.
//!
//! The lines come out of a sandbox, so they are hostile: bounded in number and length, every field checked, and the
//! last line must say how many there were. Whether an outcome is right is decided by the reader, who knows what was
//! configured.

/// The most lines that are read.
pub const MAX_LINES: usize = 512;
/// The most bytes that are read.
pub const MAX_BYTES: usize = 128 * 1024;
/// The longest subject or detail as it is on the line, in bytes; a path of the longest kind fits.
const MAX_TEXT: usize = 3 * 4096;
/// The word of the last line.
const END: &str = "end";

/// Settings of the kernel that no sandbox may open for writing.
pub const KERNEL_SETTINGS: [&str; 7] = [
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sysrq-trigger",
    "/sys/kernel/uevent_helper",
    "/sys/power/state",
];

/// Files of the kernel that tell about the host; engines cover them.
pub const KERNEL_SECRETS: [&str; 6] =
    ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"];

/// Namespaces whose numbers are told.
pub const NAMESPACES: [&str; 7] = ["pid", "mnt", "net", "ipc", "uts", "user", "cgroup"];

/// Namespaces that are tried to be made.
pub const NEW_NAMESPACES: [&str; 4] = ["user", "mnt", "net", "pid"];

/// Mounts that are tried.
pub const MOUNTS: [&str; 3] = ["tmpfs", "bind", "remount /"];

/// System calls that reach far into the kernel. Each is made with arguments that change nothing.
pub const SYSTEM_CALLS: [&str; 11] = [
    "keyctl",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "init_module",
    "kexec_load",
    "open_by_handle_at",
    "reboot",
    "swapon",
    "settimeofday",
    "setns",
];

/// Sets of capabilities that are told.
pub const CAPABILITY_SETS: [&str; 5] = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"];

/// Sockets that are tried to be opened past the network's own rules.
pub const RAW_SOCKETS: [&str; 2] = ["icmp", "packet"];

/// Addresses that no host has (RFC 5737, RFC 3849): asking for a route to them sends nothing.
pub const ROUTES: [&str; 2] = ["198.51.100.1", "2001:db8::1"];

macro_rules! attempts {
    ($($(#[$doc:meta])* $name:ident = $word:literal,)*) => {
        /// One kind of attempt.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Attempt { $($(#[$doc])* $name,)* }

        impl Attempt {
            /// All of them, in the order of a report.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The word on the line; also the stable id of the report.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }
        }
    };
}

attempts! {
    /// Make a file in a directory, or open a file for writing.
    Write = "write",
    /// Look at a path that the host has.
    HostPath = "host-path",
    /// Look for denied files of the host below a writable mount, by device and inode.
    DeniedBelow = "denied-below",
    /// Open a setting of the kernel for writing.
    KernelSetting = "kernel-setting",
    /// Read what the kernel tells about the host.
    KernelSecret = "kernel-secret",
    /// Make a control group.
    ControlGroup = "control-group",
    /// Make a device node.
    DeviceNode = "device-node",
    /// Open a device of the host.
    Device = "device",
    /// The number of a namespace.
    Namespace = "namespace",
    /// How many processes are to be seen.
    Processes = "processes",
    /// Change the user id.
    UserId = "user-id",
    /// A set of capabilities.
    Capabilities = "capabilities",
    /// Whether programs may gain privileges.
    NoNewPrivileges = "no-new-privileges",
    /// Whether system calls are filtered.
    SystemCallFilter = "system-call-filter",
    /// Make a system call that reaches far.
    SystemCall = "system-call",
    /// Make a namespace.
    NewNamespace = "new-namespace",
    /// Mount something.
    Mount = "mount",
    /// Change the root directory.
    ChangeRoot = "change-root",
    /// Open the root directory of PID 1.
    InitRoot = "init-root",
    /// Read the memory of PID 1.
    InitMemory = "init-memory",
    /// Trace PID 1.
    InitTrace = "init-trace",
    /// End or stop PID 1.
    InitSignal = "init-signal",
    /// Names of the network interfaces.
    Interfaces = "interfaces",
    /// Find a route out.
    Route = "route",
    /// Open a socket past the network's rules.
    RawSocket = "raw-socket",
    /// How many abstract sockets are to be seen; those of a host network include the engine's.
    AbstractSockets = "abstract-sockets",
    /// Connect to a socket of an engine.
    EngineSocket = "engine-socket",
    /// Connect to a port of an engine.
    EnginePort = "engine-port",
    /// Make more processes than allowed.
    ProcessLimit = "process-limit",
}

/// What came of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It worked.
    Worked,
    /// The kernel refused, with this error number.
    Refused(i32),
    /// It was taken and changed nothing.
    NoEffect,
    /// There is nothing to try it on.
    Absent,
    /// Nothing was tried: the detail is what was seen.
    Saw,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// What was tried.
    pub attempt: Attempt,
    /// On what; empty where there is only one.
    pub subject: String,
    /// What came of it.
    pub outcome: Outcome,
    /// More words, or what was seen.
    pub detail: String,
}

/// Why lines are not believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// Larger than any probe.
    #[error("it printed more than {MAX_BYTES} bytes or {MAX_LINES} lines")]
    TooMuch,
    /// A line that is none.
    #[error("line {0} is not one of a probe")]
    BadLine(usize),
    /// The same attempt twice.
    #[error("line {0} repeats an attempt")]
    Repeated(usize),
    /// The last line is missing or counts otherwise.
    #[error("it ended before it was done")]
    Unfinished,
}

impl Tried {
    /// The line, without its end.
    pub fn line(&self) -> String {
        let outcome = match self.outcome {
            Outcome::Worked => "worked".to_owned(),
            Outcome::Refused(errno) => format!("refused {errno}"),
            Outcome::NoEffect => "no-effect".to_owned(),
            Outcome::Absent => "absent".to_owned(),
            Outcome::Saw => "saw".to_owned(),
        };
        format!("{}\t{outcome}\t{}\t{}", self.attempt.as_str(), encode(&self.subject), encode(&self.detail))
    }

    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split('\t');
        let (word, outcome) = (fields.next()?, fields.next()?);
        let (subject, detail) = (decode(fields.next()?)?, decode(fields.next()?)?);
        if fields.next().is_some() {
            return None;
        }
        let outcome = match outcome {
            "worked" => Outcome::Worked,
            "no-effect" => Outcome::NoEffect,
            "absent" => Outcome::Absent,
            "saw" => Outcome::Saw,
            other => Outcome::Refused(
                other.strip_prefix("refused ")?.parse().ok().filter(|errno| (1..4096).contains(errno))?,
            ),
        };
        let attempt = Attempt::ALL.iter().copied().find(|attempt| attempt.as_str() == word)?;
        let one = Self { attempt, subject, outcome, detail };
        // One spelling for each: what is believed is exactly what a probe writes.
        (one.line() == line).then_some(one)
    }
}

fn is_plain(byte: u8) -> bool {
    (byte == b' ' || byte.is_ascii_graphic()) && byte != b'%'
}

/// Text for a field: what could begin another field or another line is written as its number.
fn encode(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if is_plain(byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// The text of a field. Control characters are refused.
fn decode(field: &str) -> Option<String> {
    if field.len() > MAX_TEXT {
        return None;
    }
    let mut parts = field.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(rest.bytes());
    }
    let text = String::from_utf8(bytes).ok()?;
    (!text.chars().any(char::is_control)).then_some(text)
}

/// The last line.
pub fn end(count: usize) -> String {
    format!("{END}\t{count}")
}

/// Reads all lines.
///
/// # Errors
///
/// When anything is not exactly as [`Tried::line`] and [`end`] write it: half a probe proves nothing.
pub fn parse(bytes: &[u8]) -> Result<Vec<Tried>, ProbeError> {
    if bytes.len() > MAX_BYTES {
        return Err(ProbeError::TooMuch);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| ProbeError::BadLine(1))?;
    let body = text.strip_suffix('\n').ok_or(ProbeError::Unfinished)?;
    let mut tried: Vec<Tried> = Vec::new();
    let mut lines = body.split('\n').enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        if lines.peek().is_none() {
            return if line == end(tried.len()) { Ok(tried) } else { Err(ProbeError::Unfinished) };
        }
        if at >= MAX_LINES {
            return Err(ProbeError::TooMuch);
        }
        let one = Tried::parse(line).ok_or(ProbeError::BadLine(at + 1))?;
        if tried.iter().any(|known| known.attempt == one.attempt && known.subject == one.subject) {
            return Err(ProbeError::Repeated(at + 1));
        }
        tried.push(one);
    }
    Err(ProbeError::Unfinished)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(subject: &str, outcome: Outcome, detail: &str) -> Tried {
        Tried { attempt: Attempt::Write, subject: subject.to_owned(), outcome, detail: detail.to_owned() }
    }

    fn text(lines: &[Tried]) -> String {
        let body: String = lines.iter().map(|line| line.line() + "\n").collect();
        format!("{body}{}\n", end(lines.len()))
    }

    #[test]
    fn lines_come_back() {
        let all = [
            one("/", Outcome::Refused(30), ""),
            one("/etc", Outcome::Worked, "as root"),
            one("/x", Outcome::Absent, ""),
            one("/y", Outcome::NoEffect, ""),
            one("", Outcome::Saw, "lo,eth0"),
        ];
        assert_eq!(parse(text(&all).as_bytes()).unwrap(), all);
        assert_eq!(parse(text(&[]).as_bytes()).unwrap(), []);
    }

    #[test]
    fn what_a_field_holds_stays_in_it() {
        let line = one("a\tb\nend\t0", Outcome::Saw, "100 %").line();
        assert_eq!(line, "write\tsaw\ta%09b%0Aend%090\t100 %25");
        let far = one("/home/jürgen/my state", Outcome::Absent, "");
        assert_eq!(parse(text(std::slice::from_ref(&far)).as_bytes()).unwrap(), [far]);
        // Nothing that a terminal would obey, and one spelling only.
        for bad in ["%1B[31m", "%0a", "%41", "%", "%2", "%+1", "é", "%FF"] {
            let body = format!("write\tsaw\t{bad}\t\nend\t1\n");
            assert_eq!(parse(body.as_bytes()), Err(ProbeError::BadLine(1)), "{bad}");
        }
    }

    #[test]
    fn half_a_probe_is_none() {
        let whole = text(&[one("/", Outcome::Worked, "")]);
        for cut in 0..whole.len() {
            assert!(parse(&whole.as_bytes()[..cut]).is_err(), "{cut}");
        }
        for (bad, error) in [
            ("write\tworked\t/\t\nend\t2\n", ProbeError::Unfinished),
            ("write\tworked\t/\nend\t1\n", ProbeError::BadLine(1)),
            ("write\tmaybe\t/\t\nend\t1\n", ProbeError::BadLine(1)),
            ("write\trefused 0\t/\t\nend\t1\n", ProbeError::BadLine(1)),
            ("write\trefused 030\t/\t\nend\t1\n", ProbeError::BadLine(1)),
            ("fly\tworked\t/\t\nend\t1\n", ProbeError::BadLine(1)),
            ("write\tworked\t/\tx\r\nend\t1\n", ProbeError::BadLine(1)),
            ("write\tworked\t/\t\nwrite\tabsent\t/\t\nend\t2\n", ProbeError::Repeated(2)),
        ] {
            assert_eq!(parse(bad.as_bytes()), Err(error), "{bad:?}");
        }
        assert_eq!(parse(&vec![b'x'; MAX_BYTES + 1]), Err(ProbeError::TooMuch));
    }

    #[test]
    fn words_are_distinct() {
        let words: std::collections::BTreeSet<&str> =
            Attempt::ALL.iter().map(|attempt| attempt.as_str()).collect();
        assert_eq!(words.len(), Attempt::ALL.len());
    }

    proptest::proptest! {
        #[test]
        fn anything_is_read_or_refused(text in "(write|end|saw|worked|refused 1|\t|\n|[ -~]){0,40}") {
            let _ = parse(text.as_bytes());
        }

        #[test]
        fn any_text_that_is_none_for_terminals_comes_back(subject in "[^\\p{C}]{0,20}", detail in "[^\\p{C}]{0,20}") {
            let line = one(&subject, Outcome::Saw, &detail);
            assert_eq!(parse(text(std::slice::from_ref(&line)).as_bytes()).unwrap(), [line]);
        }
    }
}
