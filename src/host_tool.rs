//! Programs of the host that creel itself calls (apt-get, mmdebstrap, dpkg-deb): never an agent's command.

use std::ffi::OsStr;
use std::process::Stdio;

/// A program of the host with closed stdin and a C locale, so that its output can be read by code.
///
/// This is the one place that may build a host process outside `runner`; agents' commands never pass here.
#[expect(clippy::disallowed_methods, reason = "the one constructor of host tools")]
pub fn host_tool(program: impl AsRef<OsStr>) -> tokio::process::Command {
    let mut command = tokio::process::Command::new(program);
    command
        .stdin(Stdio::null())
        .env("LC_ALL", "C")
        .env("DEBIAN_FRONTEND", "noninteractive")
        .kill_on_drop(true);
    command
}

/// creel itself, as a process that outlives this one: nothing to read, its words to `log`.
#[expect(clippy::disallowed_methods, reason = "the one constructor of host processes")]
pub fn detached(program: impl AsRef<OsStr>, log: std::fs::File) -> tokio::process::Command {
    let mut command = tokio::process::Command::new(program);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).kill_on_drop(false);
    command
}
