//! What summaries are as the catalog and workers have them.

use super::*;

#[test]
fn a_small_files_summary_is_small() {
    let header = [
        "order_id",
        "customer",
        "city",
        "amount",
        "ordered_at",
        "status",
    ];
    let cities = ["Lisbon", "Porto", "Braga", "Coimbra", "Faro"];
    let row = |i: usize| {
        vec![
            (10_000 + 37 * i).to_string(),
            format!("Customer {}", i * 7 % 23),
            cities[i % 5].to_owned(),
            format!("{}.{:02}", i * 13 % 97, i * 31 % 100),
            format!("2024-{:02}-{:02}", 1 + i % 12, 1 + i % 28),
            if i.is_multiple_of(3) {
                "open"
            } else {
                "shipped"
            }
            .to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = (0..30).map(row).collect();
    let summary = summary("", &header, &rows);
    let stored = summary.to_stored().unwrap();
    let sketches = stored.sketches.iter().flatten().map(Vec::len);
    let length = stored.json.len() + sketches.sum::<usize>();
    // A digest takes 26 bytes of each column.
    assert!(length < 2304, "{length} bytes: {}", stored.json);
    assert_eq!(stored.read().unwrap(), summary);
}

#[test]
fn stored_summaries_are_pinned() {
    // A catalog holds this: old texts must stay readable, or be read again with a changelog entry.
    let stored = concat!(
        r#"{"c":[{"n":"a","t":"integer","p":{"v":2,"lo":"1","hi":"20","f":{"l":[[1,",1,20"]]}}},"#,
        r#"{"n":"b","t":"text","p":{"v":1,"z":1,"lo":"x","hi":"x","f":{"l":[[1,",x"]]}}}],"#,
        r#""r":2,"e":true,"s":{"r":5,"s":[[1,1,["20",null]],[9,0,["1","x"]]]}}"#,
    );
    let summary = FileSummary::from_json(stored).unwrap();
    assert_eq!(summary.columns[0].data_type, DataType::Integer);
    assert_eq!(summary.columns[1].profile.null_share(), 0.5);
    assert_eq!(summary.sample.rows[0].values, [Some("20".to_owned()), None]);
    assert!(
        summary.rows_exact && !summary.approximate && summary.columns[0].profile.distinct_exact()
    );
    let now = summary.to_stored().unwrap();
    assert_eq!(now.read().unwrap(), summary);
    // What has been stored since format 2.
    let json = concat!(
        r#"{"c":[{"n":"a","t":"integer","p":{"v":2,"lo":"1","hi":"20"}},"#,
        r#"{"n":"b","t":"text","p":{"v":1,"z":1,"lo":"x","hi":"x"}}],"#,
        r#""r":2,"e":true,"s":{"r":5,"s":[[1,1,["20",null]],[9,0,["1","x"]]]}}"#,
    );
    assert_eq!(now.json, json);
    let sketches: [&[u8]; 2] = [
        b"\x01\x80\x01\x01\x01\x02\xf51\xf520\xff",
        b"\x01\x80\x01\x01\x01\x01\xf5x\xff",
    ];
    assert_eq!(now.sketches, sketches.map(|it| Some(it.to_vec())));
    let stored = sketches.map(Some);
    assert_eq!(FileSummary::from_stored(json, stored).unwrap(), summary);
    let none = sketches.map(|it| Some(&it[..4]));
    assert!(FileSummary::from_stored(json, none).is_err());
}

#[test]
fn what_workers_exchange_survives_a_format_that_describes_nothing() {
    fn same<T: Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) {
        let bytes = bincode::serialize(value).unwrap();
        assert_eq!(&bincode::deserialize::<T>(&bytes).unwrap(), value);
    }
    let group = group(&["t/y=2023/1.csv", "t/y=__HIVE_DEFAULT_PARTITION__/1.csv"]);
    let read = summaries(&group, &[(&["a"], &[&["1"], &[""]]), (&["a"], &[])]);
    same(&group);
    same(&group.fingerprints());
    same(&read);
    same(&tables(&group, &read));
    same(&FileError::new(
        "f",
        FileErrorKind::Corrupt,
        "it breaks off",
    ));
}
