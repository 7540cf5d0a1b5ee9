#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::os::unix::fs::PermissionsExt;

use super::*;

/// A file with this content and mode in a folder of its own.
fn file(content: &[u8], mode: u32) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("cluster.key");
    std::fs::write(&path, content).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    (folder, path)
}

fn refusal(content: &[u8], mode: u32) -> String {
    let (_folder, path) = file(content, mode);
    ClusterKey::read(&path).unwrap_err().to_string()
}

fn public(secret: &[u8]) -> Vec<u8> {
    let pair = rustls::crypto::ring::sign::any_eddsa_type(&private_key(secret).unwrap()).unwrap();
    pair.public_key().unwrap().to_vec()
}

#[test]
fn a_secret_makes_one_key_pair() {
    let secret = b"0123456789abcdef0123456789abcdef";
    assert_eq!(public(secret), public(secret));
    let mut other = *secret;
    other[31] ^= 1;
    assert_ne!(public(secret), public(&other));
    // RFC 5869 by hand: another limn has the same.
    let hmac = |key: &[u8], message: &[u8]| {
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key);
        ring::hmac::sign(&key, message)
    };
    let extracted = hmac(b"limn cluster key 1", secret);
    let expanded = hmac(extracted.as_ref(), b"ed25519\x01");
    let made = private_key(secret).unwrap();
    assert_eq!(&made.secret_pkcs8_der()[16..], expanded.as_ref());
}

#[test]
fn only_secrets_that_nobody_else_reads_are_keys() {
    let secret = [b'k'; 32];
    let (_folder, path) = file(&secret, 0o600);
    ClusterKey::read(&path).unwrap();
    for mode in [0o604, 0o602, 0o644, 0o660, 0o666] {
        let said = refusal(&secret, mode);
        assert!(
            said.starts_with("other users may read or change"),
            "{mode:o}: {said}"
        );
        assert!(said.contains("chmod 600"), "{said}");
    }
    assert!(refusal(&[b'k'; 31], 0o600).contains("has 31 bytes, and needs at least 32"));
    let padded = [&[b'k'; 31][..], b"\n \r\n"].concat();
    assert!(refusal(&padded, 0o600).contains("has 31 bytes"));
    assert!(refusal(&[b'k'; 70_000], 0o600).contains("longer than 65536 bytes"));
    let said = ClusterKey::read(Path::new("/nowhere/cluster.key")).unwrap_err();
    assert!(
        said.to_string()
            .starts_with("cannot read the cluster key /nowhere"),
        "{said}"
    );
}

#[test]
fn the_key_is_not_printed() {
    let key = ClusterKey::of(&[b'k'; 32]).unwrap();
    assert_eq!(format!("{key:?}"), "ClusterKey");
}
