//! A file's own documentation of its table and columns: key-value metadata and fields' metadata
//! (Parquet, Arrow), user metadata and types' attributes (ORC), comments that Spark keeps in its
//! own schema, `doc` (Avro), comments in a `CREATE TABLE` (SQLite). All of it has been read with
//! the schema: it costs no request.

use std::collections::HashMap;

use limn_profile::text::prefix;
use limn_store::one_line;
use serde_json::Value;

/// Characters kept of a description.
pub const DESCRIPTION_CHARS: usize = 600;
/// Characters kept of a file's description of its table.
pub(super) const TABLE_CHARS: usize = 4000;
/// Spark's schema as JSON is looked at up to this length.
const SPARK_SCHEMA: usize = 1 << 20;
/// Where Spark writes it.
const SPARK: &str = "org.apache.spark.sql.parquet.row.metadata";
/// Keys of descriptions, in the order in which they hold. Others (pandas', geometries') are for
/// programs.
const KEYS: [&str; 4] = ["description", "comment", "doc", "title"];

/// A file's own documentation.
#[derive(Debug, Default)]
pub(super) struct Documented {
    pub(super) table: Option<String>,
    /// By the columns' places in the file.
    pub(super) columns: Vec<Option<String>>,
}

impl Documented {
    /// Takes from another source what this one lacks.
    pub(super) fn fill(&mut self, other: Documented) {
        self.table = self.table.take().or(other.table);
        for (column, more) in self.columns.iter_mut().zip(other.columns) {
            *column = column.take().or(more);
        }
    }
}

/// The key of descriptions that this is, in any case.
pub(super) fn key_of(key: &[u8]) -> Option<&'static str> {
    let mut keys = KEYS.iter().copied();
    keys.find(|it| key.eq_ignore_ascii_case(it.as_bytes()))
}

/// The description of a column in its field's metadata.
pub(super) fn column(metadata: &HashMap<String, String>) -> Option<String> {
    said(metadata, DESCRIPTION_CHARS)
}

/// The descriptions in a file's metadata of the table, and of columns of these names.
pub(super) fn file<'a>(
    metadata: &HashMap<String, String>,
    columns: impl Iterator<Item = &'a str>,
) -> Documented {
    let spark = metadata.get(SPARK).filter(|it| it.len() <= SPARK_SCHEMA);
    let spark: Option<Value> = spark.and_then(|json| serde_json::from_str(json).ok());
    let fields = spark
        .as_ref()
        .and_then(|spark| spark.get("fields")?.as_array());
    let comments: HashMap<&str, &str> = fields
        .into_iter()
        .flatten()
        .filter_map(|field| {
            let comment = field.get("metadata")?.get("comment")?.as_str()?;
            Some((field.get("name")?.as_str()?, comment))
        })
        .collect();
    Documented {
        table: said(metadata, TABLE_CHARS),
        columns: columns
            .map(|name| kept(comments.get(name)?, DESCRIPTION_CHARS))
            .collect(),
    }
}

/// An Avro schema's documentation of its record and its fields.
pub(super) fn avro(schema: &Value) -> Documented {
    let mut record = schema;
    // A type may be wrapped in one.
    while let Some(inner) = record.get("type").filter(|inner| inner.is_object()) {
        record = inner;
    }
    let doc = |of: &Value, most| kept(of.get("doc")?.as_str()?, most);
    let fields = record.get("fields").and_then(Value::as_array);
    Documented {
        table: doc(record, TABLE_CHARS),
        columns: fields
            .into_iter()
            .flatten()
            .map(|field| doc(field, DESCRIPTION_CHARS))
            .collect(),
    }
}

fn said(metadata: &HashMap<String, String>, most: usize) -> Option<String> {
    let by_key = |key: &&str| {
        // Nearly all spell it so.
        let exact = metadata.get(*key);
        exact.or_else(|| {
            let mut like = metadata
                .iter()
                .filter(|(it, _)| it.eq_ignore_ascii_case(key));
            like.by_ref().min().map(|(_, text)| text)
        })
    };
    let mut texts = KEYS.iter().filter_map(by_key);
    texts.find_map(|text| kept(text, most))
}

/// A text in one line, if it has words.
pub(super) fn kept(text: &str, most: usize) -> Option<String> {
    let line = one_line(prefix(text.trim(), most));
    let line = line.trim();
    line.chars()
        .any(char::is_alphabetic)
        .then(|| line.to_owned())
}
