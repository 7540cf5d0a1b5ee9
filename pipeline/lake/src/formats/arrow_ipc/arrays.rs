//! Arrays of a record batch from its buffers: the first rows of each column, and no more bytes than
//! they need, whatever the batch claims (Arrow columnar format, "Encapsulated message format").
//!
//! Lengths, offsets and sizes are checked here where memory depends on them; that buffers make sound
//! arrays (offsets that rise, text that is UTF-8, keys within their dictionary) is checked by Arrow.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::rc::Rc;

use arrow::array::{Array, ArrayData, ArrayRef, make_array, new_empty_array};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Field, UnionMode};
use arrow::ipc::{self, CompressionType, MetadataVersion};
use bytes::Bytes;

use super::schema::id;
use super::{MAX_ROWS, corrupt, decoding};
use crate::formats::codec::{Codec, Refused};
use crate::formats::ranged::Ranged;
use crate::formats::typed::Stopped;
use crate::formats::{Failure, one_line};

/// Requests for parts of batches that are too large to be fetched whole, in one file.
pub(super) const MOST_REQUESTS: u64 = 1024;

/// Where a batch's body is.
pub(super) enum Source {
    /// All of it is here.
    Memory(Bytes),
    /// In the file.
    File {
        object: Ranged,
        body: Range<u64>,
        /// How often it was asked for, in all batches.
        requests: Rc<Cell<u64>>,
    },
}

impl Source {
    fn length(&self) -> u64 {
        match self {
            Source::Memory(bytes) => bytes.len() as u64,
            Source::File { body, .. } => body.end - body.start,
        }
    }

    /// These bytes, which lie within the body. None of a file that was asked too often.
    fn get(&self, offset: u64, length: u64) -> Result<Option<Bytes>, Failure> {
        match self {
            Source::Memory(bytes) => {
                let bytes = bytes.slice(offset as usize..(offset + length) as usize);
                Ok(Some(bytes))
            }
            Source::File { requests, .. } if requests.get() >= MOST_REQUESTS => Ok(None),
            Source::File {
                object,
                body,
                requests,
            } => {
                requests.set(requests.get() + 1);
                let start = body.start + offset;
                object.get(start..start + length).map(Some)
            }
        }
    }
}

/// A record batch whose columns are taken one after another, from the first on.
pub(super) struct Batch<'a> {
    nodes: VecDeque<ipc::FieldNode>,
    buffers: VecDeque<ipc::Buffer>,
    /// How many data buffers the columns of views have.
    views: VecDeque<i64>,
    codec: Option<Codec>,
    version: MetadataVersion,
    source: &'a Source,
    dictionaries: &'a HashMap<i64, ArrayRef>,
    /// Bytes that the column at hand may take in memory, and of the file.
    memory: u64,
    fetch: u64,
    /// Bytes that columns took in memory.
    spent: u64,
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
        Ok(Batch {
            nodes: batch.nodes().into_iter().flatten().copied().collect(),
            buffers: batch.buffers().into_iter().flatten().copied().collect(),
            views: batch.variadicBufferCounts().into_iter().flatten().collect(),
            codec,
            version,
            source,
            dictionaries,
            memory: 0,
            fetch: 0,
            spent: 0,
        })
    }

    /// The first `rows` rows of the next column, which may take these many bytes in memory and of the
    /// file. What was fetched of the file is taken from `fetch`.
    pub(super) fn column(
        &mut self,
        field: &Field,
        rows: u64,
        memory: u64,
        fetch: &mut u64,
    ) -> Result<ArrayRef, Stopped> {
        (self.memory, self.fetch) = (memory, *fetch);
        let rest = self.after(field)?;
        let array = self.array(field, Some(rows));
        *fetch = self.fetch;
        // Wherever reading stopped, the next column begins there.
        self.go_to(rest);
        Ok(make_array(array?))
    }

    /// Bytes that the columns took in memory.
    pub(super) fn spent(&self) -> u64 {
        self.spent
    }

    /// Leaves the next column out; tells how many nulls it has.
    pub(super) fn skip(&mut self, field: &Field) -> Result<u64, Failure> {
        let nulls = self.nodes.front().map_or(0, ipc::FieldNode::null_count);
        let rest = self.after(field)?;
        self.go_to(rest);
        u64::try_from(nulls).map_err(|_| corrupt("a column has less than no nulls"))
    }

    fn go_to(&mut self, (nodes, buffers, views): (usize, usize, usize)) {
        self.nodes.drain(..self.nodes.len().saturating_sub(nodes));
        self.buffers
            .drain(..self.buffers.len().saturating_sub(buffers));
        self.views.drain(..self.views.len().saturating_sub(views));
    }

    /// How many nodes, buffers and counts of views are left after a field.
    fn after(&self, field: &Field) -> Result<(usize, usize, usize), Failure> {
        let mut used = (0, 0, 0);
        self.measure(field.data_type(), &mut used)?;
        let rest = (
            self.nodes.len().checked_sub(used.0),
            self.buffers.len().checked_sub(used.1),
            self.views.len().checked_sub(used.2),
        );
        match rest {
            (Some(nodes), Some(buffers), Some(views)) => Ok((nodes, buffers, views)),
            _ => Err(too_few()),
        }
    }

    fn measure(
        &self,
        data_type: &DataType,
        used: &mut (usize, usize, usize),
    ) -> Result<(), Failure> {
        used.0 += 1;
        used.1 += match data_type {
            DataType::Null | DataType::RunEndEncoded(..) => 0,
            DataType::Struct(_) | DataType::FixedSizeList(..) => 1,
            DataType::Utf8 | DataType::Binary | DataType::LargeUtf8 | DataType::LargeBinary => 3,
            DataType::ListView(_) | DataType::LargeListView(_) => 3,
            DataType::Union(_, mode) => {
                let validity = usize::from(self.version < MetadataVersion::V5);
                validity + 1 + usize::from(*mode == UnionMode::Dense)
            }
            DataType::Utf8View | DataType::BinaryView => {
                let count = self.views.get(used.2).copied().unwrap_or(-1);
                used.2 += 1;
                let count = usize::try_from(count).map_err(|_| too_few())?;
                if count > self.buffers.len() {
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
            | DataType::Map(field, _) => self.measure(field.data_type(), used),
            DataType::Struct(fields) => fields
                .iter()
                .try_for_each(|field| self.measure(field.data_type(), used)),
            DataType::Union(fields, _) => fields
                .iter()
                .try_for_each(|(_, field)| self.measure(field.data_type(), used)),
            DataType::RunEndEncoded(ends, values) => {
                self.measure(ends.data_type(), used)?;
                self.measure(values.data_type(), used)
            }
            _ => Ok(()),
        }
    }

    /// The first `rows` rows of an array, or all.
    fn array(&mut self, field: &Field, rows: Option<u64>) -> Result<ArrayData, Stopped> {
        let data_type = field.data_type();
        let node = self.nodes.pop_front().ok_or_else(too_few)?;
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
        let has_validity = match data_type {
            DataType::Null | DataType::RunEndEncoded(..) => false,
            DataType::Union(..) => {
                if self.version < MetadataVersion::V5 {
                    self.buffers.pop_front();
                }
                false
            }
            _ => true,
        };
        if has_validity {
            let nulls = node.null_count() != 0;
            let validity = self.buffer(if nulls { rows.div_ceil(8) } else { 0 })?;
            builder = builder.null_bit_buffer(nulls.then_some(validity));
        }
        match data_type {
            DataType::Null => {}
            DataType::Boolean => builder = builder.add_buffer(self.buffer(rows.div_ceil(8))?),
            DataType::Utf8 | DataType::Binary => {
                let offsets = self.offsets(rows, 4)?;
                let bytes = self.buffer(last::<4>(&offsets)?)?;
                builder = builder.add_buffer(offsets).add_buffer(bytes);
            }
            DataType::LargeUtf8 | DataType::LargeBinary => {
                let offsets = self.offsets(rows, 8)?;
                let bytes = self.buffer(last::<8>(&offsets)?)?;
                builder = builder.add_buffer(offsets).add_buffer(bytes);
            }
            DataType::Utf8View | DataType::BinaryView => {
                builder = builder.add_buffer(self.buffer(rows * 16)?);
                let count = self.views.pop_front().unwrap_or(0);
                for _ in 0..count {
                    builder = builder.add_buffer(self.whole_buffer()?);
                }
            }
            DataType::List(child) | DataType::Map(child, _) => {
                let offsets = self.offsets(rows, 4)?;
                let values = self.array(child, Some(last::<4>(&offsets)?))?;
                builder = builder.add_buffer(offsets).add_child_data(values);
            }
            DataType::LargeList(child) => {
                let offsets = self.offsets(rows, 8)?;
                let values = self.array(child, Some(last::<8>(&offsets)?))?;
                builder = builder.add_buffer(offsets).add_child_data(values);
            }
            DataType::ListView(child) | DataType::LargeListView(child) => {
                let width = if matches!(data_type, DataType::ListView(_)) {
                    4
                } else {
                    8
                };
                builder = builder
                    .add_buffer(self.buffer(rows * width)?)
                    .add_buffer(self.buffer(rows * width)?)
                    .add_child_data(self.array(child, None)?);
            }
            DataType::FixedSizeList(child, size) => {
                let size = u64::try_from(*size).unwrap_or(0);
                builder = builder.add_child_data(self.array(child, Some(rows * size))?);
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
                builder = builder.add_buffer(self.buffer(rows)?);
                if *mode == UnionMode::Dense {
                    builder = builder.add_buffer(self.buffer(rows * 4)?);
                }
                let of_child = (*mode == UnionMode::Sparse).then_some(rows);
                for (_, child) in children.iter() {
                    builder = builder.add_child_data(self.array(child, of_child)?);
                }
            }
            DataType::Dictionary(keys, values) => {
                let width = keys.primitive_width().unwrap_or(8) as u64;
                let keys = self.buffer(rows * width)?;
                let known = id(field).and_then(|id| self.dictionaries.get(&id).cloned());
                // A file may leave out a dictionary of which no key is used.
                let known = known.unwrap_or_else(|| new_empty_array(values));
                builder = builder.add_buffer(keys).add_child_data(known.to_data());
            }
            DataType::FixedSizeBinary(width) => {
                let width = u64::try_from(*width).unwrap_or(0);
                builder = builder.add_buffer(self.buffer(rows * width)?);
            }
            other => {
                let width = other.primitive_width().unwrap_or(8) as u64;
                builder = builder.add_buffer(self.buffer(rows * width)?);
            }
        }
        let data = builder.align_buffers(true).build();
        Ok(data.map_err(|error| decoding(&one_line(&error.to_string())))?)
    }

    /// The offsets of `rows` values; none of no values, which writers leave out or not.
    fn offsets(&mut self, rows: u64, width: u64) -> Result<Buffer, Stopped> {
        let wanted = if rows == 0 { 0 } else { (rows + 1) * width };
        let offsets = self.buffer(wanted)?;
        if offsets.is_empty() {
            return Ok(Buffer::from(vec![0; width as usize]));
        }
        Ok(offsets)
    }

    /// The first `wanted` bytes of the next buffer.
    fn buffer(&mut self, wanted: u64) -> Result<Buffer, Stopped> {
        let (offset, length) = self.next()?;
        if wanted == 0 {
            return Ok(Buffer::from(Vec::<u8>::new()));
        }
        let Some(codec) = self.codec else {
            if length < wanted {
                return Err(too_short(length, wanted).into());
            }
            return self.plain(offset, wanted);
        };
        let Some((packed, unpacked)) = self.packed(offset, length)? else {
            return Err(too_short(0, wanted).into());
        };
        match unpacked {
            None if (packed.len() as u64) < wanted => {
                Err(too_short(packed.len() as u64, wanted).into())
            }
            None => self.hold(&packed[..wanted as usize]),
            Some(unpacked) if unpacked < wanted => Err(too_short(unpacked, wanted).into()),
            Some(_) => {
                self.spend(wanted)?;
                let bytes = codec.beginning(&packed, wanted).map_err(refused)?;
                if (bytes.len() as u64) < wanted {
                    return Err(too_short(bytes.len() as u64, wanted).into());
                }
                Ok(Buffer::from(bytes))
            }
        }
    }

    /// All of the next buffer.
    fn whole_buffer(&mut self) -> Result<Buffer, Stopped> {
        let (offset, length) = self.next()?;
        let Some(codec) = self.codec else {
            return self.plain(offset, length);
        };
        match self.packed(offset, length)? {
            None => Ok(Buffer::from(Vec::<u8>::new())),
            Some((packed, None)) => self.hold(&packed),
            Some((packed, Some(unpacked))) => {
                self.spend(unpacked)?;
                let bytes = codec.unpack(&packed, unpacked).map_err(refused)?;
                Ok(Buffer::from(bytes))
            }
        }
    }

    /// Where the next buffer lies in the body.
    fn next(&mut self) -> Result<(u64, u64), Failure> {
        let buffer = self.buffers.pop_front().ok_or_else(too_few)?;
        let lies = |offset: u64, length: u64| {
            let end = offset.checked_add(length)?;
            (end <= self.source.length()).then_some((offset, length))
        };
        match (
            u64::try_from(buffer.offset()),
            u64::try_from(buffer.length()),
        ) {
            (Ok(offset), Ok(length)) => lies(offset, length),
            _ => None,
        }
        .ok_or_else(|| corrupt("a buffer lies beyond its batch"))
    }

    /// Bytes that are not packed.
    fn plain(&mut self, offset: u64, length: u64) -> Result<Buffer, Stopped> {
        let bytes = self.fetch(offset, length)?;
        self.hold(&bytes)
    }

    /// A packed buffer's bytes and its length unpacked: none if it is not packed after all. Nothing for a
    /// buffer of no bytes.
    #[allow(clippy::type_complexity)]
    fn packed(
        &mut self,
        offset: u64,
        length: u64,
    ) -> Result<Option<(Bytes, Option<u64>)>, Stopped> {
        if length == 0 {
            return Ok(None);
        }
        let bytes = self.fetch(offset, length)?;
        let Some(prefix) = bytes.first_chunk::<8>() else {
            return Err(corrupt("a packed buffer has no length").into());
        };
        let unpacked = match i64::from_le_bytes(*prefix) {
            -1 => None,
            length => Some(
                u64::try_from(length)
                    .map_err(|_| corrupt("a packed buffer's length is negative"))?,
            ),
        };
        Ok(Some((bytes.slice(8..), unpacked)))
    }

    fn fetch(&mut self, offset: u64, length: u64) -> Result<Bytes, Stopped> {
        if let Source::File { .. } = self.source {
            self.fetch = self.fetch.checked_sub(length).ok_or(Stopped::TooMuch)?;
        }
        self.source.get(offset, length)?.ok_or(Stopped::TooMuch)
    }

    /// Bytes in memory of their own, where they are aligned as Arrow wants them.
    fn hold(&mut self, bytes: &[u8]) -> Result<Buffer, Stopped> {
        self.spend(bytes.len() as u64)?;
        Ok(Buffer::from(bytes))
    }

    fn spend(&mut self, bytes: u64) -> Result<(), Stopped> {
        self.memory = self.memory.checked_sub(bytes).ok_or(Stopped::TooMuch)?;
        self.spent += bytes;
        Ok(())
    }
}

/// The last of some offsets of `N` bytes each.
fn last<const N: usize>(offsets: &Buffer) -> Result<u64, Failure> {
    let wrong = || corrupt("an offset is none");
    let bytes = offsets.as_slice().last_chunk::<N>().ok_or_else(wrong)?;
    let mut wide = [0; 8];
    wide[..N].copy_from_slice(bytes);
    let offset = u64::from_le_bytes(wide);
    // Negative ones are large in this way.
    if offset > (1 << (8 * N - 1)) - 1 {
        return Err(wrong());
    }
    Ok(offset)
}

fn refused(why: Refused) -> Stopped {
    match why {
        Refused::TooMuch => corrupt("a buffer unpacks to more than it claims").into(),
        Refused::Broken(error) => decoding(&one_line(&error.to_string())).into(),
    }
}

fn too_few() -> Failure {
    corrupt("a batch has too few buffers for its columns")
}

fn too_short(length: u64, wanted: u64) -> Failure {
    corrupt(format!(
        "a buffer has {length} bytes where {wanted} are needed"
    ))
}

/// Both dictionaries as one.
pub(super) fn concat(first: &ArrayRef, second: &ArrayRef) -> Result<ArrayRef, Failure> {
    arrow::compute::concat(&[first.as_ref(), second.as_ref()])
        .map_err(|error| decoding(&one_line(&error.to_string())))
}
