//! Which file a command word means (spec `approvals.md` §5.1). The decision takes what this finds and looks at nothing itself.

use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};

use crate::paths::{lexical, resolve};

/// A program that was found.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Program {
    /// Its path before links were followed; absolute, lexically clean. What is executed.
    pub invoked: PathBuf,
    /// The file itself, every link followed. What is trusted.
    pub real: PathBuf,
}

impl Program {
    /// The last part of the invoked path: by this name a multi-call binary knows what it is to be.
    pub fn name(&self) -> &str {
        self.invoked.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Whether the file does something else under each of its names, so that a name says as much as the file: a known
    /// multi-call binary, or a manager of versions that stands in for the programs it manages. A file that merely is known
    /// under a second name (`python3` for `python3.11`) is none.
    pub fn multi_call(&self) -> bool {
        let real = self.real.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        real != self.name() && (MULTI_CALL.contains(&real) || real.ends_with("-shim"))
    }
}

/// Files that look at the name by which they are called.
const MULTI_CALL: &[&str] = &[
    "busybox",
    "busybox.static",
    "busybox-static",
    "toybox",
    "coreutils",
    "uutils",
    "uu-coreutils",
    "gnu-coreutils",
    "sbase-box",
    "ubase-box",
    "rustup",
    "rustup-init",
    "snap",
    "mise",
    "rtx",
    "asdf",
    "volta",
    "shim",
    "aqua",
    "aqua-proxy",
    "ccache",
    "sccache",
    "distcc",
    "icecc",
    "systemctl",
    "dropbearmulti",
    "micromamba",
    "xtables-nft-multi",
    "xtables-legacy-multi",
    "mtools",
];

/// Finds programs and scripts. `dir` is where relative names begin; `None`: that is not known, and only absolute names and
/// absolute elements of PATH are of use. A leading `~` is an ordinary character here: whether the shell expands it depends on
/// quotes, which whoever has read the text knows.
pub trait Lookup {
    /// The program that a command word means: searched in PATH where it is a bare name.
    fn program(&self, word: &str, dir: Option<&Path>) -> Option<Program>;
    /// A regular file that is named as an operand (a script), every link followed.
    fn file(&self, operand: &str, dir: Option<&Path>) -> Option<PathBuf>;
    /// A directory, every link followed; `None` where there is none. Where a command runs is where `cd` has led, and not
    /// what its operand says.
    fn directory(&self, path: &Path) -> Option<PathBuf>;
    /// Hex SHA-256 of a file's content, for entries that pin it; `None` where it cannot be read.
    fn digest(&self, file: &Path) -> Option<String> {
        let _ = file;
        None
    }
    /// The home directory for `~` in patterns.
    fn home(&self) -> Option<&Path>;
}

/// The programs of this machine, as a shell with this PATH finds them.
#[derive(Debug, Clone, Default)]
pub struct HostPrograms {
    path: Vec<String>,
    home: Option<PathBuf>,
}

impl HostPrograms {
    /// `path`: the value of PATH that the command will get, of which an empty element, or all of an empty value, is the
    /// directory where the command runs. `home`: its home directory.
    pub fn new(path: &str, home: Option<PathBuf>) -> Self {
        Self { path: path.split(':').map(str::to_owned).collect(), home }
    }

    /// The first executable file of that name (5.03).
    fn searched(&self, name: &str, dir: Option<&Path>) -> Option<Program> {
        for element in &self.path {
            // Some shells take this for a home directory, others do not.
            if element.starts_with('~') {
                return None;
            }
            let Some(directory) = absolute(element, dir) else {
                // Where the directory is not known, nor is whether the program is found there.
                return None;
            };
            if let Some(found) = executable(&directory.join(name)) {
                return Some(found);
            }
        }
        None
    }
}

impl Lookup for HostPrograms {
    fn program(&self, word: &str, dir: Option<&Path>) -> Option<Program> {
        if word.is_empty() || word.contains(['\0', '\\']) {
            return None;
        }
        if word.contains('/') { executable(&absolute(word, dir)?) } else { self.searched(word, dir) }
    }

    fn file(&self, operand: &str, dir: Option<&Path>) -> Option<PathBuf> {
        if operand.is_empty() || operand.contains('\0') {
            return None;
        }
        let real = real(&absolute(operand, dir)?)?;
        std::fs::metadata(&real).is_ok_and(|found| found.is_file()).then_some(real)
    }

    fn directory(&self, path: &Path) -> Option<PathBuf> {
        let real = real(path)?;
        std::fs::metadata(&real).is_ok_and(|found| found.is_dir()).then_some(real)
    }

    fn digest(&self, file: &Path) -> Option<String> {
        super::binding::content_digest(file)
    }

    fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }
}

/// A name seen from a directory; the empty one is the directory.
fn absolute(name: &str, dir: Option<&Path>) -> Option<PathBuf> {
    if name.starts_with('/') { Some(PathBuf::from(name)) } else { Some(dir?.join(name)) }
}

/// A regular file that this process may execute, if it is one.
fn executable(path: &Path) -> Option<Program> {
    let found = std::fs::metadata(path).ok()?;
    if !found.is_file() || accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_err() {
        return None;
    }
    let real = real(path)?;
    let invoked = if climbs(path) { climbed(path)? } else { lexical::clean(path) };
    Some(Program { invoked, real })
}

/// The file itself. A `..` behind a link leads elsewhere than its text says, so that the text is not cleaned first.
fn real(path: &Path) -> Option<PathBuf> {
    let path = if climbs(path) { climbed(path)? } else { path.to_owned() };
    resolve::resolve(&path).ok()
}

fn climbs(path: &Path) -> bool {
    path.components().any(|component| component == Component::ParentDir)
}

/// A path with `..` in it, without: its directory as the system finds it, and its name.
fn climbed(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    let mut at = PathBuf::from("/");
    for component in path.parent()?.components() {
        match component {
            Component::ParentDir => {
                at = resolve::resolve(&at).ok()?;
                at.pop();
            }
            Component::Normal(part) => at.push(part),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    Some(at.join(name))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    struct Tree {
        dir: tempfile::TempDir,
    }

    impl Tree {
        fn new() -> Self {
            let tree = Self { dir: tempfile::tempdir().unwrap() };
            for name in ["bin/tool", "other/tool", "other/else", "deep/er/bin/x"] {
                tree.file(name, 0o755);
            }
            tree.file("bin/plain", 0o644);
            std::fs::create_dir_all(tree.at("bin/directory")).unwrap();
            symlink("tool", tree.at("bin/link")).unwrap();
            symlink("missing", tree.at("bin/dangling")).unwrap();
            symlink("loop", tree.at("bin/loop")).unwrap();
            symlink("deep/er", tree.at("jump")).unwrap();
            tree
        }

        fn root(&self) -> PathBuf {
            resolve::resolve(self.dir.path()).unwrap()
        }

        fn at(&self, name: &str) -> PathBuf {
            self.root().join(name)
        }

        fn file(&self, name: &str, mode: u32) {
            let path = self.at(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        }

        fn programs(&self, elements: &[&str]) -> HostPrograms {
            let elements: Vec<String> = elements
                .iter()
                .map(|name| match name.strip_prefix('@') {
                    Some(inside) => self.at(inside).display().to_string(),
                    None => (*name).to_owned(),
                })
                .collect();
            HostPrograms::new(&elements.join(":"), Some(self.root()))
        }
    }

    #[test]
    fn the_first_executable_file_of_path() {
        let tree = Tree::new();
        let programs = tree.programs(&["@nothing", "@bin", "@other"]);
        let found = |word: &str| programs.program(word, Some(&tree.root()));
        assert_eq!(found("tool").unwrap().invoked, tree.at("bin/tool"));
        assert_eq!(found("else").unwrap().invoked, tree.at("other/else"));
        let link = found("link").unwrap();
        assert_eq!((link.invoked, link.real), (tree.at("bin/link"), tree.at("bin/tool")));
        for word in ["plain", "directory", "dangling", "loop", "absent", "", "to\\ol", "~/bin/tool"] {
            assert_eq!(found(word), None, "{word}");
        }
    }

    #[test]
    fn relative_elements_and_words_need_a_directory() {
        let tree = Tree::new();
        let bin = tree.at("bin");
        for elements in [&[""][..], &["."], &["../bin"]] {
            let programs = tree.programs(elements);
            assert!(programs.program("tool", Some(&bin)).is_some(), "{elements:?}");
            assert_eq!(programs.program("tool", None), None, "{elements:?}");
        }
        // What stands behind an element that is not known may not be what runs.
        assert_eq!(tree.programs(&["", "@bin"]).program("tool", None), None);
        assert_eq!(tree.programs(&["~/x", "@bin"]).program("tool", Some(&bin)), None);
        let programs = tree.programs(&["@bin"]);
        assert!(programs.program("tool", None).is_some());
        assert!(programs.program("./tool", Some(&bin)).is_some());
        assert_eq!(programs.program("./tool", None), None);
        assert_eq!(programs.file("tool", None), None);
        assert_eq!(programs.file("link", Some(&bin)), Some(tree.at("bin/tool")));
        assert_eq!(programs.file("directory", Some(&bin)), None);
    }

    #[test]
    fn an_empty_path_is_where_the_command_runs() {
        let tree = Tree::new();
        let programs = HostPrograms::new("", None);
        assert!(programs.program("tool", Some(&tree.at("bin"))).is_some());
        assert_eq!(programs.program("tool", Some(&tree.root())), None);
        assert_eq!(HostPrograms::default().program("tool", Some(&tree.at("bin"))), None);
    }

    #[test]
    fn dots_go_up_from_where_a_link_leads() {
        let tree = Tree::new();
        let programs = tree.programs(&[]);
        // `jump` is `deep/er`: above it is `deep`, not the root.
        let found = programs.program("jump/../er/bin/x", Some(&tree.root())).unwrap();
        assert_eq!(found.invoked, tree.at("deep/er/bin/x"));
        assert_eq!(programs.program("jump/../bin/tool", Some(&tree.root())), None);
        assert_eq!(programs.file("jump/../bin/tool", Some(&tree.root())), None);
        assert_eq!(programs.directory(&tree.at("jump/bin")), Some(tree.at("deep/er/bin")));
        assert_eq!(programs.directory(&tree.at("jump/bin/x")), None);
        assert_eq!(programs.directory(&tree.at("absent")), None);
        let twice = programs.program(&format!("{}//bin/./tool", tree.root().display()), None).unwrap();
        assert_eq!(twice.invoked, tree.at("bin/tool"));
    }

    #[test]
    fn one_file_of_many_names() {
        let of = |invoked: &str, real: &str| Program { invoked: invoked.into(), real: real.into() };
        assert!(of("/bin/ls", "/bin/busybox").multi_call());
        assert!(of("/root/.cargo/bin/cargo", "/usr/bin/rustup").multi_call());
        assert!(!of("/bin/busybox", "/bin/busybox").multi_call());
        assert!(!of("/usr/bin/python3", "/usr/bin/python3.11").multi_call());
    }
}
