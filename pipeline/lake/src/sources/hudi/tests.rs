//! Timelines that are broken, hostile or long, of tables in memory.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeSet;

use limn_formats::Objects;
use limn_profile::LoggedColumn;

use super::super::{Listed, Opened, logged, open};
use super::*;
use crate::layout::LogTable;

const SCHEMA: &str = r#"{"type": "record", "name": "t", "fields": [{"name": "_hoodie_commit_time", "type": ["null", "string"]}, {"name": "id", "type": ["null", "long"], "doc": "Number"}, {"name": "region", "type": ["null", "string"]}]}"#;
const VERSION_6: &str =
    "hoodie.table.version=6\nhoodie.table.name=orders\nhoodie.table.recordkey.fields=id";

/// What a commit says that wrote these files.
fn commit(files: &[&str], replaced: &[(&str, &str)]) -> String {
    let stats: Vec<_> = files
        .iter()
        .map(|path| serde_json::json!({"path": path}))
        .collect();
    let mut ids_by_partition = serde_json::Map::new();
    for (partition, id) in replaced {
        let ids = ids_by_partition
            .entry(*partition)
            .or_insert(serde_json::json!([]));
        ids.as_array_mut().unwrap().push(serde_json::json!(id));
    }
    serde_json::json!({"partitionToWriteStats": {"": stats}, "extraMetadata": {"schema": SCHEMA},
        "partitionToReplaceFileIds": ids_by_partition})
    .to_string()
}

/// A lake in memory.
struct Lake {
    store: Store,
    objects: Vec<ObjectRecord>,
}

impl Lake {
    async fn of(files: &[(&str, &str)]) -> Lake {
        let mut lake = Lake {
            store: Store::in_memory(),
            objects: Vec::new(),
        };
        for (path, content) in files {
            lake.put(path, content).await;
        }
        lake
    }

    async fn put(&mut self, path: &str, content: &str) {
        let bytes = content.to_owned().into_bytes();
        self.store.put(path, bytes.into()).await.unwrap();
        let object = self.store.head(path).await.unwrap().into();
        self.objects.retain(|it| it.path != path);
        self.objects.push(object);
        self.objects.sort_by(|a, b| a.path.cmp(&b.path));
    }

    async fn open_without(
        &self,
        left_out: &[&str],
        too_new: &[&str],
    ) -> Vec<Result<Opened, FileError>> {
        let (left_out, too_new): (BTreeSet<&str>, BTreeSet<&str>) = (
            left_out.iter().copied().collect(),
            too_new.iter().copied().collect(),
        );
        let objects = self.objects.iter();
        let mut objects: Objects = objects
            .filter(|it| {
                !left_out.contains(it.path.as_str()) && !too_new.contains(it.path.as_str())
            })
            .cloned()
            .collect();
        objects.sort();
        let listed = Listed {
            is_elsewhere: &|_| false,
            is_chosen: &|_, _, _| true,
            objects: &objects,
            left_out: &left_out,
            too_new: &too_new,
        };
        let mut opened = Vec::new();
        for found in logged(&objects) {
            opened.push(open(&self.store, &found, &listed, None).await);
        }
        opened
    }

    async fn open(&self) -> Result<LogTable, FileError> {
        match self.open_without(&[], &[]).await.remove(0)? {
            Opened::Table(table) => Ok(table),
            other => panic!("{other:?}"),
        }
    }

    async fn live(&self) -> Vec<String> {
        let table = self.open().await.unwrap();
        let files = table.files.into_iter().skip(1);
        files.map(|it| it.object.path).collect()
    }
}

fn said(table: &LogTable) -> &LoggedTable {
    let reading = &table.files[0].logged.reading;
    reading.logged.as_ref().unwrap().table.as_ref().unwrap()
}

#[tokio::test]
async fn a_table_is_what_its_timeline_says() {
    let lake = Lake::of(&[
        ("t/.hoodie/hoodie.properties", VERSION_6),
        (
            "t/.hoodie/10.commit",
            &commit(&["a-0_1-0-1_10.parquet"], &[]),
        ),
        (
            "t/.hoodie/20.commit",
            &commit(&["a-0_1-0-1_20.parquet"], &[]),
        ),
        ("t/.hoodie/30.inflight", ""),
        ("t/a-0_1-0-1_10.parquet", "x"),
        ("t/a-0_1-0-1_20.parquet", "x"),
        ("t/b-0_1-0-1_30.parquet", "x"),
        ("t/notes.csv", "x"),
        // A table within the table.
        ("t/in/.hoodie/hoodie.properties", VERSION_6),
        (
            "t/in/.hoodie/10.commit",
            &commit(&["a-0_1-0-1_10.parquet"], &[]),
        ),
        ("t/in/a-0_1-0-1_10.parquet", "x"),
    ])
    .await;
    assert_eq!(lake.live().await, ["t/a-0_1-0-1_20.parquet"]);
    let opened = lake.open_without(&[], &[]).await;
    assert_eq!(opened.len(), 2);
    let table = lake.open().await.unwrap();
    assert_eq!(table.folder, "t");
    assert_eq!(table.files[0].object.path, "t/.hoodie");
    let said = said(&table);
    let names: Vec<&LoggedColumn> = said.columns.iter().collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(names[0].description.as_deref(), Some("Number"));
    assert_eq!(said.key, ["id"]);
}

#[tokio::test]
async fn filters_do_not_bring_older_slices_back() {
    let lake = Lake::of(&[
        ("t/.hoodie/hoodie.properties", VERSION_6),
        ("t/.hoodie/10.commit", &commit(&[], &[])),
        (
            "t/.hoodie/20.commit",
            &commit(&["a-0_1-0-1_20.parquet"], &[]),
        ),
        ("t/a-0_1-0-1_10.parquet", "x"),
        ("t/a-0_1-0-1_20.parquet", "x"),
    ])
    .await;
    let newest = ["t/a-0_1-0-1_20.parquet"];
    let opened = lake.open_without(&newest, &[]).await.remove(0);
    assert!(matches!(opened, Ok(Opened::LeftOut)), "{opened:?}");
    let opened = lake.open_without(&[], &newest).await.remove(0);
    assert!(matches!(opened, Ok(Opened::HeldBack)), "{opened:?}");
    // A folder that could not be listed.
    let opened = lake.open_without(&[], &["t/region"]).await.remove(0);
    assert!(matches!(opened, Ok(Opened::HeldBack)), "{opened:?}");
}

#[tokio::test]
async fn what_is_wrong_is_said() {
    for (file, content, words) in [
        ("20.commit", "{\"half", "20.commit: it is no action"),
        ("20.commit", "", "is empty"),
        ("05.commit", "", "is empty"),
        ("20.replacecommit", "7", "it is no action"),
        (
            "20.commit",
            &commit(&["../../x/a-0_1-0-1_20.parquet"], &[]),
            "outside of the table",
        ),
        (
            "20.commit",
            &commit(&["/a-0_1-0-1_20.parquet"], &[]),
            "outside of the table",
        ),
        (
            "20.commit",
            &commit(&["gone-0_1-0-1_20.parquet"], &[]),
            "is not there, such as t/gone-0_1-0-1_20.parquet",
        ),
        (
            "20.commit",
            &commit(&[], &[]).replace("\\\"record\\\"", "\\\"rec\\\""),
            "its schema is broken",
        ),
        ("hoodie.properties", "hoodie.table.version=7", "version 7"),
        ("hoodie.properties", "\u{0}\u{1}", "no version"),
        (
            "hoodie.properties",
            "hoodie.table.version=6\nhoodie.table.base.file.format=HFILE",
            "HFILE",
        ),
        (
            "hoodie.properties",
            "hoodie.table.version=8\nhoodie.timeline.path=elsewhere",
            "elsewhere",
        ),
        ("00000000000001.commit", "{}", "bootstrap"),
    ] {
        let mut lake = Lake::of(&[
            ("t/.hoodie/hoodie.properties", VERSION_6),
            (
                "t/.hoodie/10.commit",
                &commit(&["a-0_1-0-1_10.parquet"], &[]),
            ),
            ("t/a-0_1-0-1_10.parquet", "x"),
            ("t/s-0_1-0-1_00000000000001.parquet", "x"),
        ])
        .await;
        if !words.contains("bootstrap") {
            lake.objects.pop();
        }
        lake.put(&format!("t/.hoodie/{file}"), content).await;
        let error = lake.open().await.unwrap_err().to_string();
        assert!(error.contains(words) && !error.contains('\n'), "{error}");
    }
}

#[tokio::test]
async fn replaced_groups_are_left_out_unless_their_replacement_is() {
    let mut lake = Lake::of(&[
        ("t/.hoodie/hoodie.properties", VERSION_6),
        ("t/.hoodie/10.commit", &commit(&[], &[])),
        ("t/a-0_1-0-1_10.parquet", "x"),
        ("t/b-0_1-0-1_10.parquet", "x"),
        ("t/c-0_1-0-1_20.parquet", "x"),
        ("t/.hoodie/20.replacecommit.inflight", ""),
    ])
    .await;
    let before = ["t/a-0_1-0-1_10.parquet", "t/b-0_1-0-1_10.parquet"];
    assert_eq!(lake.live().await, before);
    let replace = commit(&["c-0_1-0-1_20.parquet"], &[("", "a-0"), ("p", "b-0")]);
    lake.put("t/.hoodie/20.replacecommit", &replace).await;
    let after = ["t/b-0_1-0-1_10.parquet", "t/c-0_1-0-1_20.parquet"];
    assert_eq!(lake.live().await, after);
}

#[tokio::test]
async fn a_table_without_a_commit_is_its_first_schema_or_nothing() {
    let lake = Lake::of(&[("t/.hoodie/hoodie.properties", VERSION_6)]).await;
    let opened = lake.open_without(&[], &[]).await.remove(0);
    assert!(matches!(opened, Ok(Opened::LeftOut)), "{opened:?}");
    let escaped = SCHEMA.replace(':', "\\:");
    let created = format!("{VERSION_6}\n{CREATED}={escaped}");
    // While properties are written, a copy stands in for them.
    let lake = Lake::of(&[("t/.hoodie/hoodie.properties.backup", &created)]).await;
    let table = lake.open().await.unwrap();
    assert_eq!(table.files.len(), 1);
    assert_eq!(said(&table).columns.len(), 2);
    let lake = Lake::of(&[
        ("t/.hoodie/hoodie.properties", VERSION_6),
        ("t/.hoodie/10.commit", "{}"),
    ])
    .await;
    let error = lake.open().await.unwrap_err().to_string();
    assert!(error.contains("have a schema"), "{error}");
}

#[tokio::test]
async fn columns_that_were_renamed_are_found() {
    let history = r#"{"schemas": [{"version_id": 20, "fields": [{"id": 1, "name": "id"}, {"id": 2, "name": "region"}]},
        {"version_id": 10, "fields": [{"id": 1, "name": "number"}, {"id": 2, "name": "region"}]}]}"#;
    let renamed = commit(&[], &[]).replace(
        "\"extraMetadata\":{",
        "\"extraMetadata\":{\"latest_schema\":\"{}\",",
    );
    let mut lake = Lake::of(&[
        ("t/.hoodie/hoodie.properties", VERSION_6),
        ("t/.hoodie/20.commit", &renamed),
        ("t/.hoodie/.schema/20.schemacommit", history),
        ("t/.hoodie/.schema/10.schemacommit", "{}"),
    ])
    .await;
    let table = lake.open().await.unwrap();
    assert_eq!(said(&table).columns[0].stored_as, ["id", "number"]);
    assert!(said(&table).columns[1].stored_as.is_empty());
    lake.put("t/.hoodie/.schema/30.schemacommit", "nonsense")
        .await;
    let error = lake.open().await.unwrap_err().to_string();
    assert!(error.contains("no history of a schema"), "{error}");
}

#[tokio::test]
async fn partition_values_come_from_folders() {
    let properties = format!(
        "{VERSION_6}\nhoodie.table.partition.fields=region\nhoodie.datasource.write.drop.partition.columns=true"
    );
    let mut lake = Lake::of(&[
        ("t/.hoodie/hoodie.properties", &properties),
        ("t/.hoodie/10.commit", &commit(&[], &[])),
        ("t/region=north/a-0_1-0-1_10.parquet", "x"),
        ("t/__HIVE_DEFAULT_PARTITION__/b-0_1-0-1_10.parquet", "x"),
    ])
    .await;
    let table = lake.open().await.unwrap();
    let values = |file: &crate::layout::LogFile| {
        let logged = file.logged.reading.logged.as_ref().unwrap();
        logged.constants[0].value.clone()
    };
    let values: Vec<Option<String>> = table.files[1..].iter().map(values).collect();
    assert_eq!(values, [None, Some("north".to_owned())]);
    assert_eq!(said(&table).key, ["id", "region"]);
    let two = properties.replace("fields=region", "fields=region,day");
    lake.put("t/.hoodie/hoodie.properties", &two).await;
    let error = lake.open().await.unwrap_err().to_string();
    assert!(error.contains("partitioned by 2 fields"), "{error}");
}

/// Reads of a long timeline are those of its tail, and of what replaced file groups.
#[tokio::test]
async fn a_timeline_of_a_hundred_thousand_actions_is_opened() {
    let mut lake = Lake::of(&[
        ("t/.hoodie/hoodie.properties", VERSION_6),
        ("t/.hoodie/9999999.commit", &commit(&[], &[])),
    ])
    .await;
    for number in 0..100_000 {
        let path = format!("t/.hoodie/{number:07}.commit");
        lake.objects.push(ObjectRecord::unversioned(&path, 1));
        let path = format!("t/a-0_1-0-1_{number:07}.parquet");
        lake.objects.push(ObjectRecord::unversioned(&path, 1));
    }
    lake.objects.sort_by(|a, b| a.path.cmp(&b.path));
    assert_eq!(lake.live().await, ["t/a-0_1-0-1_0099999.parquet"]);
}
