//! How requests to an object store are made: so many at once, given up when they stall, tried again
//! when the server says that it will do by and by, and with their listings looked at.
//!
//! The client library makes requests through a connector; this one puts layers around the library's
//! own, the innermost first: [`stall`], [`limit`], [`wait`], [`odd_keys`].

pub(crate) mod limit;
pub(crate) mod odd_keys;
pub(crate) mod stall;
pub(crate) mod wait;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService, ReqwestConnector,
};
use object_store::{BackoffConfig, ClientOptions, RetryConfig};
use tokio::sync::Semaphore;

/// Makes the clients of one store.
#[derive(Debug)]
pub(crate) struct Connector {
    patience: Duration,
    permits: Arc<Semaphore>,
    /// Who pays, for requests to this host.
    payer: Option<Payer>,
}

/// A header that names the project that pays for requests to Google's storage.
#[derive(Clone, Debug)]
pub(crate) struct Payer {
    pub(crate) host: String,
    pub(crate) project: http::HeaderValue,
}

impl Connector {
    /// Requests that may make no progress for `patience`, `at_once` of them.
    pub(crate) fn new(patience: Duration, at_once: usize) -> Self {
        Connector {
            patience,
            permits: Arc::new(Semaphore::new(at_once)),
            payer: None,
        }
    }

    pub(crate) fn paid_by(mut self, payer: Payer) -> Self {
        self.payer = Some(payer);
        self
    }
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = ReqwestConnector::default().connect(options)?;
        let client = stall::patient(client, self.patience);
        let client = limit::limited(client, Arc::clone(&self.permits));
        let client = wait::waiting(client);
        let client = odd_keys::looked_at(client);
        Ok(match self.payer.clone() {
            None => client,
            Some(payer) => HttpClient::new(Paid {
                inner: client,
                payer,
            }),
        })
    }
}

/// Names the payer, to the store and nobody else: credentials are asked for elsewhere.
#[derive(Debug)]
struct Paid {
    inner: HttpClient,
    payer: Payer,
}

#[async_trait]
impl HttpService for Paid {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if request.uri().host() == Some(&self.payer.host) {
            let project = self.payer.project.clone();
            request.headers_mut().insert("x-goog-user-project", project);
        }
        self.inner.execute(request).await
    }
}

/// What is common to the clients of all object stores: a wrong endpoint fails within seconds, and a
/// large object may take its time as long as it moves. A user's own time-out is one for a whole
/// request.
pub(crate) fn options() -> ClientOptions {
    ClientOptions::new()
        .with_connect_timeout(Duration::from_secs(3))
        .with_timeout_disabled()
}

/// When a request is tried again.
pub(crate) fn retries(patience: Duration) -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(2),
            base: 2.0,
        },
        max_retries: 3,
        // Two attempts of a request that stalls. A large object that breaks off is read on.
        retry_timeout: patience * 2,
    }
}
