//! Who dials creel in a container and is not init. The kernel says 0 of this process there, as it does of every process
//! in a sandbox.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use creel::wire::{FromInit, Hello, Nonce};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

use super::project::Project;

/// Sockets that lie in a rendezvous directory now.
fn offered(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "sock"))
        .collect()
}

/// Dials every socket that appears, before init where it can: once silent, once with a wrong nonce, once with noise.
fn dial(dir: &Path, watch: &Inotify, end: &AtomicBool, dialled: &AtomicU32) {
    let mut silent = Vec::new();
    while !end.load(Ordering::Relaxed) {
        // An event, or the end of the directory with its sandbox.
        let Ok(_) = watch.read_events() else { return };
        for path in offered(dir) {
            for kind in 0..3 {
                let Ok(mut stream) = UnixStream::connect(&path) else { continue };
                dialled.fetch_add(1, Ordering::Relaxed);
                let mut lie = Vec::new();
                match kind {
                    0 => {}
                    1 => {
                        FromInit::Hello(Hello::ours([7; 16])).encode(&mut lie);
                        FromInit::Nonce(Nonce([0; 32])).encode(&mut lie);
                    }
                    _ => lie = vec![0xff; 4096],
                }
                let _ = stream.write_all(&lie);
                if kind == 0 {
                    silent.push(stream);
                } else {
                    std::thread::spawn(move || stream.read_to_end(&mut Vec::new()));
                }
            }
        }
    }
}

#[tokio::test]
async fn strangers_without_the_nonce_are_refused() {
    let project = Project::up().await;
    let run = ["exec", "--json", "--workspace", "/work/project", "--", "echo mine"];
    let first = project.creel(&run).await;
    assert_eq!(first.status, 0, "{first:?}");
    let runs = project.dir.path().join("state/creel/run");
    let dir = std::fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path();
    let watch = Inotify::init(InitFlags::IN_CLOEXEC).unwrap();
    watch.add_watch(&dir, AddWatchFlags::IN_MOVED_TO | AddWatchFlags::IN_DELETE_SELF).unwrap();
    let (end, dialled) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let stranger = {
        let (dir, end, dialled) = (dir.clone(), Arc::clone(&end), Arc::clone(&dialled));
        std::thread::spawn(move || dial(&dir, &watch, &end, &dialled))
    };
    for _ in 0..5 {
        let done = project.creel(&run).await;
        assert!(
            done.out.contains(r#""aggregated": "mine\n""#) && done.out.contains(r#""transport": "init""#),
            "{done:?}"
        );
    }
    end.store(true, Ordering::Relaxed);
    // Removes the directory, which ends the stranger's wait.
    project.creel(&["sandbox", "stop", "--all", "--force"]).await;
    stranger.join().unwrap();
    assert!(dialled.load(Ordering::Relaxed) > 0, "nobody dialled: the test proves nothing");
}
