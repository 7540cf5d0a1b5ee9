//! One conformance suite for every store that needs no server, and what only local disks can do.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod odd_keys;

use std::time::{Duration, Instant};

use proptest::prelude::*;

use bytes::Bytes;
use futures::stream::{StreamExt, TryStreamExt};

use super::*;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

async fn paths(store: &Store, prefix: &str) -> Vec<String> {
    store
        .list(prefix)
        .map_ok(|info| info.path)
        .try_collect()
        .await
        .unwrap()
}

/// What every store must do. `ordered`: whether listings are in the order of full keys, as they are
/// on S3 itself.
async fn conformance(store: Store, ordered: bool) {
    let odd = "a dir/ü %2F%41 (1)+&='~.csv";
    store
        .put(odd, Bytes::from_static(b"0123456789"))
        .await
        .unwrap();
    assert_eq!(store.get(odd).await.unwrap(), "0123456789");
    assert_eq!(store.get_range(odd, 2..4).await.unwrap(), "23");
    assert_eq!(store.get_range(odd, 8..99).await.unwrap(), "89");
    assert_eq!(store.get_range(odd, 4..4).await.unwrap(), "");
    assert_eq!(store.get_tail(odd, 3).await.unwrap(), ("789".into(), 10));
    assert_eq!(
        store.get_tail(odd, 99).await.unwrap(),
        ("0123456789".into(), 10)
    );
    let info = store.head(odd).await.unwrap();
    assert_eq!((info.path.as_str(), info.size), (odd, 10));
    let listed: Vec<ObjectInfo> = store.list("").try_collect().await.unwrap();
    assert_eq!(listed, [info], "a listing and a head request agree");

    store.put("empty", Bytes::new()).await.unwrap();
    assert_eq!(store.get_tail("empty", 5).await.unwrap(), (Bytes::new(), 0));

    for path in ["b/x", "b.csv", "b-c/y", "b/a/z", "bb"] {
        store.put(path, Bytes::from_static(b"1")).await.unwrap();
    }
    let mut expected = vec![odd, "empty", "b/x", "b.csv", "b-c/y", "b/a/z", "bb"];
    expected.sort_unstable();
    let mut listed = paths(&store, "").await;
    if !ordered {
        listed.sort_unstable();
    }
    assert_eq!(listed, expected, "the order of full keys");
    assert_eq!(paths(&store, "b").await, ["b/a/z", "b/x"]);
    assert_eq!(paths(&store, "b/").await, ["b/a/z", "b/x"]);
    assert!(paths(&store, "no such folder").await.is_empty());

    assert_eq!(
        store.put_if_absent("once", "first".into()).await.unwrap(),
        PutOutcome::Created
    );
    assert_eq!(
        store.put_if_absent("once", "second".into()).await.unwrap(),
        PutOutcome::Exists
    );
    assert_eq!(store.get("once").await.unwrap(), "first");

    store.delete("once").await.unwrap();
    store.delete("once").await.unwrap();
    for error in [
        store.get("once").await.unwrap_err(),
        store.get_range("once", 0..1).await.unwrap_err(),
        store.get_tail("once", 1).await.unwrap_err(),
        store.head("once").await.unwrap_err(),
        store.get("b/../b.csv").await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), StoreErrorKind::NotFound, "{error}");
        assert!(!error.is_retryable());
    }
    let text = store.get("once").await.unwrap_err().to_string();
    assert_eq!(
        text,
        format!(
            "{}: does not exist; check the path",
            store.object_url("once")
        )
    );
}

/// Of many writers at once exactly one creates, and what is there is the winner's.
async fn one_winner(store: Store) {
    for round in 0..20 {
        let path = format!("race/{round}");
        let writers: Vec<_> = (0..8)
            .map(|writer: u32| {
                let (store, path) = (store.clone(), path.clone());
                tokio::spawn(async move {
                    let content = Bytes::from(writer.to_string().repeat(10_000));
                    (writer, store.put_if_absent(&path, content).await.unwrap())
                })
            })
            .collect();
        let mut winners = Vec::new();
        for writer in writers {
            let (writer, outcome) = writer.await.unwrap();
            if outcome == PutOutcome::Created {
                winners.push(writer);
            }
        }
        assert_eq!(winners.len(), 1, "{winners:?}");
        let content = store.get(&path).await.unwrap();
        assert_eq!(content, winners[0].to_string().repeat(10_000));
    }
    assert_eq!(
        paths(&store, "race").await.len(),
        20,
        "nothing is left behind"
    );
}

#[test]
fn memory_conforms() {
    runtime().block_on(async {
        conformance(Store::in_memory(), true).await;
        one_winner(Store::in_memory()).await;
    });
}

#[test]
fn local_disk_conforms() {
    runtime().block_on(async {
        let dir = tempfile::tempdir().unwrap();
        // The root itself has an odd name and does not exist yet.
        let root = dir.path().join("r %41 #x/ü");
        let store = Store::open(root.to_str().unwrap()).unwrap();
        conformance(store.clone(), true).await;
        one_winner(store.clone()).await;
        assert_eq!(store.local_root().unwrap(), root.canonicalize().unwrap());
        let url = url::Url::from_file_path(&root).unwrap();
        assert_eq!(Store::open(url.as_str()).unwrap().url(), store.url());
    });
}

/// Against a running S3-compatible server: `AWS_*` name it, `LIMN_TEST_S3` an existing bucket and a
/// fresh prefix (`s3://bucket/prefix`).
#[test]
#[ignore = "needs an S3-compatible server"]
fn s3_conforms() {
    runtime().block_on(async {
        let location = std::env::var("LIMN_TEST_S3").unwrap();
        let at = |part: &str| Store::open(&format!("{location}/{part}")).unwrap();
        let start = Instant::now();
        conformance(at("conformance ü"), false).await;
        println!("conformance {:?}", start.elapsed());
        one_winner(at("race")).await;
        println!("races {:?}", start.elapsed());

        let large = at("large");
        let content = Bytes::from((0..40_000_000u32).map(|i| i as u8).collect::<Vec<u8>>());
        large.put("object", content.clone()).await.unwrap();
        assert_eq!(large.get("object").await.unwrap(), content);
        assert_eq!(large.counts().put, 5, "begin, three parts, complete");

        let missing = Store::open("s3://no-such-bucket-there/x").unwrap();
        let error = missing.list("").try_collect::<Vec<_>>().await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::NoSuchBucket, "{error}");
        assert!(!error.to_string().contains('\n'));
        println!("{error}");
        // A single object's answer may say no more than that it is not there.
        let error = missing.get("a").await.unwrap_err();
        assert!(matches!(
            error.kind(),
            StoreErrorKind::NoSuchBucket | StoreErrorKind::NotFound
        ));
        let variables = std::env::vars().map(|(name, value)| match name.as_str() {
            "AWS_SECRET_ACCESS_KEY" => (name, "wrongSeCrEt".to_owned()),
            _ => (name, value),
        });
        let wrong = Store::open_with(&location, variables).unwrap();
        for error in [
            wrong.list("").try_collect::<Vec<_>>().await.unwrap_err(),
            wrong.get("a").await.unwrap_err(),
            wrong.head("a").await.unwrap_err(),
            wrong.put_if_absent("a", Bytes::new()).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), StoreErrorKind::AccessDenied, "{error}");
            assert!(!format!("{error}{error:?}").contains("wrongSeCrEt"));
            println!("{error}");
        }
    });
}

#[test]
fn a_missing_lake_is_reported_and_a_file_is_no_lake() {
    runtime().block_on(async {
        let dir = tempfile::tempdir().unwrap();
        let missing = Store::open(dir.path().join("none").to_str().unwrap()).unwrap();
        let items: Vec<_> = missing.list("").collect().await;
        assert_eq!(items.len(), 1);
        let error = items[0].as_ref().unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::NotFound);
        assert!(
            error
                .to_string()
                .ends_with("none: this folder does not exist; check the path")
        );
        std::fs::write(dir.path().join("a.csv"), "x").unwrap();
        let file = Store::open(dir.path().join("a.csv").to_str().unwrap()).unwrap();
        let error = file.list("").try_collect::<Vec<_>>().await.unwrap_err();
        assert!(
            error.to_string().contains("is a file, not a folder"),
            "{error}"
        );
    });
}

#[test]
fn one_bad_entry_costs_itself_only() {
    use std::os::unix::ffi::OsStrExt;
    runtime().block_on(async {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        std::fs::create_dir_all(root.join("loop/inner")).unwrap();
        std::os::unix::fs::symlink(root.join("loop"), root.join("loop/inner/up")).unwrap();
        std::os::unix::fs::symlink(root.join("gone"), root.join("broken")).unwrap();
        std::fs::create_dir(root.join("elsewhere")).unwrap();
        std::fs::write(root.join("elsewhere/t.csv"), "x").unwrap();
        std::os::unix::fs::symlink(root.join("elsewhere"), root.join("link")).unwrap();
        std::fs::write(root.join("loop/a.csv"), "x").unwrap();
        std::fs::write(root.join(std::ffi::OsStr::from_bytes(b"bad\xff.csv")), "x").unwrap();
        std::fs::write(root.join("line\nbreak.csv"), "x").unwrap();
        std::fs::write(root.join("z.csv#12"), "being written").unwrap();
        std::fs::write(root.join("z.csv"), "x").unwrap();
        let store = Store::open(root.to_str().unwrap()).unwrap();
        let items: Vec<_> = store.list("").collect().await;
        let found: Vec<_> = items.iter().flatten().map(|i| i.path.as_str()).collect();
        assert_eq!(
            found,
            ["elsewhere/t.csv", "link/t.csv", "loop/a.csv", "z.csv"]
        );
        let wrong: Vec<_> = items.iter().filter_map(|i| i.as_ref().err()).collect();
        assert_eq!(wrong.len(), 3, "{wrong:?}");
        for error in wrong {
            assert_eq!(error.kind(), StoreErrorKind::Entry);
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    });
}

#[test]
fn links_stay_within_the_root() {
    use std::os::unix::fs::symlink;
    runtime().block_on(async {
        let dir = tempfile::tempdir().unwrap();
        let (root, outside) = (dir.path().join("lake"), dir.path().join("outside"));
        std::fs::create_dir_all(root.join("a")).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("secret.csv"), "x").unwrap();
        std::fs::write(root.join("a/t.csv"), "x").unwrap();
        symlink("/", root.join("everything")).unwrap();
        symlink(&outside, root.join("folder")).unwrap();
        symlink("../../outside/secret.csv", root.join("a/file.csv")).unwrap();
        symlink(root.join("a/t.csv"), root.join("within.csv")).unwrap();
        let store = Store::open(root.to_str().unwrap()).unwrap();
        let items: Vec<_> = store.list("").collect().await;
        let found: Vec<_> = items.iter().flatten().map(|i| i.path.as_str()).collect();
        assert_eq!(found, ["a/t.csv", "within.csv"]);
        let wrong: Vec<_> = items.iter().filter_map(|i| i.as_ref().err()).collect();
        assert_eq!(wrong.len(), 3, "{wrong:?}");
        assert!(wrong.iter().all(|e| e.kind() == StoreErrorKind::Entry));
        assert!(
            wrong
                .iter()
                .all(|e| e.cause().contains("outside this folder"))
        );
        let items: Vec<_> = store.list("folder").collect().await;
        assert!(matches!(&items[..], [Err(e)] if e.kind() == StoreErrorKind::Entry));
        assert!(store.list("a").next().await.is_some());
    });
}

/// Thirty folders of two links to the next would be a billion paths.
#[test]
fn links_do_not_multiply() {
    runtime().block_on(async {
        let dir = tempfile::tempdir().unwrap();
        let folder = |i: u32| dir.path().join(format!("d{i:02}"));
        for i in 0..30 {
            std::fs::create_dir(folder(i)).unwrap();
            for name in ["x", "y"] {
                std::os::unix::fs::symlink(folder(i + 1), folder(i).join(name)).unwrap();
            }
        }
        std::fs::create_dir(folder(30)).unwrap();
        std::fs::write(folder(30).join("t.csv"), "x").unwrap();
        let store = Store::open(dir.path().to_str().unwrap()).unwrap();
        let items: Vec<_> = store.list("").take(10_000).collect().await;
        assert!(items.len() < 100, "{}", items.len());
        assert!(items.iter().flatten().any(|i| i.path == "d30/t.csv"));
    });
}

#[test]
fn only_a_number_after_the_last_hash_is_a_write_in_progress() {
    runtime().block_on(async {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a#1.csv", "a#b.csv#12", "c#1#x.csv"] {
            std::fs::write(dir.path().join(name), "x").unwrap();
        }
        let store = Store::open(dir.path().to_str().unwrap()).unwrap();
        assert_eq!(paths(&store, "").await, ["a#1.csv", "c#1#x.csv"]);
    });
}

#[test]
fn a_key_says_nothing_about_the_failure() {
    let store = Store::open_with("s3://lake/x", []).unwrap();
    for path in [
        "NoSuchBucket.csv",
        "403 Forbidden/PermanentRedirect.csv",
        "latest/api/token.csv",
        "timed out.csv",
    ] {
        let error = object_store::Error::NotFound {
            path: format!("x/{path}"),
            source: format!("GET http://s3/lake/x/{}", path.replace(' ', "%20")).into(),
        };
        let wrong = store.explain(path, &error);
        assert_eq!(wrong.kind(), StoreErrorKind::NotFound, "{wrong}");
        // The same words from the store itself.
        let error = object_store::Error::NotFound {
            path: format!("x/{path}"),
            source: "<Code>NoSuchBucket</Code>".into(),
        };
        let wrong = store.explain(path, &error);
        assert_eq!(wrong.kind(), StoreErrorKind::NoSuchBucket, "{wrong}");
    }
}

#[test]
fn a_local_listing_is_paged() {
    runtime().block_on(async {
        let dir = tempfile::tempdir().unwrap();
        for i in 0..2001 {
            std::fs::write(dir.path().join(format!("{i}")), "").unwrap();
        }
        let store = Store::open(dir.path().to_str().unwrap()).unwrap();
        let mut listing = store.list("");
        listing.next().await.unwrap().unwrap();
        assert_eq!(
            store.counts().list,
            1,
            "later pages are read when asked for"
        );
        assert_eq!(listing.count().await, 2000);
        assert_eq!(store.counts().list, 3);
    });
}

#[test]
fn a_refused_connection_fails_within_seconds_with_one_line() {
    runtime().block_on(async {
        let variables = [
            ("AWS_ENDPOINT_URL", "http://127.0.0.1:9"),
            ("AWS_ACCESS_KEY_ID", "AKIATEST"),
            ("AWS_SECRET_ACCESS_KEY", "sEcReTvAlUe"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let store = Store::open_with("s3://lake/x", variables).unwrap();
        let start = Instant::now();
        let error = store.list("").try_collect::<Vec<_>>().await.unwrap_err();
        assert!(start.elapsed() < Duration::from_secs(10));
        assert_eq!(error.kind(), StoreErrorKind::Unreachable);
        assert!(error.is_retryable());
        assert_eq!(
            error.to_string(),
            "s3://lake/x: cannot reach http://127.0.0.1:9: connection refused; check \
             AWS_ENDPOINT_URL and that the server runs"
        );
        let error = store.get("a").await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unreachable);
        let shown = format!("{store:?} {error:?}");
        assert!(!shown.contains("sEcReTvAlUe") && !shown.contains("AKIATEST"));
    });
}

proptest! {
    /// Any relative path a listing may yield becomes a key and comes back.
    #[test]
    fn keys_round_trip(root in "[a-z%# ]{1,8}", parts in prop::collection::vec("[^/\\p{Cc}]{1,12}", 1..4)) {
        prop_assume!(parts.iter().all(|p| p != "." && p != ".."));
        let path = parts.join("/");
        let local = Store::open(&format!("/nowhere/{root}")).unwrap();
        let remote = Store::open_with(&format!("s3://bucket/{root}"), []).unwrap();
        for store in [Store::in_memory(), local, remote] {
            prop_assert_eq!(store.relative(&store.key(&path)), Some(path.clone()));
            prop_assert_eq!(store.relative(&Path::from("other/place")).is_some(), store.url() == "memory://");
        }
    }

    /// Nothing escapes the root.
    #[test]
    fn no_path_leaves_the_root(path in "[./a]{0,12}") {
        let store = Store::open("/nowhere/root").unwrap();
        let key = store.key(&path);
        prop_assert!(key.as_ref() == "nowhere/root" || key.as_ref().starts_with("nowhere/root/"));
        prop_assert!(!key.parts().any(|p| p.as_ref() == ".."));
    }
}
