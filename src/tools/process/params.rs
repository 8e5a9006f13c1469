//! The parameters of `process`: one flat object for all actions (spec `exec.md` §7.1).

use serde::Deserialize;

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// All sessions of the agent.
    List,
    /// What is new, and whether it goes on.
    Poll,
    /// Lines of the output that is kept.
    Log,
    /// Raw input.
    Write,
    /// Keys.
    SendKeys,
    /// The Enter key.
    Submit,
    /// Pasted text.
    Paste,
    /// End it.
    Kill,
    /// Forget a finished one.
    Clear,
    /// End it and forget it.
    Remove,
    /// What its terminal shows.
    Screen,
    /// Wait for something.
    Wait,
}

/// The call. Numbers may have fractions, which are dropped.
#[derive(Debug, Clone, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Params {
    /// What to do: list, poll (new output and state), log (lines of the kept output), write (raw input), send-keys, submit
    /// (Enter), paste, kill, clear (forget a finished session), remove (end and forget), screen (what the terminal shows),
    /// wait (until a text, a pattern, quiet or the exit).
    pub action: Action,
    /// The session, as exec named it; for every action but list.
    pub session_id: Option<String>,
    /// write: the text to send.
    pub data: Option<String>,
    /// send-keys: keys such as Enter, C-c, M-x, Up, F5, or single characters; sent last.
    pub keys: Option<Vec<String>>,
    /// send-keys: bytes as one or two hex digits each; sent after literal.
    pub hex: Option<Vec<String>>,
    /// send-keys: text sent as it is, first.
    pub literal: Option<String>,
    /// paste: the text to paste. wait: the text to wait for.
    pub text: Option<String>,
    /// paste: mark the text as pasted; default true.
    pub bracketed: Option<bool>,
    /// write: end the input after the data.
    pub eof: Option<bool>,
    /// log: the first line, from 0.
    pub offset: Option<f64>,
    /// log: how many lines.
    pub limit: Option<f64>,
    /// poll: wait up to this many milliseconds (at most 30000) for news. wait: give up after this many milliseconds (default
    /// 30000, at most 600000).
    pub timeout: Option<f64>,
    /// wait: a regular expression that a line of the screen or output must match.
    pub regex: Option<String>,
    /// wait: until nothing was printed for this many milliseconds.
    pub quiet: Option<f64>,
    /// wait: until the command has ended.
    pub exit: Option<bool>,
}

/// A number of the call as a whole one: fractions dropped, what is below zero is zero.
pub(super) fn whole(number: f64) -> u64 {
    // Everything that a caller can mean is far below the numbers that f64 holds exactly.
    const MOST: f64 = 9_007_199_254_740_991.0;
    format!("{:.0}", number.trunc().clamp(0.0, MOST)).parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_and_signs_are_dropped() {
        let rows = [
            (0.0, 0),
            (1.9, 1),
            (-3.5, 0),
            (1e300, 9_007_199_254_740_991),
            (f64::NAN, 0),
            (f64::INFINITY, 9_007_199_254_740_991),
        ];
        for (number, wanted) in rows {
            assert_eq!(whole(number), wanted, "{number}");
        }
    }
}
