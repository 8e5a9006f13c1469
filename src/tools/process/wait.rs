//! `wait`: until a text, a pattern, quiet, the exit, or several of them at once (design §9; creel's own).

use std::time::Duration;

use tokio::time::Instant;

use super::desk::{self, Desk};
use super::eyes::{Eyes, Portion};
use super::params::{self, Params};
use super::{Reply, notes, screen};
use crate::process::duration::compact;
use crate::process::ending::Ending;
use crate::process::record::{SessionId, View};
use crate::process::said;
use crate::process::screen::{Condition, Moment, ScreenError, Verdict, Wait};

/// How long where the call says nothing.
const DEFAULT: Duration = Duration::from_secs(30);

/// The longest.
const LONGEST: Duration = Duration::from_mins(10);

/// How often to look, should no news come; and no more often than the second, should much come.
const LOOK: Duration = Duration::from_millis(250);
const BREATH: Duration = Duration::from_millis(20);

/// Characters of the output of pipes that are shown in the end.
const TAIL: usize = 2000;

pub(super) async fn run(desk: &Desk<'_>, id: &SessionId, params: &Params) -> Result<Reply, Reply> {
    let view = desk.any(id)?;
    let wait = read(params).map_err(|error| Reply::failed(sentence(&error)))?;
    let mut watch = Watch::begin(desk, &view).await?;
    let verdict = loop {
        // The end is seen before the output is read: then nothing printed is missing when it counts.
        let view = desk.any(id)?;
        let verdict = watch.look(desk, &view, &wait).await?;
        let Verdict::Pending(at) = verdict else { break verdict };
        let pause = at.saturating_sub(watch.now()).min(LOOK);
        tokio::select! {
            () = pause_for_news(desk, id, pause) => {}
            () = desk.cancel.cancelled() => return Err(Reply::failed("The call was cancelled.")),
        }
    };
    let view = desk.any(id)?;
    answer(desk, &view, &watch, verdict)
}

async fn pause_for_news(desk: &Desk<'_>, id: &SessionId, pause: Duration) {
    tokio::time::sleep(pause.min(BREATH)).await;
    desk.sessions.changed(id, pause.saturating_sub(BREATH)).await;
}

/// Conditions and patience of a call.
fn read(params: &Params) -> Result<Wait, ScreenError> {
    let text = params.text.as_deref().map(Condition::text);
    let regex = params.regex.as_deref().map(Condition::regex);
    let quiet = params.quiet.map(|ms| Condition::quiet(Duration::from_millis(params::whole(ms))));
    let exit = params.exit.filter(|exit| *exit).map(|_| Ok(Condition::Exit));
    let conditions = [text, regex, quiet, exit].into_iter().flatten().collect::<Result<Vec<_>, _>>()?;
    let patience = params.timeout.map_or(DEFAULT, |ms| Duration::from_millis(params::whole(ms)).min(LONGEST));
    Wait::new(conditions, patience)
}

fn sentence(error: &ScreenError) -> String {
    format!("Cannot wait: {error}.")
}

/// A wait in progress. Its clock is the runtime's: one that never goes back.
struct Watch {
    /// Of a terminal. What is written to pipes is looked at whole, as far as it is kept.
    eyes: Option<Eyes>,
    began: Instant,
    last_output: Duration,
    written: u64,
}

impl Watch {
    async fn begin(desk: &Desk<'_>, view: &View) -> Result<Self, Reply> {
        let eyes = match view.begin.tty {
            Some(_) => Some(Eyes::open(desk, view).await?),
            None => None,
        };
        Ok(Self { eyes, began: Instant::now(), last_output: Duration::ZERO, written: view.written })
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Reads what is new, and judges: a text that scrolls away is seen on its way.
    async fn look(&mut self, desk: &Desk<'_>, view: &View, wait: &Wait) -> Result<Verdict, Reply> {
        if view.written > self.written {
            (self.written, self.last_output) = (view.written, self.now());
        }
        let Some(mut eyes) = self.eyes.take() else {
            let kept = desk.sessions.aggregate(&view.id);
            let kept = kept.map_err(|error| desk::trouble("read", &view.id, &error))?;
            return Ok(wait.judge(&self.moment(&kept.text, desk::over(view))));
        };
        let mut verdict = Verdict::Pending(Duration::ZERO);
        while verdict != Verdict::Met && eyes.look(desk, view, Portion::Glance).await?.is_some() {
            verdict = wait.judge(&self.moment(&eyes.screen()?.text(), false));
            if verdict == Verdict::TimedOut {
                break;
            }
        }
        if verdict != Verdict::Met {
            verdict = wait.judge(&self.moment(&eyes.screen()?.text(), desk::over(view)));
        }
        self.eyes = Some(eyes);
        Ok(verdict)
    }

    fn moment<'a>(&self, text: &'a str, ended: bool) -> Moment<'a> {
        Moment { text, now: self.now(), began: Duration::ZERO, last_output: self.last_output, ended }
    }
}

fn answer(desk: &Desk<'_>, view: &View, watch: &Watch, verdict: Verdict) -> Result<Reply, Reply> {
    let waited = u64::try_from(watch.now().as_millis()).unwrap_or(u64::MAX);
    let (outcome, line) = match verdict {
        Verdict::Met => ("met", format!("Condition met after {}.", compact(waited))),
        Verdict::Ended => ("ended", "The process ended before the condition was met.".to_owned()),
        Verdict::TimedOut | Verdict::Pending(_) => {
            ("timed-out", format!("The condition was not met within {}.", compact(waited)))
        }
    };
    let seen = match &watch.eyes {
        Some(eyes) => screen::rows(&eyes.screen()?.view()),
        None => tail(desk, view),
    };
    let ending = view.end.as_ref().map(Ending::of);
    let text = notes::after(format!("{line}\n\n{seen}"), [ending.as_ref().map(said::exit_line)]);
    let status = ending.as_ref().map_or("running", |ending| ending.polled().as_str());
    let reply = Reply::new(text, status)
        .about(view)
        .with("outcome", outcome)
        .with("met", verdict == Verdict::Met)
        .with("waitedMs", waited);
    Ok(match &ending {
        None => reply.input(view, desk::now_ms(), desk.polls.threshold()),
        Some(ending) => reply.account(view, ending),
    })
}

fn tail(desk: &Desk<'_>, view: &View) -> String {
    let tail = desk.sessions.tail(&view.id, TAIL).unwrap_or_default();
    let tail = tail.trim();
    if tail.is_empty() { said::NO_OUTPUT.to_owned() } else { tail.to_owned() }
}
