//! What a permit has pinned, as the supervisor is told it.

use std::os::unix::ffi::OsStrExt as _;

use super::RunError;
use crate::approvals::HostPermit;
use crate::approvals::binding::{Pin, Role};
use crate::wire::{self, PinKind, Spawn};

/// Whether a permit is good still.
///
/// # Errors
///
/// [`RunError::PermitExpired`] where it is not.
pub(super) fn in_time(permit: &HostPermit) -> Result<(), RunError> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    if permit.expires_at_ms().is_some_and(|end| now > end) { Err(RunError::PermitExpired) } else { Ok(()) }
}

/// Lays the pins of a permit into its request, and the program by its file where it is called otherwise.
pub(super) fn lay(spawn: &mut Spawn, permit: &HostPermit) {
    let direct = matches!(permit.command().command(), crate::approvals::Command::Argv(_));
    let program = spawn.argv.first().filter(|_| direct).cloned();
    if let (Some(program), Some(name), Some(first)) = (&program, permit.arg0(), spawn.argv.first_mut()) {
        spawn.program.clone_from(program);
        *first = name.as_bytes().to_vec();
    }
    spawn.pins = permit.pins().iter().map(|pin| on_wire(pin, program.as_deref())).collect();
}

fn on_wire(pin: &Pin, program: Option<&[u8]>) -> wire::Pin {
    let path = pin.path.as_os_str().as_bytes().to_vec();
    let kind = match pin.role {
        Role::Cwd => PinKind::Cwd,
        Role::Directory => PinKind::Directory,
        Role::Program | Role::Carrier if program == Some(&path) => PinKind::Program,
        Role::Program | Role::Carrier => PinKind::Executable,
        Role::Script => PinKind::Script,
    };
    wire::Pin {
        kind,
        path,
        dev: pin.dev,
        ino: pin.ino,
        size: pin.size,
        mtime_ns: pin.mtime_ns,
        ctime_ns: pin.ctime_ns,
        sha256: pin.sha256,
    }
}
