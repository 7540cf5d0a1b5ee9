//! Objects of a lake as they are listed: identity, format, and the names of tables.

use std::borrow::Borrow;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use limn_store::ObjectInfo;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::Xxh3Default;

use crate::compression::without_compression;
use crate::error::LakeError;
use crate::member::{self, Container};

/// One object of a lake: where it is and which version of it was listed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectRecord {
    /// Path below the lake's root, decoded, `/`-separated.
    pub path: String,
    /// The store's entity tag, where it has one.
    pub etag: Option<String>,
    /// The store's version id, where it keeps versions.
    pub version: Option<String>,
    /// Size in bytes.
    pub size: u64,
    /// Last modification, milliseconds since 1970.
    pub modified_ms: i64,
}

impl ObjectRecord {
    /// Identity of this version of this object: `(path, etag, version, size, mtime)` (design, section 6).
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hasher = Hasher::new("object");
        self.feed(&mut hasher);
        hasher.finish()
    }

    pub(crate) fn feed(&self, hasher: &mut Hasher) {
        hasher.text(&self.path);
        hasher.optional(self.etag.as_deref());
        hasher.optional(self.version.as_deref());
        hasher.bytes(&self.size.to_le_bytes());
        hasher.bytes(&self.modified_ms.to_le_bytes());
    }
}

#[cfg(test)]
impl ObjectRecord {
    /// An object of a store that tells no versions.
    pub(crate) fn unversioned(path: &str, size: u64) -> Self {
        ObjectRecord {
            path: path.into(),
            etag: None,
            version: None,
            size,
            modified_ms: 0,
        }
    }
}

impl From<ObjectInfo> for ObjectRecord {
    fn from(info: ObjectInfo) -> Self {
        ObjectRecord {
            path: info.path,
            etag: info.etag,
            version: info.version,
            size: info.size,
            modified_ms: info.modified_ms,
        }
    }
}

/// A 128-bit stable hash (xxh3): the same on every machine and in every build, so it may be stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(pub u128);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl FromStr for Fingerprint {
    type Err = std::num::ParseIntError;

    fn from_str(hex: &str) -> Result<Self, Self::Err> {
        u128::from_str_radix(hex, 16).map(Fingerprint)
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            self.0.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let hex = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
            hex.parse().map_err(serde::de::Error::custom)
        } else {
            u128::deserialize(deserializer).map(Fingerprint)
        }
    }
}

/// Feeds fields to xxh3-128 with lengths in front, so that no two field lists hash alike by
/// running into each other. `subject` keeps hashes of different things apart.
pub(crate) struct Hasher(Xxh3Default);

impl Hasher {
    pub(crate) fn new(subject: &str) -> Self {
        let mut hasher = Hasher(Xxh3Default::new());
        hasher.text(subject);
        hasher
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(crate) fn optional(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.text(text),
            None => self.0.update(&u64::MAX.to_le_bytes()),
        }
    }

    pub(crate) fn finish(&self) -> Fingerprint {
        Fingerprint(self.0.digest128())
    }
}

/// The name of a table within its lake: its path without the data extension; for a table of many
/// files, their directory. Never empty, no control characters.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableName(Arc<str>);

impl TableName {
    /// Checks a name that a person wrote.
    ///
    /// # Errors
    /// [`LakeError::TableName`] for an empty name or one with control characters.
    pub fn parse(name: &str) -> Result<Self, LakeError> {
        let refuse = |cause| {
            Err(LakeError::TableName {
                name: name.to_owned(),
                cause,
            })
        };
        if name.is_empty() {
            return refuse("it is empty");
        }
        if name.chars().any(char::is_control) {
            return refuse("it has control characters");
        }
        Ok(TableName(name.into()))
    }

    /// A name made from an object's path, which is never empty. Control characters, legal in
    /// object keys but a hazard on terminals, become U+FFFD.
    pub(crate) fn of_path(path: &str) -> Self {
        if path.chars().any(char::is_control) {
            let printable: String = path
                .chars()
                .map(|c| {
                    if c.is_control() {
                        char::REPLACEMENT_CHARACTER
                    } else {
                        c
                    }
                })
                .collect();
            return TableName(printable.into());
        }
        TableName(path.into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for TableName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for TableName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl FromStr for TableName {
    type Err = LakeError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        TableName::parse(name)
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl Serialize for TableName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for TableName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        TableName::parse(&name).map_err(serde::de::Error::custom)
    }
}

/// The formats that hold rows, told by a file's extension (in any case). Text may be compressed: `.csv.gz`,
/// `.jsonl.zst`, `.tsv.bz2`, `.csv.xz`.
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
    /// `.jsonl`, `.ndjson`, `.json`: one JSON object a line.
    JsonLines,
    /// `.arrow`, `.feather`, `.ipc`, `.arrows`: Arrow IPC, as a file or as a stream, whatever the extension.
    Arrow,
    /// `.avro`: Avro object container files.
    Avro,
    /// `.orc`
    Orc,
    /// A table or view of an SQLite database: `base.sqlite//orders`.
    Sqlite,
    /// A sheet of a spreadsheet file: `book.xlsx//2024`.
    Sheet,
    /// What is to be told of an archive, or of something in it that can be no table.
    Archive,
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
    pub(crate) fn of_part(path: &str) -> Option<Format> {
        let (container, name) = member::split(path)?;
        let kind = Container::of_path(container)?;
        kind.format_of_parts().or_else(|| {
            let (inner, _) = member::split(name)?;
            Container::of_path(inner)?.format_of_parts()
        })
    }

    /// Whether it is text, which may be compressed as a whole.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Format::Csv | Format::JsonLines | Format::Text)
    }

    /// Whether its values have no types but those that their texts are inferred to have.
    pub(crate) fn gives_texts(self) -> bool {
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
        } else if ["jsonl", "ndjson", "json"].iter().any(is) {
            Some(Format::JsonLines)
        } else if ["arrow", "feather", "ipc", "arrows"].iter().any(is) {
            Some(Format::Arrow)
        } else if is(&"avro") {
            Some(Format::Avro)
        } else if is(&"orc") {
            Some(Format::Orc)
        } else {
            None
        }
    }

    /// A word for the format: `parquet`, `csv`, `jsonlines`, `arrow`, `avro`, `orc`, `sqlite`, `sheet`, `text`, `archive`.
    pub fn label(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::Csv => "csv",
            Format::Text => "text",
            Format::JsonLines => "jsonlines",
            Format::Arrow => "arrow",
            Format::Avro => "avro",
            Format::Orc => "orc",
            Format::Sqlite => "sqlite",
            Format::Sheet => "sheet",
            Format::Archive => "archive",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn object() -> ObjectRecord {
        ObjectRecord {
            path: "a/b.csv".into(),
            etag: Some("e".into()),
            version: None,
            size: 3,
            modified_ms: 9,
        }
    }

    #[test]
    fn every_part_of_an_objects_identity_changes_its_fingerprint() {
        let base = object().fingerprint();
        assert_eq!(base, object().fingerprint());
        let others = [
            ObjectRecord {
                path: "a/c.csv".into(),
                ..object()
            },
            ObjectRecord {
                etag: None,
                ..object()
            },
            // Moving text from one field to the next must not go unnoticed.
            ObjectRecord {
                etag: None,
                version: Some("e".into()),
                ..object()
            },
            ObjectRecord {
                size: 4,
                ..object()
            },
            ObjectRecord {
                modified_ms: 8,
                ..object()
            },
        ];
        for other in others {
            assert_ne!(base, other.fingerprint(), "{other:?}");
        }
    }

    #[test]
    fn fingerprints_are_the_same_in_every_build() {
        // A stored value: if this changes, every catalog is read as changed.
        assert_eq!(
            object().fingerprint().to_string(),
            "61a430ee632088a72158b1ef0874cd33"
        );
        let text = serde_json::to_string(&object().fingerprint()).unwrap();
        assert_eq!(
            serde_json::from_str::<Fingerprint>(&text).unwrap(),
            object().fingerprint()
        );
        assert_eq!(
            object()
                .fingerprint()
                .to_string()
                .parse::<Fingerprint>()
                .unwrap(),
            object().fingerprint()
        );
    }

    #[test]
    fn formats_are_told_by_extension_in_any_case() {
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
        assert_eq!(Format::of_path("x.avro"), Some(Format::Avro));
        assert_eq!(Format::of_path("x.orc"), Some(Format::Orc));
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
    fn table_names_are_checked_at_the_edge() {
        assert!(TableName::parse("").is_err());
        assert!(TableName::parse("a\u{1b}[31m").is_err());
        assert_eq!(
            TableName::parse("sales/2024/orders").unwrap().as_str(),
            "sales/2024/orders"
        );
        assert_eq!(TableName::of_path("a\nb").as_str(), "a\u{fffd}b");
    }
}
