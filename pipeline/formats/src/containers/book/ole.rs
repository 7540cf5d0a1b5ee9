//! Compound files (MS-CFB): streams of bytes by name, in which `.xls` files and others keep what they hold.
//!
//! A stream is a chain of sectors, and each sector's place in the table of chains names the next. No length is
//! believed: a stream takes memory as its sectors are found, none of them twice, so it is never longer than the
//! file. Only streams that lie at the top are found; those of embedded documents have the same names.

use super::damaged;
use crate::Failure;

pub(super) const MAGIC: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
/// Ends a chain.
const END: u32 = 0xffff_fffe;
/// The most that a number of a sector can be.
const LAST: u32 = 0xffff_fffa;
/// Where the first numbers of the table's own sectors stand in the header, and where the header's fields end.
const FIRST_TABLE: usize = 76;
const HEADER: usize = 512;
/// Shorter streams lie in small sectors, which are a stream themselves.
const SMALL: u64 = 4096;
const SMALL_SECTOR: usize = 64;
/// An entry of the directory.
const ENTRY: usize = 128;

/// Sectors, and which comes after which.
struct Chains<'a> {
    bytes: &'a [u8],
    sector: usize,
    next: Vec<u32>,
}

impl Chains<'_> {
    /// The bytes of a chain: of all of it, or the first `size`.
    fn read(&self, start: u32, size: Option<u64>) -> Result<Vec<u8>, Failure> {
        let most = size.map_or(usize::MAX, |size| {
            usize::try_from(size).unwrap_or(usize::MAX)
        });
        let room = size.map_or(0, |_| most.min(self.bytes.len()));
        let (mut read, mut seen) = (Vec::with_capacity(room), vec![false; self.next.len()]);
        let mut at = start;
        while at != END && read.len() < most {
            let place = at as usize;
            let was_seen = seen.get_mut(place).ok_or_else(cut)?;
            if std::mem::replace(was_seen, true) {
                return Err(damaged("chains of sectors are loops"));
            }
            let sector = sector(self.bytes, self.sector, place);
            let sector = sector.ok_or_else(cut)?;
            let wanted = self.sector.min(most - read.len());
            // The last sector of a file may be short.
            read.extend_from_slice(&sector[..wanted.min(sector.len())]);
            if size.is_some() && sector.len() < wanted {
                return Err(cut());
            }
            at = self.next[place];
        }
        match size {
            Some(_) if read.len() < most => Err(cut()),
            _ => Ok(read),
        }
    }
}

fn sector(bytes: &[u8], size: usize, number: usize) -> Option<&[u8]> {
    let start = number.checked_mul(size)?;
    let rest = bytes.get(start..).filter(|rest| !rest.is_empty())?;
    Some(&rest[..size.min(rest.len())])
}

/// A stream or a folder of them.
struct Entry<'a>(&'a [u8; ENTRY]);

impl Entry<'_> {
    fn name(&self) -> String {
        let length = usize::from(u16::from_le_bytes([self.0[64], self.0[65]]));
        // The name's end is counted, too.
        super::biff::wide(&self.0[..length.saturating_sub(2).min(64)])
    }

    fn is_stream(&self) -> bool {
        self.0[66] == 2
    }

    /// The neighbours at the left and at the right, and the first of what it holds.
    fn left(&self) -> u32 {
        long(self.0, 68)
    }

    fn right(&self) -> u32 {
        long(self.0, 72)
    }

    fn child(&self) -> u32 {
        long(self.0, 76)
    }

    fn start(&self) -> u32 {
        long(self.0, 116)
    }

    /// Files of small sectors have other things in the upper half of the field.
    fn size(&self, is_small: bool) -> u64 {
        let upper = if is_small { 0 } else { long(self.0, 124) };
        u64::from(upper) << 32 | u64::from(long(self.0, 120))
    }
}

/// A number of four bytes; 0 where there are not as many.
fn long(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes.get(at..).and_then(|it| it.first_chunk());
    bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn cut() -> Failure {
    damaged("compound file is cut off, or names bytes that are not there")
}

/// A compound file at hand.
pub(super) struct Compound<'a> {
    chains: Chains<'a>,
    directory: Vec<u8>,
    /// Where the table of small sectors starts.
    small_table: u32,
}

impl<'a> Compound<'a> {
    /// # Errors
    /// It is damaged.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Compound<'a>, Failure> {
        if bytes.len() < HEADER {
            return Err(cut());
        }
        let size = match bytes[30] {
            9 => 512,
            12 => 4096,
            _ => return Err(damaged("compound file has sectors of no known size")),
        };
        // The header takes a whole sector.
        let sectors = bytes.get(size..).ok_or_else(cut)?;
        let chains = Chains {
            bytes: sectors,
            sector: size,
            next: table(bytes, sectors, size)?,
        };
        let directory = chains.read(long(bytes, 48), None)?;
        Ok(Compound {
            chains,
            directory,
            small_table: long(bytes, 60),
        })
    }

    /// Whether a stream of this name lies at the top.
    pub(super) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// A stream that lies at the top; `None` if there is none.
    ///
    /// # Errors
    /// It is damaged.
    pub(super) fn stream(&self, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        let Some(entry) = self.find(name) else {
            return Ok(None);
        };
        let is_small = self.chains.sector < 4096;
        let size = entry.size(is_small);
        if size >= SMALL {
            return self.chains.read(entry.start(), Some(size)).map(Some);
        }
        let root = self.entry(0).ok_or_else(cut)?;
        let sectors = self.chains.read(root.start(), Some(root.size(is_small)))?;
        let table = self.chains.read(self.small_table, None)?;
        let mut next: Vec<u32> = numbers(&table).collect();
        next.truncate(sectors.len().div_ceil(SMALL_SECTOR));
        let small = Chains {
            bytes: &sectors,
            sector: SMALL_SECTOR,
            next,
        };
        small.read(entry.start(), Some(size)).map(Some)
    }

    fn entry(&self, number: u32) -> Option<Entry<'_>> {
        let entries = self.directory.as_chunks::<ENTRY>().0;
        entries.get(number as usize).map(Entry)
    }

    /// What lies at the top is a tree below the first entry.
    fn find(&self, name: &str) -> Option<Entry<'_>> {
        let mut seen = vec![false; self.directory.len() / ENTRY];
        let mut open = vec![self.entry(0)?.child()];
        while let Some(number) = open.pop() {
            let Some(seen) = seen.get_mut(number as usize) else {
                continue;
            };
            if std::mem::replace(seen, true) {
                continue;
            }
            let entry = self.entry(number)?;
            if entry.is_stream() && entry.name().eq_ignore_ascii_case(name) {
                return Some(entry);
            }
            open.extend([entry.left(), entry.right()]);
        }
        None
    }
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u32> {
    let numbers = bytes.as_chunks::<4>().0.iter();
    numbers.map(|it| u32::from_le_bytes(*it))
}

/// Which sector comes after which. The header names the first sectors of this table, and a chain of sectors those
/// that follow.
fn table(bytes: &[u8], sectors: &[u8], size: usize) -> Result<Vec<u32>, Failure> {
    let count = sectors.len().div_ceil(size);
    let mut places: Vec<u32> = numbers(&bytes[FIRST_TABLE..HEADER]).collect();
    let mut more = long(bytes, 68);
    let mut left = count;
    while more <= LAST {
        left = left.checked_sub(1).ok_or_else(cut)?;
        let listed = sector(sectors, size, more as usize).ok_or_else(cut)?;
        let mut listed: Vec<u32> = numbers(listed).collect();
        more = listed.pop().ok_or_else(cut)?;
        places.extend(listed);
    }
    let mut next = Vec::new();
    for place in places {
        if place <= LAST && next.len() < count {
            let part = sector(sectors, size, place as usize).ok_or_else(cut)?;
            next.extend(numbers(part));
        }
    }
    next.truncate(count);
    Ok(next)
}
