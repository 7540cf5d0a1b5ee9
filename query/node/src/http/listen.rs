//! Sockets: connections of bounded number, heads of bounded length and time, TLS, and an end in good order.
//!
//! A connection on which nothing is asked for a while is ended, whatever its client does meanwhile: it may be
//! silent, answer pings, or read an answer byte by byte.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::tls::Tls;

/// Connections at a time; more wait.
const CONNECTIONS: usize = 1_024;
/// How long a TLS handshake, and the head of a request, may take; idle connections are closed after it.
const HEAD_TIME: Duration = Duration::from_secs(15);
/// Bytes of a head.
const HEAD: usize = 64 << 10;
/// How long a connection lasts on which nothing is asked.
const IDLE_TIME: Duration = Duration::from_secs(60);
/// How long answers under way may take when their connection, or the node, ends.
const END_TIME: Duration = Duration::from_secs(20);

/// Where a node listens.
#[derive(Clone, Debug)]
pub struct ListenOptions {
    /// The address; port 0 takes a free one.
    pub address: SocketAddr,
    /// With TLS, if there is one.
    pub tls: Option<Tls>,
}

/// A node cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address cannot be had.
    #[error(
        "cannot listen on {address}: {source}; choose another --listen, or end what listens there"
    )]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A certificate or a key cannot be used.
    #[error("{file} cannot be used for TLS: {detail}; give PEM files to --tls-cert and --tls-key")]
    Tls {
        /// The file.
        file: String,
        /// Why.
        detail: String,
    },
}

/// A socket that waits for connections.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    tls: Option<TlsAcceptorOf>,
    /// The address that it has.
    pub address: SocketAddr,
}

#[derive(Clone)]
struct TlsAcceptorOf(TlsAcceptor);

impl std::fmt::Debug for TlsAcceptorOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TlsAcceptor")
    }
}

impl Listener {
    /// Takes the address.
    ///
    /// # Errors
    /// [`ListenError::Bind`].
    pub async fn bind(options: &ListenOptions) -> Result<Listener, ListenError> {
        let failed = |source| ListenError::Bind {
            address: options.address,
            source,
        };
        let socket = TcpListener::bind(options.address).await.map_err(failed)?;
        Ok(Listener {
            address: socket.local_addr().map_err(failed)?,
            socket,
            tls: options.tls.clone().map(|tls| TlsAcceptorOf(tls.0.into())),
        })
    }

    /// Whether connections are encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Serves until it is told to stop; then no connection is taken any more, and requests under way are
    /// answered.
    pub async fn serve(self, router: Router, stop: CancellationToken) {
        let connections = Arc::new(Semaphore::new(CONNECTIONS));
        let conversations = TaskTracker::new();
        while let Some(accepted) = stop.run_until_cancelled(self.accept(&connections)).await {
            let Some((stream, place)) = accepted else {
                continue;
            };
            let (router, tls, stop) = (router.clone(), self.tls.clone(), stop.clone());
            conversations.spawn(async move {
                let _place = place;
                // A connection that breaks is its client's affair.
                match tls {
                    None => drop(converse(stream, false, router, stop).await),
                    Some(TlsAcceptorOf(tls)) => {
                        if let Ok(Ok(stream)) = timeout(HEAD_TIME, tls.accept(stream)).await {
                            let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                            drop(converse(stream, is_http2, router, stop).await);
                        }
                    }
                }
            });
        }
        drop(self.socket);
        conversations.close();
        conversations.wait().await;
    }

    async fn accept(
        &self,
        connections: &Arc<Semaphore>,
    ) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
        let place = Arc::clone(connections).acquire_owned().await.ok()?;
        match self.socket.accept().await {
            Ok((stream, _)) => {
                // Without it small answers may wait for 40 ms; if it fails they do.
                let _ = stream.set_nodelay(true);
                Some((stream, place))
            }
            Err(error) => {
                tracing::warn!(%error, "no connection could be taken");
                sleep(Duration::from_millis(100)).await;
                None
            }
        }
    }
}

/// The version is known beforehand: a server that waits to see which one comes would wait for ever.
async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    is_http2: bool,
    router: Router,
    stop: CancellationToken,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let activity = Arc::new(Activity::new());
    let seen = Arc::clone(&activity);
    let service = tower::service_fn(move |request: Request<hyper::body::Incoming>| {
        let (router, under_way) = (router.clone(), seen.begin());
        async move {
            let _under_way = under_way;
            let answered = tower::ServiceExt::oneshot(router, request.map(Body::new)).await;
            Ok::<_, Infallible>(answered.unwrap_or_else(|never| match never {}))
        }
    });
    let builder = Builder::new(TokioExecutor::new());
    let mut builder = match is_http2 {
        true => builder.http2_only(),
        false => builder.http1_only(),
    };
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD)
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(HEAD_TIME)
        .max_header_list_size(HEAD as u32)
        .max_concurrent_streams(64);
    let service = TowerToHyperService::new(service);
    let mut conversation = pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        ended = conversation.as_mut() => return ended,
        () = stop.cancelled() => {}
        () = activity.idle() => {}
    }
    conversation.as_mut().graceful_shutdown();
    match timeout(END_TIME, conversation).await {
        Ok(ended) => ended,
        Err(_) => {
            tracing::warn!("a connection was ended before its client had read the answers");
            Ok(())
        }
    }
}

/// Requests of a connection, to know when there have been none for a while.
struct Activity(Mutex<(usize, Instant)>);

/// A request that is being answered.
struct UnderWay(Arc<Activity>);

impl Activity {
    fn new() -> Activity {
        Activity(Mutex::new((0, Instant::now())))
    }

    fn begin(self: &Arc<Self>) -> UnderWay {
        self.changed(|count| count + 1);
        UnderWay(Arc::clone(self))
    }

    fn changed(&self, by: impl FnOnce(usize) -> usize) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = (by(state.0), Instant::now());
    }

    /// Returns when nothing has been asked and answered for [`IDLE_TIME`].
    async fn idle(&self) {
        loop {
            let (count, since) = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let end = match count {
                0 => since + IDLE_TIME,
                _ => Instant::now() + IDLE_TIME,
            };
            if end <= Instant::now() {
                return;
            }
            sleep_until(end).await;
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.changed(|count| count - 1);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    fn node() -> Router {
        Router::new().route("/", axum::routing::get(|| async { "x".repeat(1 << 20) }))
    }

    /// A client that sends what it has to, reads `most` bytes, and then no more.
    async fn ended_after(is_http2: bool, sent: &[u8], most: usize) -> Duration {
        let (mut client, server) = tokio::io::duplex(1 << 10);
        let started = Instant::now();
        let conversation = tokio::spawn(async move {
            drop(converse(server, is_http2, node(), CancellationToken::new()).await);
        });
        client.write_all(sent).await.unwrap();
        let mut read = vec![0; most];
        client.read_exact(&mut read).await.unwrap();
        conversation.await.unwrap();
        drop(client);
        started.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_its_answer_is_let_go() {
        let asked = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        let time = ended_after(false, asked, 100).await;
        assert!(
            (IDLE_TIME..=IDLE_TIME + 2 * END_TIME).contains(&time),
            "{time:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn who_asks_nothing_is_let_go() {
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
        let time = ended_after(true, preface, 9).await;
        assert!(time <= IDLE_TIME + 2 * END_TIME, "{time:?}");
        let time = ended_after(false, b"GET / HT", 0).await;
        assert!(time <= HEAD_TIME + END_TIME, "{time:?}");
    }
}
