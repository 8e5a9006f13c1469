//! Words as shell text that is exactly these words. Pure.

/// Words that mean something to a shell where a command begins.
const RESERVED: [&str; 17] = [
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "in",
    "function", "select", "time", "coproc",
];

/// A command of these words, on one line.
pub fn line(words: &[String]) -> String {
    words.iter().map(|text| word(text)).collect::<Vec<_>>().join(" ")
}

fn word(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:,@%".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) && !RESERVED.contains(&text) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_what_they_are() {
        let of = |words: &[&str]| line(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["git", "log", "--oneline"]), "git log --oneline");
        assert_eq!(
            of(&["echo", "a b", "", "$x", "it's", "~", "A=b"]),
            r"echo 'a b' '' '$x' 'it'\''s' '~' 'A=b'"
        );
        assert_eq!(of(&["if", "true"]), "'if' true");
    }
}
