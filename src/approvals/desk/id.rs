//! Names of questions and grants (spec `approvals.md` 9.09, 16.02). Pure.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Longest id that a caller may choose.
const LONGEST: usize = 128;
/// Characters of the short form.
const SLUG: usize = 8;
/// How the terminal-safe form of an id begins.
const ENCODED: &str = "id64_";

/// Whether an id that a caller chose may be used: it appears in chats and addresses.
pub fn valid(id: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b':' | b'-');
    !id.is_empty()
        && id.len() <= LONGEST
        && id.bytes().all(letters)
        && !matches!(id, "." | "..")
        && !id.starts_with("plugin:")
        // It is typed behind commands, where it would be an option.
        && !id.starts_with('-')
}

/// The short form.
pub fn slug(id: &str) -> &str {
    id.char_indices().nth(SLUG).and_then(|(at, _)| id.get(..at)).unwrap_or(id)
}

/// An id as a terminal can show it: itself, or its UTF-16 units in base64 (16.02).
pub fn terminal_form(id: &str) -> String {
    if !id.is_empty() && id.chars().all(|c| c.is_ascii_graphic()) && !id.starts_with(ENCODED) {
        return id.to_owned();
    }
    let units: Vec<u8> = id.encode_utf16().flat_map(u16::to_le_bytes).collect();
    format!("{ENCODED}{}", URL_SAFE_NO_PAD.encode(units))
}

/// The id that a terminal-safe form stands for; `None` where it is none.
pub fn from_terminal_form(text: &str) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix(ENCODED)?).ok()?;
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
    rest.is_empty().then(|| String::from_utf16(&units).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_caller_may_choose() {
        for id in ["a", "A.b_c:d-9", &"x".repeat(128)] {
            assert!(valid(id), "{id}");
        }
        for id in ["", ".", "..", "plugin:x", "-x", "--always", "a b", "a/b", "ä", "a\n", &"x".repeat(129)] {
            assert!(!valid(id), "{id:?}");
        }
    }

    #[test]
    fn a_fresh_id_is_a_uuid() {
        let id = crate::state::random_uuid().unwrap();
        let parts: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert!(valid(&id) && id.as_bytes()[14] == b'4' && b"89ab".contains(&id.as_bytes()[19]), "{id}");
        assert_eq!((slug(&id).len(), slug("ab")), (8, "ab"));
        assert_ne!(id, crate::state::random_uuid().unwrap());
    }

    #[test]
    fn what_a_terminal_cannot_show_is_encoded() {
        assert_eq!(terminal_form("abc-1"), "abc-1");
        for id in ["a\u{202e}b", "ü", "id64_x", "a b"] {
            let form = terminal_form(id);
            assert!(form.starts_with("id64_") && form.is_ascii(), "{form}");
            assert_eq!(from_terminal_form(&form).as_deref(), Some(id));
        }
        for bad in ["abc", "id64_!", "id64_QQ"] {
            assert_eq!(from_terminal_form(bad), None, "{bad}");
        }
    }
}
