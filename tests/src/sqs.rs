//! A real server of SQS on loopback, from `tests/requirements.txt`: moto's, which checks signatures
//! as AWS does once it is configured to.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::repository;

/// A running server; it ends when dropped.
pub struct SqsServer {
    process: Child,
    http: reqwest::Client,
    /// Its address, `http://127.0.0.1:port`.
    pub endpoint: String,
    /// A user of it: an access key and its secret.
    pub user: (String, String),
}

impl SqsServer {
    /// Starts a server with one user who may do anything, and that refuses whoever signs as
    /// another.
    pub async fn start() -> Self {
        let tools = PathBuf::from(std::env::var("HOME").unwrap_or_default());
        let tools = tools.join(".cache/limn/python");
        assert!(
            tools.join("moto").is_dir(),
            "the SQS server for tests is missing; run infra/python-tools (infra/test does)"
        );
        let mut process = Command::new("python3")
            .arg(repository().join("tests/sqs_server.py"))
            .env("PYTHONPATH", &tools)
            // It ends with the test, however that ends.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the SQS server starts");
        let mut address = String::new();
        let stdout = process.stdout.take().expect("it was asked for");
        let read = BufReader::new(stdout).read_line(&mut address);
        let address = address.trim();
        assert!(
            read.is_ok() && address.starts_with("http://127.0.0.1:"),
            "the SQS server gave no address; run it by hand: python3 tests/sqs_server.py"
        );
        let mut server = Self {
            process,
            http: reqwest::Client::new(),
            endpoint: address.to_owned(),
            user: Default::default(),
        };
        server.user = server.create_user().await;
        server
    }

    /// From now on, requests that are not signed rightly are refused.
    pub async fn check_signatures(&self) {
        self.set_unchecked(0).await;
    }

    /// The environment that limn needs to use it.
    pub fn environment(&self) -> Vec<(String, String)> {
        let (key, secret) = &self.user;
        [
            ("AWS_ACCESS_KEY_ID", key.as_str()),
            ("AWS_SECRET_ACCESS_KEY", secret),
            ("AWS_REGION", "eu-central-1"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
    }

    /// Creates a queue, and gives its URL.
    pub async fn create(&self, name: &str) -> String {
        let created = self.ask("CreateQueue", json!({"QueueName": name})).await;
        created["QueueUrl"]
            .as_str()
            .expect("a queue's URL")
            .to_owned()
    }

    /// Sends messages.
    pub async fn send(&self, queue: &str, bodies: &[String]) {
        for batch in bodies.chunks(10) {
            let entries: Vec<Value> = batch
                .iter()
                .enumerate()
                .map(|(n, body)| json!({"Id": n.to_string(), "MessageBody": body}))
                .collect();
            let request = json!({"QueueUrl": queue, "Entries": entries});
            let sent = self.ask("SendMessageBatch", request).await;
            assert_eq!(
                sent["Successful"].as_array().map(Vec::len),
                Some(batch.len())
            );
        }
    }

    /// How many messages a queue has: those that are visible, and those that somebody has received.
    pub async fn count(&self, queue: &str) -> (u64, u64) {
        let names = [
            "ApproximateNumberOfMessages",
            "ApproximateNumberOfMessagesNotVisible",
        ];
        let request = json!({"QueueUrl": queue, "AttributeNames": names});
        let answer = self.ask("GetQueueAttributes", request).await;
        let count = |name: &str| {
            let count = answer["Attributes"][name].as_str();
            count.and_then(|count| count.parse().ok()).expect("a count")
        };
        (count(names[0]), count(names[1]))
    }

    /// Takes the bodies of a queue's visible messages, ten at most.
    pub async fn bodies(&self, queue: &str) -> Vec<String> {
        let request = json!({"QueueUrl": queue, "MaxNumberOfMessages": 10});
        let answer = self.ask("ReceiveMessage", request).await;
        let messages = answer["Messages"].as_array().cloned().unwrap_or_default();
        let body = |message: &Value| message["Body"].as_str().expect("a body").to_owned();
        messages.iter().map(body).collect()
    }

    /// Asks as nobody: only while signatures are not checked.
    async fn ask(&self, action: &str, body: Value) -> Value {
        let request = self
            .http
            .post(&self.endpoint)
            .header("X-Amz-Target", format!("AmazonSQS.{action}"))
            .header("Content-Type", "application/x-amz-json-1.0")
            .header("Authorization", unsigned("sqs"))
            .body(body.to_string());
        let answer = request.send().await.expect("the SQS server answers");
        assert!(answer.status().is_success(), "{action}: {answer:?}");
        let text = answer.text().await.expect("an answer");
        serde_json::from_str(&text).unwrap_or_default()
    }

    async fn create_user(&self) -> (String, String) {
        self.iam("Action=CreateUser&UserName=limn").await;
        let policy = "%7B%22Version%22%3A%222012-10-17%22%2C%22Statement%22%3A%5B%7B%22Effect%22%3A%22Allow%22\
                      %2C%22Action%22%3A%22*%22%2C%22Resource%22%3A%22*%22%7D%5D%7D";
        let put =
            format!("Action=PutUserPolicy&UserName=limn&PolicyName=all&PolicyDocument={policy}");
        self.iam(&put).await;
        let keys = self.iam("Action=CreateAccessKey&UserName=limn").await;
        let field = |name: &str| {
            let (_, rest) = keys.split_once(&format!("<{name}>")).expect("a key");
            let (value, _) = rest.split_once('<').expect("its end");
            value.to_owned()
        };
        (field("AccessKeyId"), field("SecretAccessKey"))
    }

    async fn iam(&self, form: &str) -> String {
        let request = self
            .http
            .post(&self.endpoint)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .header("Authorization", unsigned("iam"))
            .body(format!("{form}&Version=2010-05-08"));
        let answer = request.send().await.expect("the server answers");
        assert!(answer.status().is_success(), "{form}: {answer:?}");
        answer.text().await.expect("an answer")
    }

    async fn set_unchecked(&self, requests: u64) {
        let url = format!("{}/moto-api/reset-auth", self.endpoint);
        let request = self.http.post(url).header("Content-Type", "text/plain");
        let answer = request.body(requests.to_string()).send().await;
        assert!(answer.expect("the server answers").status().is_success());
    }
}

/// What says to the server which of its services is meant.
fn unsigned(service: &str) -> String {
    format!(
        "AWS4-HMAC-SHA256 Credential=nobody/20260101/eu-central-1/{service}/aws4_request, \
         SignedHeaders=host, Signature=none"
    )
}

impl Drop for SqsServer {
    fn drop(&mut self) {
        // A process that has ended is as good as killed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
