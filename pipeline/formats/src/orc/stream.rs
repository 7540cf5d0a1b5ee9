//! The bytes of a stream of a stripe: fetched as they are asked for, unpacked block by block (ORC
//! specification v1, "Compression").

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use bytes::Bytes;
use limn_store::one_line;

use super::corrupt;
use crate::Failure;
use crate::codec::{Codec, Refused};
use crate::ranged::{Fetched, Ranged};
use crate::typed::Stopped;

/// Bytes before a packed block: its length and whether it is packed after all.
const BLOCK_HEADER: u64 = 3;
/// Bytes fetched at a time beyond what was fetched ahead.
const WINDOW: u64 = 64 << 10;
/// Requests beyond what was fetched ahead, in one file.
const MOST_REQUESTS: u64 = 1024;

/// How a file's blocks are packed, and how long one is at most when it is unpacked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packing {
    pub(super) codec: Codec,
    pub(super) block: u64,
}

/// The file that streams are fetched from.
pub(super) struct File {
    pub(super) object: Ranged,
    pub(super) packing: Option<Packing>,
    /// Bytes that may be fetched beyond what was fetched ahead, and how often.
    fetch: Cell<u64>,
    requests: Cell<u64>,
    /// Bytes unpacked and values decoded since this was asked last.
    work: Cell<u64>,
    /// Bytes that what is being decoded may still take in memory.
    memory: Cell<u64>,
}

impl File {
    pub(super) fn new(object: Ranged, packing: Option<Packing>, fetch: u64) -> Self {
        File {
            object,
            packing,
            fetch: Cell::new(fetch),
            requests: Cell::new(MOST_REQUESTS),
            work: Cell::new(0),
            memory: Cell::new(0),
        }
    }

    /// Counts work.
    pub(super) fn worked(&self, bytes: u64) {
        self.work.set(self.work.get().saturating_add(bytes));
    }

    /// The work since this was asked last, in bytes.
    pub(super) fn take_work(&self) -> u64 {
        self.work.take()
    }

    /// Sets what may be held from now on, in bytes.
    pub(super) fn set_memory(&self, bytes: u64) {
        self.memory.set(bytes);
    }

    /// Bytes that may still be held.
    pub(super) fn memory(&self) -> u64 {
        self.memory.get()
    }

    /// Takes memory, if it is there.
    pub(super) fn hold(&self, bytes: u64) -> Result<(), Stopped> {
        let left = self.memory.get().checked_sub(bytes);
        self.memory.set(left.ok_or(Stopped::TooMuch)?);
        Ok(())
    }

    fn window(&self, range: Range<u64>) -> Result<Bytes, Stopped> {
        let fetch = self.fetch.get().checked_sub(range.end - range.start);
        let requests = self.requests.get().checked_sub(1);
        let (Some(fetch), Some(requests)) = (fetch, requests) else {
            return Err(Stopped::TooMuch);
        };
        self.fetch.set(fetch);
        self.requests.set(requests);
        Ok(self.object.get(range)?)
    }
}

/// One stream, read from its beginning on.
pub(super) struct Stream {
    file: Option<Rc<File>>,
    packing: Option<Packing>,
    /// What is left of it in the file.
    left: Range<u64>,
    /// What of it is at hand, packed.
    raw: Bytes,
    /// The block at hand.
    block: Bytes,
}

impl Stream {
    /// The stream at `range` of the file, of which `ahead` was fetched already.
    pub(super) fn new(file: &Rc<File>, range: Range<u64>, ahead: &Fetched) -> Self {
        let mut stream = Stream {
            file: Some(file.clone()),
            packing: file.packing,
            left: range.clone(),
            raw: Bytes::new(),
            block: Bytes::new(),
        };
        if let Some(raw) = ahead.from(&(range.start..range.start)) {
            let length = (raw.len() as u64).min(range.end - range.start);
            stream.raw = raw.slice(..length as usize);
            stream.left.start += length;
        }
        stream
    }

    /// A stream that is not there.
    pub(super) fn none() -> Self {
        Stream::of(Vec::new())
    }

    /// These bytes as a stream, which are not packed.
    pub(super) fn of(bytes: Vec<u8>) -> Self {
        Stream {
            file: None,
            packing: None,
            left: 0..0,
            raw: Bytes::new(),
            block: bytes.into(),
        }
    }

    /// Counts work on the stream.
    pub(super) fn worked(&self, bytes: u64) {
        if let Some(file) = &self.file {
            file.worked(bytes);
        }
    }

    pub(super) fn byte(&mut self) -> Result<u8, Stopped> {
        if self.block.is_empty() {
            self.next_block()?;
        }
        let byte = self.block.first().copied();
        self.block = self.block.slice(1.min(self.block.len())..);
        byte.ok_or_else(|| ends().into())
    }

    /// The next `length` bytes.
    pub(super) fn take(&mut self, length: u64) -> Result<Vec<u8>, Stopped> {
        let mut taken = Vec::new();
        self.take_into(&mut taken, length)?;
        Ok(taken)
    }

    /// Adds the next `length` bytes to `taken`.
    pub(super) fn take_into(&mut self, taken: &mut Vec<u8>, length: u64) -> Result<(), Stopped> {
        let mut wanted = length;
        while wanted > 0 {
            if self.block.is_empty() {
                self.next_block()?;
            }
            let now = (self.block.len() as u64).min(wanted);
            taken.extend_from_slice(&self.block.split_to(now as usize));
            wanted -= now;
        }
        Ok(())
    }

    /// The next unpacked bytes: one at least.
    fn next_block(&mut self) -> Result<(), Stopped> {
        while self.block.is_empty() {
            let Some(packing) = self.packing else {
                if self.raw.is_empty() {
                    self.raw_bytes(1)?;
                }
                self.block = std::mem::take(&mut self.raw);
                continue;
            };
            let header = self.raw_bytes(BLOCK_HEADER)?;
            let header = header.iter().rev();
            let header = header.fold(0u64, |number, byte| number << 8 | u64::from(*byte));
            self.raw = self.raw.slice(BLOCK_HEADER as usize..);
            let length = header >> 1;
            let bytes = self.raw_bytes(length)?;
            self.raw = self.raw.slice(length as usize..);
            self.block = if header & 1 == 1 {
                bytes
            } else {
                unpacked(packing, &bytes)?.into()
            };
            self.worked(self.block.len() as u64);
        }
        Ok(())
    }

    /// The next `length` bytes as they are in the file, which stay at hand.
    fn raw_bytes(&mut self, length: u64) -> Result<Bytes, Stopped> {
        let missing = length.saturating_sub(self.raw.len() as u64);
        if missing > 0 {
            let left = self.left.end - self.left.start;
            let (Some(file), true) = (&self.file, left >= missing) else {
                return Err(ends().into());
            };
            let end = self.left.start + missing.max(WINDOW).min(left);
            let window = file.window(self.left.start..end)?;
            self.left.start = end;
            self.raw = if self.raw.is_empty() {
                window
            } else {
                [&self.raw[..], &window[..]].concat().into()
            };
        }
        Ok(self.raw.slice(..length as usize))
    }
}

/// Unpacks a block.
pub(super) fn unpacked(packing: Packing, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
    match packing.codec.unpack(bytes, packing.block) {
        Ok(block) => Ok(block),
        Err(Refused::TooMuch) => Err(corrupt("a block unpacks to more than blocks may have")),
        Err(Refused::Broken(error)) => {
            let error = one_line(&error.to_string());
            Err(corrupt(format!("a block cannot be unpacked: {error}")))
        }
    }
}

fn ends() -> Failure {
    corrupt("a column has fewer values than rows")
}
