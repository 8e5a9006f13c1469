//! Connections of the proxy: each request is understood, judged, and written anew to the engine.

use std::convert::Infallible;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Either, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1 as client;
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::task::TaskTracker;

use super::gate::{Failed, Gate, Ours, Owner};
use super::route::{self, Act, Call, ExecAct, Route};
use super::{Denial, ProxyError, Rules, create, host};
use crate::engine::{Engine, http};
use crate::sandbox::labels;

/// Longest body that is read; a request of creel is a few kilobytes.
const BODY_MAX: usize = 1024 * 1024;
/// Tasks at a time; a connection has one, another for its way to the engine, and a third when it was handed over.
const MAX_TASKS: usize = 1024;

type Answer = Response<Either<Full<Bytes>, Incoming>>;

/// Serves at the socket `listen` until `stop` is done; the socket is removed then. Calls `ready` once it can be dialled.
///
/// # Errors
///
/// [`ProxyError`] where the socket cannot be made. What goes wrong with a call is told to who called.
pub async fn serve(
    engine: &Engine,
    listen: &Path,
    rules: Rules,
    ready: impl FnOnce(),
    stop: impl Future<Output = ()>,
) -> Result<(), ProxyError> {
    let socket = Socket::bind(listen).await?;
    ready();
    let gate = Arc::new(Gate::new(engine.facts().endpoint.clone(), rules));
    let tasks = TaskTracker::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let stream = tokio::select! {
            () = &mut stop => return Ok(()),
            accepted = socket.listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of descriptors: those who hang up give some back.
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        if tasks.len() < MAX_TASKS {
            tasks.spawn(connection(stream, Arc::clone(&gate), tasks.clone()));
        }
    }
}

/// A listening socket; removed on drop.
struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Takes the place of a socket that nobody listens to, of nothing else.
    async fn bind(path: &Path) -> Result<Self, ProxyError> {
        let fail = |action| {
            let path = path.to_owned();
            move |source| ProxyError::Socket { path, action, source }
        };
        let old = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
        if old {
            if UnixStream::connect(path).await.is_ok() {
                return Err(ProxyError::Taken { path: path.to_owned() });
            }
            std::fs::remove_file(path).map_err(fail("remove"))?;
        }
        let listener = UnixListener::bind(path).map_err(fail("bind"))?;
        let socket = Self { listener, path: path.to_owned() };
        // Owner and group, whatever the umask is.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660))
            .map_err(fail("change the mode of"))?;
        Ok(socket)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn connection(stream: UnixStream, gate: Arc<Gate>, tasks: TaskTracker) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (gate, tasks) = (Arc::clone(&gate), tasks.clone());
        async move { Ok::<_, Infallible>(answer(&gate, &tasks, request).await) }
    });
    let served = server::Builder::new().serve_connection(TokioIo::new(stream), service).with_upgrades();
    if let Err(error) = served.await {
        tracing::debug!(%error, "a connection ended");
    }
}

async fn answer(gate: &Gate, tasks: &TaskTracker, request: Request<Incoming>) -> Answer {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    match pass(gate, tasks, request).await {
        Ok(answer) => answer,
        Err(failed) => {
            let (status, message) = match failed {
                Failed::Denied(denial) => {
                    tracing::warn!(%method, path = %path.escape_debug(), %denial, "refused");
                    (StatusCode::FORBIDDEN, denial.to_string())
                }
                Failed::Answered(status, message) => {
                    (StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY), message)
                }
                Failed::Engine(reason) => (StatusCode::BAD_GATEWAY, format!("creel engine proxy: {reason}")),
            };
            told(status, &json!({ "message": message }))
        }
    }
}

fn told(status: StatusCode, value: &Value) -> Answer {
    let mut answer = Response::new(Either::Left(Full::new(Bytes::from(value.to_string()))));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    answer
}

/// Judges a request and forwards it.
async fn pass(gate: &Gate, tasks: &TaskTracker, mut request: Request<Incoming>) -> Result<Answer, Failed> {
    let uri = request.uri();
    let mut route = route::route(request.method().as_str(), uri.path(), uri.query())?;
    let method = request.method().clone();
    let theirs = hyper::upgrade::on(&mut request);
    let body = Limited::new(request.into_body(), BODY_MAX).collect().await;
    let body = body.map_err(|_| Denial::new("the body is too large or was cut short"))?.to_bytes();
    let judged = match judge(gate, &mut route, &body).await? {
        Judged::Answer(value) => return Ok(told(StatusCode::OK, &value)),
        Judged::Forward(judged) => judged,
    };
    let answer = forward(gate, tasks, &method, &route, &judged).await?;
    if let Some(mounted) = &judged.mounted {
        mounted.check(gate, tasks).await?;
    }
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(answer.map(Either::Right));
    }
    let mut echo = Response::new(Either::Left(Full::default()));
    *echo.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    *echo.headers_mut() = answer.headers().clone();
    tasks.spawn(async move {
        let (Ok(ours), Ok(theirs)) = (hyper::upgrade::on(answer).await, theirs.await) else { return };
        let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(ours), &mut TokioIo::new(theirs)).await;
    });
    Ok(echo)
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
    /// What the engine mounts by this call.
    mounted: Option<Mounted>,
}

/// The sources of a container's mounts, as they were before its start.
struct Mounted {
    id: String,
    sources: Vec<PathBuf>,
    seen: host::Seen,
}

impl Mounted {
    fn look(ours: Ours) -> Result<Self, Denial> {
        let Some(sources) = ours.sources else {
            return Err(Denial::new(format!("container {} mounts what this proxy does not allow", ours.id)));
        };
        let seen = host::look(&sources)?;
        Ok(Self { id: ours.id, sources, seen })
    }

    /// After the start: a source that is another now may have been mounted. The container does not live on then.
    async fn check(&self, gate: &Gate, tasks: &TaskTracker) -> Result<(), Failed> {
        if host::look(&self.sources).is_ok_and(|seen| seen == self.seen) {
            return Ok(());
        }
        let query = ["force", "v"].map(|name| (name.to_owned(), "true".to_owned())).to_vec();
        let path = format!("/containers/{}", self.id);
        let route = Route { call: Call::Look, version: String::new(), path, query };
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
            let filters = only_ours(&filters, gate.installation()?)?;
            route.query.push(("filters".to_owned(), filters));
        }
        Call::Events(filters) => {
            empty(body)?;
            for container in containers(&filters)? {
                gate.ours(&container).await?;
            }
            route.query.push(("filters".to_owned(), filters));
        }
        Call::Create => {
            let create = create::container(body, &gate.rules, gate.installation()?)?;
            host::look(&create.sources)?;
            forward.body = Some(create.body);
        }
        Call::Container(name, act) => {
            empty(body)?;
            let id = match (gate.owner(&name).await?, act) {
                (Owner::Ours(ours), Act::Start) => {
                    let id = ours.id.clone();
                    forward.mounted = Some(Mounted::look(ours)?);
                    id
                }
                (Owner::Ours(ours), _) => ours.id,
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
            gate.exec_is_ours(&exec).await?;
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

/// The filters of a list, with our label among them.
fn only_ours(filters: &str, installation: &str) -> Result<String, Denial> {
    let mut labels_asked: Vec<String> = if filters.is_empty() {
        Vec::new()
    } else {
        let mut asked: std::collections::BTreeMap<String, Vec<String>> = serde_json::from_str(filters)
            .map_err(|error| Denial::new(format!("filters are not understood: {error}")))?;
        let labels = asked.remove("label").unwrap_or_default();
        if let Some(other) = asked.keys().next() {
            return Err(Denial::new(format!("filter {other} is not one that sandboxes need")));
        }
        labels
    };
    let ours = format!("{}={installation}", labels::INSTALLATION);
    labels_asked.retain(|label| *label != ours);
    labels_asked.push(ours);
    Ok(json!({ "label": labels_asked }).to_string())
}

/// The containers whose events are asked for: at least one, all named.
fn containers(filters: &str) -> Result<Vec<String>, Denial> {
    let asked: std::collections::BTreeMap<String, Vec<String>> = serde_json::from_str(filters)
        .map_err(|error| Denial::new(format!("filters are not understood: {error}")))?;
    let names = asked.get("container").cloned().unwrap_or_default();
    let plain = |name: &String| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if names.is_empty() || !names.iter().all(plain) {
        return Err(Denial::new("events are let through for containers that are named by id"));
    }
    Ok(names)
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
    let uri = format!("{}{}{mark}{query}", route.version, route.path);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_of_our_containers() {
        let ours = r#"{"label":["creel.installation=id"]}"#;
        assert_eq!(only_ours("", "id").unwrap(), ours);
        assert_eq!(only_ours(ours, "id").unwrap(), ours);
        assert_eq!(
            only_ours(r#"{"label":["a=b"]}"#, "id").unwrap(),
            r#"{"label":["a=b","creel.installation=id"]}"#
        );
        for wrong in [r#"{"name":["x"]}"#, r#"{"label":{"a":true}}"#, "[]", "x"] {
            assert!(only_ours(wrong, "id").is_err(), "{wrong}");
        }
    }

    #[test]
    fn news_are_of_named_containers() {
        assert_eq!(containers(r#"{"container":["0a"],"type":["container"]}"#).unwrap(), ["0a"]);
        for wrong in ["{}", r#"{"container":[]}"#, r#"{"container":["*"]}"#, r#"{"container":[""]}"#, ""] {
            assert!(containers(wrong).is_err(), "{wrong}");
        }
    }
}
