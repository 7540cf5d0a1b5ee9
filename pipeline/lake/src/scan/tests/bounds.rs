//! What is left out unread has no row that passes; what summaries say of files is what their rows
//! are.

use arrow::array::{Array, Float32Array, TimestampMicrosecondArray};
use arrow::compute::filter_record_batch;
use limn_formats::render;
use limn_profile::{DataType, Order, infer};
use proptest::prelude::*;

use super::*;

/// A file of a column `v`, and of another that tells rows apart.
fn file_of(kind: usize, seeds: &[u8]) -> (&'static str, Vec<u8>) {
    let column = |values: ArrayRef| {
        let batch = RecordBatch::try_from_iter(vec![("v", values)]).unwrap();
        parquet_of(&batch, 3)
    };
    let text = |extension: &'static str, value: &dyn Fn(u8) -> String| {
        let rows: String = seeds.iter().map(|seed| value(*seed) + "\n").collect();
        let header = if extension == "csv" { "v\n" } else { "" };
        (extension, format!("{header}{rows}").into_bytes())
    };
    let null = |seed: u8| seed % 11 == 10;
    let float = |seed: u8| match seed % 16 {
        0 => f64::NAN,
        1 => -f64::NAN,
        2 => -0.0,
        3 => 0.0,
        4 => f64::INFINITY,
        _ => f64::from(seed) / 10.0 - 5.0,
    };
    let valid = seeds.iter().map(|seed| !null(*seed));
    let some = |value: &dyn Fn(u8) -> f64| -> Vec<Option<f64>> {
        seeds
            .iter()
            .zip(valid.clone())
            .map(|(seed, valid)| valid.then(|| value(*seed)))
            .collect()
    };
    match kind {
        0 => text("csv", &|seed| format!("{}", seed)),
        1 => text("csv", &|seed| format!("A{}", seed)),
        2 => text("csv", &|seed| {
            format!("{}/{}/2024", seed % 28 + 1, seed % 12 + 1)
        }),
        3 => text("csv", &|seed| {
            format!("2024-{:02}-{:02}", seed % 12 + 1, seed % 28 + 1)
        }),
        4 => text("csv", &|seed| {
            format!("2024-01-{:02} {:02}:00:00", seed % 28 + 1, seed % 24)
        }),
        5 => text("csv", &|seed| {
            format!("\"{}.{:03},50\"", seed % 9 + 1, seed)
        }),
        6 => text("csv", &|seed| format!("{}", f64::from(seed) / 10.0 - 5.0)),
        7 => text("jsonl", &|seed| match null(seed) {
            true => "{\"v\":null}".to_owned(),
            false => format!("{{\"v\":{:?}}}", f64::from(seed) / 10.0),
        }),
        8 => text("jsonl", &|seed| format!("{{\"v\":\"{}\"}}", seed)),
        9 => (
            "parquet",
            column(Arc::new(Float64Array::from(some(&float)))),
        ),
        10 => {
            let narrow = some(&float).into_iter().map(|it| it.map(|it| it as f32));
            (
                "parquet",
                column(Arc::new(narrow.collect::<Float32Array>())),
            )
        }
        11 => {
            let whole = some(&|seed| f64::from(seed))
                .into_iter()
                .map(|it| it.map(|it| it as i64));
            ("parquet", column(Arc::new(whole.collect::<Int64Array>())))
        }
        12 => {
            let days = seeds.iter().map(|seed| i32::from(*seed) * 5_000);
            (
                "parquet",
                column(Arc::new(Date32Array::from_iter_values(days))),
            )
        }
        13 => {
            let times = seeds
                .iter()
                .map(|seed| i64::from(*seed) * 3_000_000_000_000);
            (
                "parquet",
                column(Arc::new(TimestampMicrosecondArray::from_iter_values(times))),
            )
        }
        14 => {
            let times = seeds
                .iter()
                .map(|seed| i64::from(*seed) * 1_000_000_000_000_000);
            (
                "parquet",
                column(Arc::new(TimestampMillisecondArray::from_iter_values(times))),
            )
        }
        15 => {
            let texts = seeds
                .iter()
                .map(|seed| Some(format!("{}", u32::from(*seed) * 7)));
            ("parquet", column(Arc::new(texts.collect::<StringArray>())))
        }
        _ => {
            let prices = seeds.iter().map(|seed| Some(i128::from(*seed) * 7));
            let prices: Decimal128Array = prices.collect();
            let prices = prices.with_precision_and_scale(12, 2).unwrap();
            ("parquet", column(Arc::new(prices)))
        }
    }
}

/// Every test of every value that there is gives what it gives where nothing is left out.
async fn filters_are_exact(files: &[(usize, Vec<u8>)]) {
    let files: Vec<(String, Vec<u8>)> = (0..)
        .zip(files)
        .map(|(at, (kind, seeds)): (usize, _)| {
            let (extension, content) = file_of(*kind, seeds);
            (format!("t/f{at}.{extension}"), content)
        })
        .collect();
    let files: Vec<(&str, Vec<u8>)> = files
        .iter()
        .map(|(path, content)| (path.as_str(), content.clone()))
        .collect();
    let table = table(&files).await;
    let (whole, _) = batches(&table, Request::default()).await;
    let mut tests = vec![Test::IsNull, Test::IsNotNull];
    for batch in &whole {
        for at in (0..batch.num_rows()).step_by(3) {
            let value = batch.column(0).slice(at, 1);
            if value.is_null(0) {
                continue;
            }
            for comparison in [
                Comparison::Equal,
                Comparison::Less,
                Comparison::LessOrEqual,
                Comparison::Greater,
                Comparison::GreaterOrEqual,
            ] {
                tests.push(Test::Is(comparison, value.clone()));
            }
            tests.push(Test::In(value));
        }
    }
    for test in tests {
        let expected: Vec<RecordBatch> = whole
            .iter()
            .map(|batch| filter_record_batch(batch, &test.of(batch.column(0)).unwrap()).unwrap())
            .collect();
        let request = Request {
            filters: vec![Filter {
                column: 0,
                test: test.clone(),
            }],
            ..Request::default()
        };
        let (found, _) = batches(&table, request).await;
        assert_eq!(
            shown(&found),
            shown(&expected),
            "{test:?} of {:?}",
            types(&table)
        );
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn what_is_left_out_unread_would_not_pass(
        files in prop::collection::vec((0usize..17, prop::collection::vec(any::<u8>(), 2..9)), 1..4)
    ) {
        runtime().block_on(filters_are_exact(&files));
    }
}

#[tokio::test]
async fn moments_beyond_all_calendars_are_not_left_out() {
    filters_are_exact(&[(14, vec![0, 9])]).await;
}

#[tokio::test]
async fn numbers_in_a_table_of_texts_are_compared_as_texts() {
    let codes: String = (1..=100).map(|n| format!("{n}\n")).collect();
    let table = table(&[
        ("t/a.csv", format!("code\n{codes}").into()),
        ("t/b.csv", "code\nA7\n".into()),
    ])
    .await;
    let is_20: ArrayRef = Arc::new(arrow::array::StringViewArray::from(vec!["20"]));
    let filters = vec![Filter {
        column: 0,
        test: Test::Is(Comparison::Equal, is_20),
    }];
    let request = Request {
        filters,
        ..Request::default()
    };
    assert_eq!(shown(&batches(&table, request).await.0), ["20"]);
}

#[tokio::test]
async fn bounds_of_other_types_and_what_is_no_number_leave_nothing_out() {
    for kinds in [
        [9, 10],
        [10, 6],
        [15, 11],
        [2, 3],
        [5, 0],
        [12, 4],
        [13, 14],
        [16, 0],
        [7, 8],
    ] {
        let seeds = || (0..40).map(|n| n * 6).collect::<Vec<u8>>();
        filters_are_exact(&[(kinds[0], seeds()), (kinds[1], seeds())]).await;
    }
}

/// What is compared of a value: its number or instant.
fn key(data_type: &DataType, text: &str) -> Option<f64> {
    match data_type.order() {
        Order::Number => infer::number(text),
        Order::Instant => infer::instant(text).map(|it| it as f64),
        Order::Text => None,
    }
}

/// Holds what a summary says of a file against its rows.
async fn is_as_summarised(store: &Store, file: &TableFile, summary: &FileSummary) -> Vec<String> {
    let files = vec![(file.clone(), summary.clone())];
    let table = TableRows::new(store.clone(), files, ReadOptions::default());
    let (found, report) = batches(&table, Request::default()).await;
    let rows: usize = found.iter().map(RecordBatch::num_rows).sum();
    let mut wrong = report.damaged();
    if summary.rows_exact && rows as u64 != summary.rows {
        wrong.push(format!("{rows} rows and not {}", summary.rows));
    }
    for (at, column) in summary.columns.iter().enumerate() {
        let profile = &column.profile;
        if !profile.exact || column.data_type == DataType::Binary {
            continue;
        }
        let of = format!("{} ({})", column.name, column.data_type);
        let texts: Vec<ArrayRef> = found
            .iter()
            .map(|it| render::texts(it.column(at)))
            .collect();
        // Of lists there is a bound of elements.
        let nulls: usize = texts.iter().map(|it| it.null_count()).sum();
        if nulls as u64 != profile.nulls {
            wrong.push(format!("{of}: {nulls} nulls and not {}", profile.nulls));
        }
        if profile.is_of_lists() {
            continue;
        }
        let texts = texts.iter().flat_map(|it| {
            let texts = it
                .as_any()
                .downcast_ref::<arrow::array::StringViewArray>()
                .unwrap();
            texts
                .iter()
                .flatten()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        });
        let keys: Option<Vec<f64>> = texts.map(|text| key(&column.data_type, &text)).collect();
        let (Some(keys), Some(min), Some(max)) = (keys, &profile.min, &profile.max) else {
            continue;
        };
        let least = keys.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = keys.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let bounds = (key(&column.data_type, min), key(&column.data_type, max));
        if bounds != (Some(least), Some(greatest)) {
            wrong.push(format!(
                "{of}: {least} to {greatest} and not {min} to {max}"
            ));
        }
    }
    wrong
        .iter()
        .map(|it| format!("{}: {it}", file.object.path))
        .collect()
}

#[tokio::test]
async fn rows_are_what_summaries_say() {
    let mut files: Vec<(String, Vec<u8>)> = vec![
        ("typed.parquet".into(), parquet_of(&typed_batch(), 2)),
        ("base.sqlite".into(), {
            let mut base = rusqlite::Connection::open_in_memory().unwrap();
            base.execute_batch(
                "CREATE TABLE t (i, r, x, d); INSERT INTO t VALUES (1, 1e300, 'a', '2024-01-02'),
                 (-5, 0.5, NULL, '2023-12-31'), (NULL, -1e19, 'NULL', NULL)",
            )
            .unwrap();
            base.serialize("main").unwrap().to_vec()
        }),
        (
            "nested.jsonl".into(),
            "{\"a\":{\"b\":1},\"c\":[1,2],\"d\":\"x\"}\n{\"a\":5,\"c\":null,\"d\":\"-\",\"e\":1e300}\n{}\n".into(),
        ),
        (
            "untidy.csv".into(),
            "t\n\nid;when;price;x\n1;31/12/2020;1.234,50 €;-\n2;1/2/2021;-;NA\n\n3;13/1/2021;7,00 €;5\nTotal;;1.241,50 €;\n".into(),
        ),
    ];
    let seeds: Vec<u8> = (0..60).map(|n| n * 4).collect();
    for kind in 0..17 {
        let (extension, content) = file_of(kind, &seeds);
        files.push((format!("kind{kind}.{extension}"), content));
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../formats/tests/data");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let is_left_out = |format| matches!(format, Format::Orc | Format::Avro | Format::Arrow);
        let is_container = limn_formats::Container::of_path(&name).is_some();
        if is_container || Format::of_path(&name).is_some_and(|it| !is_left_out(it)) {
            files.push((name, std::fs::read(&path).unwrap()));
        }
    }
    let (store, options) = (Store::in_memory(), ReadOptions::default());
    let (mut held, mut wrong) = (0, Vec::new());
    for (path, content) in files {
        store.put(&path, content.into()).await.unwrap();
        for (file, summary) in indexed(&store, &path, &Declared::default(), &options).await {
            wrong.extend(is_as_summarised(&store, &file, &summary).await);
            held += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // Spreadsheets are read by the command only.
    assert!(held > 20, "{held}");
}
