//! Class 8: what was shown is what is stored is what runs; real files, judged and bound as a call's are.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use creel::approvals::Command;
use creel::approvals::allowlist::Allowlist;
use creel::approvals::assess::{Assessed, Rules, assess};
use creel::approvals::binding::{BindError, Binding, Covers, bind};
use creel::approvals::enforce::enforce;
use creel::approvals::programs::HostPrograms;
use creel::approvals::remember::{Remembered, remember};
use creel::approvals::safe_bins::SafeBins;
use creel::paths::hold::hold;
use creel::paths::resolve::resolve;

/// A directory of its own, with programs in front of PATH.
struct Place {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("creel-advisories-").tempdir_in("/tmp").unwrap();
        let root = resolve(dir.path()).unwrap();
        for name in ["bin", "work", "other"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        Self { _dir: dir, root }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.at(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn lookup(&self) -> HostPrograms {
        HostPrograms::new(&format!("{}:/usr/bin:/bin", self.at("bin").display()), None)
    }

    fn assess(&self, text: &str, cwd: &Path) -> Assessed {
        let (none, safe) = (Allowlist::default(), SafeBins::default());
        let rules = Rules { allow: &none, deny: &none, safe: &safe, skills: &[], strict_inline: false };
        assess(text, cwd, &rules, &self.lookup())
    }

    fn bind(&self, text: &str) -> Result<Binding, BindError> {
        let cwd = self.at("work");
        let assessed = self.assess(text, &cwd);
        let enforced = enforce(&assessed, true).ok();
        bind(&assessed, enforced.as_ref(), &hold(&cwd).unwrap(), &[], &self.lookup())
    }

    /// What "always" would write.
    fn lasting(&self, text: &str) -> bool {
        let remembered = remember(&self.assess(text, &self.at("work")));
        match (self.bind(text), remembered) {
            (Ok(binding), Remembered::Entries(entries)) => binding.seal(&entries).is_some(),
            _ => false,
        }
    }
}

/// A name is its bytes, blanks included.
#[test]
fn a158_a_program_whose_name_ends_in_a_blank() {
    let place = Place::new();
    place.write("bin/ls ", "");
    let plain = place.write("bin/ls", "");
    let argv = |text: &str| match place.bind(text).unwrap().command() {
        Command::Argv(argv) => argv.clone(),
        Command::Shell(text) => vec![text.clone()],
    };
    assert_eq!(argv("'ls ' x"), [place.at("bin/ls ").to_str().unwrap(), "x"]);
    assert_eq!(argv("ls x"), [plain.to_str().unwrap(), "x"]);
}

#[test]
fn a159_a_directory_that_is_another_one() {
    let place = Place::new();
    let binding = place.bind("ls").unwrap();
    assert_eq!(binding.verify(&place.lookup()), Ok(()));
    std::fs::rename(place.at("work"), place.at("was")).unwrap();
    symlink("other", place.at("work")).unwrap();
    let error = binding.verify(&place.lookup()).unwrap_err();
    assert_eq!(error.to_string(), "SYSTEM_RUN_DENIED: approval cwd changed before execution");
    std::fs::remove_file(place.at("work")).unwrap();
    std::fs::rename(place.at("was"), place.at("work")).unwrap();
    assert_eq!(binding.verify(&place.lookup()), Ok(()), "it is the same again");
    // A directory that is entered on the way is bound, too.
    std::fs::create_dir(place.at("work/sub")).unwrap();
    let binding = place.bind("cd sub && ls").unwrap();
    std::fs::rename(place.at("work/sub"), place.at("work/was")).unwrap();
    std::fs::create_dir(place.at("work/sub")).unwrap();
    assert_eq!(binding.verify(&place.lookup()), Err(BindError::Cwd));
}

#[test]
fn a161_a_script_that_is_rewritten() {
    let place = Place::new();
    for text in ["sh a.sh", "bash ./a.sh", "timeout 5 sh a.sh", "python3 a.py", "./a.sh", ". ./a.sh"] {
        place.write("bin/python3", "");
        place.write("work/a.sh", "echo one");
        place.write("work/a.py", "print(1)");
        let binding = place.bind(text).unwrap();
        assert_eq!(binding.verify(&place.lookup()), Ok(()), "{text}");
        for name in ["work/a.sh", "work/a.py"] {
            place.write(name, "echo two");
        }
        let error = binding.verify(&place.lookup()).unwrap_err().to_string();
        assert!(error.contains("changed before execution"), "{text}: {error}");
    }
}

/// A known runner is bound to its file; an unknown one with a script in front is bound, and for one run.
#[test]
fn a162_runners() {
    let place = Place::new();
    place.write("work/a.ts", "1");
    for runner in ["tsx", "jiti", "ts-node", "esno", "vite-node", "never-heard-of"] {
        place.write(&format!("bin/{runner}"), "");
        let text = format!("{runner} a.ts");
        let files = place.bind(&text).unwrap().describe().files;
        assert!(files.iter().any(|file| file.path.ends_with("work/a.ts")), "{text}: {files:?}");
        assert!(!place.lasting(&text), "{text}");
    }
}

#[test]
fn a163_an_interpreter_without_exactly_one_file() {
    let place = Place::new();
    for name in ["python3", "node", "ruby"] {
        place.write(&format!("bin/{name}"), "");
    }
    for name in ["work/a.js", "work/b.js", "work/a.py"] {
        place.write(name, "");
    }
    for text in ["python3 -m pkg", "node -r ./b.js a.js", "python3 < a.py", "ruby -S x", "node none.js"] {
        assert!(!place.lasting(text), "{text}");
    }
    for text in ["python3 -m pkg", "node -r ./b.js a.js", "ruby -S x", "node none.js", "echo 1 | python3"] {
        let error = place.bind(text).unwrap_err().to_string();
        assert!(error.starts_with("SYSTEM_RUN_DENIED: approval "), "{text}: {error}");
    }
    assert!(!place.lasting("node a.js b.js"), "which of them runs?");
    assert!(place.bind("node a.js").is_ok());
}

/// The command keeps its words: a local file of a shell's name is that file, and nothing is put in its place.
#[test]
fn a165_nothing_is_rewritten_into_something_else() {
    let place = Place::new();
    place.write("work/sh", "");
    place.write("work/a.sh", "");
    let binding = place.bind("./sh a.sh x").unwrap();
    let first = place.at("work/sh").display().to_string();
    assert_eq!(binding.command(), &Command::Shell(format!("'{first}' a.sh x")));
    let files = binding.describe().files;
    assert!(files.iter().any(|file| file.path == first), "{files:?}");
    // What is not understood stays as it stands.
    let text = "ls > out; for i in 1 2; do ls; done";
    let binding = place.bind(text).unwrap();
    assert_eq!((binding.command(), binding.covers()), (&Command::Shell(text.to_owned()), Covers::TextOnly));
}

/// Binding twice what did not change is one thing, so that two calls share a question; a change is another.
#[test]
fn a167_the_plan_is_frozen() {
    let place = Place::new();
    place.write("work/a.sh", "echo one");
    let once = place.bind("sh a.sh").unwrap();
    assert_eq!(once.digest(), place.bind("sh a.sh").unwrap().digest());
    place.write("work/a.sh", "echo two");
    assert_ne!(once.digest(), place.bind("sh a.sh").unwrap().digest());
    assert!(once.verify(&place.lookup()).is_err());
}
