//! The rows of a data file that its table's log has deleted, by their numbers.
//!
//! A deletion vector is a set of row numbers in the portable format of Roaring bitmaps with 64-bit
//! keys, behind a magic number and, in an object, between a length and a checksum (Delta's
//! protocol, "Deletion vector format"; Iceberg's Puffin specification, `deletion-vector-v1`). What
//! it claims is checked before it is believed.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray, UInt32Array, new_null_array};
use arrow::compute::{CastOptions, cast, cast_with_options, take};
use arrow::datatypes::{DataType as Arrow, FieldRef, Int64Type};
use arrow::error::ArrowError;
use arrow::row::{RowConverter, SortField};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use limn_profile::{Constant, Deletes, Logged};
use limn_store::Store;
use roaring::RoaringTreemap;

use crate::Failure;
use crate::data_file::DataFile;
use crate::error::FileErrorKind;
use crate::format::Format;
use crate::object::ObjectRecord;
use crate::scanned::{Choice, chosen};
use crate::typed::{decoding, field_id};

/// Bytes of a vector, or of a file of deletes, at most.
const MOST_BYTES: u64 = 64 << 20;
/// Bytes of rows that are compared.
const MOST_ROWS: u64 = 256 << 20;
/// What a row takes besides its bytes.
const OF_A_ROW: u64 = 64;
/// Rows of a file that are deleted: each may be a gap among those that are read.
const MOST_DELETED: u64 = 16 << 20;
const COMPACT: &str = "rewrite the table without them (OPTIMIZE, or compaction)";
const MAGIC: [u8; 4] = [0xd1, 0xd3, 0x39, 0x64];

/// The row numbers that are deleted of a file; none where no row is.
///
/// # Errors
/// The store's; what says so is damaged.
pub(crate) async fn of(store: &Store, file: &DataFile) -> Result<Option<RoaringTreemap>, Failure> {
    let logged = file.declared.as_ref();
    let logged = logged.and_then(|it| it.reading.logged.as_deref());
    let Some(Logged {
        deletes, constants, ..
    }) = logged.filter(|it| !it.deletes.is_empty())
    else {
        return Ok(None);
    };
    let mut deleted = RoaringTreemap::new();
    for rows in deletes {
        deleted |= match rows {
            Deletes::Inline(text) => {
                let bytes = BASE64.decode(text).map_err(|_| damaged("its log"))?;
                vector(&bytes, "its log")?
            }
            Deletes::Vector { path, offset, size } => {
                // Between its length and its checksum.
                let range = *offset..offset.saturating_add(size.saturating_add(8));
                let bytes = fetch(store, path, range).await?;
                vector(framed(&bytes, path)?, path)?
            }
            Deletes::Positions { path, size, of } => positions(store, (path, *size), of).await?,
            Deletes::Equal {
                path,
                size,
                ids,
                missing,
            } => {
                let lacking = Lacking { constants, missing };
                equal(store, file, (path, *size), (ids, lacking)).await?
            }
        };
    }
    if deleted.len() > MOST_DELETED {
        let cause = format!("more than {MOST_DELETED} of its rows are deleted");
        return Err(Failure::new(FileErrorKind::Unsupported, cause).with_remedy(COMPACT));
    }
    Ok((!deleted.is_empty()).then_some(deleted))
}

/// The objects of deletes that are files: Parquet, ORC or Avro.
fn file_of((path, size): (&str, u64)) -> Result<DataFile, Failure> {
    let format = Format::of_path(path).filter(|it| *it != Format::Unnamed);
    let format = format.unwrap_or(Format::Parquet);
    check_size(path, size)?;
    let object = ObjectRecord::unversioned(path, size);
    Ok(DataFile::plain(object, format))
}

/// The row numbers that a file of position deletes has for the data file that it calls `of`.
async fn positions(store: &Store, place: (&str, u64), of: &str) -> Result<RoaringTreemap, Failure> {
    let columns: Choice = Box::new(|schema| {
        let place = |name: &str| schema.index_of(name).ok();
        place("file_path").into_iter().chain(place("pos")).collect()
    });
    let mut batches = chosen(store, file_of(place)?, columns);
    let mut deleted = RoaringTreemap::new();
    while let Some(batch) = batches.recv().await {
        let rows = batch?.rows;
        let [paths, numbers] = rows.columns() else {
            return Err(damaged(place.0));
        };
        let paths = cast(paths, &Arrow::Utf8).map_err(|_| damaged(place.0))?;
        let numbers = cast(numbers, &Arrow::Int64).map_err(|_| damaged(place.0))?;
        let numbers = numbers.as_primitive::<Int64Type>();
        for (path, row) in paths.as_string::<i32>().iter().zip(numbers) {
            if path == Some(of) {
                let row = row.and_then(|row| u64::try_from(row).ok());
                deleted.insert(row.ok_or_else(|| damaged(place.0))?);
            }
        }
    }
    Ok(deleted)
}

/// The places of columns with these ids, in this order; of fewer where a file lacks some.
fn with_ids(ids: &[i32]) -> Choice {
    let ids = ids.to_vec();
    Box::new(move |schema| {
        let id_of = |at: usize| field_id(schema.field(at));
        let place = |id: &i32| (0..schema.fields().len()).find(|at| id_of(*at) == Some(*id));
        ids.iter().filter_map(place).collect()
    })
}

/// A type that holds the values of others that a column may have had: whole numbers and fractions
/// widen.
fn widest(of: &Arrow) -> Arrow {
    match of {
        Arrow::Int32 => Arrow::Int64,
        Arrow::Float32 => Arrow::Float64,
        Arrow::Decimal128(_, scale) => Arrow::Decimal128(38, *scale),
        Arrow::Utf8 | Arrow::LargeUtf8 => Arrow::Utf8View,
        Arrow::FixedSizeBinary(_) | Arrow::LargeBinary => Arrow::Binary,
        Arrow::Dictionary(_, of) => widest(of),
        Arrow::Timestamp(unit, _) => Arrow::Timestamp(*unit, None),
        other => other.clone(),
    }
}

/// The compared columns of a batch of a file of deletes, in the order of their ids.
fn compared(batch: &RecordBatch, ids: &[i32], place: &str) -> Result<Vec<ArrayRef>, Failure> {
    let column = |(column, field): (&ArrayRef, &FieldRef)| match field_id(field) {
        Some(_) => cast(column, &widest(column.data_type())).map_err(|_| damaged(place)),
        None => Err(damaged(place)),
    };
    if batch.num_columns() != ids.len() {
        return Err(damaged(place));
    }
    let schema = batch.schema();
    let columns = batch.columns().iter().zip(schema.fields());
    columns.map(column).collect()
}

/// The values that columns have in all rows of a file which lacks them.
#[derive(Clone, Copy)]
struct Lacking<'a> {
    /// By what its log says of the file.
    constants: &'a [Constant],
    /// By what it says of the columns.
    missing: &'a [(i32, String)],
}

impl Lacking<'_> {
    /// The value of a column as one row: null where none is said. None where what is said is no
    /// value of the type.
    fn value(&self, id: i32, of: &Arrow) -> Option<ArrayRef> {
        let constant = self.constants.iter().find(|it| it.id == Some(id));
        let missing = || self.missing.iter().find(|(own, _)| *own == id);
        let text = match constant {
            Some(constant) => constant.value.as_deref(),
            None => missing().map(|(_, text)| text.as_str()),
        };
        let Some(text) = text else {
            return Some(new_null_array(of, 1));
        };
        // Bytes are written in digits.
        if of.is_binary() || matches!(of, Arrow::FixedSizeBinary(_)) {
            return None;
        }
        let text: ArrayRef = Arc::new(StringArray::from(vec![text]));
        let strictly = CastOptions {
            safe: false,
            ..CastOptions::default()
        };
        cast_with_options(&text, of, &strictly).ok()
    }
}

/// The compared columns of a batch of a data file, in the order of their ids; `lacking` are those
/// that it lacks, one row each.
fn completed(
    batch: &RecordBatch,
    (ids, lacking): (&[i32], &[Option<ArrayRef>]),
    place: &str,
) -> Result<Vec<ArrayRef>, Failure> {
    let places = UInt32Array::from(vec![0; batch.num_rows()]);
    let schema = batch.schema();
    let column = |(id, lacking): (&i32, &Option<ArrayRef>)| {
        let mut fields = schema.fields().iter();
        let at = fields.position(|field| field_id(field) == Some(*id));
        let column = match (at.map(|at| batch.column(at)), lacking) {
            (Some(column), _) => cast(column, &widest(column.data_type())),
            (None, Some(value)) => take(value, &places, None),
            (None, None) => {
                let cause = format!("it lacks a column by which {place} deletes rows");
                return Err(Failure::new(FileErrorKind::Unsupported, cause).with_remedy(COMPACT));
            }
        };
        column.map_err(|_| damaged(place))
    };
    ids.iter().zip(lacking).map(column).collect()
}

/// The row numbers of a data file whose values in some columns are those of a row of a file of
/// equality deletes.
async fn equal(
    store: &Store,
    file: &DataFile,
    place: (&str, u64),
    (ids, lacking): (&[i32], Lacking<'_>),
) -> Result<RoaringTreemap, Failure> {
    let failed = |error: ArrowError| decoding(&error.to_string());
    let mut converter: Option<(RowConverter, Vec<Option<ArrayRef>>)> = None;
    let (mut rows, mut bytes) = (HashSet::new(), 0);
    let mut batches = chosen(store, file_of(place)?, with_ids(ids));
    while let Some(batch) = batches.recv().await {
        let columns = compared(&batch?.rows, ids, place.0)?;
        let converter = match &mut converter {
            Some((converter, _)) => converter,
            None => {
                let types = columns.iter().map(|it| it.data_type());
                let values = ids.iter().zip(types.clone());
                let values = values.map(|(id, of)| lacking.value(*id, of)).collect();
                let fields = types.cloned().map(SortField::new);
                let new = RowConverter::new(fields.collect()).map_err(failed)?;
                &mut converter.insert((new, values)).0
            }
        };
        for row in &converter.convert_columns(&columns).map_err(failed)? {
            bytes += row.as_ref().len() as u64 + OF_A_ROW;
            rows.insert(row.as_ref().to_vec());
        }
        if bytes > MOST_ROWS {
            let cause = format!(
                "rows deleted by {} take more than {MOST_ROWS} bytes",
                place.0
            );
            return Err(Failure::new(FileErrorKind::Unsupported, cause).with_remedy(COMPACT));
        }
    }
    let mut deleted = RoaringTreemap::new();
    let Some((converter, lacking)) = converter else {
        return Ok(deleted);
    };
    let data = DataFile::plain(file.object.clone(), file.format);
    let mut batches = chosen(store, data, with_ids(ids));
    while let Some(batch) = batches.recv().await {
        let batch = batch?;
        let columns = completed(&batch.rows, (ids, &lacking), place.0)?;
        // Types that do not widen into each other are an error here.
        let values = converter.convert_columns(&columns).map_err(failed)?;
        let all = values.iter().zip(batch.first_row..);
        deleted.extend(
            all.filter(|(row, _)| rows.contains(row.as_ref()))
                .map(|it| it.1),
        );
    }
    Ok(deleted)
}

fn check_size(path: &str, length: u64) -> Result<(), Failure> {
    if length > MOST_BYTES {
        let cause =
            format!("its deleted rows take {length} bytes in {path}, more than {MOST_BYTES}");
        let failure = Failure::new(FileErrorKind::Unsupported, cause);
        return Err(failure.with_remedy(COMPACT));
    }
    Ok(())
}

async fn fetch(store: &Store, path: &str, range: std::ops::Range<u64>) -> Result<Bytes, Failure> {
    let length = range.end - range.start;
    check_size(path, length)?;
    let bytes = store.get_range(path, range).await?;
    match bytes.len() as u64 == length {
        true => Ok(bytes),
        false => Err(damaged(path)),
    }
}

fn damaged(place: &str) -> Failure {
    let cause = format!("{place} does not say which of its rows are deleted: it is damaged");
    Failure::new(FileErrorKind::Corrupt, cause)
        .with_remedy("repair the table, or rewrite it from an older version")
}

/// What stands between a length and a checksum.
fn framed<'a>(bytes: &'a [u8], path: &str) -> Result<&'a [u8], Failure> {
    let number = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let framed = || {
        let length = number(0)? as usize;
        let content = bytes.get(4..4 + length)?;
        (4 + length + 4 == bytes.len() && number(4 + length)? == crc32fast::hash(content))
            .then_some(content)
    };
    framed().ok_or_else(|| damaged(path))
}

/// Reads a vector from its magic number on.
fn vector(bytes: &[u8], place: &str) -> Result<RoaringTreemap, Failure> {
    let bitmap = bytes.strip_prefix(&MAGIC).ok_or_else(|| damaged(place))?;
    RoaringTreemap::deserialize_from(bitmap).map_err(|_| damaged(place))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use limn_profile::DeclaredReading;

    use super::*;
    use crate::format::Format;
    use crate::{Declaration, ObjectRecord};

    fn content(rows: &[u64]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let rows: RoaringTreemap = rows.iter().collect();
        rows.serialize_into(&mut bytes).unwrap();
        bytes
    }

    fn file(deletes: Vec<Deletes>) -> DataFile {
        let logged = Logged {
            deletes,
            ..Logged::default()
        };
        DataFile {
            object: ObjectRecord::unversioned("t/a.parquet", 9),
            format: Format::Parquet,
            sample_path: String::new(),
            is_beside: false,
            is_alone: false,
            declared: Some(Arc::new(Declaration {
                reading: DeclaredReading {
                    logged: Some(Box::new(logged)),
                    ..DeclaredReading::default()
                },
                ..Declaration::default()
            })),
        }
    }

    #[tokio::test]
    async fn vectors_are_read_and_what_is_damaged_is_refused() {
        let store = Store::in_memory();
        let inline = Deletes::Inline(BASE64.encode(content(&[1, 7])));
        let far = content(&[2, 1 << 40]);
        let mut object = vec![1];
        object.extend((far.len() as u32).to_be_bytes());
        object.extend(&far);
        object.extend(crc32fast::hash(&far).to_be_bytes());
        store.put("t/d.bin", object.clone().into()).await.unwrap();
        let vector = |offset, size| Deletes::Vector {
            path: "t/d.bin".to_owned(),
            offset,
            size,
        };
        let size = far.len() as u64;
        let both = of(&store, &file(vec![inline, vector(1, size)])).await;
        let both: Vec<u64> = both.unwrap().unwrap().into_iter().collect();
        assert_eq!(both, [1, 2, 7, 1 << 40]);
        assert!(of(&store, &file(Vec::new())).await.unwrap().is_none());
        for wrong in [vector(0, size), vector(1, size - 1), vector(1, 1 << 40)] {
            assert!(
                of(&store, &file(vec![wrong.clone()])).await.is_err(),
                "{wrong:?}"
            );
        }
        let last = object.len() - 1;
        object[last] ^= 1;
        store.put("t/d.bin", object.into()).await.unwrap();
        assert!(of(&store, &file(vec![vector(1, size)])).await.is_err());
        let noise = Deletes::Inline(BASE64.encode(b"none"));
        assert!(of(&store, &file(vec![noise])).await.is_err());
    }
}
