//! The runner's connection as the one that sandboxes are met over.

use std::path::Path;
use std::time::Duration;

use super::meet::{Meet, MeetError, Probe};
use crate::runner::{Awaited, Link, LinkError};
use crate::wire::Facts;

/// Meets init through [`Link`]; new containers need no further preparation.
#[derive(Debug, Clone, Copy, Default)]
pub struct ByLink;

impl From<LinkError> for MeetError {
    fn from(error: LinkError) -> Self {
        let timed_out = matches!(error, LinkError::NoAnswer { .. } | LinkError::Silent { .. });
        Self { reason: error.to_string(), timed_out }
    }
}

impl Meet for ByLink {
    type Link = Link;

    async fn meet(&self, rendezvous: &Path, peer: Awaited, deadline: Duration) -> Result<Link, MeetError> {
        Ok(Link::meet(rendezvous, peer, deadline).await?)
    }
}

impl Probe for Link {
    async fn facts(&mut self, paths: Vec<String>) -> Result<Facts, MeetError> {
        Ok(Link::facts(self, paths).await?)
    }

    async fn running(&mut self) -> Result<usize, MeetError> {
        Ok(self.table().await?.iter().filter(|entry| entry.running).count())
    }
}
