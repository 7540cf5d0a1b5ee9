//! Traces of requests reach a collector, and hold no word of what was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use limn_tests::node::Node;
use limn_tests::{text, varied_index};

/// A collector: its address, and the paths and bodies of what it is sent.
fn collector() -> (String, Receiver<(String, Vec<u8>)>) {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", socket.local_addr().unwrap());
    let (sender, heard) = channel();
    std::thread::spawn(move || {
        for stream in socket.incoming() {
            let (mut stream, sender) = (stream.unwrap(), sender.clone());
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                loop {
                    let (mut head, mut length) = (Vec::new(), 0);
                    loop {
                        let mut line = String::new();
                        if reader.read_line(&mut line).unwrap_or(0) == 0 {
                            return;
                        }
                        let line = line.trim_end().to_lowercase();
                        if let Some(got) = line.strip_prefix("content-length: ") {
                            length = got.parse().unwrap();
                        }
                        if line.is_empty() {
                            break;
                        }
                        head.push(line);
                    }
                    let mut body = vec![0; length];
                    reader.read_exact(&mut body).unwrap();
                    stream
                        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                        .unwrap();
                    if sender.send((head.remove(0), body)).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (address, heard)
}

fn holds(body: &[u8], part: &[u8]) -> bool {
    body.windows(part.len()).any(|window| window == part)
}

#[test]
fn a_request_is_sent_to_the_collector_in_the_trace_that_it_came_with() {
    let folder = varied_index();
    let at = |name: &str| text(&folder.path().join(name)).to_owned();
    let (address, heard) = collector();
    let environment = [("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), address)];
    let node = Node::start_in(&at("index"), &[], &environment);
    let parent = [(
        "traceparent",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    )];
    let path = "/v1/search?q=sick+leave+of+employees";
    assert_eq!(node.send("GET", path, &parent, None).status, 200);
    // What is not sent yet is sent at the end.
    assert_eq!(node.end(), Some(0));
    let (path, body) = heard.recv_timeout(Duration::from_secs(10)).unwrap();
    assert!(path.starts_with("post /v1/traces "), "{path}");
    for got in [
        &b"GET /v1/search"[..],
        b"lexical",
        b"semantic",
        b"evidence",
        b"embed",
        b"limn",
        b"\x4b\xf9\x2f\x35\x77\xb3\x4d\xa6\xa3\xce\x92\x9d\x0e\x0e\x47\x36",
        b"\x00\xf0\x67\xaa\x0b\xa9\x02\xb7",
    ] {
        assert!(holds(&body, got), "{}", got.escape_ascii());
    }
    for kept in [&b"sick"[..], b"employees"] {
        assert!(!holds(&body, kept), "{}", kept.escape_ascii());
    }
}

#[test]
fn a_node_serves_whether_or_not_a_collector_listens() {
    let folder = varied_index();
    let at = |name: &str| text(&folder.path().join(name)).to_owned();
    // Nobody listens there.
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", socket.local_addr().unwrap());
    drop(socket);
    let environment = [("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), address)];
    let node = Node::start_in(&at("index"), &[], &environment);
    node.get("/v1/search?q=sick+leave").ok();
    assert_eq!(node.end(), Some(0));
}
