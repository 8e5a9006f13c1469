//! Connections of the proxy: who comes is let in, asked, served or told why not.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, header};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio_util::task::TaskTracker;

use super::crowd::{Crowd, Seated};
use super::gate::{Failed, Gate};
use super::pass::{self, Asked, Passed};
use super::pins::Pins;
use super::socket::Socket;
use super::{ProxyError, Rules, places};
use crate::engine::Engine;

/// How long the head of a request may take, from the connection on; creel sends it in one piece.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Longest head that is read; the filters of a list are the longest that creel sends.
const HEAD_MAX: usize = 64 * 1024;
/// What is said where every seat is taken.
const BUSY: &str = "too many calls at a time; it serves this one when some of them are over";

/// Serves at the socket `listen` until `stop` is done; the socket is removed then. Calls `ready` once it can be dialled.
///
/// # Errors
///
/// [`ProxyError`] where a root or the socket is in a place that it must not be in, or the socket cannot be made. What goes wrong with a call is told to who called.
pub async fn serve(
    engine: &Engine,
    listen: &Path,
    rules: Rules,
    ready: impl FnOnce(),
    stop: impl Future<Output = ()>,
) -> Result<(), ProxyError> {
    places::check(&rules, listen, &engine.facts().endpoint)?;
    let socket = Socket::bind(listen).await?;
    let pins = rules.pins.as_deref().map(Pins::open).transpose()?;
    ready();
    let (gate, crowd) = (Arc::new(Gate::new(engine.facts(), rules, pins)), Arc::new(Crowd::new()));
    let tasks = TaskTracker::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let stream = tokio::select! {
            () = &mut stop => {
                if let Some(pins) = &gate.pins {
                    pins.release_all();
                }
                return Ok(());
            }
            accepted = socket.listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of descriptors: those who hang up give some back.
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        crowd.enter(|number| {
            let visit =
                Visit { gate: Arc::clone(&gate), crowd: Arc::clone(&crowd), tasks: tasks.clone(), number };
            tasks.spawn(visit.served(stream)).abort_handle()
        });
    }
}

/// One connection.
#[derive(Clone)]
struct Visit {
    gate: Arc<Gate>,
    crowd: Arc<Crowd>,
    tasks: TaskTracker,
    number: u64,
}

impl Visit {
    /// One request, one answer: nobody keeps a connection that he does not use.
    async fn served(self, stream: UnixStream) {
        let service = {
            let visit = self.clone();
            service_fn(move |request: Request<Incoming>| {
                let visit = visit.clone();
                async move { Ok::<_, Infallible>(visit.answer(request).await) }
            })
        };
        let served = server::Builder::new()
            .keep_alive(false)
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .max_buf_size(HEAD_MAX)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        if let Err(error) = served.await {
            tracing::debug!(%error, "a connection ended");
        }
        self.crowd.leave(self.number);
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Seated> {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        match self.pass(request).await {
            Ok(answer) => answer,
            Err(failed) => {
                let (status, message) = match failed {
                    Failed::Denied(denial) => {
                        tracing::warn!(%method, path = %path.escape_debug(), %denial, "refused");
                        (StatusCode::FORBIDDEN, denial.to_string())
                    }
                    Failed::Busy => (StatusCode::SERVICE_UNAVAILABLE, format!("creel engine proxy: {BUSY}")),
                    Failed::Answered(status, message) => {
                        (StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY), message)
                    }
                    Failed::Engine(reason) => {
                        (StatusCode::BAD_GATEWAY, format!("creel engine proxy: {reason}"))
                    }
                };
                told(status, &json!({ "message": message }))
            }
        }
    }

    async fn pass(&self, request: Request<Incoming>) -> Result<Response<Seated>, Failed> {
        let asked = Asked::read(request).await;
        // Also one that could not be read is read.
        self.crowd.leave(self.number);
        let asked = asked?;
        let seat = self.crowd.seat().ok_or(Failed::Busy)?;
        // A task of its own: what follows a call must be done also where the caller hangs up in the midst of it.
        let (gate, tasks) = (Arc::clone(&self.gate), self.tasks.clone());
        let call = self.tasks.spawn(async move { pass::pass(&gate, &tasks, asked, &seat).await });
        let passed = call.await.map_err(|error| Failed::Engine(error.to_string()))?;
        match passed? {
            Passed::Told(value) => Ok(told(StatusCode::OK, &value)),
            Passed::Answer(answer) => Ok(answer),
        }
    }
}

fn told(status: StatusCode, value: &Value) -> Response<Seated> {
    let mut answer = Response::new(Seated::text(value.to_string()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    answer
}
