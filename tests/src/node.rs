//! A running `limn serve`, and requests to it.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::{Client, Method, StatusCode};
use serde_json::Value;

use crate::limn_command;

/// A node; killed when dropped.
pub struct Node {
    /// Where it serves, `http://127.0.0.1:port`.
    pub url: String,
    process: Child,
    said: Arc<Mutex<Vec<String>>>,
    client: Client,
    runtime: tokio::runtime::Runtime,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: reqwest::header::HeaderMap,
    /// Its body.
    pub body: String,
}

impl Reply {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The body as JSON of an answer that must be one.
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK.as_u16(), "{self:?}");
        self.json()
    }

    /// That it is an error of this status that says what to do, and carries the request's id.
    pub fn is_error(&self, status: u16, code: &str) {
        assert_eq!(self.status, status, "{self:?}");
        let got = self.json();
        assert_eq!(got["error"]["code"], code, "{self:?}");
        for field in ["message", "remedy"] {
            let text = got["error"][field].as_str().expect(field);
            assert!(!text.is_empty(), "{self:?}");
        }
        assert_eq!(
            got["request_id"],
            self.headers["x-request-id"].to_str().expect("ASCII")
        );
    }
}

impl Node {
    /// Starts a node over an index and waits until it serves.
    pub fn start(index: &str, more: &[&str]) -> Node {
        Self::start_in(index, more, &[])
    }

    /// As [`start`](Self::start), with an environment.
    pub fn start_in(index: &str, more: &[&str], environment: &[(String, String)]) -> Node {
        let mut arguments = vec!["serve", "--index", index, "--listen", "127.0.0.1:0"];
        arguments.extend(more);
        let mut process = limn_command(&arguments)
            .envs(environment.iter().cloned())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("limn starts");
        let mut lines = BufReader::new(process.stderr.take().expect("piped")).lines();
        let said = Arc::new(Mutex::new(Vec::new()));
        let hear = {
            let said = Arc::clone(&said);
            move |line| said.lock().expect("no panic").push(line)
        };
        let url = loop {
            let Some(Ok(line)) = lines.next() else {
                panic!("the node ended: {said:#?}");
            };
            let url = line.split_once(" at http");
            let url = url.map(|(_, rest)| format!("http{rest}"));
            hear(line);
            if let Some(url) = url {
                break url;
            }
        };
        // What else it says must not block it.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(hear));
        Node {
            url,
            process,
            said,
            client: Client::builder()
                .timeout(Duration::from_secs(120))
                // Shorter than what the node leaves an idle connection: it may close one at any
                // time after that.
                .pool_idle_timeout(Duration::from_secs(5))
                .build()
                .expect("a client"),
            runtime: tokio::runtime::Runtime::new().expect("a runtime"),
        }
    }

    /// What it has said so far on standard error.
    pub fn said(&self) -> String {
        self.said.lock().expect("no panic").join("\n")
    }

    /// The node's process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends a request: a method, a path, headers, and a body of JSON if there is one.
    pub fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> Reply {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let mut request = self.client.request(method, format!("{}{path}", self.url));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json");
            request = request.body(body.to_owned());
        }
        self.runtime.block_on(async {
            let answer = request.send().await.expect("an answer");
            Reply {
                status: answer.status().as_u16(),
                headers: answer.headers().clone(),
                body: answer.text().await.expect("a body"),
            }
        })
    }

    /// Gets a path.
    pub fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], None)
    }

    /// Gets a path with a key.
    pub fn get_with(&self, key: &str, path: &str) -> Reply {
        let shown = format!("Bearer {key}");
        self.send("GET", path, &[("authorization", &shown)], None)
    }

    /// Posts JSON.
    pub fn post(&self, path: &str, body: &Value) -> Reply {
        self.send("POST", path, &[], Some(&body.to_string()))
    }

    /// Asks a statement of SQL with a key.
    pub fn ask_sql(&self, key: &str, statement: &str) -> Reply {
        let shown = format!("Bearer {key}");
        let body = serde_json::json!({ "sql": statement }).to_string();
        let headers = [("authorization", shown.as_str())];
        self.send("POST", "/v1/sql", &headers, Some(&body))
    }

    /// Asks the node to end, and waits for it; its exit code.
    pub fn end(mut self) -> Option<i32> {
        let asked = Command::new("kill")
            .args(["-TERM", &self.process.id().to_string()])
            .status();
        assert!(asked.expect("kill runs").success());
        self.process.wait().expect("it ends").code()
    }

    /// Bytes of memory that the process holds.
    #[cfg(target_os = "linux")]
    pub fn memory(&self) -> u64 {
        let mut status = String::new();
        let file = std::fs::File::open(format!("/proc/{}/status", self.process.id()));
        let read = file.and_then(|mut file| file.read_to_string(&mut status));
        read.expect("a process has a status");
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kib: u64 = line
            .and_then(|line| line.split_whitespace().nth(1))
            .and_then(|number| number.parse().ok())
            .expect("VmRSS");
        kib * 1024
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A text as a part of an address.
pub fn escaped(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}
