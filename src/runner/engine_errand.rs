//! What is asked of the engine while a command runs.
//!
//! Never awaited in place: the engine holds its answer back until the output of a command that has ended has been
//! taken, so whoever waits for the answer and does not read waits for ever.

use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::engine::{ContainerId, Engine, EngineError, ExecFacts, ExecId, ExecSpec};

/// An errand that takes longer counts as failed; what it was for is tried again.
const PATIENCE: Duration = Duration::from_secs(10);

/// Code of a command that was killed; also that of one whose container ended.
const KILLED: i64 = 137;
/// How long after such an end the engine may still call the container running.
const CONTAINER_WITHIN: Duration = Duration::from_millis(500);

/// The kill command. It needs nothing but the shell's own parts and `kill`; `$1` is the marker, `$2` the signal.
/// KILL goes round until a round finds nothing: a tree that forks meanwhile must not get away.
const KILL: &str = "n=0;while [ $n -lt 20 ];do f=;for d in /proc/[0-9]*;do while IFS= read -r l||[ -n \"$l\" ];do \
                    case \"$l\" in *\"$1\"*)kill -\"$2\" \"${d#/proc/}\"&&f=1;;esac;done<\"$d/environ\";done 2>/dev/null;\
                    [ \"$f$2\" = 1KILL ]||break;n=$((n+1));done;:";

/// What an errand brought back.
#[derive(Debug)]
pub(super) enum News {
    /// A signal was sent, or not: that shows by what the command does.
    Signalled,
    /// The command's state.
    Facts(Result<ExecFacts, EngineError>),
    /// The container ended under it, or is gone.
    Stopped,
}

/// At most one errand at a time.
#[derive(Debug, Default)]
pub(super) struct Errand(JoinSet<News>);

impl Errand {
    /// One is under way.
    pub(super) fn busy(&self) -> bool {
        !self.0.is_empty()
    }

    /// Waits for it; never returns where there is none.
    pub(super) async fn back(&mut self) -> News {
        match self.0.join_next().await {
            Some(Ok(news)) => news,
            Some(Err(_)) => News::Signalled,
            None => std::future::pending().await,
        }
    }

    /// Takes its news where they are there already.
    pub(super) fn already_back(&mut self) -> Option<News> {
        self.0.try_join_next().map(|news| news.unwrap_or(News::Signalled))
    }

    /// Asks for the command's state. `ours` tells that creel has sent it KILL itself.
    pub(super) fn ask(&mut self, target: &Target, exec: &ExecId, ours: bool) {
        let (target, exec) = (target.clone(), exec.clone());
        self.0.spawn(async move {
            let facts = target.engine.exec_inspect(&exec).await;
            let killed = matches!(&facts, Ok(facts) if !facts.running && facts.exit_code == Some(KILLED));
            // With the container the engine forgets its commands.
            let forgotten = matches!(&facts, Err(EngineError::NotFound { .. }));
            if (killed && !ours || forgotten) && target.container_ended().await {
                return News::Stopped;
            }
            News::Facts(facts)
        });
    }

    /// Sends a signal to everything that carries the marker.
    pub(super) fn signal(&mut self, target: Target, signal: &'static str) {
        self.0.spawn(async move {
            if let Err(error) = target.signal(signal).await {
                tracing::debug!(%error, signal, "cannot signal a command");
            }
            News::Signalled
        });
    }
}

/// The processes of one command.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) engine: Engine,
    pub(super) container: ContainerId,
    /// In the environment of each of them.
    pub(super) marker: String,
}

impl Target {
    /// Runs the kill command and waits for it. Where there is no shell, nothing can be reached.
    pub(super) async fn signal(&self, signal: &str) -> Result<(), EngineError> {
        let killing = async {
            let argv = ["/bin/sh", "-c", KILL, "sh", &self.marker, signal].map(str::to_owned).to_vec();
            let spec = ExecSpec { argv, env: Vec::new(), workdir: None, user: None, stdin: false, tty: None };
            let exec = self.engine.exec_create(&self.container, &spec).await?;
            let mut stream = self.engine.exec_start(&exec, false).await?;
            while stream.output.next().await.is_some_and(|piece| piece.is_ok()) {}
            Ok(())
        };
        let late = |_| EngineError::NotResponding { what: "kill of a command".to_owned(), after: PATIENCE };
        tokio::time::timeout(PATIENCE, killing).await.map_err(late)?
    }

    /// A container that ends kills its commands, and the engine passes that off as their own end. It tells of the
    /// container a moment later.
    async fn container_ended(&self) -> bool {
        let until = Instant::now() + CONTAINER_WITHIN;
        loop {
            match self.engine.inspect(&self.container.0).await {
                Ok(Some(facts)) if facts.running => {}
                Ok(_) => return true,
                // Nothing is known of it.
                Err(_) => return false,
            }
            if Instant::now() >= until {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// TERM, and KILL after `grace`, for a command that nobody follows any more. Best effort: it goes on beside
    /// its caller, and a runtime that ends takes it along.
    pub(super) fn end_alone(self, grace: Duration) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        // Nobody is left to join it; it ends by itself after the grace.
        runtime.spawn(async move {
            let _ = self.signal("TERM").await;
            tokio::time::sleep(grace).await;
            self.signal("KILL").await
        });
    }
}
