//! Gets a static busybox and the list of its applets from the host's package manager.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::progress::{Event, Progress};
use super::tool::{Tool, find};
use super::{ImageError, elf, rootfs};

const DOWNLOAD_LIMIT: Duration = Duration::from_mins(2);
const LOCAL_LIMIT: Duration = Duration::from_secs(30);
const PACKAGE: &str = "busybox-static";

/// The program and the paths under which it is to be found in an image.
#[derive(Debug)]
pub(super) struct Busybox {
    /// The file's bytes.
    pub(super) program: Vec<u8>,
    /// Relative paths of the applets.
    pub(super) applets: Vec<String>,
}

/// Takes the distribution's package, else a static busybox that is installed on the host.
pub(super) async fn obtain(progress: Progress<'_>) -> Result<Busybox, ImageError> {
    let temporary = tempfile::Builder::new().prefix("creel-image-").tempdir();
    let dir = temporary.map_err(ImageError::io(std::env::temp_dir(), "create a directory in"))?;
    let fetched = match fetch(dir.path(), progress).await {
        Ok(file) => read(file, progress).await,
        Err(error) => Err(error),
    };
    match fetched {
        Ok(busybox) => Ok(busybox),
        Err(error) => {
            progress(Event::Stage("looking for an installed static busybox"));
            installed(&error, progress).await
        }
    }
}

/// Downloads and unpacks the package; the path of the program in it.
async fn fetch(dir: &Path, progress: Progress<'_>) -> Result<PathBuf, ImageError> {
    if find("apt-get").is_none() || find("dpkg-deb").is_none() {
        return Err(no_busybox("this host has no apt-get and dpkg-deb to fetch the package with"));
    }
    progress(Event::Stage("downloading busybox-static"));
    if download(dir, progress).await.is_err() {
        // A fresh host has no package lists yet.
        progress(Event::Stage("updating the package lists"));
        apt_get(&["update"], dir, progress).await?;
        progress(Event::Stage("downloading busybox-static"));
        download(dir, progress).await?;
    }
    progress(Event::Stage("unpacking busybox-static"));
    let package = find_file(dir, "deb").ok_or_else(|| no_busybox("apt-get left no package file"))?;
    let args = vec![OsStr::new("-x"), package.as_os_str(), OsStr::new("files")];
    let fix = "check the free space of the temporary directory";
    Tool { program: "dpkg-deb", file: None, args, dir, limit: LOCAL_LIMIT, fix }.run(progress).await?;
    let places = ["files/bin/busybox", "files/usr/bin/busybox"].map(|place| dir.join(place));
    places.into_iter().find(|place| place.is_file()).ok_or_else(|| no_busybox("the package holds no busybox"))
}

async fn download(dir: &Path, progress: Progress<'_>) -> Result<Vec<u8>, ImageError> {
    apt_get(&["download", PACKAGE], dir, progress).await
}

async fn apt_get(args: &[&str], dir: &Path, progress: Progress<'_>) -> Result<Vec<u8>, ImageError> {
    let args = std::iter::once("-qq").chain(args.iter().copied()).map(OsStr::new).collect();
    let fix = "check the package mirror in the host's apt sources (as root: apt-get update)";
    Tool { program: "apt-get", file: None, args, dir, limit: DOWNLOAD_LIMIT, fix }.run(progress).await
}

/// The host's own busybox, where it is static; `why` says why the package was not to be had.
async fn installed(why: &ImageError, progress: Progress<'_>) -> Result<Busybox, ImageError> {
    let Some(file) = find("busybox") else {
        return Err(no_busybox(&format!("{why}; and the host has none installed")));
    };
    let place = file.display().to_string();
    match read(file, progress).await {
        Ok(busybox) => Ok(busybox),
        Err(error) => Err(no_busybox(&format!("{why}; {place}: {error}"))),
    }
}

/// Reads the program and asks it for its applets. It is run on the host: it comes from the host's own packages.
async fn read(file: PathBuf, progress: Progress<'_>) -> Result<Busybox, ImageError> {
    let program = std::fs::read(&file).map_err(ImageError::io(&file, "read"))?;
    if !elf::is_static(&program) {
        return Err(no_busybox(&format!("{} is linked dynamically", file.display())));
    }
    let list = |option: &'static str| {
        let (args, fix) = (vec![OsStr::new(option)], "install the distribution's busybox-static");
        let dir = Path::new("/");
        Tool { program: "busybox", file: Some(&file), args, dir, limit: LOCAL_LIMIT, fix }.run(progress)
    };
    let applets = if let Ok(text) = list("--list-full").await {
        rootfs::applets(&String::from_utf8_lossy(&text))
    } else {
        // Built without its installer: it knows the names but not the directories.
        let names = list("--list").await?;
        let names = String::from_utf8_lossy(&names);
        rootfs::applets(&names.lines().map(|name| format!("bin/{name}\n")).collect::<Vec<_>>().concat())
    };
    if !applets.iter().any(|path| path == "bin/sh") {
        return Err(no_busybox(&format!("{} has no shell", file.display())));
    }
    Ok(Busybox { program, applets })
}

fn find_file(dir: &Path, extension: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(dir).ok()?;
    entries.flatten().map(|entry| entry.path()).find(|path| path.extension() == Some(OsStr::new(extension)))
}

fn no_busybox(reason: &str) -> ImageError {
    ImageError::NoBusybox { reason: reason.to_owned() }
}
