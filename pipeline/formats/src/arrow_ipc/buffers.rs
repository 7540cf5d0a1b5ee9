//! The buffers of a record batch, one after another: fetched and unpacked as far as they are
//! needed, and counted (Arrow columnar format, "Encapsulated message format").

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use arrow::buffer::Buffer;
use arrow::ipc;
use bytes::Bytes;

use super::corrupt;
use crate::Failure;
use crate::codec::{Codec, Refused};
use crate::ranged::Ranged;
use crate::typed::{Stopped, decoding};

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

/// The buffers of a batch.
pub(super) struct Buffers<'a> {
    all: Vec<ipc::Buffer>,
    /// The next one.
    pub(super) at: usize,
    codec: Option<Codec>,
    source: &'a Source,
    /// Bytes that the column at hand may take in memory, and of the file.
    pub(super) memory: u64,
    pub(super) fetch: u64,
    /// Bytes that columns took in memory.
    pub(super) spent: u64,
}

impl<'a> Buffers<'a> {
    pub(super) fn new(all: Vec<ipc::Buffer>, codec: Option<Codec>, source: &'a Source) -> Self {
        Buffers {
            all,
            at: 0,
            codec,
            source,
            memory: 0,
            fetch: 0,
            spent: 0,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// Whether nothing is fetched for them.
    pub(super) fn are_at_hand(&self) -> bool {
        matches!(self.source, Source::Memory(_))
    }

    /// The offsets of `rows` values; none of no values, which writers leave out or not.
    pub(super) fn offsets(&mut self, rows: u64, width: u64) -> Result<Buffer, Stopped> {
        let wanted = if rows == 0 { 0 } else { (rows + 1) * width };
        let offsets = self.buffer(wanted)?;
        if offsets.is_empty() {
            return Ok(Buffer::from(vec![0; width as usize]));
        }
        Ok(offsets)
    }

    /// The first `wanted` bytes of the next buffer.
    pub(super) fn buffer(&mut self, wanted: u64) -> Result<Buffer, Stopped> {
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
    pub(super) fn whole_buffer(&mut self) -> Result<Buffer, Stopped> {
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
    pub(super) fn next(&mut self) -> Result<(u64, u64), Failure> {
        let buffer = *self.all.get(self.at).ok_or_else(too_few)?;
        self.at += 1;
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

    /// A packed buffer's bytes and its length unpacked: none if it is not packed after all. Nothing
    /// for a buffer of no bytes.
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

    pub(super) fn spend(&mut self, bytes: u64) -> Result<(), Stopped> {
        self.memory = self.memory.checked_sub(bytes).ok_or(Stopped::TooMuch)?;
        self.spent += bytes;
        Ok(())
    }
}

/// The last of some offsets of `N` bytes each.
pub(super) fn last<const N: usize>(offsets: &Buffer) -> Result<u64, Failure> {
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
        Refused::Broken(error) => decoding(&error.to_string()).into(),
    }
}

pub(super) fn too_few() -> Failure {
    corrupt("a batch has too few buffers for its columns")
}

fn too_short(length: u64, wanted: u64) -> Failure {
    corrupt(format!(
        "a buffer has {length} bytes where {wanted} are needed"
    ))
}
