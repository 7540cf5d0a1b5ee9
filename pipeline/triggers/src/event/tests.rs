#![allow(clippy::unwrap_used)]

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use limn_store::Store;

static LAKE: LazyLock<LakeRoot> =
    LazyLock::new(|| LakeRoot::of(&Store::open_with("s3://lake/raw", []).unwrap()));

fn hinted(message: &Value) -> Result<Hints, Unreadable> {
    read(message.to_string().as_bytes(), &LAKE)
}

fn record(name: &str, bucket: &str, key: &str) -> Value {
    json!({
        "eventVersion": "2.1", "eventSource": "aws:s3", "eventName": name,
        "s3": {"bucket": {"name": bucket}, "object": {"key": key, "size": 3}},
    })
}

fn event(kind: &str, key: &str) -> Value {
    json!({
        "version": "0", "source": "aws.s3", "detail-type": kind,
        "detail": {"bucket": {"name": "lake"}, "object": {"key": key, "size": 3}},
    })
}

#[test]
fn notifications_of_s3_name_objects_encoded() {
    let message = json!({"Records": [
        record("ObjectCreated:Put", "lake", "raw/a+b/%C3%BC%2B1.csv"),
        record("s3:ObjectCreated:CompleteMultipartUpload", "lake", "raw/c.parquet"),
        record("ObjectRemoved:DeleteMarkerCreated", "lake", "raw/d.csv"),
        record("LifecycleExpiration:Delete", "lake", "raw/e.csv"),
        record("Something:New", "lake", "raw/f.csv"),
        record("ObjectTagging:Put", "lake", "raw/g.csv"),
        record("ObjectCreated:Put", "other", "raw/h.csv"),
        record("ObjectCreated:Put", "lake", "cooked/i.csv"),
        record("ObjectCreated:Put", "lake", "raw/%FF.csv"),
        record("ObjectCreated:Put", "lake", "raw/folder/"),
    ]});
    let expected = ["a b/ü+1.csv", "c.parquet", "d.csv", "e.csv", "f.csv"];
    let all = hinted(&message).unwrap();
    assert_eq!(
        (all.objects, all.ignored),
        (expected.map(str::to_owned).into(), 5)
    );
}

#[test]
fn events_of_eventbridge_name_objects_as_they_are() {
    let one = hinted(&event("Object Created", "raw/a+b/%20.csv")).unwrap();
    assert_eq!(one.objects, ["a+b/%20.csv"]);
    let several = json!([
        event("Object Deleted", "raw/a.csv"),
        event("Object Tags Added", "raw/b.csv"),
        {"source": "aws.ec2", "detail": {"state": "running"}},
    ]);
    let several = hinted(&several).unwrap();
    assert_eq!(
        (several.objects, several.ignored),
        (vec!["a.csv".to_owned()], 2)
    );
}

#[test]
fn envelopes_of_sns_are_opened_once() {
    let wrap = |message: &Value| json!({"Type": "Notification", "TopicArn": "arn:x", "Message": message.to_string()});
    let inner = json!({"Records": [record("ObjectCreated:Put", "lake", "raw/a.csv")]});
    assert_eq!(hinted(&wrap(&inner)).unwrap().objects, ["a.csv"]);
    let inner = event("Object Created", "raw/b.csv");
    assert_eq!(hinted(&wrap(&inner)).unwrap().objects, ["b.csv"]);
    assert_eq!(hinted(&wrap(&wrap(&inner))), Err(Unreadable::Unknown));
    let plain = json!({"Type": "Notification", "Message": "disk full"});
    assert!(matches!(hinted(&plain), Err(Unreadable::Json(_))));
}

#[test]
fn a_test_event_hints_at_nothing_and_a_confirmation_is_refused() {
    let test = json!({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "lake"});
    let nothing = hinted(&test).unwrap();
    assert_eq!((nothing.events(), nothing.ignored), (0, 1));
    let confirm = json!({
        "Type": "SubscriptionConfirmation", "Token": "x",
        "SubscribeURL": "http://169.254.169.254/latest/meta-data",
    });
    assert_eq!(hinted(&confirm), Err(Unreadable::Confirmation));
}

#[test]
fn our_own_form() {
    let own = hinted(&json!({"objects": ["a/b.csv", "../x", "/etc/passwd", ""]})).unwrap();
    assert_eq!((own.objects, own.ignored), (vec!["a/b.csv".to_owned()], 3));
    assert!(hinted(&json!({"everything": true})).unwrap().everything);
    assert!(matches!(
        hinted(&json!({"objects": [], "all": 1})),
        Err(Unreadable::Shape { .. })
    ));
}

#[test]
fn a_message_is_read_whole_or_not_at_all() {
    let records =
        json!({"Records": [record("ObjectCreated:Put", "lake", "raw/a.csv"), {"ses": {}}]});
    let error = hinted(&records).unwrap_err().to_string();
    assert!(
        error.contains("a notification of S3") && error.contains("s3"),
        "{error}"
    );
    for message in [
        json!({"Records": "x"}),
        json!({"source": "aws.s3", "detail": {"bucket": "lake"}}),
        json!({"hello": "world"}),
        json!([[event("Object Created", "raw/a.csv")]]),
        json!(null),
        json!(7),
    ] {
        assert!(hinted(&message).is_err(), "{message}");
    }
}

#[test]
fn hostile_messages_end_in_one_plain_line() {
    for deep in ["[".repeat(1 << 20), "{\"Records\":".repeat(1 << 16)] {
        assert!(matches!(
            read(deep.as_bytes(), &LAKE),
            Err(Unreadable::Json(_))
        ));
    }
    let wrapped = json!({"Type": "Notification", "Message": "[".repeat(1 << 20)});
    assert!(matches!(hinted(&wrapped), Err(Unreadable::Json(_))));
    let steering = "\u{1b}[2Jx\n\u{202e}".repeat(1000);
    let message = json!({"Records": steering});
    let error = hinted(&message).unwrap_err().to_string();
    assert!(
        error.chars().count() < 400 && !error.chars().any(limn_store::is_steering),
        "{error}"
    );
}

/// JSON that comes near what is read: the fields' own names, anything in them.
fn near_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".*".prop_map(Value::from),
        "(lake|raw/a.csv|aws.s3|Notification|s3:TestEvent|%F|%|\\+|\\{\\}|\\[\\])"
            .prop_map(Value::from),
    ];
    let name = "(Records|s3|bucket|object|name|key|source|detail|detail-type|eventName|Type|Message|Event|objects|everything|x)";
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn nothing_panics(message in near_json(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes, &LAKE);
        let _ = hinted(&message);
        let _ = hinted(&json!({"Type": "Notification", "Message": message.to_string()}));
        if let Ok(hints) = hinted(&json!({"Records": [{"s3": message}]})) {
            for path in hints.objects {
                prop_assert!(is_path(&path));
            }
        }
    }

    #[test]
    fn any_key_comes_back(key in "[^/\u{0}]{1,40}") {
        prop_assume!(key != "." && key != "..");
        let encoded: String = percent_encoding::percent_encode(
            key.as_bytes(), percent_encoding::NON_ALPHANUMERIC,
        ).to_string().replace("%20", "+");
        let message = json!({"Records": [record("ObjectCreated:Put", "lake", &format!("raw/{encoded}"))]});
        prop_assert_eq!(hinted(&message).unwrap().objects, [key.clone()]);
        let bridged = hinted(&event("Object Created", &format!("raw/{key}"))).unwrap();
        prop_assert_eq!(bridged.objects, [key]);
    }
}
