//! Commands beside the gateway: one detached creel-init each, which dials as that of a sandbox does (design §3, §10).
//!
//! | file | concern |
//! |---|---|
//! | `badge` | is the process of a badge still there |
//! | `orphans` | ends what a supervisor that was killed has left |
//! | `within` | does a process belong to such a command |
//! | this | start one, meet it, meet it again |

mod badge;
mod orphans;
mod within;

use std::path::Path;
use std::time::Duration;

use badge::Standing;
pub use orphans::end_orphans;
pub use within::within;

use super::{Link, LinkError};
use crate::host_tool::host_tool;
use crate::wire::Badge;

/// How long a supervisor that lives may take to dial.
const MEET: Duration = Duration::from_secs(15);
/// How long it may take to come up.
const START: Duration = Duration::from_secs(30);
/// Between two looks whether a supervisor that does not dial has ended.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Switches off that commands go first when memory is short (spec `exec.md` §4.1).
const OOM_VARIABLE: &str = "OPENCLAW_CHILD_OOM_SCORE_ADJ";

/// Starts a detached creel-init whose rendezvous is `dir` (made, 0700) and meets it. It outlives this process, is met
/// again with [`reach`], and ends when its command has ended and its result was taken over.
///
/// `init` is the installed binary. Nothing runs yet: the command is spawned over the link, under a permit. Whoever starts
/// one and dies before that leaves a supervisor that ends by itself after 30 s. A directory in which one lives already is
/// met, not started again.
///
/// # Errors
///
/// [`LinkError::Launch`] where it does not come up; [`LinkError::Rendezvous`] for the directory; else as [`Link::meet`].
pub async fn launch(init: &Path, dir: &Path) -> Result<Link, LinkError> {
    let dir = &std::path::absolute(dir).map_err(rendezvous("make absolute", dir))?;
    make(dir)?;
    if let Some(link) = reach(dir).await? {
        return Ok(link);
    }
    // Looking for one has removed the directory with what was left of another.
    make(dir)?;
    let failed = |reason: String| LinkError::Launch { init: init.to_owned(), dir: dir.clone(), reason };
    let mut command = host_tool(init);
    command.env_clear().current_dir("/").arg("host").arg("--meet").arg(dir);
    if goes_first(std::env::var(OOM_VARIABLE).ok().as_deref()) {
        command.args(["--expendable", "yes"]);
    }
    // A start that failed leaves nothing; a directory in which something lives stays, it is not empty then.
    let failed = |reason: String| {
        let _ = std::fs::remove_dir(dir);
        failed(reason)
    };
    let output = match tokio::time::timeout(START, command.output()).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(failed(error.to_string())),
        Err(_) => return Err(failed(format!("nothing was heard of it for {} s", START.as_secs()))),
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(said.lines().next().unwrap_or("it does not say why").to_owned()));
    }
    reach(dir).await?.ok_or_else(|| failed("it ended at once".to_owned()))
}

/// Meets the supervisor of `dir` again; `None` when it has ended, and then what it left there is removed.
///
/// # Errors
///
/// Where it lives and cannot be met now, or where that cannot be told: [`LinkError::NoAnswer`], [`LinkError::Impostor`]
/// and others. Another try may succeed.
pub async fn reach(dir: &Path) -> Result<Option<Link>, LinkError> {
    let badge = match badge::read(dir) {
        Ok(Some(badge)) => badge,
        Ok(None) => return Ok(None),
        Err(source) => return Err(rendezvous("read the badge in", dir)(source)),
    };
    let ended = || match badge::standing(&badge) {
        Standing::Lives => Ok(false),
        Standing::Ended => Ok(true),
        Standing::Elsewhere => Err(LinkError::Impostor {
            dir: dir.to_owned(),
            reason: "it is in another pid namespace, where its process cannot be seen",
        }),
    };
    let end = async {
        loop {
            match ended() {
                Ok(false) => tokio::time::sleep(LOOK_EVERY).await,
                over => return over,
            }
        }
    };
    tokio::select! {
        biased;
        over = end => {
            over?;
            badge::clean_up(dir, &badge);
            Ok(None)
        }
        link = Link::meet(dir, badge.pid, MEET) => match link {
            Ok(link) => verified(link, &badge, dir).map(Some),
            Err(_) if ended()? => {
                badge::clean_up(dir, &badge);
                Ok(None)
            }
            Err(error) => Err(error),
        },
    }
}

/// What is done with a supervisor that does not act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// It is continued: something had stopped it.
    Continue,
    /// It is ended. What it leaves is found by [`end_orphans`].
    Kill,
}

/// Does that to the supervisor of `dir`, if it lives; whatever else has its number by now is left alone.
pub fn force(dir: &Path, step: Force) {
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    let Ok(Some(badge)) = badge::read(dir) else { return };
    // Opened before it is looked at: the descriptor means the process that is judged.
    let handle = Pid::from_raw(badge.pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let Some(handle) = handle.filter(|_| badge::standing(&badge) == Standing::Lives) else { return };
    let signal = if step == Force::Continue { Signal::CONT } else { Signal::KILL };
    let _ = pidfd_send_signal(&handle, signal);
}

/// The kernel says that the peer has the number; its greeting and its start say that the number is still the same process.
fn verified(mut link: Link, badge: &Badge, dir: &Path) -> Result<Link, LinkError> {
    let reason = if link.boot() != badge.boot {
        "its greeting is another one's"
    } else if badge::standing(badge) == Standing::Ended {
        "its process was started at another time"
    } else {
        link.beside = true;
        return Ok(link);
    };
    Err(LinkError::Impostor { dir: dir.to_owned(), reason })
}

fn make(dir: &Path) -> Result<(), LinkError> {
    use std::os::unix::fs::DirBuilderExt as _;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(rendezvous("make", dir))?;
    // Who else could put a socket there could be taken for creel.
    let meta = std::fs::symlink_metadata(dir).map_err(rendezvous("look at", dir))?;
    let open = std::os::unix::fs::MetadataExt::mode(&meta) & 0o077 != 0;
    if !meta.is_dir() || open {
        let source =
            std::io::Error::other("it must be a directory that only this user may enter (mode 0700)");
        return Err(rendezvous("use", dir)(source));
    }
    Ok(())
}

fn rendezvous(action: &'static str, path: &Path) -> impl Fn(std::io::Error) -> LinkError {
    let path = path.to_owned();
    move |source| LinkError::Rendezvous { path: path.clone(), action, source }
}

/// Whether the out-of-memory killer takes commands before everything else: unless the variable says no.
fn goes_first(variable: Option<&str>) -> bool {
    let value = variable.unwrap_or_default().trim().to_ascii_lowercase();
    !matches!(value.as_str(), "0" | "false" | "no" | "off")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_goes_first() {
        assert!(goes_first(None) && goes_first(Some("1")) && goes_first(Some("")));
        assert!(["0", "false", "No", " off "].into_iter().all(|value| !goes_first(Some(value))));
    }

    #[tokio::test]
    async fn where_nothing_is_nothing_is_met() {
        let dir = tempfile::tempdir().unwrap();
        assert!(reach(&dir.path().join("none")).await.unwrap().is_none());
        std::fs::write(dir.path().join(Badge::FILE), "nonsense\n").unwrap();
        let error = reach(dir.path()).await.unwrap_err();
        assert!(matches!(error, LinkError::Rendezvous { .. }), "{error}");
    }

    #[tokio::test]
    async fn a_directory_that_others_may_enter_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let open = dir.path().join("open");
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).unwrap();
        let error = launch(Path::new("/none"), &open).await.unwrap_err();
        assert!(error.to_string().contains("mode 0700"), "{error}");
        let error = launch(Path::new("/none"), &dir.path().join("new/deep")).await.unwrap_err();
        assert!(matches!(error, LinkError::Launch { .. }), "{error}");
    }
}
