//! Arrays of a record batch from its buffers: the first rows of each column, and no more bytes than
//! they need, whatever the batch claims (Arrow columnar format, "Encapsulated message format").
//!
//! Lengths, offsets and sizes are checked here where memory depends on them; that buffers make
//! sound arrays (offsets that rise, text that is UTF-8, keys within their dictionary) is checked by
//! Arrow.

use std::collections::HashMap;

use arrow::array::{Array, ArrayData, ArrayDataBuilder, ArrayRef, make_array, new_empty_array};
use arrow::datatypes::{DataType, Field, UnionFields, UnionMode};
use arrow::ipc::{self, CompressionType, MetadataVersion};

use super::buffers::{Buffers, Source, last, too_few};
use super::corrupt;
use super::schema::id;
use crate::Failure;
use crate::codec::Codec;
use crate::typed::{MAX_ROWS, Stopped, decoding};

/// A record batch whose columns are taken one after another, from the first on.
pub(super) struct Batch<'a> {
    nodes: Vec<ipc::FieldNode>,
    buffers: Buffers<'a>,
    /// How many data buffers the columns of views have.
    views: Vec<i64>,
    /// The next node and the next of the columns of views.
    node: usize,
    view: usize,
    version: MetadataVersion,
    dictionaries: &'a HashMap<i64, ArrayRef>,
}

/// A place among a batch's nodes, buffers and columns of views.
#[derive(Clone, Copy, Default)]
struct Place {
    node: usize,
    buffer: usize,
    view: usize,
}

impl<'a> Batch<'a> {
    pub(super) fn new(
        batch: ipc::RecordBatch<'_>,
        version: MetadataVersion,
        source: &'a Source,
        dictionaries: &'a HashMap<i64, ArrayRef>,
    ) -> Result<Self, Failure> {
        let codec = match batch.compression().map(|it| it.codec()) {
            None => None,
            Some(CompressionType::LZ4_FRAME) => Some(Codec::Lz4Frame),
            Some(CompressionType::ZSTD) => Some(Codec::Zstd),
            Some(_) => return Err(corrupt("its batches are packed in a way that is not known")),
        };
        let buffers = batch.buffers().into_iter().flatten().copied().collect();
        Ok(Batch {
            nodes: batch.nodes().into_iter().flatten().copied().collect(),
            buffers: Buffers::new(buffers, codec, source),
            views: batch.variadicBufferCounts().into_iter().flatten().collect(),
            node: 0,
            view: 0,
            version,
            dictionaries,
        })
    }

    /// The first `rows` rows of the next column, which may take these many bytes in memory and of
    /// the file. What was fetched of the file is taken from `fetch`.
    pub(super) fn column(
        &mut self,
        field: &Field,
        rows: u64,
        memory: u64,
        fetch: &mut u64,
    ) -> Result<ArrayRef, Stopped> {
        let after = self.after(field)?;
        let array = self.read(field, rows, memory, fetch);
        // Wherever reading stopped, the next column begins there.
        self.go_to(after);
        array
    }

    /// As [`Batch::column`], but fewer rows where so many take too much memory.
    pub(super) fn beginning(
        &mut self,
        field: &Field,
        mut rows: u64,
        memory: u64,
        fetch: &mut u64,
    ) -> Result<ArrayRef, Stopped> {
        let (before, after) = (self.place(), self.after(field)?);
        let array = loop {
            match self.read(field, rows, memory, fetch) {
                Err(Stopped::TooMuch) if rows > 1 && self.buffers.are_at_hand() => {
                    rows = (rows / 4).max(1);
                    self.go_to(before);
                }
                result => break result,
            }
        };
        self.go_to(after);
        array
    }

    fn read(
        &mut self,
        field: &Field,
        rows: u64,
        memory: u64,
        fetch: &mut u64,
    ) -> Result<ArrayRef, Stopped> {
        (self.buffers.memory, self.buffers.fetch) = (memory, *fetch);
        let array = self.array(field, Some(rows));
        *fetch = self.buffers.fetch;
        Ok(make_array(array?))
    }

    /// Bytes that the columns took in memory.
    pub(super) fn spent(&self) -> u64 {
        self.buffers.spent
    }

    /// Leaves the next column out; returns how many nulls it has.
    pub(super) fn skip(&mut self, field: &Field) -> Result<u64, Failure> {
        let node = self.nodes.get(self.node);
        let nulls = node.map_or(0, ipc::FieldNode::null_count);
        let after = self.after(field)?;
        self.go_to(after);
        u64::try_from(nulls).map_err(|_| corrupt("a column has less than no nulls"))
    }

    fn place(&self) -> Place {
        Place {
            node: self.node,
            buffer: self.buffers.at,
            view: self.view,
        }
    }

    fn go_to(&mut self, place: Place) {
        (self.node, self.buffers.at, self.view) = (place.node, place.buffer, place.view);
    }

    /// Where the column after this field begins.
    fn after(&self, field: &Field) -> Result<Place, Failure> {
        let mut place = self.place();
        self.pass(field.data_type(), &mut place)?;
        let is_there = place.node <= self.nodes.len()
            && place.buffer <= self.buffers.count()
            && place.view <= self.views.len();
        is_there.then_some(place).ok_or_else(too_few)
    }

    fn pass(&self, data_type: &DataType, place: &mut Place) -> Result<(), Failure> {
        place.node += 1;
        place.buffer += match data_type {
            DataType::Null | DataType::RunEndEncoded(..) => 0,
            DataType::Struct(_) | DataType::FixedSizeList(..) => 1,
            DataType::Utf8 | DataType::Binary | DataType::LargeUtf8 | DataType::LargeBinary => 3,
            DataType::ListView(_) | DataType::LargeListView(_) => 3,
            DataType::Union(_, mode) => {
                let validity = usize::from(self.version < MetadataVersion::V5);
                validity + 1 + usize::from(*mode == UnionMode::Dense)
            }
            DataType::Utf8View | DataType::BinaryView => {
                let count = self.views.get(place.view).copied().unwrap_or(-1);
                place.view += 1;
                let count = usize::try_from(count).map_err(|_| too_few())?;
                if count > self.buffers.count() {
                    return Err(too_few());
                }
                2 + count
            }
            _ => 2,
        };
        match data_type {
            DataType::List(field)
            | DataType::LargeList(field)
            | DataType::ListView(field)
            | DataType::LargeListView(field)
            | DataType::FixedSizeList(field, _)
            | DataType::Map(field, _) => self.pass(field.data_type(), place),
            DataType::Struct(fields) => fields
                .iter()
                .try_for_each(|field| self.pass(field.data_type(), place)),
            DataType::Union(fields, _) => fields
                .iter()
                .try_for_each(|(_, field)| self.pass(field.data_type(), place)),
            DataType::RunEndEncoded(ends, values) => {
                self.pass(ends.data_type(), place)?;
                self.pass(values.data_type(), place)
            }
            _ => Ok(()),
        }
    }

    /// The first `rows` rows of an array, or all.
    fn array(&mut self, field: &Field, rows: Option<u64>) -> Result<ArrayData, Stopped> {
        let data_type = field.data_type();
        let node = *self.nodes.get(self.node).ok_or_else(too_few)?;
        self.node += 1;
        let length = u64::try_from(node.length()).ok();
        let length = length.filter(|length| *length <= MAX_ROWS);
        let length = length.ok_or_else(|| corrupt("an array's length is no length"))?;
        let rows = rows.unwrap_or(length);
        if rows > length {
            return Err(corrupt(format!(
                "an array has {length} values where {rows} are needed"
            ))
            .into());
        }
        let mut builder = ArrayData::builder(data_type.clone()).len(rows as usize);
        if self.has_validity(data_type) {
            let nulls = node.null_count() != 0;
            let validity = self
                .buffers
                .buffer(if nulls { rows.div_ceil(8) } else { 0 })?;
            builder = builder.null_bit_buffer(nulls.then_some(validity));
        }
        builder = self.values(field, rows, builder)?;
        let data = builder.align_buffers(true).build();
        Ok(data.map_err(|error| decoding(&error.to_string()))?)
    }

    /// Whether arrays of a type have a buffer that says which values are null. That of unions in
    /// old files is passed over.
    fn has_validity(&mut self, data_type: &DataType) -> bool {
        match data_type {
            DataType::Null | DataType::RunEndEncoded(..) => false,
            DataType::Union(..) => {
                if self.version < MetadataVersion::V5 {
                    self.buffers.at += 1;
                }
                false
            }
            _ => true,
        }
    }

    /// Adds the values of the first `rows` rows to what is known of an array.
    fn values(
        &mut self,
        field: &Field,
        rows: u64,
        mut builder: ArrayDataBuilder,
    ) -> Result<ArrayDataBuilder, Stopped> {
        let data_type = field.data_type();
        match data_type {
            DataType::Null => {}
            DataType::Boolean => {
                builder = builder.add_buffer(self.buffers.buffer(rows.div_ceil(8))?)
            }
            DataType::Utf8 | DataType::Binary => {
                let offsets = self.buffers.offsets(rows, 4)?;
                let bytes = self.buffers.buffer(last::<4>(&offsets)?)?;
                builder = builder.add_buffer(offsets).add_buffer(bytes);
            }
            DataType::LargeUtf8 | DataType::LargeBinary => {
                let offsets = self.buffers.offsets(rows, 8)?;
                let bytes = self.buffers.buffer(last::<8>(&offsets)?)?;
                builder = builder.add_buffer(offsets).add_buffer(bytes);
            }
            DataType::Utf8View | DataType::BinaryView => {
                builder = self.text_views(rows, builder)?;
            }
            DataType::List(child) | DataType::Map(child, _) => {
                let offsets = self.buffers.offsets(rows, 4)?;
                let values = self.array(child, Some(last::<4>(&offsets)?))?;
                builder = builder.add_buffer(offsets).add_child_data(values);
            }
            DataType::LargeList(child) => {
                let offsets = self.buffers.offsets(rows, 8)?;
                let values = self.array(child, Some(last::<8>(&offsets)?))?;
                builder = builder.add_buffer(offsets).add_child_data(values);
            }
            DataType::ListView(child) => builder = self.list_views(child, 4, rows, builder)?,
            DataType::LargeListView(child) => builder = self.list_views(child, 8, rows, builder)?,
            DataType::FixedSizeList(child, size) => {
                let items = rows * u64::try_from(*size).unwrap_or(0);
                if !child.is_nullable() {
                    // Arrow's validation takes a bit for each item.
                    self.buffers.spend(items.div_ceil(8))?;
                }
                builder = builder.add_child_data(self.array(child, Some(items))?);
            }
            DataType::Struct(children) => {
                for child in children {
                    builder = builder.add_child_data(self.array(child, Some(rows))?);
                }
            }
            DataType::RunEndEncoded(ends, values) => {
                builder = builder
                    .add_child_data(self.array(ends, None)?)
                    .add_child_data(self.array(values, None)?);
            }
            DataType::Union(children, mode) => {
                builder = self.union(children, *mode, rows, builder)?;
            }
            DataType::Dictionary(keys, values) => {
                let width = keys.primitive_width().unwrap_or(8) as u64;
                let keys = self.buffers.buffer(rows * width)?;
                let values = self.dictionary(field, values);
                builder = builder.add_buffer(keys).add_child_data(values);
            }
            DataType::FixedSizeBinary(width) => {
                let width = u64::try_from(*width).unwrap_or(0);
                builder = builder.add_buffer(self.buffers.buffer(rows * width)?);
            }
            other => {
                let width = other.primitive_width().unwrap_or(8) as u64;
                builder = builder.add_buffer(self.buffers.buffer(rows * width)?);
            }
        }
        Ok(builder)
    }

    /// The values of a dictionary.
    fn dictionary(&self, field: &Field, values: &DataType) -> ArrayData {
        let known = id(field).and_then(|id| self.dictionaries.get(&id).cloned());
        // A file may leave out a dictionary of which no key is used.
        known.unwrap_or_else(|| new_empty_array(values)).to_data()
    }

    /// Adds texts of which each row has a view.
    fn text_views(
        &mut self,
        rows: u64,
        mut builder: ArrayDataBuilder,
    ) -> Result<ArrayDataBuilder, Stopped> {
        builder = builder.add_buffer(self.buffers.buffer(rows * 16)?);
        let count = self.views.get(self.view).copied().unwrap_or(0);
        self.view += 1;
        for _ in 0..count {
            builder = builder.add_buffer(self.buffers.whole_buffer()?);
        }
        Ok(builder)
    }

    /// Adds lists of which each row has a place and a length, of so many bytes each.
    fn list_views(
        &mut self,
        child: &Field,
        width: u64,
        rows: u64,
        builder: ArrayDataBuilder,
    ) -> Result<ArrayDataBuilder, Stopped> {
        let places = self.buffers.buffer(rows * width)?;
        let lengths = self.buffers.buffer(rows * width)?;
        let values = self.array(child, None)?;
        Ok(builder
            .add_buffer(places)
            .add_buffer(lengths)
            .add_child_data(values))
    }

    /// Adds values of several types, which a dense union has one after another.
    fn union(
        &mut self,
        children: &UnionFields,
        mode: UnionMode,
        rows: u64,
        mut builder: ArrayDataBuilder,
    ) -> Result<ArrayDataBuilder, Stopped> {
        builder = builder.add_buffer(self.buffers.buffer(rows)?);
        if mode == UnionMode::Dense {
            builder = builder.add_buffer(self.buffers.buffer(rows * 4)?);
        }
        let of_child = (mode == UnionMode::Sparse).then_some(rows);
        for (_, child) in children.iter() {
            builder = builder.add_child_data(self.array(child, of_child)?);
        }
        Ok(builder)
    }
}

/// Both dictionaries as one.
pub(super) fn concat(first: &ArrayRef, second: &ArrayRef) -> Result<ArrayRef, Failure> {
    arrow::compute::concat(&[first.as_ref(), second.as_ref()])
        .map_err(|error| decoding(&error.to_string()))
}
