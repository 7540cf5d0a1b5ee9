//! docs/openapi.json is what the code describes. After a change of the API:
//! `LIMN_WRITE_OPENAPI=1 cargo test --release --workspace --test end_to_end openapi`.

use limn_tests::repository;

#[test]
fn the_description_that_is_kept_is_that_of_the_code() {
    let path = repository().join("docs/openapi.json");
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
