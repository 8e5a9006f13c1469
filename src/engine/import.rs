//! Brings a file system into the engine's store as an image.

use std::io;

use bollard::query_parameters::CreateImageOptions;
use bytes::Bytes;
use futures_util::Stream;

use super::progress::{Progress, follow};
use super::{Engine, EngineError, name};

impl Engine {
    /// Makes an image of one layer from a tar stream and tags it `reference`; returns its id.
    ///
    /// `changes` are Dockerfile lines such as `ENV PATH=/bin` or `LABEL a=b`. The deadline is for silence: no byte
    /// taken and no answer.
    ///
    /// # Errors
    ///
    /// [`EngineError::Refused`] for a tar or a change that the engine does not understand; [`EngineError::Lost`]
    /// where the tar stream itself fails.
    pub async fn import(
        &self,
        tar: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
        reference: &str,
        changes: &[String],
    ) -> Result<String, EngineError> {
        let what = format!("import of image {reference}");
        let (repository, tag) = name::repository_and_tag(reference)?;
        let options = CreateImageOptions {
            from_src: Some("-".to_owned()),
            // Podman knows no `tag` here.
            repo: Some(format!("{repository}:{tag}")),
            changes: changes.to_vec(),
            ..CreateImageOptions::default()
        };
        let progress = Progress::default();
        let body = bollard::body_try_stream(progress.watch(tar));
        let docker = self.docker_with(repeat_changes);
        let stream = docker.create_image(Some(options), Some(body), None);
        let mut id = None;
        follow(&what, self.deadlines().silence, &progress, stream, |line| {
            id = line.status.filter(|status| status.starts_with("sha256:")).or(id.take());
        })
        .await?;
        id.ok_or_else(|| EngineError::Protocol { what, reason: "the engine named no image id".to_owned() })
    }
}

/// The client library joins all changes with line feeds in one parameter, which Podman takes for one change: one
/// parameter for each is understood by both.
fn repeat_changes(query: &str) -> String {
    let parts = query.split('&').map(|part| match part.strip_prefix("changes=") {
        Some(lines) => format!("changes={}", lines.replace("%0A", "&changes=")),
        None => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_parameter_for_each_change() {
        assert_eq!(repeat_changes("repo=a%0Ab&changes=A%0AB&x="), "repo=a%0Ab&changes=A&changes=B&x=");
    }
}
