//! Text made shorter, counted in Unicode scalar values (design §1, Q-9). Pure.

/// At most `max` characters: the middle gives way to `...`.
pub fn middle(text: &str, max: usize) -> String {
    let length = text.chars().count();
    if length <= max {
        return text.to_owned();
    }
    let half = max.saturating_sub(3) / 2;
    let head = text.chars().take(half);
    let tail = text.chars().skip(length - half);
    head.chain("...".chars()).chain(tail).collect()
}

/// The last `max` characters.
pub fn tail(text: &str, max: usize) -> &str {
    let cut = text.char_indices().rev().take(max).last().map_or(text.len(), |(at, _)| at);
    text.get(cut..).unwrap_or_default()
}

/// The first `max` characters; the last one is `…` where something was cut.
pub fn head(text: &str, max: usize) -> String {
    if text.chars().nth(max).is_none() {
        return text.to_owned();
    }
    text.chars().take(max.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_gives_way() {
        assert_eq!(middle("abcdefghij", 10), "abcdefghij");
        assert_eq!(middle("abcdefghijk", 9), "abc...ijk");
        assert_eq!(middle("äöüßéèêçñ日本", 9), "äöü...ñ日本");
        assert_eq!(middle("abc", 0), "...");
    }

    #[test]
    fn ends_are_kept() {
        assert_eq!(tail("日本語", 2), "本語");
        assert_eq!((tail("abc", 3), tail("abc", 9), tail("abc", 0)), ("abc", "abc", ""));
        assert_eq!(head("日本語", 3), "日本語");
        assert_eq!(head("日本語x", 3), "日本…");
    }
}
