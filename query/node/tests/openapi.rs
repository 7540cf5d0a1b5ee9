//! docs/openapi.json is what the code describes. After a change of the API:
//! `LIMN_WRITE_OPENAPI=1 cargo test --release --workspace --test openapi`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;

#[test]
fn the_description_that_is_kept_is_that_of_the_code() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let path = Path::new(&folder).join("../../docs/openapi.json");
    let described = limn_node::http::openapi().to_pretty_json().unwrap() + "\n";
    if std::env::var_os("LIMN_WRITE_OPENAPI").is_some() {
        std::fs::write(&path, &described).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == described,
        "docs/openapi.json is of other code: see the head of this test"
    );
}
