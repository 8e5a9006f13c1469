//! Builds an image with the engine's classic builder.

use std::collections::{BTreeMap, HashMap};

use bollard::models::BuildInfo;
use bollard::query_parameters::BuildImageOptions;
use bytes::Bytes;

use super::progress::{Progress, follow};
use super::{Engine, EngineError, name};

/// What to build.
#[derive(Debug, Clone, Default)]
pub struct BuildSpec {
    /// Tar of the build context, the Dockerfile included.
    pub context: Bytes,
    /// The Dockerfile's path in the context.
    pub dockerfile: String,
    /// Reference that the image gets.
    pub reference: String,
    /// Build arguments. Visible in the image's history: never put a secret here.
    pub args: BTreeMap<String, String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Network mode of build steps; `None` is the engine's default.
    pub network: Option<String>,
}

impl Engine {
    /// Builds and tags; each line that the builder prints goes to `line`. Returns the image's id.
    ///
    /// A base image that is missing is looked for in registries by the engine itself.
    ///
    /// # Errors
    ///
    /// [`EngineError::Refused`] with the builder's words where a step fails.
    pub async fn build(&self, spec: &BuildSpec, mut line: impl FnMut(&str)) -> Result<String, EngineError> {
        let what = format!("build of image {}", spec.reference);
        let (repository, tag) = name::repository_and_tag(&spec.reference)?;
        let options = BuildImageOptions {
            dockerfile: spec.dockerfile.clone(),
            t: Some(format!("{repository}:{tag}")),
            buildargs: map(&spec.args),
            labels: map(&spec.labels),
            networkmode: spec.network.clone(),
            rm: true,
            forcerm: true,
            ..BuildImageOptions::default()
        };
        let body = bollard::body_full(spec.context.clone());
        let stream = self.docker().build_image(options, None, Some(body));
        let mut id = None;
        follow(&what, self.deadlines().silence, &Progress::default(), stream, |info| {
            id = built_id(&info).or(id.take());
            for text in info.stream.iter().flat_map(|text| text.lines()).filter(|text| !text.is_empty()) {
                line(text);
            }
        })
        .await?;
        match id {
            Some(id) => Ok(id),
            // Engines that do not report the id in the stream have tagged the image all the same.
            None => match self.image(&spec.reference).await? {
                Some(image) => Ok(image.id),
                None => Err(EngineError::Protocol { what, reason: "the builder made no image".to_owned() }),
            },
        }
    }
}

/// The id that the builder reports beside its text.
fn built_id(info: &BuildInfo) -> Option<String> {
    info.aux.as_ref()?.id.clone()
}

fn map(pairs: &BTreeMap<String, String>) -> Option<HashMap<String, String>> {
    if pairs.is_empty() { None } else { Some(pairs.clone().into_iter().collect()) }
}
