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
use super::fetch_error::FetchError;
use crate::net::{without_address, without_secrets};

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
) -> Result<(), FetchError> {
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
            .build()?;
        let outcome = runtime.block_on(download(&url, name, &target, limit, &bytes));
        // A name lookup that the timeout gave up on would otherwise still be waited for.
        runtime.shutdown_background();
        outcome
    });
    for total in received {
        progress(total);
    }
    transfer.join().unwrap_or(Err(FetchError::Panicked))
}

fn transfer(error: reqwest::Error) -> FetchError {
    FetchError::Transfer(without_address(error))
}

async fn download(
    url: &str,
    name: &'static str,
    target: &Path,
    limit: u64,
    bytes: &mpsc::Sender<u64>,
) -> Result<(), FetchError> {
    let client = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(SILENCE_TIMEOUT)
        .user_agent(concat!("limn/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(transfer)?;
    let response = client
        .get(url)
        .send()
        .await
        .and_then(reqwest::Response::error_for_status);
    let mut response = response.map_err(transfer)?;
    let mut file = std::fs::File::create(target)?;
    let mut total = 0;
    while let Some(chunk) = response.chunk().await.map_err(transfer)? {
        total += chunk.len() as u64;
        if total > limit {
            return Err(FetchError::TooLarge { name, limit });
        }
        file.write_all(&chunk)?;
        let _ = bytes.send(total);
    }
    Ok(file.sync_all()?)
}

/// A hub as errors may show it.
pub(crate) fn shown(endpoint: &str) -> String {
    let parsed = Url::parse(endpoint).ok().filter(Url::has_host);
    parsed.map_or_else(|| "in HF_ENDPOINT".to_owned(), |url| without_secrets(&url))
}
