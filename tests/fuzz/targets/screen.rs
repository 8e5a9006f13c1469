//! What a program prints, drawn as a screen and read for its cursor key mode, in pieces and at once.

#![no_main]

use creel::process::keys::CursorTracker;
use creel::process::screen::{Screen, Size};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let [cut, columns, rows, output @ ..] = bytes else { return };
    let size = |columns: u8, rows: u8| Size::new(u16::from(columns) % 40 + 1, u16::from(rows) % 12 + 1).unwrap();
    let first = size(*columns, *rows);
    let (mut whole, mut pieces) = (Screen::new(first).unwrap(), Screen::new(first).unwrap());
    let (mut one, mut other) = (CursorTracker::default(), CursorTracker::default());
    let chunk = usize::from(*cut) % 16 + 1;
    whole.feed(output);
    one.feed(output);
    for piece in output.chunks(chunk) {
        pieces.feed(piece);
        other.feed(piece);
    }
    assert_eq!((whole.view(), whole.text(), one.mode()), (pieces.view(), pieces.text(), other.mode()));
    for piece in output.chunks(chunk * 4) {
        let after = size(piece.first().copied().unwrap_or(1), piece.last().copied().unwrap_or(1));
        whole.resize(after);
        whole.feed(piece);
        let view = whole.view();
        assert_eq!(view.rows.len(), usize::from(after.rows()));
        assert!(view.cursor.row < after.rows() && view.cursor.column < after.columns());
        assert!(!view.rows.concat().chars().any(char::is_control));
    }
});
