//! A server that says when to come again is believed, within reason.
//!
//! The client library tries again after times of its own, however busy the server says it is. Here
//! an answer that refuses for now (429, 503) and names a time (`Retry-After`) reaches the library
//! after that time, at most [`LONGEST`].

use std::time::Duration;

use async_trait::async_trait;
use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use object_store::client::{HttpClient, HttpError, HttpRequest, HttpResponse, HttpService};

/// No server makes us wait longer before one attempt.
const LONGEST: Duration = Duration::from_secs(10);

/// A client that waits as the server asks.
pub(crate) fn waiting(inner: HttpClient) -> HttpClient {
    HttpClient::new(Waiting(inner))
}

/// How long an answer asks to wait; zero where it does not.
pub(crate) fn asked_for(status: StatusCode, headers: &HeaderMap) -> Duration {
    if !matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
    ) {
        return Duration::ZERO;
    }
    let value = headers.get(RETRY_AFTER).and_then(|it| it.to_str().ok());
    // A date would need two clocks that agree.
    let seconds = value.and_then(|value| value.trim().parse::<u64>().ok());
    seconds.map_or(Duration::ZERO, |seconds| {
        Duration::from_secs(seconds).min(LONGEST)
    })
}

#[derive(Debug)]
struct Waiting(HttpClient);

#[async_trait]
impl HttpService for Waiting {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let response = self.0.execute(request).await?;
        let time = asked_for(response.status(), response.headers());
        if time.is_zero() {
            return Ok(response);
        }
        // The place among the requests under way is given back while this one waits.
        let (parts, body) = response.into_parts();
        let body = body.bytes().await?;
        tokio::time::sleep(time).await;
        Ok(HttpResponse::from_parts(parts, body.into()))
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn only_refusals_for_now_are_waited_for_and_not_for_long() {
        let waits = |status, text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_static(text));
            asked_for(status, &headers).as_secs()
        };
        assert_eq!(waits(StatusCode::TOO_MANY_REQUESTS, "2"), 2);
        assert_eq!(waits(StatusCode::SERVICE_UNAVAILABLE, " 3 "), 3);
        assert_eq!(waits(StatusCode::TOO_MANY_REQUESTS, "86400"), 10);
        assert_eq!(waits(StatusCode::TOO_MANY_REQUESTS, "-1"), 0);
        assert_eq!(waits(StatusCode::TOO_MANY_REQUESTS, "Sun, 22 Nov"), 0);
        assert_eq!(waits(StatusCode::NOT_FOUND, "2"), 0);
        assert_eq!(
            asked_for(StatusCode::TOO_MANY_REQUESTS, &HeaderMap::new()),
            Duration::ZERO
        );
    }
}
