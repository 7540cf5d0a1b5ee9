//! What stands around the rows of a text is counted by nobody: neither by summaries nor by scans.

use proptest::prelude::*;

use super::*;

/// What may stand below a table, and is no row of it.
const BELOW: &[&str] = &[
    "Total;;SUM\n",
    "Total;;\n",
    "I alt;;SUM\n",
    ";;\n;;\n",
    "EOF\n",
    "EOF;;\n",
    "(9 rows)\n",
    "Total;;SUM\n;;\n-- end of file --\n",
    "",
];

/// A table of so many rows with blank ones among them, and what stands below it; its number of
/// rows.
fn text(rows: &[(u8, bool)], below: &str, times: usize) -> (String, u64) {
    let (mut text, mut sum) = ("id;name;n\n".to_owned(), 0);
    let rows = || rows.iter().cycle().take(rows.len() * times);
    for (at, (n, is_blank)) in rows().enumerate() {
        sum += u64::from(*n);
        text.push_str(&format!("c{at};name of {at};{n}\n"));
        if *is_blank {
            text.push_str(";;\n");
        }
    }
    text.push_str(&below.replace("SUM", &sum.to_string()));
    (text, rows().count() as u64)
}

/// The rows that a summary and a scan count.
async fn counted(path: &str, text: String, options: &ReadOptions) -> (FileSummary, u64) {
    let files = [(path, text.into_bytes())];
    let (table, known) = table_of(&files, &Declared::default(), options).await;
    let (found, report) = batches(&table, Request::default()).await;
    assert!(report.damaged().is_empty(), "{:?}", report.damaged());
    let rows = found.iter().map(|batch| batch.num_rows() as u64).sum();
    (known[0].1.clone(), rows)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn summaries_and_scans_count_the_same_rows(
        rows in prop::collection::vec((1u8..200, any::<bool>()), 3..40),
        below in prop::sample::select(BELOW),
        extension in prop::sample::select(vec!["csv", "txt"]),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (content, expected) = text(&rows, below, 1);
        let path = format!("t.{extension}");
        let (summary, scanned) = runtime.block_on(counted(&path, content, &ReadOptions::default()));
        prop_assert_eq!((summary.rows, scanned), (expected, expected));
        // Of a file beyond the budget the summary knows about how many there are.
        let (content, expected) = text(&rows, below, 20_000 / rows.len());
        let options = ReadOptions { scan_budget: 64 << 10, ..ReadOptions::default() };
        let (summary, scanned) = runtime.block_on(counted(&path, content, &options));
        prop_assert!(summary.approximate);
        prop_assert_eq!(scanned, expected);
        let ratio = summary.rows as f64 / expected as f64;
        prop_assert!((0.9..1.1).contains(&ratio), "{} of {}", summary.rows, expected);
    }
}

#[tokio::test]
async fn a_sum_without_a_name_is_no_row_where_all_is_read() {
    let rows: Vec<(u8, bool)> = (1..40).map(|n| (n, n % 7 == 0)).collect();
    let (content, expected) = text(&rows, ";;SUM\n;;\n", 1);
    let (summary, scanned) = counted("t.csv", content, &ReadOptions::default()).await;
    assert_eq!((summary.rows, scanned), (expected, expected));
    assert!(
        summary.notes.iter().any(|it| it.contains("of totals")),
        "{:?}",
        summary.notes
    );
    let (content, expected) = text(&rows, ";;7\n", 1);
    let (summary, scanned) = counted("t.csv", content, &ReadOptions::default()).await;
    assert_eq!((summary.rows, scanned), (expected + 1, expected + 1));
}

#[tokio::test]
async fn bars_around_cells_are_read_alike_by_summaries_and_scans() {
    let rows: String = (0..5000)
        .map(|n| format!("|c{n}|name of {n}|{}|\n", n % 90))
        .collect();
    for rule in ["", "-----------------\n", "|-----|-----|----|\n"] {
        for path in ["t.csv", "t.txt"] {
            for scan_budget in [32 << 10, 16 << 20] {
                let content = format!("{rule}|id|name|n|\n{rule}{rows}{rule}");
                let options = ReadOptions {
                    scan_budget,
                    ..ReadOptions::default()
                };
                let (summary, scanned) = counted(path, content, &options).await;
                assert_eq!(scanned, 5000, "{path} {rule} {scan_budget}");
                assert_eq!(summary.columns.len(), 3, "{path} {rule} {scan_budget}");
                assert!(
                    summary.approximate || summary.rows == 5000,
                    "{}",
                    summary.rows
                );
            }
        }
    }
}
