//! Locations of catalogs, what they answer, and the keys that they give.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::{Duration, SystemTime};

use serde_json::json;

use super::answers::{Loaded, Properties, read};
use super::error::CatalogError;
use super::signing::{self, Signer, Signs};
use super::{Api, Table, folders, vended};
use crate::access::{Access, Variables};
use crate::{Store, StoreErrorKind};

fn variables(pairs: &[(&str, &str)]) -> Variables {
    let owned = pairs
        .iter()
        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
    Variables::new(owned)
}

fn properties(pairs: &[(&str, &str)]) -> Properties {
    let owned = pairs
        .iter()
        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
    owned.collect()
}

fn opened(location: &str) -> Result<String, crate::StoreError> {
    Store::open_with(location, []).map(|store| store.url().to_owned())
}

#[test]
fn an_address_has_one_canonical_form() {
    for (location, url) in [
        (
            "iceberg+https://C.example/api/catalog/?warehouse=a%2Fb",
            "iceberg+https://c.example/api/catalog?warehouse=a%2Fb",
        ),
        (
            "ICEBERG+HTTPS://c.example:443?warehouse=s3://b/w#x",
            "iceberg+https://c.example/?warehouse=s3%3A%2F%2Fb%2Fw",
        ),
        (
            "iceberg+http://127.0.0.1:8181",
            "iceberg+http://127.0.0.1:8181/",
        ),
    ] {
        assert_eq!(opened(location).unwrap(), url);
        assert_eq!(opened(url).unwrap(), url);
    }
    for location in [
        "iceberg+https://",
        "iceberg+https://c.example/?warehouse=a&warehouse=b",
        "iceberg+https://c.example/?warehouse=",
        "iceberg+https://u:p@c.example/",
        "iceberg+ftp://c.example/",
    ] {
        let error = opened(location).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Configuration, "{location}");
    }
}

#[test]
fn what_lies_at_a_path_has_a_full_name() {
    let store = Store::open_with("iceberg+https://c.example/?warehouse=w", []).unwrap();
    let url = store.object_url("sales/orders");
    assert_eq!(url, "iceberg+https://c.example/?warehouse=w#sales/orders");
    assert!(store.is_catalog() && store.is_read_only());
}

#[test]
fn a_table_is_two_levels_or_more_of_a_path() {
    let found: Vec<_> = folders("a/b/c/data/x.parquet").collect();
    let expected = [
        ("a/b", "c/data/x.parquet"),
        ("a/b/c", "data/x.parquet"),
        ("a/b/c/data", "x.parquet"),
    ];
    assert_eq!(found, expected);
    assert_eq!(folders("a/b").count(), 0);
    assert!(folders(&"a/".repeat(1000)).count() <= super::MOST_LEVELS);
}

#[test]
fn folders_of_this_machine_are_for_catalogs_on_it_alone() {
    let root = |location: &str, is_here| vended::root_of(location, is_here).ok();
    let some = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
    assert_eq!(root("file:///etc", true), some("/etc", ""));
    assert_eq!(root("file:///etc", false), None);
    assert_eq!(root("/etc", false), None);
    assert_eq!(root("s3a://b/w/t/", false), some("s3://b", "w/t"));
    assert_eq!(
        root("abfss://c@a.dfs.core.windows.net/w", false),
        some("abfss://c@a.dfs.core.windows.net", "w")
    );
    for other in [
        "hdfs://n/w",
        "http://h/w",
        "memory://",
        "w",
        "iceberg+http://h/",
    ] {
        assert_eq!(root(other, true), None, "{other}");
    }
}

fn loaded(more: serde_json::Value) -> Loaded {
    let mut answer = json!({
        "metadata-location": "s3a://b/w/t/metadata/7.metadata.json",
        "metadata": {"location": "s3://b/w/t", "table-uuid": "7-7", "format-version": 2},
    });
    for (name, value) in more.as_object().unwrap() {
        answer[name] = value.clone();
    }
    read(answer.to_string().as_bytes()).unwrap()
}

#[test]
fn the_credentials_of_the_longest_prefix_open_a_table() {
    let of_all = properties(&[("s3.region", "all"), ("s3.endpoint", "https://all")]);
    let own = loaded(json!({
        "config": {"s3.region": "table", "number": 7, "nothing": null},
        "storage-credentials": [
            {"prefix": "s3://b/w/t", "config": {"s3.access-key-id": "long"}},
            {"prefix": "s3", "config": {"s3.access-key-id": "short"}},
            {"prefix": "s3://other/very/long/prefix", "config": {"s3.access-key-id": "other"}},
        ],
    }));
    let found = vended::settings(&of_all, &own, "s3://b/w/t");
    assert_eq!(found["s3.access-key-id"], "long");
    assert_eq!(
        (&*found["s3.region"], &*found["s3.endpoint"]),
        ("table", "https://all")
    );
    assert_eq!(found["number"], "7");
}

#[test]
fn an_endpoint_of_the_catalog_gets_the_catalogs_credentials_or_nobody() {
    let keys = properties(&[
        ("s3.access-key-id", "id"),
        ("s3.secret-access-key", "secret"),
        ("s3.session-token", "token"),
        ("s3.endpoint", "http://store.example"),
        ("s3.path-style-access", "true"),
        ("client.region", "here"),
        ("adls.sas-token.account.dfs.core.windows.net", "sas"),
        ("gcs.oauth2.token", "google"),
    ]);
    let names = |found: Vec<(String, String)>| {
        let names: Vec<String> = found.into_iter().map(|(name, _)| name).collect();
        names
    };
    let own = vended::variables(&keys, true, true).unwrap();
    assert_eq!(own, [("AWS_REGION".to_owned(), "here".to_owned())]);
    let given = names(vended::variables(&keys, false, false).unwrap());
    for name in [
        "AWS_ENDPOINT_URL",
        "AWS_SESSION_TOKEN",
        "AZURE_STORAGE_SAS_KEY",
    ] {
        assert!(given.iter().any(|it| it == name), "{given:?}");
    }
    // A catalog that is asked encrypted does not have its keys sent in the clear.
    let error = vended::variables(&keys, false, true).unwrap_err();
    assert!(matches!(error, CatalogError::Refused { .. }), "{error}");
    let endpoint = properties(&[("s3.endpoint", "https://evil.example")]);
    assert_eq!(vended::variables(&endpoint, false, true).unwrap(), []);
    // What the environment sets stays.
    let set = variables(&[("AWS_REGION", "there")]).and(own);
    assert_eq!(set.get("AWS_REGION"), Some("there"));
}

#[test]
fn credentials_are_asked_for_where_the_environment_has_none() {
    let access = Access::default();
    assert!(!vended::has_own(
        &access,
        &variables(&[("AWS_REGION", "x")])
    ));
    let set = variables(&[("AWS_ACCESS_KEY_ID", "x")]);
    assert!(vended::has_own(&access, &set));
    let anonymous = Access {
        anonymous: true,
        ..access
    };
    assert!(vended::has_own(&anonymous, &variables(&[])));
}

#[test]
fn what_a_catalog_says_holds_no_longer_than_its_credentials() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    let until = |end: &str| {
        let settings = properties(&[("s3.session-token-expires-at-ms", end)]);
        let until = vended::holds_until(&settings, now);
        let until = until.duration_since(SystemTime::UNIX_EPOCH);
        until.unwrap_or_default().as_secs()
    };
    assert_eq!(until("1000300000"), 1_000_240);
    assert_eq!(until("9000000000000"), 1_000_900);
    assert_eq!(until("0"), 0);
    assert_eq!(until("18446744073709551615"), 1_000_900);
    assert_eq!(until("soon"), 1_000_900);
}

#[test]
fn metadata_outside_of_the_tables_location_are_refused() {
    let api = Api {
        root: url::Url::parse("https://c.example/v1").unwrap(),
        of_all: Properties::new(),
        signer: None,
    };
    let table = |more| Table::of(&loaded(more), &api, false);
    let found = table(json!({})).unwrap();
    assert_eq!(found.metadata_path, "w/t/metadata/7.metadata.json");
    assert_eq!(found.etag(), "\"s3://b/w/t/metadata/7.metadata.json#7-7\"");
    for location in [
        "s3://b/w/t2/7.metadata.json",
        "s3://b/w/t/../7",
        "/etc/passwd",
        "s3://b/w/t",
    ] {
        let found = table(json!({"metadata-location": location}));
        assert!(
            matches!(found, Err(CatalogError::Refused { .. })),
            "{location}"
        );
    }
}

#[test]
fn requests_are_signed_to_awss_own_catalogs_and_to_the_host_that_is_named() {
    for (host, found) in [
        ("glue.eu-west-1.amazonaws.com", Some(("glue", "eu-west-1"))),
        (
            "s3tables.us-east-2.amazonaws.com",
            Some(("s3tables", "us-east-2")),
        ),
        (
            "glue-fips.us-east-2.amazonaws.com",
            Some(("glue", "us-east-2")),
        ),
        (
            "glue.cn-north-1.amazonaws.com.cn",
            Some(("glue", "cn-north-1")),
        ),
        ("s3.eu-west-1.amazonaws.com", None),
        ("glue.evil.vpce.amazonaws.com", None),
        ("glue.eu-west-1.amazonaws.com.evil.example", None),
        ("glueXeu-west-1.amazonaws.com", None),
    ] {
        assert_eq!(signing::of_aws(host), found, "{host}");
    }
    let set = variables(&[
        ("LIMN_ICEBERG_SIGNING_NAME", "execute-api"),
        ("LIMN_ICEBERG_SIGNING_REGION", "here"),
    ]);
    let of_user = |address: &str, is_named, access: &Access| {
        let base = url::Url::parse(address).unwrap();
        let (signs, settings) = signing::of_user(&base, is_named, access, &set);
        (signs, settings.get("rest.signing-name").cloned())
    };
    let access = Access::default();
    let glue = "https://glue.eu-west-1.amazonaws.com/iceberg";
    let name = |name: &str| Some(name.to_owned());
    assert_eq!(of_user(glue, false, &access), (Signs::Yes, name("glue")));
    let other = "https://c.example";
    assert_eq!(of_user(other, false, &access), (Signs::NotNamed, None));
    assert_eq!(
        of_user(other, true, &access),
        (Signs::Yes, name("execute-api"))
    );
    let plain = "http://glue.eu-west-1.amazonaws.com";
    assert_eq!(of_user(plain, false, &access), (Signs::NotNamed, None));
    let anonymous = Access {
        anonymous: true,
        ..access
    };
    assert_eq!(of_user(glue, true, &anonymous), (Signs::Anonymous, None));
}

#[tokio::test]
async fn a_signature_is_for_what_the_catalog_says_and_leaves_the_token_in_place() {
    let set = variables(&[
        ("AWS_ACCESS_KEY_ID", "AKID"),
        ("AWS_SECRET_ACCESS_KEY", "sEcReT"),
        ("AWS_SESSION_TOKEN", "sEsSiOn"),
        ("AWS_REGION", "of-s3"),
        ("AWS_ENDPOINT_URL", "http://of.s3"),
    ]);
    let signer = |pairs: &[(&str, &str)], signs| {
        Signer::of(&properties(pairs), signs, &Access::default(), &set)
    };
    let enabled = ("rest.sigv4-enabled", "true");
    assert!(
        signer(&[("rest.signing-name", "glue")], Signs::Yes)
            .unwrap()
            .is_none()
    );
    let refused = signer(&[enabled], Signs::NotNamed).unwrap_err();
    assert!(matches!(refused, CatalogError::Unsigned(_)), "{refused}");
    for odd in ["glue\nHost: x", "", "a/b"] {
        let refused = signer(&[enabled, ("rest.signing-name", odd)], Signs::Yes);
        assert!(
            matches!(refused, Err(CatalogError::Refused { .. })),
            "{odd}"
        );
    }
    for (settings, scope) in [
        (vec![enabled], "/of-s3/execute-api/aws4_request"),
        (
            vec![
                ("rest.auth.type", "sigv4"),
                ("rest.signing-region", "own"),
                ("rest.signing-name", "glue"),
            ],
            "/own/glue/aws4_request",
        ),
    ] {
        let signer = signer(&settings, Signs::Yes).unwrap().unwrap();
        let url = url::Url::parse("https://c.example/v1/namespaces?parent=a+b").unwrap();
        let url = signing::plain_query(&url);
        assert_eq!(url.query(), Some("parent=a%20b"));
        let mut headers = http::HeaderMap::new();
        headers.insert("authorization", "Bearer own".parse().unwrap());
        let secrets = signer.sign(&url, &mut headers).await.unwrap();
        let signed = headers["authorization"].to_str().unwrap();
        assert!(
            signed.starts_with("AWS4-HMAC-SHA256 Credential=AKID/"),
            "{signed}"
        );
        assert!(signed.contains(scope), "{signed}");
        assert_eq!(headers["original-authorization"], "Bearer own");
        assert_eq!(headers["x-amz-security-token"], "sEsSiOn");
        let shown = format!("{headers:?} {signer:?}");
        assert!(
            !shown.contains("sEsSiOn") && !shown.contains("sEcReT"),
            "{shown}"
        );
        assert_eq!(secrets.len(), 3);
    }
}

#[test]
fn errors_quote_nothing_of_an_answer() {
    for answer in [
        r#"{"access_token": {"sEcReT": 1}}"#,
        r#"{"access_token": sEcReT"#,
        "sEcReT",
    ] {
        let error = read::<super::answers::Granted>(answer.as_bytes())
            .err()
            .unwrap();
        assert!(!error.to_string().contains("sEcReT"), "{error}");
    }
}

proptest::proptest! {
    #[test]
    fn whatever_a_catalog_says_a_metadata_file_lies_below_its_table(
        location in "(s3://b|s3a://b|gs://b|file://|/)(/[a-z.]{1,2}){0,3}/?",
        metadata in "(s3://b|s3a://b|gs://b|file://|/)?(/[a-z.%]{0,2}){0,5}",
        is_below in proptest::bool::ANY,
        is_here in proptest::bool::ANY,
    ) {
        let api = Api {
            root: url::Url::parse("https://c.example/v1").unwrap(),
            of_all: Properties::new(),
            signer: None,
        };
        let named = match is_below {
            true => format!("{location}{metadata}"),
            false => metadata,
        };
        let more = json!({"metadata-location": named, "metadata": {"location": location}});
        if let Ok(table) = Table::of(&loaded(more), &api, is_here) {
            let below = table.metadata_path.strip_prefix(&table.prefix).unwrap();
            let below = below.strip_prefix('/').unwrap_or(below);
            proptest::prop_assert!(!below.is_empty(), "{named}");
            proptest::prop_assert!(!below.split('/').any(|it| matches!(it, "" | "." | "..")), "{named}");
            proptest::prop_assert!(is_here || !table.root.starts_with('/'), "{named}");
        }
    }
}
