//! Asks a container's init whether commands run there that no lease stands for: a background command whose creel
//! died keeps running, and must survive drift and prune.

use super::Sandboxes;
use super::by_proc::ByProc;
use super::ensure::WARM_DEADLINE;
use super::files::RunId;
use super::meet::{Meet, Probe as _};
use super::record::Record;
use crate::engine::ContainerFacts;

impl Sandboxes {
    /// Commands run in this container. An init that does not answer runs nothing that anybody could still reach.
    pub(super) async fn busy<M: Meet>(&self, facts: &ContainerFacts, record: &Record, meet: &M) -> bool {
        if !record.is_about(facts) {
            return false;
        }
        if record.outside {
            return ByProc::new(facts.pid).running().await.is_ok_and(|running| running > 0);
        }
        let rendezvous = RunId::parse(&record.run).and_then(|run| self.layout.run(&run).ok());
        let Some(rendezvous) = rendezvous else { return false };
        let ask = async {
            let mut link = meet.meet(&rendezvous, record.peer(), WARM_DEADLINE).await?;
            link.running().await
        };
        matches!(tokio::time::timeout(2 * WARM_DEADLINE, ask).await, Ok(Ok(running)) if running > 0)
    }
}
