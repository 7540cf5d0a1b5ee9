//! Arrow and ORC files of few bytes that stand for very many values: read in bounded time and
//! memory, or refused.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{
    Array, ArrayRef, DictionaryArray, Int8Array, Int32Array, Int64Array, ListViewArray, MapArray,
    NullArray, RunArray, StringArray, StructArray,
};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType as Arrow, Field, Fields, Int32Type};
use arrow::ipc::CompressionType;

use super::arrow_files::{batch, file, packed, plain, stream};
use super::*;

/// Reads within 64 KiB, soon.
fn read_soon(path: &str, content: Vec<u8>) -> Result<FileSummary, FileError> {
    let started = Instant::now();
    let result = read_with(path, content, &budget(64 << 10)).0;
    assert!(
        started.elapsed() < Duration::from_secs(60),
        "{:?}",
        started.elapsed()
    );
    result
}

#[test]
fn one_long_text_is_not_taken_for_every_row() {
    let long = StringArray::from(vec!["x".repeat(100_000)]);
    let keys = Int8Array::from(vec![0; 20_000]);
    let words: ArrayRef = Arc::new(DictionaryArray::new(keys, Arc::new(long.clone())));
    let runs: ArrayRef =
        Arc::new(RunArray::<Int32Type>::try_new(&Int32Array::from(vec![20_000]), &long).unwrap());
    for column in [words, runs] {
        let field = Arc::new(Field::new("a", column.data_type().clone(), true));
        let nested: ArrayRef = Arc::new(StructArray::from(vec![(field, column.clone())]));
        for array in [column, nested] {
            let content = file(&[batch(vec![("x", array)])], packed(CompressionType::ZSTD));
            assert!(content.len() < 64 << 10, "{}", content.len());
            let summary = read_soon("x.arrow", content).unwrap();
            assert_eq!(
                (summary.rows, summary.sample.rows.len(), summary.approximate),
                (20_000, 5, true)
            );
        }
    }
}

/// Lists that all stand for the same items, and these for maps of nulls, of which no byte is
/// written.
#[test]
fn lists_that_overlap_end() {
    const COUNT: usize = 3000;
    let list = |items: ArrayRef| -> ArrayRef {
        let field = Arc::new(Field::new_list_field(items.data_type().clone(), true));
        let sizes = vec![items.len() as i32; COUNT];
        Arc::new(
            ListViewArray::try_new(field, vec![0; COUNT].into(), sizes.into(), items, None)
                .unwrap(),
        )
    };
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..COUNT as i64));
    let keys: ArrayRef = Arc::new(StringArray::from(vec!["k"; COUNT]));
    let pair = Fields::from(vec![
        Field::new("key", Arrow::Utf8, false),
        Field::new("value", Arrow::Null, true),
    ]);
    let pairs = StructArray::new(
        pair.clone(),
        vec![keys, Arc::new(NullArray::new(COUNT))],
        None,
    );
    let field = Arc::new(Field::new("entries", Arrow::Struct(pair), false));
    let offsets = OffsetBuffer::new(ScalarBuffer::from(vec![0, COUNT as i32]));
    let maps: ArrayRef = Arc::new(MapArray::new(field, offsets, pairs, None, false));
    for items in [list(numbers), maps] {
        let summary = read_soon(
            "x.arrow",
            file(
                &[batch(vec![("x", list(items))])],
                packed(CompressionType::ZSTD),
            ),
        )
        .unwrap();
        assert_eq!(
            (summary.rows, summary.sample.rows.len(), summary.approximate),
            (COUNT as u64, 5, true)
        );
        let longest = summary
            .sample
            .rows
            .iter()
            .flat_map(|row| &row.values)
            .flatten()
            .map(String::len)
            .max();
        assert!(longest.unwrap() <= 500);
    }
}

#[test]
fn rows_of_nothing_are_rows() {
    let nulls: ArrayRef = Arc::new(NullArray::new(1 << 32));
    for content in [
        file(&[batch(vec![("x", nulls.clone())])], plain()),
        stream(&[batch(vec![("x", nulls)])], plain()),
    ] {
        let summary = read_soon("x.arrow", content).unwrap();
        assert_eq!(
            (summary.rows, summary.rows_exact, summary.approximate),
            (1 << 32, true, true)
        );
        assert_eq!(column(&summary, "x").profile.nulls, 1 << 32);
    }
}

/// A packed buffer is as long as it is needed, whatever it claims.
#[test]
fn packed_buffers_that_claim_too_much() {
    let zeros: ArrayRef = Arc::new(Int64Array::from(vec![0; 1000]));
    let words: ArrayRef = Arc::new(StringArray::from(vec!["a word"; 1000]));
    for codec in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let columns = vec![("x", zeros.clone()), ("word", words.clone())];
        let content = file(&[batch(columns)], packed(codec));
        let lengths = [8000i64, 4004, 6000];
        let place = |length: &i64| {
            let bytes = length.to_le_bytes();
            (0..content.len() - 8).find(|i| content[*i..*i + 8] == bytes)
        };
        let places: Vec<usize> = lengths.iter().filter_map(place).collect();
        assert!(places.len() > 1);
        for place in places {
            for claim in [i64::MAX, 1 << 40, -2, i64::MIN, 1] {
                let mut content = content.clone();
                content[place..place + 8].copy_from_slice(&claim.to_le_bytes());
                match read_soon("x.arrow", content) {
                    Ok(summary) => assert!(claim > 1 && summary.rows == 1000),
                    Err(error) => assert_eq!(error.kind, FileErrorKind::Corrupt, "{error}"),
                }
            }
        }
    }
}

/// A number in the variable length of Protocol Buffers.
pub(super) fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

pub(super) fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

pub(super) fn message(field: u64, parts: &[Vec<u8>]) -> Vec<u8> {
    let message = parts.concat();
    [
        varint(field << 3 | 2),
        varint(message.len() as u64),
        message,
    ]
    .concat()
}

/// A type of this kind with these parts.
pub(super) fn kind(kind: u64, parts: &[u64]) -> Vec<u8> {
    let mut fields = vec![number(1, kind)];
    for part in parts {
        fields.push(number(2, *part));
        fields.push(message(3, &[b"x".to_vec()]));
    }
    message(4, &fields)
}

/// An ORC file of one stripe of so many rows, which is not packed. Streams have a kind, a column
/// and bytes; encodings a kind and the length of a dictionary.
pub(super) fn orc(
    types: &[Vec<u8>],
    rows: u64,
    encodings: &[(u64, u64)],
    streams: &[(u64, u64, &[u8])],
) -> Vec<u8> {
    let mut file = b"ORC".to_vec();
    for (_, _, bytes) in streams {
        file.extend(*bytes);
    }
    let data = file.len() as u64 - 3;
    let listed = streams.iter().map(|(kind, column, bytes)| {
        message(
            1,
            &[
                number(1, *kind),
                number(2, *column),
                number(3, bytes.len() as u64),
            ],
        )
    });
    let encoded = encodings
        .iter()
        .map(|(kind, words)| message(2, &[number(1, *kind), number(2, *words)]));
    let footer: Vec<u8> = listed.chain(encoded).flatten().collect();
    file.extend(&footer);
    let stripe = message(
        3,
        &[
            number(1, 3),
            number(3, data),
            number(4, footer.len() as u64),
            number(5, rows),
        ],
    );
    let tail = [stripe, types.concat(), number(6, rows)].concat();
    file.extend(&tail);
    let postscript = [
        number(1, tail.len() as u64),
        message(8000, &[b"ORC".to_vec()]),
    ]
    .concat();
    file.extend(&postscript);
    file.push(postscript.len() as u8);
    file
}

pub(super) const LONG: u64 = 4;
pub(super) const STRING: u64 = 7;
pub(super) const LIST: u64 = 10;
pub(super) const STRUCT: u64 = 12;
pub(super) const DATA: u64 = 1;
pub(super) const LENGTH: u64 = 2;
pub(super) const WORDS: u64 = 3;
/// The second version of numbers: with a dictionary, and without.
pub(super) const DIRECT: u64 = 2;
pub(super) const DICTIONARY: u64 = 3;

#[test]
fn an_orc_file_by_hand_is_sound() {
    let types = [kind(STRUCT, &[1]), kind(LONG, &[])];
    // Ten times -1.
    let content = orc(
        &types,
        10,
        &[(0, 0), (DIRECT, 0)],
        &[(DATA, 1, &[0x07, 0x01])],
    );
    let summary = read("x.orc", content);
    assert_eq!((schema(&summary), summary.rows), ("x:integer".into(), 10));
    assert_eq!(column(&summary, "x").profile.frequent.top(2), [("-1", 10)]);
}

#[test]
fn lengths_that_stand_for_very_many_values_take_no_memory() {
    // Three times 2^40.
    let huge = [0x28, 0x01, 0, 0, 0, 0, 0];
    let list = [kind(STRUCT, &[1]), kind(LIST, &[2]), kind(LONG, &[])];
    let text = [kind(STRUCT, &[1]), kind(STRING, &[])];
    // Steps of nothing: 512 zeros in four bytes.
    let zeros = [0xc1, 0xff, 0x00, 0x00].repeat(4000);
    for content in [
        orc(
            &list,
            3,
            &[(0, 0), (DIRECT, 0), (DIRECT, 0)],
            &[(LENGTH, 1, &huge)],
        ),
        orc(&text, 3, &[(0, 0), (DIRECT, 0)], &[(LENGTH, 1, &huge)]),
        orc(
            &text,
            3,
            &[(0, 0), (DICTIONARY, u64::MAX)],
            &[(LENGTH, 1, &zeros)],
        ),
    ] {
        let summary = read_soon("x.orc", content).unwrap();
        assert_eq!((summary.rows, summary.rows_exact), (3, true));
        assert_eq!(
            summary.notes[0],
            "values of 1 column not read that take too much at once"
        );
    }
    let error = read_soon(
        "x.orc",
        orc(
            &text,
            3,
            &[(0, 0), (DIRECT, 0)],
            &[(LENGTH, 1, &[0x02, 0x05])],
        ),
    )
    .unwrap_err();
    assert!(
        error.to_string().contains("fewer values than rows"),
        "{error}"
    );
}

#[test]
fn one_long_word_of_orc_is_not_taken_for_every_row() {
    let text = [kind(STRUCT, &[1]), kind(STRING, &[])];
    let word = vec![b'x'; 30_000];
    // The word's length, and 40 960 times its place.
    let length = [0x5e, 0x00, 0x75, 0x30];
    let places = [0xc1, 0xff, 0x00, 0x00].repeat(80);
    let streams = [
        (LENGTH, 1, &length[..]),
        (WORDS, 1, &word),
        (DATA, 1, &places),
    ];
    let content = orc(&text, 20_000, &[(0, 0), (DICTIONARY, 1)], &streams);
    let summary = read_soon("x.orc", content).unwrap();
    assert_eq!(
        (summary.rows, summary.sample.rows.len(), summary.approximate),
        (20_000, 5, true)
    );
}

#[test]
fn types_that_are_no_tree_are_refused() {
    for (types, says) in [
        (vec![kind(STRUCT, &[1]), kind(LIST, &[1])], "no tree"),
        (vec![kind(STRUCT, &[1]), kind(LIST, &[0])], "no tree"),
        (
            vec![kind(STRUCT, &[1, 2]), kind(LIST, &[2]), kind(LONG, &[])],
            "no tree",
        ),
        (vec![kind(STRUCT, &[7])], "no tree"),
        (vec![kind(STRUCT, &[])], "no columns"),
        (vec![kind(LONG, &[])], "no structs"),
        (vec![kind(STRUCT, &[1]), kind(99, &[])], "not known"),
        (
            (0..200)
                .map(|i| {
                    if i == 0 {
                        kind(STRUCT, &[1])
                    } else {
                        kind(LIST, &[i + 1])
                    }
                })
                .chain([kind(LONG, &[])])
                .collect(),
            "levels deep",
        ),
    ] {
        let error = failure("x.orc", orc(&types, 0, &[], &[]));
        assert!(error.to_string().contains(says), "{error}");
    }
    let types = [kind(STRUCT, &[1]), kind(LONG, &[])];
    let error = failure("x.orc", orc(&types, 1 << 40, &[(0, 0), (DIRECT, 0)], &[]));
    assert!(
        error.to_string().contains("claims 1099511627776 rows"),
        "{error}"
    );
}
