//! What a session shows while it runs and after its end.

use std::time::Duration;

use creel::process::record::{Phase, Place};
use creel::process::sessions::ProcessError;
use creel::runner::Death;
use pretty_assertions::assert_eq;

use super::lab::{Home, LONG};

#[tokio::test(flavor = "multi_thread")]
async fn output_end_and_notice() {
    let home = Home::new();
    let lab = home.lab().await;
    let sandbox = lab.sandbox("a").await;
    let sessions = &lab.sessions;
    let id = lab
        .start_with(&sandbox, "echo out; echo err >&2; printf '\\033[31mred\\033[0m\\a'; exit 3", |begin| {
            begin.session_key = Some("agent:main:a".to_owned());
            begin.call = Some("call-1".to_owned());
        })
        .await;
    assert_eq!(sessions.by_call("call-1"), Some(id.clone()));
    assert_eq!(sessions.by_call("call-2"), None);
    let backgrounded = sessions.background(&id).unwrap();
    let view = lab.ended(&id).await;
    assert_eq!((view.phase, view.backgrounded), (Phase::Finished, backgrounded));
    let end = view.end.unwrap();
    assert_eq!((end.outcome.code, end.requested, end.lost), (Some(3), false, None));
    assert_eq!(view.written, 3 + 1 + 3 + 1 + 13);
    let aggregate = sessions.aggregate(&id).unwrap();
    assert!(!aggregate.truncated && aggregate.text.contains("err\n"), "{aggregate:?}");
    assert!(aggregate.text.contains("red\\x07") && !aggregate.text.contains('\u{1b}'), "{aggregate:?}");
    assert_eq!(sessions.tail(&id, 4).unwrap(), aggregate.text[aggregate.text.len() - 4..]);
    assert!(sessions.pending(&id));
    assert_eq!(sessions.drain(&id).unwrap().text, aggregate.text);
    assert!(!sessions.pending(&id) && sessions.drain(&id).unwrap().text.is_empty());
    let raw: Vec<u8> = sessions.raw(&id, 0, 1000).unwrap().into_iter().flat_map(|piece| piece.data).collect();
    assert_eq!(raw.len(), 21);
    let events = sessions.events().since(0, Some("agent:main:a"), 10).unwrap();
    assert_eq!(events.len(), usize::from(backgrounded), "{events:?}");
    assert!(events.iter().all(|event| event.text.contains("code 3") && event.context.wake));
    sessions.remove(&id).await.unwrap();
    assert!(sessions.view(&id).is_none());
    assert!(matches!(sessions.kill(&id).await, Err(ProcessError::Unknown { .. })));
    assert_eq!(std::fs::read_dir(home.path().join("s/creel/spool")).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_clear_and_remove() {
    let home = Home::new();
    let lab = home.lab().await;
    let sandbox = lab.sandbox("a").await;
    let sessions = &lab.sessions;
    let one = lab
        .start_with(&sandbox, "echo up; sleep 1000", |begin| {
            begin.session_key = Some("k".to_owned());
        })
        .await;
    assert!(sessions.background(&one).unwrap());
    lab.printed(&one, "up").await;
    assert!(matches!(sessions.clear(&one), Err(ProcessError::Running { .. })));
    while sessions.view(&one).unwrap().pid.is_none() {
        sessions.changed(&one, LONG).await;
    }
    sessions.kill(&one).await.unwrap();
    let _ = sessions.kill(&one).await;
    let view = lab.ended(&one).await;
    let end = view.end.unwrap();
    assert_eq!((end.outcome.death, end.requested), (Death::Cancelled, true));
    assert!(matches!(sessions.kill(&one).await, Err(ProcessError::Ended { .. })));
    assert!(!sessions.background(&one).unwrap());
    assert_eq!(sessions.events().since(0, None, 10).unwrap(), [], "a requested stop notifies nobody");
    sessions.clear(&one).unwrap();

    let two = lab.start(&sandbox, "echo up; sleep 1000").await;
    assert!(sessions.background(&two).unwrap());
    let mut changes = sessions.watch(&two).unwrap();
    sessions.remove(&two).await.unwrap();
    assert!(sessions.view(&two).is_none() && sessions.views().is_empty());
    // Gone for good when its command is.
    let gone = async {
        while !matches!(sessions.aggregate(&two), Err(ProcessError::Unknown { .. })) {
            changes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(LONG, gone).await.unwrap();

    let three = lab.start(&sandbox, "true").await;
    lab.ended(&three).await;
    sessions.forget(&three).unwrap();
    assert!(sessions.view(&three).is_none(), "delivered in the foreground, nothing is kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn caps_keep_the_newest() {
    let home = Home::new();
    let lab = home.lab().await;
    let sandbox = lab.sandbox("a").await;
    let sessions = &lab.sessions;
    let text = "echo first >&2; i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done";
    let id = lab
        .start_with(&sandbox, text, |begin| {
            begin.max_aggregate = 5000;
            begin.max_pending = 1000;
        })
        .await;
    let view = lab.ended(&id).await;
    assert!(view.lost_output && view.lost_pending);
    let aggregate = sessions.aggregate(&id).unwrap();
    assert!(aggregate.truncated && aggregate.text.len() == 5000 && aggregate.text.ends_with("line 2999\n"));
    let drained = sessions.drain(&id).unwrap();
    assert!(drained.dropped && drained.text.starts_with("first\n"), "each stream has its own cap");
    assert_eq!(drained.text.len(), 6 + 1000);
    assert!(!sessions.drain(&id).unwrap().dropped);
}

/// More than a spool keeps: what is left is the end of it, and the command was never held up for good.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_keeps_its_end() {
    let home = Home::new();
    let lab = home.lab().await;
    let sandbox = lab.sandbox("a").await;
    let id = lab.start(&sandbox, "yes 0123456789abcde | head -c 24000000; echo; echo END").await;
    let view = lab.ended(&id).await;
    assert_eq!(view.written, 24_000_000 + 5);
    assert!(view.lost_output);
    let aggregate = lab.sessions.aggregate(&id).unwrap();
    assert_eq!(aggregate.text.chars().count(), 200_000);
    assert!(aggregate.text.ends_with("END\n"));
    let first = lab.sessions.raw(&id, 0, 10).unwrap().first().unwrap().seq;
    assert!(first > 0 && first < 24_000_000, "{first}");
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_ends_with_the_news() {
    let home = Home::new();
    let lab = home.lab().await;
    let sandbox = lab.sandbox("a").await;
    let sessions = &lab.sessions;
    let id = lab.start(&sandbox, "sleep 0.3; echo late; sleep 1000").await;
    sessions.background(&id).unwrap();
    while !sessions.pending(&id) {
        tokio::time::timeout(LONG, sessions.changed(&id, 2 * LONG)).await.unwrap();
    }
    let view = sessions.ended(&id, Some(Duration::from_millis(10))).await.unwrap();
    assert_eq!((view.phase, view.end), (Phase::Background, None));
    sessions.kill(&id).await.unwrap();
    lab.ended(&id).await;
}

/// Over the engine's exec API a session is the same, as long as nobody dies.
#[tokio::test(flavor = "multi_thread")]
async fn over_the_engines_road() {
    let home = Home::new();
    let lab = home.lab().await;
    let sandbox = lab.sandbox("a").await;
    let id = lab
        .start_with(&sandbox, "echo over; exit 4", |begin| {
            begin.place = Place::Engine { name: sandbox.ready().name.clone() };
        })
        .await;
    let view = lab.ended(&id).await;
    assert_eq!(view.end.unwrap().outcome.code, Some(4));
    assert_eq!(lab.sessions.aggregate(&id).unwrap().text, "over\n");
}
