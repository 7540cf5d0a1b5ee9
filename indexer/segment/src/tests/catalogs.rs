//! Catalog files: what goes in comes out, old and new readers get along, damage is an error.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field as ArrowField, Schema};
use bytes::Bytes;
use limn_store::Store;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::*;
use crate::catalog_read::read_catalog_columns;

/// Sketches of some columns; of every third there is none.
fn sketches(seed: u64, columns: u64) -> Sketches {
    let sketch = |at: u64| (at % 3 != seed % 3).then(|| vec![1, seed as u8, at as u8, 0xff]);
    (0..columns).map(sketch).collect()
}

fn record(i: u64) -> TableRecord {
    TableRecord {
        lake: format!("s3://lake-{}", i % 2),
        name: format!("folder/table{i}"),
        location: format!("s3://lake-{}/folder/table{i}.csv", i % 2),
        format: "csv".into(),
        removed: false,
        rows: (i > 0).then_some(u64::MAX - i),
        rows_exact: i & 1 == 0,
        columns: (0..i % 5)
            .map(|c| ColumnRecord {
                name: format!("column \"{c}\" ü\n東京"),
                data_type: "integer".into(),
                null_share: c as f64 / 3.0,
                distinct: c << 40,
                distinct_exact: c & 1 == 0,
                uniqueness: (c > 0).then(|| 1.0 / c as f64),
                key_rank: (c > 1).then_some(c as u32),
                patterns: (0..c)
                    .map(|p| PatternShare {
                        pattern: format!("AA-{p}"),
                        share: p as f64 / 7.0,
                    })
                    .collect(),
                min: (c > 0).then(|| "-1".into()),
                max: (c > 1).then(String::new),
                frequent: (0..c)
                    .map(|v| ValueCount {
                        value: format!("value {v}"),
                        count: v + (1 << 60),
                    })
                    .collect(),
                profile_exact: c % 2 == 1,
                narration: (c == 2).then(|| "the number of it".into()),
                description: (c == 2).then(|| "what it is".into()),
                notation: (c == 0).then(|| "decimal comma".into()),
                in_files: (c == 0).then(|| "in 1 of 3 files, since b.csv".into()),
                sensitive: (c == 1).then(|| "e-mail".into()),
                withheld: c == 1,
            })
            .collect(),
        sketches: sketches(i, i % 5),
        sample: (0..i % 4)
            .map(|r| vec![Some(format!("{r}")), None, Some(String::new())])
            .collect(),
        notes: (0..i % 3).map(|n| format!("note {n}")).collect(),
        keys: KeyRecords {
            primary: (0..i % 3).map(|c| format!("key {c}")).collect(),
            unique: (0..i % 4)
                .map(|k| (0..k).map(|c| format!("part {c}")).collect())
                .collect(),
            references: (0..i % 2)
                .map(|_| ReferenceRecord {
                    columns: vec!["a".into(), "b".into()],
                    table: "folder/base.sqlite//other".into(),
                    to: (0..i % 3).map(|c| c.to_string()).collect(),
                })
                .collect(),
        },
        files: (0..i % 3)
            .map(|f| FileRecord {
                path: format!("a b/%20/{f}.csv"),
                etag: (f > 0).then(|| "\"abc\"".into()),
                version: None,
                size: f << 33,
                modified_ms: -5 + f as i64,
                fingerprint: "00ff".into(),
                rows: Some(f),
                summary: Some("{\"columns\":[{\"x\":1e-7}]}".into()),
                sketches: sketches(i + f, (i + f) % 6),
                error: (f == 1).then(|| "cut off".into()),
                since_sample: (f == 1).then_some(SinceSample::Came),
                no_table: f == 0,
                beside: f == 1,
                alone: f == 2,
                declared: (f == 2).then(|| "{\"by\":\".limn.yaml\"}".into()),
            })
            .collect(),
        contexts: vec![ContextRecord {
            error: None,
            source: "registered".into(),
            registered_for: Some("music".into()),
            text: "line one\nline two \u{1f600}".into(),
            of_folder: i % 2 == 1,
            fingerprint: "ff".into(),
        }],
        segment: "segments/0003/ab.seg".into(),
        first_block: u32::MAX - i as u32,
        blocks: i as u32,
        group: "g".into(),
        content: i.is_multiple_of(2).then(|| format!("{i:032x}")),
        error: None,
        awaits_narration: i % 3 == 1,
        indexed_ms: i64::MIN + i as i64,
    }
}

#[test]
fn records_come_back() {
    for n in [0, 1, 7, 1500] {
        let records: Vec<TableRecord> = (0..n).map(record).collect();
        let bytes = write_catalog(&records).unwrap();
        assert_eq!(
            read_catalog("c", bytes.clone(), records.len() as u64).unwrap(),
            records
        );
        assert_eq!(write_catalog(&records).unwrap(), bytes, "the same bytes");
    }
}

#[test]
fn wide_records_come_back_among_narrow_ones() {
    let mut records: Vec<TableRecord> = (0..40).map(record).collect();
    for (at, width) in [(0, 16_384), (3, 9_000), (4, 9_000), (5, 1), (39, 20_000)] {
        let column = ColumnRecord::default();
        records[at].columns = vec![column; width];
        records[at].sketches = Sketches::default();
    }
    let bytes = write_catalog(&records).unwrap();
    assert!(read_catalog("c", bytes, 40).unwrap() == records);
}

#[test]
fn sketches_are_columns_that_any_parquet_tool_reads_and_a_lone_files_are_written_once() {
    let long = |at: u64| {
        let bytes = (0..2_000).map(|i: u64| (i * i * (at + 3)).to_le_bytes()[1]);
        Some(bytes.collect::<Vec<u8>>())
    };
    // Of so many columns that they are packed in memory.
    let all: Sketches = (0..50).map(long).chain([None]).collect();
    let others: Sketches = (0..50).map(|at| long(at + 1)).collect();
    let column = |_| ColumnRecord::default();
    let file = |sketches: &Sketches| FileRecord {
        sketches: sketches.clone(),
        ..FileRecord::default()
    };
    let row = |files: Vec<FileRecord>| TableRecord {
        columns: (0..51).map(column).collect(),
        sketches: all.clone(),
        files,
        ..TableRecord::default()
    };
    let write = |row: &TableRecord| write_catalog(std::slice::from_ref(row)).unwrap();
    let rows = [
        row(Vec::new()),
        row(vec![file(&all)]),
        row(vec![file(&all), file(&others)]),
    ];
    let [none, one, two] = rows.each_ref().map(|row| write(row).len());
    assert!(one < none + 200 && two > none + 5_000, "{none} {one} {two}");
    for row in &rows {
        assert_eq!(
            &read_catalog("c", write(row), 1).unwrap(),
            std::slice::from_ref(row)
        );
    }
    // A reader of one of both has what is there.
    let wanted = ["columns.list.element.sketch"];
    let read = read_catalog_columns("c", write(&rows[1]), 1, &wanted).unwrap();
    assert_eq!((&read[0].sketches, read[0].files.len()), (&all, 0));
    assert_eq!(all.list().len(), 50);

    let reader = ParquetRecordBatchReaderBuilder::try_new(write(&rows[2])).unwrap();
    let batch = reader.build().unwrap().next().unwrap().unwrap();
    let columns = batch.column_by_name("columns").unwrap().as_list::<i32>();
    let column = columns.values().as_struct().column_by_name("sketch");
    let sketch = column.unwrap().as_binary::<i32>();
    assert_eq!(sketch.value(7), long(7).unwrap());
    assert!(sketch.is_null(50));
    let files = batch.column_by_name("files").unwrap().as_list::<i32>();
    let lists = files.values().as_struct().column_by_name("sketches");
    let lists = lists.unwrap().as_list::<i32>();
    assert_eq!(lists.value(0).null_count(), 50, "the table's");
    assert_eq!(lists.value(1).as_binary::<i32>().value(7), long(8).unwrap());
}

#[test]
fn a_file_without_a_sketch_does_not_take_the_tables() {
    let of = |sketches: [Option<&[u8]>; 3]| sketches.into_iter().collect::<Sketches>();
    let (a, b): (&[u8], &[u8]) = (b"\x01a", b"\x01b");
    let row = TableRecord {
        columns: vec![ColumnRecord::default(); 2],
        sketches: of([Some(a), Some(b), None]),
        files: [[None, Some(b), None], [Some(b), None, Some(a)], [None; 3]]
            .map(|sketches| FileRecord {
                sketches: of(sketches),
                ..FileRecord::default()
            })
            .to_vec(),
        ..TableRecord::default()
    };
    let bytes = write_catalog(std::slice::from_ref(&row)).unwrap();
    assert_eq!(read_catalog("c", bytes, 1).unwrap(), [row]);
    assert!(of([None, Some(b""), None]).is_empty());
}

proptest::proptest! {
    #[test]
    fn any_text_and_number_comes_back(name in "\\PC*", text: String, share: f64, rows: Option<u64>, ms: i64) {
        proptest::prop_assume!(!share.is_nan());
        let mut record = record(4);
        record.name = name;
        record.contexts[0].text = text;
        record.columns[0].null_share = share;
        record.rows = rows;
        record.indexed_ms = ms;
        let bytes = write_catalog(std::slice::from_ref(&record)).unwrap();
        proptest::prop_assert_eq!(read_catalog("c", bytes, 1).unwrap(), vec![record]);
    }
}

/// A catalog file as another version of limn may write it.
fn file(columns: Vec<(&str, ArrayRef)>, format: Option<&str>) -> Bytes {
    let fields: Vec<ArrowField> = columns
        .iter()
        .map(|(name, array)| ArrowField::new(*name, array.data_type().clone(), true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let arrays = columns.into_iter().map(|(_, a)| a).collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).unwrap();
    let pairs = format.map(|f| vec![KeyValue::new("limn.catalog.format".into(), f.to_owned())]);
    let properties = WriterProperties::builder()
        .set_key_value_metadata(pairs)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap().into()
}

#[test]
fn unknown_columns_are_ignored_and_missing_ones_empty() {
    let text = |t: &str| Arc::new(StringArray::from(vec![t])) as ArrayRef;
    let columns = || {
        vec![
            ("name", text("t")),
            ("lake", text("l")),
            ("colour", text("blue")),
        ]
    };
    let records = read_catalog("c", file(columns(), Some("1")), 1).unwrap();
    let expected = TableRecord {
        name: "t".into(),
        lake: "l".into(),
        ..TableRecord::default()
    };
    assert_eq!(records, vec![expected]);
    let newer = read_catalog("c", file(columns(), Some("3")), 1).unwrap_err();
    assert!(matches!(newer, SegmentError::NewerFormat { found: 3, .. }));
    assert!(
        read_catalog("c", file(columns(), None), 1)
            .unwrap_err()
            .is_damage()
    );
    // The wrong type for a name.
    let wrong = Arc::new(arrow::array::Int64Array::from(vec![1])) as ArrayRef;
    let wrong = file(vec![("name", wrong)], Some("1"));
    assert!(read_catalog("c", wrong, 1).unwrap_err().is_damage());
}

#[test]
fn any_parquet_tool_sees_the_columns() {
    let bytes = write_catalog(&[record(3)]).unwrap();
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
    let schema = builder.schema();
    assert_eq!(
        schema.field_with_name("name").unwrap().data_type(),
        &DataType::Utf8
    );
    assert!(
        schema
            .field_with_name("columns")
            .unwrap()
            .data_type()
            .is_nested()
    );
}

/// Equal rows cost next to nothing in a file and full size in memory.
#[test]
fn a_file_with_another_number_of_rows_than_the_snapshot_says_is_damage() {
    let rows = 1_000_000;
    let same = StringArray::from_iter_values(std::iter::repeat_n("t", rows));
    let bytes = file(vec![("name", Arc::new(same) as ArrayRef)], Some("1"));
    assert!(bytes.len() < 10_000, "{} bytes", bytes.len());
    for said in [0, 1, 600, rows as u64 - 1] {
        let error = read_catalog("c", bytes.clone(), said).unwrap_err();
        assert!(error.is_damage(), "{said}: {error}");
    }
    let few = write_catalog(&[record(1)]).unwrap();
    assert!(read_catalog("c", few.clone(), 2).unwrap_err().is_damage());
    assert_eq!(read_catalog("c", few, 1).unwrap(), [record(1)]);
}

#[test]
fn hostile_bytes_are_errors() {
    let records: Vec<TableRecord> = (0..20).map(record).collect();
    let bytes = write_catalog(&records).unwrap();
    for at in (0..bytes.len()).step_by(13) {
        let mut flipped = bytes.to_vec();
        flipped[at] ^= 0x41;
        // Without the hash of its name a flip may go unnoticed here; it must not panic.
        let _ = read_catalog("c", flipped.into(), 20);
        assert!(
            read_catalog("c", bytes.slice(..at), 20)
                .unwrap_err()
                .is_damage()
        );
    }
}

#[test]
fn later_files_win_and_removed_tables_are_not_listed() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let index = IndexStore::new(Store::in_memory());
        let mut snapshot = Snapshot::first("m", 3, 2);
        let put =
            async |records: Vec<TableRecord>| index.put_catalog(Shard(0), &records).await.unwrap();
        snapshot
            .catalog
            .push(put((0..6).map(record).collect()).await);
        let mut changed = record(2);
        changed.error = Some("unreadable".into());
        let mut removed = record(3);
        removed.removed = true;
        snapshot
            .catalog
            .push(put(vec![changed.clone(), removed]).await);

        let tables = index.tables(&snapshot, None).await.unwrap();
        assert_eq!(tables.len(), 5);
        assert!(tables.is_sorted_by_key(TableRecord::key));
        assert!(tables.contains(&changed));
        let one_lake = index.tables(&snapshot, Some("s3://lake-1")).await.unwrap();
        assert_eq!(one_lake.len(), 2);
        assert_eq!(
            index
                .tables_with_removed(&snapshot, None)
                .await
                .unwrap()
                .len(),
            6
        );
        // The other order is another history.
        snapshot.catalog.reverse();
        assert_eq!(index.tables(&snapshot, None).await.unwrap().len(), 6);

        // A flipped bit anywhere does not match the name.
        let path = &snapshot.catalog[0].path;
        let bytes = index.store.get(path).await.unwrap();
        for at in (0..bytes.len()).step_by(29) {
            let mut flipped = bytes.to_vec();
            flipped[at] ^= 4;
            index.store.put(path, flipped.into()).await.unwrap();
            assert!(index.tables(&snapshot, None).await.unwrap_err().is_damage());
        }
    });
}
