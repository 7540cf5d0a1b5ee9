//! A real S3-compatible server on loopback: SeaweedFS, from `tests/requirements.txt`.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Credentials that the server knows.
pub const KEY: &str = "limn-test";
/// Somebody who may list the bucket `guests` and read what is under `open/`.
pub const GUEST: &str = "limn-guest";
/// The secret of both.
pub const SECRET: &str = "limn-test-secret";

/// A bucket of its own on the server that all tests of a process share.
pub struct S3Server {
    server: &'static Running,
    /// The bucket's name.
    pub bucket: String,
    /// The server's address, `http://127.0.0.1:port`.
    pub endpoint: String,
}

/// The running server; it ends with this process, however that ends.
struct Running {
    process: Child,
    master: String,
    filer: String,
    endpoint: String,
    catalog: String,
}

fn weed() -> PathBuf {
    let tools = PathBuf::from(std::env::var("HOME").unwrap_or_default())
        .join(".cache/limn/python/bin/weed");
    assert!(
        tools.is_file(),
        "the S3 server for tests is missing; run infra/python-tools (infra/test does)"
    );
    tools
}

fn free_port() -> u16 {
    // The server also listens 10,000 ports above each.
    loop {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        if port < 55_000 && TcpListener::bind(("127.0.0.1", port + 10_000)).is_ok() {
            return port;
        }
    }
}

impl S3Server {
    /// An empty bucket on the server, which starts when the first is asked for.
    pub fn start() -> Self {
        static BUCKETS: AtomicUsize = AtomicUsize::new(1);
        Self::of_bucket(format!("lake-{}", BUCKETS.fetch_add(1, Ordering::Relaxed)))
    }

    /// An empty bucket of this name. One test of a process can have it; of `guests`, [`GUEST`] may
    /// read a part.
    pub fn start_named(bucket: &str) -> Self {
        Self::of_bucket(bucket.to_owned())
    }

    /// An empty bucket for Iceberg tables, which the server's own catalog has.
    pub fn start_tables(bucket: &str) -> Self {
        let server = Running::shared();
        let command = format!("s3tables.bucket -create -name {bucket} -account limn");
        assert!(server.shell(&command), "no bucket {bucket} was made");
        Self {
            server,
            bucket: bucket.to_owned(),
            endpoint: server.endpoint.clone(),
        }
    }

    /// The address of the server's catalog.
    pub fn catalog(&self) -> &str {
        &self.server.catalog
    }

    fn of_bucket(bucket: String) -> Self {
        let server = Running::shared();
        assert!(server.create_bucket(&bucket), "no bucket {bucket} was made");
        Self {
            server,
            bucket,
            endpoint: server.endpoint.clone(),
        }
    }

    /// The URL of something in the bucket.
    pub fn url(&self, path: &str) -> String {
        format!("s3://{}/{path}", self.bucket)
    }

    /// The environment that limn needs to use it.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AWS_ACCESS_KEY_ID", KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ENDPOINT_URL", self.endpoint.clone()),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
        ]
    }

    /// Copies a local folder into a folder of the bucket, by the server's own copying tool.
    pub fn copy_in(&self, folder: &Path, to: &str) {
        let to = format!("{}/buckets/{}/{to}", self.server.filer, self.bucket);
        let copied = Command::new(weed())
            .arg("filer.copy")
            .arg(folder)
            .arg(format!("http://{}/", to.trim_end_matches('/')))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("the copying tool starts");
        assert!(copied.success(), "{} was not copied in", folder.display());
    }
}

impl Running {
    fn shared() -> &'static Self {
        static SERVER: OnceLock<Running> = OnceLock::new();
        SERVER.get_or_init(|| {
            // Another process may take one of its ports first: it ends then.
            let mut tries = (0..5).filter_map(|_| Self::try_start());
            tries.next().expect("the S3 server runs")
        })
    }

    fn try_start() -> Option<Self> {
        let data = TempDir::new().expect("a scratch folder").keep();
        let identities = serde_json::json!({"identities": [
            {
                "name": "limn",
                "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
                "actions": ["Admin", "Read", "Write", "List", "Tagging"],
            },
            {
                "name": "guest",
                "credentials": [{"accessKey": GUEST, "secretKey": SECRET}],
                "actions": ["List:guests", "Read:guests/open/*"],
            },
        ]});
        let config = data.join("s3.json");
        std::fs::write(&config, identities.to_string()).expect("the identities are written");
        let port = free_port();
        let folder = data.join("data");
        std::fs::create_dir_all(&folder).expect("the data folder");
        let tools = weed();
        let ports: Vec<u16> = (0..4).map(|_| free_port()).collect();
        // What the shell leaves behind reads an input that ends with this process, and then ends
        // the server, which the shell becomes.
        let process = Command::new("sh")
            .arg("-c")
            .arg("exec 3<&0; (read end <&3; kill -9 $$; rm -rf \"$LIMN_TEST_DATA\") & exec \"$0\" \"$@\"")
            .env("LIMN_TEST_DATA", &data)
            .arg(&tools)
            .args(["server", "-s3", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"])
            // A listener that limn does not need, on a fixed port.
            .arg("-s3.port.lance=0")
            .arg(format!("-s3.port.iceberg={}", ports[3]))
            .arg(format!("-dir={}", folder.display()))
            .arg(format!("-s3.config={}", config.display()))
            .arg(format!("-s3.port={port}"))
            .arg(format!("-master.port={}", ports[0]))
            .arg(format!("-volume.port={}", ports[1]))
            .arg(format!("-filer.port={}", ports[2]))
            .args(["-volume.max=1000", "-master.volumeSizeLimitMB=256"])
            // By itself it takes no writes where less than a hundredth of the disk is free.
            .arg("-volume.minFreeSpace=64MiB")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the S3 server starts");
        let mut server = Self {
            process,
            master: format!("127.0.0.1:{}", ports[0]),
            filer: format!("127.0.0.1:{}", ports[2]),
            endpoint: format!("http://127.0.0.1:{port}"),
            catalog: format!("http://127.0.0.1:{}", ports[3]),
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut has_bucket = false;
        // Buckets are made elsewhere than where they are asked for.
        while !has_bucket || TcpStream::connect(("127.0.0.1", port)).is_err() {
            has_bucket = has_bucket || server.create_bucket("ready");
            let is_late = Instant::now() > deadline;
            if is_late || server.process.try_wait().is_ok_and(|ended| ended.is_some()) {
                let _ = server.process.kill();
                return None;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        // The last of its listeners starts, or ends it.
        std::thread::sleep(Duration::from_millis(300));
        let runs = server.process.try_wait().is_ok_and(|ended| ended.is_none());
        runs.then_some(server)
    }

    /// Creates a bucket, if the server is up.
    fn create_bucket(&self, bucket: &str) -> bool {
        self.shell(&format!("s3.bucket.create -name {bucket}"))
    }

    /// Has the server's shell do something, if it is up.
    fn shell(&self, command: &str) -> bool {
        let done = Command::new("sh")
            .arg("-c")
            .arg(format!(
                "echo '{command}' | timeout 10 \"$0\" shell -master={} -filer={}",
                self.master, self.filer
            ))
            .arg(weed())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        done.is_ok_and(|status| status.success())
    }
}
