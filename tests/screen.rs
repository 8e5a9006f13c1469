//! A screen and a tracker hold no more than their bounds, whatever a program prints. Alone in its process: the memory
//! of the process is what is measured.

#![expect(clippy::unwrap_used, reason = "tests: a failure here is a failed test")]

use creel::process::keys::CursorTracker;
use creel::process::screen::{Screen, Size};

const CHUNK: usize = 1 << 16;
const CHUNKS: usize = 128;

/// Output that never ends what it begins, or puts everything in one place.
const HOSTILE: &[(&str, &str, &str)] = &[
    ("a title without end", "\x1b]2;", "x"),
    ("a clipboard without end", "\x1b]52;c;", "QUJD"),
    ("a device control string without end", "\x1bPq", "#0;2;0;0;0"),
    ("a private string without end", "\x1b_G", "abc"),
    ("numbers without end", "\x1b[", "1;"),
    ("one number without end", "\x1b[", "9"),
    ("marks on one letter", "e", "\u{301}"),
    ("joined emoji", "😀", "\u{200d}😀"),
    ("titles", "", "\x1b]0;another title\x07"),
    ("scrolling on both screens", "", "line\n\x1b[?1049hline\n\x1b[?1049l"),
    ("saved cursors", "", "\x1b7\x1b[s\x1b[?1048h"),
    ("tabs", "", "\x1b[5C\x1bH"),
    ("half characters", "", "\u{20ac}"),
];

/// Resident bytes of this process.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

#[test]
fn memory_is_bounded_whatever_is_printed() {
    for (name, begin, again) in HOSTILE {
        let mut screen = Screen::new(Size::default()).unwrap();
        let mut tracker = CursorTracker::default();
        // An odd length cuts characters and sequences anywhere.
        let chunk: Vec<u8> = again.bytes().cycle().take(CHUNK - 1).collect();
        screen.feed(begin.as_bytes());
        tracker.feed(begin.as_bytes());
        screen.feed(&chunk);
        tracker.feed(&chunk);
        let before = resident();
        for _ in 0..CHUNKS {
            screen.feed(&chunk);
            tracker.feed(&chunk);
        }
        let grown = resident().saturating_sub(before);
        assert!(grown < CHUNK * CHUNKS / 4, "{name}: {grown} bytes more");
        screen.resize(Size::MAX);
        assert_eq!(screen.view().rows.len(), 200, "{name}");
    }
}
