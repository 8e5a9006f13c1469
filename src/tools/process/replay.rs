//! The output that is kept, from its beginning to now, piece by piece.

use super::desk::Desk;
use crate::process::record::View;

/// Bytes of one piece.
pub(super) const PIECE: usize = 64 << 10;

/// Hands every piece on, oldest first. What the table no longer has is passed over.
pub(super) fn each(desk: &Desk<'_>, view: &View, mut take: impl FnMut(&[u8])) {
    let mut from = 0;
    while from < view.written {
        let Ok(pieces) = desk.sessions.raw(&view.id, from, PIECE) else { return };
        let Some(next) = pieces.last().map(|last| end(last.seq, last.data.len())) else { return };
        pieces.iter().for_each(|piece| take(&piece.data));
        if next <= from {
            return;
        }
        from = next;
    }
}

/// The position behind a piece.
pub(super) fn end(seq: u64, length: usize) -> u64 {
    seq.saturating_add(u64::try_from(length).unwrap_or(u64::MAX))
}
