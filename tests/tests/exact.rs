//! Values that an index holds are found by whoever has one of them: codes, numbers, names.
//!
//! Over any index, with its own embedder:
//! `LIMN_EXACT_INDEX=INDEX cargo test --release --workspace --test exact -- --ignored --nocapture`

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use limn_segment::{BlockKind, IndexStore, SegmentReader};
use limn_tests::{index_hashed, limn, random, text};
use serde_json::json;
use tempfile::TempDir;

/// Columns, and values of each, that are asked for.
const COLUMNS: usize = 10;
const VALUES: usize = 40;

/// The values of each column of each table, as the index holds them for words to find: its blocks
/// of cells.
type Held = BTreeMap<(String, String), BTreeSet<String>>;

async fn held(index: &Path) -> Held {
    let index = IndexStore::open(text(index)).unwrap();
    let snapshot = index.require_newest().await.unwrap();
    let mut held = Held::new();
    for entry in &snapshot.segments {
        let reader = SegmentReader::open(&index.store, entry).await.unwrap();
        let deletes = index.deletes(entry).await.unwrap();
        for table in reader.tables().iter() {
            for block in table.first_block..table.first_block + table.blocks {
                if deletes.contains(block) || reader.kind(block) != BlockKind::Cells {
                    continue;
                }
                for line in reader.text(block).unwrap().lines() {
                    let Some((column, values)) = line.split_once(": ") else {
                        continue;
                    };
                    let key = (table.key.name.to_owned(), column.to_owned());
                    let values = values.split(" | ").filter(|value| !value.ends_with('…'));
                    let values = values.filter(|value| value.chars().count() >= 3);
                    held.entry(key)
                        .or_default()
                        .extend(values.map(str::to_owned));
                }
            }
        }
    }
    held
}

/// Asks for values of a column, and counts how many in a hundred were found: a table that holds the
/// value is among the first five.
fn found(index: &Path, held: &Held, values: &[&String]) -> f64 {
    let mut questions = String::new();
    for value in values {
        let tables: BTreeSet<&str> = held
            .iter()
            .filter(|(_, values)| values.contains(*value))
            .map(|((table, _), _)| table.as_str())
            .collect();
        writeln!(
            questions,
            "{}",
            json!({"question": value, "tables": tables})
        )
        .unwrap();
    }
    let scratch = TempDir::new().unwrap();
    let file = scratch.path().join("questions.jsonl");
    std::fs::write(&file, questions).unwrap();
    let arguments = [
        "eval",
        "--index",
        text(index),
        "--questions",
        text(&file),
        "-k",
        "5",
    ];
    let mut arguments = arguments.to_vec();
    arguments.extend(["--judge", "off", "--json"]);
    let answer = limn(&arguments).json();
    100.0 * answer["k"]["5"]["hit"].as_f64().unwrap()
}

/// Chooses columns and values at random, asks for all of them, and counts how many in a hundred
/// were found.
fn measured(index: &Path, held: &Held, seed: u64) -> f64 {
    let mut columns: Vec<_> = held
        .iter()
        .filter(|(_, values)| values.len() >= VALUES)
        .collect();
    columns
        .sort_by_key(|((table, column), _)| random(seed ^ xxh(table) ^ xxh(column).rotate_left(1)));
    columns.truncate(COLUMNS);
    assert_eq!(
        columns.len(),
        COLUMNS,
        "too few columns with {VALUES} values"
    );
    let mut sum = 0.0;
    for ((table, column), values) in columns {
        let mut values: Vec<&String> = values.iter().collect();
        values.sort_by_key(|value| random(seed ^ xxh(value)));
        values.truncate(VALUES);
        let share = found(index, held, &values);
        println!(
            "{share:5.1} %  {table}: {column} ({}, {} …)",
            values[0], values[1]
        );
        sum += share;
    }
    let share = sum / COLUMNS as f64;
    println!("{share:5.1} %  of {VALUES} values each of {COLUMNS} columns");
    share
}

fn xxh(text: &str) -> u64 {
    // The low half is as good as the whole.
    limn_segment::TextHash::of(text).0 as u64
}

/// The name of a kind of values, and the n-th of them.
type Kind = (&'static str, fn(u64) -> String);

/// Values of each kind: what they look like, by a random number.
const KINDS: [Kind; 12] = [
    ("patent", |n| {
        format!(
            "US-{},{:03},{:03}-B{}",
            7 + n % 5,
            n / 7 % 1000,
            n / 11 % 1000,
            1 + n % 2
        )
    }),
    ("uuid", |n| {
        let more = random(n);
        let (a, b) = (n as u32, (more >> 32) as u16);
        format!(
            "{a:08x}-{b:04x}-4{:03x}-8{:03x}-{:012x}",
            more & 0xfff,
            more >> 12 & 0xfff,
            random(more) >> 16
        )
    }),
    ("hex id", |n| format!("{n:016x}")),
    ("part number", |n| {
        let letter = |n: u64| char::from(b'A' + (n % 26) as u8);
        format!(
            "{}{}-{:04}-{}",
            letter(n),
            letter(n >> 5),
            n >> 9 & 0xfff,
            letter(n >> 21)
        )
    }),
    ("phone", |n| {
        format!("+49 {} {:07}", 30 + n % 60, n / 60 % 10_000_000)
    }),
    ("person", |n| {
        const FIRST: [&str; 12] = [
            "Anna", "Bela", "Carla", "Dirk", "Edda", "Falk", "Gisa", "Hugo", "Ines", "Jan", "Kira",
            "Lars",
        ];
        const LAST: [&str; 12] = [
            "Kessler", "Brandt", "Otto", "Vogt", "Weber", "Sommer", "Huber", "Arndt", "Lorenz",
            "Seidel", "Ritter", "Busch",
        ];
        format!(
            "{} {}. {}",
            FIRST[(n % 12) as usize],
            char::from(b'A' + (n / 12 % 26) as u8),
            LAST[(n / 400 % 12) as usize]
        )
    }),
    ("e-mail", |n| {
        format!(
            "{}{}@mail.example",
            ["ann", "bob", "kim", "lee"][(n % 4) as usize],
            n / 4 % 100_000
        )
    }),
    ("amount", |n| {
        format!("{}.{:02}", n % 100_000, n / 100_000 % 100)
    }),
    ("order number", |n| {
        format!("{}", 10_000_000 + n % 90_000_000)
    }),
    ("measured at", |n| {
        format!(
            "20{:02}-{:02}-{:02}T{:02}:{:02}:{:02}",
            10 + n % 15,
            1 + n % 12,
            1 + n / 12 % 28,
            n / 500 % 24,
            n / 900 % 60,
            n / 7000 % 60
        )
    }),
    ("address", |n| {
        format!("10.{}.{}.{}", n % 256, n / 256 % 256, n / 65_536 % 256)
    }),
    ("licence plate", |n| {
        format!(
            "HH-{}{} {}",
            char::from(b'A' + (n % 26) as u8),
            char::from(b'A' + (n / 26 % 26) as u8),
            100 + n / 676 % 9000
        )
    }),
];

/// Tables that have a column of each of three kinds, and words.
fn lake(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    for table in 0..60u64 {
        let kinds: Vec<_> = (0..3)
            .map(|at| KINDS[((table * 5 + at * 7) % 12) as usize])
            .collect();
        let mut csv = String::from("note");
        for (name, _) in &kinds {
            write!(csv, ",{name} {table}").unwrap();
        }
        for row in 0..90u64 {
            let word = ["sent", "came", "stays", "was lost"][(random(table + row) % 4) as usize];
            write!(csv, "\n{word}").unwrap();
            for (at, (_, value)) in kinds.iter().enumerate() {
                write!(
                    csv,
                    ",\"{}\"",
                    value(random(table << 32 | row << 8 | at as u64))
                )
                .unwrap();
            }
        }
        std::fs::write(folder.join(format!("log_{table}.csv")), csv).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nineteen_of_twenty_values_that_an_index_holds_are_found_in_five() {
    let scratch = TempDir::new().unwrap();
    let (folder, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    lake(&folder);
    index_hashed(&folder, &index, &["--redact", "off"]).ok();
    let held = held(&index).await;
    assert!(held.len() >= 180, "{}", held.len());
    let share = measured(&index, &held, 1);
    assert!(share >= 95.0, "{share}");
    // Kind by kind, too.
    for (kind, _) in KINDS {
        // A name is described in its words.
        let kind = kind.replace('-', " ");
        let of_kind: BTreeMap<_, _> = held
            .iter()
            .filter(|((_, column), _)| column.starts_with(&kind))
            .collect();
        let mut values: Vec<&String> = of_kind.values().copied().flatten().collect();
        values.sort_by_key(|value| random(xxh(value)));
        values.truncate(VALUES);
        assert!(values.len() >= VALUES, "{kind}: {}", values.len());
        let share = found(&index, &held, &values);
        println!("{share:5.1} %  {kind} ({} …)", values[0]);
        assert!(share >= 90.0, "{kind}: {share}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures an index: LIMN_EXACT_INDEX"]
async fn values_of_an_index() {
    let index = std::env::var("LIMN_EXACT_INDEX").expect("LIMN_EXACT_INDEX names an index");
    let index = Path::new(&index);
    let held = held(index).await;
    for seed in 1..=3 {
        measured(index, &held, seed);
    }
}

#[test]
fn a_name_comes_first_a_misspelt_word_is_noted_and_an_unknown_one_too() {
    let scratch = TempDir::new().unwrap();
    let (folder, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    lake(&folder);
    index_hashed(&folder, &index, &[]).ok();
    let search = |question: &str, more: &[&str]| {
        let mut arguments = vec!["search", question, "--index", text(&index)];
        arguments.extend(more);
        limn(&arguments)
    };
    for (question, exact) in [
        ("LOG-7", "table LOG-7"),
        ("when was \"log 7\" written?", "table log 7"),
        ("log_7.csv", "file log_7.csv"),
        ("order_number_4", "column order_number_4"),
        ("the column orderNumber4", "column orderNumber4"),
    ] {
        let answer = search(question, &["--json"]).ok();
        let first = &answer["results"][0];
        assert_eq!(first["exact"], json!([exact]), "{question}: {answer}");
        assert_eq!(first["score"], 1.0, "{question}: {answer}");
        assert!(search(question, &[]).stdout.contains(exact), "{question}");
    }
    let notes = |question: &str| search(question, &["--json"]).ok()["notes"].to_string();
    let got = notes("lisence plate");
    assert!(
        got.contains(r#"searched \"lisence\" as \"licence\""#),
        "{got}"
    );
    let got = notes("licence plate of Zumthor");
    assert!(
        got.contains("nowhere in the index: Zumthor (the index holds a sample"),
        "{got}"
    );
    assert!(got.contains("limn sql"), "{got}");
}

#[test]
fn a_column_is_found_by_the_word_that_its_name_is_short_for() {
    let scratch = TempDir::new().unwrap();
    let (folder, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    lake(&folder);
    let rain = "town,unemp\nAachen,4\nBasel,9\nCelle,7\n";
    std::fs::write(folder.join("rain.csv"), rain).unwrap();
    index_hashed(&folder, &index, &[]).ok();
    let search = |question: &str| limn(&["search", question, "--index", text(&index), "--json"]);
    let notes = |answer: &serde_json::Value| answer["notes"].to_string();
    let noted = r#"searched \"unemployment\" as \"unemp\", too"#;
    let answer = search("unemployment of each").ok();
    assert_eq!(answer["results"][0]["table"], "rain", "{answer}");
    assert!(notes(&answer).contains(noted), "{answer}");
    let covered = |answer: &serde_json::Value| {
        let mut results = answer["results"].as_array().unwrap().iter();
        let rain = results.find(|it| it["table"] == "rain");
        rain.map_or(0.0, |it| it["covered"].as_f64().unwrap())
    };
    let guessed = covered(&answer);
    assert!(guessed > 0.0, "{answer}");
    // A text beside the file says that it is something else.
    let dictionary = "The column unemp is the sort of a town.\n";
    std::fs::write(folder.join("rain.md"), dictionary).unwrap();
    index_hashed(&folder, &index, &[]).ok();
    let answer = search("unemployment of each").ok();
    assert!(!notes(&answer).contains(noted), "{answer}");
    assert_eq!(covered(&answer), 0.0, "{answer}");
    // Or that it is what it looks like.
    let dictionary = "The column unemp is the unemployment of a town.\n";
    std::fs::write(folder.join("rain.md"), dictionary).unwrap();
    index_hashed(&folder, &index, &[]).ok();
    let answer = search("unemployment of each").ok();
    assert_eq!(answer["results"][0]["table"], "rain", "{answer}");
    assert!(covered(&answer) > 1.2 * guessed, "{answer}");
    assert!(!notes(&answer).contains(noted), "{answer}");
}
