//! Pseudo-terminals without the path of the slave: works with any `/dev/pts` in the container.
#![expect(unsafe_code, reason = "TIOCGPTPEER and TIOCSWINSZ have no safe form")]

use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::libc;

/// Opens a terminal of this size: the master (non-blocking) and the slave.
pub fn open_pty(rows: u16, cols: u16) -> nix::Result<(OwnedFd, OwnedFd)> {
    let master =
        nix::pty::posix_openpt(OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
    nix::pty::unlockpt(&master)?;
    // SAFETY: the ioctl takes open flags by value and returns a new descriptor.
    let slave = Errno::result(unsafe {
        libc::ioctl(master.as_raw_fd(), libc::TIOCGPTPEER, libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC)
    })?;
    // SAFETY: the kernel has just given us this descriptor and nobody else owns it.
    let slave = unsafe { OwnedFd::from_raw_fd(slave) };
    let master: OwnedFd = master.into();
    set_window(std::os::fd::AsFd::as_fd(&master), rows, cols)?;
    Ok((master, slave))
}

/// Sets the terminal's size; the foreground group gets SIGWINCH.
pub fn set_window(master: BorrowedFd<'_>, rows: u16, cols: u16) -> nix::Result<()> {
    let size = libc::winsize { ws_row: rows, ws_col: cols, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the ioctl reads a winsize through a pointer to a live local.
    Errno::result(unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) }).map(drop)
}
