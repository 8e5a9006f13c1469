//! Denials in a row for each session (13.15). Pure.

use std::collections::VecDeque;

/// This many in a row, and a person is asked.
pub(super) const MOST: u32 = 3;
/// Sessions that are remembered; the one that was denied longest ago is forgotten first.
const SESSIONS: usize = 256;

/// The count for each session.
#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: VecDeque<(String, u32)>,
}

impl Tally {
    /// Counts a denial. Says whether there are too many in a row: until somebody allows or decides, a person is asked.
    pub(super) fn denied(&mut self, session: &str) -> bool {
        let known = self.counts.iter().position(|(name, _)| name == session);
        let (name, count) =
            known.and_then(|at| self.counts.remove(at)).unwrap_or_else(|| (session.to_owned(), 0));
        let count = count.saturating_add(1);
        self.counts.push_back((name, count));
        if self.counts.len() > SESSIONS {
            self.counts.pop_front();
        }
        count >= MOST
    }

    /// Begins anew.
    pub(super) fn reset(&mut self, session: &str) {
        self.counts.retain(|(name, _)| name != session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_in_a_row_are_for_a_person() {
        let mut tally = Tally::default();
        assert!(!tally.denied("a") && !tally.denied("a") && !tally.denied("b"));
        assert!(tally.denied("a") && tally.denied("a"));
        tally.reset("a");
        assert!(!tally.denied("a") && !tally.denied("b") && tally.denied("b"));
    }

    #[test]
    fn sessions_are_bounded() {
        let mut tally = Tally::default();
        for session in 0..1000 {
            tally.denied(&session.to_string());
        }
        assert_eq!(tally.counts.len(), SESSIONS);
        assert_eq!(tally.counts.front().unwrap().0, "744");
    }
}
