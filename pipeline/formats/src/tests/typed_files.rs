//! What holds of all formats whose columns have types: the same rows give the same summary, and
//! broken files one clear line.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array,
    Float64Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
    TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType as Arrow, Field, Int32Type};
use arrow::ipc::CompressionType;
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;

use super::arrow_files::{batch, packed, plain};
use super::*;

/// A column of a type that Parquet, Arrow and Avro all hold.
fn column_of(rows: usize) -> impl Strategy<Value = ArrayRef> {
    fn cells<T: std::fmt::Debug + Clone>(
        rows: usize,
        value: impl Strategy<Value = T> + 'static,
    ) -> BoxedStrategy<Vec<Option<T>>> {
        prop::collection::vec(prop::option::weighted(0.8, value), rows).boxed()
    }
    prop_oneof![
        cells(rows, any::<i32>()).prop_map(|it| Arc::new(Int32Array::from(it)) as ArrayRef),
        cells(rows, any::<i64>()).prop_map(|it| Arc::new(Int64Array::from(it)) as ArrayRef),
        cells(rows, any::<f32>()).prop_map(|it| Arc::new(Float32Array::from(it)) as ArrayRef),
        cells(rows, any::<f64>()).prop_map(|it| Arc::new(Float64Array::from(it)) as ArrayRef),
        cells(rows, any::<bool>()).prop_map(|it| Arc::new(BooleanArray::from(it)) as ArrayRef),
        cells(rows, "[a-c]{0,2}|\\PC{0,20}")
            .prop_map(|it| Arc::new(StringArray::from(it)) as ArrayRef),
        cells(rows, -100_000..100_000i32)
            .prop_map(|it| Arc::new(Date32Array::from(it)) as ArrayRef),
        cells(rows, any::<i32>()).prop_map(|it| {
            let it = it
                .into_iter()
                .map(|it| it.map(|it| i64::from(it) * 1_000_003));
            Arc::new(TimestampMicrosecondArray::from_iter(it).with_timezone("+00:00")) as ArrayRef
        }),
        cells(rows, -10_000_000..10_000_000i128).prop_map(|it| {
            let it = Decimal128Array::from(it)
                .with_precision_and_scale(9, 2)
                .unwrap();
            Arc::new(it) as ArrayRef
        }),
        cells(
            rows,
            prop::collection::vec(prop::option::of(any::<i32>()), 0..4)
        )
        .prop_map(|it| {
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(it)) as ArrayRef
        }),
        cells(rows, prop::collection::vec(any::<u8>(), 0..4))
            .prop_map(|it| { Arc::new(BinaryArray::from_iter(it)) as ArrayRef }),
        (cells(rows, any::<i64>()), cells(rows, "[a-z]{0,3}")).prop_map(|(a, b)| {
            let a: ArrayRef = Arc::new(Int64Array::from(a));
            let b: ArrayRef = Arc::new(StringArray::from(b));
            let fields = [("a", a), ("b", b)].map(|(name, array)| {
                (
                    Arc::new(Field::new(name, array.data_type().clone(), true)),
                    array,
                )
            });
            Arc::new(StructArray::from(fields.to_vec())) as ArrayRef
        }),
    ]
}

fn batches() -> impl Strategy<Value = RecordBatch> {
    (0usize..40, 1usize..5).prop_flat_map(|(rows, columns)| {
        prop::collection::vec(column_of(rows), columns).prop_map(|columns| {
            let names = ["a", "b", "c", "d"];
            batch(names.into_iter().zip(columns).collect())
        })
    })
}

/// The batch in several.
fn cut(batch: &RecordBatch, rows: usize) -> Vec<RecordBatch> {
    let starts = (0..batch.num_rows().max(1)).step_by(rows.max(1));
    let cut = |start: usize| batch.slice(start, rows.max(1).min(batch.num_rows() - start));
    starts.map(cut).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn one_table_is_one_summary_in_every_format(batch in batches(), rows in 1usize..50) {
        let parquet = parquet_files::write(&batch, WriterProperties::builder().build());
        let reference = read("x.parquet", parquet);
        let batches = cut(&batch, rows);
        for (path, content) in [
            ("x.arrow", arrow_files::file(&batches, plain())),
            ("x.arrows", arrow_files::stream(&batches, plain())),
            ("x.feather", arrow_files::file(&batches, packed(CompressionType::LZ4_FRAME))),
            ("x.ipc", arrow_files::stream(&batches, packed(CompressionType::ZSTD))),
            ("x.avro", avro_files::file(&batches)),
        ] {
            let summary = read(path, content);
            prop_assert_eq!(&summary, &reference, "{}", path);
        }
    }
}

/// A file of each kind, to be broken.
fn sound(kind: usize) -> (&'static str, Vec<u8>) {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter(
        (0..60).map(|i| (i % 7 != 0).then_some(i)),
    ));
    let words: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..60).map(|i| format!("w{}", i % 5)),
    ));
    let keys = arrow::compute::cast(
        &words,
        &Arrow::Dictionary(Box::new(Arrow::Int16), Box::new(Arrow::Utf8)),
    )
    .unwrap();
    let views = arrow::compute::cast(&words, &Arrow::Utf8View).unwrap();
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(
        (0..60).map(|i| Some(vec![Some(i), None])),
    ));
    let struct_of: ArrayRef = Arc::new(StructArray::from(vec![
        (Arc::new(Field::new("a", Arrow::Int64, true)), ids.clone()),
        (
            Arc::new(Field::new("b", keys.data_type().clone(), true)),
            keys.clone(),
        ),
    ]));
    let simple = batch(vec![
        ("id", ids.clone()),
        ("word", words.clone()),
        ("list", lists.clone()),
    ]);
    let all = batch(vec![
        ("id", ids),
        ("word", words),
        ("key", keys),
        ("view", views),
        ("list", lists),
        ("struct", struct_of),
    ]);
    let data = |name: &str| {
        std::fs::read(format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    };
    match kind {
        0 => ("x.arrow", arrow_files::file(&cut(&all, 25), plain())),
        1 => (
            "x.arrow",
            arrow_files::file(&cut(&all, 25), packed(CompressionType::LZ4_FRAME)),
        ),
        2 => ("x.arrow", arrow_files::stream(&cut(&all, 25), plain())),
        3 => (
            "x.arrow",
            arrow_files::stream(&cut(&all, 25), packed(CompressionType::ZSTD)),
        ),
        4 => ("x.avro", avro_files::file(&cut(&simple, 25))),
        5 => ("x.avro", data("table_deflate.avro")),
        6 => ("x.avro", data("kinds.avro")),
        7 => ("x.orc", data("kinds.orc")),
        8 => ("x.orc", data("table_uncompressed.orc")),
        9 => ("x.orc", data("table_lz4.orc")),
        _ => ("x.orc", data("table_first.orc")),
    }
}

const KINDS: usize = 11;

/// Reads, and checks what must hold of every outcome.
fn survives(path: &str, content: Vec<u8>, budget_bytes: u64) -> Result<(), TestCaseError> {
    let started = Instant::now();
    let (result, _) = read_with(path, content, &budget(budget_bytes));
    prop_assert!(
        started.elapsed() < Duration::from_secs(30),
        "took {:?}",
        started.elapsed()
    );
    match result {
        Ok(summary) => {
            prop_assert!(!summary.columns.is_empty());
            for row in &summary.sample.rows {
                prop_assert_eq!(row.values.len(), summary.columns.len());
            }
            if summary.rows_exact && !summary.approximate {
                prop_assert_eq!(summary.sample.rows.len() as u64, summary.rows.min(5));
            }
        }
        Err(error) => {
            prop_assert_eq!(&error.object, path);
            prop_assert!(error.kind != FileErrorKind::Panicked, "{}", error);
            prop_assert!(!error.to_string().contains('\n'));
        }
    }
    Ok(())
}

#[test]
fn the_files_of_these_tests_are_sound() {
    for kind in 0..KINDS {
        let (path, content) = sound(kind);
        let summary = read(path, content);
        assert!(summary.rows > 0 && !summary.approximate, "{kind}");
    }
}

/// At every length up to some thousand bytes, and then at some lengths.
#[test]
fn files_that_are_cut_off_are_refused() {
    for kind in 0..KINDS {
        let (path, content) = sound(kind);
        let step = 1 + content.len() / 1500;
        for length in (0..content.len()).step_by(step) {
            let cut = content[..length].to_vec();
            survives(path, cut.clone(), 1 << 20).unwrap();
            let result = read_with(path, cut, &ReadOptions::default()).0;
            // A stream may end after each of its messages, a file of blocks after each of those.
            if !matches!(kind, 2..=6) {
                let error = result.unwrap_err();
                let kinds = [
                    FileErrorKind::Corrupt,
                    FileErrorKind::Empty,
                    FileErrorKind::NotItsFormat,
                ];
                assert!(kinds.contains(&error.kind), "{kind}, {length}: {error}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn flipped_bytes_are_survived(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        kind in 0..KINDS,
        at_end: bool,
        budget in prop_oneof![Just(500u64), Just(6000), Just(1 << 20)],
    ) {
        let (path, mut content) = sound(kind);
        // What the rest relies on stands at the end of files, and at the beginning of others.
        let from = if at_end { content.len() - content.len().min(1200) } else { 0 };
        let to = if at_end { content.len() } else { content.len() / 2 + 1 };
        for (place, byte) in places {
            content[from + place.index(to - from)] = byte;
        }
        survives(path, content, budget)?;
    }

    #[test]
    fn any_bytes_are_survived(mut content in prop::collection::vec(any::<u8>(), 0..600), kind in 0usize..6) {
        let (path, magic) = [
            ("x.arrow", &b"ARROW1\0\0"[..]),
            ("x.arrow", b"\xff\xff\xff\xff"),
            ("x.arrow", b""),
            ("x.avro", b"Obj\x01"),
            ("x.orc", b"ORC"),
            ("x.orc", b""),
        ][kind];
        if content.len() >= 16 {
            content[..magic.len()].copy_from_slice(magic);
            let end = content.len();
            if path == "x.arrow" && kind == 0 {
                content[end - 8..end - 6].copy_from_slice(&[0, 0]);
                content[end - 6..].copy_from_slice(b"ARROW1");
            }
            if path == "x.orc" {
                content[end - 4..].copy_from_slice(b"ORC\x10");
            }
        }
        survives(path, content, 1000)?;
    }
}
