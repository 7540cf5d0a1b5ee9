//! `.xls` files, made here.

use super::*;

mod made;

use self::made::{cell, compound, narrow, record, shorts, workbook};
use super::other_programs::data;

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
pub(super) fn told(summary: &FileSummary, first: &str) -> (String, Vec<Option<String>>) {
    let columns = summary.columns.iter();
    let columns: Vec<String> = columns
        .map(|column| format!("{}:{}", column.name, column.data_type))
        .collect();
    let mut rows = summary.sample.rows.iter().map(|row| row.values.clone());
    let row = rows.find(|row| row[0].as_deref() == Some(first));
    (columns.join(" "), row.unwrap_or_default())
}

/// Styles: as it is, a built-in date, and a format of the file's own; `wide` as Excel 97 writes it.
fn styles(wide: bool) -> Vec<u8> {
    let code = "yyyy\\-mm";
    let own = match wide {
        true => [shorts(&[164]), narrow(code)].concat(),
        false => [&shorts(&[164])[..], &[code.len() as u8], code.as_bytes()].concat(),
    };
    let formats = [0u16, 14, 164].map(|format| record(0xe0, &shorts(&[0, format, 0])));
    [record(0x041e, &own), formats.concat()].concat()
}

/// Texts that cells share: `id`, `day`, a long one with fonts that changes its width between two records, `ok`.
fn texts() -> Vec<u8> {
    let mut first = [4u32, 4].map(u32::to_le_bytes).concat();
    first.extend(narrow("id"));
    first.extend(narrow("day"));
    // Five letters, one font and six bytes of readings.
    first.extend(
        [
            &shorts(&[5])[..],
            &[0x0c],
            &shorts(&[1]),
            &6u32.to_le_bytes(),
            b"na",
        ]
        .concat(),
    );
    let mut second = vec![1];
    second.extend("\u{436}\u{4e16}e".encode_utf16().flat_map(u16::to_le_bytes));
    second.extend([0; 3]);
    let mut third = vec![0; 7];
    third.extend(narrow("ok"));
    [
        record(0xfc, &first),
        record(0x3c, &second),
        record(0x3c, &third),
    ]
    .concat()
}

fn people() -> Vec<u8> {
    let mut cells = Vec::new();
    for column in 0..4u16 {
        cells.extend(cell(0xfd, 0, column, 0, &u32::from(column).to_le_bytes()));
    }
    for row in 1..4u16 {
        let number = |number: u32| (number << 2 | 2).to_le_bytes();
        match row {
            // Two numbers in one record: the id and the day.
            1 => {
                let (id, day) = (number(1), number(45292));
                let packed = [&shorts(&[0])[..], &id, &shorts(&[1]), &day, &shorts(&[1])].concat();
                cells.extend(record(0xbd, &[shorts(&[row, 0]), packed].concat()));
            }
            _ => {
                cells.extend(cell(0x27e, row, 0, 0, &number(row.into())));
                cells.extend(cell(0x203, row, 1, 2, &45292f64.to_le_bytes()));
            }
        }
        // A formula whose text comes after what it shares with others.
        cells.extend(cell(0x06, row, 2, 0, &[0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0]));
        cells.extend(record(0x04bc, &[0; 10]));
        cells.extend(record(0x0207, &narrow(&format!("n, {row}"))));
        match row {
            1 => cells.extend(cell(0x0205, row, 3, 0, &[0x2a, 1])),
            2 => cells.extend(cell(0x06, row, 3, 0, &[1, 0, 1, 0, 0, 0, 0xff, 0xff])),
            _ => cells.extend(cell(0x0205, row, 3, 0, &[1, 0])),
        }
        // Charts have cells of their own.
        let chart = cell(0x203, 9, 9, 0, &7f64.to_le_bytes());
        cells.extend(
            [
                record(0x0809, &shorts(&[0x600, 0x20])),
                chart,
                record(0x0a, &[]),
            ]
            .concat(),
        );
    }
    cells.extend(cell(0x0201, 5, 9, 0, &[]));
    cells
}

fn whole() -> Vec<u8> {
    let sheets = [
        ("People", 0, 0, people()),
        ("people", 2, 0, people()),
        ("Nothing", 0, 0, cell(0x0201, 0, 0, 0, &[])),
        ("Chart", 0, 2, people()),
    ];
    workbook(0x0600, &[styles(true), texts()].concat(), &sheets)
}

#[tokio::test]
async fn sheets_of_excel_97_are_read() {
    let stream = whole();
    // Embedded files have the same names, but do not lie at the top.
    let file = compound(&[("Other", vec![1; 9]), ("Workbook", stream.clone())]);
    // What it is, is told by its content; some programs write the stream alone.
    for (path, bytes) in [("x.xls", file.clone()), ("x.xlsx", file), ("x.xls", stream)] {
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
            "id:integer day:date na\u{436}\u{4e16}e:text ok:boolean"
        );
        assert_eq!(people.rows, 3);
        let cells: Vec<Option<&str>> = row.iter().map(Option::as_deref).collect();
        assert_eq!(cells, [Some("1"), Some("2024-01-01"), Some("n, 1"), None]);
        let hidden = read(&store, &opened.members[1]).await.unwrap();
        assert!(hidden.notes.contains(&"it is a hidden sheet".to_owned()));
    }
}

#[tokio::test]
async fn sheets_of_excel_95_and_days_since_1904() {
    let label = |row: u16, column: u16, text: &[u8]| {
        let length = shorts(&[text.len() as u16]);
        cell(0x0204, row, column, 0, &[&length[..], text].concat())
    };
    // "имя" in the encoding that the file tells.
    let mut cells = [
        label(0, 0, b"id"),
        label(0, 1, b"day"),
        label(0, 2, b"\xe8\xec\xff"),
    ]
    .concat();
    for row in 1..3u16 {
        cells.extend(cell(0x203, row, 0, 0, &f64::from(row).to_le_bytes()));
        cells.extend(cell(0x203, row, 1, 1, &43830f64.to_le_bytes()));
        cells.extend(label(row, 2, b"\xc0\xed\xed\xe0"));
    }
    let more = [
        record(0x42, &shorts(&[1251])),
        record(0x22, &shorts(&[1])),
        styles(false),
    ];
    let stream = workbook(0x0500, &more.concat(), &[("old", 0, 0, cells)]);
    let (store, opened) = open("x.xls", compound(&[("Book", stream)])).await;
    let old = read(&store, &opened.unwrap().members[0]).await.unwrap();
    let (columns, row) = told(&old, "2");
    assert_eq!(columns, "id:integer day:date \u{438}\u{43c}\u{44f}:text");
    assert_eq!(row[1].as_deref(), Some("2024-01-01"));
    assert_eq!(row[2].as_deref(), Some("\u{410}\u{43d}\u{43d}\u{430}"));
}

#[tokio::test]
async fn what_is_no_workbook_or_locked_is_told() {
    let locked = workbook(0x0600, &record(0x2f, &[0; 6]), &[("a", 0, 0, people())]);
    let text = |text: &str| text.as_bytes().to_vec();
    let old = [record(0x0409, &[0; 6]), vec![0; 9]].concat();
    let cases = [
        (
            compound(&[("Workbook", locked)]),
            FileErrorKind::Unsupported,
            "password",
        ),
        (
            compound(&[("EncryptedPackage", vec![])]),
            FileErrorKind::Unsupported,
            "password",
        ),
        (
            compound(&[("WordDocument", vec![])]),
            FileErrorKind::NotItsFormat,
            "Word",
        ),
        (
            compound(&[("Other", vec![])]),
            FileErrorKind::Corrupt,
            "no workbook",
        ),
        (
            data("sheetjs4.xls"),
            FileErrorKind::Unsupported,
            "before Excel 5",
        ),
        (
            compound(&[("Book", old)]),
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
        assert_eq!(told(&summary, "1").0, "id:integer day:date name:text");
        assert_eq!(summary.rows, 2);
        let note = "it is delimited text with a spreadsheet's name";
        assert!(
            summary.notes.contains(&note.to_owned()),
            "{:?}",
            summary.notes
        );
    }
}

#[tokio::test]
async fn damaged_sheets_cost_themselves() {
    let cell_of = |kind: u16, value: &[u8]| cell(kind, 0, 0, 0, value);
    let broken = [
        cell_of(0xfd, &99u32.to_le_bytes()),
        cell_of(0x203, &[1, 2]),
        cell_of(0x204, &[narrow("ab"), vec![]].concat()[..4]),
        // Two bytes of letters of two bytes, and an odd one.
        cell_of(0x204, &[&shorts(&[2])[..], &[1, 65, 0, 66]].concat()),
        [
            cell_of(0x06, &[0, 0, 0, 0, 0, 0, 0xff, 0xff]),
            record(0x207, &shorts(&[9])),
        ]
        .concat(),
        record(0x203, &shorts(&[0, 0x4000, 0, 0, 0, 0, 0x3ff0])),
        vec![0x03, 0x02, 0xff, 0xff, 1],
    ];
    for cells in broken {
        let sheets = [("bad", 0, 0, cells), ("good", 0, 0, people())];
        let stream = workbook(0x0600, &[styles(true), texts()].concat(), &sheets);
        let file = compound(&[("Workbook", stream)]);
        let opened = read_all("x.xls", file).await.unwrap();
        let refused = refusals(&opened);
        assert_eq!(refused.len(), 1, "{opened:?}");
        assert_eq!(refused[0].kind, FileErrorKind::Corrupt);
    }
}

#[tokio::test]
async fn claims_loops_cuts_and_flips_are_survived() {
    let good = compound(&[("Workbook", whole())]);
    let damage = |at: usize, bytes: &[u8]| {
        let mut file = good.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    let directory = 1024;
    let stream = directory + 128;
    let mut endless = damage(68, &[0; 4]);
    endless[512 + 508..1024].copy_from_slice(&[0; 4]);
    let cases = [
        // The stream's second sector follows itself; the directory does.
        (damage(512 + 4 * 3, &3u32.to_le_bytes()), "loops"),
        (damage(512 + 4, &1u32.to_le_bytes()), "loops"),
        // Sectors far behind the end, and a length that the file does not have.
        (
            damage(512 + 4 * 3, &0x00ff_ffffu32.to_le_bytes()),
            "cut off",
        ),
        (
            damage(stream + 116, &0x7fff_ffffu32.to_le_bytes()),
            "cut off",
        ),
        (damage(stream + 120, &u32::MAX.to_le_bytes()), "cut off"),
        // The table of chains goes on for ever, or is not there.
        (endless, "cut off"),
        (damage(76, &0x0fff_ffffu32.to_le_bytes()), "cut off"),
        (damage(30, &[31]), "no known size"),
        // Nothing of this name lies at the top.
        (damage(stream + 64, &[2]), "no workbook"),
        (damage(stream + 66, &[1]), "no workbook"),
    ];
    for (bytes, words) in cases {
        let error = read_all("x.xls", bytes).await.unwrap_err();
        assert!(error.cause.contains(words), "'{words}' expected in {error}");
        assert_eq!(error.kind, FileErrorKind::Corrupt, "{error}");
    }
    // As many texts and letters as numbers can tell, of which there are none.
    let claims = [0xff; 8].to_vec();
    let lying = [
        claims,
        shorts(&[0xffff]),
        vec![0x0d, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    ]
    .concat();
    let stream = workbook(0x0600, &record(0xfc, &lying), &[("a", 0, 0, people())]);
    let error = read_all("x.xls", compound(&[("Workbook", stream)]))
        .await
        .unwrap_err();
    assert!(error.cause.contains("shorter"), "{error}");

    for bytes in [good, data("sheetjs95.xls")] {
        for at in (0..bytes.len()).step_by(50) {
            let _ = read_all("x.xls", bytes[..at].to_vec()).await;
        }
        for at in (0..bytes.len()).step_by(3) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0xff;
            let _ = read_all("x.xls", flipped).await;
        }
    }
}

#[tokio::test]
async fn two_sheets_in_one_place_are_damage() {
    let sheets = [("a", 0, 0, people()), ("b", 0, 0, people())];
    let mut stream = workbook(0x0600, &[styles(true), texts()].concat(), &sheets);
    let named = |at: &usize| stream[*at..].starts_with(&[0x85, 0]) && stream[at + 3] == 0;
    let named: Vec<usize> = (0..stream.len() - 8).filter(named).take(2).collect();
    let place: Vec<u8> = stream[named[0] + 4..named[0] + 8].to_vec();
    stream[named[1] + 4..named[1] + 8].copy_from_slice(&place);
    let error = read_all("x.xls", compound(&[("Workbook", stream)])).await;
    let error = error.unwrap_err();
    assert!(error.cause.contains("two sheets in one place"), "{error}");
}

#[tokio::test]
async fn too_many_sheets_are_refused() {
    let names: Vec<String> = (0..201).map(|i| format!("s{i}")).collect();
    let sheets = |count: usize| -> Vec<(&str, u8, u8, Vec<u8>)> {
        let names = names.iter().take(count);
        names.map(|name| (name.as_str(), 0, 0, people())).collect()
    };
    let file = |count: usize| {
        let more = [texts(), styles(true)].concat();
        compound(&[("Workbook", workbook(0x0600, &more, &sheets(count)))])
    };
    let (_, opened) = open("x.xls", file(200)).await;
    assert_eq!(opened.unwrap().members.len(), 200);
    let error = open("x.xls", file(201)).await.1.unwrap_err();
    assert!(error.cause.contains("more than 200 sheets"), "{error}");
}
