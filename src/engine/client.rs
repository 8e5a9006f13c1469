//! A handle on one engine.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bollard::{ClientVersion, Docker};
use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;

use super::classify::{classify, classify_http, refusal};
use super::discover::{Candidate, Discovery, Origin};
use super::probe::{self, EngineFacts};
use super::{Capabilities, Deadlines, Endpoint, EngineError, http};

/// Seconds that the client library itself would wait: never the one that decides, see [`Deadlines`].
const LIBRARY_TIMEOUT_S: u64 = 24 * 3600;

/// One container engine; cheap to clone, usable from many tasks at once.
///
/// Every call has a deadline and can be dropped at any time. A call that was dropped or timed out may still take
/// effect in the engine: look again (`inspect`) before repeating one that changes something.
#[derive(Debug, Clone)]
pub struct Engine {
    docker: Docker,
    facts: Arc<EngineFacts>,
    capabilities: Arc<OnceCell<Capabilities>>,
    deadlines: Deadlines,
}

impl Engine {
    /// Finds an engine as the docker client would. One small request to each place that is asked.
    ///
    /// # Errors
    ///
    /// [`EngineError::NoEngine`] with every place tried, or the typed reason why the one that is there cannot be
    /// used.
    pub async fn discover(discovery: &Discovery) -> Result<Self, EngineError> {
        let facts = probe::first(discovery.candidates()?, discovery.probe_timeout).await?;
        Self::with_facts(facts)
    }

    /// Connects to one known engine.
    ///
    /// # Errors
    ///
    /// As [`Engine::discover`].
    pub async fn connect(endpoint: Endpoint) -> Result<Self, EngineError> {
        let candidate = Candidate { endpoint, origin: Origin::Explicit };
        Self::with_facts(probe::first(vec![candidate], Deadlines::default().probe).await?)
    }

    /// The same engine with other deadlines.
    #[must_use]
    pub fn with_deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// What its ping told.
    pub fn facts(&self) -> &EngineFacts {
        &self.facts
    }

    /// The deadlines in force.
    pub fn deadlines(&self) -> &Deadlines {
        &self.deadlines
    }

    fn with_facts(facts: EngineFacts) -> Result<Self, EngineError> {
        let docker = client(&facts)
            .map_err(|error| classify("connect", error))?
            .with_request_modifier(versioned(&facts.api_version, str::to_owned));
        Ok(Self {
            docker,
            facts: Arc::new(facts),
            capabilities: Arc::default(),
            deadlines: Deadlines::default(),
        })
    }

    /// The client library's handle, for the operations of this module.
    pub(super) fn docker(&self) -> &Docker {
        &self.docker
    }

    /// The same with every query rewritten.
    pub(super) fn docker_with(&self, query: impl Fn(&str) -> String + Send + Sync + 'static) -> Docker {
        self.docker.clone().with_request_modifier(versioned(&self.facts.api_version, query))
    }

    /// Where the answer of [`Engine::capabilities`] is kept.
    pub(super) fn capabilities_cell(&self) -> &OnceCell<Capabilities> {
        &self.capabilities
    }

    /// One GET whose answer is JSON, under the deadline of quick calls.
    pub(super) async fn get_json<T: DeserializeOwned>(
        &self,
        what: &str,
        path: &str,
    ) -> Result<T, EngineError> {
        let limit = self.deadlines.quick;
        let path = format!("/v{}{path}", self.facts.api_version);
        let answer = match tokio::time::timeout(limit, http::get(&self.facts.endpoint, &path)).await {
            Ok(answer) => answer.map_err(|error| classify_http(what, error))?,
            Err(_) => return Err(EngineError::NotResponding { what: what.to_owned(), after: limit }),
        };
        if !answer.status.is_success() {
            return Err(refusal(what.to_owned(), answer.status.as_u16(), &answer.message()));
        }
        serde_json::from_slice(&answer.body)
            .map_err(|error| EngineError::Protocol { what: what.to_owned(), reason: error.to_string() })
    }

    /// Runs a call of the client library under a deadline.
    pub(super) async fn within<T>(
        &self,
        what: &str,
        limit: Duration,
        call: impl Future<Output = Result<T, bollard::errors::Error>>,
    ) -> Result<T, EngineError> {
        match tokio::time::timeout(limit, call).await {
            Ok(result) => result.map_err(|error| classify(what, error)),
            Err(_) => Err(EngineError::NotResponding { what: what.to_owned(), after: limit }),
        }
    }
}

/// The client library's handle for these facts.
fn client(facts: &EngineFacts) -> Result<Docker, bollard::errors::Error> {
    let (major_version, minor_version) = probe::version(&facts.api_version).unwrap_or(probe::OLDEST_API);
    let version = ClientVersion { major_version, minor_version };
    match &facts.endpoint {
        Endpoint::Unix(path) => {
            Docker::connect_with_unix(&path.to_string_lossy(), LIBRARY_TIMEOUT_S, &version)
        }
        Endpoint::Tcp(address) => Docker::connect_with_http(address, LIBRARY_TIMEOUT_S, &version),
    }
}

/// Puts the API version into each request's path. The library's own paths carry none, so that an engine would answer
/// in whatever version it likes best. `query` has the last word on the query.
fn versioned(
    api: &str,
    query: impl Fn(&str) -> String + Send + Sync + 'static,
) -> impl Fn(bollard::BollardRequest) -> bollard::BollardRequest + Send + Sync + 'static {
    let prefix = format!("/v{api}");
    move |mut request| {
        let mut parts = request.uri().clone().into_parts();
        let asked = request.uri().query().map(|text| format!("?{}", query(text))).unwrap_or_default();
        parts.path_and_query = format!("{prefix}{}{asked}", request.uri().path()).parse().ok();
        if let Ok(uri) = hyper::Uri::from_parts(parts) {
            *request.uri_mut() = uri;
        }
        request
    }
}
