//! The record of a proof, so that a container is proven once for each start and not once for each command.

use serde::{Deserialize, Serialize};

use super::error::SandboxError;
use super::files::{Layout, replace};
use super::hash::Inputs;
use super::prove::Hardening;
use super::request::SandboxName;
use crate::engine::ContainerFacts;
use crate::runner::Awaited;
use crate::wire::Nonce;

/// What was proven of one start of one container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// Container id.
    pub container: String,
    /// The engine's start time; another one means another start.
    pub started_at: String,
    /// PID 1 on the engine's host.
    pub pid: i32,
    /// Rendezvous directory.
    pub run: String,
    /// Image id.
    pub image: String,
    /// `uid:gid` of the processes.
    pub user: String,
    /// The agent that first asked for it.
    pub agent: String,
    /// Configuration hash.
    pub hash: String,
    /// Scope key of its sessions, where the labels do not tell: it came out of a pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The configuration hash in its label, where that is another: it was made under another name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_as: Option<String>,
    /// It was proven from outside: its init could not be met.
    #[serde(default)]
    pub outside: bool,
    /// The nonce that proves its init where the kernel cannot, in hex digits. The file is private to this user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<Secret>,
    /// What the hash covers.
    pub inputs: Inputs,
    /// The proof.
    pub hardening: Hardening,
}

/// A nonce on its way to and from a private file; shown nowhere else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Secret(pub(super) Nonce);

impl Serialize for Secret {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.reveal())
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Nonce::parse(text.as_bytes()).map(Self).ok_or_else(|| serde::de::Error::custom("not a nonce"))
    }
}

impl Record {
    /// How the init of this container is told from its workload.
    pub(super) fn awaited(&self) -> Awaited {
        self.nonce.map_or(Awaited::Kernel(self.pid), |Secret(nonce)| Awaited::Nonce(nonce))
    }

    /// The record is about exactly this start of exactly this container.
    pub fn is_about(&self, facts: &ContainerFacts) -> bool {
        self.container == facts.id.0
            && self.started_at == facts.started_at
            && self.pid == facts.pid
            && facts.pid > 0
    }

    /// Reads the record; `None` where there is none or it cannot be read: the container is then not trusted.
    pub(super) fn load(layout: &Layout, name: &SandboxName) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(layout.proof(name).ok()?).ok()?).ok()
    }

    /// Replaces the record at once.
    pub(super) fn store(&self, layout: &Layout, name: &SandboxName) -> Result<(), SandboxError> {
        let path = layout.proof(name)?;
        let bytes = serde_json::to_vec(self)
            .map_err(|error| SandboxError::io(&path, "encode")(std::io::Error::other(error)))?;
        replace(&path, &bytes)
    }
}
