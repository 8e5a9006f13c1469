//! The table, the grammar, pastes and the tracker.

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

fn keys(keys: &[&str], mode: CursorKeys) -> Encoded {
    let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
    encode(&Request { keys: &keys, ..Request::default() }, mode).unwrap()
}

fn bytes(key: &str) -> Vec<u8> {
    keys(&[key], CursorKeys::Normal).bytes
}

fn said(entries: &[&str]) -> Vec<String> {
    keys(entries, CursorKeys::Normal).warnings.kept().iter().map(ToString::to_string).collect()
}

#[test]
fn text_hex_and_keys_are_sent_in_this_order() {
    let (hex, keys) = (["0x41".to_owned(), "b".to_owned()], ["Enter".to_owned()]);
    let sent = encode(&Request { literal: "é", hex: &hex, keys: &keys }, CursorKeys::Normal).unwrap();
    assert_eq!(sent.bytes, "éA\x0b\r".as_bytes());
    assert!(sent.warnings.is_empty() && !sent.cursor_sensitive);
}

#[test]
fn modifiers() {
    for (key, sent) in [
        ("C-c", "\x03"),
        ("c-m-C", "\x1b\x03"),
        ("S-a", "A"),
        ("M-é", "\x1bé"),
        ("M-😀", "\x1b😀"),
        ("^[", "\x1b"),
        ("C-?", "\x7f"),
        ("C-1", "1"),
        ("C-S-Left", "\x1b[1;6D"),
        ("M-Up", "\x1b[1;3A"),
        ("S-Home", "\x1b[1;2~"),
        ("C-M-S-End", "\x1b[4;8~"),
        ("C-Delete", "\x1b[3;5~"),
        ("M-S-Tab", "\x1b[Z"),
        ("C-F5", "\x1b[15~"),
        ("C--", "-"),
    ] {
        assert_eq!(bytes(key), sent.as_bytes(), "{key}");
    }
}

#[test]
fn the_cursor_mode_decides_over_unmodified_keys_only() {
    let all = ["Up", "Home", "End", "C-Up", "PageUp"];
    assert_eq!(keys(&all, CursorKeys::Normal).bytes, b"\x1b[A\x1b[1~\x1b[4~\x1b[1;5A\x1b[5~");
    assert_eq!(keys(&all, CursorKeys::Application).bytes, b"\x1bOA\x1bOH\x1bOF\x1b[1;5A\x1b[5~");
    let unknown = keys(&all, CursorKeys::Unknown);
    assert_eq!(unknown.bytes, keys(&all, CursorKeys::Normal).bytes);
    assert_eq!(unknown.warnings.kept(), [Warning::CursorKeysUnknown { keys: 3 }]);
    assert!(!keys(&["C-Up", "Insert"], CursorKeys::Unknown).cursor_sensitive);
}

#[test]
fn what_is_no_key_is_text_and_names_the_key_that_was_meant() {
    assert_eq!(bytes("Ctrl+C"), b"Ctrl+C");
    for (text, key) in [
        ("Ctrl+C", "C-c"),
        ("control-alt-Del", "C-M-Delete"),
        ("Shift+Tab", "S-Tab"),
        ("ArrowUp", "Up"),
        ("Page_Down", "PageDown"),
        ("Entr", "Enter"),
    ] {
        let expected = if key == "C-M-Delete" { "C-M-Del" } else { key };
        assert_eq!(said(&[text]), [format!("\"{text}\" was sent as text; the key is written {expected}.")]);
    }
    for text in ["hello", "entry", "a-b", ":wq", "git-log", "C-", "日本", "--"] {
        assert_eq!(said(&[text]), [""; 0], "{text}");
    }
    assert_eq!(
        said(&["C-f13", "M-日本"]),
        [
            "Unknown key \"f13\" for modifiers; sending literal. The nearest known key is F1.",
            "Unknown key \"日本\" for modifiers; sending literal."
        ]
    );
}

#[test]
fn nothing_to_send_is_an_error_that_says_what_was_passed_over() {
    let hex = ["0x".to_owned(), "4 1".to_owned(), "\x1b[2J".to_owned()];
    let error =
        encode(&Request { hex: &hex, keys: &["  ".to_owned()], ..Request::default() }, CursorKeys::Normal);
    assert_eq!(
        error.unwrap_err().to_string(),
        "No key data provided.\nWarnings:\n- Invalid hex byte: 0x\n- Invalid hex byte: 4 1\n- Invalid hex byte: \
         \\u{1b}[2J"
    );
}

#[test]
fn input_and_warnings_are_bounded() {
    let long = "x".repeat(MAX_INPUT + 1);
    let request = Request { literal: &long, ..Request::default() };
    assert_eq!(encode(&request, CursorKeys::Normal), Err(KeyError::TooLong { length: MAX_INPUT + 1 }));
    assert_eq!(paste(&long, true), Err(KeyError::TooLong { length: MAX_INPUT + 1 }));
    let hex = vec!["zz".to_owned(); 1000];
    let many = encode(&Request { literal: "x", hex: &hex, keys: &[] }, CursorKeys::Normal).unwrap().warnings;
    assert_eq!(many.kept().len(), 20);
    assert!(many.to_string().ends_with("\n- and 980 more."));
}

#[test]
fn a_paste_cannot_leave_its_brackets() {
    let sent = |text: &str| String::from_utf8(paste(text, true).unwrap().bytes).unwrap();
    assert_eq!(sent("a\r\nb\n"), "\x1b[200~a\r\nb\n\x1b[201~");
    for marker in ["\x1b[201~", "\u{9b}201~", "\x1b[0201~", "\x1b[201;5~", "\x1b[201:1~", "\x1b\x1b[201~"] {
        let pasted = sent(&format!("x{marker}rm -rf /\n"));
        let inside =
            pasted.strip_prefix("\x1b[200~").and_then(|rest| rest.strip_suffix("\x1b[201~")).unwrap();
        assert!(!inside.contains("\x1b[") && !inside.contains('\u{9b}'), "{pasted:?}");
    }
    for harmless in ["\x1b[2010~", "\x1b[201", "\x1b[31m", "\x1b[201x", "201~", "\x1b[20\x1b"] {
        assert_eq!(sent(harmless), format!("\x1b[200~{harmless}\x1b[201~"));
    }
    assert_eq!(paste("\x1b[20\x1b[201~1~", true).unwrap().neutralised, 1);
    assert_eq!(paste("é\x1b[201~", false).unwrap().bytes, "é\x1b[201~".as_bytes());
    assert_eq!(paste("é😀", true).unwrap().chars, 2);
    assert_eq!(paste("", true).unwrap().bytes, b"\x1b[200~\x1b[201~");
    assert_eq!(paste("", false), Err(KeyError::NoText));
}

#[test]
fn the_tracker_follows_announcements_and_resets() {
    let mut tracker = CursorTracker::default();
    assert_eq!(tracker.mode(), CursorKeys::Unknown);
    for (output, mode) in [
        ("$ ls\r\n\x1b[?25h\x1b[1h\x1b[?11h", CursorKeys::Unknown),
        ("\x1b]0;\x1b[?1", CursorKeys::Unknown),
        ("h", CursorKeys::Application),
        ("\x1b[?25;1l", CursorKeys::Normal),
        ("\u{9b}?2004;1h", CursorKeys::Application),
        ("\x1b[!p", CursorKeys::Normal),
        ("\x1b[?1h\x1bc", CursorKeys::Normal),
        ("\x1b[?1\x18h", CursorKeys::Normal),
        ("\x1bP\x1b[?1h", CursorKeys::Application),
        ("\x1bPq[?1l", CursorKeys::Application),
    ] {
        tracker.feed(output.as_bytes());
        assert_eq!(tracker.mode(), mode, "{output:?}");
    }
}

proptest! {
    /// Where output is cut does not matter to the tracker.
    #[test]
    fn cuts_do_not_matter(
        pieces in proptest::collection::vec(
            proptest::sample::select(vec![
                "\x1b[?1h", "\x1b[?1l", "\x1bc", "\x1b[!p", "\x1b]2;", "\x07", "\u{9b}?1", "h", "é", "\x18",
            ]),
            0..30,
        ),
        cut in 1..7_usize,
    ) {
        let output = pieces.concat().into_bytes();
        let (mut whole, mut cuts) = (CursorTracker::default(), CursorTracker::default());
        whole.feed(&output);
        output.chunks(cut).for_each(|chunk| cuts.feed(chunk));
        prop_assert_eq!(whole.mode(), cuts.mode());
    }

    /// Whatever is pasted, the only end marker is the last one.
    #[test]
    fn pastes_end_where_they_end(text in "[\u{1b}\u{9b}\\[0-2~;x]{0,40}") {
        let pasted = String::from_utf8(paste(&text, true).unwrap().bytes).unwrap();
        prop_assert_eq!(pasted.find("\x1b[201~"), Some(pasted.len() - 6));
        prop_assert_eq!(pasted.find("\u{9b}201~"), None);
    }

    /// Any entry gives bytes or an error.
    #[test]
    fn any_entry(key in "\\PC{0,12}|[CMS^+-]{0,4}.{0,3}", hex in "\\PC{0,4}") {
        let (keys, hex) = ([key], [hex]);
        let _ = encode(&Request { literal: "", hex: &hex, keys: &keys }, CursorKeys::Unknown);
    }
}
