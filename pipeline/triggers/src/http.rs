//! `POST /v1/events`: changes announced over HTTP; `GET /v1/health`: what was announced so far.
//!
//! A small server for one machine or a trusted network: connections are few and bounded in size and
//! time. Nothing of an event is followed, fetched or believed but the names of objects.

mod answer;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Request, StatusCode, header};
use axum::response::Response;
use axum::routing::{get, post};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use subtle::ConstantTimeEq;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::collector::Collector;
use crate::error::{TriggerError, TriggerErrorKind};
use crate::event::{self, Unreadable};
use crate::root::LakeRoot;
use answer::{accepted, failed, health};

/// A body's most bytes.
const BODY: usize = 1 << 20;
/// How long a request's head may take, and an idle connection may stay.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long a body may take.
const BODY_TIME: Duration = Duration::from_secs(30);
/// Connections at a time; more wait.
const CONNECTIONS: usize = 64;

/// Where to listen, and who may announce changes.
#[derive(Debug, Clone)]
pub struct ListenOptions {
    /// Where to listen; port 0 takes a free one.
    pub address: SocketAddr,
    /// What a client has to show, as `Authorization: Bearer …`. Needed where others than this
    /// machine reach the address.
    pub token: Option<Token>,
}

/// A secret that clients show. No output holds it.
#[derive(Clone)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// Takes a secret of at least 16 characters that a header can hold.
    ///
    /// # Errors
    /// [`TriggerErrorKind::Configuration`] for any other.
    pub fn new(text: impl Into<String>) -> Result<Self, TriggerError> {
        let text: String = text.into();
        if text.len() < 16 || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TriggerError::new(
                TriggerErrorKind::Configuration,
                "the token for events",
                "it is shorter than 16 characters, or holds others than printable ASCII",
                "take a random one, such as that of openssl rand -hex 32",
            ));
        }
        Ok(Self(text))
    }

    /// Whether it was shown, in a time that does not reveal how nearly.
    fn is_shown(&self, headers: &HeaderMap) -> bool {
        let shown = headers.get(header::AUTHORIZATION);
        let shown = shown.and_then(|value| value.as_bytes().split_at_checked("Bearer ".len()));
        shown.is_some_and(|(scheme, token)| {
            scheme.eq_ignore_ascii_case(b"Bearer ") && bool::from(token.ct_eq(self.0.as_bytes()))
        })
    }
}

/// What requests share.
struct Shared {
    collector: Arc<Collector>,
    root: LakeRoot,
    token: Option<Token>,
}

/// A server that has an address and serves nobody yet.
pub(crate) struct Server {
    listener: TcpListener,
    router: Router,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Takes the address.
    pub(crate) async fn bind(
        options: ListenOptions,
        collector: Arc<Collector>,
        root: LakeRoot,
    ) -> Result<Self, TriggerError> {
        let asked = options.address;
        if options.token.is_none() && !asked.ip().to_canonical().is_loopback() {
            return Err(TriggerError::new(
                TriggerErrorKind::Configuration,
                asked.to_string(),
                "whoever reaches this address could start index runs",
                "set a token, or listen on 127.0.0.1",
            ));
        }
        let taken = |error: std::io::Error| {
            TriggerError::new(
                TriggerErrorKind::Configuration,
                asked.to_string(),
                format!("it cannot be listened on ({error})"),
                "choose another address or port",
            )
        };
        let listener = TcpListener::bind(asked).await.map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        let shared = Shared {
            collector,
            root,
            token: options.token,
        };
        let router = Router::new()
            .route("/v1/events", post(events))
            .route("/v1/health", get(counts))
            .fallback(async || {
                failed(
                    StatusCode::NOT_FOUND,
                    "there is POST /v1/events and GET /v1/health",
                )
            })
            .with_state(Arc::new(shared));
        Ok(Self {
            listener,
            router,
            address,
        })
    }

    /// Serves until it is dropped, its connections with it.
    pub(crate) async fn run(self) {
        let permits = Arc::new(Semaphore::new(CONNECTIONS));
        let mut connections = tokio::task::JoinSet::new();
        loop {
            let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
                return;
            };
            while connections.try_join_next().is_some() {}
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let router = self.router.clone();
                    connections.spawn(async move {
                        serve(stream, router).await;
                        drop(permit);
                    });
                }
                // Too many open files pass, and so does a client that has left already.
                Err(error) => {
                    tracing::debug!(%error, "a connection was not accepted");
                    sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

async fn serve(stream: TcpStream, router: Router) {
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    if let Err(error) = served.await {
        tracing::debug!(%error, "a connection has ended early");
    }
}

async fn events(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    let headers = parts.headers;
    // Only a browser sends it, for a page that was not asked to.
    if headers.contains_key(header::ORIGIN) {
        return failed(StatusCode::FORBIDDEN, "web pages may not send events");
    }
    if let Some(token) = &shared.token
        && !token.is_shown(&headers)
    {
        return failed(
            StatusCode::UNAUTHORIZED,
            "the token is missing or wrong; send Authorization: Bearer TOKEN",
        );
    }
    let body = match timeout(BODY_TIME, Limited::new(body, BODY).collect()).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            return failed(
                StatusCode::PAYLOAD_TOO_LARGE,
                "the body is larger than 1 MiB; send fewer events at a time",
            );
        }
        Ok(Err(_)) => return failed(StatusCode::BAD_REQUEST, "the body breaks off"),
        Err(_) => return failed(StatusCode::REQUEST_TIMEOUT, "the body came too slowly"),
    };
    match event::read(&body, &shared.root) {
        Ok(hints) => {
            let answer = accepted(hints.events(), hints.ignored);
            shared.collector.hint(hints);
            answer
        }
        Err(Unreadable::Confirmation) => failed(
            StatusCode::BAD_REQUEST,
            "limn confirms no subscriptions; subscribe an SQS queue to the topic and let limn poll it",
        ),
        Err(unreadable) => failed(StatusCode::BAD_REQUEST, &unreadable.to_string()),
    }
}

async fn counts(State(shared): State<Arc<Shared>>) -> Response {
    health(&shared.collector.counters.counts())
}
