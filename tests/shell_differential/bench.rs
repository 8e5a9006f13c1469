//! A directory of programs that write down how they were called, and shells that run texts in it.

use std::collections::HashSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The shells that are compared with.
pub(crate) const SHELLS: &[&str] = &["bash", "dash"];
/// Programs of the system that are what they are.
const REAL: &[&str] = &["timeout", "nice", "nohup", "env", "stdbuf"];

/// One call: its words.
pub(crate) type Call = Vec<String>;

pub(crate) struct Bench {
    root: tempfile::TempDir,
    recorder: PathBuf,
    made: HashSet<String>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let recorder = root.path().join("recorder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shell_differential/recorder.c");
        let built = Command::new("cc").arg("-O1").arg("-o").arg(&recorder).arg(source).status().unwrap();
        assert!(built.success(), "the recorder was not built");
        let mut bench = Self { root, recorder, made: HashSet::new() };
        for directory in ["cwd", "usr/bin"] {
            std::fs::create_dir_all(bench.at(directory)).unwrap();
        }
        for name in REAL {
            symlink(Path::new("/usr/bin").join(name), bench.bin().join(name)).unwrap();
            bench.made.insert((*name).to_owned());
        }
        for name in ["sh", "bash", "dash"] {
            symlink(Path::new("/bin").join(name), bench.bin().join(name)).unwrap();
            bench.made.insert(name.to_owned());
        }
        bench.program("time");
        bench
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Stands for `${ROOT}` of recorded texts.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// The only directory of PATH.
    pub(crate) fn bin(&self) -> PathBuf {
        self.at("usr/bin")
    }

    /// Where texts run. Always empty.
    pub(crate) fn cwd(&self) -> PathBuf {
        self.at("cwd")
    }

    /// Makes a program of that name, unless there is one.
    pub(crate) fn program(&mut self, name: &str) {
        if fit(name) && self.made.insert(name.to_owned()) {
            symlink(&self.recorder, self.bin().join(name)).unwrap();
        }
    }

    /// What a shell runs of a text, in order.
    pub(crate) fn run(&self, shell: &str, text: &str) -> Vec<Call> {
        self.spawn(Path::new("/bin").join(shell), &["-c".to_owned(), text.to_owned()], None, text)
    }

    /// What an argument list runs.
    pub(crate) fn run_words(&self, words: &[String], arg0: Option<&str>) -> Vec<Call> {
        let (file, arguments) = words.split_first().unwrap();
        self.spawn(PathBuf::from(file), arguments, arg0, &words.join(" "))
    }

    fn spawn(&self, file: PathBuf, arguments: &[String], arg0: Option<&str>, told: &str) -> Vec<Call> {
        use std::os::unix::process::CommandExt as _;
        let log = self.at("log");
        std::fs::write(&log, "").unwrap();
        let mut command = Command::new(file);
        if let Some(arg0) = arg0 {
            command.arg0(arg0);
        }
        command
            .args(arguments)
            .current_dir(self.cwd())
            .env_clear()
            .env("PATH", self.bin())
            .env("HOME", self.root())
            .env("CREEL_RECORDER_LOG", &log);
        // A program that is not there is no call.
        let _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        let left: Vec<_> = std::fs::read_dir(self.cwd()).unwrap().collect();
        assert!(left.is_empty(), "a file was made by {told:?}");
        calls(&std::fs::read(&log).unwrap())
    }
}

/// Whether a program of that name can be made, and is no other one.
pub(crate) fn fit(name: &str) -> bool {
    let own = REAL.contains(&name) || creel::shell::analyse::is_shell(name);
    !own && !name.is_empty()
        && name.len() < 64
        && !name.contains(['/', '\0'])
        && !name.starts_with(['.', '%'])
}

fn calls(log: &[u8]) -> Vec<Call> {
    let mut words = log.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    let mut found = Vec::new();
    while let Some(count) = words.next().and_then(|count| count.parse::<usize>().ok()) {
        found.push(words.by_ref().take(count).collect());
    }
    found
}
