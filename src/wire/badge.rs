//! By what a supervisor beside the gateway is known again: one line in a file of its rendezvous directory.

use std::fmt::Write as _;

use super::nonce::digit;

/// Which process a supervisor is, beyond any doubt.
///
/// The number alone may be given to another process; with the start time, the boot of the machine and the namespace
/// that the number is from, it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Badge {
    /// Its process id.
    pub pid: i32,
    /// Its start, in the kernel's ticks since the machine's.
    pub started: u64,
    /// Inode of the pid namespace that the number is from.
    pub space: u64,
    /// The kernel's own id of the machine's boot.
    pub machine: [u8; 16],
    /// What it says in its [`Hello`](super::Hello): drawn at its start.
    pub boot: [u8; 16],
}

/// First word of the line.
const HEAD: &str = "creel-init-1";

impl Badge {
    /// Name of the file.
    pub const FILE: &str = "supervisor";

    /// The line.
    pub fn line(&self) -> String {
        let mut line = format!("{HEAD} {} {} {} ", self.pid, self.started, self.space);
        let (machine, boot) = (hex(self.machine), hex(self.boot));
        // Writing to a String cannot fail.
        let _ = writeln!(line, "{machine} {boot}");
        line
    }

    /// Reads the line back; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.strip_suffix('\n')?.split(' ');
        if words.next()? != HEAD {
            return None;
        }
        let badge = Self {
            pid: words.next()?.parse().ok().filter(|pid| *pid > 0)?,
            started: words.next()?.parse().ok()?,
            space: words.next()?.parse().ok()?,
            machine: id(words.next()?)?,
            boot: id(words.next()?)?,
        };
        words.next().is_none().then_some(badge)
    }
}

/// Sixteen bytes of hex digits; dashes, as the kernel writes its ids with, do not count.
pub fn id(text: &str) -> Option<[u8; 16]> {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').map(digit).collect::<Option<_>>()?;
    let mut id = [0; 16];
    if digits.len() != 2 * id.len() {
        return None;
    }
    for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = high << 4 | low;
    }
    Some(id)
}

fn hex(bytes: [u8; 16]) -> String {
    super::CommandId(bytes).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_there_and_back() {
        let badge =
            Badge { pid: 4711, started: 99, space: 4_026_531_836, machine: [0xa1; 16], boot: [7; 16] };
        let line = badge.line();
        assert_eq!(Badge::parse(&line), Some(badge));
        assert_eq!(id("a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1"), Some([0xa1; 16]));
        let wrong = [
            String::new(),
            line.replace("4711", "0"),
            line.replace("4711", "-1"),
            line.replace("07", "0g"),
            line.replace('\n', " x\n"),
            line.trim_end().to_owned(),
        ];
        for wrong in wrong {
            assert_eq!(Badge::parse(&wrong), None, "{wrong}");
        }
    }
}
