//! Sockets: connections of bounded number, heads of bounded length and time, TLS, and an end in
//! good order.
//!
//! A connection on which nothing comes at first, or nothing is asked for a while, is ended,
//! whatever its client does meanwhile: it may be silent, answer pings, or read an answer byte by
//! byte. Which one gives its place to a new one: `places.rs`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::places::{Place, Places};
use super::tls::Tls;

/// Connections at a time.
const CONNECTIONS: usize = 1_024;
/// How long the first byte may take.
const FIRST_TIME: Duration = Duration::from_secs(5);
/// How long a TLS handshake, and the head of a request, may take; idle connections are closed after
/// it.
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

    /// Serves until it is stopped; then it takes no new connection, and requests under way are
    /// answered.
    pub async fn serve(self, router: Router, stop: CancellationToken) {
        self.serve_at(Places::new(CONNECTIONS), router, stop).await;
    }

    async fn serve_at(self, places: Arc<Places>, router: Router, stop: CancellationToken) {
        let conversations = TaskTracker::new();
        while let Some(accepted) = stop.run_until_cancelled(self.accept(&places)).await {
            let Some((stream, place)) = accepted else {
                continue;
            };
            let (router, tls, stop) = (router.clone(), self.tls.clone(), stop.clone());
            conversations.spawn(async move {
                let Some(begun) = begin(stream, tls, &place, &stop).await else {
                    return;
                };
                // A connection that breaks is its client's affair.
                drop(match begun {
                    Begun::Plain(stream) => converse(stream, false, router, stop, place).await,
                    Begun::Encrypted(stream) => {
                        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                        converse(*stream, is_http2, router, stop, place).await
                    }
                });
            });
        }
        drop(self.socket);
        conversations.close();
        conversations.wait().await;
    }

    /// The next connection that gets a place.
    async fn accept(&self, places: &Arc<Places>) -> Option<(TcpStream, Arc<Place>)> {
        match self.socket.accept().await {
            Ok((stream, address)) => {
                // Without it small answers may wait for 40 ms; if it fails they do.
                let _ = stream.set_nodelay(true);
                Some((stream, places.take(address.ip())?))
            }
            Err(error) => {
                tracing::warn!(%error, "no connection could be taken");
                sleep(Duration::from_millis(100)).await;
                None
            }
        }
    }
}

/// A connection on which something came.
enum Begun {
    Plain(TcpStream),
    Encrypted(Box<TlsStream<TcpStream>>),
}

/// Waits for the first byte, and for the handshake if there is one; `None` where they do not come
/// in time, or the place is needed before.
async fn begin(
    stream: TcpStream,
    tls: Option<TlsAcceptorOf>,
    place: &Place,
    stop: &CancellationToken,
) -> Option<Begun> {
    let begun = async {
        timeout(FIRST_TIME, stream.peek(&mut [0]))
            .await
            .ok()?
            .ok()?;
        let Some(TlsAcceptorOf(tls)) = tls else {
            return Some(Begun::Plain(stream));
        };
        let encrypted = timeout(HEAD_TIME, tls.accept(stream)).await.ok()?.ok()?;
        Some(Begun::Encrypted(Box::new(encrypted)))
    };
    tokio::select! {
        // What has come is answered, even where the node is ending.
        biased;
        begun = begun => begun,
        () = place.needed() => None,
        () = stop.cancelled() => None,
    }
}

/// The version is known beforehand: a server that waits to see which one comes would wait for ever.
async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    is_http2: bool,
    router: Router,
    stop: CancellationToken,
    place: Arc<Place>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let seen = Arc::clone(&place);
    let service = tower::service_fn(move |request: Request<hyper::body::Incoming>| {
        let (router, place) = (router.clone(), Arc::clone(&seen));
        async move {
            let _under_way = place.begin();
            let answered = tower::ServiceExt::oneshot(router, request.map(Body::new)).await;
            let answer = answered.unwrap_or_else(|never| match never {});
            Ok::<_, Infallible>(answer.map(|body| place.send(body)))
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
        () = place.idle(IDLE_TIME) => {}
        () = place.needed() => if place.is_idle() {
            return Ok(());
        },
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::Instant;

    fn node() -> Router {
        Router::new().route("/", axum::routing::get(|| async { "x".repeat(1 << 20) }))
    }

    /// A client that sends what it has to, reads `most` bytes, and then no more.
    async fn ended_after(is_http2: bool, sent: &[u8], most: usize) -> Duration {
        let (mut client, server) = tokio::io::duplex(1 << 10);
        let started = Instant::now();
        let conversation = tokio::spawn(async move {
            let place = Places::new(1).take([127, 0, 0, 1].into()).unwrap();
            let stop = CancellationToken::new();
            drop(converse(server, is_http2, node(), stop, place).await);
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

    /// A node with so many places for connections, and its address.
    async fn listening(places: usize) -> (SocketAddr, CancellationToken) {
        let options = ListenOptions {
            address: ([127, 0, 0, 1], 0).into(),
            tls: None,
        };
        let listener = Listener::bind(&options).await.unwrap();
        let (address, stop) = (listener.address, CancellationToken::new());
        tokio::spawn(listener.serve_at(Places::new(places), node(), stop.clone()));
        (address, stop)
    }

    async fn connected(from: [u8; 4], to: SocketAddr) -> TcpStream {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind((from, 0).into()).unwrap();
        socket.connect(to).await.unwrap()
    }

    /// Whether a request is answered.
    async fn is_answered(stream: &mut TcpStream) -> bool {
        let asked = stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
        let mut status = [0; 15];
        asked.is_ok()
            && stream.read_exact(&mut status).await.is_ok()
            && &status == b"HTTP/1.1 200 OK"
    }

    #[tokio::test]
    async fn one_client_does_not_take_the_places_of_all() {
        let (address, stop) = listening(8).await;
        let mut kept = connected([127, 0, 0, 3], address).await;
        assert!(is_answered(&mut kept).await);
        let mut half_open = Vec::new();
        for _ in 0..50 {
            let mut stream = connected([127, 0, 0, 2], address).await;
            stream.write_all(b"GET / HT").await.unwrap();
            half_open.push(stream);
        }
        let mut new = connected([127, 0, 0, 4], address).await;
        assert!(is_answered(&mut new).await);
        // The first of them were let go for the last.
        let mut rest = Vec::new();
        let read = half_open[0].read_to_end(&mut rest).await;
        assert!(read.is_err() || rest.is_empty());
        stop.cancel();
    }

    #[tokio::test(start_paused = true)]
    async fn who_sends_nothing_at_first_is_let_go_soon() {
        let (address, stop) = listening(8).await;
        let started = Instant::now();
        let mut silent = connected([127, 0, 0, 1], address).await;
        assert_eq!(silent.read(&mut [0]).await.unwrap(), 0);
        assert!(started.elapsed() < FIRST_TIME + Duration::from_secs(1));
        stop.cancel();
    }
}
