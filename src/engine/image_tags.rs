//! Names images and takes names away.

use bollard::query_parameters::{RemoveImageOptions, TagImageOptions};

use super::{Engine, EngineError, name};

impl Engine {
    /// Gives the image another reference, taking it from an image that has it.
    ///
    /// # Errors
    ///
    /// [`EngineError::NotFound`] where there is no such image.
    pub async fn tag(&self, image: &str, reference: &str) -> Result<(), EngineError> {
        let what = format!("tag {reference} for image {image}");
        let (repository, tag) = name::repository_and_tag(reference)?;
        let options = TagImageOptions { repo: Some(repository.to_owned()), tag: Some(tag.to_owned()) };
        let call = self.docker().tag_image(name::image(image)?, Some(options));
        self.within(&what, self.deadlines().quick, call).await
    }

    /// Takes away this reference, and the image with its last one. One that is gone is not an error.
    ///
    /// # Errors
    ///
    /// [`EngineError::Refused`] (409) where a container uses the image.
    pub async fn remove_image(&self, reference: &str) -> Result<(), EngineError> {
        let what = format!("removal of image {reference}");
        let call = self.docker().remove_image(name::image(reference)?, None::<RemoveImageOptions>, None);
        match self.within(&what, self.deadlines().slow, call).await {
            Ok(_) | Err(EngineError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
