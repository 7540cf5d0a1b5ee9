//! Zip archives (PKWARE's APPNOTE 6.3.10): the directory at the end, and members by it.
//!
//! The directory is read here and not by a crate, since it is wanted in two ranged reads and within
//! bounds: its length and number of entries are checked before it is fetched. Local headers are
//! looked at only for their length. A member that is read whole is unpacked here and checked
//! against its checksum, also one that is stored as it is. Longer text that is packed is handed on
//! as a file of that compression (deflated bytes become a gzip file), so that as much of it is
//! unpacked as of any compressed text; what is longer and stored is read in parts, and cannot be
//! checked.

use std::io::{self, BufRead, Read};
use std::ops::Range;

use bytes::Bytes;
use limn_store::Stretch;
use limn_store::one_line;

use super::{
    MOST_MEMBERS, Members, at_hand, damaged, is_trap, most_unpacked, too_long, too_many, trap,
};
use crate::compression::Compression;
use crate::data_file::DataFile;
use crate::error::FileErrorKind;
use crate::format::Format;
use crate::member::MemberPlace;
use crate::ranged::Ranged;
use crate::{Failure, ReadOptions};

const END: &[u8] = b"PK\x05\x06";
const END_64: &[u8] = b"PK\x06\x06";
const LOCATOR_64: &[u8] = b"PK\x06\x07";
const ENTRY: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";

/// The end record, with the longest comment, and the locator before it.
const TAIL: u64 = 22 + 65_535 + 20;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// A record's fields; of a short record there are none.
#[derive(Clone, Copy)]
struct Record<'a>(&'a [u8]);

impl<'a> Record<'a> {
    fn bytes(self, at: usize, length: usize) -> Result<&'a [u8], Failure> {
        let bytes = at.checked_add(length).and_then(|end| self.0.get(at..end));
        bytes.ok_or_else(|| damaged("zip directory ends early"))
    }

    fn number(self, at: usize, length: usize) -> Result<u64, Failure> {
        let bytes = self.bytes(at, length)?.iter().rev();
        Ok(bytes.fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}

/// Where the directory is.
struct Directory {
    range: Range<u64>,
    entries: u64,
    /// Bytes in front of the archive, which no offset counts.
    before: u64,
}

/// Lists an archive.
///
/// # Errors
/// The store's; a damaged archive; one of too many members, or that unpacks to too much.
pub(super) fn list(
    ranged: &Ranged,
    options: &ReadOptions,
    members: &mut Members,
) -> Result<(), Failure> {
    let directory = find(ranged)?;
    if directory.entries > MOST_MEMBERS {
        return Err(too_many());
    }
    let length = directory.range.end - directory.range.start;
    let most = options.scan_budget.max(1 << 20);
    if length > most {
        let cause = format!("its zip directory is {length} bytes long, more than {most}");
        return Err(Failure::new(FileErrorKind::Unsupported, cause).with_remedy(super::UNPACK));
    }
    let bytes = ranged.get(directory.range.clone())?;
    let (mut at, mut unpacked) = (0, 0u64);
    let mut taken: Vec<Range<u64>> = Vec::new();
    for _ in 0..directory.entries {
        let entry = Entry::read(Record(&bytes), &mut at, directory.before)?;
        let start = entry.header;
        let end = start.saturating_add(entry.packed).saturating_add(30);
        if end > directory.range.start {
            return Err(damaged("zip directory names bytes that are not there"));
        }
        taken.push(start..end);
        unpacked = unpacked.saturating_add(entry.size);
        entry.list(members);
    }
    taken.sort_unstable_by_key(|range| range.start);
    if taken.windows(2).any(|two| two[0].end > two[1].start) {
        return Err(damaged("zip members overlap"));
    }
    if is_trap(unpacked, ranged.size()) {
        return Err(trap());
    }
    Ok(())
}

fn find(ranged: &Ranged) -> Result<Directory, Failure> {
    let size = ranged.size();
    let start = size.saturating_sub(TAIL);
    let tail = ranged.get(start..size)?;
    let is_end = |at: &usize| {
        let comment = Record(&tail).number(at + 20, 2).ok();
        tail[*at..].starts_with(END)
            && comment.is_some_and(|length| *at as u64 + 22 + length <= tail.len() as u64)
    };
    let last = tail.len().saturating_sub(22);
    let Some(at) = (0..=last).rev().find(is_end) else {
        return Err(damaged(
            "zip directory is missing: it is no zip archive, or cut off",
        ));
    };
    let end = Record(&tail[at..]);
    let (disk, first) = (end.number(4, 2)?, end.number(6, 2)?);
    let (entries, length) = (end.number(10, 2)?, end.number(12, 4)?);
    let offset = end.number(16, 4)?;
    let is_long = entries == 0xffff || length == 0xffff_ffff || offset == 0xffff_ffff;
    if is_long && at >= 20 && tail[at - 20..].starts_with(LOCATOR_64) {
        return find_64(ranged, Record(&tail[at - 20..]).number(8, 8)?);
    }
    if disk != 0 || first != 0 {
        let cause = "it is a part of a zip archive of several files";
        return Err(Failure::new(FileErrorKind::Unsupported, cause).with_remedy(super::UNPACK));
    }
    let end_at = start + at as u64;
    let before = end_at
        .checked_sub(length)
        .and_then(|start| start.checked_sub(offset));
    let before = before.ok_or_else(|| damaged("zip directory is not where it should be"))?;
    Ok(Directory {
        range: end_at - length..end_at,
        entries,
        before,
    })
}

fn find_64(ranged: &Ranged, at: u64) -> Result<Directory, Failure> {
    let bytes = ranged.get(at..at.saturating_add(56))?;
    let record = Record(&bytes);
    if !bytes.starts_with(END_64) {
        return Err(damaged("zip directory is not where it should be"));
    }
    let (entries, length, start) = (
        record.number(32, 8)?,
        record.number(40, 8)?,
        record.number(48, 8)?,
    );
    let end = start.checked_add(length).filter(|end| *end <= at);
    let end = end.ok_or_else(|| damaged("zip directory is not where it should be"))?;
    Ok(Directory {
        range: start..end,
        entries,
        before: 0,
    })
}

/// An entry of the directory.
struct Entry<'a> {
    name: &'a [u8],
    flags: u64,
    method: u16,
    crc: u32,
    packed: u64,
    size: u64,
    header: u64,
    mode: u64,
}

impl<'a> Entry<'a> {
    fn read(directory: Record<'a>, at: &mut usize, before: u64) -> Result<Entry<'a>, Failure> {
        let entry = Record(directory.0.get(*at..).unwrap_or_default());
        if !entry.0.starts_with(ENTRY) {
            return Err(damaged("zip directory has fewer entries than it says"));
        }
        let length = |at| Ok::<usize, Failure>(entry.number(at, 2)? as usize);
        let (name, extra, comment) = (length(28)?, length(30)?, length(32)?);
        let mut sizes = [
            entry.number(24, 4)?,
            entry.number(20, 4)?,
            entry.number(42, 4)?,
        ];
        let mut extras = Record(entry.bytes(46 + name, extra)?);
        while extras.0.len() >= 4 {
            let length = extras.number(2, 2)? as usize;
            if extras.number(0, 2)? == 1 {
                let long = Record(extras.bytes(4, length)?);
                let claimed = sizes.iter_mut().filter(|size| **size == 0xffff_ffff);
                for (i, size) in claimed.enumerate() {
                    *size = long.number(8 * i, 8)?;
                }
            }
            extras = Record(extras.0.get(4 + length..).unwrap_or_default());
        }
        *at += 46 + name + extra + comment;
        let [size, packed, header] = sizes;
        Ok(Entry {
            name: entry.bytes(46, name)?,
            flags: entry.number(8, 2)?,
            // Two bytes and four fit.
            method: entry.number(10, 2)? as u16,
            crc: entry.number(16, 4)? as u32,
            packed,
            size,
            header: header.saturating_add(before),
            mode: entry.number(38, 4)? >> 16,
        })
    }

    fn list(self, members: &mut Members) {
        let is_file = matches!(self.mode & 0o170_000, 0 | 0o100_000);
        if !is_file || self.name.ends_with(b"/") {
            return;
        }
        let Some(name) = members.wants(self.name) else {
            return;
        };
        let refused = |cause: &str| Failure::new(FileErrorKind::Unsupported, cause);
        let failure = if self.flags & 1 != 0 {
            Some(refused("it is encrypted").with_remedy("pack it without a password"))
        } else if self.method != STORED && self.method != DEFLATED && packing(self.method).is_none()
        {
            let cause = format!("it is packed by method {}", self.method);
            Some(refused(&cause).with_remedy("pack it with deflate or zstd"))
        } else if self.method == STORED && self.packed != self.size {
            Some(damaged("zip entry has two lengths"))
        } else if is_trap(self.size, self.packed) {
            Some(trap())
        } else {
            None
        };
        match failure {
            Some(failure) => members.refuse(name, self.size, failure),
            None => {
                let place = MemberPlace::Zip {
                    method: self.method,
                    header: self.header,
                    packed: self.packed,
                    crc: self.crc,
                };
                members.add(name, self.size, place);
            }
        }
    }
}

/// A packing that is a compressed file's, too.
fn packing(method: u16) -> Option<Compression> {
    match method {
        12 => Some(Compression::Bzip2),
        93 => Some(Compression::Zstd),
        95 => Some(Compression::Xz),
        _ => None,
    }
}

/// Where a member's bytes begin.
///
/// # Errors
/// The store's; there is no such member.
pub(super) fn content(ranged: &Ranged, header: u64) -> Result<u64, Failure> {
    let bytes = ranged.get(header..header.saturating_add(30))?;
    if !bytes.starts_with(LOCAL) {
        return Err(damaged(
            "zip directory points at something else than a member",
        ));
    }
    let local = Record(&bytes);
    Ok(header + 30 + local.number(26, 2)? + local.number(28, 2)?)
}

/// A member whose bytes are at `range`.
///
/// # Errors
/// The store's; it is longer than what may be unpacked, or not what the directory says.
pub(super) fn enter(
    ranged: &Ranged,
    method: u16,
    range: Range<u64>,
    crc: u32,
    mut file: DataFile,
    options: &ReadOptions,
) -> Result<(Vec<Stretch>, DataFile), Failure> {
    let size = file.object.size;
    if size == 0 {
        return Ok((at_hand(Vec::new()), file));
    }
    let most = most_unpacked(options);
    let is_whole = match file.format {
        Format::Sqlite | Format::Sheet => size <= most,
        _ => size <= options.scan_budget,
    };
    if method == STORED && !is_whole {
        return Ok((vec![Stretch::Object(range)], file));
    }
    let is_plain_text = file.format.is_text() && Compression::of_path(&file.object.path).is_none();
    let packed = range.end.saturating_sub(range.start);
    if is_plain_text && !is_whole {
        let (mut stretches, extension, more) = (vec![Stretch::Object(range)], method, packed);
        let (extension, length) = match packing(extension) {
            Some(Compression::Bzip2) => (".bz2", more),
            Some(Compression::Zstd) => (".zst", more),
            Some(Compression::Xz) => (".xz", more),
            _ => {
                // RFC 1952: deflated bytes between a header without a name and a checksum.
                let head: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\xff";
                let foot = [crc.to_le_bytes(), (size as u32).to_le_bytes()].concat();
                let length = more + head.len() as u64 + foot.len() as u64;
                stretches.insert(0, Stretch::Bytes(Bytes::from_static(head)));
                stretches.push(Stretch::Bytes(foot.into()));
                (".gz", length)
            }
        };
        file.object.path.push_str(extension);
        file.object.size = length;
        return Ok((stretches, file));
    }
    if size.max(packed) > most {
        return Err(too_long(size.max(packed), most));
    }
    let mut bytes = ranged.get(range)?;
    if method != STORED {
        let mut unpacked = Vec::new();
        let read = unpacker(method, &bytes[..]).and_then(|unpacker| {
            unpacker
                .take(size.saturating_add(1))
                .read_to_end(&mut unpacked)
        });
        if let Err(error) = read {
            let error = one_line(&error.to_string());
            return Err(damaged(format!("packed data is damaged ({error})")));
        }
        bytes = unpacked.into();
    }
    let mut sum = flate2::Crc::new();
    sum.update(&bytes);
    if bytes.len() as u64 != size || sum.sum() != crc {
        return Err(damaged(
            "content does not have the length and checksum that the zip directory says",
        ));
    }
    Ok((vec![Stretch::Bytes(bytes)], file))
}

fn unpacker<'a>(method: u16, bytes: impl BufRead + 'a) -> io::Result<Box<dyn Read + 'a>> {
    match packing(method) {
        Some(packing) => packing.reader(bytes),
        None => Ok(Box::new(flate2::bufread::DeflateDecoder::new(bytes))),
    }
}
