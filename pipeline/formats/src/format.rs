//! Formats of files and kinds of containers, as names show them.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::compression::{Compression, without_compression};
use crate::member::path::split;

/// The formats that hold rows, by a file's extension (in any case). Text may be compressed:
/// `.csv.gz`, `.jsonl.zst`, `.tsv.bz2`, `.csv.xz`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// `.parquet`, `.pq`
    Parquet,
    /// `.csv`, `.tsv`, `.tab`, `.psv`: delimited text; the delimiter is detected, whatever the extension.
    Csv,
    /// `.txt`, `.dat`, `.data`, `.tbl`, `.prn`, `.fwf`, `.asc`: text that may be a table, by delimiters, blanks or the width of
    /// its columns, and is passed over where it is not clearly one.
    Text,
    /// `.jsonl`, `.ndjson`, `.json`: one JSON object a line, or a list of them; `.geojson`, `.geojsonl`, `.geojsons`: features.
    JsonLines,
    /// `.arrow`, `.feather`, `.ipc`, `.arrows`: Arrow IPC, as a file or as a stream, whatever the extension.
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
        let unpacked = without_compression(path);
        let format = Format::of_extension(Path::new(unpacked).extension()?.to_str()?)?;
        (unpacked.len() == path.len() || format.is_text()).then_some(format)
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
        self == Format::Text
    }

    /// Whether its values have no types but those that their texts are inferred to have.
    pub fn gives_texts(self) -> bool {
        self.is_text() || matches!(self, Format::Sheet | Format::Sqlite)
    }

    fn of_extension(extension: &str) -> Option<Format> {
        let is = |name: &&str| extension.eq_ignore_ascii_case(name);
        if ["parquet", "pq"].iter().any(is) {
            Some(Format::Parquet)
        } else if ["csv", "tsv", "tab", "psv"].iter().any(is) {
            Some(Format::Csv)
        } else if ["txt", "dat", "data", "tbl", "prn", "fwf", "asc"]
            .iter()
            .any(is)
        {
            Some(Format::Text)
        } else if ["jsonl", "ndjson", "json", "geojson", "geojsonl", "geojsons"]
            .iter()
            .any(is)
        {
            Some(Format::JsonLines)
        } else if ["arrow", "feather", "ipc", "arrows"].iter().any(is) {
            Some(Format::Arrow)
        } else if is(&"avro") {
            Some(Format::Avro)
        } else if is(&"orc") {
            Some(Format::Orc)
        } else if is(&"dbf") {
            Some(Format::Dbf)
        } else {
            None
        }
    }

    /// Whether it is the log of a table, which has no rows of its own.
    pub fn is_log(self) -> bool {
        matches!(self, Format::Delta | Format::Iceberg | Format::Hudi)
    }

    /// The format of a log, by its word.
    pub fn of_log(label: &str) -> Option<Format> {
        let logs = [Format::Delta, Format::Iceberg, Format::Hudi];
        logs.into_iter().find(|it| it.label() == label)
    }

    /// A word for the format: `parquet`, `csv`, `jsonlines`, `arrow`, `avro`, `orc`, `dbf`, `sqlite`, `sheet`, `text`, `archive`, `delta`, `iceberg`,
    /// `hudi`.
    pub fn label(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::Csv => "csv",
            Format::Text => "text",
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

/// Kinds of containers, by a file's extension (in any case).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// `.zip`
    Zip,
    /// `.tar`, also compressed: `.tar.gz`, `.tgz`, `.tar.zst`, `.tar.bz2`, `.tar.xz` and their short forms.
    Tar,
    /// An SQLite database, whose members are its tables and views: `.sqlite`, `.sqlite3`, `.db3`, and `.db` if its
    /// content is that of one.
    Sqlite,
    /// A spreadsheet file, whose members are its sheets: `.xlsx`, `.xlsm`, `.xlsb`, `.xls`, `.ods`, `.fods`.
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
        let extension = |path: &str| Path::new(path).extension()?.to_str().map(str::to_owned);
        let last = extension(path)?.to_ascii_lowercase();
        match last.as_str() {
            "zip" => Some(Container::Zip),
            "xlsx" | "xlsm" | "xlsb" | "xls" | "ods" | "fods" => Some(Container::Book),
            "sqlite" | "sqlite3" | "db" | "db3" => Some(Container::Sqlite),
            "tar" | "tgz" | "tzst" | "tbz2" | "tbz" | "txz" => Some(Container::Tar),
            _ => {
                Compression::of_path(path)?;
                let inner = extension(without_compression(path))?;
                inner.eq_ignore_ascii_case("tar").then_some(Container::Tar)
            }
        }
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
