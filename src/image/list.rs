//! Which of the recipes' images the engine has, and whether they are what the recipes would make now.

use super::recipe::{LABEL_CA, LABEL_IMAGE, LABEL_RECIPE, LABEL_SOURCE};
use super::{ImageError, Recipe, Reference};
use crate::engine::{Engine, ImageFacts};

/// One recipe's image under one reference.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The recipe's name.
    pub name: &'static str,
    /// The reference.
    pub reference: String,
    /// An image with this reference exists.
    pub built: bool,
    /// It was made by the recipe as it is now. False too for an image that something else made.
    pub up_to_date: bool,
    /// What to do about an image of an older recipe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Where its files came from (`packages`, `dockerfile …`), where creel made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Digest of the extra CA bundle in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// Its content id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Bytes on disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Creation time as the engine writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
}

/// The default reference of each recipe, built or not, then every other reference that carries a recipe's label.
/// With `only`, that recipe alone.
pub async fn list(engine: &Engine, only: Option<Recipe>) -> Result<Vec<Status>, ImageError> {
    let mut found = Vec::new();
    for recipe in Recipe::ALL.into_iter().filter(|recipe| only.is_none_or(|only| only == *recipe)) {
        let reference = Reference::of(recipe);
        found.push(status(recipe, reference.as_str(), engine.image(reference.as_str()).await?.as_ref()));
        let label = (LABEL_IMAGE.to_owned(), recipe.name().to_owned());
        let mut others = Vec::new();
        for image in engine.images(&[label]).await? {
            for tag in image.tags.iter().filter(|tag| tag.as_str() != reference.as_str()) {
                // The list's rows lack details, and the tag may have gone meanwhile.
                let found = engine.image(tag).await?;
                others.extend(found.map(|image| status(recipe, tag, Some(&image))));
            }
        }
        others.sort_by(|a, b| a.reference.cmp(&b.reference));
        found.extend(others);
    }
    Ok(found)
}

/// What `image` is to `recipe`. Pure.
fn status(recipe: Recipe, reference: &str, image: Option<&ImageFacts>) -> Status {
    let label = |name: &str| image.and_then(|image| image.labels.get(name)).cloned();
    Status {
        name: recipe.name(),
        reference: reference.to_owned(),
        built: image.is_some(),
        up_to_date: image.is_some_and(|image| is_current(recipe, image)),
        hint: image.and_then(|image| rebuild_hint(reference, image)),
        source: label(LABEL_SOURCE),
        ca: label(LABEL_CA),
        id: image.map(|image| image.id.clone()),
        size: image.map(|image| image.size),
        created: image.map(|image| image.created.clone()),
    }
}

/// What to do about an image that an older recipe of creel's made. `None` for one that is up to date, and for images of
/// other makers. Pure; for the list, `sandbox explain` and `doctor`.
pub fn rebuild_hint(reference: &str, image: &ImageFacts) -> Option<String> {
    let recipe = Recipe::parse(image.labels.get(LABEL_IMAGE)?).ok()?;
    if !is_outdated(recipe, image) {
        return None;
    }
    let own = Reference::parse(reference).is_ok_and(|reference| reference == Reference::of(recipe));
    let tag = if own { String::new() } else { format!(" --tag {reference}") };
    let dockerfile = image.labels.get(LABEL_SOURCE).is_some_and(|source| source.starts_with("dockerfile"));
    let how = if dockerfile { " --from-dockerfile" } else { "" };
    let name = recipe.name();
    Some(format!("image {reference} was built from an older recipe: run creel images build {name}{tag}{how}"))
}

/// The image carries this recipe's label and was made by an older form of it. What something else made is not judged.
pub fn is_outdated(recipe: Recipe, image: &ImageFacts) -> bool {
    let labelled = image.labels.get(LABEL_IMAGE).is_some_and(|name| name == recipe.name());
    labelled && !is_current(recipe, image)
}

/// The image was made by this recipe as it is now.
pub(super) fn is_current(recipe: Recipe, image: &ImageFacts) -> bool {
    let label = |name: &str| image.labels.get(name).map(String::as_str);
    label(LABEL_IMAGE) == Some(recipe.name()) && label(LABEL_RECIPE) == Some(recipe.digest().as_str())
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::Source;
    use super::*;

    /// An image as `recipe` makes it.
    pub(crate) fn image(recipe: Recipe) -> ImageFacts {
        ImageFacts {
            id: "sha256:1".to_owned(),
            tags: vec![recipe.default_reference().to_owned()],
            env: Vec::new(),
            user: "sandbox".to_owned(),
            entrypoint: Vec::new(),
            labels: recipe.labels(&Source::Packages, None).into_iter().collect(),
            size: 7,
            created: "2026-01-01T00:00:00Z".to_owned(),
        }
    }

    #[test]
    fn states_of_an_image() {
        let none = status(Recipe::Minimal, "r:t", None);
        assert!(!none.built && !none.up_to_date && none.id.is_none());
        let good = status(Recipe::Minimal, "r:t", Some(&image(Recipe::Minimal)));
        assert!(good.built && good.up_to_date);
        assert_eq!(good.source.as_deref(), Some("packages"));
        let mut old = image(Recipe::Minimal);
        old.labels.insert(LABEL_RECIPE.to_owned(), "0".to_owned());
        assert!(!status(Recipe::Minimal, "r:t", Some(&old)).up_to_date);
        assert!(is_outdated(Recipe::Minimal, &old) && !is_outdated(Recipe::Sandbox, &old));
        assert!(!is_outdated(Recipe::Minimal, &image(Recipe::Minimal)));
        let hint = status(Recipe::Minimal, "r:t", Some(&old)).hint.unwrap();
        assert!(hint.ends_with("run creel images build minimal --tag r:t"), "{hint}");
        let hint = rebuild_hint("creel-minimal", &old).unwrap();
        assert!(hint.ends_with("run creel images build minimal"), "{hint}");
        assert_eq!(good.hint, None);
        old.labels.clear();
        assert_eq!(rebuild_hint("r:t", &old), None);
        assert!(!status(Recipe::Sandbox, "r:t", Some(&image(Recipe::Minimal))).up_to_date);
    }

    #[test]
    fn json_names() {
        let json = serde_json::to_value(status(Recipe::Minimal, "r:t", None)).unwrap();
        let expected =
            serde_json::json!({"name": "minimal", "reference": "r:t", "built": false, "upToDate": false});
        assert_eq!(json, expected);
    }
}
