//! Arrow files and streams that claim much work or memory: what is done for them is counted, and
//! ends.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, Decimal256Array, DictionaryArray, FixedSizeListArray, Int8Array, Int32Array,
    Int64Array, RecordBatch, RunArray, StringArray, StructArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType as Arrow, Field, Int32Type, i256};
use arrow::ipc::writer::DictionaryHandling;
use arrow::ipc::{self, CompressionType};

use super::arrow_files::{batch, file, packed, plain, stream};
use super::*;

const TOGETHER: &str = "some values not read that take too much together";
const AT_ONCE: &str = "values of 1 column not read that take too much at once";

/// Reads within 64 KiB.
fn read_64(content: Vec<u8>) -> FileSummary {
    read_with("x.arrow", content, &budget(64 << 10)).0.unwrap()
}

fn words(keys: Vec<Option<i32>>, values: Vec<Option<String>>) -> ArrayRef {
    let values = Arc::new(StringArray::from(values));
    Arc::new(DictionaryArray::new(Int32Array::from(keys), values))
}

/// The blocks that a file's footer lists, as they stand there: of dictionaries, and of batches.
fn blocks(content: &[u8]) -> (Vec<[u8; 24]>, Vec<[u8; 24]>) {
    let end = content.len() - 10;
    let length = u32::from_le_bytes(content[end..end + 4].try_into().unwrap());
    let footer = ipc::root_as_footer(&content[end - length as usize..end]).unwrap();
    let of = |blocks: Option<flatbuffers::Vector<'_, ipc::Block>>| {
        blocks.into_iter().flatten().map(|block| block.0).collect()
    };
    (of(footer.dictionaries()), of(footer.recordBatches()))
}

/// Writes `block` in a footer where `before` stands.
fn replace(content: &mut [u8], before: [u8; 24], block: [u8; 24]) {
    let place = content.windows(24).rposition(|window| window == before);
    content[place.unwrap()..][..24].copy_from_slice(&block);
}

#[test]
fn dictionaries_do_not_overlap() {
    let word = |word: &str| words(vec![Some(0)], vec![Some(word.to_owned())]);
    let columns = vec![("x", word("a")), ("y", word("b"))];
    let mut content = file(&[batch(columns)], plain());
    let (dictionaries, batches) = blocks(&content);
    for other in [dictionaries[0], batches[0]] {
        let mut content = content.clone();
        replace(&mut content, dictionaries[1], other);
        let error = failure("x.arrow", content);
        assert!(error.to_string().contains("overlap"), "{error}");
    }
    replace(&mut content, dictionaries[1], dictionaries[1]);
    assert_eq!(sample(&read("x.arrow", content)), ["a|b"]);
}

/// Forty dictionaries of 200 KB, none of which any row uses.
#[test]
fn dictionaries_that_change_are_work() {
    let batches = (0..40).map(|i| {
        let word = format!("{i}{}", "x".repeat(200_000));
        batch(vec![("x", words(vec![None], vec![Some(word)]))])
    });
    let batches: Vec<RecordBatch> = batches.collect();
    let content = stream(&batches, packed(CompressionType::ZSTD));
    assert!(content.len() < 64 << 10, "{}", content.len());
    let summary = read_64(content);
    assert_eq!((summary.rows, summary.approximate), (40, true));
    assert_eq!(summary.notes, [TOGETHER]);
}

#[test]
fn a_file_is_not_asked_for_any_number_of_dictionaries() {
    let batches = (0..1400).map(|i| {
        let values = (0..=i).map(|i| Some(i.to_string())).collect();
        let number: ArrayRef = Arc::new(Int64Array::from(vec![i64::from(i)]));
        batch(vec![("x", words(vec![Some(i)], values)), ("y", number)])
    });
    let batches: Vec<RecordBatch> = batches.collect();
    let delta = plain().with_dictionary_handling(DictionaryHandling::Delta);
    let content = file(&batches, delta);
    assert!(blocks(&content).0.len() > 1024);
    assert!(content.len() > 256 << 10);
    let (summary, counts) = read_with("x.arrow", content, &budget(256 << 10));
    let summary = summary.unwrap();
    assert!(summary.notes.iter().any(|note| note == AT_ONCE));
    assert!(counts.get < 2048 + 500, "{}", counts.get);
    assert!(column(&summary, "y").profile.distinct() > 0);
}

/// Ten batches of 3000 nulls that take 256 bytes each.
#[test]
fn the_last_column_is_work_too() {
    let zeros = Decimal256Array::from(vec![i256::ZERO; 3000]);
    let fields = (0..8).map(|i| Field::new(i.to_string(), zeros.data_type().clone(), true));
    let children: Vec<ArrayRef> = (0..8)
        .map(|_| Arc::new(zeros.clone()) as ArrayRef)
        .collect();
    let nulls = NullBuffer::new_null(3000);
    let array: ArrayRef = Arc::new(StructArray::new(fields.collect(), children, Some(nulls)));
    let batches = vec![batch(vec![("x", array)]); 10];
    let content = file(&batches, packed(CompressionType::ZSTD));
    assert!(content.len() < 64 << 10, "{}", content.len());
    let summary = read_64(content);
    assert_eq!((summary.rows, summary.approximate), (30_000, true));
    assert_eq!(summary.notes, [TOGETHER]);
    // What was not looked at is known from the batches.
    assert_eq!(column(&summary, "x").profile.nulls, 30_000);
}

#[test]
fn metadata_are_no_longer_than_a_footer() {
    // A stream's message.
    let mut content = [[0xff; 4], (2u32 << 20).to_le_bytes()].concat();
    content.resize(3 << 20, 0);
    let (result, counts) = read_with("x.arrow", content, &budget(64 << 10));
    let error = result.unwrap_err();
    assert_eq!(error.kind, FileErrorKind::Unsupported);
    assert!(error.to_string().contains("besides its values"), "{error}");
    assert!(counts.bytes_read < 64 << 10, "{}", counts.bytes_read);
    // A file's batch, whose metadata reach into its body.
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..300_000));
    let mut content = file(&[batch(vec![("x", numbers)])], plain());
    let block = blocks(&content).1[0];
    let mut long = block;
    long[8..12].copy_from_slice(&(2u32 << 20).to_le_bytes());
    long[16..24].copy_from_slice(&0u64.to_le_bytes());
    replace(&mut content, block, long);
    let (result, counts) = read_with("x.arrow", content, &budget(64 << 10));
    assert!(result.unwrap_err().cause.contains("besides its values"));
    assert!(counts.bytes_read < 128 << 10, "{}", counts.bytes_read);
}

/// A word of 100 KB for each row, and the row's number.
#[test]
fn rows_of_the_sample_have_all_their_values() {
    let word = "x".repeat(100_000);
    let batches = (0..20).map(|i| {
        let numbers = Int64Array::from_iter_values(i * 100..(i + 1) * 100);
        let words = words(vec![Some(0); 100], vec![Some(word.clone())]);
        batch(vec![("word", words), ("n", Arc::new(numbers) as ArrayRef)])
    });
    let batches: Vec<RecordBatch> = batches.collect();
    let summary = read_64(file(&batches, packed(CompressionType::ZSTD)));
    assert_eq!((summary.rows, summary.approximate), (2000, true));
    assert_eq!(summary.notes, [TOGETHER]);
    assert_eq!(summary.sample.rows.len(), 5);
    for row in &summary.sample.rows {
        assert_eq!(row.values[0].as_deref(), Some(&word[..500]));
        assert_eq!(row.values[1], Some(row.row.to_string()));
    }
    assert_eq!(column(&summary, "n").profile.values, 2000);
}

/// Ten million items that are nothing, in lists of fixed length that may be null.
#[test]
fn what_validation_takes_is_memory() {
    const ITEMS: usize = 10_000_000;
    let items = Arc::new(StructArray::new_empty_fields(ITEMS, None));
    let field = Arc::new(Field::new("item", items.data_type().clone(), false));
    let mut nulls = vec![true; 200];
    nulls[7] = false;
    let lists = FixedSizeListArray::new(field, 50_000, items, Some(nulls.into()));
    let content = file(&[batch(vec![("x", Arc::new(lists) as ArrayRef)])], plain());
    let summary = read_64(content);
    assert_eq!(summary.rows, 200);
    assert_eq!(summary.notes[0], format!("some {AT_ONCE}"));
}

#[test]
fn a_packed_column_that_is_too_large_gives_its_first_rows() {
    let text = "x".repeat(400);
    let texts: ArrayRef = Arc::new(StringArray::from(vec![text.as_str(); 10_000]));
    let content = file(&[batch(vec![("x", texts)])], packed(CompressionType::ZSTD));
    assert!(content.len() < 64 << 10, "{}", content.len());
    let summary = read_64(content);
    assert_eq!((summary.rows, summary.approximate), (10_000, false));
    assert_eq!(summary.notes, [format!("some {AT_ONCE}")]);
    let profile = &column(&summary, "x").profile;
    assert_eq!((profile.values, profile.uncounted), (10_000, 7500));
    assert!(!profile.exact);
}

#[test]
fn nulls_that_no_batch_counts_are_counted() {
    let ends = Int32Array::from_iter_values((1..=4000).map(|i| i * 10));
    let values = StringArray::from_iter((0..4000).map(|i| (i % 2 == 0).then_some("a")));
    let runs: ArrayRef = Arc::new(RunArray::<Int32Type>::try_new(&ends, &values).unwrap());
    let keys = Int8Array::from_iter_values((0..40_000).map(|i| (i % 2) as i8));
    let values = Arc::new(StringArray::from(vec![Some("a"), None]));
    let words: ArrayRef = Arc::new(DictionaryArray::new(keys, values));
    assert!(matches!(words.data_type(), Arrow::Dictionary(..)));
    for array in [runs, words] {
        let content = file(&[batch(vec![("x", array)])], packed(CompressionType::ZSTD));
        let summary = read_64(content);
        assert_eq!((summary.rows, summary.approximate), (40_000, true));
        let profile = &column(&summary, "x").profile;
        assert!(profile.nulls.abs_diff(profile.values) <= 10);
    }
}
