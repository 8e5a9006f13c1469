//! What results say of commands (spec `exec.md` §5.2, §5.3, §6.2, §7.5): where the spec fixes a text, exactly that. Pure.

use std::time::Duration;

use super::duration::compact;
use super::ending::{Ending, Status};
use super::record::View;
use crate::runner::Death;

/// Stands for the output of a command that printed nothing.
pub const NO_OUTPUT: &str = "(no output)";

/// Stands for what a poll would have brought.
pub const NO_NEW_OUTPUT: &str = "(no new output)";

/// The state of a session that goes on, in a poll.
pub const STILL_RUNNING: &str = "Process still running.";

/// What a caller must know before it tries again after a limit.
pub const RETRY: &str = "What it did up to then may have taken effect. Check the state before you run it again; do not \
                         rerun it blindly.";

/// How to give a command time without holding the call.
pub const USE_BACKGROUND: &str = "For a command that takes long, or that is to go on, pass background: true or yieldMs \
                                  and follow it with process; a trailing & does not keep it.";

/// Output was dropped for good (the cap on the aggregate).
pub const LOST: &str = "[Earlier output was discarded at the limit of what is kept and cannot be recovered.]";

/// Output was left out of a poll (the cap on what is pending), and the log has it.
pub const LEFT_OUT: &str =
    "[Some output since the last poll is left out here; read it with action=log and offset/limit.]";

/// Output was left out of a poll, and no log has it any more.
pub const LEFT_OUT_GONE: &str = "[Some output since the last poll is left out here, and its record is gone.]";

const MEMORY: &str = "It was killed, perhaps because memory ran out: use less, or raise the limit \
                      (agents.defaults.sandbox.docker.memory).";

/// How long a session must be silent before it counts as waiting for input (spec `exec.md` §7.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleThreshold(pub u64);

impl Default for IdleThreshold {
    fn default() -> Self {
        Self(15_000)
    }
}

impl IdleThreshold {
    /// Name of its variable.
    pub const VARIABLE: &'static str = "OPENCLAW_PROCESS_INPUT_WAIT_IDLE_MS";

    /// From the variable's value, in milliseconds: a strict integer, clamped to 1000…600000; anything else is the
    /// default.
    pub fn from_variable(value: Option<&str>) -> Self {
        let number = value.map(str::trim).and_then(|value| value.parse::<i64>().ok());
        let clamped = number.map(|number| number.clamp(1000, 600_000).unsigned_abs());
        clamped.map_or_else(Self::default, Self)
    }
}

/// Whether a session probably waits for input: it takes some, and has been silent for long enough.
pub fn waits_for_input(view: &View, now_ms: u64, threshold: IdleThreshold) -> bool {
    view.end.is_none() && view.stdin_writable && idle_ms(view, now_ms) >= threshold.0
}

/// Milliseconds since a session last printed; since its start where it has not.
pub fn idle_ms(view: &View, now_ms: u64) -> u64 {
    now_ms.saturating_sub(view.last_output_ms.max(view.started_at_ms))
}

/// The hint for a session that waits for input.
pub fn input_hint(idle_ms: u64) -> String {
    format!(
        "No output for {}; it may be waiting for input. Use write, send-keys, submit or paste to answer it.",
        compact(idle_ms)
    )
}

/// The line of a poll for a session that has ended, with the warning that belongs to it.
pub fn exit_line(ending: &Ending) -> String {
    let line = match ending {
        Ending { stopped: true, .. } => format!("Process stopped by request ({}).", ending.how()),
        Ending { signal: Some(signal), .. } => format!("Process exited with signal {signal}."),
        Ending { code: Some(code), .. } => format!("Process exited with code {code}."),
        _ => "Process exited with unknown exit code.".to_owned(),
    };
    let notes = [
        ending.timed_out().then_some(RETRY),
        ending.unconfirmed.then_some("Whether all its processes are gone could not be confirmed."),
        (ending.death == Death::Memory).then_some(MEMORY),
    ];
    notes.into_iter().flatten().fold(line, |text, note| text + "\n\n" + note)
}

/// What `exec` says of the end of a command besides its output; `None` where there is nothing to say. `limit` is its
/// time limit. `process` tells whether the run has that tool. `trouble` is the account of a command that could not be
/// started or whose end could not be settled.
pub fn exec_reason(
    ending: &Ending,
    limit: Option<Duration>,
    process: bool,
    trouble: Option<&str>,
) -> Option<String> {
    let reason = match (ending.failure, &ending.signal, ending.code) {
        (None, _, None | Some(0)) => return None,
        (None, _, Some(code)) => format!("(Command exited with code {code})"),
        (Some("shell-not-executable"), ..) => "Command not executable (permission denied)".to_owned(),
        (Some("shell-command-not-found"), ..) => "Command not found".to_owned(),
        (Some("overall-timeout"), ..) => timed_out(limit, process),
        (Some("no-output-timeout"), ..) => format!("Command timed out.\n\n{RETRY}"),
        (Some("signal"), Some(signal), _) => aborted_by(signal),
        (Some("runtime-error"), ..) if trouble.is_some() => return trouble.map(str::to_owned),
        (Some(_), ..) => "Command aborted before exit code was captured".to_owned(),
    };
    Some(match trouble {
        Some(trouble) => format!("{reason}\n\n{trouble}"),
        None => reason,
    })
}

fn aborted_by(signal: &str) -> String {
    let line = format!("Command aborted by signal {signal}");
    if signal == "SIGKILL" { format!("{line}\n\n{MEMORY}") } else { line }
}

fn timed_out(limit: Option<Duration>, process: bool) -> String {
    let head = match limit {
        Some(limit) => format!("Command timed out after {} seconds.", limit.as_secs_f64()),
        None => "Command timed out.".to_owned(),
    };
    let advice = if process { format!("\n\n{USE_BACKGROUND}") } else { String::new() };
    format!("{head}\n\n{RETRY}{advice}")
}

/// The text of a finished `exec`: the output, and the reason behind it.
pub fn exec_text(output: &str, lost: bool, ending: &Ending, reason: Option<&str>) -> String {
    let output = output.trim();
    let shown = match (output.is_empty(), ending.status) {
        (true, Status::Completed) => NO_OUTPUT,
        _ => output,
    };
    let parts = [lost.then_some(LOST), Some(shown).filter(|text| !text.is_empty()), reason];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::process::fixture::{finished, running, stopped};

    fn of(view: &View) -> Ending {
        Ending::of(view.end.as_ref().unwrap())
    }

    #[test]
    fn lines_of_polls() {
        let line = |death, code, signal| exit_line(&of(&finished(death, code, signal)));
        assert_eq!(line(Death::Exit, Some(0), None), "Process exited with code 0.");
        assert_eq!(line(Death::Exit, Some(127), None), "Process exited with code 127.");
        assert_eq!(line(Death::Signal, None, Some(9)), "Process exited with signal SIGKILL.");
        assert_eq!(line(Death::EngineLost, None, None), "Process exited with unknown exit code.");
        assert_eq!(
            line(Death::Timeout, None, Some(15)),
            format!("Process exited with signal SIGTERM.\n\n{RETRY}")
        );
        assert_eq!(exit_line(&of(&stopped(None, Some(15)))), "Process stopped by request (signal SIGTERM).");
        assert_eq!(exit_line(&of(&stopped(Some(0), None))), "Process stopped by request (code 0).");
    }

    #[test]
    fn reasons_of_exec() {
        let limit = Some(Duration::from_millis(1500));
        let reason =
            |death, code, signal| exec_reason(&of(&finished(death, code, signal)), limit, true, None);
        let is =
            |death, code, signal, text: &str| assert_eq!(reason(death, code, signal).as_deref(), Some(text));
        assert_eq!(reason(Death::Exit, Some(0), None), None);
        is(Death::Exit, Some(3), None, "(Command exited with code 3)");
        is(Death::Exit, Some(126), None, "Command not executable (permission denied)");
        is(Death::Exit, Some(127), None, "Command not found");
        is(Death::Signal, None, Some(15), "Command aborted by signal SIGTERM");
        is(Death::EngineLost, None, None, "Command aborted before exit code was captured");
        let killed = reason(Death::Signal, None, Some(9)).unwrap();
        assert!(
            killed.starts_with("Command aborted by signal SIGKILL\n\nIt was killed, perhaps because memory"),
            "{killed}"
        );
        let late = reason(Death::Timeout, None, Some(15)).unwrap();
        assert_eq!(late, format!("Command timed out after 1.5 seconds.\n\n{RETRY}\n\n{USE_BACKGROUND}"));
        let late = of(&finished(Death::Timeout, None, Some(15)));
        assert_eq!(exec_reason(&late, None, false, None).unwrap(), format!("Command timed out.\n\n{RETRY}"));
        let whole = exec_reason(&late, Some(Duration::from_secs(30)), false, None).unwrap();
        assert!(whole.starts_with("Command timed out after 30 seconds.\n"), "{whole}");
        let never = of(&finished(Death::NotStarted, None, None));
        assert_eq!(exec_reason(&never, limit, true, Some("no such directory")).unwrap(), "no such directory");
    }

    #[test]
    fn texts_of_exec() {
        let of = |output: &str, code| {
            let ending = of(&finished(Death::Exit, Some(code), None));
            exec_text(output, false, &ending, exec_reason(&ending, None, true, None).as_deref())
        };
        assert_eq!(of("", 0), "(no output)");
        assert_eq!(of("\nhi\n\n", 0), "hi");
        assert_eq!(of("hi\n", 3), "hi\n\n(Command exited with code 3)");
        assert_eq!(of(" \n", 3), "(no output)\n\n(Command exited with code 3)");
        assert_eq!(of("sh: nope: not found\n", 127), "sh: nope: not found\n\nCommand not found");
        assert_eq!(of("", 127), "Command not found");
        let ending = self::of(&finished(Death::Exit, Some(0), None));
        assert_eq!(exec_text("end", true, &ending, None), format!("{LOST}\n\nend"));
    }

    #[test]
    fn the_threshold_is_a_strict_integer_within_bounds() {
        let of = |value| IdleThreshold::from_variable(value).0;
        let rows = [
            (None, 15_000),
            (Some("2000"), 2000),
            (Some(" 2000 "), 2000),
            (Some("1"), 1000),
            (Some("-5"), 1000),
            (Some("99999999"), 600_000),
            (Some("2s"), 15_000),
            (Some("2e3"), 15_000),
            (Some(""), 15_000),
        ];
        for (value, wanted) in rows {
            assert_eq!(of(value), wanted, "{value:?}");
        }
    }

    #[test]
    fn a_session_waits_for_input_when_it_takes_some_and_is_silent() {
        let waits = |view: &View, now| waits_for_input(view, now, IdleThreshold::default());
        let open = View { stdin_writable: true, ..running(1000) };
        assert!(!waits(&open, 15_999) && waits(&open, 16_000));
        assert!(!waits(&running(1000), 99_000), "its input is closed");
        assert!(!waits(&View { last_output_ms: 90_000, ..open.clone() }, 99_000));
        assert!(!waits(&View { end: finished(Death::Exit, Some(0), None).end, ..open.clone() }, 99_000));
        assert_eq!(idle_ms(&open, 500), 0, "clocks may go back");
        let hint = input_hint(65_000);
        assert!(
            ["1m5s", "write", "send-keys", "submit", "paste"].iter().all(|word| hint.contains(word)),
            "{hint}"
        );
    }
}
