//! Why an image could not be built or listed.

use std::path::PathBuf;

use crate::error::{Diagnose, Report};

/// A failed image operation.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// No recipe has this name.
    #[error("there is no image recipe named `{name}`")]
    UnknownRecipe {
        /// The name as given.
        name: String,
    },
    /// A program of the host that the build needs is not installed and creel may not install it.
    #[error("image {image}: the program `{program}` is not installed")]
    ToolMissing {
        /// Recipe name.
        image: &'static str,
        /// The program.
        program: &'static str,
        /// What to type.
        fix: String,
    },
    /// A program of the host failed or ran into its time limit.
    #[error("{program} {outcome}{}", quote(tail))]
    ToolFailed {
        /// The program.
        program: &'static str,
        /// How it ended, ready for a sentence.
        outcome: String,
        /// The last lines it wrote, without control characters.
        tail: String,
        /// What to do.
        fix: String,
    },
    /// No usable static busybox was found.
    #[error("image minimal: no static busybox: {reason}")]
    NoBusybox {
        /// What was tried and why each failed.
        reason: String,
    },
    /// The CA bundle cannot be used.
    #[error("{path}: {reason}")]
    BadCa {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// An image reference that no engine accepts.
    #[error("`{reference}` is not an image reference: {reason}")]
    BadReference {
        /// The reference as given.
        reference: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Options that contradict each other.
    #[error("{what}")]
    BadOptions {
        /// The contradiction.
        what: &'static str,
        /// What to do.
        fix: &'static str,
    },
    /// A file of the host could not be read or written.
    #[error("{path}: {action}: {source}")]
    Io {
        /// The path concerned.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// The state directory cannot be used.
    #[error(transparent)]
    State(#[from] crate::state::StateError),
    /// The caller cancelled the build.
    #[error("interrupted; nothing was tagged")]
    Interrupted,
    /// The engine could not build the Dockerfile.
    #[error("image {image}: {source}{}", quote(tail))]
    BuildFailed {
        /// Recipe name.
        image: &'static str,
        /// The last lines of the build.
        tail: String,
        /// The engine's error.
        source: crate::engine::EngineError,
    },
    /// The image is creel's own: whatever a registry has under that name is somebody else's.
    #[error("image {reference} is one of creel's own, which no registry has")]
    NotPulled {
        /// As asked for.
        reference: String,
        /// Its recipe.
        recipe: &'static str,
    },
    /// The engine could not get the image.
    #[error("image {reference} was not pulled from {registry}: {source}{}", note.as_deref().map(|note| format!("\n    {note}")).unwrap_or_default())]
    PullFailed {
        /// As asked for.
        reference: String,
        /// The registry.
        registry: String,
        /// The engine's error.
        source: Box<crate::engine::EngineError>,
        /// What should be known of the credentials.
        note: Option<String>,
    },
    /// The engine refused or failed.
    #[error(transparent)]
    Engine(#[from] crate::engine::EngineError),
}

impl ImageError {
    /// An I/O failure on `path` while trying to `action`; for `map_err`.
    pub(crate) fn io(path: impl Into<PathBuf>, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, action, source }
    }
}

impl Diagnose for ImageError {
    fn report(&self) -> Report {
        let (code, rule, fix) = match self {
            Self::State(error) => return error.report(),
            Self::Engine(error) => return error.report(),
            Self::UnknownRecipe { .. } => (
                "CRL-IMAGE-001",
                "built-in: the recipes that creel has",
                format!("use one of: {}; other images come from your own docker build or pull", names()),
            ),
            Self::ToolMissing { fix, .. } => ("CRL-IMAGE-002", "built-in: programs of the host that a build needs", fix.clone()),
            Self::ToolFailed { fix, .. } => ("CRL-IMAGE-003", "built-in: programs of the host that a build needs", fix.clone()),
            Self::NoBusybox { .. } => (
                "CRL-IMAGE-004",
                "built-in: `minimal` is one static program",
                "install a static busybox (`apt-get install busybox-static`), or where a registry is reachable \
                 run `creel images build minimal --from-dockerfile`"
                    .to_owned(),
            ),
            Self::BadCa { path, .. } => (
                "CRL-IMAGE-005",
                "--ca",
                format!("put only PEM certificates (-----BEGIN CERTIFICATE-----) into {}", path.display()),
            ),
            Self::BadReference { .. } => {
                ("CRL-IMAGE-006", "--tag", "write NAME:TAG in lower case, such as creel-minimal:latest".to_owned())
            }
            Self::BadOptions { fix, .. } => ("CRL-IMAGE-007", "command line", (*fix).to_owned()),
            Self::Interrupted => ("CRL-IMAGE-010", "built-in: an interrupted build tags nothing", "run the command again".to_owned()),
            Self::BuildFailed { image, .. } => (
                "CRL-IMAGE-009",
                "--from-dockerfile",
                format!("check that the base image can be pulled, or run `creel images build {image}`: it needs no registry"),
            ),
            Self::NotPulled { recipe, .. } => {
                ("CRL-IMAGE-011", "built-in: creel's own images come from no registry", format!("run `creel images build {recipe}`: it needs no registry"))
            }
            Self::PullFailed { registry, .. } => (
                "CRL-IMAGE-012",
                "built-in: the engine pulls, with the docker client's credentials",
                format!(
                    "check that the engine reaches {registry} and that the name is right; `creel images build` needs no \
                     registry"
                ),
            ),
            Self::Io { path, .. } => {
                ("CRL-IMAGE-008", "built-in: a build reads and writes as this user", format!("make {} accessible for this user", path.display()))
            }
        };
        Report { code, message: self.to_string(), rule: Some(rule.to_owned()), fix }
    }
}

fn names() -> String {
    super::Recipe::ALL.iter().map(|recipe| recipe.name()).collect::<Vec<_>>().join(", ")
}

/// The tail as an indented block below the message; nothing where there is none.
fn quote(tail: &str) -> String {
    tail.lines().fold(String::new(), |text, line| text + "\n    " + line)
}
