//! `.ods` and `.fods` files, made here.

use super::other_programs::data;
use super::xls::{read_all, told};
use super::*;

const NAMESPACES: &str = r#"xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0""#;

/// A document of tables, with one style of tables that are hidden.
fn document(root: &str, tables: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<office:{root} {NAMESPACES}><office:automatic-styles>
<style:style style:name="ta1" style:family="table"><style:table-properties table:display="true"/></style:style>
<style:style style:name="ta2" style:family="table"><style:table-properties table:display="false"/></style:style>
</office:automatic-styles><office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body></office:{root}>"#
    )
}

fn packed(content: &str) -> Vec<u8> {
    let mimetype = b"application/vnd.oasis.opendocument.spreadsheet";
    let manifest = br#"<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry manifest:full-path="content.xml"/></manifest:manifest>"#;
    let members: [(&str, &[u8]); 3] = [
        ("mimetype", mimetype),
        ("content.xml", content.as_bytes()),
        ("META-INF/manifest.xml", manifest),
    ];
    zip(&members, ::zip::CompressionMethod::Deflated)
}

/// The same tables, packed and flat.
fn both(tables: &str) -> [(&'static str, Vec<u8>); 3] {
    let flat = document("document", tables);
    let marked = format!("\u{feff}{}", document("document-content", tables));
    [
        ("x.ods", packed(&document("document-content", tables))),
        ("x.fods", flat.into_bytes()),
        ("x.ods", packed(&marked)),
    ]
}

fn table(name: &str, style: &str, rows: &[&str]) -> String {
    let rows: Vec<String> = rows
        .iter()
        .map(|row| format!("<table:table-row>{row}</table:table-row>"))
        .collect();
    let name = format!(r#"table:name="{name}" table:style-name="{style}""#);
    format!(
        "<table:table {name}><table:table-column/>{}</table:table>",
        rows.concat()
    )
}

fn text(text: &str) -> String {
    format!(
        r#"<table:table-cell office:value-type="string"><text:p>{text}</text:p></table:table-cell>"#
    )
}

fn value(kind: &str, name: &str, value: &str) -> String {
    format!(
        r#"<table:table-cell office:value-type="{kind}" office:{name}="{value}"><text:p>shown</text:p></table:table-cell>"#
    )
}

fn people() -> Vec<String> {
    let names = ["id", "day", "at", "share", "price", "ok", "wait"]
        .map(text)
        .concat();
    let mut rows = vec![text("People of 2024"), String::new(), names];
    for id in 1..4 {
        let id = id.to_string();
        let cells = [
            value("float", "value", &id),
            value("date", "date-value", "2024-01-01"),
            value("date", "date-value", "2024-01-01T12:30:00"),
            value("percentage", "value", "0.25"),
            value("currency", "value", "0.30000000000000004"),
            match id.as_str() {
                "1" => r##"<table:table-cell table:formula="of:=1/0" office:value-type="string" office:string-value="" calcext:value-type="error"><text:p>#DIV/0!</text:p></table:table-cell>"##.to_owned(),
                "2" => r##"<table:table-cell table:formula="of:=NA()" office:value-type="string"><text:p>#N/A</text:p></table:table-cell>"##.to_owned(),
                _ => value("boolean", "boolean-value", "true"),
            },
            value("time", "time-value", "PT12H30M15S"),
        ];
        rows.push(cells.concat());
    }
    rows
}

#[tokio::test]
async fn sheets_of_open_documents_are_read() {
    let rows = people();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    // As programs end a sheet: a million empty rows of empty cells, of which some have a style.
    let end = r#"</table:table-row><table:table-row table:number-rows-repeated="1048570"><table:table-cell table:style-name="x" table:number-columns-repeated="16384"/>"#;
    let tables = [
        r#"<table:tracked-changes><table:cell-content-change><table:previous><table:change-track-table-cell office:value-type="string"><text:p>old</text:p></table:change-track-table-cell></table:previous></table:cell-content-change></table:tracked-changes>"#.to_owned(),
        table("People", "ta1", &[&rows[..], &[end]].concat()),
        table("people", "ta2", &rows),
        table("Nothing", "ta1", &["<table:table-cell/>", &text("  ")]),
        table("'file:///tmp/other.ods'#$Sheet1", "ta1", &rows),
        format!("<table:dde-links><table:dde-link>{}</table:dde-link></table:dde-links>", table("", "ta1", &rows)),
    ];
    for (path, bytes) in both(&tables.concat()) {
        let (store, opened) = open(path, bytes).await;
        let opened = opened.unwrap();
        assert_eq!(refusals(&opened), []);
        let paths: Vec<&str> = opened.members.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(
            paths,
            [format!("{path}//People"), format!("{path}//people")]
        );
        let people = read(&store, &opened.members[0]).await.unwrap();
        let (columns, row) = told(&people, "1");
        assert_eq!(
            columns,
            "id:integer day:date at:timestamp share:float price:float ok:boolean wait:text"
        );
        assert_eq!((people.rows, people.rows_exact), (3, true));
        let cells: Vec<Option<&str>> = row.iter().map(Option::as_deref).collect();
        let expected = ["1", "2024-01-01", "2024-01-01 12:30:00", "0.25", "0.3"].map(Some);
        assert_eq!(cells, [&expected[..], &[None, Some("12:30:15")]].concat());
        assert_eq!(told(&people, "2").1[5], None);
        let hidden = read(&store, &opened.members[1]).await.unwrap();
        assert!(hidden.notes.contains(&"it is a hidden sheet".to_owned()));
    }
}

#[tokio::test]
async fn texts_repeats_groups_and_covered_cells() {
    let cell = r#"<table:table-cell><office:annotation><text:p>remark</text:p></office:annotation><text:p>a  &lt;<text:span>b</text:span><text:s text:c="2"/>&#99;<text:a>d</text:a><text:note><text:p>foot</text:p></text:note></text:p><text:p>e<text:line-break/>f</text:p><draw:frame><table:table><table:table-row><table:table-cell><text:p>inner</text:p></table:table-cell></table:table-row></table:table></draw:frame></table:table-cell>"#;
    let covered = r#"<table:covered-table-cell table:number-columns-repeated="2"><text:p>unseen</text:p></table:covered-table-cell>"#;
    let seven = r#"<table:table-cell office:value-type="float" office:value="7" table:number-columns-repeated="3"/>"#;
    let rows = format!(
        r#"<table:table table:name="t"><table:shapes><draw:frame><table:table><table:table-row>{}</table:table-row></table:table></draw:frame></table:shapes><table:table-header-rows><table:table-row>{}</table:table-row></table:table-header-rows><table:table-row-group><table:table-row>{}{cell}{covered}{}</table:table-row><table:table-row table:number-rows-repeated="4">{}{seven}{}</table:table-row></table:table-row-group></table:table>"#,
        text("shape"),
        ["id", "words", "x", "y", "z"].map(text).concat(),
        value("float", "value", "1"),
        text("z"),
        value("float", "value", "2"),
        text("\u{fc}"),
    );
    for (path, bytes) in both(&rows) {
        let (store, opened) = open(path, bytes).await;
        let summary = read(&store, &opened.unwrap().members[0]).await.unwrap();
        assert_eq!(summary.rows, 5);
        let (columns, row) = told(&summary, "1");
        assert_eq!(columns, "id:integer words:text x:integer y:integer z:text");
        let cells: Vec<Option<&str>> = row.iter().map(Option::as_deref).collect();
        assert_eq!(
            cells,
            [Some("1"), Some("a <b  cd\ne\nf"), None, None, Some("z")]
        );
        let cells = told(&summary, "2").1;
        let cells: Vec<Option<&str>> = cells.iter().map(Option::as_deref).collect();
        assert_eq!(
            cells,
            [Some("2"), Some("7"), Some("7"), Some("7"), Some("\u{fc}")]
        );
    }
}

#[tokio::test]
async fn repeats_beyond_all_bounds_are_cut_or_refused() {
    let one = |repeats: &str| {
        format!(r#"<table:table-cell office:value-type="float" office:value="1" {repeats}/>"#)
    };
    let columns = r#"table:number-columns-repeated="4294967296""#;
    let far = r#"<table:table-cell table:number-columns-repeated="99999999999"/>"#;
    let spaces = text(r#"a<text:s text:c="4000000000"/>b"#);
    let rows = format!(
        r#"<table:table table:name="rows"><table:table-row table:number-rows-repeated="18446744073709551615">{}{}</table:table-row></table:table>"#,
        one(""),
        text(&"x".repeat(1000)),
    );
    let tables = [
        rows,
        table("columns", "", &[&one(columns)]),
        table("far", "", &[&format!("{far}{}", one(""))]),
        table(
            "spaces",
            "",
            &[
                &[text("a"), text("b")].concat(),
                &[spaces, text("c")].concat(),
            ],
        ),
    ];
    for (path, bytes) in both(&tables.concat()) {
        let (store, opened) = open(path, bytes).await;
        let opened = opened.unwrap();
        assert_eq!((opened.members.len(), refusals(&opened).len()), (4, 0));
        for member in &opened.members {
            let outcome = read(&store, member).await;
            match member.path.split_once("//").unwrap().1 {
                // As many as the budget has room for.
                "rows" => {
                    let summary = outcome.unwrap();
                    assert!(
                        summary.rows > 10_000 && !summary.rows_exact,
                        "{}",
                        summary.rows
                    );
                }
                "spaces" => assert_eq!(outcome.unwrap().rows, 1),
                _ => {
                    let error = outcome.unwrap_err();
                    assert!(error.cause.contains("outside"), "{error}");
                }
            }
        }
    }
}

#[tokio::test]
async fn rows_that_are_there_no_times_are_there_once_and_cost_nothing() {
    let row = r#"<table:table-row table:number-rows-repeated="0"><table:table-cell table:number-columns-repeated="0" office:value-type="string"><text:p>x</text:p></table:table-cell></table:table-row>"#;
    let tables = format!(
        r#"<table:table table:name="t">{}</table:table>"#,
        row.repeat(100_000)
    );
    for (path, bytes) in both(&tables) {
        let began = std::time::Instant::now();
        let (store, opened) = open(path, bytes).await;
        let summary = read(&store, &opened.unwrap().members[0]).await.unwrap();
        assert!(summary.rows > 99_000, "{}", summary.rows);
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    }
}

#[tokio::test]
async fn a_great_many_spaces_are_cut() {
    let spaces = text(&r#"<text:s text:c="64"/>"#.repeat(200_000));
    let rows = [
        [text("a"), text("b")].concat(),
        [spaces, text("c")].concat(),
    ];
    for (path, bytes) in both(&table("t", "", &[&rows[0], &rows[1]])) {
        let (store, opened) = open(path, bytes).await;
        let opened = opened.unwrap();
        assert!(read(&store, &opened.members[0]).await.is_ok());
    }
}

#[tokio::test]
async fn what_is_no_spreadsheet_locked_or_damaged_is_told() {
    let secret = br#"<manifest:manifest xmlns:manifest="m"><manifest:file-entry manifest:full-path="content.xml"><manifest:encryption-data manifest:checksum="x"/></manifest:file-entry></manifest:manifest>"#;
    let locked = |content: &str| {
        let members: [(&str, &[u8]); 2] = [(content, &[7; 99]), ("META-INF/manifest.xml", secret)];
        zip(&members, ::zip::CompressionMethod::Stored)
    };
    let of_content = |content: &str| packed(content);
    let letter = format!(
        "<office:document-content {NAMESPACES}><office:body><office:text/></office:body></office:document-content>"
    );
    let good = document("document-content", &table("a", "ta1", &[&text("b")]));
    let deep = table("a", "ta1", &[&"<table:table-row-group>".repeat(1000)]);
    let own = table("a", "ta1", &[&text("&own;")]);
    let cases = [
        (
            locked("content.xml"),
            FileErrorKind::Unsupported,
            "password",
        ),
        (
            locked("encrypted-package"),
            FileErrorKind::Unsupported,
            "password",
        ),
        (
            of_content(&letter),
            FileErrorKind::NotItsFormat,
            "another OpenDocument",
        ),
        (
            of_content(&good[..good.find("</table:table>").unwrap()]),
            FileErrorKind::Corrupt,
            "ends early",
        ),
        (
            of_content(&good.replace("</table:table-row>", "")),
            FileErrorKind::Corrupt,
            "no spreadsheet",
        ),
        (
            of_content(&document("document-content", &deep)),
            FileErrorKind::Corrupt,
            "too deeply",
        ),
    ];
    for (bytes, kind, words) in cases {
        let error = read_all("x.ods", bytes).await.unwrap_err();
        assert!(error.cause.contains(words), "'{words}' expected in {error}");
        assert_eq!(error.kind, kind, "{error}");
    }
    // What the document calls something by itself is told where it is read.
    let own = of_content(&document("document-content", &own));
    let (store, opened) = open("x.ods", own).await;
    let error = read(&store, &opened.unwrap().members[0]).await;
    let error = error.unwrap_err();
    assert!(error.cause.contains("entities"), "{error}");
    let many: String = (0..201)
        .map(|i| table(&format!("s{i}"), "", &[&text("a")]))
        .collect();
    for (path, bytes) in both(&many) {
        let error = read_all(path, bytes).await.unwrap_err();
        assert!(error.cause.contains("more than 200 sheets"), "{error}");
    }
}

#[tokio::test]
async fn cuts_and_flips_are_survived() {
    let rows = people();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let mut files = both(&table("a", "ta2", &rows)).to_vec();
    files.push(("x.ods", data("odfpy.ods")));
    for (path, bytes) in files {
        for at in (0..bytes.len()).step_by(50) {
            let _ = read_all(path, bytes[..at].to_vec()).await;
        }
        for at in (0..bytes.len()).step_by(7) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0xff;
            let _ = read_all(path, flipped).await;
            // What stays text reaches further.
            let mut other = bytes.clone();
            other[at] ^= 1;
            let _ = read_all(path, other).await;
        }
    }
}
