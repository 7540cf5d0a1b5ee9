//! Web servers on loopback that list a folder: Python's own, which knows no ranges, and one with
//! the pages of nginx, which does (`tests/web_server.py`).

use std::path::Path;

use crate::server::Server;

/// A running server of a folder; it ends when dropped.
pub struct WebServer(Server);

impl WebServer {
    /// Python's own server, which sends files whole.
    pub fn plain(folder: &Path) -> Self {
        Self::start(folder, "plain")
    }

    /// One with the pages of nginx, ranges and entity tags.
    pub fn nginx(folder: &Path) -> Self {
        Self::start(folder, "nginx")
    }

    fn start(folder: &Path, manner: &str) -> Self {
        let folder = folder.to_str().expect("UTF-8");
        Self(Server::start("web_server.py", &[folder, manner], &[]))
    }

    /// Its address.
    pub fn endpoint(&self) -> &str {
        &self.0.endpoint
    }
}
