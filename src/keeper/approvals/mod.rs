//! The approval socket of the keeper (spec `approvals.md` §1.6): where nobody else listens at its place, the keeper does, for
//! programs that ask for a decision or for a run; where a user interface does, questions are put to that.
//!
//! | file | concern |
//! |---|---|
//! | `bound` | the socket in its place: made, found stale, made again |
//! | `proof` | who knows the secret; pure |
//! | `lines` | what is said; pure |
//! | `serve` | programs that ask for a decision |
//! | `run` | programs that ask for a run |
//! | `tell` | questions to a user interface |

mod bound;
mod lines;
mod proof;
mod run;
mod serve;
mod tell;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::approvals::desk::Place;
use crate::tools::Toolbox;
use bound::Bound;
use proof::Nonces;

/// How often the document and the socket's place are looked at.
const LOOK: Duration = Duration::from_secs(1);
/// Connections at once; more wait.
const CONNECTIONS: usize = 64;
/// Lines of up to 16 MiB that are read at once.
const READING: usize = 4;

/// Does what is done for approvals beside requests, until `stop`.
pub(super) async fn attend(toolbox: &Toolbox, stop: &CancellationToken) {
    tokio::join!(
        toolbox.desk.attend(stop),
        listen(toolbox, stop),
        tell::run(&toolbox.desk, &toolbox.state, stop)
    );
}

/// What all connections share.
struct Shared {
    toolbox: Toolbox,
    nonces: Mutex<Nonces>,
    reading: Semaphore,
    stop: CancellationToken,
}

/// Serves the socket as long as the document names it. A socket that somebody removed is made again (field report I077).
async fn listen(toolbox: &Toolbox, stop: &CancellationToken) {
    let shared = Arc::new(Shared {
        toolbox: toolbox.clone(),
        nonces: Mutex::default(),
        reading: Semaphore::new(READING),
        stop: stop.clone(),
    });
    let mut connections = JoinSet::new();
    let mut bound: Option<Bound> = None;
    let mut complaint = String::new();
    loop {
        let place = Place::of(&toolbox.state);
        if bound.as_ref().is_some_and(|bound| !bound.still(place.as_ref())) {
            bound = None;
        }
        if let (None, Some(place)) = (&bound, place) {
            match Bound::bind(place) {
                Ok(made) => bound = made,
                Err(error) if error.to_string() != complaint => {
                    complaint = error.to_string();
                    tracing::warn!(target: "approvals", %error, "the approval socket is not served");
                }
                Err(_) => {}
            }
        }
        toolbox.desk.serves(bound.is_some());
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep(LOOK) => {}
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = Bound::accept(bound.as_ref()), if connections.len() < CONNECTIONS => if let Some((stream, token)) = accepted {
                let shared = Arc::clone(&shared);
                connections.spawn(async move { serve::connection(&shared, stream, &token).await });
            },
        }
    }
    toolbox.desk.serves(false);
    drop(bound);
    connections.shutdown().await;
}
