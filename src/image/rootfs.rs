//! Root file systems as tars. The minimal image's is a pure function of busybox, its applets and the extra CA.
//! The same input gives the same bytes (entries sorted, times zero), so the image can be compared.

use std::collections::BTreeMap;
use std::io;

use super::recipe::USER_ID;
use super::{ExtraCa, elf};

const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\n\
    sandbox:x:1000:1000:sandbox:/home/sandbox:/bin/sh\n\
    nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n";
const GROUP: &str = "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n";
const NSSWITCH: &str = "hosts: files dns\npasswd: files\ngroup: files\n";
/// Debian's login shells forget the PATH they were started with. So do ours: what works here works there.
const PROFILE: &str = "# A login shell starts from a fixed PATH, as on Debian.\n\
    if [ \"$(id -u)\" -eq 0 ]; then\n  \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n\
    else\n  \
      PATH=/usr/local/bin:/usr/bin:/bin\n\
    fi\n\
    export PATH\n";

const BUSYBOX: &str = "bin/busybox";

/// One entry; owners are root except where stated.
pub(super) enum Node<'a> {
    Directory { mode: u32, owner: u32 },
    File { mode: u32, bytes: &'a [u8] },
    Link { target: &'a str },
}

/// The paths of `busybox --list-full` as they go into the image. Lines that are no plain path below a directory are
/// left out: the list comes from a program's output, and its one name at the root is a leftover of initrds.
pub(super) fn applets(list: &str) -> Vec<String> {
    let plain = |path: &&str| {
        let inside = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
        inside && path.contains('/') && *path != BUSYBOX
    };
    list.lines().map(str::trim).filter(plain).map(str::to_owned).collect()
}

/// Composes the tar. Fails where `busybox` is not a statically linked program: nothing in the image could load it.
pub(super) fn compose(busybox: &[u8], applets: &[String], ca: Option<&ExtraCa>) -> io::Result<Vec<u8>> {
    if !elf::is_static(busybox) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a statically linked program"));
    }
    let bundle = ca.map(ExtraCa::pem);
    let mut nodes = skeleton();
    nodes.insert(BUSYBOX.to_owned(), Node::File { mode: 0o755, bytes: busybox });
    for applet in applets {
        nodes.insert(applet.clone(), Node::Link { target: "/bin/busybox" });
    }
    if let (Some(ca), Some(bundle)) = (ca, &bundle) {
        let file = |bytes| Node::File { mode: 0o644, bytes };
        nodes.insert("etc/ssl/certs/ca-certificates.crt".to_owned(), file(bundle.as_bytes()));
        for (name, pem) in ca.files() {
            nodes.insert(format!("usr/local/share/ca-certificates/{name}"), file(pem.as_bytes()));
        }
    }
    add_parents(&mut nodes);
    write(&nodes, busybox.len())
}

fn skeleton<'a>() -> BTreeMap<String, Node<'a>> {
    let directory = |path: &str, mode, owner| (path.to_owned(), Node::Directory { mode, owner });
    let file = |path: &str, text: &'static str| {
        (path.to_owned(), Node::File { mode: 0o644, bytes: text.as_bytes() })
    };
    BTreeMap::from([
        directory("dev", 0o755, 0),
        directory("proc", 0o755, 0),
        directory("sys", 0o755, 0),
        directory("run", 0o755, 0),
        directory("root", 0o700, 0),
        directory("tmp", 0o1777, 0),
        directory("var/tmp", 0o1777, 0),
        directory("usr/local/bin", 0o755, 0),
        directory("etc/ssl/certs", 0o755, 0),
        directory("usr/local/share/ca-certificates", 0o755, 0),
        directory("home/sandbox", 0o755, USER_ID),
        directory("workspace", 0o755, USER_ID),
        file("etc/passwd", PASSWD),
        file("etc/group", GROUP),
        file("etc/nsswitch.conf", NSSWITCH),
        file("etc/profile", PROFILE),
    ])
}

/// A parent sorts before its children, so adding it is enough for a valid order.
pub(super) fn add_parents(nodes: &mut BTreeMap<String, Node<'_>>) {
    let paths: Vec<_> = nodes.keys().cloned().collect();
    for path in paths {
        for (end, _) in path.match_indices('/') {
            let parent = path.get(..end).unwrap_or_default().to_owned();
            nodes.entry(parent).or_insert(Node::Directory { mode: 0o755, owner: 0 });
        }
    }
}

pub(super) fn write(nodes: &BTreeMap<String, Node<'_>>, hint: usize) -> io::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::with_capacity(hint + (1 << 18)));
    for (path, node) in nodes {
        let mut header = tar::Header::new_gnu();
        header.set_mtime(0);
        let (kind, mode, owner, bytes): (_, _, _, &[u8]) = match node {
            Node::Directory { mode, owner } => (tar::EntryType::Directory, *mode, *owner, &[]),
            Node::File { mode, bytes } => (tar::EntryType::Regular, *mode, 0, bytes),
            Node::Link { .. } => (tar::EntryType::Symlink, 0o777, 0, &[]),
        };
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(u64::from(owner));
        header.set_gid(u64::from(owner));
        header.set_size(bytes.len() as u64);
        if let Node::Link { target } = node {
            tar.append_link(&mut header, path, target)?;
        } else {
            tar.append_data(&mut header, path, bytes)?;
        }
    }
    tar.into_inner()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    /// The smallest file that the check for a static program accepts.
    fn program() -> Vec<u8> {
        elf::tests::program(&[1])
    }

    fn entries(tar: &[u8]) -> BTreeMap<String, (u32, u64, tar::EntryType, Vec<u8>)> {
        let mut archive = tar::Archive::new(tar);
        let mut found = BTreeMap::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            let header = entry.header();
            assert_eq!(header.mtime().unwrap(), 0);
            let link = entry.link_name_bytes().map(std::borrow::Cow::into_owned);
            let path = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
            let facts =
                (header.mode().unwrap(), header.uid().unwrap(), header.entry_type(), link.unwrap_or(bytes));
            assert!(found.insert(path.trim_end_matches('/').to_owned(), facts).is_none(), "{path} twice");
        }
        found
    }

    #[test]
    fn same_input_same_bytes() {
        let list = applets("bin/sh\nusr/bin/[\n");
        let reversed: Vec<_> = list.iter().rev().cloned().collect();
        assert_eq!(compose(&program(), &list, None).unwrap(), compose(&program(), &reversed, None).unwrap());
    }

    #[test]
    fn modes_owners_and_links() {
        let tar = compose(&program(), &applets("bin/sh\nusr/bin/[[\n"), None).unwrap();
        let found = entries(&tar);
        let look = |path: &str| (found[path].0, found[path].1);
        assert_eq!(look("tmp"), (0o1777, 0));
        assert_eq!(look("var/tmp"), (0o1777, 0));
        assert_eq!(look("root"), (0o700, 0));
        assert_eq!(look("home"), (0o755, 0));
        assert_eq!(look("home/sandbox"), (0o755, 1000));
        assert_eq!(look("workspace"), (0o755, 1000));
        assert_eq!(look("bin/busybox"), (0o755, 0));
        assert_eq!(found["usr/bin/[["].2, tar::EntryType::Symlink);
        assert_eq!(found["usr/bin/[["].3, b"/bin/busybox");
        let profile = String::from_utf8(found["etc/profile"].3.clone()).unwrap();
        assert!(profile.contains("\n  PATH=/usr/local/bin:/usr/bin:/bin\n"), "{profile}");
        assert!(!found.contains_key("etc/ssl/certs/ca-certificates.crt"));
    }

    #[test]
    fn parents_come_first() {
        let tar = compose(&program(), &applets("sbin/x/y\n"), None).unwrap();
        let mut archive = tar::Archive::new(tar.as_slice());
        let mut seen = std::collections::HashSet::from([String::new()]);
        for entry in archive.entries().unwrap() {
            let path = entry.unwrap().path().unwrap().to_string_lossy().trim_end_matches('/').to_owned();
            let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent).to_owned();
            assert!(seen.contains(&parent), "{path} before its parent");
            seen.insert(path);
        }
    }

    #[test]
    fn extra_ca_lands_in_both_places() {
        let ca = ExtraCa::parse("-----BEGIN CERTIFICATE-----\nMAEH\n-----END CERTIFICATE-----\n").unwrap();
        let found = entries(&compose(&program(), &[], Some(&ca)).unwrap());
        assert_eq!(found["etc/ssl/certs/ca-certificates.crt"].3, ca.pem().as_bytes());
        assert_eq!(found["usr/local/share/ca-certificates/creel-extra-000.crt"].3, ca.pem().as_bytes());
    }

    #[test]
    fn hostile_applet_lists_stay_inside() {
        assert_eq!(applets("bin/sh\nlinuxrc\n/etc/x\n../x\na/../b\n\nbin/busybox\n./c\n"), ["bin/sh"]);
    }

    #[test]
    fn dynamic_programs_are_refused() {
        assert!(compose(&elf::tests::program(&[1, 3]), &[], None).is_err());
        assert!(compose(b"#!/bin/sh\n", &[], None).is_err());
    }

    #[test]
    fn the_dockerfile_writes_the_same_files() {
        let text = super::super::Recipe::Minimal.dockerfile().unwrap();
        for line in [PASSWD, GROUP, NSSWITCH, PROFILE].iter().flat_map(|file| file.lines()) {
            assert!(text.contains(&format!("'{line}'")), "missing in images/minimal/Dockerfile: {line}");
        }
    }
}
