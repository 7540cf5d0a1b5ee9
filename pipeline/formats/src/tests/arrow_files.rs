//! Arrow files and streams of every kind.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, Date32Array, Date64Array, Decimal128Array, DictionaryArray,
    DurationMillisecondArray, FixedSizeListArray, Float64Array, Int32Array, Int64Array,
    IntervalYearMonthArray, ListArray, ListViewArray, NullArray, RecordBatch, RecordBatchOptions,
    RunArray, StringArray, StringViewArray, StructArray, TimestampMicrosecondArray, UnionArray,
};
use arrow::buffer::ScalarBuffer;
use arrow::datatypes::{DataType as Arrow, Field, Int8Type, Int32Type, Schema, UnionFields};
use arrow::ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use arrow::ipc::{CompressionType, MetadataVersion};

use super::*;

pub(super) fn plain() -> IpcWriteOptions {
    IpcWriteOptions::default()
}

pub(super) fn packed(codec: CompressionType) -> IpcWriteOptions {
    plain().try_with_compression(Some(codec)).unwrap()
}

pub(super) fn file(batches: &[RecordBatch], options: IpcWriteOptions) -> Vec<u8> {
    let schema = batches[0].schema();
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.into_inner().unwrap()
}

pub(super) fn stream(batches: &[RecordBatch], options: IpcWriteOptions) -> Vec<u8> {
    let schema = batches[0].schema();
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.into_inner().unwrap()
}

/// A batch of columns that may all be null.
pub(super) fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// Every type that is in Arrow and not in Parquet or Avro, or written in another way there.
fn of_all_types() -> RecordBatch {
    let words: DictionaryArray<Int8Type> =
        vec![Some("red"), None, Some("red")].into_iter().collect();
    let days = DictionaryArray::<Int32Type>::new(
        Int32Array::from(vec![Some(0), Some(1), None]),
        Arc::new(Date64Array::from(vec![19_782 * 86_400_000, 0])),
    );
    let runs = RunArray::<Int32Type>::try_new(
        &Int32Array::from(vec![2, 3]),
        &StringArray::from(vec![Some("a"), None]),
    )
    .unwrap();
    let numbers = || {
        ListArray::from_iter_primitive::<Int32Type, _, _>(vec![
            Some(vec![Some(1), None]),
            None,
            Some(vec![]),
        ])
    };
    let views = ListViewArray::try_new(
        Arc::new(Field::new_list_field(Arrow::Int32, true)),
        ScalarBuffer::from(vec![1, 0, 0]),
        ScalarBuffer::from(vec![2, 3, 0]),
        Arc::new(Int32Array::from(vec![7, 8, 9])),
        None,
    )
    .unwrap();
    let pairs = FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(
        vec![Some(vec![Some(1), Some(2)]), None, Some(vec![None, None])],
        2,
    );
    let struct_of = StructArray::from(vec![
        (
            Arc::new(Field::new(
                "at",
                Arrow::Timestamp(
                    arrow::datatypes::TimeUnit::Microsecond,
                    Some("Asia/Tokyo".into()),
                ),
                true,
            )),
            Arc::new(
                TimestampMicrosecondArray::from(vec![Some(0), None, Some(1)])
                    .with_timezone("Asia/Tokyo"),
            ) as ArrayRef,
        ),
        (
            Arc::new(Field::new("words", words.data_type().clone(), true)),
            Arc::new(words.clone()) as ArrayRef,
        ),
    ]);
    let fields = UnionFields::try_new(
        vec![3, 5],
        vec![
            Field::new("n", Arrow::Int32, true),
            Field::new("s", Arrow::Utf8, true),
        ],
    )
    .unwrap();
    let children: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from(vec![Some(4), None])),
        Arc::new(StringArray::from(vec!["x"])),
    ];
    let dense = UnionArray::try_new(
        fields,
        ScalarBuffer::from(vec![3i8, 5, 3]),
        Some(ScalarBuffer::from(vec![0, 0, 1])),
        children,
    )
    .unwrap();
    batch(vec![
        ("id", Arc::new(Int64Array::from(vec![3, 1, 2]))),
        ("colour", Arc::new(words)),
        ("day", Arc::new(days)),
        ("run", Arc::new(runs)),
        (
            "text",
            Arc::new(StringViewArray::from(vec![
                "a",
                "a text that is longer than twelve bytes",
                "c",
            ])),
        ),
        ("nothing", Arc::new(NullArray::new(3))),
        (
            "took",
            Arc::new(DurationMillisecondArray::from(vec![1500, 0, 1])),
        ),
        (
            "every",
            Arc::new(IntervalYearMonthArray::from(vec![14, 0, 1])),
        ),
        ("list", Arc::new(numbers())),
        ("view", Arc::new(views)),
        ("pair", Arc::new(pairs)),
        ("struct", Arc::new(struct_of)),
        ("union", Arc::new(dense)),
        (
            "raw",
            Arc::new(BinaryArray::from(vec![
                Some(&b"\xff\0"[..]),
                None,
                Some(b"x"),
            ])),
        ),
    ])
}

#[test]
fn every_type_has_a_text() {
    let one = of_all_types();
    for (path, content) in [
        ("x.arrow", file(std::slice::from_ref(&one), plain())),
        ("x.arrows", stream(std::slice::from_ref(&one), plain())),
        (
            "x.feather",
            file(
                std::slice::from_ref(&one),
                packed(CompressionType::LZ4_FRAME),
            ),
        ),
        ("x.ipc", stream(&[one], packed(CompressionType::ZSTD))),
    ] {
        let summary = read(path, content);
        assert_eq!(
            schema(&summary),
            "id:integer colour:text day:date run:text text:text nothing:unknown took:duration every:interval \
             list:list view:list pair:list struct:struct union:union raw:binary"
        );
        assert_eq!(
            sample(&summary),
            [
                r#"3|red|2024-02-29|a|a|-|PT1.5S|1 years 2 mons|[1,null]|[8,9]|[1,2]|{"at":"1970-01-01T00:00:00Z","words":"red"}|4|-"#,
                "1|-|1970-01-01|a|a text that is longer than twelve bytes|-|P0D|0 years 0 mons|-|[7,8,9]|-|{}|x|-",
                r#"2|red|-|-|c|-|PT0.001S|0 years 1 mons|[]|[]|[null,null]|{"at":"1970-01-01T00:00:00.000001Z","words":"red"}|-|-"#,
            ],
            "{path}"
        );
        assert_eq!(
            (summary.rows, summary.rows_exact, summary.approximate),
            (3, true, false)
        );
        let colour = &column(&summary, "colour").profile;
        assert_eq!((colour.values, colour.nulls, colour.exact), (2, 1, true));
        let raw = &column(&summary, "raw").profile;
        assert_eq!((raw.values, raw.nulls, raw.exact), (2, 1, false));
        assert_eq!(summary.notes, ["values of 1 column of bytes not read"]);
    }
}

#[test]
fn rows_are_those_of_all_batches() {
    let ids = |range: std::ops::Range<i64>| {
        batch(vec![("id", Arc::new(Int64Array::from_iter_values(range)))])
    };
    let batches = [ids(0..1000), ids(1000..1000), ids(1000..5000)];
    let text: String = (0..5000).map(|i| format!("{i}\n")).collect();
    let csv = read("x.csv", format!("id\n{text}"));
    for content in [file(&batches, plain()), stream(&batches, plain())] {
        let (summary, counts) = read_with("x.arrow", content, &ReadOptions::default());
        let summary = summary.unwrap();
        assert_eq!(summary.sample, csv.sample);
        assert_eq!(column(&summary, "id").profile, column(&csv, "id").profile);
        assert_eq!((counts.get, counts.head, counts.list), (1, 0, 0));
    }
}

#[test]
fn dictionaries_may_grow_and_change() {
    let words = |values: Vec<&str>, keys: Vec<i32>| {
        let values: ArrayRef = Arc::new(StringArray::from(values));
        let words = DictionaryArray::<Int32Type>::new(Int32Array::from(keys), values);
        batch(vec![("word", Arc::new(words))])
    };
    let growing = [
        words(vec!["a", "b"], vec![0, 1]),
        words(vec!["a", "b", "c"], vec![2, 0]),
    ];
    let delta = plain().with_dictionary_handling(DictionaryHandling::Delta);
    let changing = [
        words(vec!["a", "b"], vec![0, 1]),
        words(vec!["c", "a"], vec![0, 1]),
    ];
    for content in [
        file(&growing, delta.clone()),
        stream(&growing, delta),
        stream(&changing, plain()),
    ] {
        let summary = read("x.arrow", content);
        assert_eq!(sample(&summary), ["a", "b", "c", "a"]);
        assert!(column(&summary, "word").profile.exact);
    }
}

#[test]
fn files_without_rows_or_columns() {
    let fields = vec![
        Field::new("id", Arrow::Int64, true),
        Field::new("id", Arrow::Utf8, true),
    ];
    let empty = RecordBatch::new_empty(Arc::new(Schema::new(fields)));
    for content in [
        file(std::slice::from_ref(&empty), plain()),
        stream(&[empty], plain()),
    ] {
        let summary = read("x.arrow", content);
        assert_eq!(schema(&summary), "id:integer id_2:text");
        assert_eq!(
            (summary.rows, summary.rows_exact, summary.approximate),
            (0, true, false)
        );
    }
    let options = RecordBatchOptions::new().with_row_count(Some(7));
    let bare = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options);
    let error = failure("x.arrow", file(&[bare.unwrap()], plain()));
    assert_eq!(error.kind, FileErrorKind::Empty);
    assert!(error.to_string().contains("no columns"), "{error}");
}

#[test]
fn old_ways_of_writing_are_read() {
    let one = batch(vec![("id", Arc::new(Int64Array::from(vec![1, 2])))]);
    for options in [
        IpcWriteOptions::try_new(8, true, MetadataVersion::V4).unwrap(),
        IpcWriteOptions::try_new(64, false, MetadataVersion::V4).unwrap(),
    ] {
        for content in [
            file(std::slice::from_ref(&one), options.clone()),
            stream(std::slice::from_ref(&one), options.clone()),
        ] {
            assert_eq!(sample(&read("x.arrow", content)), ["1", "2"]);
        }
    }
    // A stream may end without saying so.
    let mut open = stream(&[one], plain());
    open.truncate(open.len() - 8);
    assert_eq!(read("x.arrow", open).rows, 2);
}

#[test]
fn what_is_no_arrow_is_named() {
    let error = failure("x.feather", b"FEA1\0\0\0\0and so on FEA1".to_vec());
    assert_eq!(error.kind, FileErrorKind::Unsupported);
    assert!(
        error
            .to_string()
            .contains("Feather file of version 1; write it again as Feather version 2"),
        "{error}"
    );
    for (content, says) in [
        (
            &b"PAR1\x15\x04"[..],
            "named as Arrow but is a Parquet file; rename the file to .parquet",
        ),
        (b"id,name\n1,a\n", "named as Arrow but is text"),
        (b"\0\x01\x02\x03", "named as Arrow but is not"),
    ] {
        let error = failure("x.arrow", content.to_vec());
        assert_eq!(error.kind, FileErrorKind::NotItsFormat);
        assert!(error.to_string().contains(says), "{error}");
    }
    let one = batch(vec![("id", Arc::new(Int64Array::from(vec![1, 2])))]);
    for (content, remedy) in [
        (
            file(std::slice::from_ref(&one), plain()),
            "rename the file to .arrow",
        ),
        (
            stream(std::slice::from_ref(&one), plain()),
            "rename the file to .arrows",
        ),
    ] {
        let error = failure("x.csv", content.clone());
        assert!(error.to_string().ends_with(remedy), "{error}");
        let error = failure("x.parquet", content);
        assert!(error.to_string().ends_with(remedy), "{error}");
    }
    let mut cut = file(&[one], plain());
    cut.truncate(cut.len() - 3);
    let error = failure("x.arrow", cut);
    assert_eq!(error.kind, FileErrorKind::Corrupt);
    assert!(error.to_string().contains("it is cut off"), "{error}");
}

#[test]
fn decimals_and_dates_are_as_in_parquet() {
    let columns = batch(vec![
        (
            "cost",
            Arc::new(
                Decimal128Array::from(vec![150, 5, 0])
                    .with_precision_and_scale(9, 2)
                    .unwrap(),
            ),
        ),
        ("day", Arc::new(Date32Array::from(vec![19_782, 0, 1]))),
        (
            "price",
            Arc::new(Float64Array::from(vec![1.5, 2.0, f64::NAN])),
        ),
    ]);
    let parquet = parquet_files::write(
        &columns,
        parquet::file::properties::WriterProperties::builder().build(),
    );
    assert_eq!(
        read("x.arrow", file(&[columns], plain())),
        read("x.parquet", parquet)
    );
}
