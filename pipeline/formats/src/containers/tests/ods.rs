//! `.ods` and `.fods` files, made here.

use super::named::{read_all, shown};
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
        let (columns, row) = shown(&people, "1");
        assert_eq!(
            columns,
            "id:integer day:date at:timestamp share:float price:float ok:boolean wait:text"
        );
        assert_eq!((people.rows, people.rows_exact), (3, true));
        let cells: Vec<Option<&str>> = row.iter().map(Option::as_deref).collect();
        let expected = ["1", "2024-01-01", "2024-01-01 12:30:00", "0.25", "0.3"].map(Some);
        assert_eq!(cells, [&expected[..], &[None, Some("12:30:15")]].concat());
        assert_eq!(shown(&people, "2").1[5], None);
        let hidden = read(&store, &opened.members[1]).await.unwrap();
        assert!(hidden.notes.contains(&"it is a hidden sheet".to_owned()));
    }
}

#[tokio::test]
async fn texts_repeats_groups_and_covered_cells() {
    let cell = r#"<table:table-cell office:value-type="string"><office:annotation><text:p>remark</text:p></office:annotation><text:p>a &lt;<text:span>b</text:span><text:s text:c="2"/>&#99;<text:a>d</text:a></text:p><text:p>e<text:line-break/>f</text:p></table:table-cell>"#;
    let covered = r#"<table:covered-table-cell table:number-columns-repeated="2"><text:p>unseen</text:p></table:covered-table-cell>"#;
    let seven = r#"<table:table-cell office:value-type="float" office:value="7" table:number-columns-repeated="3"/>"#;
    let rows = format!(
        r#"<table:table table:name="t"><table:table-header-rows><table:table-row>{}</table:table-row></table:table-header-rows><table:table-row-group><table:table-row>{}{cell}{covered}{}</table:table-row><table:table-row table:number-rows-repeated="4">{}{seven}{}</table:table-row></table:table-row-group></table:table>"#,
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
        let (columns, row) = shown(&summary, "1");
        assert_eq!(columns, "id:integer words:text x:integer y:integer z:text");
        let cells: Vec<Option<&str>> = row.iter().map(Option::as_deref).collect();
        assert_eq!(
            cells,
            [Some("1"), Some("a <b  cd\ne\nf"), None, None, Some("z")]
        );
        let cells = shown(&summary, "2").1;
        let cells: Vec<Option<&str>> = cells.iter().map(Option::as_deref).collect();
        assert_eq!(
            cells,
            [Some("2"), Some("7"), Some("7"), Some("7"), Some("\u{fc}")]
        );
    }
}

#[tokio::test]
async fn drawings_and_white_space_of_flat_documents_are_no_cells() {
    let shapes = format!(
        "<table:shapes><draw:frame><table:table><table:table-row>{}</table:table-row></table:table></draw:frame></table:shapes>",
        text("shape")
    );
    let drawn = r#"<table:table-cell office:value-type="string"><text:p>ada</text:p><draw:frame><table:table><table:table-row><table:table-cell><text:p>inner</text:p></table:table-cell></table:table-row></table:table></draw:frame></table:table-cell>"#;
    let rows = [
        [text("id"), text("name")].concat(),
        [value("float", "value", "1"), drawn.to_owned()].concat(),
    ];
    let plain = table("t", "ta1", &[&rows[0], &rows[1]]);
    let plain = plain.replace("<table:table-column/>", &shapes);
    let pretty = plain.replace("<table:table-", "\n  <table:table-");
    for tables in [plain, pretty] {
        let flat = document("document", &tables).into_bytes();
        let (store, opened) = open("x.fods", flat).await;
        let summary = read(&store, &opened.unwrap().members[0]).await.unwrap();
        assert_eq!(shown(&summary, "1").0, "id:integer name:text");
        assert_eq!(shown(&summary, "1").1[1].as_deref(), Some("ada"));
    }
}

#[tokio::test]
async fn what_is_no_spreadsheet_locked_or_damaged_is_reported() {
    let secret = br#"<manifest:manifest xmlns:manifest="m"><manifest:file-entry manifest:full-path="content.xml"><manifest:encryption-data manifest:checksum="x"/></manifest:file-entry></manifest:manifest>"#;
    let of_kind = |kind: &str, content: &str, manifest: &[u8]| {
        let kind = format!("application/vnd.oasis.opendocument.{kind}");
        let members: [(&str, &[u8]); 3] = [
            ("mimetype", kind.as_bytes()),
            (content, &[7; 99]),
            ("META-INF/manifest.xml", manifest),
        ];
        zip(&members, ::zip::CompressionMethod::Stored)
    };
    let good = document("document-content", &table("a", "ta1", &[&text("b")]));
    let own = table("a", "ta1", &[&text("&own;")]);
    let flat = document("document", &table("a", "ta1", &[&text("b")]));
    let cases = [
        (
            of_kind("spreadsheet", "content.xml", secret),
            FileErrorKind::Unsupported,
            "password",
        ),
        (
            of_kind("spreadsheet", "encrypted-package", secret),
            FileErrorKind::Unsupported,
            "password",
        ),
        (
            of_kind("text", "content.xml", b"<m/>"),
            FileErrorKind::NotItsFormat,
            "another OpenDocument",
        ),
        (
            flat.replace("office:spreadsheet", "office:text")
                .into_bytes(),
            FileErrorKind::NotItsFormat,
            "another OpenDocument",
        ),
        (
            flat[..flat.find("</table:table>").unwrap()].into(),
            FileErrorKind::Corrupt,
            "ends early",
        ),
        (
            packed(&good.replace("</table:table-row>", "")),
            FileErrorKind::Corrupt,
            "no spreadsheet",
        ),
        (
            packed(&document("document-content", &own)),
            FileErrorKind::Corrupt,
            "no spreadsheet",
        ),
    ];
    for (bytes, kind, words) in cases {
        let error = read_all("x.ods", bytes).await.unwrap_err();
        assert!(error.cause.contains(words), "'{words}' expected in {error}");
        assert_eq!(error.kind, kind, "{error}");
    }
    let many: String = (0..201)
        .map(|i| table(&format!("s{i}"), "", &[&text("a")]))
        .collect();
    for (path, bytes) in both(&many) {
        let error = read_all(path, bytes).await.unwrap_err();
        assert!(error.cause.contains("more than 200 sheets"), "{error}");
    }
}
