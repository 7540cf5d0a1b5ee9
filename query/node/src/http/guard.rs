//! What surrounds every request, in this order: its id, the host that it names, an agent's site,
//! the caller, the caller's rate and share, a place among those being answered, and the time that
//! an answer may take. And after it: problems are written, headers set, the request counted and
//! logged.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use rand::Rng;
use tokio::sync::OwnedSemaphorePermit;
use tracing::Instrument;

use super::reply::written;
use crate::access::{Caller, Share};
use crate::node::Node;
use crate::problem::{Code, Problem};
use crate::traces;

/// How long a request may wait for a place among those being answered.
const WAIT: Duration = Duration::from_secs(2);
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The page runs its own scripts and nothing else, and no other site may frame it.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The hosts that requests may name. A node that asks for no key answers only to names that no
/// other site can take (DNS rebinding).
#[derive(Clone, Debug)]
pub enum Hosts {
    /// Whichever.
    Any,
    /// Loopback addresses, `localhost`, and these.
    Loopback(Vec<String>),
}

impl Hosts {
    fn allows(&self, host: Option<&str>) -> bool {
        let Hosts::Loopback(more) = self else {
            return true;
        };
        let Some(host) = host else { return false };
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => host.split(':').next().unwrap_or_default(),
        };
        let is_loopback = name
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback());
        is_loopback
            || name.eq_ignore_ascii_case("localhost")
            || more.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// What the guard knows.
#[derive(Clone)]
pub(super) struct Guard {
    pub(super) node: Arc<Node>,
    pub(super) hosts: Hosts,
}

/// What a request holds as long as it is answered: its part of its caller's share, and its place.
/// An answer that goes on behind its head holds it, too.
pub(super) struct Held {
    _share: Share,
    _place: OwnedSemaphorePermit,
}

pub(super) async fn guard(
    State(guard): State<Guard>,
    mut request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let node = &guard.node;
    let counted = node.metrics.begin();
    let id = request_id(request.headers());
    let method = request.method().clone();
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or("none", MatchedPath::as_str)
        .to_owned();
    let span = traces::of_request(method.as_str(), &route, &id, request.headers());
    let (caller, answered) = match admitted(&guard, &mut request, &route).await {
        Ok(Some((caller, share))) => {
            let answered = match place(node).await {
                Ok(place) => {
                    let held = Arc::new(Held {
                        _share: share,
                        _place: place,
                    });
                    request.extensions_mut().insert(Arc::clone(&held));
                    answer(node, request, next).instrument(span.clone()).await
                }
                Err(problem) => problem.into_response(),
            };
            (Some(caller), answered)
        }
        // Whether a busy node is alive is asked for when it is busy.
        Ok(None) => (
            None,
            answer(node, request, next).instrument(span.clone()).await,
        ),
        Err(problem) => (None, problem.into_response()),
    };
    let mut response = match answered.extensions().get::<Problem>() {
        Some(problem) => {
            let mut answer = written(problem.clone(), &id);
            if let Some(methods) = answered.headers().get(header::ALLOW) {
                answer.headers_mut().insert(header::ALLOW, methods.clone());
            }
            answer
        }
        None => answered,
    };
    set_headers(&mut response, &id);
    let (status, time) = (response.status().as_u16(), started.elapsed());
    node.metrics.answered(&route, status, time);
    drop(counted);
    let caller = caller.as_deref().unwrap_or("-");
    traces::answered(&span, status, caller);
    let ms = (time.as_secs_f64() * 1e6).round() / 1e3;
    tracing::info!(target: "limn_node::access", id = %id, %method, route, status, ms, caller, "answered");
    response
}

/// The caller's id and its share, once all is in order for the request to be answered; `None` where
/// nobody is asked for a key.
async fn admitted(
    guard: &Guard,
    request: &mut Request,
    route: &str,
) -> Result<Option<(Arc<str>, Share)>, Problem> {
    let host = request
        .headers()
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let host = host.or(request
        .uri()
        .authority()
        .map(|authority| authority.as_str()));
    if !guard.hosts.allows(host) {
        return Err(Problem::new(
            Code::Forbidden,
            "this node asks for no key and answers to localhost alone",
            "use http://localhost, or start it with --allow-host NAME or with --keys FILE",
        ));
    }
    if is_public(route) {
        return Ok(None);
    }
    let origin = request.headers().get(header::ORIGIN);
    if route == "/mcp" && origin.is_some_and(|it| !is_own_site(it, host, &guard.node.origins)) {
        return Err(Problem::new(
            Code::Forbidden,
            "a page of another site asks, and this node answers agents and its own page alone",
            "ask without a browser, or start the node with --allow-origin and the site's scheme, host and port",
        ));
    }
    let shown = shown(request.headers());
    let caller = guard.node.access.caller(shown).await?;
    guard.node.rates.take(&caller).map_err(|wait| {
        Problem::new(
            Code::TooManyRequests,
            "there were more requests than this key may send",
            "send fewer a minute, or ask for a key with a higher rate",
        )
        .after(wait)
    })?;
    let share = guard.node.shares.take(&caller).ok_or_else(|| {
        let most = guard.node.shares.most;
        Problem::new(
            Code::TooManyRequests,
            format!("{most} requests of this key are being answered already"),
            "send the next one when an answer has come",
        )
        .after(Duration::from_secs(1))
    })?;
    let id = Arc::clone(&caller.id);
    request.extensions_mut().insert::<Caller>(caller);
    Ok(Some((id, share)))
}

/// Whether a page asks that is of the host that the request names, or of a site that is allowed.
fn is_own_site(origin: &HeaderValue, host: Option<&str>, allowed: &[String]) -> bool {
    let Ok(origin) = origin.to_str() else {
        return false;
    };
    let own = origin.split_once("://").map(|(_, authority)| authority);
    let is_own = own.is_some_and(|own| host.is_some_and(|host| own.eq_ignore_ascii_case(host)));
    let mut allowed = allowed.iter();
    is_own || allowed.any(|it| it.trim_end_matches('/').eq_ignore_ascii_case(origin))
}

/// What is answered without a key: nothing that is from the lake.
fn is_public(route: &str) -> bool {
    const PUBLIC: [&str; 8] = [
        "/",
        "/table",
        "/browse",
        "/status",
        "/assets/{name}",
        "/openapi.json",
        "/health/live",
        "/health/ready",
    ];
    PUBLIC.contains(&route)
}

async fn answer(node: &Node, request: Request, next: Next) -> Response {
    let work = AssertUnwindSafe(next.run(request)).catch_unwind();
    match tokio::time::timeout(node.patience, work).await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => {
            tracing::error!("a handler ended in a panic");
            Problem::internal().into_response()
        }
        Err(_) => Problem::late().into_response(),
    }
}

/// A place among the requests that are being answered.
async fn place(node: &Node) -> Result<OwnedSemaphorePermit, Problem> {
    let place = tokio::time::timeout(WAIT, Arc::clone(&node.concurrency).acquire_owned()).await;
    place.ok().and_then(Result::ok).ok_or_else(|| {
        Problem::new(
            Code::Busy,
            "the node has as many requests as it can answer",
            "ask again in a moment",
        )
        .after(Duration::from_secs(1))
    })
}

fn shown(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, key) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(key.trim())
}

/// The id that a caller or a proxy gave, if it is one; else a new one.
fn request_id(headers: &HeaderMap) -> Arc<str> {
    let given = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok());
    let is_plain = |id: &&str| {
        (1..=64).contains(&id.len())
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    match given.filter(is_plain) {
        Some(id) => id.into(),
        None => format!("{:016x}", rand::rng().random::<u64>()).into(),
    }
}

fn set_headers(response: &mut Response, id: &str) {
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert(REQUEST_ID, id);
    }
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(CONTENT_POLICY),
    );
    let cached = headers.entry(header::CACHE_CONTROL);
    cached.or_insert(HeaderValue::from_static("no-store"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_without_keys_answers_to_loopback_names() {
        let hosts = Hosts::Loopback(vec!["limn.test".to_owned()]);
        for (host, allowed) in [
            (Some("localhost:7700"), true),
            (Some("127.0.0.1"), true),
            (Some("127.8.8.8:1"), true),
            (Some("[::1]:7700"), true),
            (Some("LIMN.test:80"), true),
            (Some("evil.test"), false),
            (Some("localhost.evil.test"), false),
            (Some("10.0.0.1"), false),
            (Some("[::ffff:10.0.0.1]"), false),
            (None, false),
        ] {
            assert_eq!(hosts.allows(host), allowed, "{host:?}");
            assert!(Hosts::Any.allows(host));
        }
    }

    #[test]
    fn agents_in_pages_of_other_sites_are_not_answered() {
        let allowed = ["https://agents.test/".to_owned()];
        for (origin, host, is_own) in [
            ("http://localhost:7700", Some("localhost:7700"), true),
            ("https://LIMN.test", Some("limn.test"), true),
            ("https://agents.test", Some("limn.test"), true),
            ("http://agents.test", Some("limn.test"), false),
            ("http://localhost:3000", Some("localhost:7700"), false),
            ("https://evil.test", Some("limn.test"), false),
            ("https://limn.test.evil.test", Some("limn.test"), false),
            ("null", Some("null"), false),
            ("https://limn.test", None, false),
        ] {
            let origin = HeaderValue::from_static(origin);
            let found = is_own_site(&origin, host, &allowed);
            assert_eq!(found, is_own, "{origin:?} {host:?}");
        }
    }
}
