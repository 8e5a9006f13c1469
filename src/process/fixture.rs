//! Sessions for the tests of what is said of them.

use std::path::PathBuf;
use std::time::Duration;

use super::record::{Begin, Delivery, End, Phase, Place, SessionId, View};
use crate::approvals::policy::Target;
use crate::runner::{Certainty, Death, Outcome, Processes, Transport};

/// Runs in the background since `started_at_ms`, and has printed nothing.
pub(crate) fn running(started_at_ms: u64) -> View {
    View {
        id: SessionId("keen-otter".to_owned()),
        begin: begin(),
        phase: Phase::Background,
        backgrounded: true,
        finalizing: false,
        started_at_ms,
        pid: Some(7),
        stdin_writable: false,
        last_output_ms: started_at_ms,
        written: 0,
        lost_output: false,
        lost_pending: false,
        end: None,
    }
}

/// Ended in the background after two seconds.
pub(crate) fn finished(death: Death, code: Option<i32>, signal: Option<i32>) -> View {
    let end = End { outcome: outcome(death, code, signal), at_ms: 3000, requested: false, lost: None };
    View { phase: Phase::Finished, end: Some(end), ..running(1000) }
}

/// The same, because somebody asked for it.
pub(crate) fn stopped(code: Option<i32>, signal: Option<i32>) -> View {
    let mut view = finished(Death::Cancelled, code, signal);
    if let Some(end) = &mut view.end {
        end.requested = true;
    }
    view
}

/// An outcome whose processes are proven gone.
pub(crate) fn outcome(death: Death, code: Option<i32>, signal: Option<i32>) -> Outcome {
    Outcome {
        death,
        certainty: Certainty::Certain,
        code,
        signal,
        start_failure: None,
        errno: 0,
        wall: Duration::from_secs(2),
        usage: None,
        processes: Some(Processes { proven_gone: true, ..Processes::default() }),
        stdout_bytes: 0,
        stderr_bytes: 0,
        full: Vec::new(),
        limits: None,
        transport: Transport::Init,
    }
}

fn begin() -> Begin {
    Begin {
        agent: "main".to_owned(),
        session_key: Some("agent:main:main".to_owned()),
        call: None,
        command: "npm run build".to_owned(),
        title: None,
        cwd: "/workspace".to_owned(),
        host: Target::Sandbox,
        place: Place::Host { dir: PathBuf::from("/nowhere") },
        shell: true,
        tty: None,
        stdin: false,
        timeout_ms: Some(1_800_000),
        silence_ms: None,
        grace_ms: 5000,
        cleanup_ms: 1_800_000,
        notify_on_exit: true,
        notify_empty_success: false,
        subagent: false,
        delivery: Delivery::default(),
        approval: None,
        running_notice_ms: 0,
        max_aggregate: 200_000,
        max_pending: 30_000,
    }
}
