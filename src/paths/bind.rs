//! `host:container[:options]` into a typed value. Nothing here looks at the file system.

use super::lexical;

/// `SELinux` relabelling as the engine's `z` and `Z` options ask for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Relabel {
    /// `z`: shared among containers.
    Shared,
    /// `Z`: private to this container.
    Private,
}

/// A bind as the configuration asks for it; syntactically sound, not yet judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindSpec {
    /// Host path as written; absolute.
    pub source: String,
    /// Path in the container; absolute, clean, not `/`.
    pub target: String,
    /// Mounted read-only. The default is read-write, as everywhere in the docker world.
    pub read_only: bool,
    /// `SELinux` relabelling.
    pub relabel: Option<Relabel>,
}

/// What is wrong with the text of a bind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindSyntax {
    /// Nothing is written.
    #[error("the entry is blank")]
    Blank,
    /// The source is relative, a volume's name, starts with `~` or is a path of another operating system.
    #[error("the source {0:?} is not an absolute path of this host")]
    NotAbsolute(String),
    /// There is no target.
    #[error("there is no target in the container")]
    NoTarget,
    /// The target is relative.
    #[error("the target {0:?} is not an absolute path")]
    TargetNotAbsolute(String),
    /// The target is the container's root.
    #[error("the target is the root of the container")]
    TargetRoot,
    /// One side holds what no path in a mount may hold.
    #[error("the {side} {path:?} contains {what}")]
    Unreadable {
        /// `source` or `target`.
        side: &'static str,
        /// The path as written.
        path: String,
        /// What it contains.
        what: &'static str,
    },
    /// An option that creel does not know; what is not understood is not passed on.
    #[error("the option {0:?} is not one of ro, rw, z, Z")]
    UnknownOption(String),
    /// Two options contradict each other.
    #[error("the options {0} and {1} contradict each other")]
    Conflict(&'static str, &'static str),
}

impl BindSyntax {
    /// The rule's name in refusals and in `docs/compatibility.md`.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Blank => "bind-blank",
            Self::NotAbsolute(_) => "bind-source-absolute",
            Self::NoTarget => "bind-target-missing",
            Self::TargetNotAbsolute(_) => "bind-target-absolute",
            Self::TargetRoot => "bind-target-root",
            Self::Unreadable { .. } => "bind-unreadable-path",
            Self::UnknownOption(_) | Self::Conflict(..) => "bind-option",
        }
    }

    /// The smallest change that helps.
    pub fn fix(&self) -> String {
        match self {
            Self::Blank => "remove the entry".to_owned(),
            Self::NotAbsolute(_) => {
                "write the full path of the directory, beginning with /; named volumes are not supported"
                    .to_owned()
            }
            Self::NoTarget => "write host:container, for example /srv/data:/data:ro".to_owned(),
            Self::TargetNotAbsolute(_) => {
                "begin the target with /; a source that contains a colon cannot be expressed, link to it instead"
                    .to_owned()
            }
            Self::TargetRoot => "choose a directory below /, for example /data".to_owned(),
            Self::Unreadable { side, .. } => format!("rename the {side}, or link to it by a plain name"),
            Self::UnknownOption(_) => "use ro or rw, and z or Z where SELinux needs them".to_owned(),
            Self::Conflict(first, second) => format!("keep one of {first} and {second}"),
        }
    }
}

impl BindSpec {
    /// Splits at the first colons, as upstream does, except that a letter before a colon is no drive here.
    pub fn parse(text: &str) -> Result<Self, BindSyntax> {
        if text.trim().is_empty() {
            return Err(BindSyntax::Blank);
        }
        let (source, rest) = text.split_once(':').unwrap_or((text, ""));
        if !lexical::absolute(source) {
            return Err(BindSyntax::NotAbsolute(source.to_owned()));
        }
        let (target, options) = rest.split_once(':').unwrap_or((rest, ""));
        if target.is_empty() {
            return Err(BindSyntax::NoTarget);
        }
        if !target.starts_with('/') {
            return Err(BindSyntax::TargetNotAbsolute(target.to_owned()));
        }
        readable("source", source)?;
        readable("target", target)?;
        let target = lexical::clean_text(target);
        if target == "/" {
            return Err(BindSyntax::TargetRoot);
        }
        let (read_only, relabel) = parse_options(options)?;
        Ok(Self { source: source.to_owned(), target, read_only, relabel })
    }
}

/// As written and as it will be read: cleaning takes the slash off `/workspace /` and leaves the space.
fn readable(side: &'static str, path: &str) -> Result<(), BindSyntax> {
    match lexical::unreadable(path).or_else(|| lexical::unreadable(&lexical::clean_text(path))) {
        Some(what) => Err(BindSyntax::Unreadable { side, path: path.to_owned(), what }),
        None => Ok(()),
    }
}

/// Comma-separated, trimmed; `ro` and `rw` in any case, `z` and `Z` as written because they differ by it.
fn parse_options(options: &str) -> Result<(bool, Option<Relabel>), BindSyntax> {
    let (mut mode, mut relabel) = (None, None);
    for option in options.split(',').map(str::trim).filter(|option| !option.is_empty()) {
        match option {
            "z" if relabel == Some(Relabel::Private) => return Err(BindSyntax::Conflict("Z", "z")),
            "Z" if relabel == Some(Relabel::Shared) => return Err(BindSyntax::Conflict("z", "Z")),
            "z" => relabel = Some(Relabel::Shared),
            "Z" => relabel = Some(Relabel::Private),
            _ => {
                let read_only = match option.to_ascii_lowercase().as_str() {
                    "ro" => true,
                    "rw" => false,
                    _ => return Err(BindSyntax::UnknownOption(option.to_owned())),
                };
                if mode.is_some_and(|before| before != read_only) {
                    return Err(BindSyntax::Conflict("ro", "rw"));
                }
                mode = Some(read_only);
            }
        }
    }
    Ok((mode.unwrap_or(false), relabel))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<(String, String, bool), BindSyntax> {
        BindSpec::parse(text).map(|spec| (spec.source, spec.target, spec.read_only))
    }

    #[test]
    fn accepted_forms() {
        let ok = |s: &str, t: &str, ro| Ok((s.to_owned(), t.to_owned(), ro));
        assert_eq!(parse("/a:/b"), ok("/a", "/b", false));
        assert_eq!(parse("/a:/b:ro"), ok("/a", "/b", true));
        assert_eq!(parse("/a:/b:z, RO"), ok("/a", "/b", true));
        assert_eq!(parse("/a:/b:"), ok("/a", "/b", false));
        assert_eq!(parse("/a b:/c/../d/"), ok("/a b", "/d", false));
        assert_eq!(BindSpec::parse("/a:/b:Z").unwrap().relabel, Some(Relabel::Private));
    }

    #[test]
    fn refused_forms() {
        for (text, rule) in [
            ("", "bind-blank"),
            ("  ", "bind-blank"),
            ("vol:/x", "bind-source-absolute"),
            ("x:/data", "bind-source-absolute"),
            ("C:\\a:/x", "bind-source-absolute"),
            ("~/x:/x", "bind-source-absolute"),
            ("//?/C:/x:/y", "bind-source-absolute"),
            (" /a:/b", "bind-source-absolute"),
            ("/a", "bind-target-missing"),
            ("/a:", "bind-target-missing"),
            ("/a:b", "bind-target-absolute"),
            ("/a: /b", "bind-target-absolute"),
            ("/a:/", "bind-target-root"),
            ("/a:/b/..", "bind-target-root"),
            ("/a :/b", "bind-unreadable-path"),
            ("/a:/workspace\n", "bind-unreadable-path"),
            ("/a:/workspace /", "bind-unreadable-path"),
            ("/a /.:/b", "bind-unreadable-path"),
            ("/a:/b:rshared", "bind-option"),
            ("/a:/b:ro:z", "bind-option"),
            ("/a:/b:ro,rw", "bind-option"),
            ("/a:/b:z,Z", "bind-option"),
        ] {
            assert_eq!(BindSpec::parse(text).unwrap_err().rule(), rule, "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn never_panics_and_what_it_accepts_is_sound(text in "\\PC{0,40}|[/:.~a-z,\\n]{0,30}") {
            if let Ok(spec) = BindSpec::parse(&text) {
                assert!(spec.source.starts_with('/'));
                assert!(spec.target.starts_with('/') && spec.target.len() > 1);
                assert_eq!(lexical::clean_text(&spec.target), spec.target);
            }
        }
    }
}
