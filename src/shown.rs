//! Text of others, made fit to be shown to people: nothing in it moves the cursor, begins a line, turns the direction of
//! what follows, or hides. Pure. JSON is left as it is: programs want the text, and its writer escapes.

/// Text for one place in one line.
pub fn one_line(text: &str) -> String {
    escaped(text, |_| false)
}

/// Text of several lines: those stay, and tabulators.
pub fn lines(text: &str) -> String {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

/// Whether a reader is told something else by this character than what stands there: control characters, marks of
/// direction, and what has neither width nor shape.
pub fn deceives(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

fn escaped(text: &str, stays: fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if deceives(c) && !stays(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_deceives_is_spelled_out() {
        assert_eq!(one_line("agent:main\u{1b}[31mRED\nFAKE"), r"agent:main\u{1b}[31mRED\nFAKE");
        assert_eq!(one_line("a\u{202e}b\u{200b}\u{e0041}\u{9b}"), r"a\u{202e}b\u{200b}\u{e0041}\u{9b}");
        assert_eq!(lines("a\n\tb\r"), "a\n\tb\\r");
    }

    #[test]
    fn what_is_read_as_it_stands_stays() {
        for text in ["/srv/Größe/日本 – ✓ \"x\" 'y' \\", ""] {
            assert_eq!(one_line(text), text);
        }
    }
}
