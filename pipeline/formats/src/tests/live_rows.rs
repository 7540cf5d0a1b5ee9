//! Rows that the log of a table has deleted, of Avro and ORC files larger than the budget: which
//! rows are read goes by numbers that only the whole file gives.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use base64::Engine;
use limn_profile::{DeclaredReading, Deletes, Logged};
use roaring::RoaringTreemap;

use super::arrow_files::batch;
use super::*;
use crate::Declaration;

/// Reads a file of which these rows are deleted.
fn read_without(
    path: &str,
    content: Vec<u8>,
    deleted: impl Iterator<Item = u64>,
    scan_budget: u64,
) -> FileSummary {
    let mut bytes = vec![0xd1, 0xd3, 0x39, 0x64];
    let deleted: RoaringTreemap = deleted.collect();
    deleted.serialize_into(&mut bytes).unwrap();
    let text = base64::engine::general_purpose::STANDARD.encode(bytes);
    let logged = Logged {
        deletes: vec![Deletes::Inline(text)],
        ..Logged::default()
    };
    read_logged(path, content, logged, scan_budget)
}

/// Reads a file of which the log of its table says this.
pub(super) fn read_logged(
    path: &str,
    content: Vec<u8>,
    logged: Logged,
    scan_budget: u64,
) -> FileSummary {
    let reading = DeclaredReading {
        logged: Some(Box::new(logged)),
        ..DeclaredReading::default()
    };
    let mut file = data_file(path, content.len());
    file.declared = Some(Arc::new(Declaration {
        reading,
        ..Declaration::default()
    }));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = Store::in_memory();
        store.put(path, content.into()).await.unwrap();
        summarise_file(&store, &file, &budget(scan_budget))
            .await
            .unwrap()
    })
}

#[test]
fn deleted_rows_of_a_large_file_are_nowhere() {
    let numbers = |rows: std::ops::Range<i64>| {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(rows));
        batch(vec![("n", numbers)])
    };
    let blocks: Vec<_> = (0..100)
        .map(|at| numbers(at * 1000..(at + 1) * 1000))
        .collect();
    let avro = avro_files::file(&blocks);
    for scan_budget in [8 << 10, 16 << 20] {
        // Every row that is not divisible by ten.
        let deleted = (0..100_000).filter(|row| row % 10 != 0);
        let summary = read_without("x.avro", avro.clone(), deleted, scan_budget);
        assert_eq!((summary.rows, summary.rows_exact), (10_000, true));
        let is_live = |text: &str| text.parse::<u64>().unwrap() % 10 == 0;
        let (min, max) = range(&summary, "n");
        assert!(is_live(&min.unwrap()) && is_live(&max.unwrap()));
        assert_eq!(summary.sample.rows.len(), 5);
        for row in &summary.sample.rows {
            assert!(is_live(row.values[0].as_deref().unwrap()), "{row:?}");
        }
    }
}

#[test]
fn statistics_of_deleted_rows_are_not_taken() {
    let data = |name: &str| {
        std::fs::read(format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    };
    let content = data("table_uncompressed.orc");
    let all = read("x.orc", content.clone());
    let first: Vec<Option<String>> = {
        let known = read_without("x.orc", content.clone(), 1..all.rows, 16 << 20);
        assert_eq!(
            (known.rows, known.rows_exact, known.approximate),
            (1, true, false)
        );
        known.sample.rows[0].values.clone()
    };
    let part = read_without("x.orc", content, 1..all.rows, 8 << 10);
    assert_eq!(
        (part.rows, part.rows_exact, part.approximate),
        (1, true, true)
    );
    for (column, value) in part.columns.iter().zip(first) {
        let bounds = [&column.profile.min, &column.profile.max];
        let mut bounds = bounds.into_iter().flatten();
        assert!(
            bounds.all(|it| Some(it) == value.as_ref()),
            "{}: {:?}, and the row has {value:?}",
            column.name,
            column.profile
        );
    }
}
