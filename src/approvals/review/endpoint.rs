//! An endpoint of OpenAI-compatible chat completions is asked. Redirects are not followed: the key and the case go where the
//! configuration says and nowhere else.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::TokioExecutor;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Failure, policy};
use crate::config::exec::ReviewerSettings;

/// Most bytes of a response.
const MOST: usize = 256 * 1024;
/// Most tokens of an answer (13.16).
const TOKENS: u32 = 1024;
/// What an endpoint's address ends with.
const PATH: &str = "/chat/completions";

/// Asks. The caller bounds the time.
pub(super) async fn ask(
    url: &str,
    settings: &ReviewerSettings,
    case: &str,
    transcript: &str,
) -> Result<String, Failure> {
    let request = request(url, settings, case, transcript)?;
    let response = if request.uri().scheme_str() == Some("https") {
        let connector = hyper_rustls::HttpsConnectorBuilder::new()
            .with_native_roots()
            .map_err(|_| Failure::Unreachable("the machine has no root certificates".to_owned()))?
            .https_only()
            .enable_http1()
            .build();
        send(connector, request).await?
    } else {
        send(HttpConnector::new(), request).await?
    };
    if response.status() != StatusCode::OK {
        return Err(Failure::Failed(format!("HTTP status {}", response.status().as_u16())));
    }
    let body = Limited::new(response.into_body(), MOST).collect().await;
    let body = body.map_err(|error| match error.downcast_ref::<http_body_util::LengthLimitError>() {
        Some(_) => Failure::TooMuch(MOST),
        None => Failure::Truncated,
    })?;
    content(&body.to_bytes())
}

async fn send<C>(
    connector: C,
    request: Request<Full<Bytes>>,
) -> Result<Response<hyper::body::Incoming>, Failure>
where
    C: Connect + Clone + Send + Sync + 'static,
{
    // One connection for one question: nothing of it stays.
    let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
    client.request(request).await.map_err(|error| {
        let what = if error.is_connect() { "no connection" } else { "the connection ended" };
        Failure::Unreachable(what.to_owned())
    })
}

fn request(
    url: &str,
    settings: &ReviewerSettings,
    case: &str,
    transcript: &str,
) -> Result<Request<Full<Bytes>>, Failure> {
    let bad = || Failure::Unreachable("tools.exec.reviewer.url is no address".to_owned());
    let url = url.trim_end_matches('/');
    let whole = if url.ends_with(PATH) { url.to_owned() } else { format!("{url}{PATH}") };
    let uri: Uri = whole.parse().map_err(|_| bad())?;
    let body = body(settings, case, transcript)?.to_string();
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(uri)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json")
        .header(USER_AGENT, concat!("creel/", env!("CARGO_PKG_VERSION")))
        .body(Full::new(Bytes::from(body)))
        .map_err(|_| bad())?;
    if let Some(name) = &settings.key_env {
        request.headers_mut().insert(AUTHORIZATION, key(name)?);
    }
    Ok(request)
}

/// The key of the variable, as a header that is never printed.
fn key(name: &str) -> Result<HeaderValue, Failure> {
    let missing = || Failure::NoKey(name.to_owned());
    let key = std::env::var(name).ok().filter(|key| !key.trim().is_empty()).ok_or_else(missing)?;
    let mut value = HeaderValue::try_from(format!("Bearer {}", key.trim())).map_err(|_| missing())?;
    value.set_sensitive(true);
    Ok(value)
}

fn body(settings: &ReviewerSettings, case: &str, transcript: &str) -> Result<Value, Failure> {
    let model = settings.model.as_deref().ok_or(Failure::NoModel)?;
    let mut body = json!({
        "model": model,
        "messages": [
            {"role": "system", "content": policy::SYSTEM},
            {"role": "user", "content": policy::message(case, transcript)},
        ],
        "temperature": 0,
        "stream": false,
    });
    let Some(map) = body.as_object_mut() else { return Err(Failure::NoModel) };
    // Endpoints whose models think know the newer name only.
    let limit = if settings.thinking.is_some() { "max_completion_tokens" } else { "max_tokens" };
    map.insert(limit.to_owned(), json!(TOKENS));
    if let Some(thinking) = &settings.thinking {
        map.insert("reasoning_effort".to_owned(), json!(thinking));
    }
    if settings.fast_mode == Some(true) {
        map.insert("service_tier".to_owned(), json!("priority"));
    }
    Ok(body)
}

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
    finish_reason: String,
}

#[derive(Deserialize)]
struct Message {
    content: String,
}

/// The one answer of a completion that came to its end.
fn content(body: &[u8]) -> Result<String, Failure> {
    let completion: Completion =
        serde_json::from_slice(body).map_err(|_| Failure::NoVerdict("it is no chat completion"))?;
    let mut choices = completion.choices.into_iter();
    match (choices.next(), choices.next()) {
        (Some(choice), None) => match choice.finish_reason.as_str() {
            "stop" => Ok(choice.message.content),
            "length" => Err(Failure::Truncated),
            _ => Err(Failure::NoVerdict("the completion did not come to its end")),
        },
        _ => Err(Failure::NoVerdict("it is not one completion")),
    }
}
