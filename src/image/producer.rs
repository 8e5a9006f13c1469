//! A program of the host whose standard output is an archive, handed on while it is written.
//!
//! Two promises: the consumer's stream ends well only after the program ended well, so half an archive is never
//! taken for a whole one; and a program that is given up is asked to end (SIGTERM), so that it can take down its
//! mounts, instead of being killed.

use std::io;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt as _, stream};
use rustix::process::Pid;
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::ImageError;
use super::progress::{Event, Progress};
use super::tail::Tail;
use super::tool::{ended, timed_out};

/// Bytes handed on at a time: what a pipe holds.
const CHUNK: usize = 64 << 10;
/// Time to clean up after SIGTERM.
const GRACE: Duration = Duration::from_secs(20);

/// The running program.
#[derive(Debug)]
pub(super) struct Producer {
    program: &'static str,
    running: Running,
    stderr: ChildStderr,
    stdout: ChildStdout,
    limit: Duration,
    fix: &'static str,
}

impl Producer {
    /// Starts `command`, which may run for `limit`; `fix` is told where it fails.
    pub(super) fn start(
        program: &'static str,
        mut command: Command,
        limit: Duration,
        fix: &'static str,
    ) -> Result<Self, ImageError> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(false);
        // A group of its own: asked alone, the leader would wait for its children to finish their work.
        command.process_group(0);
        let failed = |error: io::Error| ImageError::ToolFailed {
            program,
            outcome: format!("cannot be run: {error}"),
            tail: String::new(),
            fix: fix.to_owned(),
        };
        let mut child = command.spawn().map_err(failed)?;
        let pipes = (child.stdout.take(), child.stderr.take());
        let running = Running(child);
        let (Some(stdout), Some(stderr)) = pipes else {
            return Err(failed(io::Error::other("no pipes")));
        };
        Ok(Self { program, running, stderr, stdout, limit, fix })
    }

    /// Runs the program to its end while `consume` takes its output. `consume` is called with the first bytes at
    /// hand, and not at all where the program fails before it writes any. `cancel` asks the program to end and
    /// waits for it.
    pub(super) async fn feed<T, F>(
        self,
        progress: Progress<'_>,
        cancel: &CancellationToken,
        consume: impl FnOnce(Output) -> F,
    ) -> Result<T, ImageError>
    where
        F: Future<Output = Result<T, ImageError>>,
    {
        let Self { program, mut running, stderr, mut stdout, limit, fix } = self;
        let give_up = cancel.child_token();
        let (verdict, ending) = oneshot::channel();
        let supply = async {
            let mut tail = Tail::default();
            let ended = running.watch(stderr, &mut tail, limit, &give_up, progress).await;
            // Nobody listens where the output was given up: then the verdict is not needed.
            let _ = verdict.send(ended.is_ok());
            ended.map_err(|outcome| ImageError::ToolFailed {
                program,
                outcome,
                tail: tail.text(),
                fix: fix.to_owned(),
            })
        };
        let broken = Arc::new(AtomicBool::new(false));
        let take = async {
            let first = read_chunk(&mut stdout).await.ok().flatten()?;
            let taken = consume(output(first, stdout, ending, Arc::clone(&broken))).await;
            if taken.is_err() {
                give_up.cancel();
            }
            Some(taken)
        };
        let (ended, taken) = tokio::join!(supply, take);
        match taken {
            Some(Err(error)) if !broken.load(Ordering::Acquire) => Err(error),
            Some(taken) => ended.and(taken),
            None => Err(ended.err().unwrap_or_else(|| ImageError::ToolFailed {
                program,
                outcome: "wrote nothing".to_owned(),
                tail: String::new(),
                fix: fix.to_owned(),
            })),
        }
    }
}

/// The archive's bytes.
pub(super) type Output = futures_util::stream::BoxStream<'static, io::Result<Bytes>>;

/// `first`, then the rest of `stdout`, then an error unless the program ended well; `broken` remembers that error.
fn output(
    first: Bytes,
    stdout: ChildStdout,
    ending: oneshot::Receiver<bool>,
    broken: Arc<AtomicBool>,
) -> Output {
    let rest = stream::unfold(Some((stdout, ending)), move |state| {
        let broken = Arc::clone(&broken);
        async move {
            let (mut stdout, ending) = state?;
            match read_chunk(&mut stdout).await {
                Ok(Some(chunk)) => Some((Ok(chunk), Some((stdout, ending)))),
                Ok(None) if ending.await.unwrap_or(false) => None,
                Ok(None) => {
                    broken.store(true, Ordering::Release);
                    Some((Err(io::Error::other("the program that makes the archive failed")), None))
                }
                Err(error) => Some((Err(error), None)),
            }
        }
    });
    stream::once(async move { Ok(first) }).chain(rest).boxed()
}

/// The next bytes, `None` at the end.
async fn read_chunk(stdout: &mut ChildStdout) -> io::Result<Option<Bytes>> {
    let mut chunk = BytesMut::with_capacity(CHUNK);
    let count = stdout.read_buf(&mut chunk).await?;
    Ok((count > 0).then(|| chunk.freeze()))
}

/// Asks the program to end when dropped before its end.
#[derive(Debug)]
struct Running(Child);

impl Running {
    /// Waits for the end; `Err` says how it ended, ready for a sentence.
    async fn watch(
        &mut self,
        stderr: ChildStderr,
        tail: &mut Tail,
        limit: Duration,
        give_up: &CancellationToken,
        progress: Progress<'_>,
    ) -> Result<(), String> {
        let told = |event: Event<'_>| progress(as_stage(event));
        let pid = self.pid();
        let child = &mut self.0;
        let run = async {
            tail.drain(stderr, &told).await;
            child.wait().await
        };
        let mut run = std::pin::pin!(run);
        let outcome = tokio::select! {
            biased;
            status = &mut run => return match status {
                Ok(status) if status.success() => Ok(()),
                Ok(status) => Err(ended(status)),
                Err(error) => Err(format!("cannot be waited for: {error}")),
            },
            () = give_up.cancelled() => "was interrupted".to_owned(),
            () = tokio::time::sleep(limit) => timed_out(limit),
        };
        // Not waited for yet, so the number is still the program's.
        terminate(pid);
        // Its words are read on while it cleans up: a broken pipe would end it half-way. Where it does not end in
        // time it is left alone, since killing it would leave its mounts behind.
        let _ = tokio::time::timeout(GRACE, run).await;
        Err(outcome)
    }

    /// `None` once the child was waited for, so that a signal never reaches a stranger.
    fn pid(&self) -> Option<Pid> {
        self.0.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
    }
}

fn terminate(pid: Option<Pid>) {
    if let Some(pid) = pid {
        // It may have ended by itself meanwhile.
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::TERM);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        terminate(self.pid());
    }
}

/// `mmdebstrap` announces its steps as `I: …`; those that end in dots take time and are stages.
fn as_stage(event: Event<'_>) -> Event<'_> {
    let Event::Line(line) = event else { return event };
    let step = line.strip_prefix("I: ").and_then(|step| step.strip_suffix("..."));
    step.map_or(event, Event::Stage)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, limit_ms: u64) -> Producer {
        let mut command = crate::host_tool::host_tool("sh");
        command.args(["-c", script]);
        Producer::start("sh", command, Duration::from_millis(limit_ms), "fix").unwrap()
    }

    async fn count(output: Output) -> Result<usize, ImageError> {
        let sum =
            output.fold(Ok(0), |sum: io::Result<usize>, part| async move { Ok(sum? + part?.len()) }).await;
        sum.map_err(ImageError::io("stream", "read"))
    }

    #[test]
    fn slow_steps_are_stages() {
        let step = as_stage(Event::Line("I: extracting archives..."));
        assert_eq!(step, Event::Stage("extracting archives"));
        for line in ["I: done", "W: odd...", "I: running --customize-hook in shell: sh -c 'x' exec /tmp/y"] {
            assert_eq!(as_stage(Event::Line(line)), Event::Line(line));
        }
    }

    #[tokio::test]
    async fn everything_arrives() {
        let producer = sh("head -c 1000000 /dev/zero; sleep 0.2; echo end", 30_000);
        assert_eq!(producer.feed(&|_| (), &CancellationToken::new(), count).await.unwrap(), 1_000_004);
    }

    #[tokio::test]
    async fn a_failure_after_output_breaks_the_stream() {
        let error = sh("echo part; echo why >&2; exit 2", 30_000)
            .feed(&|_| (), &CancellationToken::new(), count)
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), "sh failed with exit status 2\n    why");
    }

    #[tokio::test]
    async fn a_failure_before_output_never_reaches_the_consumer() {
        let never = |_| async { Result::<(), _>::Err(ImageError::BadOptions { what: "called", fix: "" }) };
        let error = sh("echo why >&2; exit 2", 30_000)
            .feed(&|_| (), &CancellationToken::new(), never)
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), "sh failed with exit status 2\n    why");
        let error = sh(":", 30_000).feed(&|_| (), &CancellationToken::new(), never).await.unwrap_err();
        assert_eq!(error.to_string(), "sh wrote nothing");
    }

    #[tokio::test]
    async fn a_consumer_that_fails_is_the_cause_and_the_program_is_asked_to_end() {
        let dir = tempfile::tempdir().unwrap();
        let mark = dir.path().join("mark");
        let script = format!(
            "trap 'echo clean > {}; exit 1' TERM; sleep 60 & sleep 0.2; echo part; wait",
            mark.display()
        );
        let refuse = |_| async { Result::<(), _>::Err(ImageError::BadOptions { what: "refused", fix: "" }) };
        let begun = std::time::Instant::now();
        // The short sleep lets the long one begin: a signal before that would be lost in the shell.
        let error = sh(&script, 30_000).feed(&|_| (), &CancellationToken::new(), refuse).await;
        assert!(begun.elapsed() < Duration::from_secs(25));
        assert!(error.is_err());
        assert_eq!(std::fs::read_to_string(mark).unwrap(), "clean\n");
    }

    #[tokio::test]
    async fn cancelled_it_may_clean_up_and_speak() {
        let dir = tempfile::tempdir().unwrap();
        let mark = dir.path().join("mark");
        let script = format!(
            "trap 'sleep 0.3; echo cleaning >&2; echo clean > {}; exit 1' TERM; echo ready >&2; while :; do sleep 0.05; done",
            mark.display()
        );
        let cancel = CancellationToken::new();
        let tell = |event: Event<'_>| {
            if event == Event::Line("ready") {
                cancel.cancel();
            }
        };
        let error = sh(&script, 30_000).feed(&tell, &cancel, count).await.unwrap_err();
        // The shell may also say that its `sleep` was terminated with it.
        let told = error.to_string();
        assert!(told.starts_with("sh was interrupted\n    ready\n"), "{told}");
        assert!(told.ends_with("\n    cleaning"), "{told}");
        assert_eq!(std::fs::read_to_string(mark).unwrap(), "clean\n");
    }

    #[tokio::test]
    async fn the_limit_ends_it() {
        let error =
            sh("exec sleep 60", 200).feed(&|_| (), &CancellationToken::new(), count).await.unwrap_err();
        assert_eq!(error.to_string(), "sh did not end within 0 s");
    }
}
