//! What a keeper serves: the tools over the sessions of its state directory.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::OnceCell;

use super::life::Open;
use super::serve::Service;
use crate::approvals::desk::Desk;
use crate::client::SandboxOptions;
use crate::engine::{Discovery, Engine};
use crate::error::Failure;
use crate::process::record::Place;
use crate::process::said::IdleThreshold;
use crate::process::sessions::reach::Containers;
use crate::process::sessions::{Reach, Sessions, Unreached};
use crate::runner::Link;
use crate::sandbox::Sandboxes;
use crate::state::StateDir;
use crate::tools::Toolbox;
use crate::tools::process::Polls;

/// Opens the sessions and the tools over them. Needs no engine: one is looked for when a sandbox is.
pub fn toolbox(state: &StateDir, base: &SandboxOptions, engine: Option<String>) -> Open {
    let (state, base) = (state.clone(), base.clone());
    Box::new(move || {
        let (state, base, engine) = (state.clone(), base.clone(), engine.clone());
        async move {
            let reach = Places {
                state: state.clone(),
                engine,
                inside: OnceCell::new(),
                beside: Containers::new(None),
            };
            let sessions = Sessions::open(&state, Arc::new(reach)).await?;
            for warning in sessions.warnings() {
                tracing::warn!("{warning}");
            }
            let idle = base.variable(IdleThreshold::VARIABLE);
            let desk = Desk::over(&state, sessions.events())?;
            let toolbox = Toolbox {
                sessions,
                desk,
                state,
                base,
                open: Arc::default(),
                waiting: crate::tools::exec::Waiting::default(),
                polls: Polls::with_threshold(IdleThreshold::from_variable(idle.as_deref())),
            };
            Ok(Arc::new(toolbox) as Arc<dyn Service>)
        }
        .boxed()
    })
}

/// Finds inits again; the engine only for those in containers, and again and again until there is one.
struct Places {
    state: StateDir,
    engine: Option<String>,
    inside: OnceCell<Containers>,
    beside: Containers,
}

impl Places {
    async fn open(&self) -> Result<Containers, Failure> {
        let engine = Engine::discover(&Discovery::from_process(self.engine.clone())).await?;
        Ok(Containers::new(Sandboxes::open(engine, &self.state)?))
    }
}

impl Reach for Places {
    fn reach(&self, place: &Place) -> BoxFuture<'_, Result<Link, Unreached>> {
        let place = place.clone();
        async move {
            if !matches!(place, Place::Sandbox { .. }) {
                return self.beside.reach(&place).await;
            }
            match self.inside.get_or_try_init(|| self.open()).await {
                Ok(inside) => inside.reach(&place).await,
                Err(failure) => Err(Unreached::Later(failure.0.message)),
            }
        }
        .boxed()
    }
}
