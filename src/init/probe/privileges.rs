//! Gaining privileges: ids, capabilities, filters, namespaces, mounts.

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Uid, chroot, geteuid, setresuid};

use super::{Teller, Wanted, in_child};
use crate::sys;
use crate::wire::probe::{Attempt, CAPABILITY_SETS, MOUNTS, NEW_NAMESPACES, Outcome, SYSTEM_CALLS};

pub(super) fn run(wanted: &Wanted, teller: &mut Teller) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    };
    for set in CAPABILITY_SETS {
        match field(set) {
            Some(bits) => teller.saw(Attempt::Capabilities, set, bits),
            None => teller.tell(Attempt::Capabilities, set, Outcome::Absent, ""),
        }
    }
    teller.saw(Attempt::NoNewPrivileges, "", field("NoNewPrivs").unwrap_or("unknown"));
    teller.saw(Attempt::SystemCallFilter, "", field("Seccomp").unwrap_or("unknown"));
    teller.result(Attempt::UserId, "", in_child(another_user));
    for name in SYSTEM_CALLS {
        let call = || sys::far_reaching_call(name).unwrap_or(Err(nix::errno::Errno::ENOSYS));
        teller.result(Attempt::SystemCall, name, in_child(call));
    }
    for name in NEW_NAMESPACES {
        teller.result(Attempt::NewNamespace, name, in_child(|| unshare(namespace(name))));
    }
    // A place that is there in every sandbox and in which a mount could be made at all.
    let place = wanted.write.iter().find(|path| std::path::Path::new(path).is_dir());
    for name in MOUNTS {
        let place = place.map_or("/proc", String::as_str);
        teller.result(Attempt::Mount, name, in_child(|| try_mount(name, place)));
    }
    teller.result(Attempt::ChangeRoot, "", in_child(|| chroot("/proc")));
}

/// Root where it is not, somebody else where it is.
fn another_user() -> nix::Result<()> {
    let wanted = if geteuid().is_root() { Uid::from_raw(65_534) } else { Uid::from_raw(0) };
    setresuid(wanted, wanted, wanted)
}

fn namespace(name: &str) -> CloneFlags {
    match name {
        "user" => CloneFlags::CLONE_NEWUSER,
        "mnt" => CloneFlags::CLONE_NEWNS,
        "net" => CloneFlags::CLONE_NEWNET,
        _ => CloneFlags::CLONE_NEWPID,
    }
}

/// In a namespace of its own where one can be had, so that a mount that works is gone with the child.
fn try_mount(name: &str, place: &str) -> nix::Result<()> {
    let own = unshare(CloneFlags::CLONE_NEWNS).is_ok();
    if own {
        let _ = mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>);
    }
    let done = match name {
        "tmpfs" => mount(Some("creel-probe"), place, Some("tmpfs"), MsFlags::empty(), None::<&str>),
        "bind" => mount(Some("/proc"), place, None::<&str>, MsFlags::MS_BIND, None::<&str>),
        _ => mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REMOUNT | MsFlags::MS_BIND, None::<&str>),
    };
    if done.is_ok() && !own && name != "remount /" {
        let _ = nix::mount::umount(place);
    }
    done
}
