//! Requests that make no progress are given up, however long those take that do.
//!
//! The client library's own time-out is one for a whole request, from its first byte to the last of
//! its answer: too short for a large object on a slow line, too long for a connection that is dead.
//! Here an answer has to begin within the patience's time after the request was sent, which is
//! given as much time again for every [`PORTION`] of it, and each further piece has to follow the
//! last within that time. While nobody wants the next piece no time runs.
//!
//! What is given up is retried by the library where that is safe, as after a time-out of its own.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use object_store::client::{
    HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use tokio::time::{Instant, Sleep, sleep, timeout};

/// The environment variable that sets another patience, such as `2m`.
pub(crate) const VARIABLE: &str = "LIMN_STALL_TIMEOUT";
/// How long nothing may happen, by default.
pub(crate) const DEFAULT: Duration = Duration::from_secs(30);
/// So many bytes of a request have to be sent in one such time: 140 KB/s by default.
const PORTION: u64 = 4 << 20;

/// A client that gives up requests that make no progress for so long.
pub(crate) fn patient(inner: HttpClient, time: Duration) -> HttpClient {
    HttpClient::new(Patient { inner, time })
}

#[derive(Debug)]
struct Patient {
    inner: HttpClient,
    time: Duration,
}

#[derive(Debug, thiserror::Error)]
#[error("timed out: nothing came for {0:?}")]
struct Stalled(Duration);

fn stalled(time: Duration) -> HttpError {
    HttpError::new(HttpErrorKind::Timeout, Stalled(time))
}

#[async_trait]
impl HttpService for Patient {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let portions = request.body().content_length() as u64 / PORTION;
        let more = u32::try_from(portions).unwrap_or(u32::MAX);
        let time = self.time.saturating_add(self.time.saturating_mul(more));
        let answer = timeout(time, self.inner.execute(request)).await;
        let (parts, inner) = answer.map_err(|_| stalled(time))??.into_parts();
        let body = PatientBody {
            inner,
            time: self.time,
            waiting: None,
        };
        Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(body)))
    }
}

/// An answer whose pieces have to keep coming.
struct PatientBody {
    inner: HttpResponseBody,
    time: Duration,
    /// Runs while somebody waits for a piece.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl Body for PatientBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let this = &mut *self;
        if let Poll::Ready(frame) = Pin::new(&mut this.inner).poll_frame(context) {
            this.waiting = None;
            return Poll::Ready(frame);
        }
        let time = this.time;
        let waiting = this.waiting.get_or_insert_with(|| Box::pin(sleep(time)));
        ready!(waiting.as_mut().poll(context));
        waiting.as_mut().reset(Instant::now() + time);
        Poll::Ready(Some(Err(stalled(time))))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use std::time::Instant;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use crate::{Store, StoreErrorKind};

    const HEAD: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nETag: \"1\"\r\n\
                        Last-Modified: Sun, 22 Nov 2026 00:00:00 GMT\r\nContent-Length: 8\r\n\r\n";

    /// A store whose server sends one byte of eight in each `pause`, or hangs after `hangs_after`
    /// bytes.
    async fn store(pause_ms: u64, hangs_after: usize) -> Store {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut request = [0; 4096];
                    assert!(client.read(&mut request).await.unwrap() > 0);
                    let mut answer = HEAD.as_bytes().to_vec();
                    answer.extend(b"12345678");
                    for (at, byte) in answer.iter().enumerate() {
                        if at == hangs_after {
                            std::future::pending::<()>().await;
                        }
                        if at >= HEAD.len() {
                            tokio::time::sleep(std::time::Duration::from_millis(pause_ms)).await;
                        }
                        if client.write_all(&[*byte]).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        let variables = [
            ("AWS_ENDPOINT_URL", endpoint.as_str()),
            ("AWS_ACCESS_KEY_ID", "key"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            (super::VARIABLE, "300ms"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        Store::open_with("s3://lake", variables).unwrap()
    }

    #[tokio::test]
    async fn an_answer_that_moves_may_take_its_time() {
        let started = Instant::now();
        let store = store(100, usize::MAX).await;
        assert_eq!(store.get("a").await.unwrap(), "12345678");
        assert!(started.elapsed().as_millis() > 600);
    }

    #[tokio::test]
    async fn an_answer_that_stops_is_given_up_wherever_it_stops() {
        for hangs_after in [0, 20, HEAD.len(), HEAD.len() + 3] {
            let started = Instant::now();
            let error = store(0, hangs_after).await.get("a").await.unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::Unreachable, "{error}");
            assert!(error.to_string().contains("timed out"), "{error}");
            assert!(started.elapsed().as_millis() < 3000, "{error}");
        }
    }

    #[test]
    fn what_is_no_time_is_an_error() {
        for text in ["soon", "0s", "30"] {
            let variables = [(super::VARIABLE.to_owned(), text.to_owned())];
            let error = Store::open_with("s3://lake", variables).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::Configuration, "{text}");
        }
    }
}
