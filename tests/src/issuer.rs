//! An issuer of tokens on loopback: it publishes keys as OpenID Connect has it, and signs what a
//! test asks for.
//!
//! Signatures are ring's, put together here by hand, so that what the node reads was not written by
//! the library that it reads with. Keys are made anew for each test, but for RSA's, which ring does
//! not make: that one is in a file, and is used nowhere else.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{
    self, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    Ed25519KeyPair, KeyPair, RsaKeyPair, RsaPublicKeyComponents,
};
use serde_json::{Value, json};
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Bytes as tokens have them.
pub fn base64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A key that signs tokens.
pub struct TokenKey {
    /// Its name.
    pub id: String,
    pair: Pair,
}

enum Pair {
    Rsa(Box<RsaKeyPair>),
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

impl TokenKey {
    /// The RSA key of 2,048 bits.
    pub fn rsa(id: &str) -> TokenKey {
        let key = PrivateKeyDer::from_pem_slice(include_bytes!("issuer_key.pem"));
        let key = RsaKeyPair::from_pkcs8(key.expect("a key in PEM").secret_der());
        let pair = Pair::Rsa(Box::new(key.expect("an RSA key")));
        TokenKey {
            id: id.to_owned(),
            pair,
        }
    }

    /// A new key of the curve P-256.
    pub fn p256(id: &str) -> TokenKey {
        let pair = curve(&ECDSA_P256_SHA256_FIXED_SIGNING);
        TokenKey {
            id: id.to_owned(),
            pair: Pair::P256(pair),
        }
    }

    /// A new key of the curve P-384.
    pub fn p384(id: &str) -> TokenKey {
        let pair = curve(&ECDSA_P384_SHA384_FIXED_SIGNING);
        TokenKey {
            id: id.to_owned(),
            pair: Pair::P384(pair),
        }
    }

    /// A new key of Ed25519.
    pub fn ed25519(id: &str) -> TokenKey {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("random bytes");
        let pair = Ed25519KeyPair::from_pkcs8(key.as_ref()).expect("a key that was just made");
        TokenKey {
            id: id.to_owned(),
            pair: Pair::Ed(pair),
        }
    }

    /// The public part, as it is published.
    pub fn jwk(&self) -> Value {
        let point = |pair: &EcdsaKeyPair, name: &str| {
            // SEC 1, 2.3.3: a 4, then both coordinates.
            let point = &pair.public_key().as_ref()[1..];
            let (x, y) = point.split_at(point.len() / 2);
            json!({"kty": "EC", "crv": name, "x": base64(x), "y": base64(y)})
        };
        let mut jwk = match &self.pair {
            Pair::Rsa(pair) => {
                let RsaPublicKeyComponents::<Vec<u8>> { n, e } = pair.public().into();
                json!({"kty": "RSA", "n": base64(n), "e": base64(e)})
            }
            Pair::P256(pair) => point(pair, "P-256"),
            Pair::P384(pair) => point(pair, "P-384"),
            Pair::Ed(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": base64(pair.public_key().as_ref())})
            }
        };
        jwk["kid"] = self.id.as_str().into();
        jwk["use"] = "sig".into();
        jwk
    }

    /// Signs bytes.
    pub fn sign(&self, algorithm: &str, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Rsa(pair) => {
                let padding: &dyn signature::RsaEncoding = match algorithm {
                    "RS256" => &signature::RSA_PKCS1_SHA256,
                    "RS384" => &signature::RSA_PKCS1_SHA384,
                    "RS512" => &signature::RSA_PKCS1_SHA512,
                    "PS256" => &signature::RSA_PSS_SHA256,
                    "PS384" => &signature::RSA_PSS_SHA384,
                    "PS512" => &signature::RSA_PSS_SHA512,
                    other => panic!("RSA does not sign with {other}"),
                };
                let mut signed = vec![0; pair.public().modulus_len()];
                pair.sign(padding, &random, message, &mut signed)
                    .expect("a signature");
                signed
            }
            Pair::P256(pair) | Pair::P384(pair) => {
                let signed = pair.sign(&random, message).expect("a signature");
                signed.as_ref().to_vec()
            }
            Pair::Ed(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }

    /// A token with these claims.
    pub fn token(&self, algorithm: &str, claims: &Value) -> String {
        let header = json!({"alg": algorithm, "kid": self.id, "typ": "JWT"});
        token(&header, claims, |message| self.sign(algorithm, message))
    }
}

fn curve(algorithm: &'static signature::EcdsaSigningAlgorithm) -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("random bytes");
    EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).expect("a key that was just made")
}

/// A token with this header and these claims, signed somehow.
pub fn token(header: &Value, claims: &Value, sign: impl FnOnce(&[u8]) -> Vec<u8>) -> String {
    let message = format!(
        "{}.{}",
        base64(header.to_string()),
        base64(claims.to_string())
    );
    let signed = base64(sign(message.as_bytes()));
    format!("{message}.{signed}")
}

/// A running issuer; it ends when dropped.
pub struct IssuerServer {
    /// Its address, and what its tokens name.
    pub url: String,
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    documents: Mutex<HashMap<String, Served>>,
    is_away: AtomicBool,
    asked: AtomicUsize,
    is_over: AtomicBool,
}

/// What is answered at a path.
#[derive(Clone)]
pub enum Served {
    /// This document.
    Document(String),
    /// That it is somewhere else.
    Elsewhere(String),
    /// Nothing, for as long as anybody waits.
    Silence,
}

const DISCOVERY: &str = "/.well-known/openid-configuration";
const KEYS: &str = "/keys";

impl IssuerServer {
    /// Starts an issuer that publishes these keys.
    pub fn start(keys: &[&TokenKey]) -> IssuerServer {
        Self::serve("http", keys, None)
    }

    /// As [`start`](Self::start), with TLS.
    pub fn start_tls(keys: &[&TokenKey], tls: ServerConfig) -> IssuerServer {
        Self::serve("https", keys, Some(Arc::new(tls)))
    }

    fn serve(scheme: &str, keys: &[&TokenKey], tls: Option<Arc<ServerConfig>>) -> IssuerServer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            documents: Mutex::default(),
            is_away: AtomicBool::new(false),
            asked: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        });
        let server = IssuerServer {
            url: format!("{scheme}://{address}"),
            address,
            shared: Arc::clone(&shared),
        };
        server.publish(keys);
        server.discovery(&json!({"issuer": server.url, "jwks_uri": server.at(KEYS)}));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.is_over.load(Ordering::SeqCst) {
                    break;
                }
                let (Ok(stream), shared, tls) = (stream, Arc::clone(&shared), tls.clone()) else {
                    continue;
                };
                // A client that does not trust the certificate goes away.
                std::thread::spawn(move || drop(shared.answer(stream, tls)));
            }
        });
        server
    }

    /// The address of a path.
    pub fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// From now on these keys are published.
    pub fn publish(&self, keys: &[&TokenKey]) {
        let keys: Vec<Value> = keys.iter().map(|key| key.jwk()).collect();
        self.publish_text(&json!({ "keys": keys }).to_string());
    }

    /// From now on this is published as the keys.
    pub fn publish_text(&self, text: &str) {
        self.set(KEYS, Served::Document(text.to_owned()));
    }

    /// From now on this is the discovery document.
    pub fn discovery(&self, document: &Value) {
        self.set(DISCOVERY, Served::Document(document.to_string()));
    }

    /// From now on this is answered at a path.
    pub fn set(&self, path: &str, served: Served) {
        let mut documents = self.shared.documents.lock().expect("no panic");
        documents.insert(path.to_owned(), served);
    }

    /// From now on this is answered where the discovery document was.
    pub fn set_discovery(&self, served: Served) {
        self.set(DISCOVERY, served);
    }

    /// Whether connections are closed without an answer from now on.
    pub fn be_away(&self, is_away: bool) {
        self.shared.is_away.store(is_away, Ordering::SeqCst);
    }

    /// How often it was asked for anything.
    pub fn asked(&self) -> usize {
        self.shared.asked.load(Ordering::SeqCst)
    }
}

impl Shared {
    fn answer(&self, stream: TcpStream, tls: Option<Arc<ServerConfig>>) -> std::io::Result<()> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.is_away.load(Ordering::SeqCst) {
            return Ok(());
        }
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        match tls {
            None => self.converse(stream),
            Some(tls) => {
                let connection = ServerConnection::new(tls).map_err(std::io::Error::other)?;
                self.converse(StreamOwned::new(connection, stream))
            }
        }
    }

    /// One request a connection.
    fn converse(&self, mut stream: impl Read + Write) -> std::io::Result<()> {
        let mut head = Vec::new();
        let mut part = [0; 1_024];
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            match stream.read(&mut part)? {
                0 => return Ok(()),
                length => head.extend_from_slice(&part[..length]),
            }
        }
        let head = String::from_utf8_lossy(&head);
        let path = head.split_whitespace().nth(1).unwrap_or_default();
        let served = self.documents.lock().expect("no panic").get(path).cloned();
        let (status, location, body) = match served {
            Some(Served::Document(text)) => ("200 OK", None, text),
            Some(Served::Elsewhere(url)) => ("302 Found", Some(url), String::new()),
            Some(Served::Silence) => {
                // Until the client goes away.
                while stream.read(&mut part)? > 0 {}
                return Ok(());
            }
            None => ("404 Not Found", None, String::new()),
        };
        let location = location.map_or(String::new(), |url| format!("location: {url}\r\n"));
        write!(
            stream,
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{location}content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )?;
        stream.flush()
    }
}

impl Drop for IssuerServer {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // The thread wakes and sees it.
        drop(TcpStream::connect(self.address));
    }
}
