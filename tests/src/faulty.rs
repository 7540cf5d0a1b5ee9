//! An S3 server that has bad days: a proxy before a real one that refuses, breaks off, delays and
//! slows down a share of the requests, as a seed has it. It can be far away, or careless: then it
//! keeps the condition of a creation as some servers do, which look first and write then.
//!
//! A request is passed on as it came, its `Host` with it, which its signature covers. Each has a
//! connection of its own.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use crate::random;

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The server is not asked, and the answer is an error.
    Refused,
    /// The request has taken effect, and the answer is an error.
    RefusedAfter,
    /// The server is not asked, and the connection is closed.
    Closed,
    /// The request has taken effect, and the connection is closed.
    ClosedAfter,
    /// Half of the answer comes.
    Cut,
    /// The request has taken effect, and the answer comes when nobody waits any more.
    Late,
    /// The answer comes in pieces that take longer together than the client waits for any of them.
    Slow,
}

const FAULTS: [Fault; 7] = [
    Fault::Refused,
    Fault::RefusedAfter,
    Fault::Closed,
    Fault::ClosedAfter,
    Fault::Cut,
    Fault::Late,
    Fault::Slow,
];

/// What the client's patience is to be.
pub const PATIENCE: Duration = Duration::from_secs(1);

struct Shared {
    server: String,
    seed: u64,
    /// Faults in a thousand requests.
    rate: AtomicU64,
    /// Milliseconds that every answer takes.
    latency: AtomicU64,
    /// Whether two creators of one object may both get the answer that they made it.
    careless: AtomicBool,
    /// When a careless server had created an object, by request line.
    created: Mutex<HashMap<Vec<u8>, Instant>>,
    requests: AtomicU64,
    /// Bytes of answers.
    bytes: AtomicU64,
    /// Faults of requests to come whose first line has these texts.
    planned: Mutex<Vec<(&'static str, &'static str, Fault)>>,
    /// A method and a text of targets of which every request is refused.
    refused: Mutex<Option<(&'static str, String)>>,
    done: Mutex<BTreeMap<Fault, u64>>,
}

/// The proxy; it ends when dropped.
pub struct FaultyServer {
    /// Its address, `http://127.0.0.1:port`.
    pub endpoint: String,
    shared: Arc<Shared>,
    _runtime: tokio::runtime::Runtime,
}

impl FaultyServer {
    /// A proxy before the server at `http://…`, without faults yet.
    pub fn before(server: &str, seed: u64) -> FaultyServer {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"));
        let listener = listener.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            server: server.trim_start_matches("http://").to_owned(),
            seed,
            rate: AtomicU64::new(0),
            latency: AtomicU64::new(0),
            careless: AtomicBool::new(false),
            created: Mutex::default(),
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            planned: Mutex::default(),
            refused: Mutex::default(),
            done: Mutex::default(),
        });
        runtime.spawn({
            let shared = Arc::clone(&shared);
            async move {
                while let Ok((client, _)) = listener.accept().await {
                    let shared = Arc::clone(&shared);
                    // A client that has left has no use for an answer.
                    tokio::spawn(async move { serve(&shared, client).await.ok() });
                }
            }
        });
        FaultyServer {
            endpoint: format!("http://{address}"),
            shared,
            _runtime: runtime,
        }
    }

    /// From now on, so many of a thousand requests fail.
    pub fn set_rate(&self, rate: u64) {
        self.shared.rate.store(rate, Ordering::Relaxed);
    }

    /// From now on, every answer takes so long.
    pub fn set_latency(&self, latency: Duration) {
        let latency = latency.as_millis() as u64;
        self.shared.latency.store(latency, Ordering::Relaxed);
    }

    /// From now on, creators of one object that come at the same time all get the answer that they
    /// made it.
    pub fn be_careless(&self) {
        self.shared.careless.store(true, Ordering::Relaxed);
    }

    /// The next request of this method whose target has this text fails so.
    pub fn plan(&self, method: &'static str, target: &'static str, fault: Fault) {
        let mut planned = self.shared.planned.lock().expect("no panic");
        planned.push((method, target, fault));
    }

    /// From now on, every request of this method whose target has this text is refused.
    pub fn refuse(&self, method: &'static str, target: &str) {
        let mut refused = self.shared.refused.lock().expect("no panic");
        *refused = Some((method, target.to_owned()));
    }

    /// Requests so far, and those that failed, by fault.
    pub fn counts(&self) -> (u64, BTreeMap<String, u64>) {
        let done = self.shared.done.lock().expect("no panic");
        let done = done
            .iter()
            .map(|(fault, count)| (format!("{fault:?}"), *count));
        (self.shared.requests.load(Ordering::Relaxed), done.collect())
    }

    /// Bytes of the server's answers so far.
    pub fn bytes(&self) -> u64 {
        self.shared.bytes.load(Ordering::Relaxed)
    }

    /// The environment that makes limn come here, on top of that of the server.
    pub fn environment(&self) -> [(&'static str, String); 2] {
        [
            ("AWS_ENDPOINT_URL", self.endpoint.clone()),
            ("LIMN_STALL_TIMEOUT", format!("{}ms", PATIENCE.as_millis())),
        ]
    }
}

impl Shared {
    /// Whether a server that looks first and writes then would have taken this creation, which was
    /// refused.
    fn overwrites(&self, line: &[u8], answer: &[u8], looked: Instant) -> bool {
        let mut created = self.created.lock().expect("no panic");
        if answer.starts_with(b"HTTP/1.1 412") {
            return created.get(line).is_none_or(|created| looked < *created);
        }
        if line.starts_with(b"PUT") {
            created.entry(line.to_vec()).or_insert_with(Instant::now);
        }
        false
    }

    fn fault(&self, first_line: &str) -> (Option<Fault>, u64) {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let drawn = random(self.seed ^ number.wrapping_mul(0x9e37));
        let is = |method: &str, target: &str| {
            first_line.starts_with(method) && first_line.contains(target)
        };
        let refused = self.refused.lock().expect("no panic");
        let is_refused = refused.as_ref();
        let is_refused = is_refused.is_some_and(|(method, target)| is(method, target));
        let mut planned = self.planned.lock().expect("no panic");
        let at = planned
            .iter()
            .position(|(method, target, _)| is(method, target));
        let fault = match at {
            Some(at) => Some(planned.remove(at).2),
            None if is_refused => Some(Fault::Refused),
            None if drawn % 1000 < self.rate.load(Ordering::Relaxed) => {
                Some(FAULTS[(drawn / 1000) as usize % FAULTS.len()])
            }
            None => None,
        };
        if let Some(fault) = fault {
            *self
                .done
                .lock()
                .expect("no panic")
                .entry(fault)
                .or_default() += 1;
        }
        (fault, drawn)
    }
}

async fn serve(shared: &Shared, mut client: TcpStream) -> io::Result<()> {
    let request = read_request(&mut client).await?;
    let Some(request) = request else {
        return Ok(());
    };
    let line = request
        .split(|byte| *byte == b'\r')
        .next()
        .unwrap_or_default();
    let (fault, drawn) = shared.fault(&String::from_utf8_lossy(line));
    let refusal: &[u8] = if drawn & (1 << 40) == 0 {
        b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 43\r\n\r\n<Error><Code>SlowDown</Code></Error>       "
    } else {
        b"HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\nContent-Length: 43\r\n\r\n<Error><Code>InternalError</Code></Error>  "
    };
    match fault {
        Some(Fault::Refused) => return client.write_all(refusal).await,
        Some(Fault::Closed) => return Ok(()),
        _ => {}
    }
    sleep(Duration::from_millis(
        shared.latency.load(Ordering::Relaxed),
    ))
    .await;
    let looked = Instant::now();
    let mut server = TcpStream::connect(&shared.server).await?;
    server.write_all(&request).await?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer).await?;
    shared
        .bytes
        .fetch_add(answer.len() as u64, Ordering::Relaxed);
    if shared.careless.load(Ordering::Relaxed) && shared.overwrites(line, &answer, looked) {
        answer = b"HTTP/1.1 200 OK\r\nETag: \"overwritten\"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_vec();
    }
    let body = head_end(&answer).unwrap_or(answer.len());
    match fault {
        Some(Fault::RefusedAfter) => client.write_all(refusal).await,
        Some(Fault::ClosedAfter) => Ok(()),
        Some(Fault::Cut) => {
            let half = body + (answer.len() - body) / 2;
            // An answer without a body breaks off in its head.
            let half = if half == answer.len() { half / 2 } else { half };
            client.write_all(&answer[..half]).await
        }
        Some(Fault::Late) => {
            sleep(PATIENCE * 2).await;
            client.write_all(&answer).await
        }
        Some(Fault::Slow) => {
            client.write_all(&answer[..body]).await?;
            let piece = ((answer.len() - body) / 3).max(1);
            for piece in answer[body..].chunks(piece) {
                sleep(PATIENCE / 2).await;
                client.write_all(piece).await?;
            }
            Ok(())
        }
        _ => client.write_all(&answer).await,
    }
}

/// A request, head and body, that asks the server to close the connection; none if the client
/// has left.
async fn read_request(client: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
    let mut read = Vec::new();
    let body = loop {
        match head_end(&read) {
            Some(end) => break end,
            None if client.read_buf(&mut read).await? == 0 => return Ok(None),
            None => {}
        }
    };
    let head = String::from_utf8_lossy(&read[..body]).into_owned();
    let mut length = 0;
    let mut request = String::new();
    for line in head.trim_end().split("\r\n") {
        let name = line.split(':').next().unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "connection" => continue,
            "content-length" => {
                let value = line[name.len() + 1..].trim();
                length = value.parse().map_err(io::Error::other)?;
            }
            "transfer-encoding" => return Err(io::Error::other("limn sends lengths")),
            _ => {}
        }
        request.push_str(line);
        request.push_str("\r\n");
    }
    request.push_str("Connection: close\r\n\r\n");
    while read.len() < body + length {
        if client.read_buf(&mut read).await? == 0 {
            return Ok(None);
        }
    }
    let mut request = request.into_bytes();
    request.extend(&read[body..body + length]);
    Ok(Some(request))
}

fn head_end(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some(end + 4)
}
