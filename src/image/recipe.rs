//! What each image is made of, as values. A recipe's digest changes whenever an image made from it would.

use sha2::{Digest as _, Sha256};

use super::{ExtraCa, ImageError};

/// Label that names the recipe of an image.
pub const LABEL_IMAGE: &str = "creel.image";
/// Label with the digest of the recipe; a different digest is an outdated image.
pub const LABEL_RECIPE: &str = "creel.recipe";
/// Label with the digest of the extra CA bundle; absent where there is none.
pub const LABEL_CA: &str = "creel.ca";
/// Label that says where the files came from: `packages`, or `dockerfile` and its base.
pub const LABEL_SOURCE: &str = "creel.source";

/// The user that both images define and run as.
pub const USER: &str = "sandbox";
/// Numeric id of the user and of its group.
pub const USER_ID: u32 = 1000;
/// Home directory of the user.
pub const HOME: &str = "/home/sandbox";
/// Where a sandbox's workspace is mounted by default.
pub const WORKSPACE: &str = "/workspace";
/// PATH of the image's configuration: Debian's for root, so that administrators' tools are found too.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Raised when the code that makes a root file system changes what it makes.
const REVISION: &str = "1";

/// An image that creel can make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Recipe {
    /// One static busybox: seconds to build, for tests and first runs.
    Minimal,
    /// Debian bookworm with the tools that agents and the file bridge expect (spec `sandbox.md` §9).
    Sandbox,
    /// The same with Node, npm, and Python with pip and venv.
    Common,
    /// The same with compilers and headers besides.
    CommonBuild,
    /// creel itself, to be run in a container beside the engine; no image for sandboxes.
    Creel,
}

const SANDBOX_PACKAGES: &[&str] = &["bash", "ca-certificates", "curl", "git", "jq", "python3", "ripgrep"];
const COMMON_PACKAGES: &[&str] = &[
    "bash",
    "ca-certificates",
    "curl",
    "file",
    "git",
    "jq",
    "nodejs",
    "npm",
    "procps",
    "python3",
    "python3-pip",
    "python3-venv",
    "ripgrep",
    "unzip",
    "wget",
    "xz-utils",
];
const COMMON_BUILD_PACKAGES: &[&str] = &[
    "bash",
    "build-essential",
    "ca-certificates",
    "curl",
    "file",
    "git",
    "jq",
    "nodejs",
    "npm",
    "pkg-config",
    "procps",
    "python3",
    "python3-dev",
    "python3-pip",
    "python3-venv",
    "ripgrep",
    "unzip",
    "wget",
    "xz-utils",
];

impl Recipe {
    /// Every recipe, smallest first.
    pub const ALL: [Self; 5] = [Self::Minimal, Self::Sandbox, Self::Common, Self::CommonBuild, Self::Creel];

    /// Those that are built when none is named: enough for sandboxes, and done in a minute.
    pub const USUAL: [Self; 2] = [Self::Minimal, Self::Sandbox];

    /// The recipe of this name.
    pub fn parse(name: &str) -> Result<Self, ImageError> {
        let found = Self::ALL.into_iter().find(|recipe| recipe.name() == name);
        found.ok_or_else(|| ImageError::UnknownRecipe { name: name.to_owned() })
    }

    /// Name on the command line and in [`LABEL_IMAGE`].
    pub fn name(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Sandbox => "sandbox",
            Self::Common => "sandbox-common",
            Self::CommonBuild => "sandbox-common-build",
            Self::Creel => "creel",
        }
    }

    /// Reference of the image unless another is asked for. The sandbox's is upstream's.
    pub fn default_reference(self) -> &'static str {
        match self {
            Self::Minimal => "creel-minimal:latest",
            Self::Sandbox => "openclaw-sandbox:bookworm-slim",
            Self::Common => "openclaw-sandbox-common:bookworm-slim",
            Self::CommonBuild => "openclaw-sandbox-common:bookworm-slim-build",
            Self::Creel => "creel:latest",
        }
    }

    /// The recipe whose default reference this is: what to build where the engine lacks it.
    pub fn of_reference(reference: &str) -> Option<Self> {
        let reference = super::Reference::parse(reference).ok()?;
        Self::ALL.into_iter().find(|recipe| super::Reference::of(*recipe) == reference)
    }

    /// Debian packages beyond the minimal base.
    pub fn packages(self) -> &'static [&'static str] {
        match self {
            Self::Minimal => &["busybox-static"],
            Self::Sandbox => SANDBOX_PACKAGES,
            Self::Common => COMMON_PACKAGES,
            Self::CommonBuild => COMMON_BUILD_PACKAGES,
            Self::Creel => &[],
        }
    }

    /// Debian release, where the image is a Debian.
    pub fn suite(self) -> Option<&'static str> {
        match self {
            Self::Minimal | Self::Creel => None,
            Self::Sandbox | Self::Common | Self::CommonBuild => Some("bookworm"),
        }
    }

    /// CMD in the exec form: what the image runs when nothing else is asked for.
    pub fn command(self) -> &'static [&'static str] {
        match self {
            Self::Minimal => &["sh"],
            Self::Sandbox | Self::Common | Self::CommonBuild => &["sleep", "infinity"],
            Self::Creel => &["engine", "status"],
        }
    }

    /// The Dockerfile that makes the same image where a registry is reachable. `None` for creel's own: it consists of
    /// this very program.
    pub fn dockerfile(self) -> Option<&'static str> {
        match self {
            Self::Minimal => Some(include_str!("../../images/minimal/Dockerfile")),
            Self::Sandbox => Some(include_str!("../../images/sandbox/Dockerfile")),
            Self::Common | Self::CommonBuild => Some(include_str!("../../images/sandbox-common/Dockerfile")),
            Self::Creel => None,
        }
    }

    /// Build arguments of the Dockerfile.
    pub fn build_args(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::CommonBuild => &[("BUILD_TOOLS", "build-essential pkg-config python3-dev")],
            _ => &[],
        }
    }

    /// Hex SHA-256 of everything that makes the image, the extra CA bundle excepted.
    pub fn digest(self) -> String {
        let mut hash = Sha256::new();
        let mut part = |text: &str| {
            // The length keeps two different lists from joining to the same bytes.
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text.as_bytes());
        };
        let dockerfile = self.dockerfile().unwrap_or("");
        for text in [REVISION, self.name(), self.suite().unwrap_or(""), dockerfile] {
            part(text);
        }
        if self == Self::Creel {
            part(super::own::fingerprint());
        }
        for text in self.packages() {
            part(text);
        }
        for change in self.config() {
            part(&change);
        }
        crate::state::hex(&hash.finalize())
    }

    /// The image's configuration as Dockerfile instructions, labels excepted.
    pub fn config(self) -> Vec<String> {
        let command: Vec<_> = self.command().iter().map(|word| format!("\"{word}\"")).collect();
        if self == Self::Creel {
            return vec![
                format!("ENV PATH={PATH}"),
                "USER 1000:1000".to_owned(),
                "WORKDIR /".to_owned(),
                format!("ENTRYPOINT [\"{}\"]", super::own::PROGRAM),
                format!("CMD [{}]", command.join(", ")),
            ];
        }
        vec![
            format!("ENV PATH={PATH}"),
            format!("USER {USER}"),
            format!("WORKDIR {WORKSPACE}"),
            format!("CMD [{}]", command.join(", ")),
        ]
    }

    /// Labels of an image made from this recipe.
    pub fn labels(self, source: &Source, ca: Option<&ExtraCa>) -> Vec<(String, String)> {
        let mut labels = vec![
            (LABEL_IMAGE.to_owned(), self.name().to_owned()),
            (LABEL_RECIPE.to_owned(), self.digest()),
            (LABEL_SOURCE.to_owned(), source.label()),
        ];
        labels.extend(ca.map(|ca| (LABEL_CA.to_owned(), ca.digest())));
        labels
    }

    /// Configuration and labels as Dockerfile instructions, for an import.
    pub fn changes(self, ca: Option<&ExtraCa>) -> Vec<String> {
        let labels = self.labels(&Source::Packages, ca);
        let labels = labels.into_iter().map(|(name, value)| format!("LABEL {name}=\"{value}\""));
        self.config().into_iter().chain(labels).collect()
    }
}

/// Where an image's files come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Distribution packages, put together on the host; needs no registry.
    Packages,
    /// The recipe's Dockerfile, built by the engine.
    Dockerfile {
        /// Image to build on instead of the Dockerfile's own base.
        base: Option<String>,
    },
}

impl Source {
    /// The value of [`LABEL_SOURCE`].
    pub fn label(&self) -> String {
        match self {
            Self::Packages => "packages".to_owned(),
            Self::Dockerfile { base: None } => "dockerfile".to_owned(),
            Self::Dockerfile { base: Some(base) } => format!("dockerfile {base}"),
        }
    }
}

/// What brings an image that the engine lacks: creel's own are built, others pulled.
pub fn obtain(reference: &str) -> String {
    match Recipe::of_reference(reference) {
        Some(recipe) => format!("creel images build {}", recipe.name()),
        None => format!("creel images pull {reference}, or name another image"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_again() {
        for recipe in Recipe::ALL {
            assert_eq!(Recipe::parse(recipe.name()).unwrap(), recipe);
        }
        assert!(
            matches!(Recipe::parse("browser"), Err(ImageError::UnknownRecipe { name }) if name == "browser")
        );
    }

    #[test]
    fn default_references_lead_back() {
        assert_eq!(Recipe::of_reference("creel-minimal"), Some(Recipe::Minimal));
        assert_eq!(Recipe::of_reference("openclaw-sandbox:bookworm-slim"), Some(Recipe::Sandbox));
        assert_eq!(Recipe::of_reference("openclaw-sandbox-common:bookworm-slim"), Some(Recipe::Common));
        assert_eq!(Recipe::of_reference("openclaw-sandbox"), None);
        assert_eq!(Recipe::of_reference("debian:bookworm-slim"), None);
    }

    #[test]
    fn what_brings_an_image_can_be_run() {
        for recipe in Recipe::ALL {
            assert_eq!(obtain(recipe.default_reference()), format!("creel images build {}", recipe.name()));
        }
        assert!(obtain("creel-nothing:1").starts_with("creel images pull creel-nothing:1"), "no such recipe");
    }

    #[test]
    fn digests_are_stable_and_differ() {
        assert_eq!(Recipe::Minimal.digest(), Recipe::Minimal.digest());
        assert_ne!(Recipe::Minimal.digest(), Recipe::Sandbox.digest());
        assert_eq!(Recipe::Minimal.digest().len(), 64);
    }

    #[test]
    fn changes_carry_configuration_and_labels() {
        let changes = Recipe::Sandbox.changes(None);
        assert_eq!(
            changes[..4],
            [
                format!("ENV PATH={PATH}"),
                "USER sandbox".to_owned(),
                "WORKDIR /workspace".to_owned(),
                r#"CMD ["sleep", "infinity"]"#.to_owned(),
            ]
        );
        assert!(changes.contains(&r#"LABEL creel.image="sandbox""#.to_owned()));
        assert!(changes.contains(&r#"LABEL creel.source="packages""#.to_owned()));
        assert!(!changes.iter().any(|change| change.contains(LABEL_CA)));
    }

    #[test]
    fn dockerfiles_agree_with_the_recipe() {
        for recipe in Recipe::ALL {
            let Some(text) = recipe.dockerfile() else { continue };
            for line in recipe.config() {
                assert!(text.lines().any(|have| have == line), "{}: no line `{line}`", recipe.name());
            }
            for package in recipe.packages() {
                let arg = recipe.build_args().iter().any(|(_, value)| value.contains(package));
                assert!(arg || text.contains(package), "{}: {package}", recipe.name());
            }
        }
    }
}
