//! Looks at images.

use bollard::models::{ImageConfig, ImageInspect, ImageSummary};
use bollard::query_parameters::ListImagesOptions;

use super::list::label_filter;
use super::{Engine, EngineError, ImageFacts, name};

impl Engine {
    /// The image of this reference or id, `None` where the store has none.
    ///
    /// # Errors
    ///
    /// [`EngineError::BadValue`] for what cannot be a reference.
    pub async fn image(&self, reference: &str) -> Result<Option<ImageFacts>, EngineError> {
        let what = format!("inspect of image {reference}");
        let call = self.docker().inspect_image(name::image(reference)?);
        match self.within(&what, self.deadlines().quick, call).await {
            Ok(image) => Ok(Some(facts(image))),
            Err(EngineError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Every tagged image that has all these labels with these values. Only an image's own row is read: environment,
    /// user and entrypoint are left empty, ask [`Engine::image`] for them.
    pub async fn images(&self, labels: &[(String, String)]) -> Result<Vec<ImageFacts>, EngineError> {
        let options =
            ListImagesOptions { filters: Some(label_filter(labels)), ..ListImagesOptions::default() };
        let call = self.docker().list_images(Some(options));
        let found = self.within("list of images", self.deadlines().quick, call).await?;
        Ok(found.into_iter().map(summary).collect())
    }
}

/// The engine's answer in our words.
fn facts(image: ImageInspect) -> ImageFacts {
    let config: ImageConfig = image.config.unwrap_or_default();
    ImageFacts {
        id: image.id.unwrap_or_default(),
        tags: image.repo_tags.unwrap_or_default().into_iter().map(familiar).collect(),
        env: config.env.unwrap_or_default().iter().map(|entry| pair(entry)).collect(),
        user: config.user.unwrap_or_default(),
        entrypoint: config.entrypoint.unwrap_or_default(),
        labels: config.labels.unwrap_or_default().into_iter().collect(),
        size: image.size.and_then(|size| u64::try_from(size).ok()).unwrap_or(0),
        created: image.created.unwrap_or_default(),
    }
}

/// The engine's row in our words.
fn summary(row: ImageSummary) -> ImageFacts {
    ImageFacts {
        id: row.id,
        tags: row.repo_tags.into_iter().filter(|tag| tag != "<none>:<none>").map(familiar).collect(),
        env: Vec::new(),
        user: String::new(),
        entrypoint: Vec::new(),
        labels: row.labels.into_iter().collect(),
        size: u64::try_from(row.size).unwrap_or(0),
        created: row.created.to_string(),
    }
}

/// The reference as people write it: Podman puts the default registry before short names, Docker does not.
fn familiar(tag: String) -> String {
    match tag.strip_prefix("docker.io/library/") {
        Some(short) => short.to_owned(),
        None => tag,
    }
}

/// `NAME=value`; a name alone has an empty value.
fn pair(entry: &str) -> (String, String) {
    let (name, value) = entry.split_once('=').unwrap_or((entry, ""));
    (name.to_owned(), value.to_owned())
}
