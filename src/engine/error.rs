//! What can go wrong with an engine, and what helps.

use std::path::PathBuf;
use std::time::Duration;

use super::discover::Attempt;
use crate::error::{Diagnose, Report};

/// Why a call to the engine failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EngineError {
    /// No engine answered at any place.
    #[error("no container engine found{}", places(.tried))]
    NoEngine {
        /// Every place tried, in order, and why it failed.
        tried: Vec<Attempt>,
    },
    /// The engine's socket exists, but this user may not open it.
    #[error("permission denied on {}", .path.display())]
    PermissionDenied {
        /// The socket.
        path: PathBuf,
    },
    /// The engine did not answer in time.
    #[error("the container engine is not responding: {what} took longer than {after:?}")]
    NotResponding {
        /// The call.
        what: String,
        /// Its deadline.
        after: Duration,
    },
    /// The image is not in the engine's store.
    #[error("image {image} is not in the engine's store")]
    ImageMissing {
        /// The reference that was asked for.
        image: String,
    },
    /// Another container has the name.
    #[error("container name {name} is taken by {holder}")]
    NameConflict {
        /// The name.
        name: String,
        /// Id of the container that has it, empty where the engine does not say.
        holder: String,
    },
    /// The container was made but its first process did not start.
    #[error("container {id} did not start: {reason}{}", tail(.log_tail))]
    StartFailed {
        /// Short id.
        id: String,
        /// The engine's reason.
        reason: String,
        /// The last lines of its log, often empty.
        log_tail: String,
    },
    /// The connection ended in the middle of a call: the engine stopped or was restarted.
    #[error("the container engine went away during {what}: {reason}")]
    Lost {
        /// The call.
        what: String,
        /// What the connection reported.
        reason: String,
    },
    /// The container, command or image does not exist.
    #[error("{what}: {message}")]
    NotFound {
        /// The call.
        what: String,
        /// The engine's words.
        message: String,
    },
    /// The engine refused the call.
    #[error("the container engine refused {what} ({status}): {message}")]
    Refused {
        /// The call.
        what: String,
        /// HTTP status, 0 where the engine reported the failure inside a successful answer.
        status: u16,
        /// The engine's words.
        message: String,
    },
    /// The engine, or a proxy before it, does not hand over the raw connection that exec needs.
    #[error("unable to upgrade to tcp, received {status}: {what}{}", tail(.message))]
    UpgradeRefused {
        /// The call.
        what: String,
        /// HTTP status received instead of 101.
        status: u16,
        /// The body, where there was a short one.
        message: String,
    },
    /// The answer is not what an engine would say.
    #[error("unexpected answer to {what}: {reason}")]
    Protocol {
        /// The call.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The address cannot be used.
    #[error("engine address {endpoint:?}: {reason}")]
    BadEndpoint {
        /// As written.
        endpoint: String,
        /// What is wrong with it.
        reason: String,
        /// What to write instead.
        fix: String,
    },
    /// A docker context that is named does not exist or cannot be read.
    #[error("docker context {name:?} (from {origin}): {reason}")]
    BadContext {
        /// The context's name.
        name: String,
        /// Where the name was written.
        origin: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The engine speaks only an API that is too old.
    #[error("engine at {endpoint} speaks API {found}; {needed} is the oldest that can be used")]
    TooOld {
        /// The engine's address.
        endpoint: String,
        /// Its newest API version.
        found: String,
        /// The oldest that creel uses.
        needed: String,
    },
    /// A value cannot be given to the engine.
    #[error("{what} {value:?}: {reason}")]
    BadValue {
        /// What the value is.
        what: &'static str,
        /// The value.
        value: String,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// `: a (why); b (why)` for the message of `NoEngine`.
fn places(tried: &[Attempt]) -> String {
    let list: Vec<String> = tried.iter().map(ToString::to_string).collect();
    if list.is_empty() { String::new() } else { format!("; tried {}", list.join("; ")) }
}

/// A text on its own lines below a message, nothing when it is blank.
fn tail(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() { String::new() } else { format!("\n{text}") }
}

impl EngineError {
    /// Stable code of the error.
    fn code(&self) -> &'static str {
        match self {
            Self::NoEngine { .. } => "CRL-ENGINE-001",
            Self::PermissionDenied { .. } => "CRL-ENGINE-002",
            Self::NotResponding { .. } => "CRL-ENGINE-003",
            Self::ImageMissing { .. } => "CRL-ENGINE-004",
            Self::NameConflict { .. } => "CRL-ENGINE-005",
            Self::StartFailed { .. } => "CRL-ENGINE-006",
            Self::Lost { .. } => "CRL-ENGINE-007",
            Self::NotFound { .. } => "CRL-ENGINE-008",
            Self::Refused { .. } => "CRL-ENGINE-009",
            Self::UpgradeRefused { .. } => "CRL-ENGINE-010",
            Self::Protocol { .. } => "CRL-ENGINE-011",
            Self::BadEndpoint { .. } => "CRL-ENGINE-012",
            Self::BadContext { .. } => "CRL-ENGINE-013",
            Self::TooOld { .. } => "CRL-ENGINE-014",
            Self::BadValue { .. } => "CRL-ENGINE-015",
        }
    }

    /// The setting that chose the engine, where one did.
    fn origin(&self) -> Option<String> {
        match self {
            Self::BadContext { origin, .. } => Some(origin.clone()),
            Self::NoEngine { tried } => tried
                .iter()
                .find(|attempt| attempt.origin.is_final())
                .map(|attempt| attempt.origin.to_string()),
            _ => None,
        }
    }

    /// The rule that decides where no setting does.
    fn rule(&self) -> &'static str {
        match self {
            Self::NoEngine { .. } | Self::BadEndpoint { .. } | Self::BadContext { .. } => {
                "built-in: the engine is found as the docker client finds it (--engine, DOCKER_HOST, contexts, sockets)"
            }
            Self::PermissionDenied { .. } => "built-in: creel asks the engine as the user who runs it",
            Self::NotResponding { .. } => "built-in: every call to the engine has a deadline",
            Self::ImageMissing { .. } => {
                "agents.defaults.sandbox.docker.image; built-in: no image is got unasked"
            }
            Self::NameConflict { .. } => "built-in: foreign containers are never adopted",
            Self::StartFailed { .. } | Self::Refused { .. } | Self::BadValue { .. } => {
                "built-in: what the engine refuses is not tried in another way"
            }
            Self::Lost { .. } | Self::NotFound { .. } => "built-in: what is gone is not assumed to be done",
            Self::UpgradeRefused { .. } | Self::Protocol { .. } => "built-in: the Docker Engine API",
            Self::TooOld { .. } => "built-in: the oldest engine API that creel speaks",
        }
    }

    /// The smallest change that helps.
    fn fix(&self) -> String {
        let fixed = match self {
            Self::NoEngine { tried } if tried.iter().any(|attempt| attempt.origin.is_final()) => {
                "start that engine, or correct the setting that names it; no other engine is used in its place"
            }
            Self::NoEngine { .. } => "start Docker or Podman, run `creel engine up`, or set DOCKER_HOST",
            Self::PermissionDenied { .. } => {
                "add this user to the socket's group (usually `sudo usermod -aG docker $USER`) and log in again"
            }
            Self::NotResponding { .. } => {
                "look at the engine's own log, then restart the engine; retry when it answers"
            }
            Self::ImageMissing { image } => return crate::image::obtain(image),
            Self::NameConflict { holder, .. } if !holder.is_empty() => {
                return format!("docker rm -f {}, if nobody needs it", holder.get(..12).unwrap_or(holder));
            }
            Self::NameConflict { name, .. } => return format!("docker rm -f {name}, if nobody needs it"),
            Self::StartFailed { .. } => {
                "read the reason: a missing program, a host security module, or an option that this kernel refuses"
            }
            Self::Lost { .. } => "run it again when the engine is back (`creel engine status`)",
            Self::NotFound { .. } => "it was removed meanwhile; run the command again to make a new one",
            Self::Refused { status: 403, .. } => {
                "a proxy before the engine forbids this call: allow it there"
            }
            Self::Refused { .. } => "the engine's message names the cause",
            Self::UpgradeRefused { .. } => {
                "connect to the engine directly, or through a proxy that passes `Upgrade: tcp`"
            }
            Self::Protocol { .. } => {
                "check that this address is a Docker-compatible engine: `creel engine status`"
            }
            Self::BadEndpoint { fix, .. } => return fix.clone(),
            Self::BadContext { .. } => "choose one of `docker context ls`, or set DOCKER_HOST",
            Self::TooOld { .. } => "use Docker 20.10 or newer, or Podman 4 or newer",
            Self::BadValue { .. } => "correct the value",
        };
        fixed.to_owned()
    }
}

impl Diagnose for EngineError {
    fn report(&self) -> Report {
        let rule = self.origin().unwrap_or_else(|| self.rule().to_owned());
        Report { code: self.code(), message: self.to_string(), rule: Some(rule), fix: self.fix() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_image_names_a_command_that_can_be_run() {
        let fix = |image: &str| EngineError::ImageMissing { image: image.to_owned() }.report().fix;
        assert_eq!(fix("creel-minimal:latest"), "creel images build minimal");
        assert!(fix("debian:12").starts_with("creel images pull debian:12"));
    }

    #[test]
    fn messages_name_the_thing() {
        let error = EngineError::PermissionDenied { path: "/var/run/docker.sock".into() };
        assert_eq!(error.to_string(), "permission denied on /var/run/docker.sock");
        assert!(error.report().fix.contains("group"));
        let error = EngineError::UpgradeRefused { what: "exec".into(), status: 200, message: String::new() };
        assert!(error.to_string().contains("unable to upgrade to tcp, received 200"));
    }
}
