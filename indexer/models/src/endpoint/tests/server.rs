//! A small HTTP server on loopback whose every answer a test decides.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// What arrived.
#[derive(Clone, Debug)]
pub struct Request {
    /// Path and query.
    pub path: String,
    /// The head, in lower case but for the values.
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find_map(|(it, value)| (it == name).then_some(value.as_str()))
    }

    /// The user's message.
    pub fn user(&self) -> &str {
        let messages = self.body["messages"].as_array().unwrap();
        messages.last().unwrap()["content"].as_str().unwrap()
    }
}

/// What is answered.
pub enum Reply {
    /// A status, more headers, a body.
    Http(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// These bytes and no more.
    Raw(Vec<u8>),
    /// A good head, and then bytes without end.
    Endless,
    /// Nothing, for this long.
    Silence(Duration),
}

impl Reply {
    pub fn json(status: u16, body: &Value) -> Self {
        Self::Http(status, Vec::new(), body.to_string().into_bytes())
    }

    /// A chat completion that says this.
    pub fn says(text: &str) -> Self {
        Self::json(
            200,
            &json!({
                "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 11, "completion_tokens": 3},
            }),
        )
    }
}

/// A running server; it ends with the test process.
pub struct Server {
    pub url: String,
    seen: Arc<Mutex<Vec<Request>>>,
    most: Arc<AtomicUsize>,
}

impl Server {
    /// Answers every request by `answer`, which is given its number as well, from 0.
    pub fn start(answer: impl Fn(&Request, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            seen: Arc::default(),
            most: Arc::default(),
        };
        let answer = Arc::new(answer);
        let active = Arc::new(AtomicUsize::new(0));
        let (seen, most) = (Arc::clone(&server.seen), Arc::clone(&server.most));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (answer, active) = (Arc::clone(&answer), Arc::clone(&active));
                let (seen, most) = (Arc::clone(&seen), Arc::clone(&most));
                std::thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    let Some(request) = read(&mut stream) else {
                        return;
                    };
                    most.fetch_max(active.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    let number = {
                        let mut seen = seen.lock().unwrap();
                        seen.push(request.clone());
                        seen.len() - 1
                    };
                    let reply = answer(&request, number);
                    // Before the reply: the next request may come as soon as it has arrived.
                    active.fetch_sub(1, Ordering::SeqCst);
                    write(&mut stream, reply);
                });
            }
        });
        server
    }

    /// Everything that has arrived.
    pub fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }

    /// The most requests that were here at once.
    pub fn most_at_once(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.lines();
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length")?;
    let mut body = vec![0; length.1.parse().unwrap()];
    stream.read_exact(&mut body).ok()?;
    Some(Request {
        path,
        headers,
        body: serde_json::from_slice(&body).unwrap(),
    })
}

fn write(stream: &mut TcpStream, reply: Reply) {
    // A client that went away is what some tests are about.
    let _ = match reply {
        Reply::Http(status, headers, body) => {
            let mut head = format!(
                "HTTP/1.1 {status} Some Reason\r\ncontent-length: {}\r\nconnection: close\r\n",
                body.len()
            );
            for (name, value) in headers {
                head += &format!("{name}: {value}\r\n");
            }
            stream
                .write_all(format!("{head}\r\n").as_bytes())
                .and_then(|()| stream.write_all(&body))
        }
        Reply::Raw(bytes) => stream.write_all(&bytes),
        Reply::Endless => {
            let mut sent = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
            while sent.is_ok() {
                sent = stream.write_all(&[b' '; 1 << 16]);
            }
            sent
        }
        Reply::Silence(time) => {
            std::thread::sleep(time);
            Ok(())
        }
    };
}
