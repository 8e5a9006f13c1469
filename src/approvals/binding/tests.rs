//! Commands bound on real files, and started by a real supervisor after one thing was exchanged (spec `approvals.md` §11;
//! A155 to A167).

mod forms;
mod race;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::*;
use crate::approvals::assess::{By, Gap, Part};
use crate::paths::lexical;
use crate::paths::resolve::resolve;
use crate::shell::analyse::{Argument, Candidate, Runs, analyse};

/// Looks at the disk each time.
struct Disk {
    path: Vec<PathBuf>,
}

impl Lookup for Disk {
    fn program(&self, word: &str, dir: Option<&Path>) -> Option<Program> {
        let executable = |invoked: PathBuf| {
            let real = resolve(&invoked).ok()?;
            let meta = real.metadata().ok()?;
            let runs = meta.is_file() && meta.permissions().mode() & 0o111 != 0;
            runs.then(|| Program { invoked: lexical::clean(&invoked), real })
        };
        if word.contains('/') {
            return executable(if word.starts_with('/') { word.into() } else { dir?.join(word) });
        }
        self.path.iter().find_map(|one| executable(one.join(word)))
    }

    fn file(&self, operand: &str, dir: Option<&Path>) -> Option<PathBuf> {
        let path = if operand.starts_with('/') { operand.into() } else { dir?.join(operand) };
        resolve(&path).ok().filter(|real| real.is_file())
    }

    fn directory(&self, path: &Path) -> Option<PathBuf> {
        resolve(path).ok().filter(|real| real.is_dir())
    }

    fn home(&self) -> Option<&Path> {
        None
    }
}

/// A directory with programs of its own, searched before those of the machine.
struct Lab {
    _dir: tempfile::TempDir,
    root: PathBuf,
    disk: Disk,
}

impl Lab {
    fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("creel-bind-").tempdir_in("/tmp").unwrap();
        let root = resolve(dir.path()).unwrap();
        for name in ["first", "bin", "work", "other"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        let path = vec![root.join("first"), root.join("bin"), "/usr/bin".into(), "/bin".into()];
        Self { _dir: dir, root, disk: Disk { path } }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// A file with these contents, which can be executed.
    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.at(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A real program of the machine under another name.
    fn copy(&self, program: &str, name: &str) -> PathBuf {
        self.write(name, std::fs::read(program).unwrap())
    }

    fn cwd(&self) -> HeldSource {
        hold(&self.at("work")).unwrap()
    }

    fn assess(&self, text: &str) -> Assessed {
        let analysis = analyse(text);
        let groups = analysis.iter().flatten();
        let parts = groups.flat_map(|group| &group.candidates).map(|one| self.part(one)).collect();
        Assessed {
            text: text.to_owned(),
            cwd: self.at("work"),
            parts,
            inline: None,
            suppresses: false,
            unseen: false,
            heredoc: text.contains("<<"),
            denied: None,
            strict_inline: false,
            sets: Vec::new(),
            satisfied: false,
            durable: false,
            analysis,
        }
    }

    fn part(&self, candidate: &Candidate) -> Part {
        let dir = self.at("work");
        let (effective, by): (Vec<Argument>, By) = match &candidate.runs {
            Runs::Program(words) => (words.clone(), By::Nothing(Gap::NoEntry)),
            Runs::Builtin => (candidate.argv.clone(), By::Builtin),
            Runs::Shell(_) => (candidate.argv.clone(), By::Nothing(Gap::NoEntry)),
            Runs::Unclear(unclear) => (Vec::new(), By::Nothing(Gap::Unclear(*unclear))),
        };
        let words = if effective.is_empty() { &candidate.argv } else { &effective };
        let program = words.first().and_then(|word| self.disk.program(&word.text, Some(&dir)));
        let wrapper = |word: &String| (word.clone(), self.disk.program(word, Some(&dir)));
        Part {
            span: candidate.span,
            nested: false,
            argv: candidate.argv.clone(),
            wrappers: candidate.wrappers.iter().map(wrapper).collect(),
            program: program.filter(|_| !matches!(by, By::Builtin)),
            effective,
            script: None,
            typed_dir: Some(dir.clone()),
            dir: Some(dir),
            by,
        }
    }

    /// One simple command as it is run.
    fn enforce(&self, assessed: &Assessed) -> Enforced {
        let [part] = assessed.parts.as_slice() else {
            let programs = assessed.parts.iter().filter_map(|part| part.program.clone()).collect();
            return Enforced { command: Command::Shell(assessed.text.clone()), arg0: None, programs };
        };
        let mut argv: Vec<String> = part.argv.iter().map(|word| word.text.clone()).collect();
        let program = self.disk.program(&argv[0], part.dir.as_deref()).unwrap();
        argv[0] = program.invoked.to_str().unwrap().to_owned();
        Enforced { command: Command::Argv(argv), arg0: None, programs: vec![program] }
    }

    /// Asked about: bound as far as it can be.
    fn bind(&self, text: &str, env: &[(&str, &str)]) -> Result<Binding, BindError> {
        let env: Vec<_> = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let assessed = self.assess(text);
        let unclear = |part: &Part| part.effective.is_empty();
        let enforced = (assessed.analysis.is_ok() && !assessed.parts.iter().any(unclear))
            .then(|| assessed.parts.iter().all(|part| part.program.is_some()))
            .filter(|all| *all)
            .map(|_| self.enforce(&assessed));
        bind(&assessed, enforced.as_ref(), &self.cwd(), &env, &self.disk)
    }
}
