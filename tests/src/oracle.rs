//! A language model whose every answer a test decides, behind an OpenAI-compatible endpoint on
//! loopback.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// What an oracle was asked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asked {
    /// The instructions.
    pub system: String,
    /// The request.
    pub user: String,
}

/// An oracle; it ends with the test process.
pub struct Oracle {
    /// Its address, for `--endpoint`.
    pub endpoint: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Oracle {
    /// Answers each prompt by this; `None` is a failure of the server.
    pub fn start(answer: impl Fn(&Asked) -> Option<String> + Send + Sync + 'static) -> Oracle {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let oracle = Oracle {
            endpoint: format!("http://{}/v1", listener.local_addr().unwrap()),
            asked: Arc::default(),
        };
        let (answer, seen) = (Arc::new(answer), Arc::clone(&oracle.asked));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (answer, seen) = (Arc::clone(&answer), Arc::clone(&seen));
                std::thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    let Some(asked) = read(&mut stream) else {
                        return;
                    };
                    seen.lock().unwrap().push(asked.clone());
                    write(&mut stream, answer(&asked));
                });
            }
        });
        oracle
    }

    /// All that it was asked so far, each once: whether an endpoint gives probabilities is found
    /// out by asking twice.
    pub fn asked(&self) -> Vec<Asked> {
        let mut asked = self.asked.lock().unwrap().clone();
        asked.sort();
        asked.dedup();
        asked
    }

    /// The options that name it.
    pub fn options(&self) -> [&str; 6] {
        [
            "--endpoint",
            &self.endpoint,
            "--endpoint-model",
            "oracle",
            "--endpoint-attempts",
            "1",
        ]
    }
}

fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head
        .lines()
        .find_map(|it| it.strip_prefix("content-length: "))?;
    let mut body = vec![0; length.trim().parse().unwrap()];
    stream.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).unwrap();
    let messages = body["messages"].as_array().unwrap();
    let of = |role: &str| {
        let said = messages.iter().filter(|it| it["role"] == role);
        let said = said.map(|it| it["content"].as_str().unwrap());
        said.collect::<Vec<_>>().join("\n")
    };
    Some(Asked {
        system: of("system"),
        user: of("user"),
    })
}

fn write(stream: &mut TcpStream, text: Option<String>) {
    let (status, body) = match text {
        Some(text) => {
            let choice = json!({"message": {"content": text}, "finish_reason": "stop"});
            let usage = json!({"prompt_tokens": 11, "completion_tokens": 3});
            ("200 OK", json!({"choices": [choice], "usage": usage}))
        }
        None => ("500 Internal Server Error", json!({"error": "dead"})),
    };
    let body = body.to_string();
    let length = body.len();
    // The client may have left.
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
}
