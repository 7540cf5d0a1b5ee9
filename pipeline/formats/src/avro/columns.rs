//! The columns that an Avro schema describes, where it lies in no Avro file but in the log of a
//! table.

use arrow::datatypes::{DataType as Arrow, TimeUnit};

use super::decoder::decoder;
use super::schema::Schema;
use crate::summarise::parse;
use crate::{Failure, FileErrorKind};

/// The longest schema: as JSON in memory it takes up to forty times its bytes.
const LONGEST: usize = 1 << 20;

/// A column of an Avro schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AvroColumn {
    /// Its name.
    pub name: String,
    /// Its type. A moment in time is in UTC.
    pub arrow_type: Arrow,
    /// Its `doc`, in one line.
    pub description: Option<String>,
}

/// The columns of an Avro schema of type record, in order (Avro specification 1.12, "Schema
/// Declaration"). Must be called on a tokio runtime.
///
/// # Errors
/// A [`Failure`]: the schema is broken, longer than 1 MiB, or of no table; has too many columns,
/// types or levels.
pub async fn avro_columns(schema: String) -> Result<Vec<AvroColumn>, Failure> {
    parse(move || of(&schema)).await
}

fn of(schema: &str) -> Result<Vec<AvroColumn>, Failure> {
    if schema.len() > LONGEST {
        let cause = format!("its schema has {} bytes, more than {LONGEST}", schema.len());
        return Err(Failure::new(FileErrorKind::Unsupported, cause));
    }
    let schema = Schema::parse(schema.as_bytes())?;
    let arrow = decoder(&schema, &[], 0)?.schema();
    let columns = arrow.fields().iter().zip(schema.documented.columns);
    let columns = columns.map(|(field, description)| AvroColumn {
        name: field.name().clone(),
        arrow_type: in_utc(field.data_type()),
        description,
    });
    Ok(columns.collect())
}

/// A type as files of other formats have it: `+00:00` is UTC.
fn in_utc(arrow: &Arrow) -> Arrow {
    let is_utc = |zone: &str| matches!(zone, "+00:00" | "UTC");
    match arrow {
        Arrow::Timestamp(unit, Some(zone)) if is_utc(zone) => utc(*unit),
        other => other.clone(),
    }
}

fn utc(unit: TimeUnit) -> Arrow {
    Arrow::Timestamp(unit, Some("UTC".into()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[tokio::test]
    async fn columns_are_those_of_the_schema() {
        let schema = r#"{"type": "record", "name": "t", "fields": [
            {"name": "id", "type": "long", "doc": "Number of\nthe order"},
            {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}], "default": null},
            {"name": "amount", "type": {"type": "fixed", "name": "f", "size": 6, "logicalType": "decimal", "precision": 12, "scale": 2}},
            {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]}]}"#;
        let columns = avro_columns(schema.to_owned()).await.unwrap();
        let names: Vec<&str> = columns.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["id", "at", "amount", "day"]);
        let types: Vec<String> = columns.iter().map(|it| it.arrow_type.to_string()).collect();
        assert_eq!(types[0], "Int64");
        assert_eq!(columns[1].arrow_type, utc(TimeUnit::Microsecond));
        assert!(types[2].starts_with("Decimal"), "{types:?}");
        assert_eq!(types[3], "Date32");
        assert_eq!(
            columns[0].description.as_deref(),
            Some("Number of the order")
        );
        for broken in ["", "null", "\"long\"", "{\"type\": \"record\"", "[[[]]]"] {
            assert!(avro_columns(broken.to_owned()).await.is_err(), "{broken}");
        }
        let long = " ".repeat(LONGEST + 1);
        assert!(avro_columns(long).await.is_err());
    }
}
