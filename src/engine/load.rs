//! Loads images that an engine saved (`docker save`).

use std::io;

use bollard::query_parameters::ImportImageOptions;
use bytes::Bytes;
use futures_util::Stream;

use super::progress::{Progress, follow};
use super::{Engine, EngineError};

impl Engine {
    /// Loads every image of the archive; returns the references or ids that the engine names.
    ///
    /// # Errors
    ///
    /// [`EngineError::Refused`] for what is no archive of images.
    pub async fn load(
        &self,
        archive: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> Result<Vec<String>, EngineError> {
        let progress = Progress::default();
        let body = bollard::body_try_stream(progress.watch(archive));
        let stream = self.docker().import_image(ImportImageOptions::default(), body, None);
        let mut loaded = Vec::new();
        follow("load of images", self.deadlines().silence, &progress, stream, |line| {
            loaded.extend(line.stream.as_deref().and_then(loaded_name).map(str::to_owned));
        })
        .await?;
        Ok(loaded)
    }
}

/// The reference in `Loaded image: X` or `Loaded image ID: X`.
fn loaded_name(line: &str) -> Option<&str> {
    let rest = line.trim().strip_prefix("Loaded image")?;
    let (_, name) = rest.split_once(": ")?;
    Some(name.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_loaded_images() {
        assert_eq!(loaded_name("Loaded image: a/b:1\n"), Some("a/b:1"));
        assert_eq!(loaded_name("Loaded image ID: sha256:00"), Some("sha256:00"));
        assert_eq!(loaded_name("Loading layer"), None);
    }
}
