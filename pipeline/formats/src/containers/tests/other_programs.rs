//! Spreadsheets that other programs wrote (`tests/data`): the same sheets in each.

use super::named::shown;
use super::*;

/// A file of `tests/data`.
pub(super) fn data(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Whether the sheet of a name is there, and its summary.
async fn sheet(store: &Store, opened: &Listed, name: &str) -> Option<FileSummary> {
    let mut members = opened.members.iter();
    let member = members.find(|it| it.path.ends_with(&format!("//{name}")))?;
    Some(read(store, member).await.unwrap())
}

#[tokio::test]
async fn sheets_that_other_programs_wrote() {
    for name in [
        "odfpy.ods",
        "sheetjs.ods",
        "sheetjs.fods",
        "xlwt.xls",
        "sheetjs.xls",
        "sheetjs95.xls",
        "sheetjs.xlsx",
        "sheetjs.xlsb",
    ] {
        let (_, ending) = name.split_once('.').unwrap();
        let (store, opened) = open(&format!("x.{ending}"), data(name)).await;
        let opened = opened.unwrap();
        assert_eq!(refusals(&opened), [], "{name}");
        assert!(sheet(&store, &opened, "Nothing").await.is_none(), "{name}");
        let sales = sheet(&store, &opened, "Sales").await.unwrap();
        // SheetJS numbers formats of dates as no specification allows; the library does not know
        // them then.
        let is_dated = !matches!(name, "sheetjs.xls" | "sheetjs95.xls");
        let expected = match is_dated {
            true => "id:integer name:text day:date at:timestamp share:float ok:boolean",
            false => "id:integer name:text day:integer at:float share:float ok:boolean",
        };
        assert_eq!(
            (shown(&sales, "").0.as_str(), sales.rows),
            (expected, 8),
            "{name}"
        );
        // SheetJS writes no letters beyond ASCII for Excel 95.
        let letters = match name {
            "sheetjs95.xls" => "_n_",
            _ => "\u{fc}n\u{ef}",
        };
        for row in &sales.sample.rows {
            let id: u64 = row.values[0].as_deref().unwrap().parse().unwrap();
            let value = |column: usize| row.values[column].clone().unwrap();
            let is_even = id.is_multiple_of(2);
            assert!(
                is_even || value(1) == format!("name {id}, {letters}"),
                "{name}"
            );
            if is_dated {
                assert_eq!(value(2), format!("2024-01-0{id}"), "{name}");
                assert_eq!(value(3), format!("2024-02-0{id} 12:30:0{id}"), "{name}");
            }
            assert_eq!(value(4), (id as f64 / 4.0).to_string(), "{name}");
            assert_eq!(value(5), is_even.to_string(), "{name}");
        }
        let secret = sheet(&store, &opened, "Secret").await.unwrap();
        let is_hidden = secret.notes.contains(&"it is a hidden sheet".to_owned());
        // SheetJS does not say it in OpenDocument's files.
        let says_so = !matches!(name, "sheetjs.ods" | "sheetjs.fods");
        assert_eq!(is_hidden, says_so, "{name}");
    }
}

#[tokio::test]
async fn spaces_and_lines_within_cells() {
    let (store, opened) = open("x.ods", data("odfpy.ods")).await;
    let spans = sheet(&store, &opened.unwrap(), "Spans").await.unwrap();
    assert_eq!(spans.rows, 4);
    assert_eq!(
        shown(&spans, "1").1[1].as_deref(),
        Some("two words   apart\nbelow")
    );
}

#[tokio::test]
async fn texts_that_go_on_in_another_record() {
    let (store, opened) = open("x.xls", data("xlwt.xls")).await;
    let long = sheet(&store, &opened.unwrap(), "Long").await.unwrap();
    assert_eq!(long.rows, 40);
    for row in &long.sample.rows {
        let id: usize = row.values[0].as_deref().unwrap().parse().unwrap();
        let letter = if id.is_multiple_of(3) { "\u{416}" } else { "x" };
        let text = row.values[1].as_deref().unwrap();
        let whole = letter.repeat(700 + id);
        assert!(whole.starts_with(text.trim_end_matches('…')), "{id}");
    }
}
