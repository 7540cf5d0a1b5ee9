use std::fmt::Write as _;

use limn_profile::DataType;

use super::*;

/// A spreadsheet file of sheets: name, state, and the rows as XML.
fn book(sheets: &[(&str, &str, String)]) -> Vec<u8> {
    let (mut list, mut relations) = (String::new(), String::new());
    let mut files: Vec<(String, String)> = Vec::new();
    for (i, (name, state, rows)) in sheets.iter().enumerate() {
        write!(
            list,
            r#"<sheet name="{name}" sheetId="{i}" state="{state}" r:id="r{i}"/>"#
        )
        .unwrap();
        write!(
            relations,
            r#"<Relationship Id="r{i}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/s{i}.xml"/>"#
        )
        .unwrap();
        files.push((
            format!("xl/worksheets/s{i}.xml"),
            format!(
                r#"<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{rows}</sheetData></worksheet>"#
            ),
        ));
    }
    files.push((
        "xl/workbook.xml".into(),
        format!(
            r#"<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>{list}</sheets></workbook>"#
        ),
    ));
    files.push((
        "xl/_rels/workbook.xml.rels".into(),
        format!(
            r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{relations}</Relationships>"#
        ),
    ));
    files.push((
        "_rels/.rels".into(),
        r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#.into(),
    ));
    files.push((
        "xl/styles.xml".into(),
        r#"<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="9"/></cellXfs></styleSheet>"#.into(),
    ));
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_bytes()))
        .collect();
    zip(&files, ::zip::CompressionMethod::Deflated)
}

fn text(at: &str, text: &str) -> String {
    format!(r#"<c r="{at}" t="inlineStr"><is><t>{text}</t></is></c>"#)
}

fn number(at: &str, style: u32, number: &str) -> String {
    format!(r#"<c r="{at}" s="{style}"><v>{number}</v></c>"#)
}

fn row(number: u32, cells: &[String]) -> String {
    format!(r#"<row r="{number}">{}</row>"#, cells.concat())
}

/// Of two sheets.
pub(super) fn workbook() -> Vec<u8> {
    book(&[("2024", "visible", sales()), ("Secret", "hidden", sales())])
}

fn sales() -> String {
    let mut rows = row(1, &[text("A1", "Sales of 2024")]);
    let header = ["A3", "B3", "C3", "D3", "E3"];
    let names = ["id", "day", "share", "price", "ok"];
    let cells = header.iter().zip(names).map(|(at, name)| text(at, name));
    rows += &row(3, &cells.collect::<Vec<_>>());
    for i in 4..8 {
        let formula = format!(r#"<c r="D{i}"><f>0.1+0.2</f><v>0.30000000000000004</v></c>"#);
        let ok = match i {
            4 => format!(r#"<c r="E{i}" t="e"><v>#N/A</v></c>"#),
            _ => format!(r#"<c r="E{i}" t="b"><v>1</v></c>"#),
        };
        let cells = [
            number(&format!("A{i}"), 0, &i.to_string()),
            number(&format!("B{i}"), 1, "45292"),
            number(&format!("C{i}"), 2, "0.25"),
            formula,
            ok,
        ];
        rows += &row(i, &cells);
    }
    rows
}

#[tokio::test]
async fn names_and_values_stand_above_a_sheets_header() {
    let mut rows = row(1, &[text("A1", "Printed:"), number("B1", 1, "45292")]);
    rows += &row(2, &[text("A2", "Station"), text("B2", "BER")]);
    rows += &row(
        4,
        &[text("A4", "id"), text("B4", "label"), text("C4", "amount")],
    );
    for i in 5..9 {
        let id = number(&format!("A{i}"), 0, &i.to_string());
        let label = text(&format!("B{i}"), &format!("n{i}"));
        rows += &row(i, &[id, label, number(&format!("C{i}"), 0, "0.5")]);
    }
    let (store, opened) = open("a.xlsx", book(&[("2024", "visible", rows)])).await;
    let sheet = read(&store, &opened.unwrap().members[0]).await.unwrap();
    let columns = sheet.columns.iter();
    let columns: Vec<_> = columns
        .map(|it| (it.name.as_str(), &it.data_type))
        .collect();
    let expected = [
        ("id", &DataType::Integer),
        ("label", &DataType::Text),
        ("amount", &DataType::Float),
    ];
    assert_eq!((columns.as_slice(), sheet.rows), (&expected[..], 4));
}

#[tokio::test]
async fn names_in_merged_cells_are_joined() {
    // Each text is in the first of the cells that are one: A3:A4, B3:C3 and D3:E3.
    let mut rows = row(1, &[text("A1", "Sales")]);
    let upper = [("A3", "Region"), ("B3", "2020"), ("D3", "2021")];
    let lower = [("B4", "q1"), ("C4", "q2"), ("D4", "q1"), ("E4", "q2")];
    rows += &row(3, &upper.map(|(at, name)| text(at, name)));
    rows += &row(4, &lower.map(|(at, name)| text(at, name)));
    for i in 5..12 {
        let mut cells = vec![text(&format!("A{i}"), &format!("R{i}"))];
        cells.extend(["B", "C", "D", "E"].map(|it| number(&format!("{it}{i}"), 0, "7")));
        rows += &row(i, &cells);
    }
    let (store, opened) = open("a.xlsx", book(&[("2024", "visible", rows)])).await;
    let sheet = read(&store, &opened.unwrap().members[0]).await.unwrap();
    let names: Vec<&str> = sheet.column_names().collect();
    let expected = ["Region", "2020 q1", "2020 q2", "2021 q1", "2021 q2"];
    assert_eq!((names.as_slice(), sheet.rows), (&expected[..], 7));
}

#[tokio::test]
async fn sheets_are_read_as_tables() {
    let sheets = [
        ("Sales", "visible", sales()),
        ("Nothing", "visible", String::new()),
        ("Secret", "hidden", sales()),
    ];
    let (store, opened) = open("a/book.xlsx", book(&sheets)).await;
    let opened = opened.unwrap();
    let paths: Vec<&str> = opened.members.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(paths, ["a/book.xlsx//Sales", "a/book.xlsx//Secret"]);
    let sales = read(&store, &opened.members[0]).await.unwrap();
    let names: Vec<&str> = sales.column_names().collect();
    assert_eq!(names, ["id", "day", "share", "price", "ok"]);
    let types: Vec<&DataType> = sales.columns.iter().map(|it| &it.data_type).collect();
    let expected = [
        &DataType::Integer,
        &DataType::Date,
        &DataType::Float,
        &DataType::Float,
        &DataType::Boolean,
    ];
    assert_eq!(types, expected);
    assert_eq!(sales.rows, 4);
    let mut rows = sales.sample.rows.iter().map(|row| &row.values);
    let first = rows.find(|row| row[0].as_deref() == Some("4")).unwrap();
    let cells: Vec<Option<&str>> = first.iter().map(Option::as_deref).collect();
    let expected = [
        Some("4"),
        Some("2024-01-01"),
        Some("0.25"),
        Some("0.3"),
        None,
    ];
    assert_eq!(cells, expected);
    let secret = read(&store, &opened.members[1]).await.unwrap();
    assert!(secret.notes.contains(&"it is a hidden sheet".to_owned()));
}

#[tokio::test]
async fn a_thousand_columns_and_cells_far_apart() {
    let column = |i: usize| {
        let letter = |i: usize| char::from(b'A' + i as u8);
        match i {
            0..26 => letter(i).to_string(),
            _ if i < 26 * 27 => format!("{}{}", letter(i / 26 - 1), letter(i % 26)),
            _ => {
                let i = i - 26 * 27;
                format!(
                    "{}{}{}",
                    letter(i / 676),
                    letter(i / 26 % 26),
                    letter(i % 26)
                )
            }
        }
    };
    let header: Vec<String> = (0..1000)
        .map(|i| text(&format!("{}1", column(i)), &format!("name {i}")))
        .collect();
    let values: Vec<String> = (0..1000)
        .map(|i| number(&format!("{}2", column(i)), 0, "7"))
        .collect();
    let wide = row(1, &header) + &row(2, &values);
    let far = row(1, &[number("A1", 0, "1")]) + &row(1_048_576, &[number("XFD1048576", 0, "2")]);
    let bytes = book(&[("wide", "visible", wide), ("far", "visible", far)]);
    let (store, opened) = open("x.xlsm", bytes).await;
    let opened = opened.unwrap();
    assert_eq!(opened.members.len(), 2);
    read(&store, &opened.members[0]).await.unwrap();
    let wide = read(&store, &opened.members[1]).await.unwrap();
    assert_eq!((wide.columns.len(), wide.rows), (1000, 1));
}

#[tokio::test]
async fn damage_is_an_error() {
    let (_, opened) = open("x.xlsx", b"words".to_vec()).await;
    assert_eq!(opened.unwrap_err().kind, FileErrorKind::NotItsFormat);

    let bytes = book(&[("a", "visible", sales())]);
    for at in (0..bytes.len()).step_by(7) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0xff;
        let (store, opened) = open("x.xlsx", flipped).await;
        for member in opened.map(|it| it.members).unwrap_or_default() {
            let _ = read(&store, &member).await;
        }
    }
}

#[tokio::test]
async fn a_sheet_with_cells_outside_of_sheets_costs_itself() {
    let far = row(1, &[text("A1", "a"), text("ZZZZZZ1", "b")]) + &row(2, &[text("A2", "c")]);
    let sheets = [("far", "visible", far), ("near", "visible", sales())];
    let (store, opened) = open("x.xlsx", book(&sheets)).await;
    let opened = opened.unwrap();
    let refused = refusals(&opened);
    assert_eq!((opened.members.len(), refused.len()), (2, 1));
    assert!(
        refused[0].cause.contains("outside") || refused[0].cause.contains("no spreadsheet"),
        "{}",
        refused[0]
    );
    assert_eq!(read(&store, &opened.members[1]).await.unwrap().rows, 4);
}

#[tokio::test]
async fn too_many_sheets_are_refused() {
    let names: Vec<String> = (0..201).map(|i| format!("s{i}")).collect();
    let text_sheets: Vec<(&str, &str, String)> = names
        .iter()
        .map(|name| (name.as_str(), "visible", String::new()))
        .collect();
    let error = open("x.xlsx", book(&text_sheets)).await.1.unwrap_err();
    assert!(error.cause.contains("more than 200 sheets"), "{error}");
}

#[tokio::test]
async fn text_that_begins_like_an_archive_is_text() {
    let text = b"PK\tname\n1\tada\n2\tbob\n".to_vec();
    let (store, opened) = open("x.xls", text).await;
    let people = read(&store, &opened.unwrap().members[0]).await.unwrap();
    let names: Vec<&str> = people.column_names().collect();
    assert_eq!((names, people.rows), (vec!["PK", "name"], 2));
}
