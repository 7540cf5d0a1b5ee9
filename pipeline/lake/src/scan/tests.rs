//! Scans of files of every format and of several files, against what was written.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bounds;
mod ends;
mod filters;
mod json_lists;
mod long;
mod readers;
mod trouble;

use std::io::Write;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, DictionaryArray, Float64Array, Int32Array, Int64Array,
    ListArray, RecordBatch, StringArray, StructArray, TimestampMillisecondArray,
};
use arrow::datatypes::{DataType as Arrow, Int32Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use futures::TryStreamExt;
use limn_formats::{Comparison, Format, ObjectRecord, Test, summarise_file};
use limn_store::Store;

use self::long::gzip;
use super::*;
use crate::declared::Declared;
use crate::layout::TableFile;
use crate::{TableName, open_container};

mod declared;
mod logged;
mod shapefiles;

/// A table of these files.
async fn table(files: &[(&str, Vec<u8>)]) -> TableRows {
    table_with(files, &ReadOptions::default()).await
}

async fn table_with(files: &[(&str, Vec<u8>)], options: &ReadOptions) -> TableRows {
    table_of(files, &Declared::default(), options).await.0
}

/// A table of these files, of which people say this, and what is known of it.
async fn table_of(
    files: &[(&str, Vec<u8>)],
    declared: &Declared,
    options: &ReadOptions,
) -> (TableRows, Vec<(TableFile, FileSummary)>) {
    let store = Store::in_memory();
    let mut read = Vec::new();
    for (path, content) in files {
        store.put(path, content.clone().into()).await.unwrap();
        read.extend(indexed(&store, path, declared, options).await);
    }
    (TableRows::new(store, read.clone(), options.clone()), read)
}

/// A file of a store as the index has it; of an archive or database its members.
async fn indexed(
    store: &Store,
    path: &str,
    declared: &Declared,
    options: &ReadOptions,
) -> Vec<(TableFile, FileSummary)> {
    let object = ObjectRecord::from(store.head(path).await.unwrap());
    let container = limn_formats::Container::of_path(path);
    let objects = match container {
        // Among them there may be some that cannot be read.
        Some(_) => match open_container(store, &object, options).await {
            Ok(listed) => listed.members,
            Err(_) => Vec::new(),
        },
        None => vec![object],
    };
    let mut read = Vec::new();
    for object in objects {
        let file = TableFile {
            format: container
                .and_then(|it| it.format_of_parts())
                .or_else(|| Format::of_path(&object.path))
                .unwrap(),
            table_name: TableName::parse(path).unwrap(),
            object,
            is_beside: false,
            is_alone: false,
            declared: declared.entry(path),
        };
        // Of archives there may be members that are no tables.
        let summary = match (
            summarise_file(store, &file.data_file(), options).await,
            container,
        ) {
            (Err(_), Some(_)) => continue,
            (summary, _) => summary.unwrap(),
        };
        let kept = summary.to_stored().unwrap().read().unwrap();
        read.push((file, kept));
    }
    read
}

async fn batches(table: &TableRows, request: Request) -> (Vec<RecordBatch>, Arc<Report>) {
    let rows = table.scan(request);
    let (report, schema) = (rows.report(), rows.schema());
    let batches: Vec<RecordBatch> = rows.try_collect().await.unwrap();
    assert!(batches.iter().all(|batch| batch.schema() == schema));
    (batches, report)
}

/// Rows as texts, null as `-`.
fn shown(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::new().with_null("-");
    let mut rows = Vec::new();
    for batch in batches {
        let cells: Vec<ArrayFormatter<'_>> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options).unwrap())
            .collect();
        for row in 0..batch.num_rows() {
            let row: Vec<String> = cells
                .iter()
                .map(|cell| cell.value(row).to_string())
                .collect();
            rows.push(row.join("|"));
        }
    }
    rows
}

async fn all(table: &TableRows) -> Vec<String> {
    let (batches, report) = batches(table, Request::default()).await;
    assert_eq!(report.damaged(), [""; 0]);
    shown(&batches)
}

fn types(table: &TableRows) -> Vec<String> {
    let schema = table.schema();
    let fields = schema.fields().iter();
    fields
        .map(|field| format!("{} {}", field.name(), field.data_type()))
        .collect()
}

#[tokio::test]
async fn text_has_the_types_that_its_values_have() {
    let text = "Report of May\n\nid;when;price;ok;name;share\n1;31/12/2020;1.234,50 €;true; Ann ;12 %\n\
                2;1/2/2021;-;FALSE;NA;3 %\n3;13/1/2021;7,00 €;;\"Bob; B.\";-\nTotal;;1.241,50 €;;;\n";
    let table = table(&[("sales.csv", text.into())]).await;
    assert_eq!(
        types(&table),
        [
            "id Int64",
            "when Date32",
            "price Float64",
            "ok Boolean",
            "name Utf8View",
            "share Int64"
        ]
    );
    assert_eq!(
        all(&table).await,
        [
            "1|2020-12-31|1234.5|true|Ann|12",
            "2|2021-02-01|-|false|-|3",
            "3|2021-01-13|7.0|-|Bob; B.|-",
        ]
    );
}

#[tokio::test]
async fn columns_of_several_files_are_united_and_types_widened() {
    let table = table(&[
        ("o/day=2024-01-01/a.csv", "id,n,note\n1,1,x\n2,2,y\n".into()),
        (
            "o/day=2024-01-02/b.csv",
            "n,id,new\n2.5,3,2024-02-29 10:00:00\nten,4,\n".into(),
        ),
        (
            "o/day=__HIVE_DEFAULT_PARTITION__/c.csv",
            "id,n,note\n5,7,z\n".into(),
        ),
    ])
    .await;
    assert_eq!(
        types(&table),
        [
            "id Int64",
            "n Utf8View",
            "note Utf8View",
            "new Timestamp(µs)",
            "day Date32"
        ]
    );
    assert_eq!(
        all(&table).await,
        [
            "1|1|x|-|2024-01-01",
            "2|2|y|-|2024-01-01",
            "3|2.5|-|2024-02-29T10:00:00|2024-01-02",
            "4|ten|-|-|2024-01-02",
            "5|7|z|-|-",
        ]
    );
}

#[tokio::test]
async fn json_has_its_paths_lists_and_late_keys() {
    let text = "{\"a\":1,\"tags\":[\"x\",\"y, z\"],\"in\":{\"b\":true}}\n\
                {\"a\":2.5,\"tags\":[],\"late\":\"2024-01-01\"}\nbroken\n\
                {\"a\":null,\"in\":{\"b\":false},\"tags\":[\"é\\n\"]}\n";
    let lines = table(&[("a.jsonl", text.into())]).await;
    assert_eq!(
        types(&lines),
        [
            "a Float64",
            "tags[] List(Utf8View)",
            "in.b Boolean",
            "late Date32"
        ]
    );
    assert_eq!(
        all(&lines).await,
        [
            "1.0|[x, y, z]|true|-",
            "2.5|-|-|2024-01-01",
            "-|[é]|false|-"
        ]
    );
    let array = "[{\"a\": 1, \"n\": [1, 2]},\n {\"a\": 2, \"n\": [3]}]";
    let array = table(&[("b.json", array.into())]).await;
    assert_eq!(types(&array), ["a Int64", "n[] List(Int64)"]);
    assert_eq!(all(&array).await, ["1|[1, 2]", "2|[3]"]);
}

/// Columns of many types.
fn typed_batch() -> RecordBatch {
    let items = arrow::datatypes::Field::new("sku", Arrow::Utf8, true);
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "id",
            Arc::new(Int32Array::from(vec![Some(1), None, Some(3)])),
        ),
        ("price", {
            let prices = Decimal128Array::from(vec![Some(150), Some(-25), None]);
            Arc::new(prices.with_precision_and_scale(12, 2).unwrap())
        }),
        ("day", Arc::new(Date32Array::from(vec![0, 19_000, 1]))),
        (
            "at",
            Arc::new(TimestampMillisecondArray::from(vec![0, 1500, 2])),
        ),
        ("list", {
            let lists = vec![Some(vec![Some(1), None]), None, Some(vec![])];
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists))
        }),
        ("in", {
            let sku: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c"]));
            Arc::new(StructArray::from(vec![(Arc::new(items), sku)]))
        }),
        (
            "name",
            Arc::new(StringArray::from(vec![Some("x"), None, Some("z")])),
        ),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

const TYPED: [&str; 3] = [
    "1|1.50|1970-01-01|1970-01-01T00:00:00|[1, -]|{sku: a}|x",
    "-|-0.25|2022-01-08|1970-01-01T00:00:01.500|-|{sku: b}|-",
    "3|-|1970-01-02|1970-01-01T00:00:00.002|[]|{sku: c}|z",
];

fn parquet_of(batch: &RecordBatch, group: usize) -> Vec<u8> {
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group))
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(100)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn arrow_of(batch: &RecordBatch, is_file: bool) -> Vec<u8> {
    use arrow::ipc::writer::{FileWriter, StreamWriter};
    let mut bytes = Vec::new();
    if is_file {
        let mut writer = FileWriter::try_new(&mut bytes, &batch.schema()).unwrap();
        writer.write(batch).unwrap();
        writer.finish().unwrap();
    } else {
        let mut writer = StreamWriter::try_new(&mut bytes, &batch.schema()).unwrap();
        writer.write(batch).unwrap();
        writer.finish().unwrap();
    }
    bytes
}

#[tokio::test]
async fn typed_files_keep_their_types() {
    let batch = typed_batch();
    for (path, content) in [
        ("t.parquet", parquet_of(&batch, 2)),
        ("t.arrow", arrow_of(&batch, true)),
        ("t.arrows", arrow_of(&batch, false)),
    ] {
        let table = table(&[(path, content)]).await;
        let shown = types(&table);
        assert_eq!(
            shown[..3],
            ["id Int32", "price Decimal128(12, 2)", "day Date32"],
            "{path}"
        );
        assert!(shown[3].starts_with("at Timestamp(ms"), "{path}: {shown:?}");
        assert!(shown[4].starts_with("list List("), "{path}: {shown:?}");
        assert!(shown[5].starts_with("in Struct("), "{path}: {shown:?}");
        assert_eq!(shown[6], "name Utf8View", "{path}");
        assert_eq!(all(&table).await, TYPED, "{path}");
    }
}

#[tokio::test]
async fn dictionaries_are_their_values_and_differing_types_widen() {
    let keys: DictionaryArray<Int32Type> = vec!["a", "b", "a"].into_iter().collect();
    let narrow = RecordBatch::try_from_iter(vec![
        ("k", Arc::new(keys) as ArrayRef),
        ("n", Arc::new(Int32Array::from(vec![1, 2, 3]))),
    ])
    .unwrap();
    let wide = RecordBatch::try_from_iter(vec![
        ("n", Arc::new(Float64Array::from(vec![0.5])) as ArrayRef),
        ("k", Arc::new(StringArray::from(vec!["c"]))),
    ])
    .unwrap();
    let files = [
        ("t/part-00000.arrow", arrow_of(&narrow, true)),
        ("t/part-00001.arrow", arrow_of(&wide, true)),
    ];
    let table = table(&files).await;
    assert_eq!(types(&table), ["k Utf8View", "n Float64"]);
    assert_eq!(all(&table).await, ["a|1.0", "b|2.0", "a|3.0", "c|0.5"]);
}

fn numbers(rows: i64) -> RecordBatch {
    RecordBatch::try_from_iter(vec![
        (
            "n",
            Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef,
        ),
        (
            "s",
            Arc::new(StringArray::from_iter_values(
                (0..rows).map(|n| format!("s{n}")),
            )),
        ),
        (
            "wide",
            Arc::new(StringArray::from_iter_values(
                (0..rows).map(|n| format!("{n:0200}")),
            )),
        ),
    ])
    .unwrap()
}

fn is(column: usize, comparison: Comparison, value: i64) -> Filter {
    Filter {
        column,
        test: Test::Is(comparison, Arc::new(Int64Array::from(vec![value]))),
    }
}

#[tokio::test]
async fn parts_are_the_table_cut() {
    let files = [
        ("p/part-00000.parquet", parquet_of(&numbers(1_000), 100)),
        ("p/part-00001.parquet", parquet_of(&numbers(500), 100)),
    ];
    let table = table(&files).await;
    let whole = all(&table).await;
    for of in [1, 2, 3, 7] {
        let mut rows = Vec::new();
        for number in 0..of {
            let part = Part { number, of };
            let (part, _) = batches(
                &table,
                Request {
                    part,
                    ..Request::default()
                },
            )
            .await;
            rows.extend(shown(&part));
        }
        assert_eq!(rows, whole, "{of}");
    }
}

#[tokio::test]
async fn a_limit_and_no_columns() {
    let text: String = (0..20_000).map(|n| format!("{n},x\n")).collect();
    let table = table(&[("n.csv", format!("n,x\n{text}").into())]).await;
    let request = Request {
        limit: Some(3),
        ..Request::default()
    };
    let (found, _) = batches(&table, request).await;
    assert_eq!(shown(&found), ["0|x", "1|x", "2|x"]);
    let request = Request {
        columns: Some(vec![]),
        ..Request::default()
    };
    let (found, _) = batches(&table, request).await;
    assert_eq!(
        found.iter().map(RecordBatch::num_rows).sum::<usize>(),
        20_000
    );
}

/// Files that other programs wrote (`pipeline/formats/tests/data`): as many rows as their summaries
/// tell, and none damaged.
#[tokio::test]
async fn files_that_others_wrote_are_scanned() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../formats/tests/data");
    let (mut scanned, mut wrong) = (0, Vec::new());
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let Some(format) = Format::of_path(&name) else {
            continue;
        };
        let store = Store::in_memory();
        store
            .put(&name, std::fs::read(&path).unwrap().into())
            .await
            .unwrap();
        let object = ObjectRecord::from(store.head(&name).await.unwrap());
        let file = TableFile {
            object,
            format,
            table_name: TableName::parse(&name).unwrap(),
            is_beside: false,
            is_alone: false,
            declared: None,
        };
        let options = ReadOptions::default();
        let Ok(summary) = summarise_file(&store, &file.data_file(), &options).await else {
            continue;
        };
        let table = TableRows::new(store, vec![(file, summary.clone())], options);
        let (found, report) = batches(&table, Request::default()).await;
        let rows: usize = found.iter().map(RecordBatch::num_rows).sum();
        let shown = (report.damaged(), rows as u64, report.misfits());
        if shown != (Vec::new(), summary.rows, Vec::new()) {
            wrong.push((name, shown, summary.rows));
        }
        scanned += 1;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(scanned > 10, "{scanned}");
}
