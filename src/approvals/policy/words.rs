//! Policies as people type them: in a chat, on a command line. Space around a word and its case do not count there
//! (spec `approvals.md` 2.05); in files they do.

use super::mode::PermissionMode;
use crate::config::exec::{ASK, Ask, ExecHost, ExecMode, HOST, MODE, SECURITY, Security};

fn one_of<T: Copy>(text: &str, words: &[(&str, T)]) -> Option<T> {
    let text = text.trim();
    words.iter().find(|(word, _)| text.eq_ignore_ascii_case(word)).map(|(_, value)| *value)
}

/// `deny`, `allowlist`, `full`.
pub fn security(text: &str) -> Option<Security> {
    one_of(text, SECURITY)
}

/// `off`, `on-miss`, `always`.
pub fn ask(text: &str) -> Option<Ask> {
    one_of(text, ASK)
}

/// `deny`, `allowlist`, `ask`, `auto`, `full`.
pub fn mode(text: &str) -> Option<ExecMode> {
    one_of(text, MODE)
}

/// `auto`, `sandbox`, `gateway`, `node`: where a command is sent.
pub fn target(text: &str) -> Option<ExecHost> {
    one_of(text, HOST)
}

/// `sandbox`, `gateway`, `node`: where a command runs.
pub fn host(text: &str) -> Option<ExecHost> {
    target(text).filter(|host| *host != ExecHost::Auto)
}

/// `read-only`, `guarded`, `workspace`, `full`.
pub fn permission(text: &str) -> Option<PermissionMode> {
    use PermissionMode::{Full, Guarded, ReadOnly, Workspace};
    let words = [ReadOnly, Guarded, Workspace, Full].map(|mode| (mode.name(), mode));
    one_of(text, &words)
}
