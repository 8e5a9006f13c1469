//! What can be waited for, as values: the caller brings screen, clock and the news that the program has ended.
//!
//! Quiet counts from the last output, or from the beginning of the wait if that is later. Otherwise a wait right after
//! some input would be over before the program could answer it.

use std::time::Duration;

use regex::{Regex, RegexBuilder};

use super::ScreenError;

/// Conditions of one wait.
pub const MAX_CONDITIONS: usize = 16;

/// Bytes of a text or an expression.
pub const MAX_LENGTH: usize = 4096;

/// Bytes that a compiled expression may need.
const MAX_COMPILED: usize = 1 << 20;

/// One thing that must hold.
#[derive(Debug, Clone)]
pub enum Condition {
    /// The screen shows a text.
    Text(String),
    /// The screen shows something that fits; `^` and `$` are the ends of lines.
    Pattern(Regex),
    /// No output for this long.
    Quiet(Duration),
    /// The program has ended.
    Exit,
}

impl Condition {
    /// The screen shows this text, case included.
    pub fn text(text: &str) -> Result<Self, ScreenError> {
        fits("text", text)?;
        Ok(Self::Text(text.to_owned()))
    }

    /// The screen shows something that fits this regular expression. It takes time linear in the screen, whatever it is.
    pub fn regex(pattern: &str) -> Result<Self, ScreenError> {
        fits("regex", pattern)?;
        let mut builder = RegexBuilder::new(pattern);
        builder.multi_line(true).size_limit(MAX_COMPILED).dfa_size_limit(MAX_COMPILED);
        builder.build().map(Self::Pattern).map_err(|error| ScreenError::Pattern(one_line(&error)))
    }

    /// No output for this long.
    pub fn quiet(time: Duration) -> Result<Self, ScreenError> {
        if time.is_zero() { Err(ScreenError::Empty("quiet")) } else { Ok(Self::Quiet(time)) }
    }

    /// Whether it holds, or else the reading of the clock at which it would without more news.
    fn holds(&self, moment: &Moment<'_>) -> Result<(), Option<Duration>> {
        let seen = match self {
            Self::Text(text) => moment.text.contains(text),
            Self::Pattern(pattern) => pattern.is_match(moment.text),
            Self::Quiet(time) => {
                let due = moment.last_output.max(moment.began).saturating_add(*time);
                return if moment.ended || moment.now >= due { Ok(()) } else { Err(Some(due)) };
            }
            Self::Exit => moment.ended,
        };
        if seen { Ok(()) } else { Err(None) }
    }
}

fn fits(condition: &'static str, text: &str) -> Result<(), ScreenError> {
    match text.len() {
        0 => Err(ScreenError::Empty(condition)),
        length if length > MAX_LENGTH => Err(ScreenError::TooLong { condition, length }),
        _ => Ok(()),
    }
}

/// The reason is in the last line of the parser's drawing.
fn one_line(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned()
}

/// What the caller knows at one moment. All times are readings of one clock that never goes back.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// [`super::Screen::text`].
    pub text: &'a str,
    /// The reading now.
    pub now: Duration,
    /// When the wait began.
    pub began: Duration,
    /// When output last came; the start of the program if none did.
    pub last_output: Duration,
    /// Whether the program has ended and all its output is on the screen.
    pub ended: bool,
}

/// How a wait stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Everything holds.
    Met,
    /// The program ended before: nothing more will come.
    Ended,
    /// The time is over.
    TimedOut,
    /// Look again when output comes, when the program ends, or at this reading of the clock.
    Pending(Duration),
}

/// Conditions that must hold at the same time, and how long to wait for that.
#[derive(Debug, Clone)]
pub struct Wait {
    conditions: Vec<Condition>,
    timeout: Duration,
}

impl Wait {
    /// At least one condition.
    pub fn new(conditions: Vec<Condition>, timeout: Duration) -> Result<Self, ScreenError> {
        match conditions.len() {
            0 => Err(ScreenError::NoCondition),
            many if many > MAX_CONDITIONS => Err(ScreenError::TooManyConditions(many)),
            _ => Ok(Self { conditions, timeout }),
        }
    }

    /// How it stands. What holds at the very end is met, not missed.
    pub fn judge(&self, moment: &Moment<'_>) -> Verdict {
        let deadline = moment.began.saturating_add(self.timeout);
        let missing: Vec<_> = self.conditions.iter().filter_map(|one| one.holds(moment).err()).collect();
        if missing.is_empty() {
            Verdict::Met
        } else if moment.ended {
            Verdict::Ended
        } else if moment.now >= deadline {
            Verdict::TimedOut
        } else {
            Verdict::Pending(missing.into_iter().flatten().fold(deadline, Duration::min))
        }
    }
}
