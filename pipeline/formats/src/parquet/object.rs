//! A Parquet object as the decoder's source of bytes: ranged reads, none larger than needed.
//!
//! The decoder runs on a blocking thread and asks for bytes page by page. What is known to be
//! needed is fetched ahead, several ranges at a time ([`ObjectReader::prefetch`]); everything else
//! comes in windows, one for each column chunk being read, so that memory stays flat however long a
//! chunk is.
//!
//! Parquet allows a page to unpack to two gigabytes, and a broken or hostile one to say so: page
//! headers are looked at here, before the decoder allocates what they ask for, and a header that
//! cannot be understood is refused.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use super::thrift::{self, Page, Refusal};
use crate::Failure;
use crate::ranged::{Fetched, Ranged, slice};

/// Pages up to this size, packed or unpacked, are read whatever the budget.
const PAGE: u64 = 8 << 20;
/// Dictionaries up to this size are read where decoding copies a value to each row that has it: a
/// dictionary of one long value makes many rows of it. Writers' usual limit is one megabyte.
const COPIED_DICTIONARY: u64 = 4 << 20;

/// One object; clones share what was fetched.
#[derive(Clone)]
pub(super) struct ObjectReader(Arc<Inner>);

struct Inner {
    object: Ranged,
    size: u64,
    largest_page: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Fetched ahead.
    ahead: Fetched,
    /// The column chunks that are read, by where they start.
    chunks: BTreeMap<u64, Chunk>,
    /// The window in each chunk, by the chunk's start.
    windows: HashMap<u64, (u64, Bytes)>,
    /// Bytes fetched at a time.
    window: u64,
    /// Whether pages are asked for as a whole, header included: so it is with a page index.
    pages_with_headers: bool,
    failure: Option<Failure>,
}

/// A column chunk that is about to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    /// Where it ends: windows do not reach beyond.
    pub(super) end: u64,
    /// Whether decoding copies a dictionary's value to each row that has it.
    pub(super) copied: bool,
}

impl ObjectReader {
    /// A reader of `object`, for a thread outside the runtime.
    pub(super) fn new(object: Ranged, scan_budget: u64) -> Self {
        ObjectReader(Arc::new(Inner {
            size: object.size(),
            object,
            largest_page: scan_budget.max(PAGE),
            state: Mutex::new(State {
                window: 64 << 10,
                ..State::default()
            }),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves nothing half-done here.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces the column chunks that will be read next, by where they start, and how: in windows
    /// of this size, or by pages of an index. Forgets the windows of earlier ones.
    pub(super) fn expect(
        &self,
        chunks: impl Iterator<Item = (u64, Chunk)>,
        window: u64,
        page_index: bool,
    ) {
        let mut state = self.state();
        state.windows.clear();
        state.chunks = chunks.collect();
        state.window = window;
        state.pages_with_headers = page_index;
    }

    /// Fetches ranges ahead. Those at most `gap` bytes apart are fetched together.
    pub(super) fn prefetch(&self, ranges: Vec<Range<u64>>, gap: u64) -> Result<()> {
        let wanted: Vec<Range<u64>> = {
            let state = self.state();
            ranges
                .into_iter()
                .filter(|range| state.ahead(range).is_none())
                .collect()
        };
        let fetched = self.0.object.get_all(wanted, gap);
        let fetched = fetched.map_err(|failure| self.keep(failure))?;
        self.state().ahead.extend(fetched);
        Ok(())
    }

    /// Drops what was fetched ahead, but for a small file that was fetched as a whole.
    pub(super) fn forget(&self) {
        let mut state = self.state();
        let size = self.0.size;
        state.ahead.retain(|bytes| bytes.len() as u64 == size);
        state.windows.clear();
    }

    /// Bytes fetched so far.
    pub(super) fn fetched(&self) -> u64 {
        self.0.object.fetched()
    }

    /// What is behind a failed read, once.
    pub(super) fn take_failure(&self) -> Option<Failure> {
        self.state().failure.take()
    }

    /// Keeps what a read failed of; the decoder takes no other error than its own.
    fn keep(&self, failure: Failure) -> ParquetError {
        let message = failure.cause();
        self.state().failure = Some(failure);
        ParquetError::General(message)
    }

    /// The bytes from `start` on: at least `length`, and as many more as are at hand.
    fn bytes_at(&self, start: u64, length: u64) -> Result<Bytes> {
        let end = match start.checked_add(length) {
            Some(end) if end <= self.0.size => end,
            _ => {
                return Err(ParquetError::EOF(format!(
                    "{length} bytes expected at {start} of a file of {}",
                    self.0.size
                )));
            }
        };
        let (chunk, range) = {
            let state = self.state();
            if let Some(bytes) = state.ahead(&(start..end)) {
                return Ok(bytes);
            }
            let chunk = state.chunk(start);
            if let Some((from, _)) = chunk
                && let Some((at, window)) = state.windows.get(&from)
                && let Some(bytes) = slice(*at, window, &(start..end))
            {
                return Ok(bytes);
            }
            // With a page index the decoder knows exactly what it wants.
            let window = if state.pages_with_headers {
                length
            } else {
                length.max(state.window)
            };
            let last = chunk
                .map_or(self.0.size, |(_, chunk)| chunk.end.min(self.0.size))
                .max(end);
            (
                chunk.map(|(from, _)| from),
                start..(start + window).min(last),
            )
        };
        let bytes = self.0.object.get(range);
        let bytes = bytes.map_err(|failure| self.keep(failure))?;
        if let Some(chunk) = chunk {
            self.state().windows.insert(chunk, (start, bytes.clone()));
        }
        Ok(bytes)
    }

    /// Refuses a page that is larger than any that a sane writer makes.
    fn check_size(&self, bytes: u64) -> Result<()> {
        if bytes > self.0.largest_page {
            return Err(ParquetError::NYI(format!(
                "a page of {bytes} bytes (more than {} are not read)",
                self.0.largest_page
            )));
        }
        Ok(())
    }

    fn check_page(&self, start: u64, page: Page) -> Result<()> {
        self.check_size(page.unpacked)?;
        let copied = self
            .state()
            .chunk(start)
            .is_some_and(|(_, chunk)| chunk.copied);
        if copied && page.is_dictionary && page.unpacked > COPIED_DICTIONARY {
            return Err(ParquetError::NYI(format!(
                "a dictionary of {} bytes for nested values (more than {COPIED_DICTIONARY} are not read)",
                page.unpacked
            )));
        }
        Ok(())
    }

    /// Checks the page whose header stands at `start`. `bytes` are those from there on that are at
    /// hand; what is returned holds the whole header.
    fn check_header(&self, start: u64, mut bytes: Bytes) -> Result<Bytes> {
        let most = (self.0.size - start).min(self.0.largest_page);
        loop {
            match thrift::page(&bytes) {
                Ok(page) => {
                    self.check_page(start, page)?;
                    return Ok(bytes);
                }
                // Statistics may make a header long.
                Err(Refusal::Cut) if (bytes.len() as u64) < most => {
                    let wanted = (2 * bytes.len() as u64).min(most);
                    bytes = self.bytes_at(start, wanted)?;
                }
                Err(_) => return Err(broken_header()),
            }
        }
    }
}

fn broken_header() -> ParquetError {
    ParquetError::General("a page's header is broken".to_owned())
}

impl State {
    /// The column chunk around `at`, and where it starts.
    fn chunk(&self, at: u64) -> Option<(u64, Chunk)> {
        let (start, chunk) = self.chunks.range(..=at).next_back()?;
        (at < chunk.end).then_some((*start, *chunk))
    }

    fn ahead(&self, range: &Range<u64>) -> Option<Bytes> {
        self.ahead.from(range)
    }
}

impl Length for ObjectReader {
    fn len(&self) -> u64 {
        self.0.size
    }
}

impl ChunkReader for ObjectReader {
    type T = Reading;

    /// Where the decoder asks for this, a page header stands; or the header is known to it already,
    /// and nothing will be read.
    fn get_read(&self, start: u64) -> Result<Reading> {
        Ok(Reading {
            object: self.clone(),
            at: start,
            rest: self.bytes_at(start, 1)?,
            checked: false,
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.check_size(length as u64)?;
        let bytes = self.bytes_at(start, length as u64)?.slice(..length);
        let with_header = self.state().pages_with_headers;
        if with_header {
            let page = thrift::page(&bytes).map_err(|_| broken_header())?;
            self.check_page(start, page)?;
        }
        Ok(bytes)
    }
}

/// Sequential reading from a page header on.
pub(super) struct Reading {
    object: ObjectReader,
    at: u64,
    rest: Bytes,
    checked: bool,
}

impl Read for Reading {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if !self.checked {
            let rest = std::mem::take(&mut self.rest);
            self.rest = self
                .object
                .check_header(self.at, rest)
                .map_err(std::io::Error::other)?;
            self.checked = true;
        }
        if self.rest.is_empty() {
            if buffer.is_empty() || self.at >= self.object.len() {
                return Ok(0);
            }
            self.rest = self
                .object
                .bytes_at(self.at, 1)
                .map_err(std::io::Error::other)?;
        }
        let length = buffer.len().min(self.rest.len());
        buffer[..length].copy_from_slice(&self.rest.split_to(length));
        self.at += length as u64;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use limn_store::Store;
    use tokio::runtime::Handle;

    use crate::object::ObjectRecord;

    use super::*;

    fn reader(store: Store, path: &str, size: u64) -> ObjectReader {
        let object = Ranged::new(
            store,
            &ObjectRecord::unversioned(path, size),
            Handle::current(),
        );
        ObjectReader::new(object, 1 << 20)
    }

    #[tokio::test]
    async fn windows_are_kept_and_end_with_their_chunk() {
        let store = Store::in_memory();
        let mut content: Vec<u8> = (0..200u8).collect();
        // A page header, which announces 300 bytes.
        content[90..101]
            .copy_from_slice(&[0x15, 0, 0x15, 0xd8, 0x04, 0x15, 0xc8, 0x01, 0x2c, 0, 0]);
        store.put("x", content.clone().into()).await.unwrap();
        let reader = reader(store, "x", 200);
        tokio::task::spawn_blocking(move || {
            let chunk = |start, end| (start, Chunk { end, copied: false });
            reader.expect([chunk(0, 100), chunk(100, 150)].into_iter(), 40, false);
            assert_eq!(reader.get_bytes(0, 10).unwrap(), content[..10]);
            assert_eq!(reader.get_bytes(10, 30).unwrap(), content[10..40]);
            assert_eq!(reader.fetched(), 40);
            assert_eq!(reader.get_bytes(120, 5).unwrap(), content[120..125]);
            assert_eq!(reader.fetched(), 70);
            assert_eq!(reader.get_bytes(30, 5).unwrap(), content[30..35]);
            assert_eq!(
                reader.fetched(),
                70,
                "the first chunk's window is still there"
            );
            let mut rest = Vec::new();
            reader
                .get_read(90)
                .unwrap()
                .take(30)
                .read_to_end(&mut rest)
                .unwrap();
            assert_eq!(rest, content[90..120]);
            assert!(reader.get_bytes(190, 11).is_err());
            assert!(reader.get_bytes(u64::MAX, 2).is_err());
        })
        .await
        .unwrap();
    }

    /// What reading the header at the beginning of an object comes to.
    async fn first_header(content: Vec<u8>, copied: bool) -> std::result::Result<(), String> {
        let store = Store::in_memory();
        let size = content.len() as u64;
        store.put("x", content.into()).await.unwrap();
        let reader = reader(store, "x", size);
        let read = tokio::task::spawn_blocking(move || {
            // Windows of four bytes: no header fits.
            reader.expect([(0, Chunk { end: size, copied })].into_iter(), 4, false);
            reader.get_read(0).unwrap().read_exact(&mut [0; 8])
        });
        read.await.unwrap().map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn huge_pages_are_refused_before_they_are_unpacked() {
        let size = [0x80, 0x80, 0x80, 0x80, 0x08];
        let plain = [
            &[0x15, 0x00, 0x15],
            &size[..],
            &[0x15, 0x02, 0x2c, 0x00, 0x00],
        ]
        .concat();
        // The fields' numbers written out, and another field before them.
        let long = [
            &[0x05, 0x02, 0x00, 0x05, 0x04],
            &size[..],
            &[0x15, 0x02, 0x2c, 0x00, 0x00],
        ]
        .concat();
        let late = [
            &[0xf8, 0x03, 1, 2, 3, 0x05, 0x02, 0x00, 0x15],
            &size[..],
            &[0x15, 0x02, 0x2c, 0x00, 0x00],
        ]
        .concat();
        for header in [plain, long, late] {
            let error = first_header(header, false).await.unwrap_err();
            assert!(error.contains("a page of 1073741824 bytes"), "{error}");
        }
        for broken in [
            vec![0; 100],
            vec![0x18; 100],
            vec![0x15, 0x00, 0x15, 0x02, 0x15],
        ] {
            let error = first_header(broken, false).await.unwrap_err();
            assert!(error.contains("header is broken"), "{error}");
        }
        let sound = vec![
            0x15, 0x00, 0x15, 0xd8, 0x04, 0x15, 0xc8, 0x01, 0x2c, 0x00, 0x00,
        ];
        assert_eq!(first_header(sound, false).await, Ok(()));
    }

    #[tokio::test]
    async fn long_dictionaries_are_refused_where_they_are_copied() {
        // Type 2, unpacked 5 MiB.
        let header = vec![
            0x15, 0x04, 0x15, 0x80, 0x80, 0x80, 0x05, 0x15, 0x02, 0x4c, 0x00, 0x00,
        ];
        assert_eq!(first_header(header.clone(), false).await, Ok(()));
        let error = first_header(header, true).await.unwrap_err();
        assert!(error.contains("a dictionary of 5242880 bytes"), "{error}");
    }

    #[tokio::test]
    async fn the_stores_error_is_kept() {
        let reader = reader(Store::in_memory(), "gone", 10);
        tokio::task::spawn_blocking(move || {
            assert!(reader.get_bytes(0, 5).is_err());
            let failure = reader.take_failure().unwrap();
            assert!(matches!(failure, Failure::Store(error) if error.is_not_found()));
            assert!(reader.take_failure().is_none());
        })
        .await
        .unwrap();
    }
}
