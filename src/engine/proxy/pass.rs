//! One call: read, judged, written anew to the engine.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1 as client;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio_util::task::TaskTracker;

use super::crowd::{Seat, Seated};
use super::filters::{self, Watched};
use super::gate::{Failed, Gate, Ours, Owner};
use super::pins::Pinned;
use super::route::{self, Act, Call, ExecAct, Route};
use super::{Denial, create, host};
use crate::engine::http;

/// Longest body that is read; a request of creel is a few kilobytes.
const BODY_MAX: usize = 1024 * 1024;
/// How long the body of a request may take; creel sends it in one piece.
const BODY_TIME: Duration = Duration::from_secs(10);
/// How long a caller may go on talking on a raw connection that the engine has ended.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// A request, read to its end.
pub(super) struct Asked {
    method: Method,
    route: Route,
    body: Bytes,
    raw: OnUpgrade,
}

impl Asked {
    /// Reads a request, within [`BODY_TIME`].
    pub(super) async fn read(mut request: Request<Incoming>) -> Result<Self, Denial> {
        let uri = request.uri();
        let route = route::route(request.method().as_str(), uri.path(), uri.query())?;
        let method = request.method().clone();
        let raw = hyper::upgrade::on(&mut request);
        let body = Limited::new(request.into_body(), BODY_MAX).collect();
        let cut_short = || Denial::new("the body is too large, too slow, or was cut short");
        let body = tokio::time::timeout(BODY_TIME, body).await.map_err(|_| cut_short())?;
        let body = body.map_err(|_| cut_short())?.to_bytes();
        Ok(Self { method, route, body, raw })
    }
}

/// What came of a call.
pub(super) enum Passed {
    /// The proxy answers itself.
    Told(Value),
    /// The engine answered.
    Answer(Response<Seated>),
}

/// Judges a request and forwards it.
pub(super) async fn pass(
    gate: &Gate,
    tasks: &TaskTracker,
    asked: Asked,
    seat: &Seat,
) -> Result<Passed, Failed> {
    let Asked { method, mut route, body, raw } = asked;
    let judged = match judge(gate, &mut route, &body).await? {
        Judged::Answer(value) => return Ok(Passed::Told(value)),
        Judged::Forward(judged) => judged,
    };
    let answer = forward(gate, tasks, &method, &route, &judged).await?;
    judged.after.follow(gate, tasks, answer.status()).await?;
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        let seat = Seat::clone(seat);
        return Ok(Passed::Answer(answer.map(|body| Seated::engines(body, seat))));
    }
    let mut echo = Response::new(Seated::text(String::new()));
    *echo.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    *echo.headers_mut() = answer.headers().clone();
    let seat = Seat::clone(seat);
    tasks.spawn(async move {
        if let (Ok(engine), Ok(caller)) = (hyper::upgrade::on(answer).await, raw.await) {
            relay(engine, caller).await;
        }
        drop(seat);
    });
    Ok(Passed::Answer(echo))
}

/// Passes on both directions of a raw connection. It ends with the engine's side, whatever the caller keeps open.
async fn relay(engine: Upgraded, caller: Upgraded) {
    let (mut from_engine, mut to_engine) = tokio::io::split(TokioIo::new(engine));
    let (mut from_caller, mut to_caller) = tokio::io::split(TokioIo::new(caller));
    let down = async {
        let _ = tokio::io::copy(&mut from_engine, &mut to_caller).await;
        let _ = to_caller.shutdown().await;
    };
    let up = async {
        let _ = tokio::io::copy(&mut from_caller, &mut to_engine).await;
        let _ = to_engine.shutdown().await;
    };
    let (mut down, mut up) = (std::pin::pin!(down), std::pin::pin!(up));
    tokio::select! {
        () = &mut down => { let _ = tokio::time::timeout(LAST_WORDS, up).await; }
        () = &mut up => down.await,
    }
}

/// What becomes of a call.
enum Judged {
    /// The proxy answers itself.
    Answer(Value),
    /// The engine gets this.
    Forward(Forward),
}

/// The body of a forwarded call.
#[derive(Default)]
struct Forward {
    body: Option<Value>,
    /// The raw connection is asked for.
    upgrade: bool,
    after: After,
}

/// What follows a call, whether or not its caller is still there.
#[derive(Default)]
enum After {
    /// Nothing.
    #[default]
    Nothing,
    /// A container was made from pins: they wait for its start.
    Keep(Pinned),
    /// A container has started, or is gone: its pins go.
    Release(Pinned),
    /// A container has started whose sources the engine looked up itself.
    Look(Mounted),
}

impl After {
    async fn follow(self, gate: &Gate, tasks: &TaskTracker, status: StatusCode) -> Result<(), Failed> {
        match self {
            Self::Look(mounted) => mounted.check(gate, tasks).await?,
            Self::Keep(pinned) if status.is_success() => pinned.keep(),
            Self::Release(pinned) if status.is_success() => pinned.release(),
            // Dropped: pins of what was not made go, those of what is still there stay.
            Self::Nothing | Self::Keep(_) | Self::Release(_) => {}
        }
        Ok(())
    }
}

/// The sources of a container's mounts, as they were before its start.
struct Mounted {
    id: String,
    sources: Vec<PathBuf>,
    seen: host::Seen,
}

impl Mounted {
    fn look(id: &str, sources: Vec<PathBuf>) -> Result<Self, Denial> {
        let seen = host::look(&sources)?;
        Ok(Self { id: id.to_owned(), sources, seen })
    }

    /// After the start: a source that is another now may have been mounted. The container does not live on then.
    async fn check(&self, gate: &Gate, tasks: &TaskTracker) -> Result<(), Failed> {
        if host::look(&self.sources).is_ok_and(|seen| seen == self.seen) {
            return Ok(());
        }
        let query = ["force", "v"].map(|name| (name.to_owned(), "true".to_owned())).to_vec();
        let path = format!("/containers/{}", self.id);
        let route = Route { call: Call::Look, path, query };
        forward(gate, tasks, &Method::DELETE, &route, &Forward::default()).await?;
        let reason =
            format!("a mount source of container {} was exchanged at its start; it is removed", self.id);
        Err(Denial::new(reason).into())
    }
}

async fn judge(gate: &Gate, route: &mut Route, body: &[u8]) -> Result<Judged, Failed> {
    let mut forward = Forward::default();
    match route.call.clone() {
        Call::Look => empty(body)?,
        Call::List(filters) => {
            empty(body)?;
            let filters = filters::only_ours(&filters, gate.installation()?)?;
            route.query.push(("filters".to_owned(), filters));
        }
        Call::Events(filters) => {
            empty(body)?;
            let watched = Watched::read(&filters)?;
            let mut ids = Vec::new();
            for container in &watched.containers {
                ids.push(gate.ours(container).await?);
            }
            route.query.push(("filters".to_owned(), watched.of(&ids)));
        }
        Call::Create => {
            let create = create::container(body, &gate.rules, gate.installation()?)?;
            forward.body = Some(if let Some(pins) = &gate.pins {
                let pinned = pins.pin(&create.sources)?;
                let body = create.mounting(&pinned.sources);
                forward.after = After::Keep(pinned);
                body
            } else {
                host::look(&create.sources)?;
                create.body
            });
        }
        Call::Container(name, act) => {
            empty(body)?;
            let id = match (gate.owner(&name).await?, act) {
                (Owner::Ours(ours), act) => {
                    forward.after = after(gate, &ours, act)?;
                    ours.id
                }
                (Owner::Client(reduced), Act::Inspect) => return Ok(Judged::Answer(reduced)),
                (Owner::Client(_), _) => {
                    return Err(Denial::new(format!("container {name} is creel's own")).into());
                }
            };
            route.path = by_id(&route.path, &name, &id);
            forward.upgrade = act == Act::Attach;
        }
        Call::ExecCreate(name) => {
            forward.body = Some(create::exec(body)?);
            let id = gate.ours(&name).await?;
            route.path = by_id(&route.path, &name, &id);
        }
        Call::Exec(exec, act) => {
            let id = gate.our_exec(&exec).await?;
            route.path = route.path.replacen(&format!("/exec/{exec}"), &format!("/exec/{id}"), 1);
            if act == ExecAct::Start {
                forward.body = Some(create::exec_start(body)?);
                forward.upgrade = true;
            } else {
                empty(body)?;
            }
        }
    }
    Ok(Judged::Forward(forward))
}

/// What follows what is done with one of our containers. A start of what was not made through here is refused.
fn after(gate: &Gate, ours: &Ours, act: Act) -> Result<After, Denial> {
    let release = |pinned: Option<Pinned>| pinned.map_or(After::Nothing, After::Release);
    match (act, &gate.pins, &ours.sources) {
        (Act::Start, _, None) => {
            Err(Denial::new(format!("container {} mounts what this proxy does not allow", ours.id)))
        }
        (Act::Start, Some(pins), Some(sources)) => Ok(release(pins.of(sources)?)),
        (Act::Start, None, Some(sources)) => Ok(After::Look(Mounted::look(&ours.id, sources.clone())?)),
        // Most have started, and have no pins any more.
        (Act::Remove, Some(pins), Some(sources)) => Ok(release(pins.of(sources).ok().flatten())),
        _ => Ok(After::Nothing),
    }
}

/// What has no business with a body gets none, but clients send `{}` or `null` for one.
fn empty(body: &[u8]) -> Result<(), Denial> {
    match body.trim_ascii() {
        b"" | b"{}" | b"null" => Ok(()),
        _ => Err(Denial::new("this call has no body")),
    }
}

/// The path with the container's id instead of a name, which may change hands.
fn by_id(path: &str, name: &str, id: &str) -> String {
    path.replacen(&format!("/containers/{name}"), &format!("/containers/{id}"), 1)
}

/// One request on a connection of its own.
async fn forward(
    gate: &Gate,
    tasks: &TaskTracker,
    method: &Method,
    route: &Route,
    judged: &Forward,
) -> Result<Response<Incoming>, Failed> {
    let broken = |error: &dyn std::fmt::Display| Failed::Engine(error.to_string());
    let socket = http::dial(&gate.upstream).await.map_err(|error| broken(&error))?;
    let (mut sender, connection) =
        client::handshake(TokioIo::new(socket)).await.map_err(|error| broken(&error))?;
    tasks.spawn(connection.with_upgrades());
    let query = route::encode(&route.query);
    let mark = if query.is_empty() { "" } else { "?" };
    let uri = format!("{}{mark}{query}", gate.versioned(&route.path));
    let mut request = Request::builder().method(method).uri(uri).header(header::HOST, "engine");
    if judged.body.is_some() {
        request = request.header(header::CONTENT_TYPE, "application/json");
    }
    if judged.upgrade {
        request = request.header(header::CONNECTION, "Upgrade").header(header::UPGRADE, "tcp");
    }
    let body = judged.body.as_ref().map(|body| Bytes::from(body.to_string())).unwrap_or_default();
    let request = request.body(Full::new(body)).map_err(|error| broken(&error))?;
    let mut answer = sender.send_request(request).await.map_err(|error| broken(&error))?;
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        // How the body travels is each connection's own matter.
        for own in [header::CONNECTION, header::TRANSFER_ENCODING, header::UPGRADE] {
            answer.headers_mut().remove(own);
        }
    }
    Ok(answer)
}
