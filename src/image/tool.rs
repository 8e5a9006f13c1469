//! Runs one program of the host to its end, within a time limit.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt as _;

use super::ImageError;
use super::progress::Progress;
use super::tail::Tail;
use crate::host_tool::host_tool;

/// Bytes of standard output that are kept.
const MAX_STDOUT: u64 = 1 << 20;

/// One call of a program.
#[derive(Debug)]
pub(super) struct Tool<'a> {
    /// The program, looked up in PATH.
    pub(super) program: &'static str,
    /// File to start instead, where the program is not in PATH.
    pub(super) file: Option<&'a Path>,
    /// Arguments.
    pub(super) args: Vec<&'a OsStr>,
    /// Working directory.
    pub(super) dir: &'a Path,
    /// Time limit.
    pub(super) limit: Duration,
    /// What people can do when it fails.
    pub(super) fix: &'a str,
}

impl Tool<'_> {
    /// Runs it and returns its standard output. Lines of standard error are progress, their tail is the error's.
    pub(super) async fn run(self, progress: Progress<'_>) -> Result<Vec<u8>, ImageError> {
        let mut tail = Tail::default();
        let failed = |outcome: String, tail: &Tail| ImageError::ToolFailed {
            program: self.program,
            outcome,
            tail: tail.text(),
            fix: self.fix.to_owned(),
        };
        match tokio::time::timeout(self.limit, self.communicate(&mut tail, progress)).await {
            Err(_) => Err(failed(timed_out(self.limit), &tail)),
            Ok(Err(error)) => Err(failed(format!("cannot be run: {error}"), &tail)),
            Ok(Ok((status, stdout))) if status.success() => Ok(stdout),
            Ok(Ok((status, _))) => Err(failed(ended(status), &tail)),
        }
    }

    async fn communicate(
        &self,
        tail: &mut Tail,
        progress: Progress<'_>,
    ) -> std::io::Result<(ExitStatus, Vec<u8>)> {
        let program = self.file.map_or(OsStr::new(self.program), Path::as_os_str);
        let mut command = host_tool(program);
        command.args(&self.args).current_dir(self.dir).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let missing = || std::io::Error::other("no pipe to the child");
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let read = async {
            let mut bytes = Vec::new();
            let mut stdout = stdout.take(MAX_STDOUT);
            stdout.read_to_end(&mut bytes).await?;
            // The rest is read and dropped, so that the tool is not ended by a broken pipe.
            tokio::io::copy(stdout.get_mut(), &mut tokio::io::sink()).await?;
            std::io::Result::Ok(bytes)
        };
        let (bytes, ()) = tokio::join!(read, tail.drain(stderr, progress));
        Ok((child.wait().await?, bytes?))
    }
}

/// How a program ended, ready for a sentence.
pub(super) fn ended(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("failed with exit status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended without a status".to_owned(),
    }
}

/// A time limit that was reached, ready for a sentence.
pub(super) fn timed_out(limit: Duration) -> String {
    format!("did not end within {} s", limit.as_secs())
}

/// Where PATH finds `program`.
pub(super) fn find(program: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let path = std::env::var_os("PATH")?;
    let executable = |file: &PathBuf| {
        std::fs::metadata(file).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(executable)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sh(script: &str, limit_ms: u64) -> Result<Vec<u8>, ImageError> {
        let args = vec![OsStr::new("-c"), OsStr::new(script)];
        let limit = Duration::from_millis(limit_ms);
        Tool { program: "sh", file: None, args, dir: Path::new("/"), limit, fix: "fix" }.run(&|_| ()).await
    }

    #[tokio::test]
    async fn output_and_failure() {
        assert_eq!(sh("echo out; echo err >&2", 10_000).await.unwrap(), b"out\n");
        let error = sh("echo one >&2; echo two >&2; exit 3", 10_000).await.unwrap_err();
        assert_eq!(error.to_string(), "sh failed with exit status 3\n    one\n    two");
        let error = sh("kill -9 $$", 10_000).await.unwrap_err();
        assert_eq!(error.to_string(), "sh was ended by signal 9");
        let error = sh("echo begun >&2; sleep 60", 300).await.unwrap_err();
        assert_eq!(error.to_string(), "sh did not end within 0 s\n    begun");
    }

    #[tokio::test]
    async fn much_output_neither_blocks_nor_fails() {
        let bytes = sh("head -c 3000000 /dev/zero", 30_000).await.unwrap();
        assert_eq!(bytes.len(), 1 << 20);
    }

    #[test]
    fn programs_are_found_in_path() {
        assert!(find("sh").is_some());
        assert!(find("no-such-program-anywhere").is_none());
    }
}
