//! What a request brings: parameters of its address, and bodies of bounded length and time.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use utoipa::{IntoParams, ToSchema};

use super::expected;
use crate::problem::{Code, Problem, shortened};

/// Bytes of a body.
pub(super) const BODY: usize = 64 << 10;
/// Bytes of a body of events.
const EVENTS: usize = 1 << 20;
/// Bytes of a body that is too large which are read before the connection is closed.
const DROPPED: usize = 32 << 20;
/// How long a body may take to come.
const BODY_TIME: Duration = Duration::from_secs(10);

/// Parameters of the address.
pub(super) struct Asked<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + IntoParams> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = Query::<T>::try_from_uri(&parts.uri);
        query.map(|Query(asked)| Asked(asked)).map_err(|error| {
            let pairs = Query::try_from_uri(&parts.uri).map_or_else(|_| Vec::new(), |Query(it)| it);
            let detail = expected::in_address::<T>(&error, &pairs);
            misunderstood("the parameters of the address", &detail)
        })
    }
}

/// A body that is an object of JSON.
pub(super) struct ObjectBody<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + ToSchema> FromRequest<S> for ObjectBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let bytes = read(request, BODY).await?;
        // A list would be taken for an object's values in their order.
        if !bytes.trim_ascii_start().starts_with(b"{") {
            return Err(misunderstood("the body", "it is no object of JSON ({…})"));
        }
        let parsed = serde_json::from_slice(&bytes);
        parsed
            .map(ObjectBody)
            .map_err(|error| misunderstood("the body", &expected::in_body::<T>(&bytes, &error)))
    }
}

/// A body of events, as it came.
pub(super) async fn read_events(request: Request) -> Result<Bytes, Problem> {
    read(request, EVENTS).await
}

fn misunderstood(what: &str, detail: &str) -> Problem {
    Problem::bad(
        format!("{what} cannot be understood: {}", shortened(detail, 300)),
        "see /openapi.json for what is expected",
    )
}

/// Whether a body is said to be JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

/// A body that is not said to be JSON.
pub(super) fn not_json() -> Problem {
    Problem::new(
        Code::UnsupportedMediaType,
        "the body is not said to be JSON",
        "send it with Content-Type: application/json",
    )
}

async fn read(request: Request, most: usize) -> Result<Bytes, Problem> {
    if !is_json(request.headers()) {
        return Err(not_json());
    }
    within_time(request.into_body(), most).await
}

/// A body that comes in time.
pub(super) async fn within_time(body: Body, most: usize) -> Result<Bytes, Problem> {
    let Ok(read) = tokio::time::timeout(BODY_TIME, collect(body, most)).await else {
        return Err(Problem::new(
            Code::RequestTimeout,
            format!("the body did not come within {} s", BODY_TIME.as_secs()),
            "send it at once",
        ));
    };
    let broken = |_| Problem::bad("the body broke off", "send it again");
    read.map_err(broken)?.ok_or_else(|| {
        Problem::new(
            Code::TooLarge,
            format!("the body has more than {most} bytes"),
            "send less: a question fits into some hundred bytes, events can be sent in parts",
        )
    })
}

/// The whole body; `None` if it is longer. What is too much is read and dropped, within bounds: a
/// client that is still sending when the connection is closed does not get to read the answer.
async fn collect(mut body: Body, most: usize) -> Result<Option<Bytes>, axum::Error> {
    let (mut kept, mut length) = (Vec::new(), 0usize);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else {
            continue;
        };
        length = length.saturating_add(data.len());
        if length <= most {
            kept.extend_from_slice(&data);
        } else if length > DROPPED {
            break;
        } else {
            kept.clear();
        }
    }
    Ok((length <= most).then(|| kept.into()))
}
