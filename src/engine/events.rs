//! News of the out-of-memory killer.

use std::collections::HashMap;

use bollard::query_parameters::EventsOptions;
use futures_util::{Stream, StreamExt as _};

use super::classify::classify;
use super::{ContainerId, Engine, EngineError};

impl Engine {
    /// One item, the time in nanoseconds since 1970, for each time that the kernel killed a process of the container
    /// for want of memory. The engine's inspect answer stays silent where the victim was not PID 1.
    ///
    /// Without an end of its own; an error is the last item.
    pub fn oom_events(
        &self,
        id: &ContainerId,
    ) -> impl Stream<Item = Result<i64, EngineError>> + Send + Unpin + 'static + use<> {
        let filters = HashMap::from([
            ("type".to_owned(), vec!["container".to_owned()]),
            ("event".to_owned(), vec!["oom".to_owned()]),
            ("container".to_owned(), vec![id.0.clone()]),
        ]);
        let options = EventsOptions { filters: Some(filters), ..EventsOptions::default() };
        let docker = self.docker().clone();
        let events = docker.events(Some(options));
        Box::pin(events.map(|event| match event {
            Ok(event) => Ok(event.time_nano.unwrap_or(0)),
            Err(error) => Err(classify("events of a container", error)),
        }))
    }
}
