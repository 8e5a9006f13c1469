//! Tells a sandbox that is not there any more from one that cannot be reached.

use super::Sandbox;
use super::collect::{self, Collected};
use super::prepare::Way;
use crate::error::Failure;
use crate::runner::{Death, RunError, Running};
use crate::sandbox::SandboxError;

impl Sandbox {
    /// Follows a command to its end. Where the sandbox ended before the command was seen to run, that is an error and
    /// no result.
    pub(super) async fn follow(&self, running: Running) -> Result<Collected, Failure> {
        match collect::collect(running).await {
            Ok((done, false)) if done.outcome.death == Death::SandboxStopped => {
                Err(self.ended("ended".to_owned()).into())
            }
            Ok((done, _)) => Ok(done),
            Err(error) => Err(self.told(error).await),
        }
    }

    /// What to say of a call that failed: somebody may have stopped the sandbox since it was opened.
    pub(super) async fn told(&self, error: RunError) -> Failure {
        match self.gone().await {
            Some(gone) => gone.into(),
            None => error.into(),
        }
    }

    /// `None` while the container runs, and where nobody can say.
    async fn gone(&self) -> Option<SandboxError> {
        let status = match self.sandboxes.engine().inspect(&self.ready.id.0).await {
            Ok(None) => return Some(self.ended("removed".to_owned())),
            Ok(Some(facts)) if facts.running || facts.status == "paused" => None,
            Ok(Some(facts)) => Some(facts.status),
            Err(_) => None,
        };
        match (&self.ready.link, status) {
            (_, Some(status)) => Some(self.ended(status)),
            // The engine may learn it later than the kernel.
            (Way::Init(link), None) if link.is_over() && link.has_ended().await => {
                Some(self.ended("ended".to_owned()))
            }
            _ => None,
        }
    }

    fn ended(&self, status: String) -> SandboxError {
        SandboxError::Gone { name: self.ready.name.clone(), status }
    }
}
