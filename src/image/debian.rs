//! The Debian image: `mmdebstrap` makes the root file system on the host and its tar is streamed to the engine,
//! never stored as a whole.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::producer::{Output, Producer};
use super::progress::{Event, Progress};
use super::recipe::{HOME, Recipe, USER, USER_ID, WORKSPACE};
use super::sources::{self, PackageSource};
use super::tool::{Tool, find};
use super::{ExtraCa, ImageError};
use crate::host_tool::host_tool;

const PROGRAM: &str = "mmdebstrap";
/// A slow mirror and a loaded machine; far above the minute that it takes.
const LIMIT: Duration = Duration::from_mins(40);
const INSTALL_LIMIT: Duration = Duration::from_mins(10);

/// Arguments for one root file system, written to standard output. Pure.
pub(super) fn arguments(
    recipe: Recipe,
    suite: &str,
    mirrors: &[PackageSource],
    ca_tar: Option<&str>,
) -> Vec<String> {
    let mut args: Vec<String> = [
        "--variant=minbase",
        "--format=tar",
        // The engine provides /dev; rootless engines cannot unpack device files.
        "--skip=output/dev",
        "--dpkgopt=path-exclude=/usr/share/man/*",
        "--dpkgopt=path-exclude=/usr/share/locale/*",
        "--dpkgopt=path-exclude=/usr/share/doc/*",
        "--dpkgopt=path-include=/usr/share/doc/*/copyright",
        "--aptopt=APT::Install-Recommends \"false\"",
    ]
    .map(str::to_owned)
    .into();
    args.push(format!("--include={}", recipe.packages().join(",")));
    if let Some(tar) = ca_tar {
        args.push(format!("--customize-hook=tar-in {} /", shell_quote(tar)));
        args.push("--customize-hook=chroot \"$1\" update-ca-certificates".to_owned());
    }
    args.push(format!(
        "--customize-hook=chroot \"$1\" useradd --uid {USER_ID} --user-group --create-home --home-dir {HOME} \
         --shell /bin/bash {USER}"
    ));
    args.push(format!(
        "--customize-hook=chroot \"$1\" install -d -o {USER_ID} -g {USER_ID} -m 0755 {WORKSPACE}"
    ));
    args.extend([suite.to_owned(), "-".to_owned()]);
    args.extend(mirrors.iter().map(PackageSource::line));
    args
}

/// `text` as one word of a POSIX shell.
fn shell_quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The certificates as a tar that unpacks at the root of the file system.
fn ca_tar(ca: &ExtraCa) -> std::io::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, pem) in ca.files() {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(pem.len() as u64);
        tar.append_data(&mut header, format!("usr/local/share/ca-certificates/{name}"), pem.as_bytes())?;
    }
    tar.into_inner()
}

/// Makes sure that `mmdebstrap` is there: root on a Debian gets it installed, everybody else is told how.
pub(super) async fn ensure_tool(recipe: Recipe, progress: Progress<'_>) -> Result<(), ImageError> {
    if find(PROGRAM).is_some() {
        return Ok(());
    }
    let missing = |fix: String| ImageError::ToolMissing { image: recipe.name(), program: PROGRAM, fix };
    let other =
        format!("or where a registry is reachable: creel images build {} --from-dockerfile", recipe.name());
    if find("apt-get").is_none() {
        return Err(missing(format!("install {PROGRAM} with this host's package manager, {other}")));
    }
    if !rustix::process::geteuid().is_root() {
        let command = format!("sudo apt-get install --no-install-recommends {PROGRAM}");
        return Err(missing(format!("run: {command}  ({other})")));
    }
    progress(Event::Stage("installing mmdebstrap"));
    if install(progress).await.is_err() {
        // A fresh host has no package lists yet.
        progress(Event::Stage("updating the package lists"));
        apt_get(&["update"], progress).await?;
        progress(Event::Stage("installing mmdebstrap"));
        install(progress).await?;
    }
    Ok(())
}

async fn install(progress: Progress<'_>) -> Result<Vec<u8>, ImageError> {
    let packages = [PROGRAM, "debian-archive-keyring"];
    apt_get(&[&["install", "-y", "--no-install-recommends"][..], &packages].concat(), progress).await
}

async fn apt_get(args: &[&str], progress: Progress<'_>) -> Result<Vec<u8>, ImageError> {
    let args = std::iter::once("-qq").chain(args.iter().copied()).map(OsStr::new).collect();
    let fix = "check the package mirror in the host's apt sources (as root: apt-get update)";
    Tool { program: "apt-get", file: None, args, dir: Path::new("/"), limit: INSTALL_LIMIT, fix }
        .run(progress)
        .await
}

/// Starts `mmdebstrap` for `recipe`; its tar comes out of [`Bootstrap::run`].
pub(super) fn start(recipe: Recipe, suite: &str, ca: Option<&ExtraCa>) -> Result<Bootstrap, ImageError> {
    let temporary = tempfile::Builder::new().prefix("creel-image-").tempdir();
    let dir = temporary.map_err(ImageError::io(std::env::temp_dir(), "create a directory in"))?;
    let ca_file = ca.map(|ca| write_ca(dir.path(), ca)).transpose()?;
    let mirrors = sources::choose(sources::read_host(Path::new("/etc/apt")), suite);
    let ca_file = ca_file.as_ref().map(|file| file.to_string_lossy());
    let mut command = host_tool(PROGRAM);
    command.args(arguments(recipe, suite, &mirrors, ca_file.as_deref())).current_dir("/");
    let fix =
        "read the lines above: usually the package mirror cannot be reached (see the host's apt sources)";
    let producer = Producer::start(PROGRAM, command, LIMIT, fix)?;
    Ok(Bootstrap { producer, dir })
}

/// A running `mmdebstrap` and the files that it reads.
#[derive(Debug)]
pub(super) struct Bootstrap {
    producer: Producer,
    dir: tempfile::TempDir,
}

impl Bootstrap {
    /// Runs it to its end while `consume` takes the tar; see [`Producer::feed`].
    pub(super) async fn run<T, F>(
        self,
        progress: Progress<'_>,
        cancel: &CancellationToken,
        consume: impl FnOnce(Output) -> F,
    ) -> Result<T, ImageError>
    where
        F: Future<Output = Result<T, ImageError>>,
    {
        let Self { producer, dir } = self;
        let fed = producer.feed(progress, cancel, consume).await;
        drop(dir);
        fed
    }
}

fn write_ca(dir: &Path, ca: &ExtraCa) -> Result<PathBuf, ImageError> {
    let file = dir.join("ca.tar");
    let written = ca_tar(ca).and_then(|tar| std::fs::write(&file, tar));
    written.map_err(ImageError::io(&file, "write"))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_in_order() {
        let mirrors = sources::choose(Vec::new(), "bookworm");
        let args = arguments(Recipe::Sandbox, "bookworm", &mirrors, Some("/tmp/a b/ca's.tar"));
        assert!(args.contains(&"--include=bash,ca-certificates,curl,git,jq,python3,ripgrep".to_owned()));
        assert!(args.contains(&r"--customize-hook=tar-in '/tmp/a b/ca'\''s.tar' /".to_owned()));
        let positional: Vec<_> = args.iter().filter(|arg| !arg.starts_with("--")).collect();
        assert_eq!(positional[..3], ["bookworm", "-", "deb http://deb.debian.org/debian bookworm main"]);
        let plain = arguments(Recipe::Sandbox, "bookworm", &mirrors, None);
        assert!(!plain.iter().any(|arg| arg.contains("update-ca-certificates")));
    }

    #[test]
    fn certificates_unpack_where_debian_looks() {
        let ca = ExtraCa::parse("-----BEGIN CERTIFICATE-----\nMAEH\n-----END CERTIFICATE-----\n").unwrap();
        let tar = ca_tar(&ca).unwrap();
        let mut archive = tar::Archive::new(tar.as_slice());
        let paths: Vec<_> =
            archive.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().into_owned()).collect();
        assert_eq!(paths, [Path::new("usr/local/share/ca-certificates/creel-extra-000.crt")]);
    }
}
