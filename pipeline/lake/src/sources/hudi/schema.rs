//! The columns of a Hudi table: by the schema that its newest commit was written with, and, where
//! columns may be renamed, by the history of its schema.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use limn_formats::{AvroColumn, FileError, FileErrorKind, avro_columns, column_type};
use limn_profile::{LoggedColumn, LoggedTable};
use limn_store::one_line;
use serde::Deserialize;

use super::Flaw;
use super::properties::{PartitionField, Properties};

/// The columns that writers add. They say of each row which write it came with.
pub(super) const METADATA_COLUMNS: [&str; 6] = [
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
    "_hoodie_operation",
];
/// The property that has the schema with which the table was created.
pub(super) const CREATED: &str = "hoodie.table.create.schema";

/// The versions of a table's schema, where it may rename columns (`.hoodie/.schema`).
#[derive(Deserialize)]
struct History {
    schemas: Vec<Version>,
}

#[derive(Deserialize)]
struct Version {
    #[serde(default)]
    version_id: i64,
    fields: Vec<Field>,
}

#[derive(Deserialize)]
struct Field {
    id: i64,
    name: String,
}

/// The names that columns had in older versions, by their names now.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct OldNames(HashMap<String, Vec<String>>);

impl OldNames {
    /// Those of a table's history as JSON.
    ///
    /// # Errors
    /// It is no history, or a name was given from one column to another, so that files do not say
    /// whose it is.
    pub(super) fn of(history: &[u8]) -> Result<OldNames, Flaw> {
        let history: History = serde_json::from_slice(history)
            .map_err(|error| Flaw::NoHistory(one_line(&error.to_string())))?;
        let versions = history.schemas.iter();
        let Some(newest) = versions.max_by_key(|it| it.version_id) else {
            return Ok(OldNames::default());
        };
        let mut names: BTreeMap<i64, BTreeSet<&str>> = BTreeMap::new();
        let mut owners: HashMap<&str, i64> = HashMap::new();
        for field in history.schemas.iter().flat_map(|it| &it.fields) {
            let owner = *owners.entry(&field.name).or_insert(field.id);
            if owner != field.id {
                return Err(Flaw::NameGivenOn(one_line(&field.name)));
            }
            names.entry(field.id).or_default().insert(&field.name);
        }
        let renamed = newest.fields.iter().filter_map(|field| {
            let names = names.get(&field.id).filter(|names| names.len() > 1)?;
            let names = names.iter().map(|it| (*it).to_owned()).collect();
            Some((field.name.clone(), names))
        });
        Ok(OldNames(renamed.collect()))
    }
}

/// The table as its newest schema and its properties have it.
///
/// # Errors
/// The schema is broken, or too large; about `object`, which it comes from.
pub(super) async fn table(
    (schema, object): (&str, &str),
    old_names: &OldNames,
    properties: &Properties,
) -> Result<LoggedTable, FileError> {
    let about = |failure: limn_formats::Failure| failure.about(object);
    let columns = avro_columns(schema.to_owned()).await.map_err(about)?;
    let is_own = |it: &&AvroColumn| !METADATA_COLUMNS.contains(&it.name.as_str());
    let has_metadata = properties
        .get("hoodie.populate.meta.fields")
        .is_none_or(|it| !it.eq_ignore_ascii_case("false"));
    let mut columns: Vec<LoggedColumn> = columns
        .iter()
        .filter(is_own)
        .map(|it| column(it, old_names))
        .collect();
    let partition = properties.partition();
    add_dropped(&mut columns, &partition, properties).await;
    let mut notes = Vec::new();
    if let Some(name) = properties.get("hoodie.table.name") {
        notes.push(format!("its properties call it {}", one_line(name)));
    }
    if has_metadata {
        let names = "_hoodie_commit_time and the like";
        notes.push(format!(
            "the columns that its writer adds ({names}) are left out"
        ));
    }
    let key = key(&columns, &partition, properties);
    Ok(LoggedTable {
        columns,
        description: None,
        key,
        notes,
        nested: None,
    })
}

fn column(column: &AvroColumn, old_names: &OldNames) -> LoggedColumn {
    let (data_type, arrow_type) = column_type(&column.arrow_type);
    LoggedColumn {
        name: column.name.clone(),
        stored_as: old_names.0.get(&column.name).cloned().unwrap_or_default(),
        data_type,
        arrow_type,
        description: column.description.clone(),
        ..LoggedColumn::default()
    }
}

/// Columns that only folders have, at the end. Where the table's first schema does not say their
/// types they are texts.
async fn add_dropped(
    columns: &mut Vec<LoggedColumn>,
    partition: &[PartitionField],
    properties: &Properties,
) {
    if !properties.is_set("hoodie.datasource.write.drop.partition.columns") {
        return;
    }
    let has = |name: &str| columns.iter().any(|it| it.name == name);
    let missing: Vec<&str> = partition.iter().map(|it| it.name.as_str()).collect();
    let missing: Vec<&str> = missing.into_iter().filter(|it| !has(it)).collect();
    let created = match properties.get(CREATED).filter(|_| !missing.is_empty()) {
        // A newer one is there, so that this one need not be in order.
        Some(created) => avro_columns(created.to_owned()).await.unwrap_or_default(),
        None => Vec::new(),
    };
    columns.extend(missing.into_iter().map(|name| {
        let text = AvroColumn {
            name: name.to_owned(),
            arrow_type: arrow::datatypes::DataType::Utf8View,
            description: None,
        };
        let known = created.iter().find(|it| it.name == name);
        column(known.unwrap_or(&text), &OldNames::default())
    }));
}

/// The columns that identify a row: keys are so within a partition.
fn key(
    columns: &[LoggedColumn],
    partition: &[PartitionField],
    properties: &Properties,
) -> Vec<String> {
    let mut key: Vec<&str> = properties.record_key();
    if !key.is_empty() {
        key.extend(partition.iter().map(|it| it.name.as_str()));
    }
    let mut names: Vec<String> = Vec::new();
    for name in key {
        // One that is a field of a record is no column.
        if !columns.iter().any(|it| it.name == name) {
            return Vec::new();
        }
        if !names.iter().any(|it| it == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// The values of partition fields by the folder of a file within the table's.
///
/// # Errors
/// The folder is not one of the table's partitions.
pub(super) fn values(
    folder: &str,
    fields: &[PartitionField],
    properties: &Properties,
) -> Result<Vec<(String, Option<String>)>, Flaw> {
    let parts: Vec<&str> = match fields {
        [] => return Ok(Vec::new()),
        // A date may be written as several folders.
        [_] => vec![folder],
        _ => folder.split('/').collect(),
    };
    if parts.len() != fields.len() {
        return Err(Flaw::Folder {
            folder: one_line(folder),
            fields: fields.len(),
        });
    }
    let is_encoded = properties.is_set("hoodie.datasource.write.partitionpath.urlencode");
    let value = |(field, part): (&PartitionField, &str)| {
        let named = part.strip_prefix(&field.name);
        let value = named.and_then(|it| it.strip_prefix('=')).unwrap_or(part);
        let is_null = value == crate::place::HIVE_NULL || value.is_empty();
        let value = match is_encoded {
            true => crate::place::percent_decoded(value),
            false => value.to_owned(),
        };
        (field.name.clone(), (!is_null).then_some(value))
    };
    let values = fields.iter().zip(parts).filter(|(field, _)| field.is_plain);
    Ok(values.map(value).collect())
}

/// That a schema is there at all.
pub(super) fn missing(object: &str) -> FileError {
    let cause = "neither its newest commits nor its properties have a schema of the table";
    FileError::new(object, FileErrorKind::Unsupported, cause)
        .with_remedy("write to the table once more with an engine that keeps its schema")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn fields(names: &[&str]) -> Vec<PartitionField> {
        let field = |name: &&str| PartitionField {
            name: (*name).to_owned(),
            is_plain: true,
        };
        names.iter().map(field).collect()
    }

    #[test]
    fn partition_values_are_those_of_folders() {
        let encoded = "hoodie.datasource.write.partitionpath.urlencode=true";
        for (folder, names, properties, expected) in [
            (
                "north/2024-01-01",
                &["region", "day"][..],
                "",
                Some(vec![Some("north"), Some("2024-01-01")]),
            ),
            (
                "region=a%2Fb/day=__HIVE_DEFAULT_PARTITION__",
                &["region", "day"],
                encoded,
                Some(vec![Some("a/b"), None]),
            ),
            ("a%2Fb", &["region"], "", Some(vec![Some("a%2Fb")])),
            ("2024/01/02", &["day"], "", Some(vec![Some("2024/01/02")])),
            ("a/b/c", &["region", "day"], "", None),
            ("", &["region", "day"], "", None),
            ("", &[], "", Some(vec![])),
        ] {
            let found = values(folder, &fields(names), &Properties::parse(properties));
            let found = found.ok();
            let found: Option<Vec<Option<&str>>> = found
                .as_ref()
                .map(|it| it.iter().map(|(_, value)| value.as_deref()).collect());
            assert_eq!(found, expected, "{folder}");
        }
    }

    #[test]
    fn renamed_columns_are_known_by_their_old_names() {
        let history = r#"{"schemas": [
            {"max_column_id": 2, "version_id": 20, "type": "record", "fields": [{"id": 0, "name": "id", "type": "long"}, {"id": 1, "name": "called", "optional": true, "type": "string"}]},
            {"max_column_id": 2, "version_id": 10, "type": "record", "fields": [{"id": 0, "name": "id", "type": "int"}, {"id": 1, "name": "name", "type": "string"}, {"id": 2, "name": "gone", "type": "int"}]}]}"#;
        let names = OldNames::of(history.as_bytes()).unwrap();
        let called = ["called".to_owned(), "name".to_owned()].to_vec();
        assert_eq!(names, OldNames([("called".to_owned(), called)].into()));
        let given = history.replace("gone", "called");
        let given = OldNames::of(given.as_bytes());
        assert_eq!(given, Err(Flaw::NameGivenOn("called".to_owned())));
        assert!(OldNames::of(b"{}").is_err());
        let none = OldNames::of(br#"{"schemas": []}"#);
        assert_eq!(none, Ok(OldNames::default()));
    }
}
