//! An image reference with a tag.

use std::fmt;

use super::{ImageError, Recipe};

/// A checked `NAME:TAG`, optionally below a registry host. Digests are refused: an image is made, not picked.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reference(String);

impl Reference {
    /// Checks a reference as the engine would and adds the tag `latest` where none is given.
    pub fn parse(text: &str) -> Result<Self, ImageError> {
        check(text)
            .map(Self)
            .map_err(|reason| ImageError::BadReference { reference: text.to_owned(), reason })
    }

    /// The reference that a recipe's image has by default.
    pub fn of(recipe: Recipe) -> Self {
        Self(recipe.default_reference().to_owned())
    }

    /// `NAME:TAG`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn check(text: &str) -> Result<String, &'static str> {
    if text.contains('@') {
        return Err("a digest cannot be given to an image that is yet to be made");
    }
    let split = text.rsplit_once(':').filter(|(_, tag)| !tag.contains('/'));
    let (name, tag) = split.unwrap_or((text, "latest"));
    if name.len() > 255 {
        return Err("the name is longer than 255 characters");
    }
    let (host, path) = match name.split_once('/') {
        Some((host, path)) if host == "localhost" || host.contains(['.', ':']) => (Some(host), path),
        _ => (None, name),
    };
    if host.is_some_and(|host| !host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.:".contains(&b))) {
        return Err("the registry host has other characters than letters, digits, `-`, `.` and `:`");
    }
    if !path.split('/').all(is_component) {
        return Err("each part of the name is lower-case letters and digits, joined by `-`, `_` or `.`");
    }
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let mut bytes = tag.bytes();
    let valid =
        bytes.next().is_some_and(word) && bytes.all(|b| word(b) || b"-.".contains(&b)) && tag.len() <= 128;
    if !valid {
        return Err("the tag is up to 128 letters, digits, `_`, `-` and `.`, not beginning with `-` or `.`");
    }
    Ok(format!("{name}:{tag}"))
}

/// Letters and digits, with separators only in between: one `.`, one or two `_`, any number of `-`.
fn is_component(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let edges = text.bytes().next().is_some_and(plain) && text.bytes().last().is_some_and(plain);
    let separators = text.split(|letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit());
    let mut separators = separators.filter(|run| !run.is_empty());
    edges && separators.all(|run| matches!(run, "." | "_" | "__") || run.bytes().all(|b| b == b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_references() {
        for (text, whole) in [
            ("creel-minimal", "creel-minimal:latest"),
            ("openclaw-sandbox:bookworm-slim", "openclaw-sandbox:bookworm-slim"),
            ("localhost:5000/a/b__c--d.e:V1", "localhost:5000/a/b__c--d.e:V1"),
            ("localhost:5000/a", "localhost:5000/a:latest"),
            ("Registry.example/a", "Registry.example/a:latest"),
        ] {
            assert_eq!(Reference::parse(text).unwrap().as_str(), whole);
        }
        for recipe in Recipe::ALL {
            assert_eq!(Reference::parse(recipe.default_reference()).unwrap(), Reference::of(recipe));
        }
    }

    #[test]
    fn bad_references() {
        for text in [
            "",
            "A",
            "a:",
            "a:-b",
            "a@sha256:00",
            "a//b",
            "-a",
            "a..b",
            "a___b",
            "a b",
            "a:b c",
            "/a",
            "ho st.x/a",
        ] {
            assert!(Reference::parse(text).is_err(), "{text}");
        }
    }
}
