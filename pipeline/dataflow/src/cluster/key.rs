//! The cluster key: a secret that all processes of a cluster have, and by which they know each
//! other.
//!
//! The key makes an Ed25519 key pair (HKDF with SHA-256, RFC 5869), the same in every process. Both
//! ends of a connection show its public key (RFC 7250), prove that they have the private one, and
//! accept no other: TLS 1.3 in both directions, without certificates, names or dates.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ring::hkdf;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::{CryptoProvider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{
    CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, ServerConfig,
    SignatureScheme,
};

/// The shortest secret, in bytes: as many as the private key has.
const SHORTEST: usize = 32;
/// The longest file that is read as one.
const LONGEST: u64 = 64 << 10;
/// What stands before an Ed25519 private key in PKCS #8 (RFC 8410).
const PKCS8: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// Why a file is no cluster key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// It cannot be read.
    #[error("cannot read the cluster key {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Other users may read it, or write to it.
    #[error("other users may read or change the cluster key {}: chmod 600 it, and make a new one if they did", path.display())]
    Open {
        /// The file.
        path: PathBuf,
    },
    /// It is too short to be a secret.
    #[error(
        "the cluster key {} has {length} bytes, and needs at least {SHORTEST} of chance: head -c 32 /dev/urandom | base64 makes some",
        path.display()
    )]
    Short {
        /// The file.
        path: PathBuf,
        /// Its bytes, without line ends.
        length: usize,
    },
    /// It is longer than any key.
    #[error("the cluster key {} is longer than {LONGEST} bytes: is it another file?", path.display())]
    Long {
        /// The file.
        path: PathBuf,
    },
    /// The library of TLS refuses it: a defect of limn.
    #[error("no TLS with the cluster key {}: {source}; this is a defect of limn", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What it says.
        source: rustls::Error,
    },
}

/// How a process shows that it belongs to the cluster, and sees that another does.
#[derive(Clone)]
pub struct ClusterKey {
    /// For connections that this process calls.
    pub(super) caller: Arc<ClientConfig>,
    /// For connections that it answers.
    pub(super) answerer: Arc<ServerConfig>,
}

impl fmt::Debug for ClusterKey {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("ClusterKey")
    }
}

impl ClusterKey {
    /// The key in a file: at least 32 bytes that are hard to guess. White space at the end does not
    /// count.
    ///
    /// # Errors
    /// There is no such file, it is too short or long, or other users may read it (Unix).
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let unreadable = |source| KeyError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(unreadable)?;
        if is_open_to_others(&file).map_err(unreadable)? {
            let path = path.to_owned();
            return Err(KeyError::Open { path });
        }
        let mut secret = Vec::new();
        let mut content = file.take(LONGEST + 1);
        content.read_to_end(&mut secret).map_err(unreadable)?;
        if secret.len() as u64 > LONGEST {
            let path = path.to_owned();
            return Err(KeyError::Long { path });
        }
        let secret = secret.trim_ascii_end();
        if secret.len() < SHORTEST {
            return Err(KeyError::Short {
                path: path.to_owned(),
                length: secret.len(),
            });
        }
        Self::of(secret).map_err(|source| KeyError::Unusable {
            path: path.to_owned(),
            source,
        })
    }

    pub(super) fn of(secret: &[u8]) -> Result<Self, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let pair = rustls::crypto::ring::sign::any_eddsa_type(&private_key(secret)?)?;
        let public = pair.public_key();
        let public = public.ok_or_else(|| rustls::Error::General("no public key".into()))?;
        let public = public.into_owned();
        let shown = vec![CertificateDer::from(public.to_vec())];
        let own = Arc::new(CertifiedKey::new(shown, pair));
        let ours = Arc::new(Ours {
            public,
            provider: Arc::clone(&provider),
        });
        let mut caller = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&ours) as _)
            .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(
                Arc::clone(&own),
            )));
        caller.enable_sni = false;
        // Every connection is proved anew.
        caller.resumption = Resumption::disabled();
        let mut answerer = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])?
            .with_client_cert_verifier(ours)
            .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(own)));
        answerer.send_tls13_tickets = 0;
        Ok(Self {
            caller: Arc::new(caller),
            answerer: Arc::new(answerer),
        })
    }
}

/// The private key that a secret makes, as PKCS #8.
fn private_key(secret: &[u8]) -> Result<PrivatePkcs8KeyDer<'static>, rustls::Error> {
    let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"limn cluster key 1");
    let mut key = PKCS8.to_vec();
    let from = key.len();
    key.resize(from + SHORTEST, 0);
    salt.extract(secret)
        .expand(&[b"ed25519"], hkdf::HKDF_SHA256)
        .and_then(|made| made.fill(&mut key[from..]))
        .map_err(|_| rustls::Error::General("no private key".into()))?;
    Ok(PrivatePkcs8KeyDer::from(key))
}

/// Whether users other than the one who runs this, or the superuser, may do anything with the file.
/// One of the superuser's may be read by its group, as secrets that Kubernetes mounts are.
#[cfg(unix)]
fn is_open_to_others(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let found = file.metadata()?;
    let forbidden = if found.uid() == 0 { 0o037 } else { 0o077 };
    // Where there is no /proc, nothing says who runs this.
    let own = std::fs::metadata("/proc/self").map(|it| it.uid());
    let is_anothers = found.uid() != 0 && own.is_ok_and(|own| own != found.uid());
    Ok(found.is_file() && (is_anothers || found.mode() & forbidden != 0))
}

#[cfg(not(unix))]
fn is_open_to_others(_: &File) -> io::Result<bool> {
    Ok(false)
}

/// Accepts the cluster's public key and no other.
#[derive(Debug)]
struct Ours {
    public: SubjectPublicKeyInfoDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl Ours {
    fn is_shown(&self, shown: &CertificateDer<'_>) -> Result<(), rustls::Error> {
        if shown.as_ref() == self.public.as_ref() {
            return Ok(());
        }
        Err(CertificateError::ApplicationVerificationFailure.into())
    }

    fn is_proved(
        &self,
        message: &[u8],
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature_with_raw_key(message, &self.public, signed, algorithms)
    }
}

/// Nothing older than TLS 1.3 is spoken.
fn too_old() -> rustls::Error {
    rustls::Error::General("TLS 1.2 is not spoken".into())
}

impl ServerCertVerifier for Ours {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.is_shown(shown)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(too_old())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        _: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.is_proved(message, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for Ours {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        self.is_shown(shown)?;
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(too_old())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        _: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.is_proved(message, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
