//! The host's package sources, so that an image is built from the mirror that the host already uses. Pure but for
//! [`read_host`].

use std::path::Path;

/// Used where the host names no source of the release.
const DEFAULT_MIRROR: &str = "http://deb.debian.org/debian";
const DEFAULT_SECURITY: &str = "http://deb.debian.org/debian-security";

/// One package source of the main component.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PackageSource {
    /// Address of the mirror, `http` or `https`.
    pub(super) uri: String,
    /// Suite, such as `bookworm-updates`.
    pub(super) suite: String,
    /// Key ring file of the host, where the host names one.
    pub(super) signed_by: Option<String>,
}

impl PackageSource {
    /// As a line of `sources.list`.
    pub(super) fn line(&self) -> String {
        let Self { uri, suite, signed_by } = self;
        match signed_by {
            Some(keyring) => format!("deb [signed-by={keyring}] {uri} {suite} main"),
            None => format!("deb {uri} {suite} main"),
        }
    }
}

/// The sources of `release` among the host's, the release itself first; the public mirror where the host has none
/// (another distribution or release).
pub(super) fn choose(host: Vec<PackageSource>, release: &str) -> Vec<PackageSource> {
    let wanted = |suite: &str| {
        let pocket = suite.strip_prefix(release);
        matches!(pocket, Some("" | "-updates" | "-security"))
    };
    let mut found: Vec<_> = host.into_iter().filter(|source| wanted(&source.suite)).collect();
    // The release before its pockets; of two entries for one source the one that names its key.
    found.sort_by_cached_key(|source| {
        (source.suite.len(), source.uri.clone(), source.suite.clone(), source.signed_by.is_none())
    });
    found.dedup_by(|a, b| a.uri == b.uri && a.suite == b.suite);
    if found.iter().any(|source| source.suite == release) {
        return found;
    }
    let public = |uri: &str, pocket: &str| PackageSource {
        uri: uri.to_owned(),
        suite: format!("{release}{pocket}"),
        signed_by: None,
    };
    vec![
        public(DEFAULT_MIRROR, ""),
        public(DEFAULT_MIRROR, "-updates"),
        public(DEFAULT_SECURITY, "-security"),
    ]
}

/// All sources in the host's configuration; files that cannot be read count as empty.
pub(super) fn read_host(etc_apt: &Path) -> Vec<PackageSource> {
    let mut files = vec![etc_apt.join("sources.list")];
    if let Ok(entries) = std::fs::read_dir(etc_apt.join("sources.list.d")) {
        files.extend(entries.flatten().map(|entry| entry.path()));
    }
    files.sort();
    let parse = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("list") => parse_lines(&text),
            Some("sources") => parse_stanzas(&text),
            _ => Vec::new(),
        }
    };
    files.iter().flat_map(parse).collect()
}

/// Parses the one-line format.
pub(super) fn parse_lines(text: &str) -> Vec<PackageSource> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<PackageSource> {
    let rest = line.trim().strip_prefix("deb")?.trim_start_matches([' ', '\t']);
    let (options, rest) = match rest.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => ("", rest),
    };
    let mut words = rest.split_whitespace();
    let (uri, suite) = (words.next()?, words.next()?);
    if !words.any(|component| component == "main") || !usable(uri) {
        return None;
    }
    let keyring = options.split_whitespace().find_map(|option| option.strip_prefix("signed-by="));
    Some(PackageSource {
        uri: uri.to_owned(),
        suite: suite.to_owned(),
        signed_by: keyring.and_then(keyring_file),
    })
}

/// Parses the stanza format (`Types:`, `URIs:`, …).
pub(super) fn parse_stanzas(text: &str) -> Vec<PackageSource> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    lines.split(|line| line.trim().is_empty()).flat_map(parse_stanza).collect()
}

fn parse_stanza(lines: &[&str]) -> Vec<PackageSource> {
    let field = |name: &str| {
        let value = |line: &&str| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        };
        lines.iter().find_map(value).unwrap_or_default()
    };
    let has = |name: &str, word: &str| field(name).split_whitespace().any(|have| have == word);
    if !has("Types", "deb") || !has("Components", "main") || has("Enabled", "no") {
        return Vec::new();
    }
    let signed_by = keyring_file(&field("Signed-By"));
    let (uris, suites) = (field("URIs"), field("Suites"));
    let pairs = uris.split_whitespace().filter(|uri| usable(uri));
    let pairs = pairs.flat_map(|uri| suites.split_whitespace().map(move |suite| (uri, suite)));
    let source = |(uri, suite): (&str, &str)| PackageSource {
        uri: uri.to_owned(),
        suite: suite.to_owned(),
        signed_by: signed_by.clone(),
    };
    pairs.map(source).collect()
}

/// Only network mirrors work inside the image, and a login in the address must not end up in it.
fn usable(uri: &str) -> bool {
    let address = uri.strip_prefix("http://").or_else(|| uri.strip_prefix("https://"));
    address.is_some_and(|address| {
        let host = address.split('/').next().unwrap_or("");
        !host.is_empty() && !host.contains('@')
    })
}

/// Key ring files only: an inline key or a fingerprint means nothing in another root file system.
fn keyring_file(value: &str) -> Option<String> {
    let plain =
        value.starts_with('/') && !value.contains(|letter: char| letter.is_whitespace() || letter == ',');
    plain.then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

    fn source(uri: &str, suite: &str, signed_by: Option<&str>) -> PackageSource {
        PackageSource {
            uri: uri.to_owned(),
            suite: suite.to_owned(),
            signed_by: signed_by.map(str::to_owned),
        }
    }

    #[test]
    fn both_formats() {
        let stanza = format!(
            "Types: deb deb-src\n# mirror\nURIs: http://m/debian\nSuites: bookworm bookworm-updates\n\
             Components: main contrib\nSigned-By: {RING}\n\nTypes: deb\nURIs: http://n/x\nSuites: bookworm\n\
             Components: main\nEnabled: no\n"
        );
        assert_eq!(
            parse_stanzas(&stanza),
            [
                source("http://m/debian", "bookworm", Some(RING)),
                source("http://m/debian", "bookworm-updates", Some(RING)),
            ]
        );
        let lines = format!(
            "# deb http://a/debian bookworm main\ndeb [arch=amd64 signed-by={RING}] http://m/debian bookworm main\n\
             deb-src http://m/debian bookworm main\ndeb http://m/debian bookworm contrib\ndeb cdrom:[x]/ bookworm main\n"
        );
        assert_eq!(parse_lines(&lines), [source("http://m/debian", "bookworm", Some(RING))]);
    }

    #[test]
    fn other_releases_and_vendors_are_left_out() {
        let host = vec![
            source("https://deb.nodesource.com/node_20.x", "nodistro", None),
            source("http://m/security", "bookworm-security", None),
            source("http://m/debian", "bookworm-backports", None),
            source("http://m/debian", "bookworm", None),
            source("http://m/debian", "bookworm", Some(RING)),
        ];
        let lines: Vec<_> = choose(host, "bookworm").iter().map(PackageSource::line).collect();
        assert_eq!(
            lines,
            [
                format!("deb [signed-by={RING}] http://m/debian bookworm main"),
                "deb http://m/security bookworm-security main".to_owned(),
            ]
        );
    }

    #[test]
    fn public_mirror_where_the_host_has_none() {
        let host =
            vec![source("http://u/ubuntu", "noble", None), source("http://m/s", "bookworm-security", None)];
        let lines: Vec<_> = choose(host, "bookworm").iter().map(PackageSource::line).collect();
        assert_eq!(
            lines,
            [
                "deb http://deb.debian.org/debian bookworm main",
                "deb http://deb.debian.org/debian bookworm-updates main",
                "deb http://deb.debian.org/debian-security bookworm-security main",
            ]
        );
    }

    #[test]
    fn addresses_with_a_login_never_reach_an_image() {
        assert_eq!(parse_lines("deb https://user:secret@m/debian bookworm main\n"), []);
    }
}
