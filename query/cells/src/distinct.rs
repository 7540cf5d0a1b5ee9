//! The distinct values of a table's text columns, most frequent first, and how they are kept.

use std::sync::{Arc, OnceLock};

use limn_profile::Redact;
use limn_segment::TableRecord;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::BUDGET;
use crate::find::{Pool, Value};

/// Version of what is kept: part of every key.
const VERSION: u32 = 2;

/// Distinct values of a table, at most as many as the budget was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distinct {
    /// The columns of which values were counted.
    pub columns: Vec<DistinctColumn>,
}

/// The values of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DistinctColumn {
    /// As SQL calls it.
    pub name: String,
    /// Each value with the number of rows that have it, most frequent first, then by value.
    pub values: Vec<(String, u64)>,
    /// Whether every row has one of them, one that is no cell, or none.
    pub is_whole: bool,
    /// Whether rows have values that are no cells: too long, or kept out of the index.
    pub has_others: bool,
}

impl Distinct {
    pub(crate) fn of(&self, name: &str) -> Option<&DistinctColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// As it is kept.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // Texts and numbers: this cannot fail.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads what was kept; `None` if it is nothing of the kind.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Distinct> {
        serde_json::from_slice(bytes).ok()
    }

    /// About how many bytes it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let values = self.columns.iter().flat_map(|column| &column.values);
        let texts: usize = values.map(|(value, _)| value.len() + 48).sum();
        texts + 64 * self.columns.len()
    }
}

/// A value with its vector.
#[derive(Debug)]
pub(crate) struct ValueVector {
    /// Its place among all values.
    pub(crate) at: u32,
    /// Of unit length.
    pub(crate) vector: Vec<f32>,
}

/// Distinct values, with what is made of them when it is needed first.
#[derive(Debug, Default)]
pub struct Kept {
    /// The values.
    pub distinct: Distinct,
    /// Those that are compared by meaning.
    pub(crate) vectors: OnceLock<Vec<ValueVector>>,
    pool: OnceLock<Pool>,
}

/// Bytes of what values are found by, for each byte of the values: twice their keys, their
/// trigrams and their words.
const FOUND_BY: usize = 8;

impl Kept {
    /// About how many bytes it takes, with what is made of it but for the vectors.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.distinct.bytes().saturating_mul(1 + FOUND_BY)
    }

    /// Whether a column has a value that was counted.
    pub(crate) fn has(&self, column: &str, value: &str) -> bool {
        let column = self.distinct.of(column).into_iter();
        column.flat_map(|it| &it.values).any(|(it, _)| it == value)
    }

    /// The values by what they are found by, which is made once: in the order of the columns.
    pub(crate) fn pool(&self) -> &Pool {
        self.pool.get_or_init(|| {
            let columns = self.distinct.columns.iter();
            let values = columns.flat_map(|column| {
                let name: Arc<str> = Arc::from(column.name.as_str());
                let value = move |(text, count): &(String, u64)| Value {
                    column: Arc::clone(&name),
                    text: Arc::from(text.as_str()),
                    count: Some(*count),
                };
                column.values.iter().map(value)
            });
            Pool::of(values.collect())
        })
    }
}

impl From<Distinct> for Kept {
    fn from(distinct: Distinct) -> Kept {
        Kept {
            distinct,
            vectors: OnceLock::new(),
            pool: OnceLock::new(),
        }
    }
}

/// What a table's distinct values depend on, as a hash: its files as the index knows them, how they
/// are read, and what is kept out of the index.
#[must_use]
pub fn key(record: &TableRecord, redact: Redact) -> u128 {
    let mut hasher = Xxh3::new();
    let mut add = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    add(&format!("{VERSION} {BUDGET} {redact}"));
    add(&record.lake);
    add(&record.name);
    for column in &record.columns {
        add(&column.name);
        add(&column.data_type);
        add(column.notation.as_deref().unwrap_or_default());
        add(if column.withheld { "withheld" } else { "" });
    }
    for file in record.files_now() {
        add(&file.path);
        add(&file.fingerprint);
        add(file.etag.as_deref().unwrap_or_default());
        add(file.version.as_deref().unwrap_or_default());
        add(&format!("{} {}", file.size, file.modified_ms));
        add(file.declared.as_deref().unwrap_or_default());
        // How it is read is in its summary.
        add(file.summary.as_deref().unwrap_or_default());
        add(file.error.as_deref().unwrap_or_default());
    }
    hasher.digest128()
}

#[cfg(test)]
mod tests {
    use limn_segment::{ColumnRecord, FileRecord};

    use super::*;

    #[test]
    fn what_is_kept_is_of_one_version_of_a_table() {
        let table = TableRecord {
            name: "a".to_owned(),
            files: vec![FileRecord {
                path: "a.csv".to_owned(),
                fingerprint: "1".to_owned(),
                ..FileRecord::default()
            }],
            columns: vec![ColumnRecord::default()],
            ..TableRecord::default()
        };
        let record = |change: &dyn Fn(&mut TableRecord)| {
            let mut record = table.clone();
            change(&mut record);
            key(&record, Redact::Off)
        };
        let same = record(&|_| {});
        assert_eq!(same, record(&|it| it.notes.push("a note".to_owned())));
        let changes: [&dyn Fn(&mut TableRecord); 4] = [
            &|it| it.files[0].fingerprint = "2".to_owned(),
            &|it| it.columns[0].withheld = true,
            &|it| it.name = "b".to_owned(),
            &|it| it.files[0].summary = Some("{}".to_owned()),
        ];
        for change in changes {
            assert_ne!(same, record(change));
        }
        assert_ne!(same, key(&table, Redact::Marked));
        let distinct = Distinct {
            columns: vec![DistinctColumn {
                name: "x\"y".to_owned(),
                values: vec![("\u{0}\n\u{202e}".to_owned(), 3)],
                is_whole: true,
                has_others: false,
            }],
        };
        assert_eq!(
            Distinct::from_bytes(&distinct.to_bytes()).as_ref(),
            Some(&distinct)
        );
        assert_eq!(Distinct::from_bytes(b"{\"columns\":3}"), None);
    }
}
