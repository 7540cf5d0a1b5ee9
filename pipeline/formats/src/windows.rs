//! A text of any length, from its beginning to its end, a window at a time: fetched ahead,
//! unpacked, and made UTF-8.

use std::io::{self, BufRead, Read};

use bytes::{Buf, Bytes};
use encoding_rs::{CoderResult, Decoder, Encoding};
use limn_profile::TextReading;
use tokio::task::JoinHandle;

use limn_store::one_line;

use super::Failure;
use super::ranged::Ranged;
use crate::compression::Compression;
use crate::error::FileErrorKind;

/// Bytes fetched at a time.
const FETCH: u64 = 4 << 20;
/// Bytes of text that a window is longer than the one before it.
const STEP: usize = 4 << 20;
/// A row is no longer than this.
const LONGEST_ROW: usize = 256 << 20;
/// Text that is so many times as long as what it was unpacked from is a trap, if it is long.
const MOST_TIMES: u64 = 1000;
const LONG: u64 = 64 << 20;

/// One object from its beginning on, for a thread outside the runtime. What comes next is fetched
/// while the last is read.
pub(super) struct Sequential {
    object: Ranged,
    /// Where `rest` begins.
    at: u64,
    rest: Bytes,
    /// What is being fetched, and where it begins.
    next: Option<(u64, JoinHandle<Result<Bytes, Failure>>)>,
}

impl Sequential {
    pub(super) fn new(object: Ranged) -> Sequential {
        Sequential {
            object,
            at: 0,
            rest: Bytes::new(),
            next: None,
        }
    }

    /// Passes bytes. What is far is not fetched.
    ///
    /// # Errors
    /// The store's.
    pub(super) fn skip(&mut self, mut bytes: u64) -> io::Result<()> {
        while bytes > 0 {
            if self.rest.is_empty() && bytes > FETCH {
                self.at += bytes;
                return Ok(());
            }
            let there = self
                .fill_buf()?
                .len()
                .min(usize::try_from(bytes).unwrap_or(usize::MAX));
            if there == 0 {
                return Ok(());
            }
            self.consume(there);
            bytes -= there as u64;
        }
        Ok(())
    }

    fn fetch_ahead(&mut self, from: u64) {
        let to = (from + FETCH).min(self.object.size());
        self.next = (from < to).then(|| (from, self.object.fetch_ahead(from..to)));
    }

    fn refill(&mut self) -> io::Result<()> {
        if !matches!(&self.next, Some((from, _)) if *from == self.at) {
            if let Some((_, fetch)) = self.next.take() {
                fetch.abort();
            }
            self.fetch_ahead(self.at);
        }
        let Some((_, fetch)) = self.next.take() else {
            return Ok(());
        };
        match self.object.wait(fetch) {
            Ok(bytes) => {
                self.fetch_ahead(self.at + bytes.len() as u64);
                self.rest = bytes;
                Ok(())
            }
            Err(failure) => Err(self.object.keep(failure)),
        }
    }
}

impl BufRead for Sequential {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.rest.is_empty() {
            self.refill()?;
        }
        Ok(&self.rest)
    }

    fn consume(&mut self, amount: usize) {
        self.rest.advance(amount);
        self.at += amount as u64;
    }
}

impl Read for Sequential {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.len().min(buffer.len());
        buffer[..length].copy_from_slice(&self.rest[..length]);
        self.consume(length);
        Ok(length)
    }
}

impl Drop for Sequential {
    fn drop(&mut self) {
        if let Some((_, fetch)) = &self.next {
            fetch.abort();
        }
    }
}

/// A text's windows.
pub(super) struct Windows {
    source: Box<dyn Read>,
    object: Ranged,
    /// Bytes of the text that came of it.
    read: u64,
    is_packed: bool,
    decoder: Option<Decoder>,
    window: Vec<u8>,
    is_all: bool,
}

impl Windows {
    /// The text of a file that was read as this says.
    ///
    /// # Errors
    /// The store's; what cannot be unpacked.
    pub(super) fn open(
        object: Ranged,
        compression: Option<Compression>,
        reading: Option<&TextReading>,
    ) -> Result<Windows, Failure> {
        let bytes = Sequential::new(object.clone());
        let source: Box<dyn Read> = match compression {
            Some(compression) => compression
                .reader(bytes)
                .map_err(|error| object.take_failure().unwrap_or_else(|| damaged(&error)))?,
            None => Box::new(bytes),
        };
        let encoding = reading.and_then(|it| it.encoding.as_deref());
        let encoding = encoding.and_then(|it| Encoding::for_label(it.as_bytes()));
        Ok(Windows {
            source,
            object,
            read: 0,
            is_packed: compression.is_some(),
            decoder: encoding.map(Encoding::new_decoder_with_bom_removal),
            window: Vec::new(),
            is_all: false,
        })
    }

    /// The text that is at hand, and whether it ends there.
    pub(super) fn text(&self) -> (&[u8], bool) {
        (&self.window, self.is_all)
    }

    /// Goes on: without the first bytes of the window, and with more at its end.
    ///
    /// # Errors
    /// The store's; damage; a row that is longer than any.
    pub(super) fn advance(&mut self, read: usize) -> Result<(), Failure> {
        self.window.drain(..read);
        if self.window.len() > LONGEST_ROW {
            let cause = format!("one of its rows is longer than {LONGEST_ROW} bytes");
            return Err(Failure::new(FileErrorKind::Unsupported, cause)
                .with_remedy("check the file's line ends and quotes"));
        }
        let wanted = self.window.len() + STEP;
        let mut chunk = vec![0; 256 << 10];
        while !self.is_all && self.window.len() < wanted {
            let length = match self.source.read(&mut chunk) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.failed(&error)),
            };
            self.is_all = length == 0;
            self.read += length as u64;
            if self.is_packed
                && self.read > LONG
                && self.read / self.object.size().max(1) > MOST_TIMES
            {
                let cause = format!("it unpacks to more than {MOST_TIMES} times its size");
                return Err(Failure::new(FileErrorKind::Unsupported, cause));
            }
            self.take(&chunk[..length]);
        }
        Ok(())
    }

    fn take(&mut self, bytes: &[u8]) {
        let Some(decoder) = &mut self.decoder else {
            self.window.extend_from_slice(bytes);
            return;
        };
        let most = decoder.max_utf8_buffer_length(bytes.len());
        let mut text = String::with_capacity(most.unwrap_or(4 * bytes.len() + 16));
        let (result, ..) = decoder.decode_to_string(bytes, &mut text, self.is_all);
        debug_assert_eq!(
            result,
            CoderResult::InputEmpty,
            "there is room for all of it"
        );
        self.window.extend_from_slice(text.as_bytes());
    }

    fn failed(&self, error: &io::Error) -> Failure {
        self.object.take_failure().unwrap_or_else(|| damaged(error))
    }
}

fn damaged(error: &io::Error) -> Failure {
    let cause = format!("it cannot be unpacked: {}", one_line(&error.to_string()));
    Failure::new(FileErrorKind::Corrupt, cause)
        .with_remedy("write or copy the file again from its source")
}
