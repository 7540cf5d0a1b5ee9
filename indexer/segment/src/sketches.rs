//! Sketches of columns: a table's and its files', binary columns of the catalog, opaque here.
//!
//! In memory the sketches of a table, or of a file, are one piece. In the catalog each is a value
//! of its own. A file's sketch that is its table's is not written twice: most tables have one file.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BinaryBuilder, ListArray, ListBuilder, RecordBatch, StructArray,
};
use arrow::datatypes::{DataType, Field, FieldRef};
use arrow::error::ArrowError;
use bytes::Bytes;

use crate::catalog::TableRecord;
use crate::codec::{Cursor, compress, decompress, put_number};

/// Sketches of more bytes are packed in memory: those of files of very many columns.
const PLAIN: usize = 64 << 10;
/// How hard they are packed.
const LEVEL: i32 = 1;
/// Sketches of one list never take more.
const MOST: usize = 1 << 30;

/// The sketches of some columns, in the columns' order; a column may have none, and an empty one is
/// none. Cheap to clone.
///
/// ```
/// # use limn_segment::Sketches;
/// let sketches: Sketches = [Some(b"\x01ab"), None, Some(b"\x01cd")].into_iter().collect();
/// assert_eq!(sketches.list()[2].as_deref(), Some(&b"\x01cd"[..]));
/// assert!(sketches.list()[1].is_none() && !sketches.is_empty());
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Sketches {
    /// Of each column its sketch's length as LEB128, 0 for none, and the sketch. Nothing where no
    /// column has one.
    bytes: Bytes,
    is_packed: bool,
}

impl Sketches {
    /// Whether no column has one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The sketches. The last columns may be left out if they have none.
    #[must_use]
    pub fn list(&self) -> Vec<Option<Bytes>> {
        let plain = match self.is_packed {
            // It was packed here.
            true => Bytes::from(decompress(&self.bytes, MOST).unwrap_or_default()),
            false => self.bytes.clone(),
        };
        let mut cursor = Cursor::new(&plain);
        let mut list = Vec::new();
        while cursor.left() > 0 {
            let length = cursor.number().unwrap_or_default();
            let Ok(sketch) = cursor.bytes(length as usize) else {
                break;
            };
            list.push((!sketch.is_empty()).then(|| plain.slice_ref(sketch)));
        }
        list
    }

    /// About how many bytes of memory they take.
    #[must_use]
    pub fn held(&self) -> usize {
        self.bytes.len()
    }

    /// As they travel: what [`Sketches::of_bytes`] reads.
    #[must_use]
    pub fn as_bytes(&self) -> (&[u8], bool) {
        (&self.bytes, self.is_packed)
    }

    /// Reads what [`Sketches::as_bytes`] gave.
    #[must_use]
    pub fn of_bytes(bytes: Vec<u8>, is_packed: bool) -> Sketches {
        Sketches {
            bytes: bytes.into(),
            is_packed,
        }
    }
}

impl<S: AsRef<[u8]>> FromIterator<Option<S>> for Sketches {
    fn from_iter<I: IntoIterator<Item = Option<S>>>(sketches: I) -> Sketches {
        let (mut bytes, mut end) = (Vec::new(), 0);
        for sketch in sketches {
            match sketch.as_ref().map(AsRef::as_ref) {
                None | Some([]) => bytes.push(0),
                Some(sketch) => {
                    put_number(&mut bytes, sketch.len() as u64);
                    bytes.extend_from_slice(sketch);
                    end = bytes.len();
                }
            }
        }
        bytes.truncate(end);
        if bytes.len() > PLAIN
            && bytes.len() < MOST
            && let Ok(packed) = compress(&bytes, LEVEL)
        {
            return Sketches::of_bytes(packed, true);
        }
        bytes.shrink_to_fit();
        Sketches::of_bytes(bytes, false)
    }
}

impl fmt::Debug for Sketches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sketches({} bytes)", self.bytes.len())
    }
}

/// The field of a column's sketch.
pub(crate) fn field_of_column() -> Field {
    Field::new("sketch", DataType::Binary, true)
}

/// The field of the sketches of a file's columns.
pub(crate) fn field_of_file() -> Field {
    Field::new("sketches", DataType::List(element()), true)
}

fn element() -> FieldRef {
    Arc::new(Field::new("element", DataType::Binary, true))
}

/// A batch of records with the sketches that these have.
pub(crate) fn with_sketches(
    batch: RecordBatch,
    rows: &[TableRecord],
) -> Result<RecordBatch, ArrowError> {
    let mut of_columns = BinaryBuilder::new();
    let mut of_files = ListBuilder::new(BinaryBuilder::new()).with_field(element());
    for row in rows {
        let tables = row.sketches.list();
        for at in 0..row.columns.len() {
            of_columns.append_option(tables.get(at).and_then(Option::as_ref));
        }
        for file in &row.files {
            // `None` is the table's.
            for (at, own) in file.sketches.list().iter().enumerate() {
                let is_tables = at < row.columns.len() && tables.get(at).unwrap_or(&None) == own;
                let own = own.as_deref().unwrap_or_default();
                of_files.values().append_option((!is_tables).then_some(own));
            }
            of_files.append(!file.sketches.is_empty());
        }
    }
    let batch = with_child(batch, "columns", &field_of_column(), of_columns.finish())?;
    with_child(batch, "files", &field_of_file(), of_files.finish())
}

/// A batch whose column of lists of structs has this child in the place of that of the same name.
fn with_child(
    batch: RecordBatch,
    column: &str,
    field: &Field,
    child: impl Array + 'static,
) -> Result<RecordBatch, ArrowError> {
    let missing = || ArrowError::SchemaError(format!("no {} in {column}", field.name()));
    let place = batch.schema().index_of(column)?;
    let (schema, mut columns, _) = batch.into_parts();
    let lists = columns[place].as_any().downcast_ref::<ListArray>();
    let (item, offsets, items, nulls) = lists.cloned().ok_or_else(missing)?.into_parts();
    let structs = items.as_any().downcast_ref::<StructArray>();
    let (fields, mut children, valid) = structs.cloned().ok_or_else(missing)?.into_parts();
    let (at, _) = fields.find(field.name()).ok_or_else(missing)?;
    children[at] = Arc::new(child);
    let items: ArrayRef = Arc::new(StructArray::try_new(fields, children, valid)?);
    columns[place] = Arc::new(ListArray::try_new(item, offsets, items, nulls)?);
    RecordBatch::try_new(schema, columns)
}

/// A table's sketches, of the items of its list of columns.
pub(crate) fn of_columns(items: Option<&BinaryArray>, range: Range<usize>) -> Sketches {
    let Some(items) = items else {
        return Sketches::default();
    };
    range.map(|at| at_place(items, at)).collect()
}

/// A file's sketches, of the items of its list of sketches; where there is none, it is the table's.
pub(crate) fn of_file(
    items: Option<&BinaryArray>,
    range: Range<usize>,
    table: &Sketches,
) -> Sketches {
    let Some(items) = items else {
        return Sketches::default();
    };
    let is_tables = |at: usize| items.is_null(at);
    let tables = match range.clone().any(is_tables) {
        true => table.list(),
        false => Vec::new(),
    };
    let mut others = tables.iter().skip(range.len());
    if !range.is_empty() && range.clone().all(is_tables) && others.all(Option::is_none) {
        return table.clone();
    }
    let own = range.clone().map(|at| match at_place(items, at) {
        None => tables.get(at - range.start)?.as_deref(),
        own => own,
    });
    own.collect()
}

fn at_place(items: &BinaryArray, at: usize) -> Option<&[u8]> {
    items.is_valid(at).then(|| items.value(at))
}
