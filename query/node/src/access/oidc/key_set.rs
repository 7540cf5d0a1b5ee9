//! The keys that an issuer publishes (RFC 7517), and which signatures each may check.
//!
//! A key is used only for the algorithms that its own type, curve, `alg`, `use` and `key_ops`
//! allow, so that no token can choose how it is checked. Keys of kinds that are not known here are
//! passed over: issuers publish keys for other purposes beside those that sign.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{
    AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse,
};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;

use super::trouble::IssuerTrouble;

/// Keys of a set: an issuer publishes a few.
const MOST: usize = 100;
/// Bytes of an RSA modulus: 2,048 to 8,192 bits.
const MODULUS: std::ops::RangeInclusive<usize> = 256..=1_024;

const RSA: [Algorithm; 6] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
];

/// A set of keys.
#[derive(Debug)]
pub(super) struct KeySet {
    keys: Vec<Key>,
}

#[derive(Debug)]
struct Key {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

/// Why a set has no key for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoKey {
    /// It has no such key: a newer one may.
    Unknown,
    /// The key that the token names does not check signatures of its algorithm.
    Misfit,
    /// The token names none, and several would do.
    Ambiguous,
}

impl KeySet {
    /// Reads a set.
    ///
    /// # Errors
    /// What is wrong with it. A key that cannot be used is no error.
    pub fn read(text: &[u8]) -> Result<KeySet, IssuerTrouble> {
        #[derive(Deserialize)]
        struct Set {
            keys: Vec<serde_json::Value>,
        }
        let set: Set =
            serde_json::from_slice(text).map_err(|error| IssuerTrouble::KeySet(error.column()))?;
        if set.keys.len() > MOST {
            return Err(IssuerTrouble::TooManyKeys {
                found: set.keys.len(),
                most: MOST,
            });
        }
        let keys = set.keys.into_iter();
        let keys = keys.filter_map(|key| Key::usable(&serde_json::from_value(key).ok()?));
        Ok(KeySet {
            keys: keys.collect(),
        })
    }

    /// How many can be used.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// The key for a token with this header.
    ///
    /// # Errors
    /// Why there is none.
    pub fn key(&self, id: Option<&str>, algorithm: Algorithm) -> Result<&DecodingKey, NoKey> {
        let mut fitting = self.keys.iter().filter(|key| {
            key.algorithms.contains(&algorithm) && (id.is_none() || key.id.as_deref() == id)
        });
        match (fitting.next(), id) {
            (Some(key), Some(_)) => Ok(&key.key),
            (Some(key), None) if fitting.next().is_none() => Ok(&key.key),
            (Some(_), None) => Err(NoKey::Ambiguous),
            (None, Some(id)) if self.keys.iter().any(|key| key.id.as_deref() == Some(id)) => {
                Err(NoKey::Misfit)
            }
            (None, _) => Err(NoKey::Unknown),
        }
    }
}

impl Key {
    fn usable(jwk: &Jwk) -> Option<Key> {
        let about = &jwk.common;
        let is_for_signatures = !matches!(&about.public_key_use, Some(purpose) if *purpose != PublicKeyUse::Signature)
            && !matches!(&about.key_operations, Some(all) if !all.contains(&KeyOperations::Verify));
        if !is_for_signatures {
            return None;
        }
        let decoded = |text: &String| URL_SAFE_NO_PAD.decode(text).ok();
        let (mut algorithms, key) = match &jwk.algorithm {
            AlgorithmParameters::RSA(rsa) => {
                let (n, e) = (decoded(&rsa.n)?, decoded(&rsa.e)?);
                let n = &n[n.iter().position(|byte| *byte != 0)?..];
                let is_long_enough = MODULUS.contains(&n.len());
                let key = is_long_enough.then(|| DecodingKey::from_rsa_raw_components(n, &e))?;
                (RSA.to_vec(), key)
            }
            AlgorithmParameters::EllipticCurve(point) => {
                let (algorithm, length) = match point.curve {
                    EllipticCurve::P256 => (Algorithm::ES256, 32),
                    EllipticCurve::P384 => (Algorithm::ES384, 48),
                    _ => return None,
                };
                let (x, y) = (decoded(&point.x)?, decoded(&point.y)?);
                let is_whole = x.len() == length && y.len() == length;
                // SEC 1, 2.3.3: 4 is for a point that is not compressed.
                let point = is_whole.then(|| [&[4], x.as_slice(), y.as_slice()].concat())?;
                (vec![algorithm], DecodingKey::from_ec_der(&point))
            }
            AlgorithmParameters::OctetKeyPair(point) if point.curve == EllipticCurve::Ed25519 => {
                let x = decoded(&point.x).filter(|x| x.len() == 32)?;
                (vec![Algorithm::EdDSA], DecodingKey::from_ed_der(&x))
            }
            _ => return None,
        };
        if let Some(only) = about.key_algorithm {
            algorithms.retain(|algorithm| only == KeyAlgorithm::from(*algorithm));
        }
        (!algorithms.is_empty()).then(|| Key {
            id: about.key_id.clone(),
            algorithms,
            key,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use serde_json::{Value, json};

    use super::*;

    fn text(bytes: usize, last: u8) -> String {
        let mut all = vec![1; bytes];
        all[bytes - 1] = last;
        URL_SAFE_NO_PAD.encode(all)
    }

    fn set(keys: &[Value]) -> KeySet {
        KeySet::read(json!({ "keys": keys }).to_string().as_bytes()).unwrap()
    }

    fn rsa(more: Value) -> Value {
        let mut key = json!({"kty": "RSA", "kid": "r", "n": text(256, 3), "e": "AQAB"});
        let fields = key.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        key
    }

    #[test]
    fn a_key_checks_what_its_kind_allows_and_nothing_else() {
        let p256 =
            json!({"kty": "EC", "kid": "p", "crv": "P-256", "x": text(32, 1), "y": text(32, 2)});
        let p384 =
            json!({"kty": "EC", "kid": "q", "crv": "P-384", "x": text(48, 1), "y": text(48, 2)});
        let ed = json!({"kty": "OKP", "kid": "e", "crv": "Ed25519", "x": text(32, 1)});
        let keys = set(&[rsa(json!({"use": "sig"})), p256, p384, ed]);
        assert_eq!(keys.len(), 4);
        let all = [
            ("r", RSA.as_slice()),
            ("p", &[Algorithm::ES256]),
            ("q", &[Algorithm::ES384]),
            ("e", &[Algorithm::EdDSA]),
        ];
        for (id, own) in all {
            for other in all {
                for &algorithm in other.1 {
                    let found = keys.key(Some(id), algorithm);
                    assert_eq!(
                        found.is_ok(),
                        own.contains(&algorithm),
                        "{id} {algorithm:?}"
                    );
                    assert!(found.is_ok() || found.err() == Some(NoKey::Misfit));
                }
            }
            for shared in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
                assert_eq!(keys.key(Some(id), shared).err(), Some(NoKey::Misfit));
                assert_eq!(keys.key(None, shared).err(), Some(NoKey::Unknown));
            }
            assert_eq!(keys.key(Some("x"), own[0]).err(), Some(NoKey::Unknown));
            assert!(keys.key(None, own[0]).is_ok());
        }
    }

    #[test]
    fn a_key_says_what_it_is_for() {
        let only = set(&[rsa(json!({"alg": "PS384", "key_ops": ["verify"]}))]);
        assert!(only.key(Some("r"), Algorithm::PS384).is_ok());
        assert_eq!(
            only.key(Some("r"), Algorithm::RS256).err(),
            Some(NoKey::Misfit)
        );
        for unusable in [
            rsa(json!({"use": "enc"})),
            rsa(json!({"key_ops": ["encrypt"]})),
            rsa(json!({"alg": "RSA-OAEP"})),
            rsa(json!({"alg": "HS256"})),
            rsa(json!({"alg": "ES256"})),
            rsa(json!({"n": text(128, 3)})),
            rsa(json!({"n": format!("AA{}", "A".repeat(340))})),
            rsa(json!({"n": text(1_025, 3)})),
            rsa(json!({"n": "not base64!"})),
            json!({"kty": "EC", "crv": "P-256", "x": text(31, 1), "y": text(32, 1)}),
            json!({"kty": "EC", "crv": "P-521", "x": text(66, 1), "y": text(66, 1)}),
            json!({"kty": "EC", "crv": "secp256k1", "x": text(32, 1), "y": text(32, 1)}),
            json!({"kty": "OKP", "crv": "X25519", "x": text(32, 1)}),
            json!({"kty": "oct", "k": text(32, 1)}),
            json!({"kty": "quantum"}),
            json!(7),
        ] {
            let keys = set(&[unusable.clone(), rsa(json!({}))]);
            assert_eq!(keys.len(), 1, "{unusable}");
        }
        // Leading zeros of a modulus are no part of the number.
        let padded = URL_SAFE_NO_PAD.encode([vec![0], vec![1; 256]].concat());
        assert_eq!(set(&[rsa(json!({ "n": padded }))]).len(), 1);
    }

    #[test]
    fn a_token_that_names_no_key_is_for_the_only_one_that_fits() {
        let two = set(&[rsa(json!({})), rsa(json!({"kid": "s"}))]);
        assert!(two.key(Some("s"), Algorithm::RS256).is_ok());
        assert_eq!(
            two.key(None, Algorithm::RS256).err(),
            Some(NoKey::Ambiguous)
        );
        let nameless = set(&[rsa(json!({ "kid": null }))]);
        assert!(nameless.key(None, Algorithm::RS256).is_ok());
        assert_eq!(
            nameless.key(Some("r"), Algorithm::RS256).err(),
            Some(NoKey::Unknown)
        );
    }

    #[test]
    fn a_set_is_bounded_and_may_be_empty() {
        assert_eq!(set(&[]).len(), 0);
        let many = vec![rsa(json!({})); MOST + 1];
        for wrong in [
            json!({ "keys": many }).to_string(),
            json!({"keys": {}}).to_string(),
            "[]".to_owned(),
            "<html>".to_owned(),
        ] {
            assert!(KeySet::read(wrong.as_bytes()).is_err());
        }
    }
}
