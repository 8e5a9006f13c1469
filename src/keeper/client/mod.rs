//! The way to a keeper: connect, start one where none is, and come back where one dies in between.
//!
//! | file | concern |
//! |---|---|
//! | `connection` | one connection: many requests at once, each with its answers |
//! | `again` | a way that survives its keeper |

mod again;
mod connection;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use again::{Keepers, Repeat, repeatable_action};
pub use connection::{Connection, Gone, News, Pending};

use super::message::{self, Hello, PROTOCOL};
use super::wake::Wake;
use super::{KeeperError, socket, start};
use crate::state::StateDir;

/// How long a keeper that was started may take to answer.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long a keeper may take to greet. One that is stopped does not.
const GREETING: Duration = Duration::from_secs(10);
/// The longest wait between two tries, for a change that no event shows.
const LOOK: Duration = Duration::from_secs(10);

/// Connects to the keeper of a state directory, and starts `program keeper` where there is none. One of another build is
/// asked to end, and replaced.
///
/// # Errors
///
/// When none can be started, or it does not answer within a minute; with its own last words.
pub async fn connect(state: &StateDir, program: &Path) -> Result<Connection, KeeperError> {
    let own = socket::own(state)?;
    // Before the first look, so that none that appears meanwhile is missed.
    let wake = Wake::appearing(&own).map_err(KeeperError::Watch)?;
    let mut way = Way { state, build: message::build(program).ok(), replaced: false };
    let mut child = None;
    let tried = tokio::time::timeout(PATIENCE, async {
        loop {
            if let Some(connection) = way.try_once().await? {
                return Ok(connection);
            }
            let starting = match &mut child {
                Some(child) => child,
                None => child.insert(start::spawn(state, program, None)?),
            };
            tokio::select! {
                changed = wake.changed() => changed.map_err(KeeperError::Watch)?,
                ended = starting.wait() => {
                    child = None;
                    // With success another one is there, or was.
                    if !ended.is_ok_and(|status| status.success()) {
                        return Err(KeeperError::NoAnswer(start::last_words(state)));
                    }
                }
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    });
    tried.await.unwrap_or_else(|_| Err(KeeperError::NoAnswer(start::last_words(state))))
}

/// Connects to the keeper that is there, of whatever build.
///
/// # Errors
///
/// When what listens there is no keeper.
pub async fn connect_to_running(state: &StateDir) -> Result<Option<Connection>, KeeperError> {
    let Some(stream) = socket::connect(state).await? else { return Ok(None) };
    match tokio::time::timeout(GREETING, Connection::open(stream)).await {
        Ok(Ok(connection)) => Ok(Some(connection)),
        // It ended meanwhile.
        Ok(Err(None)) => Ok(None),
        Ok(Err(Some(error))) => Err(error),
        Err(_) => Err(KeeperError::NoAnswer("it does not greet; is its process stopped?".to_owned())),
    }
}

/// The program that starts keepers: creel itself.
pub fn own_program() -> Result<PathBuf, KeeperError> {
    std::env::current_exe().map_err(KeeperError::Start)
}

struct Way<'a> {
    state: &'a StateDir,
    /// The build that is wanted; `None` where the program cannot be looked at.
    build: Option<String>,
    replaced: bool,
}

impl Way<'_> {
    async fn try_once(&mut self) -> Result<Option<Connection>, KeeperError> {
        let Some(connection) = connect_to_running(self.state).await? else { return Ok(None) };
        let Hello { protocol, build, process, .. } = connection.hello();
        let same = self.build.as_ref().is_none_or(|wanted| wanted == build);
        // Two builds that are used side by side must not take turns within one call.
        if *protocol == PROTOCOL && (same || self.replaced) {
            return Ok(Some(connection));
        }
        if self.replaced {
            return Err(KeeperError::Strange(format!("process {process} speaks version {protocol}")));
        }
        tracing::info!(process, build, "another build keeps this state directory; it is asked to hand over");
        self.replaced = true;
        let _ = connection.request("keeper.stop", serde_json::json!({ "handover": true })).await;
        connection.closed().await;
        Ok(None)
    }
}
