//! Why a bind is refused, in one shape for every rule.

use std::path::PathBuf;

use super::bind::BindSyntax;
use super::deny::{DenyHit, Meets};
use super::places::MountHit;
use super::resolve::ResolveError;
use crate::error::{Diagnose, Report};

/// The rule that refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BindRefusal {
    /// The text is no bind.
    Syntax(BindSyntax),
    /// The source leads nowhere that can be judged.
    Unresolved(ResolveError),
    /// The source is, or contains, a denied path.
    Denied(DenyHit),
    /// What is mounted at the source or below it is, or contains, a denied path under another name.
    DeniedByMount(MountHit),
    /// The source is a socket, device or pipe; reading one is talking to whoever listens.
    SpecialFile(Special),
    /// The source resolves to a path that is not text and cannot be told to the engine.
    NotText,
    /// The target belongs to a managed mount.
    Reserved {
        /// The reserved path.
        reserved: String,
        /// Whether the override flag would open it.
        flag_opens: bool,
    },
    /// The target is one of the kernel's own file systems.
    KernelTarget(&'static str),
    /// The target lies among the image's own programs, libraries or settings.
    SystemTarget(&'static str),
    /// The target meets a temporary file system of the sandbox.
    ScratchTarget {
        /// The temporary file system.
        scratch: String,
        /// The target is the same path, not one above.
        same: bool,
    },
    /// The source lies outside the roots that this sandbox may mount.
    OutsideRoots(Vec<PathBuf>),
}

/// A refused bind: what was written, where it leads, which rule, what helps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindError {
    /// Key of the configuration that wrote the bind (`agents.defaults.sandbox.docker.binds[0]`), or the flag.
    pub key: String,
    /// The bind as written.
    pub written: String,
    /// The source that the rule looked at: as written and cleaned, or as resolved.
    pub judged: Option<PathBuf>,
    /// What lies there, where it is neither a file nor a directory: nothing that could be copied.
    pub special: Option<Special>,
    /// The rule.
    pub refusal: Box<BindRefusal>,
}

/// What is neither a file nor a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Special {
    /// Somebody listens there, perhaps as root.
    Socket,
    /// A named pipe.
    Pipe,
    /// A block or character device.
    Device,
}

impl Special {
    fn word(self) -> &'static str {
        match self {
            Self::Socket => "socket",
            Self::Pipe => "named pipe",
            Self::Device => "device",
        }
    }

    fn fix(self) -> &'static str {
        match self {
            Self::Socket => {
                "remove the bind: no flag opens a socket, because who reaches an engine's socket is root on the \
                 host. Run what needs it outside the sandbox; a service that listens on TCP too can be reached \
                 over docker.network"
            }
            Self::Device => "remove the bind: no flag opens a device. docker.gpus gives GPUs",
            Self::Pipe => "mount a file or a directory",
        }
    }
}

impl BindError {
    /// The smallest change that helps.
    fn fix(&self) -> String {
        match (&*self.refusal, self.special) {
            (BindRefusal::Denied(_), Some(special)) => special.fix().to_owned(),
            (refusal, _) => refusal.fix(),
        }
    }
}

impl std::error::Error for BindError {}

impl std::fmt::Display for BindError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "bind {:?} is refused: {}", self.written, self.refusal.why())?;
        match &self.judged {
            Some(judged) if !self.written.starts_with(&*judged.to_string_lossy()) => {
                write!(f, " (the source leads to {})", judged.display())
            }
            _ => Ok(()),
        }
    }
}

impl BindRefusal {
    fn why(&self) -> String {
        match self {
            Self::Syntax(syntax) => syntax.to_string(),
            Self::Unresolved(error) => error.to_string(),
            Self::Denied(DenyHit { meets: Meets::Targets, blocked, .. }) => {
                format!("its source lies in {}, a denied host path", blocked.display())
            }
            Self::Denied(DenyHit { meets: Meets::Covers, blocked, .. }) => {
                format!("its source brings {} along, a denied host path", blocked.display())
            }
            Self::DeniedByMount(hit) => hit.why("its source"),
            Self::SpecialFile(kind) => format!("its source is a {}", kind.word()),
            Self::NotText => "its source resolves to a path that is not UTF-8 text".to_owned(),
            Self::Reserved { reserved, .. } => format!("its target meets {reserved}, which is reserved"),
            Self::KernelTarget(path) => format!("its target lies in {path}, which the kernel provides"),
            Self::SystemTarget(path) => {
                format!("its target lies in {path}, where the image keeps what every command starts from")
            }
            Self::ScratchTarget { scratch, same: true } => {
                format!("its target {scratch} is a temporary file system of the sandbox already")
            }
            Self::ScratchTarget { scratch, .. } => {
                format!("its target lies above {scratch}, a temporary file system of the sandbox")
            }
            Self::OutsideRoots(roots) if roots.is_empty() => {
                "its source lies outside the workspace, and no other root is allowed".to_owned()
            }
            Self::OutsideRoots(roots) => {
                let roots: Vec<_> = roots.iter().map(|root| root.display().to_string()).collect();
                format!("its source lies outside the allowed roots {}", roots.join(", "))
            }
        }
    }

    /// The rule's name in refusals and in `docs/compatibility.md`.
    pub fn rule(&self) -> String {
        match self {
            Self::Syntax(syntax) => syntax.rule().to_owned(),
            Self::Unresolved(_) => "bind-unresolvable".to_owned(),
            Self::Denied(hit) => format!("bind-denied-{}", hit.group.name()),
            Self::DeniedByMount(_) => "bind-denied-by-mount".to_owned(),
            Self::SpecialFile(_) => "bind-special-file".to_owned(),
            Self::NotText => "bind-not-text".to_owned(),
            Self::Reserved { .. } => "bind-reserved-target".to_owned(),
            Self::KernelTarget(_) => "bind-kernel-target".to_owned(),
            Self::SystemTarget(_) => "bind-system-target".to_owned(),
            Self::ScratchTarget { .. } => "bind-scratch-target".to_owned(),
            Self::OutsideRoots(_) => "bind-outside-roots".to_owned(),
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Syntax(_) => "CRL-BIND-001",
            Self::Unresolved(_) => "CRL-BIND-002",
            Self::Denied(_) => "CRL-BIND-003",
            Self::SpecialFile(_) => "CRL-BIND-004",
            Self::NotText => "CRL-BIND-005",
            Self::Reserved { .. } => "CRL-BIND-006",
            Self::KernelTarget(_) => "CRL-BIND-007",
            Self::OutsideRoots(_) => "CRL-BIND-008",
            Self::SystemTarget(_) => "CRL-BIND-009",
            Self::ScratchTarget { .. } => "CRL-BIND-010",
            Self::DeniedByMount(_) => "CRL-BIND-011",
        }
    }

    fn fix(&self) -> String {
        match self {
            Self::Syntax(syntax) => syntax.fix(),
            Self::Unresolved(_) => "make the directory first, or write the path it leads to".to_owned(),
            Self::Denied(DenyHit { meets: Meets::Covers, .. }) => {
                "mount the one directory below it that is needed".to_owned()
            }
            Self::Denied(_) => "copy what is needed into the workspace; no flag opens this path".to_owned(),
            Self::DeniedByMount(hit) => hit.fix(),
            Self::SpecialFile(kind) => kind.fix().to_owned(),
            Self::NotText => "rename the directory".to_owned(),
            Self::Reserved { flag_opens: true, .. } => "choose another target; \
                 dangerouslyAllowReservedContainerTargets opens this one and hides what is mounted there"
                .to_owned(),
            Self::Reserved { .. } | Self::KernelTarget(_) => {
                "choose another target, for example /data".to_owned()
            }
            Self::SystemTarget(_) => {
                "mount it elsewhere, for example below /opt, and name programs there in \
                 tools.exec.pathPrepend; dangerouslyAllowReservedContainerTargets opens this target"
                    .to_owned()
            }
            Self::ScratchTarget { scratch, same: true } => format!(
                "choose a target below it ({scratch}/data) or elsewhere, or leave {scratch} out of docker.tmpfs"
            ),
            Self::ScratchTarget { .. } => "choose another target, for example /data".to_owned(),
            Self::OutsideRoots(_) => "move the data into the workspace, or set \
                 dangerouslyAllowExternalBindSources beside this bind if it is meant"
                .to_owned(),
        }
    }
}

impl Diagnose for BindError {
    fn report(&self) -> Report {
        Report {
            code: self.refusal.code(),
            message: self.to_string(),
            rule: Some(format!("{} at {}", self.refusal.rule(), self.key)),
            fix: self.fix(),
        }
    }
}
