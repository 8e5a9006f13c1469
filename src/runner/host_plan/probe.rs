//! The user's shell as a program that is asked something. It runs startup files, so it may print, hang, exit early or
//! leave daemons behind; none of that may harm or hold up more than its own limit.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal};
use tokio::io::AsyncReadExt as _;

use super::env::Vars;
use crate::host_tool::host_tool;

/// Carries the mark between which the answer stands.
pub(super) const MARK: &str = "CREEL_PROBE_MARK";
/// How long output is read after the shell has ended, while something else holds it open.
const DRAIN: Duration = Duration::from_millis(200);

/// What to ask.
pub(super) struct Question<'a> {
    /// The shell and its arguments.
    pub(super) argv: &'a [String],
    /// Its whole environment; the mark is added.
    pub(super) env: &'a Vars,
    /// Where it runs; the gateway's own directory otherwise.
    pub(super) dir: Option<&'a Path>,
    /// How long it may take.
    pub(super) limit: Duration,
    /// Bytes of the longest answer.
    pub(super) most: usize,
}

/// What the shell prints between two marks; `None` for whatever goes wrong. Its process group is gone afterwards, also
/// when this is not awaited to its end.
pub(super) async fn ask(question: Question<'_>) -> Option<Vec<u8>> {
    let limit = question.limit;
    tokio::time::timeout(limit, answer(question)).await.ok().flatten()
}

async fn answer(question: Question<'_>) -> Option<Vec<u8>> {
    let mark = crate::state::random_hex::<16>().ok()?;
    let (program, args) = question.argv.split_first()?;
    let mut command = host_tool(program);
    command.args(args).env_clear().envs(question.env).env(MARK, &mark);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    if let Some(dir) = question.dir {
        command.current_dir(dir);
    }
    crate::sys::own_session(command.as_std_mut());
    let mut child = command.spawn().ok()?;
    let pid = Pid::from_raw(child.id()?.try_into().ok()?)?;
    let mut output = child.stdout.take()?;
    // Dropped before the child, which is reaped only then: until that, its id is its own and its group's.
    let _group = Group(pid);
    let ended = crate::sys::watch(rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok()?).ok()?;
    let mut found = Between::new(&mark, question.most);
    let mut buffer = vec![0; 16 * 1024];
    let ended = async {
        let _ = ended.readable().await;
        tokio::time::sleep(DRAIN).await;
    };
    tokio::pin!(ended);
    loop {
        let count = tokio::select! {
            biased;
            count = output.read(&mut buffer) => count.ok()?,
            () = &mut ended => 0,
        };
        match (count, found.push(buffer.get(..count)?)) {
            (_, Found::All(answer)) => return Some(answer),
            (0, _) | (_, Found::TooMuch) => return None,
            (_, Found::NotYet) => {}
        }
    }
}

/// A process group that ends with this value.
struct Group(Pid);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process_group(self.0, Signal::KILL);
    }
}

/// Looks for the text between two marks, each between NULs, in a stream.
struct Between {
    mark: Vec<u8>,
    seen: Vec<u8>,
    begun: bool,
    most: usize,
    /// Up to here `seen` holds no second mark.
    looked: usize,
}

enum Found {
    NotYet,
    TooMuch,
    All(Vec<u8>),
}

impl Between {
    fn new(mark: &str, most: usize) -> Self {
        let mark = format!("\0{mark}\0").into_bytes();
        Self { mark, seen: Vec::new(), begun: false, most, looked: 0 }
    }

    fn push(&mut self, data: &[u8]) -> Found {
        self.seen.extend_from_slice(data);
        if !self.begun {
            let Some(at) = self.position(0) else {
                // Noise; the beginning of a mark may stand at its end.
                let keep = self.seen.len().min(self.mark.len());
                self.seen.drain(..self.seen.len() - keep);
                return Found::NotYet;
            };
            self.seen.drain(..at + self.mark.len());
            self.begun = true;
        }
        if let Some(at) = self.position(self.looked) {
            self.seen.truncate(at);
            return Found::All(std::mem::take(&mut self.seen));
        }
        self.looked = self.seen.len().saturating_sub(self.mark.len());
        if self.seen.len() > self.most { Found::TooMuch } else { Found::NotYet }
    }

    fn position(&self, from: usize) -> Option<usize> {
        let rest = self.seen.get(from..)?;
        rest.windows(self.mark.len()).position(|window| window == self.mark).map(|at| at + from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(script: &str, limit: u64) -> (Vec<String>, Vars, Duration) {
        let argv = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
        let env = [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into();
        (argv, env, Duration::from_millis(limit))
    }

    async fn asked(script: &str, limit: u64) -> Option<String> {
        let (argv, env, limit) = question(script, limit);
        let answer = ask(Question { argv: &argv, env: &env, dir: None, limit, most: 4096 }).await?;
        String::from_utf8(answer).ok()
    }

    const SAY: &str = r#"printf '\000%s\000%s\000%s\000' "$CREEL_PROBE_MARK" hello "$CREEL_PROBE_MARK""#;

    #[tokio::test]
    async fn noise_is_no_answer() {
        assert_eq!(asked(SAY, 30_000).await.as_deref(), Some("hello"));
        let noisy = format!(
            "head -c 300000 /dev/urandom; printf '%s' \"$CREEL_PROBE_MARK\"; {SAY}; echo more; exit 7"
        );
        assert_eq!(asked(&noisy, 30_000).await.as_deref(), Some("hello"));
        assert_eq!(asked("exit 0", 30_000).await, None);
        assert_eq!(asked("printf '\\000%s\\000' $CREEL_PROBE_MARK; yes", 30_000).await, None);
        let (_, env, limit) = question("", 1000);
        let missing = ["/nonexistent/shell".to_owned()];
        let question = Question { argv: &missing, env: &env, dir: None, limit, most: 1 };
        assert!(ask(question).await.is_none());
    }

    /// A background process that holds the output open neither delays the answer nor stays.
    #[tokio::test]
    async fn nothing_is_left_of_the_group() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pid");
        let daemon = format!("sleep 1000 & echo $! >{}; {SAY}", file.display());
        let begun = std::time::Instant::now();
        assert_eq!(asked(&daemon, 60_000).await.as_deref(), Some("hello"));
        // Ended early, without an answer, while the daemon holds the pipe.
        assert_eq!(asked("sleep 1000 & exit 0", 60_000).await, None);
        assert!(begun.elapsed() < Duration::from_secs(30));
        let pid = std::fs::read_to_string(&file).unwrap().trim().to_owned();
        gone(&pid).await;
        let hang = format!("echo $$ >{}; sleep 1000; {SAY}", file.display());
        let pid = loop {
            assert_eq!(asked(&hang, 2000).await, None);
            // On a loaded machine the limit may come before the shell has begun.
            let written = std::fs::read_to_string(&file).unwrap().trim().to_owned();
            if written != pid {
                break written;
            }
        };
        gone(&pid).await;
    }

    /// Killed is not yet reaped: whoever inherited it does that.
    async fn gone(pid: &str) {
        let alive = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit(')')
                .next()
                .is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
        };
        while alive() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
