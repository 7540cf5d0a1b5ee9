//! Fetching model files from the model hub over HTTPS.
//!
//! A machine without a way there must not hang: connecting has three seconds, a silent connection
//! twenty. The caller's thread is never a runtime's: the transfer runs on a thread of its own.

use std::io::Write;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use reqwest::Url;

use super::cards::CardFile;
use crate::net::{chain, without_address, without_secrets};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
const SILENCE_TIMEOUT: Duration = Duration::from_secs(20);

/// Downloads `endpoint/repo/resolve/main/NAME` into `folder/NAME`, reporting bytes as they come.
///
/// The branch is not pinned, the bytes are: the caller verifies every file's hash.
pub(crate) fn fetch(
    endpoint: &str,
    repo: &str,
    file: &CardFile,
    folder: &Path,
    progress: &dyn Fn(u64),
) -> Result<(), String> {
    let url = format!(
        "{}/{repo}/resolve/main/{}",
        endpoint.trim_end_matches('/'),
        file.name
    );
    let target = folder.join(file.name);
    let (bytes, received) = mpsc::channel();
    let (name, limit) = (file.name, file.bytes);
    let transfer = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| chain(&error))?;
        let outcome = runtime.block_on(download(&url, name, &target, limit, &bytes));
        // A name lookup that the timeout gave up on would otherwise still be waited for.
        runtime.shutdown_background();
        outcome
    });
    for total in received {
        progress(total);
    }
    transfer
        .join()
        .unwrap_or_else(|_| Err("the transfer panicked".to_owned()))
}

async fn download(
    url: &str,
    name: &str,
    target: &Path,
    limit: u64,
    bytes: &mpsc::Sender<u64>,
) -> Result<(), String> {
    let client = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(SILENCE_TIMEOUT)
        .user_agent(concat!("limn/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(without_address)?;
    let response = client
        .get(url)
        .send()
        .await
        .and_then(reqwest::Response::error_for_status);
    let mut response = response.map_err(without_address)?;
    let mut file = std::fs::File::create(target).map_err(|error| chain(&error))?;
    let mut total = 0;
    while let Some(chunk) = response.chunk().await.map_err(without_address)? {
        total += chunk.len() as u64;
        if total > limit {
            return Err(format!("{name} is larger than the {limit} bytes expected"));
        }
        file.write_all(&chunk).map_err(|error| chain(&error))?;
        let _ = bytes.send(total);
    }
    file.sync_all().map_err(|error| chain(&error))
}

/// A hub as errors may show it.
pub(crate) fn shown(endpoint: &str) -> String {
    let parsed = Url::parse(endpoint).ok().filter(Url::has_host);
    parsed.map_or_else(|| "in HF_ENDPOINT".to_owned(), |url| without_secrets(&url))
}
