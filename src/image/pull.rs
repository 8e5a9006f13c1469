//! Gets an image from a registry, through the engine.

use super::progress::{Event, Progress};
use super::registry::{credentials, registry};
use super::tail::Tail;
use super::{ImageError, Recipe};
use crate::engine::{Engine, EngineError, ImageFacts};

/// Pulls `reference`, with the credentials that `docker_config` (the docker client's `config.json`) holds for its
/// registry. What it says of its progress is told.
///
/// # Errors
///
/// [`ImageError::NotPulled`] for creel's own images: what a registry has under their names is somebody else's.
/// [`ImageError::PullFailed`] where no registry answers, or it has no such image.
pub async fn pull(
    engine: &Engine,
    reference: &str,
    docker_config: Option<&str>,
    progress: Progress<'_>,
) -> Result<ImageFacts, ImageError> {
    let own = Recipe::of_reference(reference).or_else(|| Recipe::parse(reference).ok());
    if let Some(recipe) = own {
        return Err(ImageError::NotPulled { reference: reference.to_owned(), recipe: recipe.name() });
    }
    let host = registry(reference);
    let found = docker_config.map(|config| credentials(config, host)).unwrap_or_default();
    progress(Event::Stage("pulling"));
    // What a registry says is cleaned and bounded as any tool's words.
    let mut tail = Tail::default();
    let pulled = engine.pull(reference, found.auth, |line| tail.line(line, progress)).await;
    pulled.map_err(|source| match source {
        // The engine itself is gone, or the name is none.
        source @ (EngineError::Lost { .. } | EngineError::BadValue { .. }) => source.into(),
        source => ImageError::PullFailed {
            reference: reference.to_owned(),
            registry: host.to_owned(),
            source: Box::new(source),
            note: found.note,
        },
    })
}
