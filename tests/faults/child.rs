//! Other creels: this test program started again, to be killed or to compete.

use std::path::Path;
use std::process::Stdio;

use creel::host_tool::host_tool;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

/// Variable that holds the state directory's parent.
const HOME: &str = "CREEL_TEST_HOME";
/// Variable that holds what the child is to do.
const TASK: &str = "CREEL_TEST_TASK";

/// Starts the ignored test `name` of this program.
pub(crate) fn command(name: &str, home: &Path, task: &str) -> Command {
    let mut command = host_tool(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(HOME, home).env(TASK, task).stdout(Stdio::piped());
    command
}

/// In the child: where and what.
pub(crate) fn orders() -> (std::path::PathBuf, String) {
    (std::env::var_os(HOME).unwrap().into(), std::env::var(TASK).unwrap())
}

/// A child under way.
pub(crate) struct Victim {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Victim {
    pub(crate) fn start(name: &str, home: &Path, task: &str) -> Self {
        let mut child = command(name, home, task).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Waits for `key=value` and returns the value.
    pub(crate) async fn said(&mut self, key: &str) -> String {
        let wait = async {
            while let Some(line) = self.lines.next_line().await.unwrap() {
                if let Some(value) = line.strip_prefix(key).and_then(|rest| rest.strip_prefix('=')) {
                    return value.to_owned();
                }
            }
            panic!("the child ended without {key}");
        };
        tokio::time::timeout(std::time::Duration::from_mins(1), wait).await.unwrap()
    }

    /// SIGKILL, and it is gone when this returns.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }
}
