//! Which bytes of an Arrow file above the budget are read.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow::ipc::CompressionType;

use super::arrow_files::{batch, file, packed, plain, stream};
use super::*;

/// `rows` rows of an id, a text of 32 letters that do not repeat, and a flag.
fn wide(rows: std::ops::Range<i64>) -> RecordBatch {
    let text = |i: i64| {
        let i = i as u64;
        format!(
            "{:016x}{:016x}",
            i.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            i.wrapping_mul(0x3c6e_f372_fe94_f82b)
        )
    };
    batch(vec![
        (
            "id",
            Arc::new(Int64Array::from_iter(
                rows.clone().map(|i| (i % 10 != 3).then_some(i)),
            )),
        ),
        (
            "text",
            Arc::new(StringArray::from_iter_values(rows.clone().map(text))),
        ),
        (
            "flag",
            Arc::new(BooleanArray::from_iter(rows.map(|i| Some(i % 2 == 0)))),
        ),
    ])
}

/// What must hold of a summary of a file of `wide(0..rows)` that was read in parts.
fn check(summary: &FileSummary, rows: u64) {
    assert_eq!(schema(summary), "id:integer text:text flag:boolean");
    assert_eq!(
        (summary.rows, summary.rows_exact, summary.approximate),
        (rows, true, true)
    );
    assert_eq!(summary.sample.rows.len(), 5);
    for row in &summary.sample.rows {
        // Each row is the one that its number says.
        let expected = wide(row.row as i64..row.row as i64 + 1);
        let text = expected
            .column(1)
            .as_any()
            .downcast_ref::<StringArray>()
            .unwrap();
        let id = (row.row % 10 != 3).then(|| row.row.to_string());
        assert_eq!(
            row.values,
            [
                id,
                Some(text.value(0).to_owned()),
                Some((row.row % 2 == 0).to_string())
            ]
        );
    }
    let profile = &column(summary, "id").profile;
    assert_eq!(
        (profile.nulls, profile.values),
        (rows / 10, rows - rows / 10)
    );
    assert!(!profile.exact);
}

#[test]
fn of_large_files_batches_are_read_that_a_hash_draws() {
    let batches: Vec<RecordBatch> = (0..50).map(|i| wide(i * 2000..(i + 1) * 2000)).collect();
    for (content, is_packed) in [
        (file(&batches, plain()), false),
        (stream(&batches, plain()), false),
        (file(&batches, packed(CompressionType::LZ4_FRAME)), true),
        (stream(&batches, packed(CompressionType::ZSTD)), true),
    ] {
        assert!(content.len() > 1 << 20);
        let options = budget(512 << 10);
        let (summary, counts) = read_with("x.arrow", content.clone(), &options);
        let summary = summary.unwrap();
        check(&summary, 100_000);
        // The budget, and a little for the metadata.
        assert!(counts.bytes_read < 900 << 10, "{} bytes", counts.bytes_read);
        // From all over the file, and always the same.
        let rows: Vec<u64> = summary
            .sample
            .rows
            .iter()
            .map(|row| row.row / 2000)
            .collect();
        assert!(rows.iter().any(|batch| *batch != rows[0]) || is_packed);
        assert_eq!(
            read_with("x.arrow", content.clone(), &options).0.unwrap(),
            summary
        );
        let other = ReadOptions {
            seed: 1,
            ..options.clone()
        };
        assert_ne!(
            read_with("x.arrow", content, &other).0.unwrap().sample,
            summary.sample
        );
    }
}

#[test]
fn a_batch_that_is_too_large_gives_its_first_rows() {
    let content = file(&[wide(0..100_000)], plain());
    let (summary, counts) = read_with("x.arrow", content, &budget(256 << 10));
    let summary = summary.unwrap();
    check(&summary, 100_000);
    assert!(counts.bytes_read < 400 << 10, "{} bytes", counts.bytes_read);
    assert!(column(&summary, "id").profile.distinct() > 3000);
}

#[test]
fn a_packed_batch_that_is_too_large_gives_the_columns_that_fit() {
    let content = file(&[wide(0..100_000)], packed(CompressionType::ZSTD));
    let (summary, counts) = read_with("x.arrow", content, &budget(600 << 10));
    let summary = summary.unwrap();
    assert_eq!((summary.rows, summary.rows_exact), (100_000, true));
    assert!(counts.bytes_read < 800 << 10, "{} bytes", counts.bytes_read);
    assert_eq!(
        summary.notes[1],
        "values of 1 column not read that take too much at once"
    );
    let profile = &column(&summary, "text").profile;
    assert_eq!(
        (profile.values, profile.distinct(), profile.exact),
        (100_000, 0, false)
    );
    assert!(column(&summary, "flag").profile.distinct() == 2);
    assert!(
        summary
            .sample
            .rows
            .iter()
            .all(|row| row.values[1].is_none() && row.values[2].is_some())
    );
}

#[test]
fn many_values_of_few_bytes_are_not_all_looked_at() {
    let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true; 1 << 20]));
    let (summary, _) = read_with(
        "x.arrow",
        file(&[batch(vec![("flag", flags)])], plain()),
        &budget(256 << 10),
    );
    let summary = summary.unwrap();
    assert_eq!(
        (summary.rows, summary.rows_exact, summary.approximate),
        (1 << 20, true, true)
    );
    let profile = &column(&summary, "flag").profile;
    assert_eq!(
        (profile.values, profile.uncounted),
        (1 << 20, (1 << 20) - (128 << 10))
    );
}
