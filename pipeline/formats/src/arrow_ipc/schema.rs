//! The schema of an Arrow file or stream, checked before Arrow's own conversion, which takes a
//! sound one for granted.

use std::collections::HashMap;

use arrow::datatypes::{DataType, Field, SchemaRef};
use arrow::ipc::convert::fb_to_schema;
use arrow::ipc::{self, DateUnit, Endianness, IntervalUnit, Precision, TimeUnit, Type, UnionMode};
use limn_store::one_line;

use crate::error::FileErrorKind;
use crate::{Failure, MAX_COLUMNS};

/// Fields in a schema, those within others included.
const MAX_FIELDS: usize = 4 * MAX_COLUMNS;
/// Values of fixed length have no more bytes than this: a null takes as many.
const MAX_FIXED: i32 = 64 << 10;

/// The schema in Arrow's terms.
pub(super) fn schema(schema: ipc::Schema<'_>) -> Result<SchemaRef, Failure> {
    if schema.endianness() != Endianness::Little {
        return Err(
            Failure::new(FileErrorKind::Unsupported, "its numbers are big-endian")
                .with_remedy("write it on a machine of another kind, or as Parquet"),
        );
    }
    let Some(fields) = schema.fields() else {
        return Err(Failure::new(FileErrorKind::Empty, "it has no columns"));
    };
    if fields.is_empty() {
        return Err(Failure::new(FileErrorKind::Empty, "it has no columns"));
    }
    if fields.len() > MAX_COLUMNS {
        return Err(Failure::too_many_columns(fields.len()));
    }
    let mut seen = 0;
    for field in fields {
        check(field, &mut seen).map_err(|wrong| {
            let name = one_line(field.name().unwrap_or_default());
            let about = |what: &str| format!("the type of column {name}: {what}");
            match wrong {
                Wrong::Broken(what) => Failure::new(FileErrorKind::Corrupt, about(what)),
                Wrong::Unknown(what) => Failure::new(FileErrorKind::Unsupported, about(what))
                    .with_remedy("write it without that column, or with a simpler type"),
            }
        })?;
    }
    Ok(fb_to_schema(schema).into())
}

enum Wrong {
    Broken(&'static str),
    Unknown(&'static str),
}

fn check(field: ipc::Field<'_>, seen: &mut usize) -> Result<(), Wrong> {
    *seen += 1;
    if *seen > MAX_FIELDS {
        return Err(Wrong::Unknown("too many fields"));
    }
    if let Some(dictionary) = field.dictionary() {
        let keys = dictionary.indexType().ok_or(MISSING)?;
        is([8, 16, 32, 64].contains(&keys.bitWidth()))?;
    }
    let children: Vec<ipc::Field<'_>> = field.children().into_iter().flatten().collect();
    match field.type_type() {
        Type::List
        | Type::LargeList
        | Type::ListView
        | Type::LargeListView
        | Type::FixedSizeList
        | Type::Map
        | Type::RunEndEncoded
        | Type::Union => check_nested(field, &children)?,
        _ => check_scalar(field)?,
    }
    children
        .into_iter()
        .try_for_each(|child| check(child, seen))
}

const MISSING: Wrong = Wrong::Broken("parts are missing");

fn is(sound: bool) -> Result<(), Wrong> {
    match sound {
        true => Ok(()),
        false => Err(Wrong::Broken("broken")),
    }
}

/// Checks a type whose values have no values within, or a struct.
fn check_scalar(field: ipc::Field<'_>) -> Result<(), Wrong> {
    let unit = |unit: TimeUnit| is(unit.variant_name().is_some());
    match field.type_type() {
        Type::Null
        | Type::Bool
        | Type::Binary
        | Type::BinaryView
        | Type::LargeBinary
        | Type::Utf8
        | Type::Utf8View
        | Type::LargeUtf8
        | Type::Struct_ => {}
        Type::Int => {
            let int = field.type_as_int().ok_or(MISSING)?;
            is([8, 16, 32, 64].contains(&int.bitWidth()))?;
        }
        Type::FixedSizeBinary => {
            let fixed = field.type_as_fixed_size_binary().ok_or(MISSING)?;
            is(fixed.byteWidth() >= 0)?;
            if fixed.byteWidth() > MAX_FIXED {
                return Err(Wrong::Unknown("values of fixed length are too long"));
            }
        }
        Type::FloatingPoint => {
            let float = field.type_as_floating_point().ok_or(MISSING)?;
            is([Precision::HALF, Precision::SINGLE, Precision::DOUBLE]
                .contains(&float.precision()))?;
        }
        Type::Date => {
            let date = field.type_as_date().ok_or(MISSING)?;
            is([DateUnit::DAY, DateUnit::MILLISECOND].contains(&date.unit()))?;
        }
        Type::Time => {
            let time = field.type_as_time().ok_or(MISSING)?;
            let sound = match time.bitWidth() {
                32 => [TimeUnit::SECOND, TimeUnit::MILLISECOND].contains(&time.unit()),
                64 => [TimeUnit::MICROSECOND, TimeUnit::NANOSECOND].contains(&time.unit()),
                _ => false,
            };
            is(sound)?;
        }
        Type::Timestamp => unit(field.type_as_timestamp().ok_or(MISSING)?.unit())?,
        Type::Duration => unit(field.type_as_duration().ok_or(MISSING)?.unit())?,
        Type::Interval => {
            let interval = field.type_as_interval().ok_or(MISSING)?;
            let known = [
                IntervalUnit::YEAR_MONTH,
                IntervalUnit::DAY_TIME,
                IntervalUnit::MONTH_DAY_NANO,
            ];
            is(known.contains(&interval.unit()))?;
        }
        Type::Decimal => {
            let decimal = field.type_as_decimal().ok_or(MISSING)?;
            let digits = match decimal.bitWidth() {
                32 => 9,
                64 => 18,
                128 => 38,
                256 => 76,
                _ => return Err(Wrong::Broken("broken")),
            };
            is((1..=digits).contains(&decimal.precision()))?;
            is((-digits..=digits).contains(&decimal.scale()))?;
        }
        _ => return Err(Wrong::Unknown("not known to this reader")),
    }
    Ok(())
}

/// Checks the type of lists, maps, runs and unions.
fn check_nested(field: ipc::Field<'_>, children: &[ipc::Field<'_>]) -> Result<(), Wrong> {
    match field.type_type() {
        Type::FixedSizeList => {
            let list = field.type_as_fixed_size_list().ok_or(MISSING)?;
            is(children.len() == 1 && list.listSize() >= 0)?;
            if list.listSize() > MAX_FIXED {
                return Err(Wrong::Unknown("lists of fixed length are too long"));
            }
        }
        Type::Map => {
            field.type_as_map().ok_or(MISSING)?;
            is(matches!(children, [entries] if is_entries(*entries)))?;
        }
        Type::RunEndEncoded => {
            let sound = match children {
                [ends, _] => {
                    let int = ends.type_as_int();
                    let width = int.filter(|int| int.is_signed()).map(|int| int.bitWidth());
                    !ends.nullable()
                        && ends.dictionary().is_none()
                        && [Some(16), Some(32), Some(64)].contains(&width)
                }
                _ => false,
            };
            is(sound)?;
        }
        Type::Union => {
            let union = field.type_as_union().ok_or(MISSING)?;
            is([UnionMode::Dense, UnionMode::Sparse].contains(&union.mode()))?;
            is(!children.is_empty() && children.len() <= 127)?;
            if let Some(ids) = union.typeIds() {
                let mut ids: Vec<i32> = ids.iter().collect();
                is(ids.len() == children.len() && ids.iter().all(|id| (0..=127).contains(id)))?;
                ids.sort_unstable();
                ids.dedup();
                is(ids.len() == children.len())?;
            }
        }
        _ => return is(children.len() == 1),
    }
    Ok(())
}

/// Whether a map's entries are pairs.
fn is_entries(entries: ipc::Field<'_>) -> bool {
    entries.type_type() == Type::Struct_
        && entries.dictionary().is_none()
        && !entries.nullable()
        && entries.children().is_some_and(|pair| pair.len() == 2)
}

/// The types of the values of dictionaries, by the dictionaries' ids.
pub(super) fn dictionaries<'a>(fields: impl IntoIterator<Item = &'a Field>) -> HashMap<i64, Field> {
    let mut found = HashMap::new();
    for field in fields {
        visit(field, &mut |field| {
            if let (Some(id), DataType::Dictionary(_, values)) = (id(field), field.data_type()) {
                let values = Field::new(field.name(), values.as_ref().clone(), true);
                found.entry(id).or_insert(values);
            }
        });
    }
    found
}

/// Whether some dictionary below this field is none that is `known`.
pub(super) fn lacks_dictionary(field: &Field, known: impl Fn(i64) -> bool) -> bool {
    let mut lacks = false;
    visit(field, &mut |field| {
        lacks |= id(field).is_some_and(|id| !known(id));
    });
    lacks
}

/// The id of a field's dictionary, if it has one.
pub(super) fn id(field: &Field) -> Option<i64> {
    // Ids are known to schemas that were read from IPC only, which is what these are.
    #[allow(deprecated)]
    field.dict_id()
}

fn visit(field: &Field, found: &mut impl FnMut(&Field)) {
    found(field);
    below(field.data_type(), found);
}

fn below(data_type: &DataType, found: &mut impl FnMut(&Field)) {
    match data_type {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => visit(field, found),
        DataType::Struct(fields) => fields.iter().for_each(|field| visit(field, found)),
        DataType::Union(fields, _) => fields.iter().for_each(|(_, field)| visit(field, found)),
        DataType::RunEndEncoded(ends, values) => {
            visit(ends, found);
            visit(values, found);
        }
        DataType::Dictionary(_, values) => below(values, found),
        _ => {}
    }
}
