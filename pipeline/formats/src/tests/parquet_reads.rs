//! Which bytes of a Parquet file above the budget are read.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, Int64Array, ListArray, RecordBatch, StringArray};
use arrow::datatypes::Int64Type;
use limn_store::RequestCounts;
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};

use super::parquet_files::write;
use super::*;

const ROWS: i64 = 200_000;

/// About 10 MB that do not compress: an id, a text, and some bytes.
fn batch() -> RecordBatch {
    let text = |i: i64| {
        let i = i as u64;
        format!(
            "{:016x}{:016x}",
            i.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            i.wrapping_mul(0x3c6e_f372_fe94_f82b)
        )
    };
    let ids: ArrayRef = Arc::new(Int64Array::from_iter(
        (0..ROWS).map(|i| (i % 10 != 3).then_some(i)),
    ));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..ROWS).map(text)));
    let bytes: ArrayRef = Arc::new(BinaryArray::from_iter_values(
        (0..ROWS).map(|i| i.to_le_bytes()),
    ));
    RecordBatch::try_from_iter_with_nullable([
        ("id", ids, true),
        ("text", texts, false),
        ("raw", bytes, false),
    ])
    .unwrap()
}

fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_max_row_group_row_count(Some(50_000))
        .set_data_page_row_count_limit(1000)
        .set_write_batch_size(500)
}

fn small_budget() -> ReadOptions {
    budget(256 << 10)
}

fn summary_of(file: &Bytes, options: &ReadOptions) -> (FileSummary, RequestCounts) {
    let (result, counts) = read_with("x.parquet", file.clone(), options);
    (result.unwrap(), counts)
}

fn check(summary: &FileSummary) {
    assert_eq!(schema(summary), "id:integer text:text raw:binary");
    assert_eq!(
        (summary.rows, summary.rows_exact, summary.approximate),
        (ROWS as u64, true, true)
    );
    // The sample is that of all rows.
    let drawn = limn_profile::sample::draw(0, "", ROWS as u64, 5);
    assert_eq!(summary.sample.rows.len(), 5);
    let whole = batch();
    let texts = whole
        .column(1)
        .as_any()
        .downcast_ref::<StringArray>()
        .unwrap();
    let mut rows = summary.sample.rows.clone();
    rows.sort_by_key(|row| row.row);
    for (row, expected) in rows.iter().zip(drawn) {
        assert_eq!(row.row, expected);
        let id = (expected % 10 != 3).then(|| expected.to_string());
        assert_eq!(
            row.values,
            [id, Some(texts.value(expected as usize).to_owned()), None]
        );
    }
}

#[test]
fn only_the_drawn_rows_pages_are_read() {
    let file = write(&batch(), properties().build());
    assert!(file.len() > 8 << 20);
    // No profile to speak of: what is read is footer, page index and the sample.
    let (summary, counts) = summary_of(&file, &budget(1024));
    assert!(summary.approximate);
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&file)
        .unwrap();
    let index: i64 = metadata
        .row_groups()
        .iter()
        .flat_map(|group| group.columns())
        .map(|chunk| i64::from(chunk.offset_index_length().unwrap()))
        .sum();
    let footer = 64 << 10;
    // With so small a budget the index is left out; with a real one it is read.
    assert!(index as u64 > 1024 / 4);
    let (summary, counts_with_index) = summary_of(
        &file,
        &ReadOptions {
            scan_budget: 4 * index as u64,
            ..ReadOptions::default()
        },
    );
    check(&summary);
    // Five rows: a page of 1000 ids and one of 1000 texts each, about 8 + 36 KB.
    let pages = 5 * (1000 * (8 + 36) + 1000);
    // The profile: slices of a page per column at least.
    let profile = 4 * index as u64 + 2 * pages / 5;
    let read = counts_with_index.bytes_read - index as u64 - footer;
    assert!(
        read <= pages + profile,
        "{read} bytes for {pages} of pages and {profile} of profile"
    );
    assert!(
        counts_with_index.bytes_read * 10 < file.len() as u64,
        "{counts_with_index:?} of {}",
        file.len()
    );
    assert!(
        counts_with_index.bytes_read < counts.bytes_read,
        "{counts:?}"
    );
}

#[test]
fn without_rows_and_with_a_page_index_next_to_nothing_is_read() {
    let file = write(&batch(), properties().build());
    let read = |sample_rows| {
        summary_of(
            &file,
            &ReadOptions {
                sample_rows,
                ..small_budget()
            },
        )
        .1
        .bytes_read
    };
    let none = read(0);
    let five = read(5);
    let per_row = (five - none) / 5;
    assert!(
        per_row <= 1000 * (8 + 36) + 2 * (4 << 10),
        "{per_row} bytes for a row's two pages"
    );
    assert!(
        none <= (64 << 10) + (64 << 10) + (256 << 10) * 3 / 2,
        "{none}"
    );
}

#[test]
fn without_a_page_index_the_sample_is_the_same() {
    let indexed = write(&batch(), properties().build());
    let bare = write(
        &batch(),
        properties()
            .set_offset_index_disabled(true)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .build(),
    );
    let (with, _) = summary_of(&indexed, &small_budget());
    let (without, counts) = summary_of(&bare, &small_budget());
    check(&with);
    check(&without);
    assert_eq!(with.sample, without.sample);
    // Bytes columns are never read.
    assert!(
        counts.bytes_read < bare.len() as u64 * 44 / 52 + (1 << 20),
        "{counts:?} of {}",
        bare.len()
    );
}

#[test]
fn footer_statistics_are_used_where_not_all_is_read() {
    let file = write(&batch(), properties().build());
    let (summary, _) = summary_of(&file, &small_budget());
    let id = &column(&summary, "id").profile;
    assert_eq!(
        (id.nulls, id.values),
        (ROWS as u64 / 10, ROWS as u64 - ROWS as u64 / 10)
    );
    assert_eq!(
        range(&summary, "id"),
        (Some("0".into()), Some((ROWS - 1).to_string()))
    );
    assert!(
        !id.exact && id.uncounted > 1000 && id.uncounted < id.values,
        "{}",
        id.uncounted
    );
    let text = &column(&summary, "text").profile;
    assert_eq!((text.nulls, text.values), (0, ROWS as u64));
    assert_eq!(
        text.min.as_deref(),
        Some("00000000000000000000000000000000")
    );
    let bare = write(
        &batch(),
        properties()
            .set_statistics_enabled(EnabledStatistics::None)
            .build(),
    );
    let (summary, _) = summary_of(&bare, &small_budget());
    let id = &column(&summary, "id").profile;
    assert!(
        id.nulls > 0 && id.nulls < ROWS as u64 / 20,
        "counted in the slices: {}",
        id.nulls
    );
}

#[test]
fn shortened_text_bounds_are_no_values() {
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..ROWS / 10).map(|i| format!("{i:06} {}", "long ".repeat(40))),
    ));
    let batch = RecordBatch::try_from_iter([("text", texts)]).unwrap();
    let file = write(
        &batch,
        properties().set_max_row_group_row_count(Some(5000)).build(),
    );
    let (summary, _) = summary_of(&file, &small_budget());
    let (min, max) = range(&summary, "text");
    for bound in [min.unwrap(), max.unwrap()] {
        assert!(
            bound.len() > 64 && bound.ends_with("long ") || bound.chars().count() == 200,
            "{bound}"
        );
    }
}

#[test]
fn profiles_are_spread_over_the_file() {
    let file = write(&batch(), properties().build());
    let (summary, _) = summary_of(&file, &budget(1 << 20));
    let mut groups: Vec<u64> = column(&summary, "id")
        .profile
        .frequent
        .top(128)
        .iter()
        .map(|value| value.0.parse::<u64>().unwrap() / 50_000)
        .collect();
    groups.sort_unstable();
    groups.dedup();
    assert_eq!(groups, [0, 1, 2, 3], "each row group has its slice");
}

#[test]
fn wide_tables_are_read_a_few_columns_at_a_time() {
    let columns = (0..300).map(|i| {
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(
            (0..2000).map(|row| row * 1000 + i),
        ));
        (format!("c{i}"), values)
    });
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = write(&batch, properties().build());
    let (summary, _) = summary_of(&file, &budget(300 << 10));
    assert_eq!(summary.columns.len(), 300);
    assert!(summary.approximate);
    for row in &summary.sample.rows {
        for (i, value) in row.values.iter().enumerate() {
            assert_eq!(
                value.as_deref(),
                Some((row.row as usize * 1000 + i).to_string().as_str())
            );
        }
    }
    let whole = summary_of(&file, &ReadOptions::default()).0;
    assert!(!whole.approximate);
    assert_eq!(whole.sample, summary.sample);
}

#[test]
fn an_object_that_goes_away_is_the_stores_error() {
    let file = write(&batch(), properties().build());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let result = runtime.block_on(summarise_file(
        &Store::in_memory(),
        &data_file("x.parquet", file.len()),
        &ReadOptions::default(),
    ));
    assert_eq!(result.unwrap_err().kind, FileErrorKind::Missing);
}

#[test]
fn rows_of_lists_are_drawn_by_whole_pages() {
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(
        (0..ROWS).map(|i| Some((0..i % 5).map(move |j| Some(i * 10 + j)))),
    ));
    let batch = RecordBatch::try_from_iter_with_nullable([("list", lists, true)]).unwrap();
    let indexed = write(&batch, properties().build());
    let bare = write(
        &batch,
        properties()
            .set_offset_index_disabled(true)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .build(),
    );
    let (with, with_counts) = summary_of(&indexed, &small_budget());
    let (without, without_counts) = summary_of(&bare, &small_budget());
    assert!(with.approximate && without.approximate);
    assert_eq!(with.sample, without.sample);
    assert!(
        with_counts.bytes_read * 2 < without_counts.bytes_read,
        "{with_counts:?} {without_counts:?}"
    );
    for row in &with.sample.rows {
        let items: Vec<String> = (0..row.row % 5)
            .map(|j| (row.row * 10 + j).to_string())
            .collect();
        assert_eq!(row.values, [Some(format!("[{}]", items.join(",")))]);
    }
}

#[test]
fn a_small_file_is_requested_once_even_if_its_profile_is_of_a_part() {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..50_000));
    let file = write(
        &RecordBatch::try_from_iter([("id", ids)]).unwrap(),
        properties().build(),
    );
    assert!(file.len() < 1 << 20);
    let (summary, counts) = summary_of(&file, &budget(64 << 10));
    assert!(summary.approximate);
    assert_eq!(counts.get, 1);
}
