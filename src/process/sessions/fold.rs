//! From a spool's bytes to text that can be shown (spec `exec.md` §6): counted, capped, polled. Nothing of the text is
//! kept here: it is read again when somebody wants it.

use std::ops::ControlFlow;

use super::kept::{Kept, merged};
use super::{Aggregated, Drained};
use crate::process::keys::{CursorKeys, CursorTracker};
use crate::process::spool::{Spool, SpoolError, Stored};
use crate::process::text::Sanitizer;
use crate::wire::Stream;

/// One for each stream.
type Sanitizers = [Sanitizer; 2];

/// What is known of a session's text.
#[derive(Debug)]
pub(super) struct Fold {
    /// Output before this has been counted.
    to: u64,
    sanitizers: Sanitizers,
    /// Characters that were counted.
    chars: u64,
    /// The state at the beginning of each segment, so that the text of the last ones can be made without the first.
    marks: Vec<Mark>,
    drained: Point,
    /// Characters of each stream since the last poll.
    pending: [u64; 2],
    /// The pending cap dropped something, some time.
    overflowed: bool,
    /// Of a terminal: which mode its program has announced.
    tracker: Option<Box<CursorTracker>>,
    /// Most characters pending of each stream.
    cap: u64,
}

#[derive(Debug, Clone)]
struct Mark {
    at: u64,
    sanitizers: Sanitizers,
    chars: u64,
}

/// Up to where was polled.
#[derive(Debug, Clone)]
struct Point {
    at: u64,
    sanitizers: Sanitizers,
    /// The end was polled too: a character that was never finished has been told.
    ended: bool,
}

/// Where the polls of a session stand.
#[derive(Debug, Clone)]
pub(super) struct Position {
    drained: Point,
    pending: [u64; 2],
}

impl Fold {
    /// Nothing was read yet; output before `drained` was polled by another creel.
    pub(super) fn new(cap: usize, terminal: bool, drained: u64, overflowed: bool) -> Self {
        Self {
            to: 0,
            sanitizers: Sanitizers::default(),
            chars: 0,
            marks: Vec::new(),
            drained: Point { at: drained, sanitizers: Sanitizers::default(), ended: false },
            pending: [0; 2],
            overflowed,
            tracker: terminal.then(Box::default),
            cap: u64::try_from(cap).unwrap_or(u64::MAX),
        }
    }

    /// Counts what has come since.
    pub(super) fn catch_up(&mut self, spool: &Spool) -> Result<(), SpoolError> {
        if self.to >= spool.end() {
            return Ok(());
        }
        let from = self.to;
        spool.read(from, |piece| {
            self.count(piece);
            ControlFlow::Continue(())
        })?;
        self.to = spool.end();
        if self.drained.at >= self.to {
            self.drained.sanitizers = self.sanitizers.clone();
        }
        let first = spool.first();
        self.marks.retain(|mark| mark.at >= first);
        Ok(())
    }

    fn count(&mut self, piece: Stored<'_>) {
        if piece.leads {
            let mark = Mark { at: piece.seq, sanitizers: self.sanitizers.clone(), chars: self.chars };
            self.marks.push(mark);
        }
        if piece.seq <= self.drained.at {
            self.drained.sanitizers = self.sanitizers.clone();
        }
        if let Some(tracker) = &mut self.tracker {
            tracker.feed(piece.data);
        }
        let text = of(&mut self.sanitizers, piece.stream).push(piece.data);
        let chars = count(&text);
        self.chars += chars;
        if piece.seq >= self.drained.at {
            let [out, err] = &mut self.pending;
            let pending = if piece.stream == Stream::Stderr { err } else { out };
            *pending += chars;
            self.overflowed |= *pending > self.cap;
        }
        self.to = piece.seq + u64::try_from(piece.data.len()).unwrap_or(0);
    }

    /// Characters so far.
    pub(super) fn chars(&self) -> u64 {
        self.chars
    }

    /// The pending cap dropped something, some time.
    pub(super) fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// Up to where was polled.
    pub(super) fn drained(&self) -> u64 {
        self.drained.at
    }

    /// Something waits for a poll.
    pub(super) fn is_pending(&self) -> bool {
        self.pending.iter().any(|chars| *chars > 0)
    }

    /// What the program of a terminal has announced; on pipes it is always the normal mode.
    pub(super) fn cursor_keys(&self) -> CursorKeys {
        self.tracker.as_ref().map_or(CursorKeys::Normal, |tracker| tracker.mode())
    }

    /// The last `chars` characters of both streams in order of arrival. `ended` tells that nothing follows.
    pub(super) fn tail(&self, spool: &Spool, chars: usize, ended: bool) -> Result<Aggregated, SpoolError> {
        let skip = self.chars.saturating_sub(u64::try_from(chars).unwrap_or(u64::MAX));
        let mark = self.marks.iter().rev().find(|mark| mark.chars <= skip).or(self.marks.first());
        let mut kept = Kept::new(chars);
        let (from, mut sanitizers) =
            mark.map_or_else(|| (0, Sanitizers::default()), |mark| (mark.at, mark.sanitizers.clone()));
        spool.read(from, |piece| {
            kept.push(piece.seq, of(&mut sanitizers, piece.stream).push(piece.data));
            ControlFlow::Continue(())
        })?;
        if ended {
            for sanitizer in &mut sanitizers {
                kept.push(u64::MAX, sanitizer.finish());
            }
        }
        let (pieces, dropped) = kept.finish();
        let text = pieces.map(|(_, text)| text).collect();
        Ok(Aggregated { text, truncated: dropped || skip > 0 || spool.first() > 0 })
    }

    /// Where the polls stand now.
    pub(super) fn position(&self) -> Position {
        Position { drained: self.drained.clone(), pending: self.pending }
    }

    /// What was taken since `before` is pending again. False where it is already.
    pub(super) fn give_back(&mut self, before: &Position) -> bool {
        let later = self.drained.is_after(&before.drained);
        if later {
            self.drained = before.drained.clone();
            for (pending, more) in self.pending.iter_mut().zip(before.pending) {
                *pending += more;
            }
        }
        later
    }

    /// What was given back has arrived after all.
    pub(super) fn advance(&mut self, before: &Position, after: &Position) {
        if after.drained.is_after(&self.drained) {
            self.drained = after.drained.clone();
            for (pending, less) in self.pending.iter_mut().zip(before.pending) {
                *pending = pending.saturating_sub(less);
            }
        }
    }

    /// Takes what is pending; call [`Self::catch_up`] before.
    pub(super) fn drain(&mut self, spool: &Spool, ended: bool) -> Result<Drained, SpoolError> {
        let cap = usize::try_from(self.cap).unwrap_or(usize::MAX);
        let mut streams = [Kept::new(cap), Kept::new(cap)];
        let lost = spool.first() > self.drained.at;
        // What the spool no longer has is skipped, and the text goes on in the state that held there.
        let (from, mut sanitizers) = match self.marks.first().filter(|_| lost) {
            Some(mark) => (mark.at, mark.sanitizers.clone()),
            None => (self.drained.at, self.drained.sanitizers.clone()),
        };
        spool.read(from, |piece| {
            let text = of(&mut sanitizers, piece.stream).push(piece.data);
            of(&mut streams, piece.stream).push(piece.seq, text);
            ControlFlow::Continue(())
        })?;
        if ended && !self.drained.ended {
            for (stream, sanitizer) in streams.iter_mut().zip(&mut sanitizers) {
                stream.push(u64::MAX, sanitizer.finish());
            }
        }
        let (text, dropped) = merged(streams);
        self.drained = Point { at: self.to, sanitizers: self.sanitizers.clone(), ended };
        self.pending = [0; 2];
        self.overflowed |= dropped || lost;
        Ok(Drained { text, dropped: dropped || lost })
    }
}

impl Point {
    fn is_after(&self, other: &Self) -> bool {
        (self.at, self.ended) > (other.at, other.ended)
    }
}

fn of<T>(pair: &mut [T; 2], stream: Stream) -> &mut T {
    let [out, err] = pair;
    if stream == Stream::Stderr { err } else { out }
}

fn count(text: &str) -> u64 {
    u64::try_from(text.chars().count()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::spool::Budget;

    #[test]
    fn what_did_not_arrive_is_pending_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut spool = Spool::fresh(dir.path().join("c"), &Budget::default());
        let mut fold = Fold::new(100, false, 0, false);
        let take = |fold: &mut Fold, spool: &Spool| {
            fold.catch_up(spool).unwrap();
            let before = fold.position();
            let text = fold.drain(spool, false).unwrap().text;
            (text, before, fold.position())
        };
        spool.append(Stream::Stdout, 0, b"one ").unwrap();
        let (text, before, after) = take(&mut fold, &spool);
        assert_eq!(text, "one ");
        assert!(fold.give_back(&before) && !fold.give_back(&before));
        assert!(fold.is_pending());
        assert_eq!((fold.drained(), fold.pending), (0, [4, 0]));
        // It arrived after all.
        fold.advance(&before, &after);
        assert!(!fold.is_pending());
        assert_eq!(take(&mut fold, &spool).0, "");
        // What came in between is not lost with an older one.
        assert!(fold.give_back(&before));
        spool.append(Stream::Stderr, 4, b"two").unwrap();
        assert_eq!(take(&mut fold, &spool).0, "one two");
    }
}
