//! The disk is full: commands wait, nothing is lost, and the error says so.

use std::path::Path;

use creel::error::Diagnose as _;
use creel::host_tool::host_tool;
use creel::process::record::SessionId;
use creel::process::sessions::Sessions;
use pretty_assertions::assert_eq;

use super::lab::{Home, LONG, begin};

async fn grow(point: &Path) {
    let status = host_tool("mount").args(["-o", "remount,size=64m"]).arg(point).status().await;
    assert!(status.unwrap().success());
}

async fn troubled(sessions: &Sessions, id: &SessionId) -> String {
    let wait = async {
        loop {
            if let Some(trouble) = sessions.trouble(id) {
                return trouble;
            }
            sessions.changed(id, LONG).await;
        }
    };
    tokio::time::timeout(LONG, wait).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn output_waits_for_room() {
    let mut home = Home::new();
    let spool = home.path().join("s/creel/spool");
    home.mount(spool.clone(), 512 * 1024).await;
    let lab = home.lab().await;
    let sandbox = lab.sandbox("a").await;
    let text = "i=0; while [ $i -lt 300000 ]; do echo $i; i=$((i+1)); done; exit 8";
    let id = lab.start(&sandbox, text).await;
    lab.sessions.background(&id).unwrap();
    let trouble = troubled(&lab.sessions, &id).await;
    assert!(trouble.contains("No space left") && trouble.contains("spool"), "{trouble}");
    let view = lab.sessions.view(&id).unwrap();
    assert!(view.written < 600_000 && view.end.is_none(), "{view:?}");
    grow(&spool).await;
    let view = lab.ended(&id).await;
    assert_eq!(view.end.unwrap().outcome.code, Some(8));
    let wanted: String = (0..300_000).flat_map(|number| [number.to_string(), "\n".to_owned()]).collect();
    let raw = lab.sessions.raw(&id, 0, usize::MAX).unwrap();
    let bytes: Vec<u8> = raw.into_iter().flat_map(|piece| piece.data).collect();
    assert!(bytes == wanted.as_bytes(), "{} bytes of {}", bytes.len(), wanted.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn beginnings_are_refused_and_ends_wait() {
    let mut home = Home::new();
    let own = home.path().join("s/creel");
    home.mount(own.clone(), 16 * 1024 * 1024).await;
    let lab = home.lab().await;
    let sandbox = lab.sandbox("a").await;
    let id = lab.start_with(&sandbox, "read x; exit 7", |begin| begin.stdin = true).await;
    lab.sessions.background(&id).unwrap();
    // To the last byte.
    let filler = own.join("filler");
    let mut file = std::fs::File::create(&filler).unwrap();
    let filled = (0..).find_map(|_| std::io::Write::write_all(&mut file, &[0; 4096]).err());
    assert_eq!(filled.unwrap().kind(), std::io::ErrorKind::StorageFull);
    let error = lab.sessions.begin(begin(&sandbox, "true")).unwrap_err();
    assert_eq!(error.report().code, "CRL-STORE-001", "{error}");
    lab.sessions.write(&id, b"x\n".to_vec(), false).await.unwrap();
    let trouble = troubled(&lab.sessions, &id).await;
    assert!(trouble.contains("full"), "{trouble}");
    assert!(lab.sessions.view(&id).unwrap().end.is_none(), "an end that is not stored is none");
    // creel ends in the middle of it. The room is there when the file is closed as well.
    drop(file);
    drop(sandbox);
    lab.close().await;
    std::fs::remove_file(&filler).unwrap();
    let lab = home.lab().await;
    let view = lab.ended(&id).await;
    assert_eq!(view.end.unwrap().outcome.code, Some(7));
}
