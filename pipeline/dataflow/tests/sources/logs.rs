//! Tables with logs: Delta, Iceberg and Hudi, as their specifications have them. What their own
//! writers write is read in `tests/tests/logs.rs`.
//!
//! Old files stay where they are, as these writers leave them.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, StructArray};
use roaring::RoaringTreemap;
use serde_json::{Value, json};

use super::rows::{COLUMNS, Row, avro_of, batch, batch_of, parquet_of};
use super::{Damage, Kind, Objects, garbage};

/// A file that was written, and which of its rows were deleted since.
#[derive(Clone)]
struct File {
    path: String,
    rows: Vec<Row>,
    deleted: Vec<u64>,
}

impl File {
    /// Whether it has these rows without some that it has; which they are.
    fn without(&self, rows: &[Row]) -> Option<File> {
        let own = (0..).zip(&self.rows);
        let deleted: Vec<u64> = own
            .filter(|(_, row)| !rows.contains(row))
            .map(|(at, _)| at)
            .collect();
        (deleted.len() + rows.len() == self.rows.len()).then(|| File {
            deleted,
            ..self.clone()
        })
    }
}

/// What a version does to a part: the file that it had goes, another one comes. Of one path only
/// its deleted rows are others.
struct Change {
    part: usize,
    old: Option<File>,
    new: Option<File>,
}

/// The files of a table, and all objects that were ever written.
#[derive(Default)]
struct History {
    version: usize,
    files: Vec<Option<File>>,
    objects: Objects,
}

impl History {
    /// Takes the table to these rows. `name` calls the file of a part and version.
    fn step(
        &mut self,
        parts: &[Vec<Row>],
        deletes_rows: bool,
        name: fn(usize, usize) -> String,
    ) -> Vec<Change> {
        self.version += 1;
        self.files.resize(parts.len(), None);
        let mut changes = Vec::new();
        for (part, rows) in parts.iter().enumerate() {
            let old = self.files[part].clone();
            let in_place = old.as_ref().and_then(|old| old.without(rows));
            let new = match in_place.filter(|it| deletes_rows || it.deleted.is_empty()) {
                _ if rows.is_empty() => None,
                Some(file) => Some(file),
                None => {
                    let path = name(part, self.version);
                    self.objects
                        .insert(format!("t/orders/{path}"), parquet_of(&batch(rows)));
                    Some(File {
                        path,
                        rows: rows.clone(),
                        deleted: Vec::new(),
                    })
                }
            };
            let state =
                |it: &Option<File>| it.as_ref().map(|it| (it.path.clone(), it.deleted.clone()));
            if state(&old) != state(&new) {
                self.files[part].clone_from(&new);
                changes.push(Change { part, old, new });
            }
        }
        changes
    }

    /// A file of the table that is damaged.
    fn garbage(&self) -> Damage {
        let mut files = self.files.iter().flatten();
        garbage(&format!("t/orders/{}", files.next().unwrap().path))
    }

    fn size(&self, path: &str) -> usize {
        self.objects[&format!("t/orders/{path}")].len()
    }
}

#[derive(Default)]
pub struct Delta(History);

impl Delta {
    fn commit(version: usize) -> String {
        format!("t/orders/_delta_log/{version:020}.json")
    }

    fn add(&self, file: &File) -> Value {
        let mut add = json!({"path": file.path, "partitionValues": {}, "size": self.0.size(&file.path),
            "modificationTime": 0, "dataChange": true});
        if let Some(vector) = vector(&file.deleted) {
            add["deletionVector"] = vector;
        }
        json!({"add": add})
    }
}

/// A deletion vector in the log itself.
fn vector(deleted: &[u64]) -> Option<Value> {
    let rows: RoaringTreemap = deleted.iter().copied().collect();
    let mut bytes = 1_681_511_377u32.to_le_bytes().to_vec();
    rows.serialize_into(&mut bytes).unwrap();
    let size = bytes.len();
    bytes.resize(size.next_multiple_of(4), 0);
    (!deleted.is_empty()).then(|| {
        json!({"storageType": "i", "pathOrInlineDv": z85(&bytes), "sizeInBytes": size,
            "cardinality": deleted.len()})
    })
}

/// Five digits for each four bytes (ZeroMQ's specification 32).
fn z85(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 85] =
        b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
    let digits = bytes.chunks_exact(4).flat_map(|four| {
        let number = u32::from_be_bytes(four.try_into().unwrap());
        (0..5)
            .rev()
            .map(move |power| number / 85u32.pow(power) % 85)
    });
    digits.map(|it| char::from(DIGITS[it as usize])).collect()
}

impl Kind for Delta {
    fn table(&self) -> &'static str {
        "t/orders"
    }

    fn parts(&self) -> usize {
        3
    }

    fn deletes_in_place(&self) -> bool {
        true
    }

    fn objects(&mut self, parts: &[Vec<Row>]) -> Objects {
        let is_first = self.0.version == 0;
        let changes = self.0.step(parts, true, |part, version| {
            format!("part-{part:05}-{version}.parquet")
        });
        let mut actions = Vec::new();
        if is_first {
            let types = ["long", "string", "date"].iter().zip(COLUMNS);
            let fields: Vec<Value> = types
                .map(|(kind, (name, _))| {
                    json!({"name": name, "type": kind, "nullable": true, "metadata": {}})
                })
                .collect();
            let schema = json!({"type": "struct", "fields": fields}).to_string();
            actions.push(
                json!({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7,
                "readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}}),
            );
            actions.push(
                json!({"metaData": {"id": "6a1f7e0e-5a55-4a55-9a55-5a555a555a55",
                "format": {"provider": "parquet", "options": {}}, "schemaString": schema,
                "partitionColumns": [], "configuration": {"delta.enableDeletionVectors": "true"}}}),
            );
        }
        for change in changes {
            if let Some(old) = &change.old {
                let mut remove =
                    json!({"path": old.path, "dataChange": true, "deletionTimestamp": 0});
                if let Some(vector) = vector(&old.deleted) {
                    remove["deletionVector"] = vector;
                }
                actions.push(json!({"remove": remove}));
            }
            actions.extend(change.new.as_ref().map(|file| self.add(file)));
        }
        let lines: String = actions.iter().map(|it| format!("{it}\n")).collect();
        let commit = Delta::commit(self.0.version - 1);
        self.0.objects.insert(commit, lines.into_bytes());
        self.0.objects.clone()
    }

    fn damages(&self, _: &Objects) -> Vec<Damage> {
        vec![
            (Delta::commit(self.0.version), b"{\"add\": {\"pa".to_vec()),
            self.0.garbage(),
        ]
    }
}

#[derive(Default)]
pub struct Iceberg(History);

/// The table has moved since it was written.
const LOCATION: &str = "s3://elsewhere/orders";

impl Iceberg {
    fn metadata(version: usize) -> String {
        format!("t/orders/metadata/v{version}.metadata.json")
    }

    /// Writes a manifest of files; how the list of manifests has it.
    fn manifest(
        &mut self,
        content: i32,
        files: &[(String, usize, Option<String>)],
    ) -> (String, i64) {
        let version = self.0.version;
        let path = format!("metadata/{version}-m{content}.avro");
        let count = files.len();
        let of = |path: &str| format!("{LOCATION}/{path}");
        let texts = |texts: Vec<Option<String>>| Arc::new(StringArray::from(texts)) as ArrayRef;
        let whole = |number: i64| Arc::new(Int64Array::from(vec![number; count])) as ArrayRef;
        let sizes = files.iter().map(|(_, size, _)| *size as i64);
        let about = files.iter().map(|(.., about)| about.as_deref().map(of));
        let file = StructArray::try_from(vec![
            (
                "content",
                Arc::new(Int32Array::from(vec![content; count])) as ArrayRef,
            ),
            (
                "file_path",
                texts(files.iter().map(|(path, ..)| Some(of(path))).collect()),
            ),
            (
                "file_format",
                texts(vec![Some("PARQUET".to_owned()); count]),
            ),
            ("record_count", whole(1)),
            (
                "file_size_in_bytes",
                Arc::new(Int64Array::from_iter_values(sizes)),
            ),
            ("referenced_data_file", texts(about.collect())),
        ]);
        let entries = RecordBatch::try_from_iter([
            (
                "status",
                Arc::new(Int32Array::from(vec![1; count])) as ArrayRef,
            ),
            ("sequence_number", whole(1 + i64::from(content))),
            ("data_file", Arc::new(file.unwrap())),
        ]);
        let bytes = avro_of(&entries.unwrap());
        let size = bytes.len() as i64;
        self.0.objects.insert(format!("t/orders/{path}"), bytes);
        (of(&path), size)
    }

    /// Writes what deletes rows of a file, by their positions.
    fn positions(&mut self, file: &File) -> (String, usize, Option<String>) {
        let (count, name) = (file.deleted.len(), file.path.replace('/', "-"));
        let path = format!("data/{count}-deleted-of-{name}");
        let of = vec![format!("{LOCATION}/{}", file.path); file.deleted.len()];
        let deleted = file.deleted.iter().map(|at| *at as i64);
        let columns = [
            (
                "file_path",
                2_147_483_546,
                Arc::new(StringArray::from(of)) as ArrayRef,
            ),
            (
                "pos",
                2_147_483_545,
                Arc::new(Int64Array::from_iter_values(deleted)),
            ),
        ];
        let bytes = parquet_of(&batch_of(columns.into_iter()));
        let size = bytes.len();
        self.0.objects.insert(format!("t/orders/{path}"), bytes);
        (path, size, Some(file.path.clone()))
    }
}

impl Kind for Iceberg {
    fn table(&self) -> &'static str {
        "t/orders"
    }

    fn parts(&self) -> usize {
        3
    }

    fn deletes_in_place(&self) -> bool {
        true
    }

    fn objects(&mut self, parts: &[Vec<Row>]) -> Objects {
        self.0.step(parts, true, |part, version| {
            format!("data/{part}-{version}.parquet")
        });
        let version = self.0.version;
        let live: Vec<File> = self.0.files.iter().flatten().cloned().collect();
        let data = live
            .iter()
            .map(|it| (it.path.clone(), self.0.size(&it.path), None));
        let data: Vec<_> = data.collect();
        let mut manifests = vec![self.manifest(0, &data)];
        let fewer = live.iter().filter(|it| !it.deleted.is_empty());
        let deletes: Vec<_> = fewer.map(|file| self.positions(file)).collect();
        if !deletes.is_empty() {
            manifests.push(self.manifest(1, &deletes));
        }
        let (paths, sizes): (Vec<String>, Vec<i64>) = manifests.into_iter().unzip();
        let count = paths.len();
        let list = RecordBatch::try_from_iter([
            (
                "manifest_path",
                Arc::new(StringArray::from(paths)) as ArrayRef,
            ),
            ("manifest_length", Arc::new(Int64Array::from(sizes))),
            (
                "partition_spec_id",
                Arc::new(Int32Array::from(vec![0; count])),
            ),
            (
                "sequence_number",
                Arc::new(Int64Array::from(vec![2; count])),
            ),
        ]);
        let place = format!("metadata/snap-{version}.avro");
        self.0
            .objects
            .insert(format!("t/orders/{place}"), avro_of(&list.unwrap()));
        let types = (1..).zip(["long", "string", "date"]).zip(COLUMNS);
        let fields: Vec<Value> = types
            .map(|((id, kind), (name, _))| {
                json!({"id": id, "name": name, "type": kind, "required": false})
            })
            .collect();
        let metadata = json!({"format-version": 2, "location": LOCATION, "last-updated-ms": version,
            "current-schema-id": 0, "schemas": [{"schema-id": 0, "type": "struct", "fields": fields}],
            "partition-specs": [{"spec-id": 0, "fields": []}], "current-snapshot-id": version,
            "snapshots": [{"snapshot-id": version, "manifest-list": format!("{LOCATION}/{place}")}]});
        let path = Iceberg::metadata(version);
        self.0
            .objects
            .insert(path, metadata.to_string().into_bytes());
        self.0.objects.clone()
    }

    fn damages(&self, _: &Objects) -> Vec<Damage> {
        let next = Iceberg::metadata(self.0.version + 1);
        vec![
            (next, b"{\"format-version\": 2, \"loc".to_vec()),
            self.0.garbage(),
        ]
    }
}

/// A table that copies on write: of a file group that changes, all rows are written again.
#[derive(Default)]
pub struct Hudi(History);

impl Hudi {
    fn action(version: usize, action: &str) -> String {
        format!("t/orders/.hoodie/{}.{action}", Hudi::instant(version))
    }

    fn instant(version: usize) -> String {
        format!("20240101{version:09}")
    }
}

impl Kind for Hudi {
    fn table(&self) -> &'static str {
        "t/orders"
    }

    fn parts(&self) -> usize {
        3
    }

    fn objects(&mut self, parts: &[Vec<Row>]) -> Objects {
        let changes = self.0.step(parts, false, |part, version| {
            format!("g{part}-0_0-1-1_{}.parquet", Hudi::instant(version))
        });
        let types = [
            json!("long"),
            json!("string"),
            json!({"type": "int", "logicalType": "date"}),
        ];
        let fields: Vec<Value> = COLUMNS
            .iter()
            .zip(types)
            .map(|((name, _), kind)| json!({"name": name, "type": ["null", kind]}))
            .collect();
        let schema = json!({"type": "record", "name": "orders", "fields": fields}).to_string();
        let written = changes.iter().filter_map(|it| it.new.as_ref());
        let written: Vec<Value> = written.map(|it| json!({"path": it.path})).collect();
        let replaced = changes.iter().filter(|it| it.new.is_none());
        let replaced: Vec<String> = replaced.map(|it| format!("g{}-0", it.part)).collect();
        let (action, replaced) = match replaced.is_empty() {
            true => ("commit", json!({})),
            false => ("replacecommit", json!({"": replaced})),
        };
        let commit = json!({"partitionToWriteStats": {"": written}, "extraMetadata": {"schema": schema},
            "partitionToReplaceFileIds": replaced});
        let path = Hudi::action(self.0.version, action);
        self.0.objects.insert(path, commit.to_string().into_bytes());
        let properties =
            "hoodie.table.version=6\nhoodie.table.name=orders\nhoodie.table.recordkey.fields=id";
        let path = "t/orders/.hoodie/hoodie.properties".to_owned();
        self.0.objects.insert(path, properties.into());
        self.0.objects.clone()
    }

    fn damages(&self, _: &Objects) -> Vec<Damage> {
        let next = Hudi::action(self.0.version + 1, "commit");
        vec![(next, b"{\"partitionToWr".to_vec()), self.0.garbage()]
    }
}
