//! Sockets: connections of bounded number, heads of bounded length and time, TLS, and an end in good order.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::tls::Tls;

/// Connections at a time; more wait.
const CONNECTIONS: usize = 1_024;
/// How long a TLS handshake, and the head of a request, may take; idle connections are closed after it.
const HEAD_TIME: Duration = Duration::from_secs(15);
/// Bytes of a head.
const HEAD: usize = 64 << 10;
/// How long requests under way may take when the node ends.
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
        let ending = GracefulShutdown::new();
        while let Some(accepted) = stop.run_until_cancelled(self.accept(&connections)).await {
            let Some((stream, place)) = accepted else {
                continue;
            };
            let (router, tls, watcher) = (router.clone(), self.tls.clone(), ending.watcher());
            tokio::spawn(async move {
                let _place = place;
                // A connection that breaks is its client's affair.
                match tls {
                    None => drop(converse(stream, false, router, watcher).await),
                    Some(TlsAcceptorOf(tls)) => {
                        if let Ok(Ok(stream)) = timeout(HEAD_TIME, tls.accept(stream)).await {
                            let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                            drop(converse(stream, is_http2, router, watcher).await);
                        }
                    }
                }
            });
        }
        drop(self.socket);
        if timeout(END_TIME, ending.shutdown()).await.is_err() {
            tracing::warn!("ended before all requests were answered");
        }
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
    watcher: hyper_util::server::graceful::Watcher,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let service = tower::service_fn(move |request: Request<hyper::body::Incoming>| {
        let router = router.clone();
        async move {
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
    let conversation = builder.serve_connection(TokioIo::new(stream), service);
    watcher.watch(conversation.into_owned()).await
}
