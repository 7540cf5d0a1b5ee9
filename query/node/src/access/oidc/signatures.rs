//! Signatures of tokens, checked by ring, as those of TLS are.
//!
//! jsonwebtoken reads tokens and checks their claims; what cryptography it uses is left to its
//! user. Only what a published key can check is here: a token signed with a shared secret has no
//! verifier at all.

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind, new_error};
use jsonwebtoken::signature::{self, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(new_error(ErrorKind::UnsupportedAlgorithm)),
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes ring what checks tokens in this process.
pub(super) fn use_ring() {
    // Where it is that already, or the program has chosen another, so it stays.
    let _ = PROVIDER.install_default();
}

/// How a signature is checked.
#[derive(Clone, Copy)]
enum How {
    Rsa(&'static RsaParameters),
    Curve(&'static dyn VerificationAlgorithm),
}

struct ByRing {
    algorithm: Algorithm,
    how: How,
    key: DecodingKey,
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    let how = match algorithm {
        Algorithm::RS256 => How::Rsa(&RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => How::Rsa(&RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => How::Rsa(&RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => How::Rsa(&RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => How::Rsa(&RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => How::Rsa(&RSA_PSS_2048_8192_SHA512),
        Algorithm::ES256 => How::Curve(&ECDSA_P256_SHA256_FIXED),
        Algorithm::ES384 => How::Curve(&ECDSA_P384_SHA384_FIXED),
        Algorithm::EdDSA => How::Curve(&ED25519),
        _ => return Err(new_error(ErrorKind::UnsupportedAlgorithm)),
    };
    if key.family() != algorithm.family() {
        return Err(new_error(ErrorKind::InvalidKeyFormat));
    }
    Ok(Box::new(ByRing {
        algorithm: *algorithm,
        how,
        key: key.clone(),
    }))
}

impl Verifier<Vec<u8>> for ByRing {
    fn verify(&self, message: &[u8], shown: &Vec<u8>) -> Result<(), signature::Error> {
        let checked = match (self.how, self.key.kind()) {
            (How::Rsa(parameters), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(parameters, message, shown)
            }
            (How::Curve(curve), DecodingKeyKind::SecretOrDer(point)) => {
                UnparsedPublicKey::new(curve, point).verify(message, shown)
            }
            _ => return Err(signature::Error::new()),
        };
        checked.map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for ByRing {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
