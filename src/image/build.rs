//! Builds one image: nothing where it is up to date, otherwise all of it or nothing.

use std::sync::Mutex;

use bytes::Bytes;
use futures_util::stream;
use tokio_util::sync::CancellationToken;

use super::progress::{Event, Progress};
use super::recipe::{LABEL_CA, LABEL_IMAGE, LABEL_SOURCE};
use super::tail::Tail;
use super::{
    ExtraCa, ImageError, Recipe, Reference, Source, busybox, debian, dockerfile, list, lock, own, rootfs,
};
use crate::engine::{BuildSpec, Engine, EngineError, ImageFacts};
use crate::state::StateDir;

/// What to build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The recipe.
    pub recipe: Recipe,
    /// The reference that the image gets.
    pub reference: Reference,
    /// Where its files come from. `Packages` is content with an up-to-date image of any source.
    pub source: Source,
    /// Extra certificates to trust; without them an image that has some is rebuilt.
    pub ca: Option<ExtraCa>,
    /// Build although an up-to-date image exists.
    pub force: bool,
}

impl Order {
    /// The recipe under its default reference, from packages, where not up to date.
    pub fn of(recipe: Recipe) -> Self {
        Self { recipe, reference: Reference::of(recipe), source: Source::Packages, ca: None, force: false }
    }

    /// True where `image` is already what this order asks for. Pure.
    fn is_met_by(&self, image: &ImageFacts) -> bool {
        let label = |name: &str| image.labels.get(name).map(String::as_str);
        let ca = self.ca.as_ref().map(ExtraCa::digest);
        let source = match self.source {
            Source::Packages => true,
            Source::Dockerfile { .. } => label(LABEL_SOURCE) == Some(self.source.label().as_str()),
        };
        list::is_current(self.recipe, image) && label(LABEL_CA) == ca.as_deref() && source
    }
}

/// How an order ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The image was there already and is what the recipe makes.
    UpToDate(ImageFacts),
    /// The image was built.
    Built(ImageFacts),
}

impl Outcome {
    /// The image.
    pub fn image(&self) -> &ImageFacts {
        match self {
            Self::UpToDate(image) | Self::Built(image) => image,
        }
    }
}

/// Fulfils `order`. Builds of one reference run one after the other; the later ones find it up to date. The
/// reference moves to the new image only when that is complete; until then an older image keeps it.
///
/// `cancel` ends the build early but in order, as [`ImageError::Interrupted`]: a Debian bootstrap needs a moment to
/// take down its mounts, which dropping the future would not give it.
pub async fn build(
    engine: &Engine,
    state: &StateDir,
    order: &Order,
    progress: Progress<'_>,
    cancel: &CancellationToken,
) -> Result<Outcome, ImageError> {
    let locks = state.own("locks")?;
    let _lock = unless(cancel, lock::take(&locks, &order.reference, progress)).await?;
    let before = engine.image(order.reference.as_str()).await?;
    if let Some(image) = before.as_ref().filter(|image| !order.force && order.is_met_by(image)) {
        return Ok(Outcome::UpToDate(image.clone()));
    }
    let id = match &order.source {
        Source::Packages => from_packages(engine, order, progress, cancel).await?,
        Source::Dockerfile { base } => {
            unless(cancel, from_dockerfile(engine, order, base.as_deref(), progress)).await?
        }
    };
    let built = engine.image(&id).await?;
    let built = built.ok_or(EngineError::ImageMissing { image: id })?;
    if let Some(old) = before.filter(|old| old.id != built.id) {
        remove_replaced(engine, &old, &order.reference).await;
    }
    Ok(Outcome::Built(built))
}

/// `work` until it ends or is cancelled; for work that may be dropped at any point.
async fn unless<T>(
    cancel: &CancellationToken,
    work: impl Future<Output = Result<T, ImageError>>,
) -> Result<T, ImageError> {
    cancel.run_until_cancelled(work).await.unwrap_or(Err(ImageError::Interrupted))
}

async fn from_packages(
    engine: &Engine,
    order: &Order,
    progress: Progress<'_>,
    cancel: &CancellationToken,
) -> Result<String, ImageError> {
    let ca = order.ca.as_ref();
    let changes = order.recipe.changes(ca);
    let Some(suite) = order.recipe.suite() else {
        if order.recipe == Recipe::Creel {
            return from_own(engine, order, &changes, progress).await;
        }
        let busybox = unless(cancel, busybox::obtain(progress)).await?;
        let composed = rootfs::compose(&busybox.program, &busybox.applets, ca);
        let tar = Bytes::from(composed.map_err(ImageError::io("the root file system", "compose"))?);
        progress(Event::Stage("importing"));
        let stream = stream::once(async move { Ok(tar) });
        return Ok(engine.import(stream, order.reference.as_str(), &changes).await?);
    };
    // Not dropped half-way: it may be installing packages.
    debian::ensure_tool(order.recipe, progress).await?;
    if cancel.is_cancelled() {
        return Err(ImageError::Interrupted);
    }
    let bootstrap = debian::start(order.recipe, suite, ca)?;
    let import = |tar| async { Ok(engine.import(tar, order.reference.as_str(), &changes).await?) };
    let made = bootstrap.run(progress, cancel, import).await;
    // The tool's own words about its end would only hide the cause.
    made.map_err(|error| if cancel.is_cancelled() { ImageError::Interrupted } else { error })
}

/// The image that holds creel: this program, its init and its libraries.
async fn from_own(
    engine: &Engine,
    order: &Order,
    changes: &[String],
    progress: Progress<'_>,
) -> Result<String, ImageError> {
    progress(Event::Stage("collecting creel and its libraries"));
    let tar = Bytes::from(own::compose(order.ca.as_ref())?);
    progress(Event::Stage("importing"));
    let stream = stream::once(async move { Ok(tar) });
    Ok(engine.import(stream, order.reference.as_str(), changes).await?)
}

async fn from_dockerfile(
    engine: &Engine,
    order: &Order,
    base: Option<&str>,
    progress: Progress<'_>,
) -> Result<String, ImageError> {
    let Some(text) = order.recipe.dockerfile() else {
        let what = "the image of creel itself has no Dockerfile: it consists of this very program";
        return Err(ImageError::BadOptions { what, fix: "leave out --from-dockerfile" });
    };
    let context = dockerfile::context(text, order.ca.as_ref());
    let context = Bytes::from(context.map_err(ImageError::io("the build context", "compose"))?);
    let spec = BuildSpec {
        context,
        dockerfile: dockerfile::NAME.to_owned(),
        reference: order.reference.as_str().to_owned(),
        args: base
            .map(|base| ("BASE", base))
            .into_iter()
            .chain(order.recipe.build_args().iter().copied())
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        labels: order.recipe.labels(&order.source, order.ca.as_ref()).into_iter().collect(),
        network: None,
    };
    progress(Event::Stage("building the Dockerfile"));
    let lines = Mutex::new(Tail::default());
    let built = engine.build(&spec, |line| {
        // Lines of the build come from programs in it: cleaned and bounded as any tool's.
        if let Ok(mut tail) = lines.lock() {
            tail.line(line, progress);
        }
    });
    built.await.map_err(|source| ImageError::BuildFailed {
        image: order.recipe.name(),
        tail: lines.lock().map(|tail| tail.text()).unwrap_or_default(),
        source,
    })
}

/// Takes away the image that lost its reference, so that rebuilding does not fill the disk. Best effort: an image
/// with another tag, of another maker or in use stays.
async fn remove_replaced(engine: &Engine, old: &ImageFacts, reference: &Reference) {
    let ours = old.labels.contains_key(LABEL_IMAGE);
    let other_tags = old.tags.iter().any(|tag| tag != reference.as_str());
    if ours && !other_tags {
        let removed = engine.remove_image(&old.id).await;
        if let Err(error) = removed {
            tracing::debug!(image = %old.id, %error, "the replaced image stays");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::recipe::LABEL_RECIPE;
    use super::*;

    fn ca(byte: u8) -> ExtraCa {
        let body = if byte == 0 { "MAEA" } else { "MAEH" };
        ExtraCa::parse(&format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n")).unwrap()
    }

    #[test]
    fn what_counts_as_up_to_date() {
        let order = Order::of(Recipe::Minimal);
        let image = list::tests::image(Recipe::Minimal);
        assert!(order.is_met_by(&image));
        assert!(!Order::of(Recipe::Sandbox).is_met_by(&image));
        assert!(!Order { ca: Some(ca(0)), ..order.clone() }.is_met_by(&image));
        let mut changed = image.clone();
        changed.labels.insert(LABEL_RECIPE.to_owned(), "0".repeat(64));
        assert!(!order.is_met_by(&changed));
        let mut foreign = image;
        foreign.labels.clear();
        assert!(!order.is_met_by(&foreign));
    }

    #[test]
    fn another_ca_is_another_image() {
        let order = Order { ca: Some(ca(0)), ..Order::of(Recipe::Minimal) };
        let mut image = list::tests::image(Recipe::Minimal);
        image.labels = order.recipe.labels(&Source::Packages, order.ca.as_ref()).into_iter().collect();
        assert!(order.is_met_by(&image));
        assert!(!Order { ca: Some(ca(7)), ..order.clone() }.is_met_by(&image));
        assert!(!Order { ca: None, ..order }.is_met_by(&image));
    }

    #[test]
    fn an_asked_for_dockerfile_is_built_once() {
        let source = |base: Option<&str>| Source::Dockerfile { base: base.map(str::to_owned) };
        let order = Order { source: source(None), ..Order::of(Recipe::Sandbox) };
        let mut image = list::tests::image(Recipe::Sandbox);
        assert!(!order.is_met_by(&image));
        image.labels = order.recipe.labels(&order.source, None).into_iter().collect();
        assert!(order.is_met_by(&image));
        assert!(!Order { source: source(Some("x:y")), ..order }.is_met_by(&image));
        assert!(Order::of(Recipe::Sandbox).is_met_by(&image));
    }
}
