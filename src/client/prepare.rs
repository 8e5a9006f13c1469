//! Meets the init of a sandbox and, once for each container made, runs the set-up command in it.

use std::path::Path;
use std::time::Duration;

use super::collect::collect;
use crate::approvals::{Command, Permit};
use crate::runner::{self, Link, Options, Road, Setting};
use crate::sandbox::{ByLink, Meet, MeetError};

/// How much of a failed set-up command's output its error carries.
const TAIL: usize = 2000;

/// [`ByLink`], and the set-up command (spec `sandbox.md` §9).
pub(super) struct Prepare {
    pub(super) setup: Option<String>,
    pub(super) setting: Setting,
}

impl Meet for Prepare {
    type Link = Link;

    async fn meet(&self, rendezvous: &Path, pid1: i32, deadline: Duration) -> Result<Link, MeetError> {
        ByLink.meet(rendezvous, pid1, deadline).await
    }

    async fn prepare(&self, link: &mut Link) -> Result<(), MeetError> {
        let Some(text) = self.setup.as_ref().filter(|text| !text.trim().is_empty()) else { return Ok(()) };
        let failed =
            |reason: String| MeetError { reason: format!("setupCommand {reason}"), timed_out: false };
        let permit = Permit::sandbox("setup", Command::Shell(text.clone()), None, Vec::new());
        let road = Road::Init(link.clone());
        let running = runner::start(&permit, &self.setting, &Options::default(), &road)
            .await
            .map_err(|error| failed(error.to_string()))?;
        let done = collect(running).await.map_err(|error| failed(error.to_string()))?;
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
