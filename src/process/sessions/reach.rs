//! Finds the inits of containers and of host commands again.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::task::JoinSet;

use super::{Reach, Unreached};
use crate::process::record::Place;
use crate::runner::{Link, host};
use crate::sandbox::{SandboxName, Sandboxes, Unmet};

/// How long a connection is kept for the next who wants it. Longer, and it would keep an idle container alive.
const KEPT: Duration = Duration::from_secs(30);

/// Where an init is met.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Spot {
    Container { name: String, id: String },
    Beside(PathBuf),
}

/// One connection for each place, for all who want it at a time.
type Shared = Arc<tokio::sync::Mutex<Option<Link>>>;

/// The inits of the sandboxes of one installation, and of its host commands.
#[derive(Debug)]
pub struct Containers {
    sandboxes: Option<Sandboxes>,
    links: Arc<Mutex<HashMap<Spot, Shared>>>,
    tasks: Mutex<JoinSet<()>>,
}

impl Containers {
    /// Of these sandboxes; without any (no engine was found), those in containers are not reachable for now.
    pub fn new(sandboxes: impl Into<Option<Sandboxes>>) -> Self {
        Self { sandboxes: sandboxes.into(), links: Arc::default(), tasks: Mutex::default() }
    }

    async fn find(&self, spot: Spot) -> Result<Link, Unreached> {
        let shared = {
            let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(links.entry(spot.clone()).or_default())
        };
        // Whoever comes while another meets it waits and has the same.
        let mut known = shared.lock().await;
        if let Some(link) = known.as_ref().filter(|link| !link.is_over()) {
            return Ok(link.clone());
        }
        let link = self.meet(&spot).await?;
        *known = Some(link.clone());
        self.expire(spot);
        Ok(link)
    }

    async fn meet(&self, spot: &Spot) -> Result<Link, Unreached> {
        match spot {
            Spot::Container { name, id } => {
                let sandboxes = self.sandboxes.as_ref();
                let sandboxes =
                    sandboxes.ok_or_else(|| Unreached::Later("no engine was found".to_owned()))?;
                let name = SandboxName::parse(name).map_err(|error| Unreached::Gone(error.to_string()))?;
                sandboxes.again(&name, id).await.map_err(|unmet| match unmet {
                    Unmet::Gone(reason) => Unreached::Gone(reason),
                    Unmet::Later(reason) => Unreached::Later(reason),
                })
            }
            Spot::Beside(dir) => match host::reach(dir).await {
                Ok(Some(link)) => Ok(link),
                Ok(None) => Err(Unreached::Gone("its supervisor has ended".to_owned())),
                Err(error) => Err(Unreached::Later(error.to_string())),
            },
        }
    }

    /// Lets go of a connection after a while; those who use it have it.
    fn expire(&self, spot: Spot) {
        let links = Arc::clone(&self.links);
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            tokio::time::sleep(KEPT).await;
            links.lock().unwrap_or_else(PoisonError::into_inner).remove(&spot);
        });
    }
}

impl Reach for Containers {
    fn reach(&self, place: &Place) -> BoxFuture<'_, Result<Link, Unreached>> {
        let spot = match place {
            Place::Sandbox { name, container } => {
                Spot::Container { name: name.clone(), id: container.clone() }
            }
            Place::Host { dir } => Spot::Beside(dir.clone()),
            Place::Engine { name } => {
                let reason = format!("what runs in {name} over the engine's exec API cannot be found again");
                return Box::pin(std::future::ready(Err(Unreached::Gone(reason))));
            }
        };
        Box::pin(self.find(spot))
    }
}
