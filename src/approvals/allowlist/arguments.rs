//! What entries say of arguments (spec `approvals.md` §5.4): an ECMAScript pattern over the arguments joined by one space, or
//! one generated value for one argument list in one directory.

use std::path::Path;
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use regress::Regex;
use sha2::{Digest as _, Sha256};

/// Longest pattern that is tried, in bytes.
pub const MAX_PATTERN: usize = 4096;
/// Longest arguments that a pattern is tried on, in bytes, joined.
pub const MAX_INPUT: usize = 32 * 1024;
/// How long a pattern may take, and how long it may wait for others before that.
const DEADLINE: Duration = Duration::from_secs(1);
/// How many patterns may be at work at once; one that does not end counts until it does.
const MAX_AT_WORK: usize = 2;

static AT_WORK: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// Why a pattern says nothing about arguments. An entry that allows does not match then, one that denies does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Unusable {
    /// It is no regular expression.
    #[error("argPattern is not an ECMAScript regular expression")]
    Syntax,
    /// Pattern or arguments are too long.
    #[error("argPattern is longer than {MAX_PATTERN} bytes, or the arguments are longer than {MAX_INPUT}")]
    TooLong,
    /// It took too long, or others that did are still at work.
    #[error("argPattern took longer than {} ms to match", DEADLINE.as_millis())]
    TooSlow,
}

/// A pattern, compiled when it is first used.
#[derive(Debug, Clone)]
pub(super) struct ArgPattern {
    text: Arc<str>,
    compiled: Arc<OnceLock<Option<Regex>>>,
}

impl ArgPattern {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.into(), compiled: Arc::default() }
    }

    /// Whether it can be used at all.
    pub(super) fn check(&self) -> Result<(), Unusable> {
        self.regex().map(|_| ())
    }

    fn regex(&self) -> Result<&Regex, Unusable> {
        if self.text.len() > MAX_PATTERN {
            return Err(Unusable::TooLong);
        }
        self.compiled.get_or_init(|| Regex::new(&self.text).ok()).as_ref().ok_or(Unusable::Syntax)
    }

    /// Whether the arguments fit.
    pub(super) fn matches(&self, arguments: &[String]) -> Result<bool, Unusable> {
        let regex = self.regex()?;
        if arguments.iter().map(|argument| argument.len() + 1).sum::<usize>() > MAX_INPUT {
            return Err(Unusable::TooLong);
        }
        let input = self.joined(arguments);
        if self.is_quick(input.len()) { Ok(regex.find(&input).is_some()) } else { self.watched(input) }
    }

    /// By one space; by NUL where the pattern has one, so that it sees where an argument ends (5.16).
    fn joined(&self, arguments: &[String]) -> String {
        if !self.text.contains('\0') {
            return arguments.join(" ");
        }
        if arguments.is_empty() { "\0\0".to_owned() } else { format!("{}\0", arguments.join("\0")) }
    }

    /// Whether it ends soon whatever the input: with at most one choice there is little to go back to.
    fn is_quick(&self, input: usize) -> bool {
        let choices =
            self.text.bytes().filter(|byte| matches!(byte, b'*' | b'+' | b'?' | b'{' | b'|')).count();
        choices == 0 || choices == 1 && input <= 1024
    }

    /// On a thread of its own: the engine goes back as often as it likes, and cannot be told to stop.
    fn watched(&self, input: String) -> Result<bool, Unusable> {
        let counted = Counted::one().ok_or(Unusable::TooSlow)?;
        let (said, answer) = mpsc::channel();
        let compiled = Arc::clone(&self.compiled);
        let work = move || {
            let found =
                compiled.get().and_then(Option::as_ref).is_some_and(|regex| regex.find(&input).is_some());
            drop(counted);
            // Nobody listens any more where it took too long.
            let _ = said.send(found);
        };
        if std::thread::Builder::new().name("arg-pattern".to_owned()).spawn(work).is_err() {
            return Err(Unusable::TooSlow);
        }
        answer.recv_timeout(DEADLINE).map_err(|_| Unusable::TooSlow)
    }
}

/// One pattern at work.
struct Counted;

impl Counted {
    /// Waits while too many are at work: calls at the same time must not make each other's entries fail.
    fn one() -> Option<Self> {
        let at_work = AT_WORK.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |at_work: &mut usize| *at_work >= MAX_AT_WORK;
        let waited = ENDED.wait_timeout_while(at_work, DEADLINE, full);
        let (mut at_work, late) = waited.unwrap_or_else(PoisonError::into_inner);
        if late.timed_out() && *at_work >= MAX_AT_WORK {
            return None;
        }
        *at_work += 1;
        Some(Self)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        *AT_WORK.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        ENDED.notify_one();
    }
}

/// What a generated value begins with.
pub(super) const BOUND: &str = "sha256:cwd-argv:v1:";

/// `sha256:cwd-argv:v1:…` of arguments in a directory (5.19).
pub fn bound_pattern(dir: &str, arguments: &[String]) -> String {
    let dir = normal(dir);
    let mut hash = Sha256::new();
    counted(&mut hash, &dir);
    hash.update(arguments.len().to_string());
    hash.update([0]);
    for argument in arguments {
        counted(&mut hash, argument);
    }
    format!("{BOUND}{}", crate::state::hex(&hash.finalize()))
}

/// A text behind its length, so that no two lists are alike.
fn counted(hash: &mut Sha256, text: &str) {
    hash.update(text.len().to_string());
    hash.update([0]);
    hash.update(text);
    hash.update([0]);
}

/// As [`bound_pattern`], of a directory as a path; nothing where it is no text, since no value stands for it.
pub(super) fn bound(dir: &Path, arguments: &[String]) -> Option<String> {
    Some(bound_pattern(dir.to_str()?, arguments))
}

/// The text of a directory without repeated slashes and dots; a slash at the end stays.
fn normal(dir: &str) -> String {
    let slashed = dir.replace('\\', "/");
    let mut clean = crate::paths::lexical::clean_text(&slashed);
    if slashed.ends_with('/') && !clean.ends_with('/') {
        clean.push('/');
    }
    clean
}
