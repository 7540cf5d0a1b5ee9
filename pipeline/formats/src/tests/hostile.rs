//! Files that mean harm, or look as if: whatever the bytes, an answer or one clear error, soon.

use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, Instant};

use arrow::array::{
    Array, ArrayRef, DictionaryArray, FixedSizeBinaryArray, Int64Array, ListArray, RecordBatch,
    StringArray, StructArray,
};
use arrow::datatypes::{Field, Int32Type};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use proptest::prelude::*;

use super::*;
use crate::parquet::{deep_footer, file_of, varint_of};

/// Where code of this workspace panicked.
static OWN_PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Notes panics of our own code; those of the Parquet decoder cost one file and say nothing here.
fn watch_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let place = panic.location().map(ToString::to_string);
            let place = place.unwrap_or_default();
            if ["/parquet-", "/arrow-"].iter().any(|it| place.contains(it)) {
                return;
            }
            if !place.contains("/tests") {
                OWN_PANICS.lock().unwrap().push(place);
            }
            usual(panic);
        }));
    });
}

/// Reads within a small budget, and checks what must hold of every outcome.
fn survives(path: &str, content: Vec<u8>, budget_bytes: u64) -> Result<(), TestCaseError> {
    watch_panics();
    let started = Instant::now();
    let (result, counts) = read_with(path, content.clone(), &budget(budget_bytes));
    prop_assert!(
        started.elapsed() < Duration::from_secs(20),
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
            if Format::of_path(path) != Some(Format::Parquet) {
                prop_assert!(counts.bytes_read <= budget_bytes.max(1024));
            }
        }
        Err(error) => {
            prop_assert_eq!(&error.object, path);
            if error.kind == FileErrorKind::Panicked {
                prop_assert!(path.ends_with("parquet"), "{}", error);
                let own = OWN_PANICS.lock().unwrap();
                prop_assert!(own.is_empty(), "{}: {:?}", error, own);
            }
            prop_assert!(!error.to_string().contains('\n'));
        }
    }
    Ok(())
}

fn parquet(compression: Compression, dictionary: bool) -> Vec<u8> {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter(
        (0..300).map(|i| (i % 7 != 0).then_some(i)),
    ));
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..300).map(|i| format!("name {}", i % 10)),
    ));
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(
        (0..300).map(|i| Some(vec![Some(i), None])),
    ));
    let batch =
        RecordBatch::try_from_iter([("id", ids), ("name", names), ("list", lists)]).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_dictionary_enabled(dictionary)
        .set_max_row_group_row_count(Some(100))
        .set_data_page_row_count_limit(20)
        .set_write_batch_size(20)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn objects_without_fields_are_no_table() {
    for content in ["{}", "{}\n{}\n", " {} "] {
        for budget in [0, 1, 4000] {
            survives("x.jsonl", content.into(), budget).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_bytes_called_csv(content in prop::collection::vec(any::<u8>(), 0..3000), budget in 0u64..4000) {
        survives("x.csv", content, budget)?;
    }

    #[test]
    fn any_text_called_csv(content in "([a-c1-3,;|\t\"\\\\ é-]{0,6}[\n\r,;\"]{0,2}){0,200}", budget in 0u64..2000) {
        survives("x.csv", content.clone().into_bytes(), budget)?;
        survives("x.tsv", content.into_bytes(), budget)?;
    }

    #[test]
    fn any_bytes_called_json(content in prop::collection::vec(any::<u8>(), 0..3000), budget in 0u64..4000) {
        survives("x.jsonl", content, budget)?;
    }

    #[test]
    fn any_text_called_json(content in "[\\[{]?([{}\\[\\],:\"a-b1-2. \n]|\"a\":|\\{\"a\":1\\}\n|null){0,200}", budget in 0u64..2000) {
        survives("x.json", content.into_bytes(), budget)?;
    }

    #[test]
    fn any_bytes_called_parquet(mut content in prop::collection::vec(any::<u8>(), 0..3000), footer: bool, length in 0u32..3000) {
        if footer && content.len() > 12 {
            content[..4].copy_from_slice(b"PAR1");
            let end = content.len();
            content[end - 8..end - 4].copy_from_slice(&length.to_le_bytes());
            content[end - 4..].copy_from_slice(b"PAR1");
        }
        survives("x.parquet", content, 1000)?;
    }

    #[test]
    fn parquet_with_flipped_bytes(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        in_footer: bool,
        kind in 0usize..4,
        budget in prop_oneof![Just(500u64), Just(1 << 20)],
    ) {
        let mut content = match kind {
            0 => parquet(Compression::UNCOMPRESSED, true),
            1 => parquet(Compression::SNAPPY, true),
            2 => parquet(Compression::ZSTD(Default::default()), false),
            _ => parquet(Compression::LZ4_RAW, false),
        };
        let end = content.len();
        let length = u32::from_le_bytes(content[end - 8..end - 4].try_into().unwrap()) as usize;
        for (place, byte) in places {
            let (from, to) = if in_footer { (end - 8 - length, end) } else { (0, end) };
            content[from + place.index(to - from)] = byte;
        }
        survives("x.parquet", content, budget)?;
    }

    #[test]
    fn truncated_parquet(end: prop::sample::Index) {
        let mut content = parquet(Compression::SNAPPY, true);
        content.truncate(end.index(content.len()));
        let (result, _) = read_with("x.parquet", content, &ReadOptions::default());
        let kind = result.unwrap_err().kind;
        prop_assert!(matches!(kind, FileErrorKind::Corrupt | FileErrorKind::Empty | FileErrorKind::NotItsFormat), "{:?}", kind);
    }
}

#[test]
fn the_parquet_of_these_tests_is_sound() {
    for budget_bytes in [500, 1 << 20] {
        let (result, _) = read_with(
            "x.parquet",
            parquet(Compression::SNAPPY, true),
            &budget(budget_bytes),
        );
        assert_eq!(result.unwrap().rows, 300);
    }
}

#[test]
fn broken_parquet_is_named() {
    let sound = parquet(Compression::SNAPPY, true);
    let mut cut = sound.clone();
    cut.truncate(sound.len() / 2);
    let error = failure("x.parquet", cut);
    assert_eq!(error.kind, FileErrorKind::Corrupt);
    assert!(error.to_string().contains("it is cut off"), "{error}");
    let mut encrypted = sound.clone();
    let end = encrypted.len();
    encrypted[end - 4..].copy_from_slice(b"PARE");
    assert_eq!(
        failure("x.parquet", encrypted).kind,
        FileErrorKind::Unsupported
    );
    let mut long = sound;
    long[end - 8..end - 4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(
        failure("x.parquet", long)
            .to_string()
            .contains("its footer claims 4294967295 bytes")
    );
    assert_eq!(
        failure("x.parquet", "id,name\n1,a\n2,b\n").kind,
        FileErrorKind::NotItsFormat
    );
    assert_eq!(failure("x.parquet", "").kind, FileErrorKind::Empty);
    assert_eq!(failure("x.parquet", "PAR1").kind, FileErrorKind::Corrupt);
}

#[test]
fn a_schema_of_endless_depth_overflows_no_stack() {
    let list = &[0x19][..];
    // Disguised as a set; its number of children as 64 bits; behind a field that is new to us.
    let behind = [[0xfd].as_slice(), &[0; 16], &[0x09, 0x04]].concat();
    for (schema, children) in [(list, 0x15), (&[0x1a], 0x15), (list, 0x16), (&behind, 0x15)] {
        let error = failure(
            "x.parquet",
            file_of(&deep_footer(100_000, schema, children)),
        );
        assert!(error.to_string().contains("levels deep"), "{error}");
        // The decoder itself takes such files.
        let summary = read("x.parquet", file_of(&deep_footer(3, schema, children)));
        assert_eq!(super::schema(&summary), "a:struct");
    }
    // Where the footer says of a number that it is bytes, the decoder reads on regardless.
    let mut footer = deep_footer(100_000, list, 0x15);
    footer[0] = 0x18;
    assert_eq!(
        failure("x.parquet", file_of(&footer)).kind,
        FileErrorKind::Corrupt
    );
}

/// Memory for as many would be reserved at once, and the process end.
#[test]
fn claims_of_two_billion_are_refused() {
    let one_column = [0x15, 0x02, 0x19, 0x1c, 0x48, 0x01, b'a', 0x00];
    let (many, twice) = (varint_of(i32::MAX as u64), varint_of(2 * i32::MAX as u64));
    let row_groups = [
        one_column.as_slice(),
        &[0x16, 0x00, 0x19, 0xfc],
        &many,
        &[0x00],
    ];
    let children = [
        &[0x15, 0x02, 0x19, 0x1c, 0x48, 0x01, b'a', 0x15],
        twice.as_slice(),
        &[0x00, 0x16, 0x00, 0x19, 0x0c, 0x00],
    ];
    for footer in [row_groups.concat(), children.concat()] {
        assert_eq!(
            failure("x.parquet", file_of(&footer)).kind,
            FileErrorKind::Corrupt
        );
    }
}

/// A file of `rows` rows that all have the same long text, in a dictionary of one value.
fn one_long_text(length: usize, rows: usize, nested: bool) -> Vec<u8> {
    let texts = StringArray::from_iter_values(["x".repeat(length)]);
    let keys = arrow::array::Int32Array::from(vec![0; rows]);
    let texts: ArrayRef = Arc::new(DictionaryArray::new(keys, Arc::new(texts)));
    let column: ArrayRef = if nested {
        let field = Arc::new(Field::new("text", texts.data_type().clone(), false));
        Arc::new(StructArray::from(vec![(field, texts)]))
    } else {
        texts
    };
    let batch = RecordBatch::try_from_iter([("x", column)]).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(Default::default()))
        .set_dictionary_page_size_limit(64 << 20)
        .set_statistics_enabled(EnabledStatistics::None)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn a_dictionary_of_one_long_text_is_not_taken_for_every_row() {
    let file = one_long_text(1 << 20, 3000, false);
    assert!(file.len() < 64 << 10, "{}", file.len());
    let summary = read_with("x.parquet", file, &budget(64 << 10)).0.unwrap();
    assert!(summary.approximate);
    assert_eq!((summary.rows, summary.sample.rows.len()), (3000, 5));
    let profile = &column(&summary, "x").profile;
    assert!(!profile.exact && profile.frequent.top(1)[0].1 < 10);
}

#[test]
fn nested_text_has_no_long_dictionary() {
    let error = failure("x.parquet", one_long_text(5 << 20, 3, true));
    assert_eq!(error.kind, FileErrorKind::Unsupported);
    assert!(error.to_string().contains("a dictionary of"), "{error}");
    let summary = read("x.parquet", one_long_text(2 << 20, 3, true));
    assert_eq!((summary.rows, schema(&summary)), (3, "x:struct".to_owned()));
}

/// Decoding writes as many bytes for a null as for a value.
#[test]
fn nested_values_of_fixed_length_are_short() {
    for (length, readable) in [(16, true), (100_000, false)] {
        let nulls: ArrayRef = Arc::new(FixedSizeBinaryArray::new_null(length, 3));
        let field = Arc::new(Field::new("id", nulls.data_type().clone(), true));
        let column: ArrayRef = Arc::new(StructArray::from(vec![(field, nulls)]));
        let batch = RecordBatch::try_from_iter([("x", column)]).unwrap();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        let file = writer.into_inner().unwrap();
        if readable {
            assert_eq!(read("x.parquet", file).rows, 3);
        } else {
            let error = failure("x.parquet", file);
            assert!(error.to_string().contains("100000 bytes each"), "{error}");
        }
    }
}

#[test]
fn errors_steer_no_terminal() {
    let error = failure("\u{9b}2J\u{202e}x.parquet", "");
    assert!(error.to_string().starts_with("2J x.parquet: "), "{error:?}");
}

#[test]
fn sizes_beyond_any_file_are_refused() {
    let sound = parquet(Compression::SNAPPY, true);
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&Bytes::from(sound.clone()))
        .unwrap();
    let end = sound.len();
    let footer = u32::from_le_bytes(sound[end - 8..end - 4].try_into().unwrap()) as usize;
    for size in [i64::MAX, -1] {
        let groups = metadata.row_groups().iter().map(|group| {
            let columns = group.columns().iter().cloned().map(|chunk| {
                let builder = chunk.into_builder();
                builder.set_total_uncompressed_size(size).build().unwrap()
            });
            let columns = columns.collect();
            let builder = group.clone().into_builder();
            builder.set_column_metadata(columns).build().unwrap()
        });
        let claimed = metadata.clone().into_builder();
        let claimed = claimed.set_row_groups(groups.collect()).build();
        let mut file = sound[..end - 8 - footer].to_vec();
        ParquetMetaDataWriter::new(&mut file, &claimed)
            .finish()
            .unwrap();
        // Whether the file is read whole or in parts.
        for budget_bytes in [500, 1 << 20] {
            let error = read_with("x.parquet", file.clone(), &budget(budget_bytes)).0;
            let error = error.unwrap_err();
            assert_eq!(error.kind, FileErrorKind::Corrupt, "{error}");
        }
    }
}

/// Skipping rows of a list column whose repetition levels end too soon never came back (in parquet
/// 59.3.2): such rows are read, not skipped.
#[test]
fn lists_with_too_few_repetition_levels_end() {
    let sound = parquet(Compression::UNCOMPRESSED, false);
    let end = sound.len();
    let footer = u32::from_le_bytes(sound[end - 8..end - 4].try_into().unwrap()) as usize;
    let mut reached = 0;
    for place in 4..end - 8 - footer {
        let mut content = sound.clone();
        content[place] = 0;
        let (result, _) = read_with("x.parquet", content, &budget(500));
        reached += u32::from(
            result.is_err_and(|error| error.to_string().contains("Insufficient repetition levels")),
        );
    }
    assert!(reached > 0);
}
