//! Which finished sessions go (spec `exec.md` §5.1): too old, too many, too much text. Pure, and its application.

use std::sync::Arc;

use super::core::Core;
use super::entry::Entry;
use crate::process::record::{Phase, SessionId};
use crate::process::spool::LEAST;
use crate::process::store::now_ms;

/// Finished sessions that are kept at most.
pub const MOST_FINISHED: usize = 50;
/// Characters of all finished sessions' aggregates that are kept at most.
pub const MOST_CHARS: u64 = 2_000_000;
/// Results that were delivered and are kept for a call that is made again.
const MOST_DELIVERED: usize = 200;
/// How long those are kept at least, in milliseconds.
const DELIVERED_LIFE_MS: u64 = 600_000;
/// Bounds of the time that a finished session is kept, in milliseconds.
const LIFE_MS: std::ops::RangeInclusive<u64> = 60_000..=10_800_000;

/// A finished session as the rule sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finished {
    id: SessionId,
    ended_ms: u64,
    life_ms: u64,
    chars: u64,
    /// It was in the background. A foreground command's result waits for its caller, who takes it away.
    listed: bool,
    /// Its caller has had the result.
    delivered: bool,
}

/// The sessions that go. The newest always stays until it is too old.
fn doomed(mut finished: Vec<Finished>, now: u64) -> Vec<SessionId> {
    finished.sort_by(|a, b| (b.ended_ms, &b.id).cmp(&(a.ended_ms, &a.id)));
    let (mut kept, mut chars, mut gone) = (0, 0_u64, Vec::new());
    let (mut delivered, mut delivered_chars) = (0, 0_u64);
    for one in finished {
        let least = if one.listed { *LIFE_MS.start() } else { DELIVERED_LIFE_MS };
        let life = one.life_ms.clamp(least, *LIFE_MS.end());
        let room = if one.listed {
            kept == 0 || (kept < MOST_FINISHED && chars.saturating_add(one.chars) <= MOST_CHARS)
        } else if one.delivered {
            delivered += 1;
            delivered_chars = delivered_chars.saturating_add(one.chars);
            delivered <= MOST_DELIVERED && delivered_chars <= MOST_CHARS
        } else {
            true
        };
        let old = now.saturating_sub(one.ended_ms) > life;
        if old || !room {
            gone.push(one.id);
        } else if one.listed {
            kept += 1;
            chars = chars.saturating_add(one.chars);
        }
    }
    gone
}

/// Applies the rule, and lets finished sessions keep less where all output takes too much room.
pub(super) fn sweep(core: &Core) {
    let entries = core.all();
    let finished: Vec<_> = entries.iter().filter_map(|entry| look(entry)).collect();
    let doomed = doomed(finished, now_ms());
    let gone: Vec<_> = entries.iter().filter(|entry| doomed.contains(&entry.id)).cloned().collect();
    if let Err(error) = core.delete(&gone) {
        tracing::warn!(%error, "finished sessions cannot be forgotten");
    }
    if core.budget.is_exceeded() {
        shrink(core, entries);
    }
    if let Err(error) = core.events.expire() {
        tracing::warn!(%error, "events cannot be expired");
    }
}

fn look(entry: &Entry) -> Option<Finished> {
    let mut state = entry.lock();
    if state.phase != Phase::Finished {
        return None;
    }
    // What ended while no creel was there to tell it is kept from when one was.
    let ended_ms = state.end.as_ref()?.at_ms.max(state.stored_ms);
    let (chars, _) = state.printed(&entry.begin);
    let chars = chars.min(u64::try_from(entry.begin.max_aggregate).unwrap_or(u64::MAX));
    let (id, life_ms, listed) = (entry.id.clone(), entry.begin.cleanup_ms, state.backgrounded);
    Some(Finished { id, ended_ms, life_ms, chars, listed, delivered: state.delivered })
}

fn shrink(core: &Core, mut entries: Vec<Arc<Entry>>) {
    entries.retain(|entry| entry.is_finished());
    entries.sort_by_key(|entry| entry.lock().end.as_ref().map(|end| end.at_ms));
    for entry in entries {
        if !core.budget.is_exceeded() {
            return;
        }
        let mut state = entry.lock();
        state.look_at_text();
        if let Err(error) = state.spool.shrink(LEAST) {
            tracing::warn!(%error, "output cannot be dropped");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(id: &str, ended_ms: u64, chars: u64) -> Finished {
        Finished {
            id: SessionId(id.to_owned()),
            ended_ms,
            life_ms: 60_000,
            chars,
            listed: true,
            delivered: false,
        }
    }

    fn gone(finished: &[Finished], now: u64) -> Vec<String> {
        doomed(finished.to_vec(), now).into_iter().map(|id| id.0).collect()
    }

    #[test]
    fn old_ones_go_even_the_newest() {
        let finished = [one("a", 1_000, 5), one("b", 2_000, 5)];
        assert_eq!(gone(&finished, 61_000), [""; 0]);
        assert_eq!(gone(&finished, 61_001), ["a"]);
        assert_eq!(gone(&finished, 70_000), ["b", "a"]);
        // Lives are clamped.
        let short = Finished { life_ms: 1, ..one("a", 0, 0) };
        let left = |now| gone(std::slice::from_ref(&short), now).len();
        assert_eq!((left(60_000), left(60_001)), (0, 1));
    }

    #[test]
    fn the_oldest_make_room() {
        let many: Vec<_> = (0..55).map(|n| one(&format!("{n:02}"), n, 1)).collect();
        assert_eq!(gone(&many, 100), ["04", "03", "02", "01", "00"]);
        let large = [one("a", 1, MOST_CHARS), one("b", 2, 1), one("c", 3, MOST_CHARS + 1)];
        assert_eq!(gone(&large, 10), ["b", "a"], "the newest stays, however large");
        let waiting: Vec<_> = many.iter().map(|one| Finished { listed: false, ..one.clone() }).collect();
        assert_eq!(gone(&waiting, 100), [""; 0], "results whose callers wait are not counted");
        let delivered = |n: u64| Finished { listed: false, delivered: true, ..one(&format!("{n:03}"), n, 1) };
        let delivered: Vec<_> = (0..203).map(delivered).collect();
        assert_eq!(gone(&delivered, 600_000), ["002", "001", "000"], "others are, and live longer");
        assert_eq!(gone(&delivered[202..], 600_203), ["202"]);
    }
}
