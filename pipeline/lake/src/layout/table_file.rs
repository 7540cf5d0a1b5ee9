//! The files of a group: an object with rows, and what it is called alone.

use std::sync::Arc;

use limn_formats::declaration::shared;
use limn_formats::{
    DataFile, Declaration, Fingerprint, Format, Hasher, ObjectRecord, member, without_compression,
};
use limn_profile::{DeclaredReading, LoggedTable};
use serde::{Deserialize, Serialize};

use crate::dates;
use crate::place::{MASK, mask, split_path, table_directory, without_extension};
use crate::sheets;
use crate::table_name::TableName;

/// An object that holds rows, among those of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TableFile {
    /// The object.
    pub object: ObjectRecord,
    /// How to read it.
    pub format: Format,
    /// The table's name if the file is a table of its own (the path, in a
    /// [`GroupKind::Directory`](super::GroupKind::Directory), where it never is).
    pub table_name: TableName,
    /// Whether it lies beside a table and may be about it. JSON and plain text of a table's name
    /// are tables themselves only if they hold rows; plain text of an archive among the files of
    /// one table never is.
    pub is_beside: bool,
    /// Whether it is JSON of which nothing is declared and that no other file is like by its name:
    /// one object is no row then.
    pub is_alone: bool,
    /// What people say of it.
    #[serde(with = "shared")]
    pub declared: Option<Arc<Declaration>>,
}

impl TableFile {
    /// The file as one that no other is like by its name.
    pub(super) fn alone(self) -> TableFile {
        let extension = member::extension(without_compression(&self.object.path));
        let is_json = extension.is_some_and(|it| it.eq_ignore_ascii_case("json"));
        let is_alone = is_json && !self.is_beside && self.declared.is_none();
        TableFile { is_alone, ..self }
    }

    /// Path relative to its table, as far as its own path shows; `""` for a lone file. Rows are
    /// drawn by it, so it changes with nothing else.
    pub fn sample_path(&self) -> &str {
        sample_path(&self.object.path)
    }

    /// The file as its reader is to know it.
    pub fn data_file(&self) -> DataFile {
        DataFile {
            object: self.object.clone(),
            format: self.format,
            sample_path: self.sample_path().to_owned(),
            is_beside: self.is_beside,
            is_alone: self.is_alone,
            declared: self.declared.clone(),
        }
    }

    /// What a file's summary depends on besides the reading options: the version, the `sample_path`
    /// (which follows from the path), whether it has to be more than a description or one object,
    /// how people say that it is read, and what is read with it.
    pub fn content_fingerprint(&self) -> Fingerprint {
        let doubts = (self.is_beside, self.is_alone);
        content_fingerprint(&self.object, doubts, self.declared.as_deref())
    }

    /// The table's columns, where the file is its log.
    pub fn logged_table(&self) -> Option<&LoggedTable> {
        self.reading().logged.as_ref()?.table.as_ref()
    }

    /// How it is declared to be read.
    pub(crate) fn reading(&self) -> &DeclaredReading {
        Declaration::reading_of(self.declared.as_ref())
    }
}

/// What [`TableFile::content_fingerprint`] is of an object that lies beside a table of its name, or
/// does not, that is alone, or is not, and of which this is declared.
pub fn content_fingerprint(
    object: &ObjectRecord,
    (is_beside, is_alone): (bool, bool),
    declared: Option<&Declaration>,
) -> Fingerprint {
    let declared = declared.filter(|declared| !declared.is_of_no_content());
    if !is_beside && !is_alone && declared.is_none() {
        return object.fingerprint();
    }
    let mut hasher = Hasher::new(match (is_beside, is_alone) {
        (true, _) => "object beside a table",
        (false, true) => "object alone",
        (false, false) => "object as declared",
    });
    match object.place() {
        // What it is called here changes with its table's name.
        Some(place) => {
            hasher.text(place);
            hasher.bytes(&object.size.to_le_bytes());
            hasher.text(sample_path(&object.path));
        }
        None => object.feed(&mut hasher),
    }
    if let Some(declared) = declared {
        declared.feed_content(&mut hasher);
    }
    hasher.finish()
}

/// The file's path relative to its table, as far as the path alone shows: for a file that can be
/// one of many (in a table directory, in a folder of a date, or with a number, date, month or uuid
/// in its name) its path below the table's directory, or above all dates, else `""`. So a lone
/// `orders.csv` draws the same rows under any name, and `orders-01.csv` draws the same rows whether
/// `orders-02.csv` is there or not, and compressed, too, or within an archive.
fn sample_path(path: &str) -> &str {
    let whole = path;
    let path = without_compression(path);
    if let (None, Some(dated)) = (table_directory(path), dates::dated(path)) {
        return dated.below;
    }
    let path = match member::split(path) {
        Some((container, name)) if table_directory(container).is_none() => name,
        _ => path,
    };
    let (_, name) = split_path(path);
    match table_directory(path) {
        Some("") => path,
        Some(directory) => &path[directory.len() + 1..],
        None if mask(without_extension(name)).contains(MASK) || sheets::form(whole).is_some() => {
            name
        }
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_paths_are_relative_to_the_table() {
        for (path, expected) in [
            ("a/b/orders.csv", ""),
            ("a/b/orders-2.csv", "orders-2.csv"),
            ("sales/year=2024/data.parquet", "year=2024/data.parquet"),
            ("year=2024/data.parquet", "year=2024/data.parquet"),
            ("out/part-00000.csv", "part-00000.csv"),
            ("out/part-00000.csv.gz", "part-00000.csv"),
            ("a/orders-2.csv.zst", "orders-2.csv"),
            ("a/2024/05/orders.csv.gz", "2024/05/orders.csv"),
            ("a/2024/05/k=1/orders.csv", "k=1/orders.csv"),
            ("hr/pay_2024-05.xlsx//Sheet1", "pay_2024-05.xlsx//Sheet1"),
        ] {
            assert_eq!(sample_path(path), expected, "{path}");
        }
    }

    #[test]
    fn a_table_in_a_file_in_an_archive_draws_as_one_beside_it() {
        for (alone, packed) in [
            ("b.xlsx//Sheet1", "x.zip//b.xlsx//Sheet1"),
            ("k=1/b.db//t", "x.zip//k=1/b.db//t"),
            ("b.db//orders", "x.zip//d/b.db//orders"),
        ] {
            assert_eq!(sample_path(packed), sample_path(alone), "{packed}");
        }
    }
}
