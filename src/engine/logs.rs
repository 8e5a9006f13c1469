//! The end of a container's log.

use bollard::query_parameters::LogsOptions;
use futures_util::StreamExt as _;

use super::{ContainerId, Engine, EngineError};

/// Most bytes of log that are kept; a line may be as long as its writer likes.
const LOG_MAX: usize = 64 * 1024;

impl Engine {
    /// The last lines that PID 1 wrote, both streams, at most 64 KiB; what is not UTF-8 is replaced.
    pub async fn log_tail(&self, id: &ContainerId, lines: u32) -> Result<String, EngineError> {
        let what = format!("log of container {}", id.short());
        let options =
            LogsOptions { stdout: true, stderr: true, tail: lines.to_string(), ..LogsOptions::default() };
        let mut stream = self.docker().logs(&id.0, Some(options));
        let collect = async {
            let mut log = Vec::new();
            while let Some(output) = stream.next().await {
                log.extend_from_slice(&output?.into_bytes());
                if log.len() > LOG_MAX {
                    log.drain(..log.len() - LOG_MAX);
                }
            }
            Ok(log)
        };
        let log = self.within(&what, self.deadlines().quick, collect).await?;
        Ok(String::from_utf8_lossy(&log).into_owned())
    }
}
