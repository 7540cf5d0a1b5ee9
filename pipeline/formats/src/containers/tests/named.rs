//! What has a spreadsheet's name and is another file, or delimited text.

use super::other_programs::data;
use super::*;

/// Opens a file and reads all in it: whatever comes of it, nothing panics.
pub(super) async fn read_all(path: &str, bytes: Vec<u8>) -> Result<Listed, FileError> {
    let no_panic = |error: &FileError| {
        assert_ne!(error.kind, FileErrorKind::Panicked, "{error}");
        assert!(!error.to_string().contains('\n'), "{error}");
    };
    let (store, opened) = open(path, bytes).await;
    match &opened {
        Err(error) => no_panic(error),
        Ok(opened) => {
            refusals(opened).iter().for_each(no_panic);
            for member in &opened.members {
                if let Err(error) = read(&store, member).await {
                    no_panic(&error);
                }
            }
        }
    }
    opened
}

/// Column names and types, and the values of a row that starts with `first`.
pub(super) fn shown(summary: &FileSummary, first: &str) -> (String, Vec<Option<String>>) {
    let columns = summary.columns.iter();
    let columns: Vec<String> = columns
        .map(|column| format!("{}:{}", column.name, column.data_type))
        .collect();
    let mut rows = summary.sample.rows.iter().map(|row| row.values.clone());
    let row = rows.find(|row| row[0].as_deref() == Some(first));
    (columns.join(" "), row.unwrap_or_default())
}

#[tokio::test]
async fn what_is_no_spreadsheet_is_named() {
    let text = |text: &str| text.as_bytes().to_vec();
    let cases = [
        (
            data("sheetjs4.xls"),
            FileErrorKind::Unsupported,
            "before Excel 5",
        ),
        (
            text("  <html><table><tr><td>1</td></tr></table>"),
            FileErrorKind::NotItsFormat,
            "HTML",
        ),
        (
            text("<table><tr><td>1</td></tr></table>"),
            FileErrorKind::NotItsFormat,
            "HTML",
        ),
        (
            text(
                "<?xml version=\"1.0\"?><Workbook xmlns=\"urn:schemas-microsoft-com:office:spreadsheet\">",
            ),
            FileErrorKind::NotItsFormat,
            "XML spreadsheet of Excel 2003",
        ),
        (
            text("MIME-Version: 1.0\nx: y"),
            FileErrorKind::NotItsFormat,
            "web archive",
        ),
        (
            text("ID;PWXL;N;E\nC;Y1;X1;K1\n"),
            FileErrorKind::NotItsFormat,
            "SYLK",
        ),
        (
            text("[{\"a\": 1, \"b\": 2}]"),
            FileErrorKind::NotItsFormat,
            "JSON",
        ),
        (
            text("these are words\nof a letter\n"),
            FileErrorKind::NotItsFormat,
            "without columns",
        ),
        (gz(b"a,b\n1,2\n"), FileErrorKind::NotItsFormat, "compressed"),
        (
            vec![0, 1, 2, 3, 4, 5, 6, 7],
            FileErrorKind::NotItsFormat,
            "binary",
        ),
        (vec![], FileErrorKind::Empty, "no bytes"),
    ];
    for (bytes, kind, words) in cases {
        let error = read_all("x.xls", bytes).await.unwrap_err();
        assert!(error.cause.contains(words), "'{words}' expected in {error}");
        assert_eq!(error.kind, kind, "{error}");
    }
}

#[tokio::test]
async fn text_with_a_spreadsheets_name_is_read() {
    let text = "id\tday\tname\n1\t2024-01-01\tada, b\n2\t2024-01-02\t\u{fc}\n";
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for bytes in [
        text.as_bytes().to_vec(),
        [b"\xff\xfe".to_vec(), wide].concat(),
    ] {
        let (store, opened) = open("x.xls", bytes).await;
        let opened = opened.unwrap();
        assert_eq!(opened.members[0].path, "x.xls//text");
        let summary = read(&store, &opened.members[0]).await.unwrap();
        assert_eq!(shown(&summary, "1").0, "id:integer day:date name:text");
        assert_eq!(summary.rows, 2);
        let note = "it is delimited text with a spreadsheet's name";
        assert!(
            summary.notes.contains(&note.to_owned()),
            "{:?}",
            summary.notes
        );
    }
}
