//! Where measurements happen: an installation of its own, its images, and its end.

use creel::engine::{Discovery, Engine};
use creel::image::{self, Event, Order, Recipe};
use creel::sandbox::{InUse, Sandboxes};
use creel::state::StateDir;
use creel::{Sandbox, SandboxOptions};
use tokio_util::sync::CancellationToken;

use crate::Fallible;

/// Sizes of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Enough samples for a verdict.
    Full,
    /// The same rows in under a minute.
    Quick,
}

impl Scale {
    /// One of two values.
    pub(crate) fn of<T>(self, full: T, quick: T) -> T {
        if self == Self::Full { full } else { quick }
    }
}

/// A state directory of its own, so that the copy of creel-init in it is shared with no other sandbox; and an engine.
pub(crate) struct Ground {
    pub(crate) engine: Engine,
    pub(crate) scale: Scale,
    dir: tempfile::TempDir,
}

impl Ground {
    pub(crate) async fn new(scale: Scale) -> Fallible<Self> {
        let engine = Engine::discover(&Discovery::from_process(None)).await?;
        Ok(Self { engine, scale, dir: tempfile::tempdir()? })
    }

    /// The directory that everything of this run lies in.
    pub(crate) fn dir(&self) -> &std::path::Path {
        self.dir.path()
    }

    /// The state directory of this run.
    pub(crate) fn state_dir(&self) -> std::path::PathBuf {
        self.dir.path().join("s")
    }

    fn state(&self) -> StateDir {
        StateDir::at(self.state_dir())
    }

    /// Makes the image unless it is there, and returns its reference.
    pub(crate) async fn image(&self, recipe: Recipe) -> Fallible<String> {
        let order = Order::of(recipe);
        let tell = |event: Event<'_>| {
            if let Event::Stage(stage) = event {
                eprintln!("{}: {stage}", recipe.name());
            }
        };
        image::build(&self.engine, &self.state(), &order, &tell, &CancellationToken::new()).await?;
        Ok(order.reference.as_str().to_owned())
    }

    /// Options of a sandbox of this installation; no configuration of this machine gets in.
    pub(crate) fn options(&self, image: &str) -> SandboxOptions {
        let foreign = |name: &str| name.starts_with("OPENCLAW_") || name.starts_with("CREEL_CONFIG");
        Sandbox::options()
            .state(self.state_dir())
            .image(image)
            .vars(move |name| std::env::var(name).ok().filter(|_| !foreign(name)))
    }
}

impl Drop for Ground {
    /// Also after a failure. A drop cannot await, so a thread with a runtime of its own does it.
    fn drop(&mut self) {
        let (engine, state) = (self.engine.clone(), self.state());
        let cleaning = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                if let Ok(sandboxes) = Sandboxes::open(engine, &state) {
                    let _ = sandboxes.stop_all(InUse::Remove).await;
                }
            });
            Ok::<(), std::io::Error>(())
        });
        let _ = cleaning.join();
    }
}
