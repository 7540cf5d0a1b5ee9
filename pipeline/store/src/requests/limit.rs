//! So many requests at once to one store, and no more: a server has other callers, and a process
//! has so many sockets.
//!
//! A request has its place from when it is sent until its answer has been read to the end or is let
//! go of. So a listing holds one for each page and none between pages, and a task that waits for a
//! place holds none: nobody waits for ever. The library's own limit counts whole listings and
//! would.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use object_store::client::{
    HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// A client whose requests share these places with others.
pub(crate) fn limited(inner: HttpClient, permits: Arc<Semaphore>) -> HttpClient {
    HttpClient::new(Limited { inner, permits })
}

#[derive(Debug)]
struct Limited {
    inner: HttpClient,
    permits: Arc<Semaphore>,
}

#[async_trait]
impl HttpService for Limited {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let closed = |error: AcquireError| HttpError::new(HttpErrorKind::Unknown, error);
        let place = Arc::clone(&self.permits).acquire_owned();
        let place = place.await.map_err(closed)?;
        let (parts, inner) = self.inner.execute(request).await?.into_parts();
        let body = HeldBody {
            inner,
            place: Some(place),
        };
        Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(body)))
    }
}

/// An answer that holds its place until it ends.
struct HeldBody {
    inner: HttpResponseBody,
    place: Option<OwnedSemaphorePermit>,
}

impl Body for HeldBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.place = None;
        }
        polled
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

    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use futures::future::join_all;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use crate::{Access, Store};

    #[tokio::test]
    async fn no_more_requests_than_allowed_are_under_way() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counted = (Arc::clone(&now), Arc::clone(&most));
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let (now, most) = (Arc::clone(&counted.0), Arc::clone(&counted.1));
                tokio::spawn(async move {
                    let mut request = [0; 4096];
                    while client.read(&mut request).await.unwrap_or(0) > 0 {
                        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        now.fetch_sub(1, Ordering::SeqCst);
                        let answer = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 1\r\n\
                                      Last-Modified: Sun, 22 Nov 2026 00:00:00 GMT\r\n\r\nx";
                        if client.write_all(answer.as_bytes()).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        let variables = [
            ("AWS_ENDPOINT_URL", endpoint.as_str()),
            ("AWS_SKIP_SIGNATURE", "true"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let access = Access {
            at_once: Some(3),
            ..Access::default()
        };
        let store = Store::open_for("s3://lake", &access, variables).unwrap();
        let reads = (0..20).map(|i| {
            let store = store.clone();
            async move { store.get(&format!("{i}")).await }
        });
        for read in join_all(reads).await {
            assert_eq!(read.unwrap(), "x");
        }
        assert_eq!(most.load(Ordering::SeqCst), 3);
    }
}
