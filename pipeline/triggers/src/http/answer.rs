//! What the server answers: JSON, always.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::{Value, json};

use crate::counters::Counts;

/// Events were taken.
pub(super) fn accepted(accepted: u64, ignored: u64) -> Response {
    answer(
        StatusCode::ACCEPTED,
        &json!({"accepted": accepted, "ignored": ignored}),
    )
}

/// They were not.
pub(super) fn failed(status: StatusCode, error: &str) -> Response {
    let mut response = answer(status, &json!({"error": error}));
    let headers = response.headers_mut();
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// All is well, and so much was announced.
pub(super) fn health(counts: &Counts) -> Response {
    let last = counts
        .last_event
        .map(|at| humantime::format_rfc3339_millis(at).to_string());
    answer(
        StatusCode::OK,
        &json!({
            "events": counts.events,
            "ignored": counts.ignored,
            "poison": counts.poison,
            "bursts": counts.bursts,
            "last_event": last,
        }),
    )
}

fn answer(status: StatusCode, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
