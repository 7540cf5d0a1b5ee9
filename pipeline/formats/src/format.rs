//! Formats of files and kinds of containers, as names show them.

use std::fmt;

use limn_profile::FileSummary;
use serde::{Deserialize, Serialize};

use crate::compression::{Compression, without_compression};
use crate::member::{extension, meaning, split};

/// The formats that hold rows, by a file's extension (in any case). Text may be compressed:
/// `.csv.gz`, `.jsonl.zst`, `.tsv.bz2`, `.csv.xz`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// `.parquet`, `.pq`
    Parquet,
    /// `.csv`, `.tsv`, `.tab`, `.psv`: delimited text; the delimiter is detected, whatever the
    /// extension.
    Csv,
    /// `.txt`, `.dat`, `.data`, `.tbl`, `.prn`, `.fwf`, `.asc`: text that may be a table, by
    /// delimiters, blanks or the width of its columns, and is passed over where it is not clearly
    /// one.
    Text,
    /// No extension, but a number as programs give their files: `000000_0`,
    /// `delivery-1-2024-06-01-00-00-00`. It is what its content shows, and is passed over where
    /// that is not clearly a table.
    Unnamed,
    /// `.jsonl`, `.ndjson`, `.json`: one JSON object a line, or a list of them; `.geojson`,
    /// `.geojsonl`, `.geojsons`: features.
    JsonLines,
    /// `.arrow`, `.feather`, `.ipc`, `.arrows`: Arrow IPC, as a file or as a stream, whatever the
    /// extension.
    Arrow,
    /// `.avro`: Avro object container files.
    Avro,
    /// `.orc`
    Orc,
    /// `.dbf`: dBase tables, alone or those of shapefiles.
    Dbf,
    /// A table or view of an SQLite database: `base.sqlite//orders`.
    Sqlite,
    /// A sheet of a spreadsheet file: `book.xlsx//2024`.
    Sheet,
    /// Remarks on an archive, or on something in it that can be no table.
    Archive,
    /// The log of a Delta Lake table (`_delta_log`), which says what its files are.
    Delta,
    /// The metadata of an Apache Iceberg table.
    Iceberg,
    /// The timeline of an Apache Hudi table (`.hoodie`).
    Hudi,
}

impl Format {
    /// The format of a file, or `None` if its name is not that of data.
    pub fn of_path(path: &str) -> Option<Format> {
        if let Some(format) = Format::of_part(path) {
            return Some(format);
        }
        let last = extension(path);
        let is_packed = last.and_then(Compression::of_extension).is_some();
        let (unpacked, last) = match is_packed {
            true => {
                let unpacked = without_compression(path);
                (unpacked, extension(unpacked))
            }
            false => (path, last),
        };
        match last {
            Some(extension) => {
                let format = Format::of_extension(extension)?;
                (!is_packed || format.is_text()).then_some(format)
            }
            None => is_numbered(unpacked).then_some(Format::Unnamed),
        }
    }

    /// The format of a file that was read: what its content showed, where its name says none.
    pub fn found(self, summary: &FileSummary) -> Format {
        let found = summary.format.as_deref();
        found.and_then(Format::of_label).unwrap_or(self)
    }

    /// The format that goes by a [word](Format::label).
    pub fn of_label(label: &str) -> Option<Format> {
        ALL.into_iter().find(|format| format.label() == label)
    }

    /// The format of a container's part that is a table and no file.
    pub fn of_part(path: &str) -> Option<Format> {
        let (container, name) = split(path)?;
        let kind = Container::of_path(container)?;
        kind.format_of_parts().or_else(|| {
            let (inner, _) = split(name)?;
            Container::of_path(inner)?.format_of_parts()
        })
    }

    /// Whether it is text, which may be compressed as a whole.
    pub fn is_text(self) -> bool {
        matches!(self, Format::Csv | Format::JsonLines | Format::Text)
    }

    /// Whether only the content shows it.
    pub fn is_uncertain(self) -> bool {
        matches!(self, Format::Text | Format::Unnamed)
    }

    /// Whether its values have no types but those that their texts are inferred to have.
    pub fn gives_texts(self) -> bool {
        self.is_text() || matches!(self, Format::Sheet | Format::Sqlite)
    }

    fn of_extension(extension: &str) -> Option<Format> {
        meaning(extension, |it| match it {
            b"parquet" | b"pq" => Some(Format::Parquet),
            b"csv" | b"tsv" | b"tab" | b"psv" => Some(Format::Csv),
            b"txt" | b"dat" | b"data" | b"tbl" | b"prn" | b"fwf" | b"asc" => Some(Format::Text),
            b"jsonl" | b"ndjson" | b"json" => Some(Format::JsonLines),
            b"geojson" | b"geojsonl" | b"geojsons" => Some(Format::JsonLines),
            b"arrow" | b"feather" | b"ipc" | b"arrows" => Some(Format::Arrow),
            b"avro" => Some(Format::Avro),
            b"orc" => Some(Format::Orc),
            b"dbf" => Some(Format::Dbf),
            _ => None,
        })
    }

    /// Whether it is the log of a table, which has no rows of its own.
    pub fn is_log(self) -> bool {
        matches!(self, Format::Delta | Format::Iceberg | Format::Hudi)
    }

    /// A word for the format: `parquet`, `csv`, `jsonlines`, `arrow`, `avro`, `orc`, `dbf`,
    /// `sqlite`, `sheet`, `text`, `unnamed`, `archive`, `delta`, `iceberg`, `hudi`.
    pub fn label(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::Csv => "csv",
            Format::Text => "text",
            Format::Unnamed => "unnamed",
            Format::JsonLines => "jsonlines",
            Format::Arrow => "arrow",
            Format::Avro => "avro",
            Format::Orc => "orc",
            Format::Dbf => "dbf",
            Format::Sqlite => "sqlite",
            Format::Sheet => "sheet",
            Format::Archive => "archive",
            Format::Delta => "delta",
            Format::Iceberg => "iceberg",
            Format::Hudi => "hudi",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

const ALL: [Format; 15] = [
    Format::Parquet,
    Format::Csv,
    Format::Text,
    Format::Unnamed,
    Format::JsonLines,
    Format::Arrow,
    Format::Avro,
    Format::Orc,
    Format::Sqlite,
    Format::Sheet,
    Format::Archive,
    Format::Delta,
    Format::Iceberg,
    Format::Dbf,
    Format::Hudi,
];

/// Digits of a number that programs give their files, at least: less is a version, or a piece of an
/// array.
const FEWEST_DIGITS: usize = 4;
/// Letters of an id of hexadecimal digits, at least.
const ID: usize = 16;

/// Whether a file's name has no extension and has a number in it, and is more than an id, as blobs
/// are called by their hashes.
fn is_numbered(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let mut numbers = name.split(|c: char| !c.is_ascii_digit());
    let is_id_digit = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    let is_id = name.len() >= ID
        && name.bytes().all(is_id_digit)
        && name.bytes().any(|byte| byte.is_ascii_alphabetic());
    !name.contains('.') && !is_id && numbers.any(|it| it.len() >= FEWEST_DIGITS)
}

/// Kinds of containers, by a file's extension (in any case).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// `.zip`
    Zip,
    /// `.tar`, also compressed: `.tar.gz`, `.tgz`, `.tar.zst`, `.tar.bz2`, `.tar.xz` and their
    /// short forms.
    Tar,
    /// An SQLite database, whose members are its tables and views: `.sqlite`, `.sqlite3`, `.db3`,
    /// and `.db` if its content is that of one.
    Sqlite,
    /// A spreadsheet file, whose members are its sheets: `.xlsx`, `.xlsm`, `.xlsb`, `.xls`, `.ods`,
    /// `.fods`.
    Book,
}

impl Container {
    /// What its members are, where they are no files but tables.
    pub fn format_of_parts(self) -> Option<Format> {
        match self {
            Container::Sqlite => Some(Format::Sqlite),
            Container::Book => Some(Format::Sheet),
            Container::Zip | Container::Tar => None,
        }
    }

    /// The kind of a container, or `None` if its name is not that of one.
    pub fn of_path(path: &str) -> Option<Container> {
        let last = extension(path)?;
        let kind = meaning(last, |it| match it {
            b"zip" => Some(Container::Zip),
            b"xlsx" | b"xlsm" | b"xlsb" | b"xls" | b"ods" | b"fods" => Some(Container::Book),
            b"sqlite" | b"sqlite3" | b"db" | b"db3" => Some(Container::Sqlite),
            b"tar" | b"tgz" | b"tzst" | b"tbz2" | b"tbz" | b"txz" => Some(Container::Tar),
            _ => None,
        });
        kind.or_else(|| {
            Compression::of_extension(last)?;
            let inner = extension(without_compression(path))?;
            inner.eq_ignore_ascii_case("tar").then_some(Container::Tar)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_known_by_extension_in_any_case() {
        assert_eq!(Format::of_path("a/B.PARQUET"), Some(Format::Parquet));
        assert_eq!(Format::of_path("a.b.tsv"), Some(Format::Csv));
        assert_eq!(Format::of_path("x.ndjson"), Some(Format::JsonLines));
        assert_eq!(Format::of_path("x.csv.gz"), Some(Format::Csv));
        for text in [
            "x.txt", "x.DAT", "x.data", "x.tbl", "x.prn", "x.fwf", "x.asc.gz",
        ] {
            assert_eq!(Format::of_path(text), Some(Format::Text), "{text}");
        }
        assert_eq!(Format::of_path("x.psv"), Some(Format::Csv));
        assert_eq!(Format::of_path("x.JSON.ZST"), Some(Format::JsonLines));
        for arrow in ["x.arrow", "x.Feather", "x.ipc", "x.arrows"] {
            assert_eq!(Format::of_path(arrow), Some(Format::Arrow), "{arrow}");
        }
        for json in ["x.geojson", "x.GeoJSONL.gz", "x.geojsons"] {
            assert_eq!(Format::of_path(json), Some(Format::JsonLines), "{json}");
        }
        assert_eq!(Format::of_path("x.avro"), Some(Format::Avro));
        assert_eq!(Format::of_path("x.orc"), Some(Format::Orc));
        assert_eq!(Format::of_path("X.DBF"), Some(Format::Dbf));
        for not_data in [
            "csv",
            "a/csv",
            "x.md",
            "x.csv/y",
            "",
            "x.gz",
            "x.parquet.gz",
            "x.csv.gz.gz",
            "x.tar.xz",
            ".csv.gz/a",
        ] {
            assert_eq!(Format::of_path(not_data), None, "{not_data}");
        }
    }

    #[test]
    fn without_an_extension_a_number_shows_that_programs_wrote_a_file() {
        for numbered in [
            "000000_0",
            "out/0000_part_00.gz",
            "part-00000",
            "delivery-1-2024-06-01-00-00-00-3f0c9a1e-77aa-4c0d-9d5e-0f3e1c2a0d4f",
            "20240501_031500_00000_k3f9q_0b41c0de-77aa.GZ",
            "orders-000000000001",
            "x.zip//000000_0",
        ] {
            assert_eq!(
                Format::of_path(numbered),
                Some(Format::Unnamed),
                "{numbered}"
            );
        }
        for other in [
            "LICENSE",
            "Makefile",
            "orders",
            "orders.gz",
            "v2",
            "0",
            "c/0/12",
            "LICENSE-2.0",
            "0000/x",
            "0000/",
            "blobs/3fa9c1d2e4b5a697",
            "0f3e1c2a-77aa-4c0d-9d5e-0f3e1c2a0d4f",
            "access_2024.log",
            "000000_0.crc",
        ] {
            assert_eq!(Format::of_path(other), None, "{other}");
        }
        for format in ALL {
            assert_eq!(Format::of_label(format.label()), Some(format));
        }
    }

    #[test]
    fn containers_are_known_by_extension_in_any_case() {
        assert_eq!(Container::of_path("a/B.ZIP"), Some(Container::Zip));
        for tar in [
            "a.tar",
            "a.TGZ",
            "a.tar.gz",
            "a.tar.zst",
            "a.Tar.Bz2",
            "a.txz",
        ] {
            assert_eq!(Container::of_path(tar), Some(Container::Tar), "{tar}");
        }
        for other in ["zip", "a.csv.gz", "a.gz", "a.zip.gz", "tar.gz", "a.tar.csv"] {
            assert_eq!(Container::of_path(other), None, "{other}");
        }
    }
}
