//! ORC files of few bytes that stand for much work or memory: what is done for them is counted, and
//! ends.

use super::typed_hostile::{
    DATA, DICTIONARY, DIRECT, LENGTH, LIST, LONG, STRING, STRUCT, WORDS, kind, orc,
};
use super::*;

const TOGETHER: &str = "some values not read that take too much together";
const AT_ONCE: &str = "values of 1 column not read that take too much at once";
const PRESENT: u64 = 0;
const INDEX: u64 = 6;

fn read_within(bytes: u64, content: Vec<u8>) -> FileSummary {
    assert!(content.len() as u64 <= bytes, "{}", content.len());
    read_with("x.orc", content, &budget(bytes)).0.unwrap()
}

/// Types of one column: of these, and then of a struct of `parts` numbers.
fn structs(mut types: Vec<Vec<u8>>, parts: u64) -> Vec<Vec<u8>> {
    let first = types.len() as u64 + 1;
    let parts: Vec<u64> = (first..first + parts).collect();
    types.push(kind(STRUCT, &parts));
    types.extend(parts.iter().map(|_| kind(LONG, &[])));
    types
}

/// As many zeros, 512 in four bytes.
fn zeros(count: usize) -> Vec<u8> {
    [0xc1, 0xff, 0x00, 0x00].repeat(count.div_ceil(512))
}

#[test]
fn all_parts_of_a_list_share_its_memory() {
    // One list of 40 000 structs of fifty numbers.
    let types = structs(vec![kind(STRUCT, &[1]), kind(LIST, &[2])], 50);
    let numbers = zeros(40_000);
    let length = [0x5e, 0x00, 0x9c, 0x40];
    let mut streams = vec![(LENGTH, 1, &length[..])];
    streams.extend((3..53).map(|column| (DATA, column, &numbers[..])));
    let encodings = vec![(DIRECT, 0); 53];
    let summary = read_within(64 << 10, orc(&types, 1, &encodings, &streams));
    assert_eq!((summary.rows, &summary.notes[0][..]), (1, AT_ONCE));
    assert!(summary.sample.rows.is_empty());
}

#[test]
fn nulls_of_very_many_parts_are_memory() {
    let types = structs(vec![kind(STRUCT, &[1])], 10_000);
    // 256 times null.
    let streams = [(PRESENT, 1, &[29, 0][..])];
    let summary = read_within(256 << 10, orc(&types, 256, &[], &streams));
    assert_eq!((summary.rows, &summary.notes[0][..]), (256, AT_ONCE));
}

#[test]
fn empty_lists_of_very_many_parts_are_work() {
    let types = structs(vec![kind(STRUCT, &[1]), kind(LIST, &[2])], 2000);
    let lengths = zeros(20_000);
    let streams = [(LENGTH, 1, &lengths[..])];
    let encodings = [(0, 0), (DIRECT, 0)];
    let summary = read_within(64 << 10, orc(&types, 20_000, &encodings, &streams));
    assert_eq!((summary.rows, summary.approximate), (20_000, true));
    assert_eq!(summary.notes, [TOGETHER]);
}

#[test]
fn numbers_that_are_decoded_in_vain_are_work() {
    // Two million lengths, of a dictionary without end.
    let types = [kind(STRUCT, &[1]), kind(STRING, &[])];
    let lengths = zeros(2_000_000);
    let streams = [(LENGTH, 1, &lengths[..])];
    let encodings = [(0, 0), (DICTIONARY, u64::MAX)];
    let summary = read_within(64 << 10, orc(&types, 3, &encodings, &streams));
    assert_eq!(summary.notes, [AT_ONCE, TOGETHER]);
}

#[test]
fn streams_that_are_far_apart_are_not_fetched_with_what_is_between() {
    let parts: Vec<u64> = (1..=200).collect();
    let mut types = vec![kind(STRUCT, &parts)];
    types.extend(parts.iter().map(|_| kind(LONG, &[])));
    let between = vec![0; 16_000];
    let streams = parts.iter().flat_map(|column| {
        [
            (INDEX, *column, &between[..]),
            // Ten times -1.
            (DATA, *column, &[0x07, 0x01]),
        ]
    });
    let streams: Vec<(u64, u64, &[u8])> = streams.collect();
    let content = orc(&types, 10, &vec![(DIRECT, 0); 201], &streams);
    assert!(content.len() > 3 << 20);
    let (summary, counts) = read_with("x.orc", content, &budget(64 << 10));
    let summary = summary.unwrap();
    // One row is its share.
    assert_eq!(summary.rows, 10);
    assert_eq!(column(&summary, "x").profile.frequent.top(1), [("-1", 1)]);
    assert!(counts.bytes_read < 128 << 10, "{} bytes", counts.bytes_read);
}

#[test]
fn rows_of_the_sample_have_all_their_values() {
    let types = [kind(STRUCT, &[1, 2]), kind(STRING, &[]), kind(LONG, &[])];
    let word = [b'x'; 30_000];
    let length = [0x5e, 0x00, 0x75, 0x30];
    let places = zeros(10_000);
    // Runs of 512 numbers, each one more than the one before.
    let numbers = (0..20u32).flat_map(|run| {
        let first = run * 1024;
        let first = [
            first as u8 | 0x80,
            (first >> 7) as u8 | 0x80,
            (first >> 14) as u8,
        ];
        [[0xc1, 0xff], [first[0], first[1]], [first[2], 0x02]].concat()
    });
    let numbers: Vec<u8> = numbers.collect();
    let streams = [
        (LENGTH, 1, &length[..]),
        (WORDS, 1, &word),
        (DATA, 1, &places),
        (DATA, 2, &numbers),
    ];
    let encodings = [(0, 0), (DICTIONARY, 1), (DIRECT, 0)];
    let summary = read_within(64 << 10, orc(&types, 10_000, &encodings, &streams));
    assert_eq!((summary.rows, summary.approximate), (10_000, true));
    assert_eq!(summary.notes, [TOGETHER]);
    assert_eq!(summary.sample.rows.len(), 5);
    for row in &summary.sample.rows {
        assert_eq!(row.values[0].as_deref().map(str::len), Some(500));
        assert_eq!(row.values[1], Some(row.row.to_string()));
    }
}
