//! Avro files of every kind.

use std::io::Read;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_avro::writer::AvroWriter;

use super::arrow_files::batch;
use super::*;

/// A file as Arrow writes it: not packed.
pub(super) fn file(batches: &[RecordBatch]) -> Vec<u8> {
    let schema = batches[0].schema();
    let mut writer = AvroWriter::new(Vec::new(), schema.as_ref().clone()).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
    writer.into_inner()
}

pub(super) fn number(number: i64) -> Vec<u8> {
    let mut left = ((number << 1) ^ (number >> 63)) as u64;
    let mut bytes = Vec::new();
    while left >= 0x80 {
        bytes.push(left as u8 | 0x80);
        left >>= 7;
    }
    bytes.push(left as u8);
    bytes
}

/// A file of one column of this type, with these blocks of as many rows.
pub(super) fn written(kind: &str, codec: &str, blocks: &[(i64, &[u8])]) -> Vec<u8> {
    written_of(&format!(r#"{{"name":"x","type":{kind}}}"#), codec, blocks)
}

/// As [`written`], of columns of these fields.
pub(super) fn written_of(fields: &str, codec: &str, blocks: &[(i64, &[u8])]) -> Vec<u8> {
    let schema = format!(r#"{{"type":"record","name":"r","fields":[{fields}]}}"#);
    let mut file = b"Obj\x01".to_vec();
    file.extend(number(2));
    for text in ["avro.schema", &schema, "avro.codec", codec] {
        file.extend(number(text.len() as i64));
        file.extend(text.as_bytes());
    }
    file.push(0);
    file.extend([7; 16]);
    for (rows, content) in blocks {
        file.extend(number(*rows));
        file.extend(number(content.len() as i64));
        file.extend(*content);
        file.extend([7; 16]);
    }
    file
}

#[test]
fn rows_are_those_of_all_blocks() {
    let ids = |range: std::ops::Range<i64>| {
        batch(vec![(
            "id",
            Arc::new(Int64Array::from_iter_values(range)) as ArrayRef,
        )])
    };
    let text: String = (0..5000).map(|i| format!("{i}\n")).collect();
    let csv = read("x.csv", format!("id\n{text}"));
    let content = file(&[ids(0..1000), ids(1000..1001), ids(1001..5000)]);
    let (summary, counts) = read_with("x.avro", content, &ReadOptions::default());
    let summary = summary.unwrap();
    assert_eq!(summary.sample, csv.sample);
    assert_eq!(column(&summary, "id").profile, column(&csv, "id").profile);
    assert_eq!((counts.get, counts.head, counts.list), (1, 0, 0));
}

#[test]
fn files_without_rows_have_their_types() {
    let summary = read(
        "x.avro",
        written(r#"{"type":"int","logicalType":"date"}"#, "null", &[]),
    );
    assert_eq!(schema(&summary), "x:date");
    assert_eq!(
        (summary.rows, summary.rows_exact, summary.approximate),
        (0, true, false)
    );
}

#[test]
fn rows_of_nulls_alone_are_rows() {
    let summary = read(
        "x.avro",
        written(r#""null""#, "null", &[(3, &[]), (4, &[])]),
    );
    assert_eq!((summary.rows, summary.sample.rows.len()), (7, 5));
    assert_eq!(column(&summary, "x").profile.nulls, 7);
    // However many they claim to be.
    let (summary, _) = read_with(
        "x.avro",
        written(r#""null""#, "null", &[(1 << 32, &[])]),
        &budget(64 << 10),
    );
    let summary = summary.unwrap();
    assert_eq!((summary.rows, summary.approximate), (1 << 32, true));
    let error = failure("x.avro", written(r#""null""#, "null", &[(1 << 40, &[])]));
    assert!(
        error.to_string().contains("more rows than any file has"),
        "{error}"
    );
}

#[test]
fn what_cannot_be_read_is_named() {
    let error = failure("x.avro", written(r#""int""#, "bzip2", &[]));
    assert!(
        error
            .to_string()
            .contains("packed with bzip2; write it with the codec deflate, snappy or zstandard"),
        "{error}"
    );
    for (rows, content, says) in [
        (2, &[2u8][..], "a row of the block at byte"),
        (1, &[2, 4], "more in it than its rows"),
        (1, &[], "a row of the block at byte"),
    ] {
        let error = failure("x.avro", written(r#""int""#, "null", &[(rows, content)]));
        assert!(error.to_string().contains(says), "{error}");
    }
    let sound = written(r#""int""#, "null", &[(1, &[2]), (1, &[4])]);
    let mut marker = sound.clone();
    let end = marker.len();
    marker[end - 1] = 8;
    assert!(failure("x.avro", marker).to_string().contains("is broken"));
    assert!(
        failure("x.avro", sound[..end - 1].to_vec())
            .to_string()
            .contains("it is cut off")
    );
    let error = failure("x.avro", b"id,name\n1,a\n".to_vec());
    assert!(
        error.to_string().contains("named as Avro but is text"),
        "{error}"
    );
    let error = failure("x.csv", sound);
    assert!(
        error.to_string().ends_with("rename the file to .avro"),
        "{error}"
    );
}

#[test]
fn bytes_that_stand_for_very_many_take_no_memory() {
    // A list that claims two billion nulls, in each of two rows.
    let list = [
        0xfe, 0xff, 0xff, 0xff, 0x0f, 0, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0,
    ];
    let content = written(r#"{"type":"array","items":"null"}"#, "null", &[(2, &list)]);
    let (summary, _) = read_with("x.avro", content, &budget(64 << 10));
    let summary = summary.unwrap();
    assert_eq!((summary.rows, summary.approximate), (2, true));
    assert_eq!(
        summary.notes,
        ["2 rows not read that take too much at once"]
    );
    assert!(summary.sample.rows.is_empty());
    // A block that unpacks to many budgets.
    let bomb = zstd::encode_all(std::io::repeat(0).take(1 << 26), 1).unwrap();
    let content = written(
        r#""long""#,
        "zstandard",
        &[
            (1 << 26, &bomb),
            (1, &zstd::encode_all(&[2u8][..], 1).unwrap()),
        ],
    );
    let (summary, _) = read_with("x.avro", content, &budget(256 << 10));
    let summary = summary.unwrap();
    assert!(
        summary
            .notes
            .iter()
            .any(|note| note.ends_with("rows not read that take too much at once")),
        "{:?}",
        summary.notes
    );
}

/// `rows` rows of an id, a text that does not repeat, and a flag.
fn wide(rows: std::ops::Range<i64>) -> RecordBatch {
    let text = |i: i64| {
        format!(
            "{:032x}",
            (i as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834)
        )
    };
    batch(vec![
        (
            "id",
            Arc::new(Int64Array::from_iter_values(rows.clone())) as ArrayRef,
        ),
        (
            "text",
            Arc::new(StringArray::from_iter_values(rows.clone().map(text))),
        ),
        (
            "flag",
            Arc::new(BooleanArray::from_iter(
                rows.clone().map(|i| Some(i % 2 == 0)),
            )),
        ),
        (
            "half",
            Arc::new(Float64Array::from_iter_values(rows.map(|i| i as f64 / 2.0))),
        ),
    ])
}

#[test]
fn of_large_files_ranges_are_read() {
    let batches: Vec<RecordBatch> = (0..400).map(|i| wide(i * 100..(i + 1) * 100)).collect();
    let content = file(&batches);
    assert!(content.len() > 1 << 20);
    let options = budget(256 << 10);
    let (summary, counts) = read_with("x.avro", content.clone(), &options);
    let summary = summary.unwrap();
    assert!(counts.bytes_read <= 330 << 10, "{}", counts.bytes_read);
    assert!(summary.rows.abs_diff(40_000) < 1000, "{}", summary.rows);
    assert_eq!(
        (
            summary.rows_exact,
            summary.approximate,
            summary.sample.rows.len()
        ),
        (false, true, 5)
    );
    let ids: Vec<i64> = summary
        .sample
        .rows
        .iter()
        .map(|row| row.values[0].as_deref().unwrap().parse().unwrap())
        .collect();
    assert!(ids.iter().any(|id| id.abs_diff(ids[0]) > 2000), "{ids:?}");
    for row in &summary.sample.rows {
        let half = row.values[3].as_deref().unwrap().parse::<f64>().unwrap();
        assert_eq!(
            row.values[0].as_deref().unwrap().parse::<f64>().unwrap(),
            half * 2.0
        );
    }
    assert_eq!(read_with("x.avro", content, &options).0.unwrap(), summary);
}

#[test]
fn a_block_longer_than_a_range_is_read_if_it_fits() {
    let content = file(&[wide(0..2000), wide(2000..20_000)]);
    let (summary, _) = read_with("x.avro", content, &budget(128 << 10));
    let summary = summary.unwrap();
    assert!(summary.rows.abs_diff(20_000) < 2000, "{}", summary.rows);
    assert!(summary.sample.rows.len() == 5 && column(&summary, "id").profile.values == 2000);
}

#[test]
fn unpacked_blocks_are_work() {
    // Lists that are empty after as many bytes of no meaning: of ten rows one is taken.
    let zeros = zstd::encode_all(std::io::repeat(0).take(600_000), 1).unwrap();
    let blocks = vec![(600_000, &zeros[..]); 20];
    let content = written(r#"{"type":"array","items":"int"}"#, "zstandard", &blocks);
    let (summary, _) = read_with("x.avro", content, &budget(64 << 10));
    let summary = summary.unwrap();
    assert_eq!((summary.rows, summary.approximate), (12_000_000, true));
    let together = "some values not read that take too much together";
    assert!(summary.notes.iter().any(|note| note == together));
}

#[test]
fn rows_of_many_blocks_are_decoded_together() {
    // Three thousand types, and as many blocks of one row.
    let fields = (0..3000).map(|i| format!(r#"{{"name":"f{i}","type":"null"}}"#));
    let fields: Vec<String> = fields.collect();
    let kind = format!(
        r#"{{"type":"record","name":"e","fields":[{}]}}"#,
        fields.join(",")
    );
    let blocks = vec![(1, &[][..]); 3000];
    let content = written(&kind, "null", &blocks);
    let started = std::time::Instant::now();
    let (summary, _) = read_with("x.avro", content, &budget(1 << 20));
    let summary = summary.unwrap();
    assert_eq!((summary.rows, summary.sample.rows.len()), (3000, 5));
    assert!(!summary.approximate, "{:?}", summary.notes);
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
}

#[test]
fn a_schema_of_very_many_bytes_is_not_looked_at() {
    let kind = format!("[{}]", "0,".repeat(600_000));
    let error = failure("x.avro", written(&kind, "null", &[]));
    assert_eq!(error.kind, FileErrorKind::Unsupported);
    assert!(error.cause.starts_with("its schema has 1200"), "{error}");
}

#[test]
fn rows_of_the_sample_have_all_their_values() {
    // A word of 50 KB for each row, and the row's number.
    let word = "x".repeat(50_000);
    let fields = format!(
        r#"{{"name":"w","type":{{"type":"enum","name":"f","symbols":["{word}"]}}}},{{"name":"n","type":"long"}}"#
    );
    let rows = |from: i64| -> Vec<u8> {
        let rows = (from..from + 50).map(|n| [vec![0], number(n)].concat());
        rows.flatten().collect()
    };
    let blocks: Vec<Vec<u8>> = (0..20).map(|i| rows(i * 50)).collect();
    let blocks: Vec<(i64, &[u8])> = blocks.iter().map(|block| (50, &block[..])).collect();
    let content = written_of(&fields, "null", &blocks);
    let (summary, _) = read_with("x.avro", content, &budget(64 << 10));
    let summary = summary.unwrap();
    assert_eq!((summary.rows, summary.approximate), (1000, true));
    assert_eq!(summary.sample.rows.len(), 5);
    for row in &summary.sample.rows {
        assert_eq!(row.values[0].as_deref(), Some(&word[..500]));
        assert_eq!(row.values[1], Some(row.row.to_string()));
    }
}
