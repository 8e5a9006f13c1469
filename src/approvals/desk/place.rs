//! The approval socket (spec `approvals.md` §1.6): where it is, and whether somebody listens there.

use std::path::{Path, PathBuf};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::approvals::document::{Socket, Token};
use crate::approvals::store;
use crate::paths::lexical::expand_home;
use crate::state::StateDir;

/// Its name in the state directory where the document names none (1.04).
pub const SOCKET: &str = "exec-approvals.sock";

/// The socket and its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The socket.
    pub path: PathBuf,
    /// What its clients must know.
    pub token: Token,
}

impl Place {
    /// As the document says now; `None` where it names no secret: nobody could be told from anybody else then (1.29).
    pub fn of(state: &StateDir) -> Option<Self> {
        let local = store::read(state);
        let Socket { path, token, .. } = &local.held.document.socket;
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let path =
            path.as_deref().map_or_else(|| PathBuf::from(SOCKET), |path| expand_home(path, home.as_deref()));
        Some(Self { path: state.root().join(path), token: token.clone()? })
    }

    /// Whether somebody takes connections there. Never waits.
    pub fn taken(&self) -> bool {
        taken(&self.path)
    }
}

fn taken(path: &Path) -> bool {
    let connected = || {
        let address = SocketAddrUnix::new(path)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        rustix::net::connect(&socket, &address)
    };
    // One that is busy is there.
    matches!(connected(), Ok(()) | Err(rustix::io::Errno::AGAIN))
}
