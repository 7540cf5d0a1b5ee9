//! The metadata file of an Iceberg table (specification, "Table Metadata"), as far as a table's
//! rows depend on it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use arrow::datatypes::{DataType as Arrow, TimeUnit};
use limn_formats::column_type;
use limn_profile::{DataType, LoggedColumn, NestedName, NestedNames};
use limn_store::one_line;
use serde::Deserialize;
use serde_json::Value;

/// Names that files without ids have for columns.
const NAME_MAPPING: &str = "schema.name-mapping.default";

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Metadata {
    pub(super) format_version: u32,
    pub(super) location: String,
    #[serde(default)]
    pub(super) last_updated_ms: i64,
    #[serde(default)]
    current_snapshot_id: Option<i64>,
    #[serde(default)]
    snapshots: Vec<Snapshot>,
    #[serde(default)]
    schemas: Vec<Schema>,
    /// Of version 1.
    schema: Option<Schema>,
    current_schema_id: Option<i32>,
    #[serde(default)]
    partition_specs: Vec<PartitionSpec>,
    /// Of version 1.
    #[serde(default)]
    partition_spec: Vec<PartitionField>,
    #[serde(default)]
    pub(super) properties: HashMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Snapshot {
    pub(super) snapshot_id: i64,
    pub(super) manifest_list: Option<String>,
    /// Of version 1.
    #[serde(default)]
    pub(super) manifests: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Schema {
    #[serde(default)]
    schema_id: Option<i32>,
    fields: Vec<SchemaField>,
    #[serde(default)]
    identifier_field_ids: Vec<i32>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct SchemaField {
    id: i32,
    name: String,
    r#type: Value,
    doc: Option<String>,
    initial_default: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct PartitionSpec {
    spec_id: i32,
    pub(super) fields: Vec<PartitionField>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct PartitionField {
    pub(super) source_id: Option<i32>,
    transform: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct MappedName {
    field_id: Option<i32>,
    #[serde(default)]
    names: Vec<String>,
}

/// What is wrong with a metadata file that is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Flaw {
    #[error("its metadata has no snapshot {0}, which it says it is")]
    NoSnapshot(i64),
    #[error("its metadata has no schema")]
    NoSchema,
    #[error("its name mapping is broken")]
    NameMapping,
}

impl Metadata {
    /// The snapshot that the table is; none of a table without rows.
    pub(super) fn snapshot(&self) -> Result<Option<&Snapshot>, Flaw> {
        let Some(current) = self.current_snapshot_id.filter(|id| *id != -1) else {
            return Ok(None);
        };
        let mut snapshots = self.snapshots.iter();
        let found = snapshots.find(|it| it.snapshot_id == current);
        found.map(Some).ok_or(Flaw::NoSnapshot(current))
    }

    fn schema(&self) -> Result<&Schema, Flaw> {
        let mut schemas = self.schemas.iter();
        let current = schemas.find(|it| it.schema_id == self.current_schema_id);
        let schema = current.or(self.schema.as_ref());
        schema.ok_or(Flaw::NoSchema)
    }

    /// The fields that files of a partition specification have values for.
    pub(super) fn partition(&self, spec: i32) -> Option<&[PartitionField]> {
        let mut specs = self.partition_specs.iter();
        match specs.find(|it| it.spec_id == spec) {
            Some(spec) => Some(&spec.fields),
            None => self
                .partition_specs
                .is_empty()
                .then_some(&self.partition_spec),
        }
    }

    /// Whether files of a partition specification are in no partition.
    pub(super) fn is_unpartitioned(&self, spec: i32) -> bool {
        let fields = self.partition(spec);
        fields.is_some_and(|fields| fields.iter().all(|it| it.transform == "void"))
    }

    /// The table's columns.
    pub(super) fn columns(&self) -> Result<Vec<LoggedColumn>, Flaw> {
        let mapping = self.properties.get(NAME_MAPPING);
        let mapping = mapping.map(|it| serde_json::from_str::<Vec<MappedName>>(it));
        let mapping = mapping.transpose().map_err(|_| Flaw::NameMapping)?;
        let mapping = mapping.unwrap_or_default();
        let column = |field: &SchemaField| {
            let mut mapped = mapping.iter();
            let mapped = mapped.find(|it| it.field_id == Some(field.id));
            let (data_type, arrow_type) = type_of(&field.r#type);
            LoggedColumn {
                name: field.name.clone(),
                id: Some(field.id),
                stored_as: mapped.map(|it| it.names.clone()).unwrap_or_default(),
                data_type,
                arrow_type,
                description: field.doc.as_deref().map(one_line),
                missing: field.initial_default.as_ref().and_then(plain),
            }
        };
        Ok(self.schema()?.fields.iter().map(column).collect())
    }

    /// What fields within columns are called today, where any was renamed or dropped: files have
    /// the names of when they were written.
    pub(super) fn nested(&self) -> Result<NestedNames, Flaw> {
        let current = self.schema()?;
        let now = current.within_columns();
        let columns: BTreeSet<i32> = current.fields.iter().map(|it| it.id).collect();
        let ids: BTreeSet<i32> = self.schemas.iter().filter_map(|it| it.schema_id).collect();
        let is_known = ids.len() == self.schemas.len() && (0..).zip(&ids).all(|(at, id)| at == *id);
        let name = |(id, name): (i32, Option<String>)| NestedName {
            id: Some(id),
            path: Vec::new(),
            name,
        };
        if ids.is_empty() || !is_known {
            // Old schemas were removed.
            let names = now.into_iter().map(|(id, (_, of))| (id, Some(of)));
            let fields: Vec<NestedName> = names.map(name).collect();
            return Ok(NestedNames {
                only: !fields.is_empty(),
                fields,
            });
        }
        let mut changed: BTreeMap<i32, Option<String>> = BTreeMap::new();
        for (id, (column, before)) in self.schemas.iter().flat_map(Schema::within_columns) {
            let today = now.get(&id).map(|(_, name)| name.clone());
            if columns.contains(&column) && today.as_ref() != Some(&before) {
                changed.insert(id, today);
            }
        }
        Ok(NestedNames {
            fields: changed.into_iter().map(name).collect(),
            only: false,
        })
    }

    /// The names of the columns that identify a row.
    pub(super) fn key(&self) -> Vec<String> {
        let Ok(schema) = self.schema() else {
            return Vec::new();
        };
        let name = |id: &i32| {
            let mut fields = schema.fields.iter();
            Some(fields.find(|it| it.id == *id)?.name.clone())
        };
        schema
            .identifier_field_ids
            .iter()
            .filter_map(name)
            .collect()
    }
}

impl Schema {
    /// The fields of structs within columns, by id: the column that each is in, and its name.
    fn within_columns(&self) -> BTreeMap<i32, (i32, String)> {
        let mut found = BTreeMap::new();
        for column in &self.fields {
            // JSON is read to no more than 128 levels.
            let mut types = vec![&column.r#type];
            while let Some(of) = types.pop() {
                types.extend(
                    ["element", "key", "value"]
                        .iter()
                        .filter_map(|it| of.get(it)),
                );
                let fields = of.get("fields").and_then(Value::as_array);
                for field in fields.into_iter().flatten() {
                    let id = field.get("id").and_then(Value::as_i64);
                    let id = id.and_then(|id| i32::try_from(id).ok());
                    let name = field.get("name").and_then(Value::as_str);
                    if let Some((id, name)) = id.zip(name) {
                        found.insert(id, (column.id, name.to_owned()));
                    }
                    types.extend(field.get("type"));
                }
            }
        }
        found
    }
}

impl PartitionField {
    /// Whether files have the values of the column itself.
    pub(super) fn is_identity(&self) -> bool {
        self.transform == "identity"
    }
}

/// A default value as text.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// The type of a column, and its Arrow type as text where that does not follow from it. What is
/// nested is as files have it.
fn type_of(value: &Value) -> (DataType, Option<String>) {
    let Some(name) = value.as_str() else {
        let name = value.get("type").and_then(Value::as_str);
        return (DataType::Other(name.unwrap_or("nested").to_owned()), None);
    };
    let timestamp = |unit, zone: Option<&str>| Arrow::Timestamp(unit, zone.map(Into::into));
    let arrow = match name {
        "boolean" => Arrow::Boolean,
        "int" => Arrow::Int32,
        "long" => Arrow::Int64,
        "float" => Arrow::Float32,
        "double" => Arrow::Float64,
        "date" => Arrow::Date32,
        "time" => Arrow::Time64(TimeUnit::Microsecond),
        "timestamp" => timestamp(TimeUnit::Microsecond, None),
        "timestamptz" => timestamp(TimeUnit::Microsecond, Some("UTC")),
        "timestamp_ns" => timestamp(TimeUnit::Nanosecond, None),
        "timestamptz_ns" => timestamp(TimeUnit::Nanosecond, Some("UTC")),
        "string" => Arrow::Utf8View,
        "uuid" => Arrow::FixedSizeBinary(16),
        "binary" => Arrow::Binary,
        "unknown" => return (DataType::Unknown, None),
        other => match (decimal(other), fixed(other)) {
            (Some((precision, scale)), _) => Arrow::Decimal128(precision, scale),
            (_, Some(length)) => Arrow::FixedSizeBinary(length),
            _ => return (DataType::Other(one_line(other)), None),
        },
    };
    column_type(&arrow)
}

/// `decimal(12, 2)`
fn decimal(name: &str) -> Option<(u8, i8)> {
    let (precision, scale) = name
        .strip_prefix("decimal(")?
        .strip_suffix(')')?
        .split_once(',')?;
    let precision: u8 = precision.trim().parse().ok()?;
    let scale: i8 = scale.trim().parse().ok()?;
    (1..=38).contains(&precision).then_some((precision, scale))
}

/// `fixed[16]`
fn fixed(name: &str) -> Option<i32> {
    name.strip_prefix("fixed[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use serde_json::json;

    use super::*;

    /// Metadata of these schemas, the last of which is the table's.
    fn of_schemas(schemas: &[(i32, Value)]) -> NestedNames {
        let schema = |(id, fields): &(i32, Value)| json!({"schema-id": id, "fields": fields});
        let schemas: Vec<Value> = schemas.iter().map(schema).collect();
        let metadata = json!({"format-version": 2, "location": "x", "schemas": schemas,
            "current-schema-id": schemas.last().unwrap()["schema-id"]});
        let metadata: Metadata = serde_json::from_value(metadata).unwrap();
        metadata.nested().unwrap()
    }

    /// A column that is a list of structs of these fields.
    fn column(fields: &[(i32, &str)]) -> Value {
        let fields: Vec<Value> = fields
            .iter()
            .map(|(id, name)| json!({"id": id, "name": name, "type": "string"}))
            .collect();
        json!({"id": 1, "name": "parts", "type": {"type": "list", "element-id": 9,
            "element": {"type": "struct", "fields": fields}}})
    }

    fn names(nested: &NestedNames) -> Vec<(i32, Option<&str>)> {
        let names = nested.fields.iter();
        names
            .map(|it| (it.id.unwrap(), it.name.as_deref()))
            .collect()
    }

    #[test]
    fn names_that_differ_from_those_of_before_are_said() {
        let old = json!([column(&[(2, "a"), (3, "b")]), {"id": 7, "name": "gone", "type":
            {"type": "struct", "fields": [{"id": 8, "name": "x", "type": "int"}]}}]);
        let same = json!([column(&[(2, "a"), (3, "b"), (4, "c")])]);
        let changed = json!([column(&[(2, "b"), (4, "c"), (5, "d")])]);
        let added = of_schemas(&[(0, old.clone()), (1, same)]);
        assert_eq!(added, NestedNames::default());
        let all = of_schemas(&[(0, old.clone()), (1, changed.clone())]);
        assert_eq!(names(&all), [(2, Some("b")), (3, None)]);
        assert!(!all.only);
        // Schemas between were removed: columns may have any name in files.
        let some = of_schemas(&[(0, old), (2, changed)]);
        assert_eq!(
            names(&some),
            [(2, Some("b")), (4, Some("c")), (5, Some("d"))]
        );
        assert!(some.only);
    }
}
