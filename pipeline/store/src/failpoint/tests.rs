#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::Store;

fn point(text: &str) -> Result<Failpoint, StoreError> {
    Failpoint::parse(text, Path::from("root"), None)
}

#[test]
fn the_nth_request_of_its_kind_and_folder_is_hit() {
    let point = point("put segments/ 2 before").unwrap();
    let hit = |operation, moment, key| point.is_hit(moment, operation, key);
    use {Moment::*, Operation::*};
    assert!(!hit(Put, Before, "root/segments/0/a.seg"));
    assert!(!hit(Put, After, "root/segments/0/a.seg"));
    assert!(!hit(PutIfAbsent, Before, "root/segments/0/a.seg"));
    assert!(!hit(Put, Before, "root/catalog/segments/a"));
    assert!(hit(Put, Before, "root/segments/0/b.seg"));
    assert!(!hit(Put, Before, "root/segments/0/c.seg"));
}

#[test]
fn a_prefix_of_a_slash_is_any_path() {
    let point = point("list / 1 after").unwrap();
    assert!(point.is_hit(Moment::After, Operation::List, "root/"));
}

#[test]
fn what_is_no_failpoint_is_an_error_of_one_line() {
    for text in [
        "",
        "put",
        "put segments/ 0 before",
        "put segments/ x before",
        "put segments/ 1 later",
        "push segments/ 1 before",
        "put segments/ 1 before now",
        "record /no/such/folder/x",
    ] {
        let error = point(text).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Configuration, "{text}");
        assert!(!error.to_string().contains('\n'), "{error}");
        let variables = [(VARIABLE.to_owned(), text.to_owned())];
        assert!(Store::open_with("memory://", variables).is_err(), "{text}");
    }
}

#[tokio::test]
async fn requests_are_recorded_by_kind_and_path() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record");
    for location in ["memory://", folder.path().join("local").to_str().unwrap()] {
        let _ = std::fs::remove_file(&record);
        let text = format!("record {}", record.display());
        let store = Store::open_with(location, [(VARIABLE.to_owned(), text)]).unwrap();
        store.put("a/x", "1".into()).await.unwrap();
        store.put_if_absent("a/y", "2".into()).await.unwrap();
        store.head("a/x").await.unwrap();
        store.get_range("a/x", 0..1).await.unwrap();
        assert_eq!(store.list("a").count().await, 2);
        store.list("").count().await;
        store.delete("a/x").await.unwrap();
        let recorded = std::fs::read_to_string(&record).unwrap();
        let lines: Vec<&str> = recorded.lines().collect();
        let wanted = [
            "put a/x",
            "put-if-absent a/y",
            "head a/x",
            "get a/x",
            "list a/",
            "list ",
            "delete a/x",
        ];
        assert_eq!(lines, wanted, "{location}");
    }
}
