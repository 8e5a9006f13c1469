//! Input, terminals, and what programs ask of them.

use creel::process::keys::CursorKeys;
use creel::process::sessions::ProcessError;
use pretty_assertions::assert_eq;

use super::lab::Home;

#[tokio::test(flavor = "multi_thread")]
async fn input_reaches_the_program_and_ends() {
    let home = Home::new();
    let lab = home.lab().await;
    let sandbox = lab.sandbox("a").await;
    let sessions = &lab.sessions;
    let id = lab.start_with(&sandbox, "cat; echo over", |begin| begin.stdin = true).await;
    sessions.background(&id).unwrap();
    assert!(sessions.view(&id).unwrap().stdin_writable);
    sessions.write(&id, b"one\n".to_vec(), false).await.unwrap();
    lab.printed(&id, "one").await;
    // More than init holds at a time.
    let large = vec![b'x'; 700_000];
    sessions.write(&id, large, false).await.unwrap();
    sessions.write(&id, b"\ntwo\n".to_vec(), true).await.unwrap();
    let again = sessions.write(&id, b"three".to_vec(), false).await;
    assert!(matches!(again, Err(ProcessError::InputClosed { .. } | ProcessError::Ended { .. })), "{again:?}");
    let view = lab.ended(&id).await;
    assert_eq!(view.written, 4 + 700_000 + 5 + 5);
    assert!(!view.stdin_writable);
    let closed = lab.start(&sandbox, "sleep 1000").await;
    assert_eq!(sessions.cursor_keys(&closed), Some(CursorKeys::Normal), "there is no terminal");
    let refused = sessions.write(&closed, b"x".to_vec(), false).await;
    assert!(matches!(refused, Err(ProcessError::InputClosed { .. })), "{refused:?}");
    sessions.kill(&closed).await.unwrap();
    lab.ended(&closed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_does_not_read_is_told_apart() {
    let home = Home::new();
    let lab = home.lab().await;
    let sandbox = lab.sandbox("a").await;
    let id = lab.start_with(&sandbox, "sleep 1000", |begin| begin.stdin = true).await;
    let full = lab.sessions.write(&id, vec![b'x'; 1_000_000], false).await;
    let Err(ProcessError::InputFull { taken, of, .. }) = full else { panic!("{full:?}") };
    assert!(taken > 0 && taken < of, "{taken} of {of}");
    lab.sessions.kill(&id).await.unwrap();
    lab.ended(&id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn terminals_answer_and_are_sized() {
    let home = Home::new();
    let lab = home.lab().await;
    let sandbox = lab.sandbox("a").await;
    let sessions = &lab.sessions;
    let text = "stty -echo raw; printf 'ask\\033[6n'; dd bs=1 count=6 2>/dev/null | od -c; stty size; \
                printf '\\033[?1h'; echo ready; read x; stty size; exit 5";
    let id = lab
        .start_with(&sandbox, text, |begin| {
            begin.tty = Some((30, 90));
        })
        .await;
    sessions.background(&id).unwrap();
    lab.printed(&id, "ready").await;
    let shown = sessions.aggregate(&id).unwrap().text;
    assert!(shown.contains("033   [   1   ;   1   R") && shown.contains("30 90"), "{shown}");
    assert_eq!(sessions.cursor_keys(&id), Some(CursorKeys::Application));
    sessions.resize(&id, 40, 100).await.unwrap();
    sessions.write(&id, b"\n".to_vec(), false).await.unwrap();
    let view = lab.ended(&id).await;
    assert_eq!(view.end.unwrap().outcome.code, Some(5));
    assert!(sessions.aggregate(&id).unwrap().text.contains("40 100"));
}
