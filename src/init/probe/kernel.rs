//! The kernel's own files, control groups, devices, namespaces and the process table.

use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

use nix::sys::stat::{Mode, SFlag, makedev, mknod};

use super::{Teller, Wanted, errno, outcome};
use crate::wire::probe::{Attempt, KERNEL_SECRETS, KERNEL_SETTINGS, NAMESPACES, Outcome};

/// Device files that are tried where they are; block devices are looked for besides.
const DEVICES: [&str; 6] = ["/dev/mem", "/dev/kmsg", "/dev/port", "/dev/fuse", "/dev/kvm", "/dev/net/tun"];
/// The most control groups and block devices that are tried.
const MANY: usize = 32;

pub(super) fn run(wanted: &Wanted, teller: &mut Teller) {
    for path in KERNEL_SETTINGS {
        let opened = OpenOptions::new().write(true).open(path).map(drop);
        teller.result(Attempt::KernelSetting, path, opened.map_err(|error| errno(&error)));
    }
    for path in KERNEL_SECRETS {
        teller.tell(Attempt::KernelSecret, path, secret(Path::new(path)), "");
    }
    control_groups(wanted, teller);
    for dir in ["/dev", "/tmp"].into_iter().chain(wanted.write.iter().map(String::as_str)) {
        if Path::new(dir).is_dir() && dir != "/" {
            device_node(wanted, dir, teller);
        }
    }
    devices(teller);
    for name in NAMESPACES {
        match std::fs::read_link(format!("/proc/self/ns/{name}")) {
            Ok(link) => teller.saw(Attempt::Namespace, name, &number(&link.to_string_lossy())),
            Err(error) => teller.tell(Attempt::Namespace, name, outcome(Err(errno(&error))), ""),
        }
    }
    let shown = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let count = shown.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok()).count();
    teller.saw(Attempt::Processes, "", &count.to_string());
}

/// Opened, read, and something in it.
fn secret(path: &Path) -> Outcome {
    let some = if path.is_dir() {
        std::fs::read_dir(path).map(|mut entries| entries.next().is_some())
    } else {
        std::fs::File::open(path).and_then(|mut file| Ok(file.read(&mut [0; 1])? > 0))
    };
    match some {
        Ok(true) => Outcome::Worked,
        Ok(false) => Outcome::NoEffect,
        Err(error) => outcome(Err(errno(&error))),
    }
}

/// A group of one's own, below each hierarchy.
fn control_groups(wanted: &Wanted, teller: &mut Teller) {
    let root = Path::new("/sys/fs/cgroup");
    let below = std::fs::read_dir(root).into_iter().flatten().flatten();
    let dirs = below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut all: Vec<_> = dirs.map(|entry| entry.path()).take(MANY).collect();
    all.insert(0, root.to_owned());
    for dir in all {
        let group = dir.join(format!("creel-probe-{}", wanted.nonce));
        let outcome = match std::fs::create_dir(&group) {
            Ok(()) => {
                // The kernel fills a group; a directory that stays empty is only one in the sandbox's own tmpfs.
                let real = group.join("cgroup.procs").exists();
                let _ = std::fs::remove_dir(&group);
                if real { Outcome::Worked } else { Outcome::NoEffect }
            }
            Err(error) => outcome(Err(errno(&error))),
        };
        teller.tell(Attempt::ControlGroup, &dir.to_string_lossy(), outcome, "");
    }
}

/// The first disk's numbers and those of physical memory; what is made is opened, then removed.
fn device_node(wanted: &Wanted, dir: &str, teller: &mut Teller) {
    let path = Path::new(dir).join(format!(".creel-probe-{}-node", wanted.nonce));
    let kinds = [(SFlag::S_IFBLK, makedev(8, 0)), (SFlag::S_IFCHR, makedev(1, 1))];
    let mut result = Ok(());
    for (kind, device) in kinds {
        result = mknod(&path, kind, Mode::S_IRUSR, device);
        if result.is_ok() {
            let _ = std::fs::remove_file(&path);
            break;
        }
    }
    teller.result(Attempt::DeviceNode, dir, result);
}

fn devices(teller: &mut Teller) {
    let block = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_block_device());
    let disks = std::fs::read_dir("/dev").into_iter().flatten().flatten().filter(block);
    let disks = disks.map(|entry| entry.path().to_string_lossy().into_owned()).take(MANY);
    for path in DEVICES.into_iter().map(str::to_owned).chain(disks) {
        let opened = OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(&path);
        teller.result(Attempt::Device, &path, opened.map(drop).map_err(|error| errno(&error)));
    }
}

/// `pid:[4026531836]` without its dress.
fn number(link: &str) -> String {
    link.chars().filter(char::is_ascii_digit).collect()
}
