use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

fn whole(bytes: &[u8]) -> String {
    let mut sanitizer = Sanitizer::default();
    sanitizer.push(bytes) + &sanitizer.finish()
}

#[test]
fn sequences_go_and_text_stays() {
    let rows: &[(&str, &str)] = &[
        ("plain\ttext\r\nnext", "plain\ttext\r\nnext"),
        ("\x1b[31mred\x1b[0m\x07\x01", r"red\x07\x01"),
        ("a\u{9b}1;2Hb", "ab"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]0;title\x1b\\x", "x"),
        ("\u{9d}0;title\u{9c}x", "x"),
        ("\x1b]8;;https://a.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]never ends, \n whatever comes", ""),
        ("\x1b(Bx\x1b7y\x1b=z\x1b#8", "xyz"),
        ("\x1bPq payload\x1b\\", "q payload"),
        ("\x1b[3\x181mx", "1mx"),
        ("\x1b[3\x1a1mx", "1mx"),
        ("\x1b]0;t\x18x", "x"),
        ("\x1b\x18x\x18", r"x\x18"),
        ("\x1b[3\x07\n1mx", "\\x07\nx"),
        ("\x1b[3\x7f1mx", r"\x7fx"),
        ("\x1b\n[1mx", "\nx"),
        ("\x1b[1\x1b[2mx", "x"),
        ("\x1b]0;t\x1b[1mx", "x"),
        ("\x1b]0;t\x1b\x1b\\x", "x"),
        ("\x1b[1é2mx", "é2mx"),
        ("\x1bé", "é"),
        ("\x1b[1", ""),
        ("\x1b", ""),
        ("\u{85}\u{9c}\x00\x7f", r"\x85\x9c\x00\x7f"),
        ("a\u{200b}b\u{ad}c\u{feff}d\u{202e}e\u{e0041}", "abcde"),
        ("👩\u{200d}💻", "👩💻"),
        ("Größe 日本 \u{2028}", "Größe 日本 \u{2028}"),
    ];
    for (input, text) in rows {
        assert_eq!(whole(input.as_bytes()), *text, "{input:?}");
    }
}

#[test]
fn what_is_no_utf8_is_replaced() {
    assert_eq!(whole(b"a\xffb\x9b1m"), "a\u{fffd}b\u{fffd}1m");
    assert_eq!(whole(b"caf\xc3"), "caf\u{fffd}");
    assert_eq!(whole(b"\xed\xa0\x80"), "\u{fffd}\u{fffd}\u{fffd}");
}

#[test]
fn floods_grow_nothing() {
    let mut sanitizer = Sanitizer::default();
    assert_eq!(sanitizer.push(b"\x1b]52;c;"), "");
    for _ in 0..1000 {
        assert_eq!(sanitizer.push(&[b'A'; 4096]), "");
    }
    assert_eq!(sanitizer.push(b"\x07text"), "text");
    let colours = "\x1b[38;5;196m".repeat(100_000);
    assert_eq!(sanitizer.push(colours.as_bytes()), "");
    assert_eq!(sanitizer.finish(), "");
}

/// Bytes that begin, fill and end sequences and characters, more often than chance would.
fn awkward() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "\x1b", "[", "]", "\\", "\x07", "\u{9b}", "\u{9c}", "\u{9d}", "\x18", "0;1", "m", "é",
            "\u{200d}", "👩", "\r\n", "\x00", "(", " ", "~",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn cuts_do_not_matter(bytes in awkward(), cuts in prop::collection::vec(1..6_usize, 0..80)) {
        let (mut sanitizer, mut rest, mut text) = (Sanitizer::default(), bytes.as_slice(), String::new());
        for cut in cuts {
            let (head, tail) = rest.split_at(cut.min(rest.len()));
            text += &sanitizer.push(head);
            rest = tail;
        }
        text += &sanitizer.push(rest);
        text += &sanitizer.finish();
        prop_assert_eq!(text, whole(&bytes));
    }

    #[test]
    fn nothing_left_acts_on_a_terminal(bytes in awkward()) {
        let text = whole(&bytes);
        let acts = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r');
        prop_assert!(!text.chars().any(acts), "{:?}", text);
        // And shown again it stays what it is.
        prop_assert_eq!(whole(text.as_bytes()), text);
    }
}
