//! Screens of real programs, hostile ones, and waits.

use std::time::Duration;

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

fn drawn(columns: u16, rows: u16, output: &str) -> Screen {
    let mut screen = Screen::new(Size::new(columns, rows).unwrap()).unwrap();
    screen.feed(output.as_bytes());
    screen
}

fn rows(columns: u16, rows: u16, output: &str) -> Vec<String> {
    drawn(columns, rows, output).view().rows
}

#[test]
fn a_view_is_complete() {
    let screen = drawn(10, 3, "\x1b]0;top\x07one  \r\ntwo\x1b[?25l");
    let view = View {
        columns: 10,
        rows: vec!["one".to_owned(), "two".to_owned(), String::new()],
        cursor: Cursor { row: 1, column: 3, visible: false },
        title: Some("top".to_owned()),
        alternate: false,
    };
    assert_eq!(screen.view(), view);
    assert_eq!(screen.text(), "one\ntwo");
    let json = serde_json::to_value(&view).unwrap();
    assert_eq!(json["cursor"], serde_json::json!({"row": 1, "column": 3, "visible": false}));
}

#[test]
fn full_screen_programs_leave_the_shell_as_it_was() {
    let mut screen = drawn(8, 2, "$ vi\r\n\x1b[?1049h\x1b[H~\r\n~");
    assert!(screen.view().alternate);
    assert_eq!(screen.view().rows, ["~", "~"]);
    screen.feed(b"\x1b[?1049l$ ");
    assert!(!screen.view().alternate);
    assert_eq!(screen.view().rows, ["$ vi", "$"]);
}

#[test]
fn drawing() {
    assert_eq!(rows(8, 2, "\x1b(0lqk\x1b(B\r\nlqk"), ["┌─┐", "lqk"], "line drawing");
    assert_eq!(rows(8, 1, "abc\x1b[2G\x1b[4hX\x1b[4l"), ["aXbc"], "insert mode");
    assert_eq!(rows(8, 1, "progress 10%\rprogress"), ["progress"], "overwritten");
    assert_eq!(rows(4, 3, "abcdef"), ["abcd", "ef", ""], "wrapped");
    assert_eq!(rows(4, 1, "日本x"), ["x"], "wide, scrolled away");
    assert_eq!(rows(10, 1, "a\tb\x08c"), ["a       c"], "tab and backspace");
    assert_eq!(rows(8, 2, "one\r\ntwo\r\nthree"), ["two", "three"], "scrolled");
    assert_eq!(rows(8, 3, "1\r\n2\r\n3\x1b[2;3r\x1b[3H\n"), ["1", "3", ""], "region");
    assert_eq!(rows(8, 1, "\u{2588}\u{2591} é"), ["█░ é"], "blocks");
}

#[test]
fn a_line_that_the_terminal_broke_is_one_line_of_text() {
    let screen = drawn(6, 3, "error: not found\r\n$");
    assert_eq!(screen.text(), " not found\n$", "its beginning has left the screen");
    let screen = drawn(6, 5, "error: not found\r\n$");
    assert_eq!(screen.text(), "error: not found\n$");
}

#[test]
fn what_has_no_width_is_left_out() {
    assert_eq!(rows(8, 1, "a\u{200b}b\u{202e}c\u{ad}d\u{301}e\x7f\u{feff}"), ["abcde"]);
}

#[test]
fn titles() {
    let title = |output: &str| drawn(8, 1, output).view().title;
    assert_eq!(title("\x1b]2;vim\x1b\\").as_deref(), Some("vim"));
    assert_eq!(title("\x1b]0;a\x07\x1b]1;icon\x07").as_deref(), Some("a"));
    assert_eq!(title("\x1b]2;a;b é\u{202e}\u{9c}").as_deref(), Some("a;b é"));
    assert_eq!(title("\x1b]2;a\x07\x1b]2;never ended"), Some("a".to_owned()));
    assert_eq!(title("\x1b]2;a\x07\x1b]2;cancelled\x18"), Some("a".to_owned()));
    assert_eq!(title("\x1b]2;a\x07\x1b]2;\x07"), None, "taken back");
    assert_eq!(title("\x1b]22;x\x07"), None);
    let long = title(&format!("\x1b]2;{}\x07", "é".repeat(5000))).unwrap();
    assert_eq!(long.chars().count(), MAX_TITLE);
}

#[test]
fn a_resize_breaks_lines_anew_and_keeps_the_cursor_on_the_screen() {
    let mut screen = drawn(4, 3, "abcdef\x1b[3;4H");
    screen.resize(Size::new(8, 2).unwrap());
    assert_eq!(screen.view().rows.first().map(String::as_str), Some("abcdef"));
    screen.resize(Size::new(2, 1).unwrap());
    let view = screen.view();
    assert_eq!((view.columns, view.rows.len()), (2, 1));
    assert!(view.cursor.row < 1 && view.cursor.column < 2);
}

#[test]
fn a_program_cannot_size_the_screen() {
    let screen = drawn(4, 2, "\x1b[8;9999;9999t\x1b[?3h");
    assert_eq!((screen.view().columns, screen.view().rows.len()), (4, 2));
    assert!(Size::new(0, 1).is_err() && Size::new(501, 1).is_err() && Size::new(1, 201).is_err());
    let error = Size::new(0, 1).unwrap_err().to_string();
    assert_eq!(
        error,
        "a screen of 0 columns and 1 rows cannot be had; choose 1 to 500 columns and 1 to 200 rows"
    );
}

#[test]
fn repetition_ends_with_the_line() {
    assert_eq!(rows(4, 2, "a\x1b[2b"), ["aaa", ""]);
    assert_eq!(rows(4, 2, "a\x1b[65535b"), ["aaaa", "a"]);
}

#[test]
fn work_is_told() {
    let mut screen = drawn(10, 5, "");
    assert_eq!(screen.feed(b"abc\x1b[1m\x1b[?25l"), 5);
    assert_eq!(screen.feed(b"\x1b[2J\x1b[99S\x1b[2L\x1b[?1049h"), 200);
    assert_eq!(screen.feed(b"\x1b[65535b"), 10);
    assert_eq!(screen.feed(b"\x1b#8"), 0, "a test picture is not drawn");
    assert_eq!(screen.view().rows, [""; 5]);
}

/// What programs print, and what nobody does.
fn output() -> impl Strategy<Value = Vec<u8>> {
    let number =
        prop_oneof![Just(String::new()), (0..70_000_u32).prop_map(|n| n.to_string()), Just("1".to_owned())];
    let modes = proptest::sample::select(vec!["1", "4", "6", "7", "20", "25", "47", "1047", "1048", "1049"]);
    let csi = (
        "[?!> ]?",
        proptest::collection::vec(prop_oneof![number, modes.prop_map(str::to_owned)], 0..4),
        "[@-~]",
    )
        .prop_map(|(lead, numbers, last)| format!("\x1b[{lead}{}{last}", numbers.join(";")).into_bytes());
    let piece = prop_oneof![
        4 => csi,
        2 => "[ -~]{0,12}".prop_map(String::into_bytes),
        2 => "[日é\u{301}😀\u{200d}\u{fe0f}❤\u{ad}\u{80}-\u{9f}]{0,4}".prop_map(String::into_bytes),
        2 => "\x1b[78cDEMH=>\\]P_^X(][0B#]?[0-9;]{0,3}".prop_map(String::into_bytes),
        2 => "[\x00-\x1f]{0,3}".prop_map(String::into_bytes),
        1 => proptest::collection::vec(any::<u8>(), 0..6),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn size() -> impl Strategy<Value = Size> {
    (1..14_u16, 1..9_u16).prop_map(|(columns, rows)| Size::new(columns, rows).unwrap())
}

/// All that a screen may hold is within its bounds.
fn sound(screen: &Screen) -> Result<(), TestCaseError> {
    let (view, size) = (screen.view(), screen.size());
    prop_assert_eq!((view.columns, view.rows.len()), (size.columns(), usize::from(size.rows())));
    prop_assert!(view.cursor.row < size.rows() && view.cursor.column < size.columns());
    for row in view.rows {
        let width: usize = row.chars().map(|one| one.width().unwrap_or(0)).sum();
        prop_assert!(width <= size.columns().into() && !row.chars().any(char::is_control), "{row:?}");
    }
    prop_assert!(view.title.is_none_or(|title| title.chars().count() <= MAX_TITLE));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// Any bytes in any pieces give the screen that they give at once.
    #[test]
    fn pieces_do_not_matter(output in output(), size in size(), cut in 1..9_usize) {
        let (mut whole, mut cuts) = (Screen::new(size).unwrap(), Screen::new(size).unwrap());
        let work = whole.feed(&output);
        prop_assert_eq!(work, output.chunks(cut).map(|chunk| cuts.feed(chunk)).sum::<u64>());
        prop_assert_eq!(whole.view(), cuts.view());
        prop_assert_eq!(whole.text(), cuts.text());
        sound(&whole)?;
    }

    /// No output and no resize in between breaks a screen.
    #[test]
    fn nothing_breaks_a_screen(steps in proptest::collection::vec((output(), size()), 1..6)) {
        let mut screen = Screen::new(Size::default()).unwrap();
        for (output, size) in steps {
            screen.feed(&output);
            sound(&screen)?;
            screen.resize(size);
            sound(&screen)?;
        }
    }
}

const SECOND: Duration = Duration::from_secs(1);

/// A wait of ten seconds that began at second 100.
fn judged(conditions: &[Condition], moment: Moment<'_>) -> Verdict {
    Wait::new(conditions.to_vec(), 10 * SECOND).unwrap().judge(&moment)
}

fn moment(text: &str, now: u32) -> Moment<'_> {
    Moment { text, now: now * SECOND, began: 100 * SECOND, last_output: 50 * SECOND, ended: false }
}

#[test]
fn waits_for_text_and_patterns() {
    let text = [Condition::text("login:").unwrap()];
    assert_eq!(judged(&text, moment("Debian\nlogin: ", 100)), Verdict::Met);
    assert_eq!(judged(&text, moment("Login:", 101)), Verdict::Pending(110 * SECOND));
    assert_eq!(judged(&text, moment("", 110)), Verdict::TimedOut);
    assert_eq!(judged(&text, moment("login:", 110)), Verdict::Met, "what holds at the end is met");
    let regex = [Condition::regex(r"^\d+ passed$").unwrap()];
    assert_eq!(judged(&regex, moment("running\n12 passed\n$", 100)), Verdict::Met);
    assert_eq!(judged(&regex, moment("12 passed, 1 failed", 100)), Verdict::Pending(110 * SECOND));
}

#[test]
fn the_end_of_the_program_ends_every_wait() {
    let ended = Moment { ended: true, ..moment("bye", 101) };
    assert_eq!(judged(&[Condition::Exit], ended), Verdict::Met);
    assert_eq!(judged(&[Condition::text("bye").unwrap(), Condition::Exit], ended), Verdict::Met);
    assert_eq!(judged(&[Condition::text("hello").unwrap()], ended), Verdict::Ended);
    assert_eq!(judged(&[Condition::quiet(SECOND).unwrap()], ended), Verdict::Met);
    assert_eq!(judged(&[Condition::Exit], moment("", 101)), Verdict::Pending(110 * SECOND));
}

#[test]
fn quiet_counts_from_the_wait_or_the_last_output() {
    let quiet = [Condition::quiet(2 * SECOND).unwrap()];
    assert_eq!(judged(&quiet, moment("", 101)), Verdict::Pending(102 * SECOND));
    assert_eq!(judged(&quiet, moment("", 102)), Verdict::Met);
    let busy = Moment { last_output: 101 * SECOND, ..moment("", 102) };
    assert_eq!(judged(&quiet, busy), Verdict::Pending(103 * SECOND));
    let long = [Condition::quiet(Duration::MAX).unwrap()];
    assert_eq!(judged(&long, moment("", 102)), Verdict::Pending(110 * SECOND));
    let both = [Condition::text("$").unwrap(), Condition::quiet(2 * SECOND).unwrap()];
    assert_eq!(judged(&both, moment("$", 101)), Verdict::Pending(102 * SECOND));
    assert_eq!(judged(&both, moment("$", 102)), Verdict::Met);
}

#[test]
fn bad_conditions_are_refused() {
    let refused = |condition: Result<Condition, ScreenError>| condition.unwrap_err();
    assert_eq!(refused(Condition::text("")), ScreenError::Empty("text"));
    assert_eq!(refused(Condition::quiet(Duration::ZERO)), ScreenError::Empty("quiet"));
    assert!(matches!(
        refused(Condition::regex(&"a".repeat(5000))),
        ScreenError::TooLong { length: 5000, .. }
    ));
    assert_eq!(
        refused(Condition::regex("a(b")).to_string(),
        "the regular expression cannot be used: unclosed group; use `text` for a text as it is"
    );
    assert!(matches!(refused(Condition::regex(r"(\w{1000}){1000}")), ScreenError::Pattern(_)));
    assert_eq!(Wait::new(Vec::new(), SECOND).unwrap_err(), ScreenError::NoCondition);
    assert_eq!(Wait::new(vec![Condition::Exit; 17], SECOND).unwrap_err(), ScreenError::TooManyConditions(17));
}
