//! Nodes that are busy, clients that are slow.

use super::*;

/// Requests under way are bounded for all and for each caller, and too many are refused.
#[test]
fn a_busy_node_says_so_and_is_well_afterwards() {
    let ground = Ground::new();
    let keys = ground.at("keys");
    let key = || {
        let made = limn(&["keys", "add", "--keys", &keys, "--json"]).ok();
        made["key"].as_str().unwrap().to_owned()
    };
    let [first, second, third] = [key(), key(), key()];
    let node = Node::start(
        &ground.at("index"),
        &["--keys", &keys, "--concurrency", "2"],
    );
    let address = node.url.trim_start_matches("http://").to_owned();
    // A request whose body does not come has its place meanwhile.
    let hold = |key: &str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        let head = format!(
            "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    let until = |key: &str, status: u16| {
        let asked = Instant::now();
        loop {
            let reply = node.get_with(key, "/v1/status");
            if reply.status == status {
                return reply;
            }
            assert!(asked.elapsed() < Duration::from_secs(20), "{reply:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    // It may come while the request that looks for it is being answered, and be refused itself:
    // then another one holds.
    let held_by = |key: &str| {
        for _ in 0..50 {
            let stream = hold(key);
            std::thread::sleep(Duration::from_millis(200));
            let reply = node.get_with(key, "/v1/status");
            if reply.status == 429 {
                return (stream, reply);
            }
        }
        panic!("no request is held");
    };
    let (one, refused) = held_by(&first);
    refused.is_error(429, "too_many_requests");
    assert!(refused.headers.contains_key("retry-after"));
    node.get_with(&second, "/v1/status").ok();
    let (other, _) = held_by(&second);
    let refused = until(&third, 503);
    refused.is_error(503, "busy");
    assert!(refused.headers.contains_key("retry-after"));
    assert_eq!(node.get("/health/live").status, 204);
    drop((one, other));
    for key in [&first, &second, &third] {
        until(key, 200);
    }
    assert_eq!(node.end(), Some(0));
}

/// Clients that send their request byte by byte, or never, hold nobody up, and are left in time.
#[test]
fn a_slow_client_holds_nobody_up() {
    let ground = Ground::new();
    let node = Node::start(&ground.at("index"), &[]);
    let address = node.url.trim_start_matches("http://").to_owned();
    let mut slow: Vec<TcpStream> = (0..200)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).unwrap();
            stream
                .write_all(b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\nX-A: ")
                .unwrap();
            stream
        })
        .collect();
    // These send nothing at all, or the first letter.
    for first in [&b""[..], b"P"] {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.write_all(first).unwrap();
        slow.push(stream);
    }
    let mut body = TcpStream::connect(&address).unwrap();
    let head = "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
    body.write_all(head.as_bytes()).unwrap();
    let started = Instant::now();
    for question in QUESTIONS {
        node.get(&search(question)).ok();
    }
    assert!(started.elapsed() < Duration::from_secs(5));
    let mut answer = String::new();
    body.set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let mut buffer = [0; 4096];
    let read = body.read(&mut buffer).unwrap();
    answer.push_str(&String::from_utf8_lossy(&buffer[..read]));
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    for stream in &mut slow {
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let mut rest = Vec::new();
        // The end of the connection, in whatever manner.
        let _ = stream.read_to_end(&mut rest);
    }
    assert!(
        started.elapsed() < Duration::from_secs(40),
        "{:?}",
        started.elapsed()
    );
    node.get("/health/ready");
    let zipped = node.send("GET", "/openapi.json", &[("accept-encoding", "gzip")], None);
    assert_eq!(zipped.headers["content-encoding"], "gzip");
    let head = node.send("HEAD", "/v1/status", &[], None);
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_ne!(head.headers["content-length"], "0");
    assert_eq!(node.end(), Some(0));
}
