//! What the documentation shows on an engine, run on an engine.

use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use creel::engine::{Discovery, Engine};
use creel::error::Failure;
use creel::sandbox::{InUse, Sandboxes};
use creel::state::StateDir;

/// Built by `creel images build minimal`.
pub(crate) const IMAGE: &str = "creel-minimal:latest";

/// An installation of its own; its containers go with it, also after a failed assertion.
pub(crate) struct Installation(tempfile::TempDir);

impl Installation {
    pub(crate) fn new() -> Self {
        Self(tempfile::Builder::new().prefix("creel-docs-").tempdir_in("/tmp").unwrap())
    }

    pub(crate) fn state(&self) -> &Path {
        self.0.path()
    }

    #[expect(clippy::disallowed_methods, reason = "runs creel itself, as a person does")]
    fn creel(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_creel"));
        command
            .args(args)
            .env("CREEL_STATE_DIR", self.state())
            .env_remove("CREEL_CONFIG")
            .stdin(Stdio::null());
        command
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        let state = StateDir::at(self.state());
        let cleaning = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let Ok(engine) = Engine::discover(&Discovery::from_process(None)).await else { return };
                if let Ok(sandboxes) = Sandboxes::open(engine, &state) {
                    let _ = sandboxes.stop_all(InUse::Remove).await;
                }
            });
            Ok::<(), std::io::Error>(())
        });
        let _ = cleaning.join();
    }
}

/// The example of the README and of the library's front page, with its own directory and image.
#[tokio::test]
async fn the_library_example_runs() -> Result<(), Failure> {
    let installation = Installation::new();
    let project = tempfile::Builder::new().prefix("creel-docs-").tempdir_in("/tmp").unwrap();
    let options = creel::Sandbox::options().state(installation.state()).image(IMAGE);
    let sandbox = options.workspace(project.path()).open().await?;
    let result = sandbox.exec("echo hello; exit 3").await?;
    assert_eq!(result.stdout, b"hello\n");
    assert_eq!(result.outcome.code, Some(3));
    sandbox.stop().await?;
    Ok(())
}

/// The README's transcript: every step of the demonstration, with its verdict.
#[test]
fn the_demonstration_shows_what_the_readme_shows() {
    let installation = Installation::new();
    let done = installation.creel(&["demo"]).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{out}{err}");
    let readme = crate::page::read("README.md").text;
    for part in [
        "stderr │ to stderr",
        "→ status 0",
        "→ status 42",
        "2 processes were sent TERM, 2 KILL, none is left [CRL-EXEC-001]",
        "→ status 124",
        "over engine exec",
        "bind \"/etc:/host-etc\" is refused: its source lies in /etc, a denied host path [CRL-BIND-003]",
        "before any container was made",
        "none of them left",
        "loopback only",
    ] {
        assert!(out.contains(part), "the demonstration does not show {part:?}:\n{out}");
        assert!(readme.contains(part), "the README does not show {part:?}");
    }
    assert!(!out.contains("NOT "), "{out}");
    let left = installation.creel(&["sandbox", "list"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&left.stdout), "no sandboxes\n");
}

/// With the scope `agent` the demonstration's sandbox is also that of `creel exec` with the same image.
#[test]
fn the_demonstration_leaves_a_sandbox_that_is_in_use() {
    let installation = Installation::new();
    let mut user = installation
        .creel(&["exec", "--image", IMAGE, "--stdin", "--", "echo up; read -r word; echo still $word"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = std::io::BufReader::new(user.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "up\n");
    let demo = installation.creel(&["demo"]).output().unwrap();
    assert!(demo.status.success(), "{demo:?}");
    assert!(String::from_utf8_lossy(&demo.stdout).contains("the sandbox stays"), "{demo:?}");
    user.stdin.take().unwrap().write_all(b"there\n").unwrap();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "up\nstill there\n");
    assert_eq!(user.wait().unwrap().code(), Some(0));
}
