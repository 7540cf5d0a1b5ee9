//! Certificates, made for a test.

use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate of 127.0.0.1 and localhost that has signed itself.
pub struct Certificate {
    /// In PEM.
    pub certificate: String,
    /// Its key, in PEM.
    pub key: String,
}

impl Certificate {
    /// A new one.
    pub fn make() -> Certificate {
        let names = ["127.0.0.1", "localhost"].map(str::to_owned);
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(names).expect("a certificate");
        Certificate {
            certificate: cert.pem(),
            key: signing_key.serialize_pem(),
        }
    }

    /// A server that has it.
    pub fn server(&self) -> ServerConfig {
        let chain = CertificateDer::from_pem_slice(self.certificate.as_bytes());
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes());
        ServerConfig::builder_with_provider(ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .expect("versions of TLS")
            .with_no_client_auth()
            .with_single_cert(vec![chain.expect("PEM")], key.expect("PEM"))
            .expect("a certificate with its key")
    }

    /// A client that trusts it, and nobody else.
    pub fn client(&self) -> reqwest::ClientBuilder {
        let root = reqwest::Certificate::from_pem(self.certificate.as_bytes());
        reqwest::Client::builder()
            .tls_built_in_root_certs(false)
            .add_root_certificate(root.expect("PEM"))
    }
}
