//! Meets the init of a sandbox and, once for each container made, runs the set-up command in it.

use std::path::Path;
use std::time::Duration;

use super::collect::collect;
use super::options::RoadChoice;
use crate::approvals::{Command, Permit};
use crate::runner::{self, Awaited, Link, LinkError, Options, Road, Setting};
use crate::sandbox::{ByProc, Meet, MeetError, Probe};
use crate::wire::Facts;

/// How much of a failed set-up command's output its error carries.
const TAIL: usize = 2000;

/// How the sandbox of a caller is reached.
#[derive(Debug, Clone)]
pub enum Way {
    /// Over its init.
    Init(Link),
    /// Over the engine's exec API; proven from outside.
    Engine {
        /// What proves it.
        proof: ByProc,
        /// Why not over init.
        reason: String,
    },
}

impl Probe for Way {
    async fn facts(&mut self, paths: Vec<String>) -> Result<Facts, MeetError> {
        match self {
            Self::Init(link) => Probe::facts(link, paths).await,
            Self::Engine { proof, .. } => proof.facts(paths).await,
        }
    }

    fn outside(&self) -> bool {
        matches!(self, Self::Engine { .. })
    }

    async fn running(&mut self) -> Result<usize, MeetError> {
        match self {
            Self::Init(link) => link.running().await,
            Self::Engine { proof, .. } => proof.running().await,
        }
    }
}

/// Finds the way, and runs the set-up command (spec `sandbox.md` §9).
pub(super) struct Prepare {
    pub(super) setup: Option<String>,
    pub(super) setting: Setting,
    pub(super) choice: RoadChoice,
}

impl Meet for Prepare {
    type Link = Way;

    async fn meet(&self, rendezvous: &Path, peer: Awaited, deadline: Duration) -> Result<Way, MeetError> {
        let pid1 = match peer {
            Awaited::Kernel(pid1) => pid1,
            // In a container the host's `/proc` is not there: without init nothing could be proven.
            Awaited::Nonce(_) => return Ok(Way::Init(Link::meet(rendezvous, peer, deadline).await?)),
        };
        let engine = |reason: String| Ok(Way::Engine { proof: ByProc::new(pid1), reason });
        if self.choice == RoadChoice::Engine {
            return engine("asked for".to_owned());
        }
        match Link::meet(rendezvous, peer, deadline).await {
            Ok(link) => Ok(Way::Init(link)),
            // These say that init cannot be met here at all, not that something went wrong with it.
            Err(error @ (LinkError::NoAnswer { .. } | LinkError::Unproven { .. }))
                if self.choice == RoadChoice::Auto =>
            {
                engine(error.to_string())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What was found for a fresh container stays: later, silence may be the work of what runs in it, and a command
    /// must not be able to push the next ones off the road on which a kill is proven.
    async fn again(
        &self,
        rendezvous: &Path,
        peer: Awaited,
        deadline: Duration,
        outside: bool,
    ) -> Result<Way, MeetError> {
        match (self.choice, outside, peer) {
            (RoadChoice::Auto, true, Awaited::Kernel(pid1)) => {
                let reason = "its init could not be met when it was made".to_owned();
                Ok(Way::Engine { proof: ByProc::new(pid1), reason })
            }
            (RoadChoice::Auto, false, _) => Ok(Way::Init(Link::meet(rendezvous, peer, deadline).await?)),
            _ => self.meet(rendezvous, peer, deadline).await,
        }
    }

    async fn prepare(&self, way: &mut Way) -> Result<(), MeetError> {
        let Some(text) = self.setup.as_ref().filter(|text| !text.trim().is_empty()) else { return Ok(()) };
        let failed =
            |reason: String| MeetError { reason: format!("setupCommand {reason}"), timed_out: false };
        let Way::Init(link) = way else {
            return Err(failed(
                "needs the sandbox's init, and this sandbox has only the engine's exec API".to_owned(),
            ));
        };
        let permit = Permit::sandbox("setup", Command::Shell(text.clone()), None, Vec::new());
        let road = Road::Init(link.clone());
        let running = runner::start(&permit, &self.setting, &Options::default(), &road)
            .await
            .map_err(|error| failed(error.to_string()))?;
        let (done, _) = collect(running).await.map_err(|error| failed(error.to_string()))?;
        if done.outcome.exit_status() == 0 {
            return Ok(());
        }
        let output = [done.stdout, done.stderr].concat();
        let tail =
            String::from_utf8_lossy(output.get(output.len().saturating_sub(TAIL)..).unwrap_or(&output))
                .into_owned();
        Err(failed(format!("ended with status {}: {}", done.outcome.exit_status(), tail.trim())))
    }
}
