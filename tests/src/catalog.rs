//! Iceberg REST catalogs on loopback, whose tables pyiceberg's own REST client makes: SeaweedFS's,
//! and one that can be made to fail (`tests/catalog_server.py`).

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::repository;
use crate::s3::{KEY, S3Server, SECRET};
use crate::server::{Server, tools};

/// A running catalog; it ends when dropped.
pub struct CatalogServer {
    server: Server,
    client: String,
    /// Where its tables lie, unless they are in a bucket.
    pub folder: TempDir,
}

impl CatalogServer {
    /// One of anybody, with tables in a local folder.
    pub fn start() -> Self {
        Self::start_with("", &[], "{}")
    }

    /// One whose tables lie at a URL, with an environment, and with settings for the client that
    /// writes.
    pub fn start_with(warehouse: &str, environment: &[(&str, &str)], client: &str) -> Self {
        let tools = tools("python/pyiceberg", "infra/python-tools");
        let path = tools.parent().expect("it has a folder");
        let mut environment = environment.to_vec();
        environment.push(("PYTHONPATH", path.to_str().expect("UTF-8")));
        let folder = TempDir::new().expect("a temporary folder");
        let mut arguments = vec![folder.path().to_str().expect("UTF-8")];
        arguments.extend((!warehouse.is_empty()).then_some(warehouse));
        Self {
            server: Server::start("catalog_server.py", &arguments, &environment),
            client: client.to_owned(),
            folder,
        }
    }

    /// Its address.
    pub fn endpoint(&self) -> &str {
        &self.server.endpoint
    }

    /// Its address as a lake.
    pub fn location(&self) -> String {
        format!("iceberg+{}/?warehouse=tests", self.endpoint())
    }

    /// Makes and changes tables: see `tests/lakehouse/catalog_tables.py`.
    pub fn tables(&self, commands: &Value) {
        tables(self.endpoint(), &self.client, commands);
    }

    /// The requests since this was asked last.
    pub fn asked(&self) -> Vec<String> {
        let asked = self.send("GET", "/test/asked", &Value::Null);
        serde_json::from_value(asked).expect("a list of requests")
    }

    /// How requests are answered from here on that these faults are on.
    pub fn faults(&self, faults: &Value) {
        self.send("POST", "/test/faults", faults);
    }

    /// What is said of tables from here on that is not so.
    pub fn lie(&self, lies: &Value) {
        self.send("POST", "/test/lie", lies);
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let address = self.endpoint().trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).expect("the catalog runs");
        let body = body.to_string();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
        let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).expect("it listens");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (_, body) = answer.split_once("\r\n\r\n").expect("an answer");
        serde_json::from_str(body).expect("JSON")
    }
}

/// Has pyiceberg's client, with these settings, make and change tables.
fn tables(endpoint: &str, client: &str, commands: &Value) {
    let tools = tools("python/pyiceberg", "infra/python-tools");
    let done = Command::new("python3")
        .arg(repository().join("tests/lakehouse/catalog_tables.py"))
        .args([endpoint, &commands.to_string()])
        .env("PYTHONPATH", tools.parent().expect("it has a folder"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("CATALOG_CLIENT", client)
        .output()
        .expect("the client starts");
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{commands}: {errors}");
}

/// A catalog of SeaweedFS: the tables of a bucket for such.
pub struct WeedCatalog {
    /// The server of the bucket.
    pub server: S3Server,
}

impl WeedCatalog {
    /// An empty one. The bucket of this name is one test's of a process.
    pub fn start(bucket: &str) -> Self {
        Self {
            server: S3Server::start_tables(bucket),
        }
    }

    /// Its address as a lake.
    pub fn location(&self) -> String {
        let (catalog, bucket) = (self.server.catalog(), &self.server.bucket);
        format!("iceberg+{catalog}/?warehouse={bucket}")
    }

    /// What limn needs to sign in.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let host = self.server.catalog().trim_start_matches("http://");
        vec![
            ("LIMN_ICEBERG_HOST", host.to_owned()),
            ("LIMN_ICEBERG_CREDENTIAL", format!("{KEY}:{SECRET}")),
        ]
    }

    /// As [`CatalogServer::tables`].
    pub fn tables(&self, commands: &Value) {
        let client = json!({
            "warehouse": format!("s3://{}", self.server.bucket),
            "credential": format!("{KEY}:{SECRET}"),
            "s3.endpoint": self.server.endpoint,
            "s3.access-key-id": KEY,
            "s3.secret-access-key": SECRET,
            "s3.region": "us-east-1",
        });
        tables(self.server.catalog(), &client.to_string(), commands);
    }
}
