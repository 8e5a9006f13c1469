//! Gets an image from a registry.

use bollard::auth::DockerCredentials;
use bollard::query_parameters::CreateImageOptions;

use super::progress::{Progress, follow};
use super::{Engine, EngineError, ImageFacts, name};

/// Who pulls. Goes to the engine, and with it to the registry; never into a message.
#[derive(Clone, PartialEq, Eq)]
pub struct RegistryAuth {
    /// The registry, as the docker client names it.
    pub server: String,
    /// User name, empty with a token.
    pub user: String,
    /// Password.
    pub password: String,
    /// Identity token instead of a password.
    pub token: Option<String>,
}

impl std::fmt::Debug for RegistryAuth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RegistryAuth").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Engine {
    /// Pulls the image; each step that the engine tells goes to `line`. The deadline is for silence.
    ///
    /// # Errors
    ///
    /// [`EngineError::Refused`] or [`EngineError::NotFound`] with the engine's words.
    pub async fn pull(
        &self,
        reference: &str,
        auth: Option<RegistryAuth>,
        mut line: impl FnMut(&str),
    ) -> Result<ImageFacts, EngineError> {
        let what = format!("pull of image {reference}");
        let (image, tag) = match name::image(reference)? {
            digest if digest.contains('@') => (digest, None),
            _ => {
                // Without a tag an engine would pull every tag.
                let (repository, tag) = name::repository_and_tag(reference)?;
                (repository, Some(tag.to_owned()))
            }
        };
        let options =
            CreateImageOptions { from_image: Some(image.to_owned()), tag, ..CreateImageOptions::default() };
        let credentials = auth.map(|auth| DockerCredentials {
            username: Some(auth.user).filter(|user| !user.is_empty()),
            password: Some(auth.password).filter(|password| !password.is_empty()),
            serveraddress: Some(auth.server),
            identitytoken: auth.token,
            ..DockerCredentials::default()
        });
        let stream = self.docker().create_image(Some(options), None, credentials);
        follow(&what, self.deadlines().silence, &Progress::default(), stream, |step| {
            let part = step.id.map(|id| format!("{id}: ")).unwrap_or_default();
            let detail = step.progress_detail.and_then(|detail| Some((detail.current?, detail.total?)));
            let share = detail.filter(|(_, total)| *total > 0);
            let share = share.map(|(now, total)| format!(" {} %", now.saturating_mul(100) / total));
            if let Some(status) = step.status {
                line(&format!("{part}{status}{}", share.unwrap_or_default()));
            }
        })
        .await?;
        self.image(reference).await?.ok_or_else(|| EngineError::ImageMissing { image: reference.to_owned() })
    }
}
