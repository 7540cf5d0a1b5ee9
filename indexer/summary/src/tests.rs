//! The crate's guarantees, as properties over arbitrary tables.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;

use super::*;
use crate::clean::one_line;

/// Two special tokens, and one token per begun four characters of a word.
struct Chunks(usize);

impl TokenCounter for Chunks {
    fn count(&self, text: &str) -> usize {
        2 + text
            .split_whitespace()
            .map(|word| word.chars().count().div_ceil(4))
            .sum::<usize>()
    }

    fn window(&self) -> usize {
        self.0
    }
}

fn column() -> impl Strategy<Value = ColumnFacts> {
    (
        "[A-Za-z_ %\\n]{1,24}",
        prop::sample::select(vec!["integer", "text", "date", ""]),
        prop::collection::vec(("\\PC{0,60}", 1u64..9), 0..6),
        prop::option::of("[a-z .]{0,80}"),
    )
        .prop_map(|(name, type_label, frequent, narration)| ColumnFacts {
            name,
            type_label: type_label.into(),
            min: frequent.first().map(|(value, _)| value.clone()),
            max: frequent.last().map(|(value, _)| value.clone()),
            frequent,
            narration,
            description: None,
        })
}

fn table() -> impl Strategy<Value = TableFacts> {
    (
        "[a-zA-Z/_]{1,30}",
        prop::collection::vec(column(), 0..30),
        prop::collection::vec(
            prop::collection::vec(prop::option::of("\\PC{0,50}"), 0..30),
            0..5,
        ),
        prop::collection::vec("[a-zA-Z .!\\n]{0,400}", 0..4),
    )
        .prop_map(|(name, columns, sample, contexts)| TableFacts {
            name,
            columns,
            sample,
            folder_contexts: contexts.iter().skip(1).cloned().collect(),
            contexts,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_block_fits_every_name_is_there_and_all_is_deterministic(
        facts in table(),
        window in 40usize..260,
    ) {
        let (counter, options) = (Chunks(window), DocumentOptions::default());
        let blocks = documents(&facts, &counter, &options);
        prop_assert_eq!(&blocks, &documents(&facts, &counter, &options));
        prop_assert_eq!(blocks[0].kind, BlockKind::Schema);
        for block in &blocks {
            if block.kind != BlockKind::Cells {
                prop_assert!(counter.fits(&block.text), "{:?}", block);
            }
            prop_assert!(!block.text.chars().any(|c| c.is_control() && c != '\n'), "{:?}", block);
            prop_assert!(!block.fields.is_empty());
        }
        let names: String = blocks
            .iter()
            .flat_map(|block| &block.fields)
            .filter(|(field, _)| *field == Field::Names)
            .map(|(_, text)| format!("\n{text}\n"))
            .collect();
        prop_assert!(names.contains(&facts.name));
        for column in &facts.columns {
            let name = one_line(&column.name);
            let is_named = |line: &str| line.split('\t').next() == Some(name.as_str());
            prop_assert!(name.is_empty() || names.lines().any(is_named), "{:?}", column.name);
        }
        // What a context says is in its blocks, word for word.
        let contexts: String = blocks
            .iter()
            .flat_map(|block| &block.fields)
            .filter(|(field, _)| *field == Field::Contexts)
            .flat_map(|(_, text)| text.split_whitespace())
            .collect();
        let given: String = facts.contexts.iter().flat_map(|text| text.split_whitespace()).collect();
        prop_assert_eq!(contexts, given);
    }
}

#[test]
fn a_very_wide_table_is_bounded() {
    let facts = TableFacts {
        name: "wide".into(),
        columns: (0..20_000)
            .map(|i| ColumnFacts {
                name: format!("measure_{i}"),
                type_label: "float".into(),
                min: Some("0".into()),
                max: Some(i.to_string()),
                frequent: vec![(format!("v{i}"), 1), ("x".into(), 1)],
                ..ColumnFacts::default()
            })
            .collect(),
        sample: vec![vec![Some("1.5".into()); 20_000]; 5],
        folder_contexts: vec!["of all tables ".repeat(9)],
        contexts: vec!["word ".repeat(300_000)],
    };
    let options = DocumentOptions::default();
    let start = std::time::Instant::now();
    let blocks = documents(&facts, &Chunks(256), &options);
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    let count = |kind| blocks.iter().filter(|block| block.kind == kind).count();
    assert_eq!(count(BlockKind::Schema), options.schema_blocks);
    assert_eq!(
        count(BlockKind::Rows),
        5,
        "a wide row is cut, so each has its block"
    );
    // A folder's text has a block of its own.
    assert_eq!(count(BlockKind::Context), options.context_blocks + 1);
    assert_eq!(count(BlockKind::Cells), 3);
    let names = |needle: &str| {
        blocks
            .iter()
            .flat_map(|block| &block.fields)
            .any(|(field, text)| *field == Field::Names && text.lines().any(|l| l == needle))
    };
    assert!(names("measure_0") && names("measure_9999"));
    let bytes: usize = blocks
        .iter()
        .flat_map(|block| block.fields.iter().map(|(_, text)| text.len()))
        .sum();
    assert!(bytes < 1 << 20, "{bytes}");
}

/// A block's text has a limit in bytes, and one block too long would end a run.
#[test]
fn a_context_without_white_space_is_bounded() {
    let facts = TableFacts {
        name: "t".into(),
        contexts: vec!["x".repeat(17 << 20)],
        ..TableFacts::default()
    };
    let blocks = documents(&facts, &Chunks(256), &DocumentOptions::default());
    let bytes: usize = blocks.iter().map(|block| block.text.len()).sum();
    assert!(bytes < 2 << 20, "{bytes}");
    let beyond = blocks.last().unwrap();
    assert_eq!(
        beyond.kind,
        BlockKind::Cells,
        "what has no room is searched by words"
    );
    assert!(beyond.text.len() > 10_000);
}

#[test]
fn narration_off_keeps_names_whole_and_says_nothing_else() {
    let facts = TableFacts {
        name: "HR_Emp".into(),
        columns: vec![ColumnFacts {
            name: "SickLeaveHours".into(),
            frequent: vec![("3".into(), 1)],
            ..ColumnFacts::default()
        }],
        ..TableFacts::default()
    };
    let options = DocumentOptions {
        split_identifiers: false,
        ..DocumentOptions::default()
    };
    let blocks = documents(&facts, &WordCounter { window: 50 }, &options);
    assert_eq!(blocks[0].text, "HR_Emp: SickLeaveHours");
    assert_eq!(
        blocks[0].fields,
        [(Field::Names, "\tHR_Emp\nSickLeaveHours".to_owned())]
    );
}

#[test]
fn columns_take_turns_in_the_cells_block() {
    let values = |prefix: &str, n: usize| (0..n).map(|i| (format!("{prefix}{i}"), 1)).collect();
    let facts = TableFacts {
        name: "t".into(),
        columns: vec![
            ColumnFacts {
                name: "a".into(),
                frequent: values("a", 100),
                ..ColumnFacts::default()
            },
            ColumnFacts {
                name: "b".into(),
                frequent: values("b", 2),
                ..ColumnFacts::default()
            },
        ],
        ..TableFacts::default()
    };
    let options = DocumentOptions {
        cell_words: 6,
        ..DocumentOptions::default()
    };
    let block = cells::cells_block(&facts, &options).unwrap();
    assert_eq!(block.text, "a: a0 | a1 | a2 | a3\nb: b0 | b1");
    assert_eq!(
        block.fields,
        [(Field::Cells, "a0 | a1 | a2 | a3\nb0 | b1".to_owned())]
    );
}

#[test]
fn an_archive_is_no_postal_code() {
    let facts = TableFacts {
        name: "packed/things.zip//parts".into(),
        columns: vec![ColumnFacts {
            name: "address.zip".into(),
            ..ColumnFacts::default()
        }],
        ..TableFacts::default()
    };
    let options = DocumentOptions::default();
    let blocks = documents(&facts, &WordCounter { window: 50 }, &options);
    assert_eq!(blocks[0].text, "packed things parts: address postal code");
    assert_eq!(
        blocks[0].fields,
        [(
            Field::Names,
            "\tpacked/things.zip//parts\naddress.zip\tpostal code".to_owned()
        )]
    );
}

#[test]
fn what_a_folder_is_about_is_searched_by_each_word_once_and_is_no_value() {
    let readme = "# Sales\n\nSales by region; refunds of sales.\n\n| Refunds | sales |\n";
    let facts = TableFacts {
        name: "vouchers".into(),
        contexts: vec![readme.into()],
        folder_contexts: vec![readme.into(), "Regions, and sales.".into()],
        ..TableFacts::default()
    };
    let blocks = documents(&facts, &Chunks(256), &DocumentOptions::default());
    let searched = |field: Field| {
        let fields = blocks.iter().flat_map(|block| &block.fields);
        let fields = fields.filter(|(it, _)| *it == field);
        fields.map(|(_, text)| text.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(
        searched(Field::Rows),
        ["Sales by region refunds of", "Regions and"]
    );
    assert_eq!(searched(Field::Contexts), [readme.trim()]);
    // What is shown, and embedded, is the text.
    let shown = blocks
        .iter()
        .filter(|it| it.text.starts_with(readme.trim()));
    assert_eq!(shown.count(), 2);
}
