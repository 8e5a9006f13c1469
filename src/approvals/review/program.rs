//! An external command is asked: the case as one line of JSON on its standard input, the verdict on its standard output.

use std::process::Stdio;

use rustix::process::{Pid, Signal};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

use super::Failure;
use crate::host_tool::host_tool;

/// Most bytes of an answer.
const MOST: usize = 64 * 1024;

/// Asks. The caller bounds the time; a command that gives no answer ends with everything that it has started.
pub(super) async fn ask(command: &[String], case: &str) -> Result<String, Failure> {
    let (program, arguments) = command.split_first().ok_or(Failure::Unset)?;
    let unreachable = |error: std::io::Error| {
        let program = crate::shown::one_line(program);
        Failure::Unreachable(format!("{program} (tools.exec.reviewer.command): {}", error.kind()))
    };
    let mut process = host_tool(program);
    // Not where the reviewed command runs: nothing of that directory belongs to the reviewer.
    process.args(arguments).current_dir("/").process_group(0);
    process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = process.spawn().map_err(unreachable)?;
    let group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let tell = async {
        if let Some(mut stdin) = stdin {
            // A reviewer that decides without reading all of it is as good.
            let _ = stdin.write_all(case.as_bytes()).await;
        }
    };
    let hear = async {
        match stdout {
            Some(stdout) => read(stdout).await,
            None => Ok(Vec::new()),
        }
    };
    let ((), answer) = tokio::join!(tell, hear);
    let answer = answer?;
    // Before it is waited for: as long as it is not, nobody else has its number.
    let ended = child.wait().await;
    std::mem::forget(group);
    let status = ended.map_err(unreachable)?;
    if !status.success() {
        return Err(Failure::Failed(status.to_string()));
    }
    String::from_utf8(answer).map_err(|_| Failure::NoVerdict("it is not UTF-8"))
}

async fn read(from: impl AsyncRead + Unpin) -> Result<Vec<u8>, Failure> {
    let mut answer = Vec::new();
    let most = u64::try_from(MOST).unwrap_or(u64::MAX);
    let read = from.take(most + 1).read_to_end(&mut answer).await;
    read.map_err(|error| Failure::Failed(error.kind().to_string()))?;
    if answer.len() > MOST { Err(Failure::TooMuch(MOST)) } else { Ok(answer) }
}

/// A process group that ends with this value.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            let _ = rustix::process::kill_process_group(pid, Signal::KILL);
        }
    }
}
