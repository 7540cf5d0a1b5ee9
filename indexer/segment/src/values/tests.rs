#![allow(clippy::unwrap_used)]
use std::collections::BTreeMap;

use limn_profile::{
    ColumnBuilder, DataType, FileHashes, FileValues, KeptValues, ValueLimits, value_key,
};
use proptest::prelude::*;

use super::*;
use crate::builder::{SegmentSettings, build_segment};
use crate::reader::SegmentReader;
use crate::table::{Block, BlockKind, Field, Shard, TableBlocks, TableKey};

/// A list of these values of a column.
pub(crate) fn list(values: impl Iterator<Item = String>) -> FileHashes {
    let file = FileValues::new(KeptValues {
        most: 1 << 20,
        hides_personal: false,
    });
    let limits = ValueLimits::for_columns(4096);
    let mut builder = ColumnBuilder::with_limits("x", limits).hashing(&file);
    builder.set_type(&DataType::Text);
    values.for_each(|value| builder.push(Some(&value)));
    builder.finish(true).hashes.pop().unwrap()
}

fn of(prefix: &str, numbers: std::ops::Range<u32>) -> FileHashes {
    list(numbers.map(|number| format!("{prefix}-{number:05}")))
}

fn column(name: &str, withheld: bool, lists: Vec<FileHashes>) -> ColumnValues {
    let lists = (1..).zip(lists);
    ColumnValues {
        name: name.to_owned(),
        withheld,
        lists: lists
            .map(|(file, list)| FileHashes { file, ..list })
            .collect(),
    }
}

fn table(number: usize, values: TableValues) -> TableBlocks {
    TableBlocks {
        table: TableKey {
            lake: "file:///lake".into(),
            name: format!("t{number:03}"),
        },
        location: String::new(),
        blocks: vec![Block {
            kind: BlockKind::Schema,
            text: format!("t{number}"),
            fields: vec![(Field::Names, "a".into())],
            vector: None,
        }],
        content: None,
        values,
    }
}

fn settings() -> SegmentSettings {
    SegmentSettings::new(4, Shard(0))
}

fn holding(reader: &SegmentReader, value: &str) -> Vec<(u32, u32)> {
    let hash = value_key::hash(&value_key::key(value).unwrap());
    let mut found = Vec::new();
    let visit = &mut |table, column| found.push((table, column));
    reader.holding_value(hash, visit).unwrap();
    found
}

#[test]
fn values_are_found_in_their_columns_and_lists_come_back() {
    let values = TableValues {
        columns: vec![
            column("code", false, vec![of("A", 0..900), of("A", 800..2000)]),
            column("secret", true, vec![of("S", 0..300)]),
            column("other", false, vec![of("B", 0..300)]),
        ],
    };
    let tables = vec![
        table(0, TableValues::default()),
        table(1, values.clone()),
        table(
            2,
            TableValues {
                columns: vec![column("b", false, vec![of("B", 299..600)])],
            },
        ),
    ];
    let built = build_segment(tables, &settings()).unwrap();
    let reader = SegmentReader::from_bytes(built.bytes, &built.entry).unwrap();
    for number in 0..2000 {
        assert_eq!(holding(&reader, &format!("a {number:05}")), [(1, 0)]);
    }
    assert_eq!(holding(&reader, "B-00299"), [(1, 2), (2, 0)]);
    assert_eq!(holding(&reader, "S-00001"), []);
    assert_eq!(holding(&reader, "A-02000"), []);
    assert_eq!(reader.table_values(1).unwrap(), values);
    assert_eq!(reader.table_values(0).unwrap(), TableValues::default());
    assert_eq!(reader.value_column(1, 2).unwrap().as_deref(), Some("other"));
    assert_eq!(reader.value_column(2, 1).unwrap(), None);
}

#[test]
fn missing_lists_are_taken_from_what_is_published() {
    let whole = column("code", false, vec![of("A", 0..300), of("B", 0..300)]);
    let mut part = whole.clone();
    part.lists[0].hashes = None;
    let mut now = TableValues {
        columns: vec![part.clone(), part],
    };
    // The other column is of no file that is published.
    now.columns[1].lists.truncate(1);
    now.columns[1].lists[0].column = 1;
    assert!(now.is_incomplete());
    let mut published = TableValues {
        columns: vec![whole.clone()],
    };
    // There the first file has another path.
    published.columns[0].lists[0].file = 71;
    let file = |published, now| PublishedFile { published, now };
    let from = [
        (published.clone(), vec![file(2, 2)]),
        (published, vec![file(71, 1)]),
    ];
    now.fill(&from);
    assert_eq!(now.columns, [whole]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever is wrong with the bytes, reading them is an error or gives something, and never
    /// panics.
    #[test]
    fn damaged_sections_are_errors(at in 0..4000usize, bit in 0..8u32, cut in 0..4000usize) {
        let values = TableValues {
            columns: vec![column("code", false, vec![of("A", 0..600)])],
        };
        let mut bytes = values.encode();
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        let _ = TableValues::decode(&bytes).map(|it| it.columns.iter().map(|column| {
            column.lists.iter().filter_map(|list| list.hashes.as_ref()?.read().ok()).count()
        }).sum::<usize>());
        let _ = TableValues::column_name(&bytes, 0);
        bytes.truncate(cut % bytes.len());
        prop_assert!(TableValues::decode(&bytes).is_err());
    }

    /// What is found is what is in the lists.
    #[test]
    fn what_is_found_is_what_is_there(
        columns in proptest::collection::vec((0..40u32, 1..400u32), 1..40),
        sought in proptest::collection::vec(0..440u32, 20),
    ) {
        let mut there: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
        let mut tables = Vec::new();
        for (number, (start, count)) in (0..).zip(&columns) {
            let range = *start..start + 16 + count;
            for value in range.clone() {
                there.entry(value).or_default().push((number, 0));
            }
            tables.push(table(number as usize, TableValues {
                columns: vec![column("x", false, vec![of("V", range)])],
            }));
        }
        let built = build_segment(tables, &settings()).unwrap();
        let reader = SegmentReader::from_bytes(built.bytes, &built.entry).unwrap();
        let mut together = Vec::new();
        for value in sought {
            let (name, expected) = (format!("V-{value:05}"), there.get(&value));
            let expected = expected.cloned().unwrap_or_default();
            let hash = value_key::hash(&value_key::key(&name).unwrap());
            together.extend(expected.iter().map(|(table, column)| (hash, *table, *column)));
            together.extend(expected.is_empty().then_some((hash, u32::MAX, 0)));
            prop_assert_eq!(holding(&reader, &name), expected);
        }
        together.sort_unstable();
        together.dedup();
        let mut hashes: Vec<u64> = together.iter().map(|it| it.0).collect();
        hashes.dedup();
        together.retain(|it| it.1 != u32::MAX);
        let mut found = Vec::new();
        let visit = &mut |hash, table, column| found.push((hash, table, column));
        reader.holding_values(&hashes, visit).unwrap();
        prop_assert_eq!(found, together);
    }
}
