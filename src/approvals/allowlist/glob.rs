//! Patterns of entries (spec `approvals.md` §5.3): `*` is any run of characters but `/`, `**` any run, `?` one character but
//! `/`; everything else is literal. Anchored at both ends, in the case of the text.
//!
//! Glob crates read brackets, braces and `**` between letters in their own way; this is the whole of it, and it takes time
//! that grows with the product of both lengths, whatever the pattern.

/// A piece of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Literal(char),
    One,
    Run,
    DeepRun,
}

/// A pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Glob {
    tokens: Vec<Token>,
}

impl Glob {
    /// Reads a pattern; three stars are as two.
    pub(super) fn new(pattern: &str) -> Self {
        let mut tokens = Vec::new();
        let mut characters = pattern.chars().peekable();
        while let Some(character) = characters.next() {
            tokens.push(match character {
                '?' => Token::One,
                '*' => {
                    let mut stars = 1;
                    while characters.next_if_eq(&'*').is_some() {
                        stars += 1;
                    }
                    if stars == 1 { Token::Run } else { Token::DeepRun }
                }
                other => Token::Literal(other),
            });
        }
        Self { tokens }
    }

    /// Whether it has a wildcard at all.
    pub(super) fn is_wild(pattern: &str) -> bool {
        pattern.contains(['*', '?'])
    }

    /// What stands in front of the first wildcard.
    pub(super) fn prefix(pattern: &str) -> &str {
        pattern.find(['*', '?']).and_then(|at| pattern.get(..at)).unwrap_or(pattern)
    }

    /// Whether the whole text fits.
    pub(super) fn matches(&self, text: &str) -> bool {
        // `reached[i]`: the text so far fits the first `i` tokens.
        let mut reached = vec![false; self.tokens.len() + 1];
        if let Some(first) = reached.first_mut() {
            *first = true;
        }
        self.skip_runs(&mut reached);
        for character in text.chars() {
            let mut next = vec![false; reached.len()];
            for (at, token) in self.tokens.iter().enumerate() {
                if !reached.get(at).copied().unwrap_or_default() {
                    continue;
                }
                let (fits, stays) = match token {
                    Token::Literal(literal) => (*literal == character, false),
                    Token::One => (character != '/', false),
                    Token::Run => (character != '/', true),
                    Token::DeepRun => (true, true),
                };
                if let Some(slot) = next.get_mut(if stays { at } else { at + 1 }).filter(|_| fits) {
                    *slot = true;
                }
            }
            self.skip_runs(&mut next);
            if !next.contains(&true) {
                return false;
            }
            reached = next;
        }
        reached.last().copied().unwrap_or_default()
    }

    /// A run may be empty.
    fn skip_runs(&self, reached: &mut [bool]) {
        for (at, token) in self.tokens.iter().enumerate() {
            let empty = matches!(token, Token::Run | Token::DeepRun);
            if empty
                && reached.get(at).copied().unwrap_or_default()
                && let Some(slot) = reached.get_mut(at + 1)
            {
                *slot = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same by trying everything.
    fn naive(pattern: &[char], text: &[char]) -> bool {
        match pattern {
            [] => text.is_empty(),
            ['*', '*', rest @ ..] => (0..=text.len()).any(|at| naive(rest, &text[at..])),
            ['*', rest @ ..] => (0..=text.len())
                .take_while(|at| !text[..*at].contains(&'/'))
                .any(|at| naive(rest, &text[at..])),
            ['?', rest @ ..] => text.first().is_some_and(|c| *c != '/') && naive(rest, &text[1..]),
            [literal, rest @ ..] => text.first() == Some(literal) && naive(rest, &text[1..]),
        }
    }

    proptest! {
        #[test]
        fn as_by_trying_everything(pattern in "[ab/*?]{0,9}", text in "[ab/]{0,9}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            // Three stars are two and one, which is the same as two.
            prop_assert_eq!(Glob::new(&pattern).matches(&text), naive(&chars(&pattern), &chars(&text)));
        }
    }

    #[test]
    fn tokens() {
        for (pattern, text, fits) in [
            ("rg", "rg", true),
            ("rg", "RG", false),
            ("git*", "github", true),
            ("git*", "a-git", false),
            ("/opt/*/x", "/opt/a/x", true),
            ("/opt/*/x", "/opt/a/b/x", false),
            ("/opt/**/x", "/opt/a/b/x", true),
            ("/opt/**/x", "/opt/x", false),
            ("/usr/bin/l?", "/usr/bin/ls", true),
            ("/usr/bin/ru?", "/usr/bin/ru/", false),
            ("/a/[l]s", "/a/ls", false),
            ("/a/[l]s", "/a/[l]s", true),
            ("/a/{x,y}", "/a/x", false),
            ("a.b+c", "aXb+c", false),
        ] {
            assert_eq!(Glob::new(pattern).matches(text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn hostile_patterns_take_no_time() {
        let pattern = "**a*".repeat(500);
        assert!(!Glob::new(&pattern).matches(&"a".repeat(300)));
    }
}
