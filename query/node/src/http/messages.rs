//! What surrounds `/mcp`: bodies are bounded in length and time, and whatever the service refuses
//! in plain text is answered in JSON. What is wrong with a message of JSON-RPC is answered as
//! JSON-RPC has it, the rest as at every other address.

use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::body::{BODY, is_json, not_json, within_time};
use crate::mcp::Refused;
use crate::problem::{Code, Problem};

/// Hands a request on when its body has come: the service would wait for it as long as it takes.
pub(super) async fn around(request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return as_json(next.run(request).await, false, &[]);
    }
    let (parts, body) = request.into_parts();
    let is_said_json = is_json(&parts.headers);
    match within_time(body, BODY).await {
        Ok(bytes) => {
            let request = Request::from_parts(parts, bytes.clone().into());
            as_json(next.run(request).await, is_said_json, &bytes)
        }
        Err(problem) => problem.into_response(),
    }
}

/// The service's answer, or why it has refused the request.
fn as_json(answer: Response, is_said_json: bool, body: &[u8]) -> Response {
    let status = answer.status();
    if status.is_success() || is_json(answer.headers()) {
        return answer;
    }
    let mut refusal = match status {
        StatusCode::METHOD_NOT_ALLOWED => Problem::new(
            Code::MethodNotAllowed,
            "agents are answered here, and to POST alone: there are no sessions to open or end",
            "send each message of the Model Context Protocol (JSON-RPC) in a POST of its own",
        )
        .into_response(),
        StatusCode::NOT_ACCEPTABLE => Problem::new(
            Code::NotAcceptable,
            "the request does not take what agents are answered with",
            "send it with Accept: application/json, text/event-stream",
        )
        .into_response(),
        // The service's word for a body that is no message, too.
        StatusCode::UNSUPPORTED_MEDIA_TYPE if is_said_json => {
            let refused = axum::Json(Refused::of(body).answer());
            (StatusCode::BAD_REQUEST, refused).into_response()
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => not_json().into_response(),
        // The version of the protocol, or the host.
        status if status.is_client_error() => Problem::bad(
            format!("a head of the request cannot be used (status {status})"),
            "leave MCP-Protocol-Version out, or send a version that an answer to initialize or server/discover names",
        )
        .into_response(),
        _ => {
            tracing::error!(%status, "the service of /mcp failed");
            Problem::internal().into_response()
        }
    };
    if let Some(methods) = answer.headers().get(header::ALLOW) {
        refusal.headers_mut().insert(header::ALLOW, methods.clone());
    }
    refusal
}
