//! Which lines of an output a call wants (spec `exec.md` §7.6). Pure.

/// Lines that are shown where the call says nothing.
pub const DEFAULT_TAIL: usize = 200;

/// The lines that were chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected<'a> {
    /// The lines, without their ends.
    pub lines: Vec<&'a str>,
    /// How many there are in all.
    pub total: usize,
    /// The call said nothing, and there are more than are shown.
    pub shortened: bool,
}

/// Lines from `offset` (0 is the first) on, `limit` of them. Without an offset the last `limit` ones; without either the
/// last [`DEFAULT_TAIL`]. `\r\n` is one end of a line, and an end at the very end begins no further line.
pub fn select(text: &str, offset: Option<usize>, limit: Option<usize>) -> Selected<'_> {
    let all: Vec<&str> = text.lines().collect();
    let total = all.len();
    let (from, count) = match (offset, limit) {
        (None, None) => (total.saturating_sub(DEFAULT_TAIL), DEFAULT_TAIL),
        (None, Some(limit)) => (total.saturating_sub(limit), limit),
        (Some(offset), limit) => (offset, limit.unwrap_or(usize::MAX)),
    };
    let lines: Vec<&str> = all.into_iter().skip(from).take(count).collect();
    let shortened = offset.is_none() && limit.is_none() && lines.len() < total;
    Selected { lines, total, shortened }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_table() {
        let of = |offset, limit| select("a\r\nb\nc\n\nd\n", offset, limit).lines;
        assert_eq!(of(None, None), ["a", "b", "c", "", "d"]);
        assert_eq!(of(None, Some(2)), ["", "d"]);
        assert_eq!(of(None, Some(99)), ["a", "b", "c", "", "d"]);
        assert_eq!(of(Some(3), None), ["", "d"]);
        assert_eq!(of(Some(1), Some(2)), ["b", "c"]);
        assert_eq!(of(Some(5), Some(1)), Vec::<&str>::new());
        assert_eq!(of(Some(0), Some(0)), Vec::<&str>::new());
        assert_eq!(of(Some(usize::MAX), None), Vec::<&str>::new());
    }

    #[test]
    fn ends_of_lines() {
        let count = |text| select(text, None, None).total;
        assert_eq!(
            [count(""), count("a"), count("a\n"), count("\n"), count("a\r\n\r\n"), count("a\rb")],
            [0, 1, 1, 1, 2, 1]
        );
    }

    #[test]
    fn two_hundred_lines_by_themselves() {
        let text: String = (0..201).flat_map(|n| [n.to_string(), "\n".to_owned()]).collect();
        let selected = select(&text, None, None);
        assert_eq!((selected.lines.len(), selected.total, selected.shortened), (200, 201, true));
        assert_eq!(selected.lines.first(), Some(&"1"));
        let from_zero = select(&text, Some(0), None);
        assert_eq!((from_zero.lines.len(), from_zero.shortened), (201, false));
    }
}
