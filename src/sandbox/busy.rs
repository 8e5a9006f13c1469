//! Asks a container's init whether commands run there that no lease stands for: a background command whose creel
//! died keeps running, and must survive drift, prune and a plain stop.

use super::Sandboxes;
use super::by_proc::ByProc;
use super::ensure::WARM_DEADLINE;
use super::files::RunId;
use super::meet::{Meet, Probe as _};
use super::record::Record;
use crate::engine::ContainerFacts;

impl Sandboxes {
    /// How many commands run in this container. An init that does not answer runs nothing that anybody could still
    /// reach.
    pub(super) async fn commands<M: Meet>(&self, facts: &ContainerFacts, record: &Record, meet: &M) -> usize {
        if !record.is_about(facts) || !facts.running {
            return 0;
        }
        if record.outside {
            return ByProc::new(facts.pid).running().await.unwrap_or(0);
        }
        let rendezvous = RunId::parse(&record.run).and_then(|run| self.layout.run(&run).ok());
        let Some(rendezvous) = rendezvous else { return 0 };
        let ask = async {
            let mut link = meet.meet(&rendezvous, record.awaited(), WARM_DEADLINE).await?;
            link.running().await
        };
        match tokio::time::timeout(2 * WARM_DEADLINE, ask).await {
            Ok(Ok(running)) => running,
            Ok(Err(_)) | Err(_) => 0,
        }
    }

    /// Commands run in this container.
    pub(super) async fn busy<M: Meet>(&self, facts: &ContainerFacts, record: &Record, meet: &M) -> bool {
        self.commands(facts, record, meet).await > 0
    }
}
