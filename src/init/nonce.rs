//! The secret of PID 1, where it has one: a nonce that the host wrote to its standard input before anything ran.
//!
//! Normally the kernel tells a host who dials it. In a container it cannot, because the sandbox's processes are outside
//! the host's pid namespace: there only PID 1 can tell the nonce. The workload cannot read it. PID 1 is not dumpable, the
//! page is not in the memory of its forks, and standard input is `/dev/null` from then on.

use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::InitError;
use crate::sys::AnonMap;
use crate::wire::Nonce;

/// How long the host may take between the start and its line.
const PATIENCE: Duration = Duration::from_secs(30);

/// The line as it was read.
#[derive(Debug)]
pub(super) struct Secret(AnonMap);

impl Secret {
    /// Reads one line of standard input, byte by byte to its line feed and no further, then closes the input.
    pub(super) fn from_stdin() -> Result<Self, InitError> {
        let system = |action| move |errno| InitError::System(action, errno);
        let mut map = AnonMap::new(Nonce::LINE).map_err(system("map memory"))?;
        read_line(&std::io::stdin(), &mut map, Instant::now() + PATIENCE)?;
        let null = std::fs::File::open("/dev/null").map_err(|_| InitError::Nonce("there is no /dev/null"))?;
        nix::unistd::dup2_stdin(&null).map_err(system("replace standard input"))?;
        let secret = Self(map);
        secret.nonce().map(|_| ()).ok_or(InitError::Nonce("the line is not one"))?;
        Ok(secret)
    }

    /// The nonce.
    pub(super) fn nonce(&self) -> Option<Nonce> {
        Nonce::parse(self.0.strip_suffix(b"\n")?)
    }
}

/// Fills `line`, and gives up at `end`, at the end of the input and after any failure.
fn read_line(input: &impl std::os::fd::AsFd, line: &mut [u8], end: Instant) -> Result<(), InitError> {
    let mut filled = 0;
    while let Some(rest) = line.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(InitError::Nonce("nobody wrote one in time"));
        }
        let wait = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(input.as_fd(), PollFlags::POLLIN)], wait) {
            Ok(0) | Err(Errno::EINTR) => continue,
            Ok(_) => {}
            Err(errno) => return Err(InitError::System("poll", errno)),
        }
        match nix::unistd::read(input.as_fd(), rest) {
            Ok(0) => return Err(InitError::Nonce("it ended before")),
            Ok(count) => filled += count,
            Err(Errno::EINTR | Errno::EAGAIN) => {}
            Err(errno) => return Err(InitError::System("read", errno)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn read(text: &str, close: bool) -> Result<Vec<u8>, String> {
        let (input, mut output) = std::io::pipe().unwrap();
        output.write_all(text.as_bytes()).unwrap();
        let _open = (!close).then_some(output);
        let mut line = [0; Nonce::LINE];
        let end = Instant::now() + Duration::from_millis(50);
        read_line(&input, &mut line, end).map_err(|error| error.to_string())?;
        Ok(line.to_vec())
    }

    #[test]
    fn one_line_in_bounded_time() {
        let whole = format!("{}\n", "ab".repeat(Nonce::SIZE));
        assert_eq!(read(&format!("{whole}more"), false).unwrap(), whole.as_bytes());
        assert!(read("ab", true).unwrap_err().contains("ended"));
        assert!(read("ab", false).unwrap_err().contains("in time"));
    }
}
