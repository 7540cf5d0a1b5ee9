//! Problems as HTTP answers.
//!
//! A handler returns a [`Problem`]; the guard around it, which knows the request's id, writes the
//! body.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::problem::{Code, ErrorDetail, Problem};

/// The body of an answer to a request that cannot be answered.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorAnswer {
    /// What went wrong.
    pub error: ErrorDetail,
    /// The request's id, as in the log.
    pub request_id: String,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = status(self.code).into_response();
        response.extensions_mut().insert(self);
        response
    }
}

fn status(code: Code) -> StatusCode {
    StatusCode::from_u16(code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// The answer that a problem becomes.
pub(super) fn written(problem: Problem, request_id: &str) -> Response {
    let (code, retry_after) = (problem.code, problem.retry_after);
    let body = ErrorAnswer {
        error: problem.into(),
        request_id: request_id.to_owned(),
    };
    let mut response = (status(code), axum::Json(body)).into_response();
    let headers = response.headers_mut();
    if let Some(time) = retry_after {
        let seconds = time.as_secs_f64().ceil().max(1.0) as u64;
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if code == Code::Unauthorized {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}
