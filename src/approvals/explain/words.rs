//! Reasons in a few words.

use crate::approvals::assess::{By, Gap};
use crate::approvals::enforce::Unpinnable;
use crate::approvals::host::error::UNSEEN;
use crate::approvals::policy::Reason;
use crate::approvals::remember::OneShot;
use crate::shell::analyse::{Obstacle, Unclear};

/// What stands in the way of an analysis: a stable word, and the same for people.
pub fn obstacle(obstacle: Obstacle) -> (&'static str, String) {
    let told = |word, text: &str| (word, text.to_owned());
    match obstacle {
        Obstacle::Unread(reason) => ("unread", reason.to_string()),
        Obstacle::CommandSubstitution => {
            told("command-substitution", "a command substitution: what it prints becomes part of the command")
        }
        Obstacle::ProcessSubstitution => {
            told("process-substitution", "a process substitution: another command runs beside this one")
        }
        Obstacle::DynamicArgument => {
            told("dynamic-argument", "an argument that the shell makes of a variable or an expression")
        }
        Obstacle::DynamicExecutable => {
            told("dynamic-executable", "a command word that the shell makes: what runs is not known before")
        }
        Obstacle::LineContinuation => told("line-continuation", "a line that is continued with a backslash"),
        Obstacle::Redirect => {
            told("redirect", "a redirection to or from a file: no entry of a list says which files")
        }
        Obstacle::HereDocument => {
            told("here-document", "a here-document whose text the shell expands (quote its delimiter)")
        }
        Obstacle::HereString => told("here-string", "a here-string"),
        Obstacle::Background => told("background", "&: the command goes on behind the shell's back"),
        Obstacle::Subshell => told("subshell", "a subshell ( … )"),
        Obstacle::Group => told("group", "a group { …; }"),
        Obstacle::If => told("if", "if"),
        Obstacle::While => told("while", "while or until"),
        Obstacle::For => told("for", "for"),
        Obstacle::Case => told("case", "case"),
        Obstacle::Test => told("test", "[[ … ]]"),
        Obstacle::Function => told("function", "the definition of a function"),
        Obstacle::Nothing => told("nothing", "no command"),
    }
}

/// Why it is not known what a command runs.
pub const fn unclear(unclear: Unclear) -> &'static str {
    match unclear {
        Unclear::Evaluates => "it runs a text that is made or read elsewhere",
        Unclear::Environment => "it changes the environment or the state of the shell",
        Unclear::Wrapper => "a wrapper with an option that changes more than is modelled",
        Unclear::Carrier => "it starts programs that its arguments name",
        Unclear::Shell => "a shell with a text that is not followed",
        Unclear::Query => "it only asks about a command",
    }
}

/// What covers a command, as a stable word.
pub const fn by(by: &By) -> &'static str {
    match by {
        By::Entry(_) => "entry",
        By::SafeBin => "safe-bin",
        By::Builtin => "builtin",
        By::Skill => "skill",
        By::Nothing(Gap::NotFound) => "not-found",
        By::Nothing(Gap::NoEntry) => "no-entry",
        By::Nothing(Gap::Unclear(_)) => "unclear",
        By::Nothing(Gap::Untrusted(_)) => "untrusted",
    }
}

/// The same for people; the entry is told by whoever knows it.
pub fn covered(by: &By) -> String {
    match by {
        By::Entry(_) => "an entry covers it".to_owned(),
        By::SafeBin => "a safe program: it only filters its input".to_owned(),
        By::Builtin => "a builtin that starts and writes nothing".to_owned(),
        By::Skill => "a program of a skill".to_owned(),
        By::Nothing(Gap::NotFound) => "no program of that name in PATH".to_owned(),
        By::Nothing(Gap::NoEntry) => "no entry covers it".to_owned(),
        By::Nothing(Gap::Unclear(why)) => {
            format!("no entry can cover it: {}", unclear(*why))
        }
        By::Nothing(Gap::Untrusted(word)) => {
            format!("{:?} in front of it is not one of the system's programs", crate::shown::one_line(word))
        }
    }
}

/// Why "always" writes nothing.
pub const fn one_shot(why: OneShot) -> &'static str {
    match why {
        OneShot::Unplanned => "it could not be analysed",
        OneShot::PromptOnly => "no entry can cover a part of it",
        OneShot::RuntimePayload => "what it runs is made while it runs",
        OneShot::NoReusablePattern => {
            "a shell, an interpreter, a wildcard or a program that was not found: what runs is not said by a program and \
             its arguments alone"
        }
        OneShot::ProjectFiles => "files of the project say what it runs, and they may change",
    }
}

/// What a reason of the policy means.
pub fn reason(reason: Reason) -> String {
    match reason {
        Reason::Full => "everything runs".to_owned(),
        Reason::Listed => "every command is covered".to_owned(),
        Reason::Durable => "it was approved for good".to_owned(),
        Reason::SecurityDeny => "nothing runs on this host".to_owned(),
        Reason::Miss => "what is not covered needs a person".to_owned(),
        Reason::Environment => "it is covered, and the call sets what no entry speaks of".to_owned(),
        Reason::AskAlways => "a person sees every command".to_owned(),
        Reason::InlineEval => "code in an argument needs a person".to_owned(),
        Reason::Unpinned => "it is covered, and cannot be run exactly as it was matched".to_owned(),
        Reason::Unseen => UNSEEN.to_owned(),
        Reason::Suppresses => "it changes which findings of the audit are suppressed".to_owned(),
    }
}

/// The layer of a reason.
pub const fn layer(reason: Reason) -> &'static str {
    match reason {
        Reason::Full | Reason::Listed | Reason::Durable | Reason::SecurityDeny | Reason::Miss => "policy",
        Reason::Environment => "environment",
        Reason::AskAlways => "ask",
        Reason::InlineEval => "inline-eval",
        Reason::Unpinned => "plan",
        Reason::Suppresses => "audit",
        Reason::Unseen => "denylist",
    }
}

/// Why a command cannot be pinned, as it is told behind "not pinned: ".
pub fn unpinned(why: Unpinnable) -> String {
    why.to_string()
}
