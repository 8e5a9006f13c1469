//! Characters that say how others are set, and show nothing themselves (Unicode's category Cf). Pure.

use std::cmp::Ordering;

/// First and last of each run, ascending, as of Unicode 16. Joiners, soft hyphens, byte order marks, marks of direction,
/// tags.
const RUNS: &[(char, char)] = &[
    ('\u{ad}', '\u{ad}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{180e}', '\u{180e}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{2064}'),
    ('\u{2066}', '\u{206f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{fff9}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0001}', '\u{e0001}'),
    ('\u{e0020}', '\u{e007f}'),
];

/// Whether a character is of the category Cf.
pub(super) fn is_format(character: char) -> bool {
    let place = |run: &(char, char)| match (run.0 > character, run.1 < character) {
        (true, _) => Ordering::Greater,
        (_, true) => Ordering::Less,
        _ => Ordering::Equal,
    };
    RUNS.binary_search_by(place).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_from_end_to_end() {
        for &(first, last) in RUNS {
            assert!(is_format(first) && is_format(last));
        }
        for beside in ['a', '\u{ac}', '\u{ae}', '\u{2010}', '\u{2029}', '\u{2065}', '\u{e0080}', '\u{10ffff}']
        {
            assert!(!is_format(beside), "{beside:?}");
        }
    }
}
