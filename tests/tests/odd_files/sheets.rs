//! Spreadsheets: each sheet is a table, whatever the file is called.

use std::io::{Cursor, Write};

use super::{Odd, ignores, noted, reads, refuses};

const SALES: &str = "id:integer name:text day:date at:timestamp share:float ok:boolean";
/// Files that other programs wrote (`pipeline/formats/tests/data`).
const EXCEL_97: &[u8] = include_bytes!("../../../pipeline/formats/tests/data/sheetjs.xls");
const EXCEL_95: &[u8] = include_bytes!("../../../pipeline/formats/tests/data/sheetjs95.xls");
const EXCEL_4: &[u8] = include_bytes!("../../../pipeline/formats/tests/data/sheetjs4.xls");
const XLWT: &[u8] = include_bytes!("../../../pipeline/formats/tests/data/xlwt.xls");
const ODFPY: &[u8] = include_bytes!("../../../pipeline/formats/tests/data/odfpy.ods");
const FLAT: &[u8] = include_bytes!("../../../pipeline/formats/tests/data/sheetjs.fods");
const SPACED: &[u8] = include_bytes!("../../../pipeline/formats/tests/data/sheetjs.ods");
const EXCEL_2007: &[u8] = include_bytes!("../../../pipeline/formats/tests/data/sheetjs.xlsx");
const BINARY: &[u8] = include_bytes!("../../../pipeline/formats/tests/data/sheetjs.xlsb");

/// Of a program that numbers formats of dates as no specification allows.
const UNDATED: &str = "id:integer name:text day:integer at:float share:float ok:boolean";

const TEXT: &str = "id\tname\n1\tada\n2\tbob\n3\tcyd\n";
const COLUMNS: &str = "id:integer name:text";

/// An OpenDocument of a kind whose body is this, with this manifest.
fn document(kind: &str, body: &str, manifest: &str) -> Vec<u8> {
    let content = format!(
        r#"<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"><office:body>{body}</office:body></office:document-content>"#
    );
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    let kind = format!("application/vnd.oasis.opendocument.{kind}");
    for (name, text) in [
        ("mimetype", &kind[..]),
        ("content.xml", &content),
        ("META-INF/manifest.xml", manifest),
    ] {
        writer.start_file(name, options).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn table(name: &str, row: &str) -> String {
    format!(
        r#"<office:spreadsheet><table:table table:name="{name}"><table:table-row>{row}</table:table-row></table:table></office:spreadsheet>"#
    )
}

pub fn files() -> Vec<Odd> {
    let wide: Vec<u8> = TEXT.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let far = r#"<table:table-cell table:number-columns-repeated="99999999"/><table:table-cell office:value-type="float" office:value="1"/>"#;
    let mut lost = EXCEL_97.to_vec();
    // The table of chains lies behind the end.
    lost[76..80].copy_from_slice(&0x00ff_ffffu32.to_le_bytes());
    let export = "delimited text with a spreadsheet's name";
    vec![
        reads("excel.xls", XLWT, SALES, 8).within("//Sales"),
        reads("undated.xls", EXCEL_97, UNDATED, 8).within("//Sales"),
        reads("EXCEL95.XLS", EXCEL_95, UNDATED, 8).within("//Sales"),
        reads("named.xlsx", XLWT, SALES, 8).within("//Sales"),
        reads("long.xls", XLWT, "id:integer text:text", 40).within("//Long"),
        noted(
            "hidden.xls",
            EXCEL_97,
            "a:integer b:integer",
            1,
            "hidden sheet",
        )
        .within("//Secret"),
        reads("office.ods", ODFPY, SALES, 8).within("//Sales"),
        reads("named.xls", ODFPY, SALES, 8).within("//Sales"),
        reads("spaced.ods", SPACED, SALES, 8).within("//Sales"),
        reads("excel.xlsx", EXCEL_2007, SALES, 8).within("//Sales"),
        reads("excel.xlsb", BINARY, SALES, 8).within("//Sales"),
        reads("spans.ods", ODFPY, "id:integer text:text", 4).within("//Spans"),
        reads("flat.fods", FLAT, SALES, 8).within("//Sales"),
        noted("export.xls", TEXT, COLUMNS, 3, export).within("//text"),
        noted(
            "wide.xls",
            [b"\xff\xfe".to_vec(), wide].concat(),
            COLUMNS,
            3,
            export,
        )
        .within("//text"),
        ignores(
            "empty.ods",
            document("spreadsheet", &table("a", ""), "<m/>"),
        ),
        refuses(
            "page.xls",
            "<html><table><tr><td>1</td></tr></table></html>",
            "HTML",
        ),
        refuses(
            "words.xls",
            "Dear all\nthese are words\n",
            "text without columns",
        ),
        refuses("words.ods", "words", "text without columns"),
        refuses(
            "2003.xls",
            r#"<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"/>"#,
            "XML spreadsheet of Excel 2003",
        ),
        refuses("excel4.xls", EXCEL_4, "before Excel 5"),
        refuses("zero.xls", "", "no bytes"),
        refuses("cut.xls", &EXCEL_97[..2000], "no spreadsheet"),
        refuses("lost.xls", lost, "no spreadsheet"),
        refuses("cut.ods", &ODFPY[..1000], "no spreadsheet"),
        refuses(
            "letter.ods",
            document("text", "<office:text/>", "<m/>"),
            "another OpenDocument",
        ),
        refuses(
            "locked.ods",
            document(
                "spreadsheet",
                "",
                "<manifest:m><manifest:file-entry><manifest:encryption-data/></manifest:file-entry></manifest:m>",
            ),
            "password",
        ),
        // A cell beyond the last column that a sheet can have.
        ignores(
            "far.ods",
            document("spreadsheet", &table("far", far), "<m/>"),
        ),
    ]
}
