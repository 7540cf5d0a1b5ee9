//! TLS: a certificate and its key, read again when their files change, so that one that is renewed
//! is used without a restart.
//!
//! The files are looked at when somebody connects, every few seconds at most. What they hold is
//! compared, not when they were written: links that are turned and clocks that stand still make no
//! difference. Until both hold what belongs together, what was read before is used.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;

use super::listen::ListenError;

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Bytes that are read of a file: a chain of certificates has some thousand.
const FILE: u64 = 1 << 20;

/// A certificate and its key.
#[derive(Clone, Debug)]
pub struct Tls(pub(super) Arc<ServerConfig>);

impl Tls {
    /// Reads a chain of certificates and the key of the first, in PEM.
    ///
    /// # Errors
    /// [`ListenError::Tls`].
    pub fn read(certificates: &Path, key: &Path) -> Result<Tls, ListenError> {
        let provider = Arc::new(ring::default_provider());
        let files = Files {
            certificates: certificates.to_owned(),
            key: key.to_owned(),
        };
        let content = files.content()?;
        let renewed = Renewed {
            used: RwLock::new(files.certified(&content, &provider)?),
            looked: Mutex::new(Looked {
                at: Instant::now(),
                content: content.digest(),
                trouble: None,
            }),
            provider: Arc::clone(&provider),
            files,
        };
        let unusable = |error: tokio_rustls::rustls::Error| ListenError::Tls {
            file: key.display().to_string(),
            detail: error.to_string(),
        };
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unusable)?;
        let config = config.with_no_client_auth();
        let mut config = config.with_cert_resolver(Arc::new(renewed));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Tls(Arc::new(config)))
    }
}

#[derive(Debug)]
struct Files {
    certificates: PathBuf,
    key: PathBuf,
}

struct Content {
    certificates: Vec<u8>,
    key: Vec<u8>,
}

impl Content {
    fn digest(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        digest.update(self.certificates.len().to_le_bytes());
        digest.update(&self.certificates);
        digest.update(&self.key);
        digest.finalize().into()
    }
}

impl Files {
    fn content(&self) -> Result<Content, ListenError> {
        let read = |file: &Path| {
            let mut bytes = Vec::new();
            File::open(file)
                .and_then(|file| file.take(FILE).read_to_end(&mut bytes))
                .map_err(|error| unusable(file, error))?;
            Ok(bytes)
        };
        Ok(Content {
            certificates: read(&self.certificates)?,
            key: read(&self.key)?,
        })
    }

    fn certified(
        &self,
        content: &Content,
        provider: &CryptoProvider,
    ) -> Result<Arc<CertifiedKey>, ListenError> {
        let chain = CertificateDer::pem_slice_iter(&content.certificates)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| unusable(&self.certificates, error))?;
        if chain.is_empty() {
            return Err(unusable(&self.certificates, "it holds no certificate"));
        }
        let secret = PrivateKeyDer::from_pem_slice(&content.key)
            .map_err(|error| unusable(&self.key, error))?;
        let certified = CertifiedKey::from_der(chain, secret, provider);
        let certified = certified.map_err(|error| unusable(&self.key, error))?;
        Ok(Arc::new(certified))
    }
}

fn unusable(file: &Path, detail: impl ToString) -> ListenError {
    ListenError::Tls {
        file: file.display().to_string(),
        detail: detail.to_string(),
    }
}

/// What files hold now, or held when it could last be used.
struct Renewed {
    files: Files,
    provider: Arc<CryptoProvider>,
    used: RwLock<Arc<CertifiedKey>>,
    looked: Mutex<Looked>,
}

/// What files hold that is not what is used.
struct Changed {
    digest: [u8; 32],
    certified: Arc<CertifiedKey>,
}

struct Looked {
    at: Instant,
    /// What is used.
    content: [u8; 32],
    /// What was logged of why it is not what the files hold.
    trouble: Option<String>,
}

impl std::fmt::Debug for Renewed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Renewed")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

impl Renewed {
    fn look_again(&self) {
        let Ok(mut looked) = self.looked.try_lock() else {
            return;
        };
        if looked.at.elapsed() < LOOK_EVERY {
            return;
        }
        looked.at = Instant::now();
        match self.renewal(&looked.content) {
            Ok(None) => looked.trouble = None,
            Ok(Some(Changed { digest, certified })) => {
                tracing::info!("the certificate of TLS has changed");
                (looked.content, looked.trouble) = (digest, None);
                *self.used.write().unwrap_or_else(PoisonError::into_inner) = certified;
            }
            Err(error) => {
                let trouble = error.to_string();
                if looked.trouble.as_ref() != Some(&trouble) {
                    tracing::error!(%error, "the certificate of TLS has changed and cannot be used: the one before is");
                }
                looked.trouble = Some(trouble);
            }
        }
    }

    /// What the files hold, if it is not what is used.
    fn renewal(&self, used: &[u8; 32]) -> Result<Option<Changed>, ListenError> {
        let content = self.files.content()?;
        let digest = content.digest();
        if digest == *used {
            return Ok(None);
        }
        let certified = self.files.certified(&content, &self.provider)?;
        Ok(Some(Changed { digest, certified }))
    }
}

impl ResolvesServerCert for Renewed {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.look_again();
        let used = self.used.read().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(&used))
    }
}
