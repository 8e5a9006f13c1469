//! Meets the init of a container again in which commands were left running: nothing is made, proven or replaced here.

use super::Sandboxes;
use super::by_link::ByLink;
use super::ensure::WARM_DEADLINE;
use super::error::SandboxError;
use super::files::RunId;
use super::meet::Meet as _;
use super::record::Record;
use super::request::SandboxName;
use crate::runner::{Awaited, Link};

/// Why a container's init was not met again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmet {
    /// This start of this container is over, and with it every command in it.
    Gone(String),
    /// It may still run.
    Later(String),
}

impl Sandboxes {
    /// The connection to the init of the container with this name and id, as it was proven before.
    ///
    /// # Errors
    ///
    /// What became of it. The engine is asked only where the init is not met: commands outlive an engine that restarts.
    pub async fn again(&self, name: &SandboxName, container: &str) -> Result<Link, Unmet> {
        let Some(record) = Record::load(&self.layout, name).filter(|record| record.container == container)
        else {
            return Err(self.fate_without_record(container).await);
        };
        if record.outside {
            return Err(Unmet::Gone("its init could never be met".to_owned()));
        }
        let reason = if alive(record.awaited()) {
            match self.meet_by(&record).await {
                Ok(link) => return Ok(link),
                Err(reason) => reason,
            }
        } else {
            "its init is gone".to_owned()
        };
        match self.engine.inspect(container).await {
            Ok(Some(facts)) if !facts.running => Err(Unmet::Gone("the container was stopped".to_owned())),
            Ok(Some(facts)) if record.is_about(&facts) => Err(Unmet::Later(reason)),
            Ok(Some(_)) => Err(Unmet::Gone("the container was restarted".to_owned())),
            Ok(None) => Err(Unmet::Gone("the container was removed".to_owned())),
            Err(error) => Err(Unmet::Later(format!("{reason}; {error}"))),
        }
    }

    async fn meet_by(&self, record: &Record) -> Result<Link, String> {
        let rendezvous = RunId::parse(&record.run).ok_or("its record names no rendezvous directory")?;
        let rendezvous = self.layout.run(&rendezvous).map_err(|error: SandboxError| error.to_string())?;
        let link = ByLink.meet(&rendezvous, record.awaited(), WARM_DEADLINE).await;
        link.map_err(|error| error.reason)
    }

    /// Of a container about which nothing is written down any more.
    async fn fate_without_record(&self, container: &str) -> Unmet {
        match self.engine.inspect(container).await {
            Ok(Some(facts)) if facts.running => {
                Unmet::Later("the container runs, and its record is missing".to_owned())
            }
            Ok(_) => Unmet::Gone("the container was removed".to_owned()),
            Err(error) => Unmet::Later(error.to_string()),
        }
    }
}

/// Whether there is a process of that number at all; a nonce tells nothing of it.
fn alive(awaited: Awaited) -> bool {
    match awaited {
        Awaited::Kernel(pid) => std::path::Path::new(&format!("/proc/{pid}")).exists(),
        Awaited::Nonce(_) => true,
    }
}
