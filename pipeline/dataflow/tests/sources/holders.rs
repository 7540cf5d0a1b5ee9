//! Tables in archives, databases and books.

use std::io::{Cursor, Write};

use super::rows::{Row, csv};
use super::{Damage, Kind, Objects, garbage, half};

/// What else is in each: a table of its own.
pub const CITIES: &str = "city\nBern\nRome\nOslo\n";

/// One file that holds the table and another one.
pub struct Holder {
    path: &'static str,
    table: &'static str,
    beside: Option<&'static str>,
    write: fn(&[Vec<Row>]) -> Vec<u8>,
    others: &'static [(&'static str, &'static str)],
    parts: usize,
    /// Whether the members of an archive are files, all of which are read when it changes (decision
    /// 23).
    is_archive: bool,
}

impl Kind for Holder {
    fn table(&self) -> &'static str {
        self.table
    }

    fn parts(&self) -> usize {
        self.parts
    }

    fn others(&self) -> &'static [(&'static str, &'static str)] {
        self.others
    }

    fn beside(&self) -> Option<&'static str> {
        self.beside
    }

    fn objects(&mut self, parts: &[Vec<Row>]) -> Objects {
        [(self.path.to_owned(), (self.write)(parts))].into()
    }

    fn read(&self, _: usize, parts: usize) -> u64 {
        match self.is_archive {
            true => (parts + usize::from(self.beside.is_some())) as u64,
            false => 1,
        }
    }

    fn damages(&self, laid: &Objects) -> Vec<Damage> {
        vec![garbage(self.path), half(self.path, laid)]
    }
}

pub fn tar() -> Holder {
    Holder {
        path: "t/x.tar",
        table: "t/x.tar//orders",
        beside: Some("t/x.tar//cities"),
        write: |parts| tar_of(&members(parts)),
        others: &[],
        parts: 1,
        is_archive: true,
    }
}

/// An archive of nothing but the parts of one table.
pub fn parts() -> Holder {
    Holder {
        table: "t/x.tar",
        beside: None,
        write: |parts| {
            let parts = parts.iter().enumerate();
            let parts = parts.filter(|(_, rows)| !rows.is_empty());
            let parts = parts.map(|(part, rows)| (format!("part-{part:05}.csv"), csv(rows)));
            tar_of(&parts.collect::<Vec<_>>())
        },
        parts: 3,
        ..tar()
    }
}

pub fn packed_tar() -> Holder {
    Holder {
        path: "t/x.tgz",
        table: "t/x.tgz//orders",
        beside: Some("t/x.tgz//cities"),
        write: |parts| gz(&tar_of(&members(parts))),
        ..tar()
    }
}

pub fn zip() -> Holder {
    Holder {
        path: "t/x.zip",
        table: "t/x.zip//orders",
        beside: Some("t/x.zip//cities"),
        write: |parts| zip_of(&members(parts)),
        ..tar()
    }
}

pub fn sqlite() -> Holder {
    Holder {
        path: "t/x.sqlite",
        table: "t/x.sqlite//orders",
        beside: Some("t/x.sqlite//cities"),
        write: |parts| database(&parts[0]),
        is_archive: false,
        ..tar()
    }
}

pub fn sqlite_in_zip() -> Holder {
    Holder {
        path: "t/x.zip",
        table: "t/x.zip//in/x.sqlite//orders",
        beside: Some("t/x.zip//in/x.sqlite//cities"),
        write: |parts| zip_of(&[("in/x.sqlite".into(), database(&parts[0]))]),
        is_archive: false,
        ..tar()
    }
}

pub fn sheet() -> Holder {
    Holder {
        path: "t/x.fods",
        table: "t/x.fods//orders",
        beside: Some("t/x.fods//cities"),
        write: |parts| book(&[("orders".to_owned(), &parts[0])]),
        is_archive: false,
        ..tar()
    }
}

/// A sheet a year, which are one table.
pub fn sheets() -> Holder {
    Holder {
        path: "t/x.fods",
        table: "t/x.fods",
        beside: Some("t/x.fods//cities"),
        write: |parts| {
            let sheets = parts.iter().zip(2020..);
            let sheets = sheets.filter(|(rows, _)| !rows.is_empty());
            let sheets: Vec<(String, &[Row])> = sheets
                .map(|(rows, year)| (year.to_string(), rows.as_slice()))
                .collect();
            book(&sheets)
        },
        others: &[("year", "integer")],
        parts: 3,
        is_archive: false,
    }
}

fn members(parts: &[Vec<Row>]) -> [(String, Vec<u8>); 2] {
    let (orders, cities) = (csv(&parts[0]), CITIES.into());
    [("orders.csv".into(), orders), ("cities.csv".into(), cities)]
}

pub fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn tar_of(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, content) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive
            .append_data(&mut header, name, content.as_slice())
            .unwrap();
    }
    archive.into_inner().unwrap()
}

fn zip_of(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for (name, content) in members {
        archive.start_file(name.as_str(), options).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn database(rows: &[Row]) -> Vec<u8> {
    let mut base = rusqlite::Connection::open_in_memory().unwrap();
    let tables = "CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT, day TEXT);
        CREATE TABLE cities (city TEXT);
        INSERT INTO cities VALUES ('Bern'), ('Rome'), ('Oslo')";
    base.execute_batch(tables).unwrap();
    for row in rows {
        let values = (row.id, &row.name, row.day());
        base.execute("INSERT INTO orders VALUES (?, ?, ?)", values)
            .unwrap();
    }
    base.serialize("main").unwrap().to_vec()
}

/// A flat OpenDocument.
fn book(sheets: &[(String, &[Row])]) -> Vec<u8> {
    let cell = |cell: &str| match cell {
        "" => "<table:table-cell/>".to_owned(),
        cell => format!(
            r#"<table:table-cell office:value-type="string"><text:p>{cell}</text:p></table:table-cell>"#
        ),
    };
    let line = |cells: &[&str]| {
        let cells: String = cells.iter().map(|it| cell(it)).collect();
        format!("<table:table-row>{cells}</table:table-row>")
    };
    let sheet = |name: &str, lines: String| {
        format!(r#"<table:table table:name="{name}"><table:table-column/>{lines}</table:table>"#)
    };
    let cities: String = CITIES.lines().map(|city| line(&[city])).collect();
    let mut all = sheet("cities", cities);
    for (name, rows) in sheets {
        let rows = rows.iter().map(Row::cells);
        let rows = rows.map(|[id, name, day]| line(&[&id, &name, &day]));
        let lines = line(&["id", "name", "day"]) + &rows.collect::<String>();
        all += &sheet(name, lines);
    }
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>{all}</office:spreadsheet></office:body></office:document>"#
    )
    .into_bytes()
}
