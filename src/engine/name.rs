//! Names that go into the engine's URLs. The client library pastes them in as they are, so a name with a slash or a
//! question mark would ask for something else.

use super::EngineError;

/// A container's name or id: letters, digits, `_.-`, beginning with a letter or digit.
pub(super) fn container(name: &str) -> Result<&str, EngineError> {
    let mut chars = name.chars();
    let first = chars.next().is_some_and(|c| c.is_ascii_alphanumeric());
    if first && chars.all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c)) {
        return Ok(name);
    }
    let reason = "a name has letters, digits and `_.-` and begins with a letter or digit";
    Err(EngineError::BadValue { what: "container", value: name.to_owned(), reason })
}

/// An image reference or id: path segments of letters, digits, `_.-`, a tag after `:`, a digest after `@`.
pub(super) fn image(reference: &str) -> Result<&str, EngineError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_.-/:@".contains(c);
    let segments = || reference.split('/').all(|part| part.starts_with(|c: char| c.is_ascii_alphanumeric()));
    if reference.chars().all(allowed) && segments() {
        return Ok(reference);
    }
    let reason = "not an image reference";
    Err(EngineError::BadValue { what: "image", value: reference.to_owned(), reason })
}

/// A reference as repository and tag; the tag is `latest` where none is written.
pub(super) fn repository_and_tag(reference: &str) -> Result<(&str, &str), EngineError> {
    let reference = image(reference)?;
    if reference.contains('@') {
        let reason = "a digest cannot be given to an image, only a tag";
        return Err(EngineError::BadValue { what: "image", value: reference.to_owned(), reason });
    }
    // A colon before the last slash belongs to a registry's port.
    match reference.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => Ok((repository, tag)),
        _ => Ok((reference, "latest")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_its_place_in_the_url() {
        for good in ["a", "box-1", "0f.x_y"] {
            assert!(container(good).is_ok(), "{good}");
        }
        for bad in ["", "..", "../images/x", "a/b", "a?b", "a#b", "a b", "-a", "a%2e"] {
            assert!(container(bad).is_err(), "{bad}");
            assert!(bad == "a/b" || image(bad).is_err(), "{bad}");
        }
        for good in ["a", "a:1", "sha256:00ff", "host:5000/a/b:c", "a@sha256:00"] {
            assert!(image(good).is_ok(), "{good}");
        }
        for bad in ["a/../b", "/a", "a//b", "a/"] {
            assert!(image(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn tags() {
        assert_eq!(repository_and_tag("a").unwrap(), ("a", "latest"));
        assert_eq!(repository_and_tag("a/b:1").unwrap(), ("a/b", "1"));
        assert_eq!(repository_and_tag("h:5000/a").unwrap(), ("h:5000/a", "latest"));
        assert!(repository_and_tag("a@sha256:00").is_err());
    }
}
