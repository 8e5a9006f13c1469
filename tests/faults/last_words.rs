//! What init said before it was gone must be heard, however late one listens.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use creel::runner::{Event, Link, LinkError};
use creel::wire::{CommandId, Exit, FromInit, Hello};

use super::home::names;

const ID: CommandId = CommandId([5; 16]);

/// An init in this process: greets whoever waits in `dir`, reports the end of a command, and is gone.
fn short_lived_init(dir: &Path) {
    let socket = loop {
        match names(dir).into_iter().find(|name| name.starts_with("h-")) {
            Some(name) => break dir.join(name),
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let mut stream = UnixStream::connect(socket).unwrap();
    let mut bytes = [0; 1024];
    assert!(stream.read(&mut bytes).unwrap() > 0, "the greeting");
    let mut answer = Vec::new();
    FromInit::Hello(Hello::ours([1; 16])).encode(&mut answer);
    stream.write_all(&answer).unwrap();
    assert!(stream.read(&mut bytes).unwrap() > 0, "the attachment");
    let exit = Exit { id: ID, code: 33, ..Exit::default() };
    let mut end = Vec::new();
    FromInit::Exit(Box::new(exit)).encode(&mut end);
    stream.write_all(&end).unwrap();
}

#[tokio::test]
async fn a_result_that_came_with_the_end_of_the_connection_is_not_lost() {
    let dir = tempfile::tempdir().unwrap();
    let place: PathBuf = dir.path().to_owned();
    let init = std::thread::spawn(move || short_lived_init(&place));
    let own = i32::try_from(std::process::id()).unwrap();
    let link = Link::meet(dir.path(), own, Duration::from_secs(5)).await.unwrap();
    let mut channel = link.attach(ID, true, 0).unwrap();
    tokio::task::spawn_blocking(move || init.join().unwrap()).await.unwrap();
    let over = async { while !matches!(link.ping().await, Err(LinkError::Lost { .. })) {} };
    tokio::time::timeout(Duration::from_secs(5), over).await.unwrap();
    let event = channel.next().await.unwrap();
    assert!(matches!(&event, Event::Exit(exit) if exit.code == 33), "{event:?}");
    let error = channel.next().await.unwrap_err();
    assert!(matches!(error, LinkError::Lost { .. }), "{error}");
}
