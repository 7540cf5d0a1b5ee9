//! Files of one table that by themselves would be read in different ways; profiles and scans agree
//! on them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeSet, HashMap};

use arrow::util::display::{ArrayFormatter, FormatOptions};
use futures::TryStreamExt;
use limn_formats::{Format, ObjectRecord, ReadOptions, summarise_file};
use limn_profile::{FileSummary, Redact, TableSummary};
use limn_store::Store;
use proptest::prelude::*;

use crate::assemble::merge_files;
use crate::contexts::Contexts;
use crate::evolution::{Shapes, arrange};
use crate::layout::TableFile;
use crate::layout::whole::layout;
use crate::scan::{Request, TableRows};
use crate::table_name::TableName;

/// Files as they were read, and their store.
struct Files {
    store: Store,
    files: Vec<(TableFile, FileSummary)>,
    options: ReadOptions,
}

fn runtime() -> tokio::runtime::Runtime {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap()
}

/// The path of the n-th file.
fn path(n: usize) -> String {
    format!("d/x-{n:03}.csv")
}

impl Files {
    fn read(texts: &[&str]) -> Files {
        let options = ReadOptions {
            sample_rows: 50,
            ..ReadOptions::default()
        };
        Files::read_with(texts, options)
    }

    fn read_with(texts: &[&str], options: ReadOptions) -> Files {
        let store = Store::in_memory();
        let files = runtime().block_on(async {
            let mut files = Vec::new();
            for (n, text) in texts.iter().enumerate() {
                let path = path(n);
                store.put(&path, text.to_string().into()).await.unwrap();
                let file = TableFile {
                    object: ObjectRecord::from(store.head(&path).await.unwrap()),
                    format: Format::Csv,
                    table_name: TableName::parse("d").unwrap(),
                    is_beside: false,
                    is_alone: false,
                    declared: None,
                };
                let summary = summarise_file(&store, &file.data_file(), &options)
                    .await
                    .unwrap();
                files.push((file, summary.to_stored().unwrap().read().unwrap()));
            }
            files
        });
        Files {
            store,
            files,
            options,
        }
    }

    fn table(&self) -> TableSummary {
        let files = self.files.iter();
        let parts: Vec<(&str, &FileSummary)> = files
            .map(|(file, summary)| (file.object.path.as_str(), summary))
            .collect();
        let paths: Vec<&str> = parts.iter().map(|(path, _)| *path).collect();
        let table = merge_files(&parts, &paths).unwrap();
        let mut reversed = parts.clone();
        reversed.reverse();
        assert_eq!(merge_files(&reversed, &paths).unwrap(), table);
        table
    }

    /// Rows as texts, null as `-`; how many cells did not fit.
    fn rows(&self) -> (Vec<String>, u64) {
        let rows = TableRows::new(self.store.clone(), self.files.clone(), self.options.clone());
        let (batches, report) = runtime().block_on(async {
            let rows = rows.scan(Request::default());
            let report = rows.report();
            (rows.try_collect::<Vec<_>>().await.unwrap(), report)
        });
        let options = FormatOptions::new().with_null("-");
        let mut shown = Vec::new();
        for batch in &batches {
            let columns = batch.columns().iter();
            let cells: Vec<ArrayFormatter<'_>> = columns
                .map(|column| ArrayFormatter::try_new(column, &options).unwrap())
                .collect();
            shown.extend((0..batch.num_rows()).map(|row| {
                let cells = cells.iter().map(|cell| cell.value(row).to_string());
                cells.collect::<Vec<String>>().join("|")
            }));
        }
        (shown, report.misfits().iter().map(|(_, cells)| cells).sum())
    }

    /// The table, of which the scan gives what the profile says.
    fn agreeing(&self) -> (TableSummary, Vec<String>) {
        let (table, (rows, misfits)) = (self.table(), self.rows());
        assert_eq!(misfits, 0, "{rows:?}");
        assert_eq!(table.rows, rows.len() as u64, "{rows:?}");
        for (at, column) in table.columns.iter().enumerate() {
            let cells: Vec<&str> = rows
                .iter()
                .map(|row| row.split('|').nth(at).unwrap())
                .collect();
            let nulls = cells.iter().filter(|cell| **cell == "-").count();
            assert_eq!(
                column.profile.nulls, nulls as u64,
                "{} {rows:?}",
                column.name
            );
            assert!(column.otherwise.is_empty());
            if column.data_type == limn_profile::DataType::Date {
                let days: BTreeSet<&str> = cells.into_iter().filter(|cell| *cell != "-").collect();
                let bounds = (column.profile.min.as_deref(), column.profile.max.as_deref());
                assert_eq!(bounds, (days.first().copied(), days.last().copied()));
                assert_eq!(column.profile.frequent.distinct(), days.len() as u64);
            }
        }
        (table, rows)
    }
}

fn types(table: &TableSummary) -> Vec<String> {
    let columns = table.columns.iter();
    columns
        .map(|it| format!("{} {}", it.name, it.data_type))
        .collect()
}

const OPEN: &str = "id,day\n1,1/2/2020\n2,3/4/2020\n";
const SHORT: &str = "id,day\n4,05/06/20\n";

#[test]
fn one_file_proves_the_order_of_dates_for_all() {
    let (table, rows) = Files::read(&[OPEN, "id,day\n3,25/12/2020\n", SHORT]).agreeing();
    assert_eq!(types(&table), ["id integer", "day date"]);
    assert_eq!(
        rows,
        [
            "1|2020-02-01",
            "2|2020-04-03",
            "3|2020-12-25",
            "4|2020-06-05"
        ]
    );
    let notation = table.columns[1].notation.as_ref();
    assert!(notation.is_none(), "two and four digits: {notation:?}");
    let (table, rows) = Files::read(&["id,day\n3,12/25/2020\n", OPEN]).agreeing();
    assert_eq!(rows, ["3|2020-12-25", "1|2020-01-02", "2|2020-03-04"]);
    assert_eq!(
        table.columns[1].notation.as_ref().unwrap().to_string(),
        "MM/DD/YYYY"
    );
    assert_eq!(table.notes, [""; 0]);
}

#[test]
fn without_proof_or_with_two_each_file_is_read_by_itself() {
    let (table, rows) = Files::read(&[OPEN]).agreeing();
    assert_eq!(rows, ["1|2020-01-02", "2|2020-03-04"]);
    let notation = table.columns[1].notation.as_ref().unwrap().to_string();
    assert_eq!(notation, "MM/DD/YYYY (presumed: no value decides)");
    // Another separator says nothing.
    let (_, rows) = Files::read(&[OPEN, "id,day\n3,25.12.2020\n"]).agreeing();
    assert_eq!(rows[0], "1|2020-01-02");
    let (_, rows) =
        Files::read(&[OPEN, "id,day\n3,25/12/2020\n", "id,day\n4,12/25/2020\n"]).agreeing();
    assert_eq!(rows[0], "1|2020-01-02");
    assert_eq!(
        types(&Files::read(&[SHORT]).table()),
        ["id integer", "day text"]
    );
}

#[test]
fn one_file_proves_the_decimal_mark_for_all() {
    let open = ["n;v\na;1.234\nb;5.678\n", "n;v\nd;7,250\n"];
    let (table, rows) = Files::read(&[open[0], open[1], "n;v\nc;1.234,5\n"]).agreeing();
    assert_eq!(types(&table), ["n text", "v float"]);
    assert_eq!(rows, ["a|1234.0", "b|5678.0", "d|7.25", "c|1234.5"]);
    let (_, rows) = Files::read(&[open[0], open[1], "n;v\nc;12.5\n"]).agreeing();
    assert_eq!(rows, ["a|1.234", "b|5.678", "d|7250.0", "c|12.5"]);
    // Cut at commas a number with one is in thousands, unless others have it before decimals.
    let quoted = "n,v\na,\"1,234\"\n";
    assert_eq!(Files::read(&[quoted]).agreeing().1, ["a|1234"]);
    let (_, rows) = Files::read(&[quoted, "n,v\nb,\"0,125\"\n"]).agreeing();
    assert_eq!(rows, ["a|1.234", "b|0.125"]);
}

#[test]
fn nothing_but_signs_among_files_of_numbers_is_nothing() {
    let signs = "id,n\n2,-\n3,-\n";
    let files = Files::read(&["id,n\n1,5\n", signs]);
    let (table, rows) = files.agreeing();
    assert_eq!(types(&table), ["id integer", "n integer"]);
    assert_eq!(rows, ["1|5", "2|-", "3|-"]);
    assert!(
        table
            .sample_rows()
            .all(|row| row[1].as_deref() != Some("-"))
    );
    let note = "d/x-001.csv: 2 cells with a sign for a missing value (`-`) read as null: n";
    assert_eq!(table.notes, [note]);
    let words = Files::read(&["id,n\n1,five\n", signs]).table();
    assert_eq!(words.columns[1].profile.values, 3);
    assert_eq!(Files::read(&[signs]).table().columns[1].profile.values, 2);
}

const HEADED: &str = "city,country\nRome,Italy\nParis,France\n";
const BARE: &str = "Bern,Switzerland\nOslo,Norway\nBern,Norway\n";

#[test]
fn a_first_row_that_is_no_header_among_headers_is_data() {
    let files = Files::read(&[HEADED, BARE, "city,country\nLima,Peru\n"]);
    let (table, rows) = files.agreeing();
    assert_eq!(types(&table), ["city text", "country text"]);
    let all = [
        "Rome|Italy",
        "Paris|France",
        "Bern|Switzerland",
        "Oslo|Norway",
        "Bern|Norway",
        "Lima|Peru",
    ];
    assert_eq!(rows, all);
    let sample: BTreeSet<String> = table
        .sample_rows()
        .map(|row| row.iter().flatten().cloned().collect::<Vec<_>>().join("|"))
        .collect();
    assert_eq!(sample, all.iter().map(ToString::to_string).collect());
    let cities = &table.columns[0].profile;
    assert_eq!(
        (cities.min.as_deref(), cities.max.as_deref()),
        (Some("Bern"), Some("Rome"))
    );
    assert_eq!(cities.frequent.top(1), [("Bern", 2)]);
    // By itself, and among others of which no two agree, it has a header.
    for texts in [&[BARE][..], &[BARE, HEADED]] {
        let table = Files::read(texts).table();
        assert_eq!(table.columns[0].name, "Bern");
        assert_eq!(table.columns[0].profile.frequent.top(1), [("Bern", 1)]);
    }
    // A renamed column, and a file without rows.
    let files = [
        HEADED,
        HEADED,
        "city,land\nBonn,Germany\n",
        "city,country\n",
    ];
    let table = Files::read(&files).agreeing().0;
    assert_eq!(types(&table), ["city text", "country text", "land text"]);
    assert_eq!(table.rows, 5);
    // Words above words among files of numbers are names, wherever they came from.
    let numbers = "id,n\n1,2\n3,4\n";
    let table = Files::read(&[numbers, numbers, HEADED]).table();
    assert_eq!(types(&table)[2..], ["city text", "country text"]);
}

#[test]
fn what_a_first_row_of_data_shows_counts() {
    let headed = "who,day\nAda,1/2/2020\n";
    let other = "who,day\nBob,3/4/2020\n";
    // Nobody is called 25/12/2020, but a file of one row may be a header.
    let files = Files::read(&[headed, other, "Eve,25/12/2020\n"]);
    let (table, rows) = files.agreeing();
    assert_eq!(types(&table), ["who text", "day date"]);
    assert_eq!(rows, ["Ada|2020-02-01", "Bob|2020-04-03", "Eve|2020-12-25"]);
}

#[test]
fn a_header_that_looks_like_data_is_one_among_its_like() {
    let odd = "kind,name\na,b\nc,d\nkind,x\nkind,y\n";
    let alone = Files::read(&[odd]).agreeing().0;
    assert_eq!(
        (types(&alone)[0].as_str(), alone.rows),
        ("column_1 text", 5)
    );
    assert_eq!(alone.columns[0].profile.frequent.top(1), [("kind", 3)]);
    let like = "kind,name\np,q\nr,s\n";
    let (table, rows) = Files::read(&[like, like, odd]).agreeing();
    assert_eq!((types(&table)[0].as_str(), table.rows), ("kind text", 8));
    assert_eq!(rows[4], "a|b");
    assert!(table.notes.iter().all(|note| !note.contains("header")));
}

/// The tables of a family of these files.
fn arranged(texts: &[&str]) -> Vec<String> {
    let read = Files::read(texts);
    let objects = read.files.iter().map(|(file, _)| file.object.clone());
    let mut found = layout(objects.collect(), &Contexts::new(), "lake");
    let family = found.groups.remove(0);
    let mut shapes = Shapes::default();
    for (file, summary) in &read.files {
        shapes.add(&file.object.path, summary);
    }
    let groups = arrange(family.clone(), &shapes);
    groups
        .iter()
        .map(|it| format!("{}: {}", it.name, it.files.len()))
        .collect()
}

#[test]
fn a_file_without_a_header_belongs_to_those_with_one() {
    let other = "city,country\nLima,Peru\nQuito,Ecuador\n";
    assert_eq!(arranged(&[HEADED, other, BARE]), ["d: 3"]);
    // Names that no other has, above other kinds of columns or among fewer files, are a header.
    let numbers = "id,n\n1,2\n3,4\n";
    let with_stray = ["d: 3", "d/x-003: 1"];
    assert_eq!(arranged(&[numbers, numbers, numbers, BARE]), with_stray);
    let unlike = [BARE, HEADED, "a,b\nx,y\n", "item,shop\nTea,Bazaar\n"];
    assert_eq!(arranged(&unlike).len(), 4);
}

#[test]
fn a_small_file_that_two_delimiters_cut_is_cut_as_its_like() {
    let clear = "id;name, first\n1;Doe, John\n2;Cher\n";
    let open = "id;name, first\n3;Roe, Jane\n";
    assert_eq!(types(&Files::read(&[open]).agreeing().0)[0], "id;name text");
    for texts in [[clear, open], [open, clear]] {
        let (table, rows) = Files::read(&texts).agreeing();
        assert_eq!(types(&table), ["id integer", "name, first text"]);
        assert!(rows.contains(&"3|Roe, Jane".to_owned()), "{rows:?}");
        assert_eq!(arranged(&texts), ["d: 2"]);
    }
    let summary = &Files::read(&[open]).files[0].1;
    assert_eq!(summary.otherwise.len(), 1);
    assert_eq!(Files::read(&[clear]).files[0].1.otherwise.len(), 0);
}

#[test]
fn nothing_withheld_is_kept_for_another_reading() {
    let secret = "who,pin\nAda,1/2/2020\nBob,3/4/2020\n";
    for (redact, text) in [(Redact::Marked, secret), (Redact::AllValues, OPEN)] {
        let mut files = Files::read(&[text]);
        let summary = &mut files.files[0].1;
        summary.redact(redact);
        let once = summary.clone();
        summary.redact(redact);
        assert_eq!(*summary, once);
        let kept = summary.to_stored().unwrap().json;
        assert!(!kept.contains("2020"), "{kept}");
    }
    let mail = "ada@example.org";
    let texts = [HEADED, HEADED, &format!("Bern,{mail}\nOslo,x\n")];
    for redact in [Redact::Marked, Redact::AllValues] {
        let mut files = Files::read(&texts[..]);
        for (_, summary) in &mut files.files {
            summary.redact(redact);
            let kept = summary.to_stored().unwrap().json;
            assert!(!kept.contains(mail), "{kept}");
            assert!(redact == Redact::Marked || !kept.contains("Bern"), "{kept}");
        }
        files.table();
    }
}

#[test]
fn totals_at_the_end_of_a_large_file_are_in_neither_profile_nor_scan() {
    let row = |n: usize| format!("r{n:05},{n:05}\n");
    let rows: String = (0..2_000).map(row).collect();
    let text = format!("name,n\n{rows}Total,1999000\n");
    let mut seen = 0;
    let most = text.len() as u64;
    // The last piece that is read ends where the file does, or before.
    for budget in (1..9).map(|n| most - n).chain([4 << 10, 20 << 10]) {
        let options = ReadOptions {
            scan_budget: budget,
            ..ReadOptions::default()
        };
        let files = Files::read_with(&[&text], options);
        assert!(files.table().approximate);
        let values = &files.files[0].1.columns[0].profile;
        assert_ne!(values.max.as_deref(), Some("Total"));
        assert!(
            values
                .frequent
                .top(500)
                .iter()
                .all(|(value, _)| *value != "Total")
        );
        let notes = &files.files[0].1.notes;
        seen += notes.iter().filter(|it| it.contains("totals")).count();
        let scanned = files.rows().0;
        assert_eq!(
            (scanned.len(), scanned[1_999].as_str()),
            (2_000, "r01999|01999")
        );
    }
    assert!(seen > 0);
}

/// The end of a text is looked at together, wherever windows end.
#[test]
fn totals_beyond_the_last_window_are_none_of_its_rows() {
    let row = |n: usize| format!("r{n:09},{n:020}\n");
    let rows = ((4 << 20) - "name,n\n".len()) / row(0).len();
    let mut text = String::from("name,n\n");
    (0..rows).for_each(|n| text.push_str(&row(n)));
    text.push_str("Total,17\n");
    let options = ReadOptions {
        scan_budget: 64 << 10,
        ..ReadOptions::default()
    };
    let scanned = Files::read_with(&[&text], options).rows().0;
    assert_eq!(scanned.len(), rows);
}

/// A cell of a file that has one way to write dates and numbers.
fn cell(way: u8, n: u8) -> String {
    let (day, month) = (1 + n % 12, 1 + n / 12 % 12);
    match way {
        0 => format!("{day}/{month}/2020"),
        1 => format!("{}/{month}/2020", 13 + n % 15),
        2 => format!("{month}/{}/2020", 13 + n % 15),
        3 => format!("{day:02}/{month:02}/20"),
        4 => "-".to_owned(),
        5 => format!("2020-{month:02}-{day:02}"),
        _ => format!("{day}.{month}.2020"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever files meet: what is decided does not depend on their order, and a scan reads what
    /// the profile says.
    #[test]
    fn profiles_and_scans_agree(
        files in proptest::collection::vec((0u8..7, any::<bool>(), proptest::collection::vec(any::<u8>(), 1..6)), 1..6),
    ) {
        let text = |(way, has_header, cells): &(u8, bool, Vec<u8>)| {
            let rows = cells.iter().map(|n| format!("w{n},v{n},{}\n", cell(*way, *n)));
            let header = if *has_header { "who,what,when\n" } else { "" };
            header.to_owned() + &rows.collect::<String>()
        };
        let texts: Vec<String> = files.iter().map(text).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let read = Files::read(&texts);
        let table = read.table();
        let (rows, _) = read.rows();
        prop_assert_eq!(table.rows, rows.len() as u64);
        let mut seen: HashMap<&str, u64> = HashMap::new();
        let names: Vec<&str> = rows.iter().filter_map(|row| row.split('|').next()).collect();
        names.iter().for_each(|name| *seen.entry(name).or_default() += 1);
        let known = table.columns[0].profile.frequent.distinct();
        if table.columns.len() == 3 {
            prop_assert_eq!(known, seen.len() as u64);
        }
    }
}
