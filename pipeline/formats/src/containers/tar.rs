//! Tar archives (POSIX.1-2001 with GNU's long names), plain or compressed: a walk from header to
//! header.
//!
//! In a plain archive a member is a range of bytes, and the walk skips what it does not want. A
//! compressed one can only be unpacked from its beginning, once to list it and, where it is too
//! long to be kept, once for each member: so only its first [`MOST_BUDGETS`] scan budgets are
//! looked at, and members whose unpacking comes to more than [`MOST_WORK`] budgets together are
//! refused. Headers are understood by the crate `tar`; lengths are bounded here.

use std::cell::{Cell, RefCell};
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use bytes::{Buf, Bytes};
use limn_store::Stretch;
use limn_store::one_line;
use tar::{EntryType, Header, PaxExtensions};

use super::kept::Part;
use super::{
    MOST_MEMBERS, Members, at_hand, damaged, is_trap, most_unpacked, too_long, too_many, trap,
};
use crate::compression::Compression;
use crate::data_file::DataFile;
use crate::error::FileErrorKind;
use crate::input::ranges;
use crate::member::MemberPlace;
use crate::ranged::Ranged;
use crate::{Failure, ReadOptions};

/// A header, and what members are padded to.
const BLOCK: u64 = 512;
/// Bytes fetched at a time.
const FETCHED: u64 = 1 << 20;
/// Long names and other extensions of a header are at most so long.
const MOST_EXTENSION: u64 = 64 << 10;
/// So much of a compressed archive is looked at, in scan budgets.
const MOST_BUDGETS: u64 = 64;
/// So much is unpacked for all members of a compressed archive, in scan budgets.
const MOST_WORK: u64 = 1024;

/// Bytes that are unpacked for all members of a compressed archive, at most.
pub(super) fn most_work(options: &ReadOptions) -> u64 {
    options.scan_budget.max(1 << 20).saturating_mul(MOST_WORK)
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
    let mut archive = Archive::open(ranged)?;
    let (budget, is_packed) = (options.scan_budget.max(1 << 20), archive.is_packed());
    let mut headers = 0;
    let mut next = Extensions::default();
    loop {
        let mut block = [0; BLOCK as usize];
        if !archive.header(&mut block)? {
            break;
        }
        headers += 1;
        // A member has three headers at most.
        if headers > MOST_MEMBERS * 3 || members.found.len() as u64 > MOST_MEMBERS {
            return Err(too_many());
        }
        let header = understood(&block)?;
        let said = header.entry_size();
        let said = said.map_err(|_| damaged("tar header has no length"))?;
        let kind = header.entry_type();
        if kind.is_gnu_longname() || kind.is_pax_local_extensions() {
            let text = archive.extension(said)?;
            next.take(kind, &text)?;
            continue;
        }
        let here = std::mem::take(&mut next);
        let is_file = matches!(kind, EntryType::Regular | EntryType::Continuous);
        let size = here.size.filter(|_| is_file).unwrap_or(said);
        let at = archive.at;
        let name = here
            .name
            .unwrap_or_else(|| header.path_bytes().into_owned());
        let is_odd = here.is_sparse || kind.is_gnu_sparse();
        if (is_file || is_odd)
            && !name.ends_with(b"/")
            && let Some(name) = members.wants(&name)
        {
            if is_packed {
                members.work = members.work.saturating_add(at).saturating_add(size);
            }
            let refused = |cause: &str| Failure::new(FileErrorKind::Unsupported, cause);
            let place = match is_packed {
                true => MemberPlace::PackedTar(at),
                false => MemberPlace::Tar(at),
            };
            if is_odd {
                let failure = refused("it is a sparse file").with_remedy("pack it as it is");
                members.refuse(name, size, failure);
            } else if is_packed && members.work > most_work(options) {
                let cause = "its archive must be unpacked from its beginning for each member, which is too much for this one";
                members.refuse(name, size, refused(cause).with_remedy(PLAIN));
            } else {
                members.add(name, size, place);
            }
        }
        if is_packed && archive.at.saturating_add(size) > budget.saturating_mul(MOST_BUDGETS) {
            let cause = format!(
                "only the first {} bytes of its unpacked archive are looked at",
                budget.saturating_mul(MOST_BUDGETS)
            );
            let failure = Failure::new(FileErrorKind::Unsupported, cause);
            members.remark("…", failure.with_remedy(PLAIN));
            break;
        }
        archive.skip(size)?;
        archive.skip(padding(size))?;
    }
    if headers == 0 {
        return Err(Failure::new(
            FileErrorKind::Empty,
            "the archive has no members",
        ));
    }
    Ok(())
}

const PLAIN: &str = "pack it as zip or as a plain tar, or lay its files there";

fn padding(size: u64) -> u64 {
    (BLOCK - size % BLOCK) % BLOCK
}

/// A header whose checksum is right.
fn understood(block: &[u8; BLOCK as usize]) -> Result<&Header, Failure> {
    let header = Header::from_byte_slice(block);
    let sum = |(at, byte): (usize, &u8)| match at {
        148..156 => u32::from(b' '),
        _ => u32::from(*byte),
    };
    let sum: u32 = block.iter().enumerate().map(sum).sum();
    match header.cksum() {
        Ok(said) if said == sum => Ok(header),
        _ => Err(damaged("tar header is damaged, or it is no tar archive")),
    }
}

/// What headers say about the member after them.
#[derive(Default)]
struct Extensions {
    name: Option<Vec<u8>>,
    size: Option<u64>,
    is_sparse: bool,
}

impl Extensions {
    fn take(&mut self, kind: EntryType, text: &[u8]) -> Result<(), Failure> {
        if kind.is_gnu_longname() {
            let end = text.iter().position(|byte| *byte == 0);
            self.name = Some(text[..end.unwrap_or(text.len())].to_vec());
            return Ok(());
        }
        for extension in PaxExtensions::new(text) {
            let extension = extension.map_err(|_| damaged("tar header is damaged"))?;
            let value = extension.value_bytes();
            match extension.key_bytes() {
                b"path" => self.name = Some(value.to_vec()),
                b"size" => {
                    let size = std::str::from_utf8(value).ok();
                    let size = size.and_then(|size| size.parse().ok());
                    self.size = Some(size.ok_or_else(|| damaged("tar header has no length"))?);
                }
                key if key.starts_with(b"GNU.sparse.") => self.is_sparse = true,
                _ => {}
            }
        }
        Ok(())
    }
}

/// A member of a compressed archive, from byte `at` of the unpacked one on: of long text the ranges
/// that are read, of others all.
///
/// # Errors
/// The store's; a damaged archive; a member that is too long.
pub(super) fn unpack(
    ranged: &Ranged,
    at: u64,
    file: DataFile,
    options: &ReadOptions,
    extent: Extent,
) -> Result<(Vec<Stretch>, DataFile), Failure> {
    let (size, most) = (file.object.size, most_unpacked(options));
    let is_text = file.format.is_text() && Compression::of_path(&file.object.path).is_none();
    let is_sampled = is_text && extent == Extent::Sampled;
    if !is_sampled && size > most {
        return Err(too_long(size, most));
    }
    if let Some(whole) = whole(ranged, options)? {
        let end = at.checked_add(size);
        let end = end.filter(|end| *end <= whole.len() as u64);
        let end = end.ok_or_else(|| damaged("tar data ends early"))?;
        let member = whole.slice(at as usize..end as usize);
        return Ok((vec![Stretch::Bytes(member)], file));
    }
    let mut archive = Archive::open(ranged)?;
    archive.skip(at)?;
    if size == 0 {
        return Ok((at_hand(Vec::new()), file));
    }
    let wanted = match is_sampled {
        true => ranges(size, options, &file.sample_path),
        false => std::iter::once(0..size).collect(),
    };
    let (mut stretches, mut here) = (Vec::new(), 0);
    for range in wanted {
        archive.skip(range.start - here)?;
        stretches.push(Stretch::Absent(range.start - here));
        let mut bytes = Vec::new();
        archive.read(range.end - range.start, &mut bytes)?;
        stretches.push(Stretch::Bytes(bytes.into()));
        here = range.end;
    }
    stretches.push(Stretch::Absent(size - here));
    Ok((stretches, file))
}

/// All of a compressed archive, unpacked once for all its members; none if that is more than is
/// kept, or it is damaged anywhere: then each member is read by itself, as far as it can be.
fn whole(ranged: &Ranged, options: &ReadOptions) -> Result<Option<Bytes>, Failure> {
    let unpack = |most: u64| {
        let mut bytes = Vec::new();
        let mut archive = Archive::open(ranged)?;
        match archive.fill(most.saturating_add(1), &mut bytes) {
            Ok(_) => Ok(Some(bytes.into())),
            Err(Failure::Store(error)) => Err(Failure::Store(error)),
            Err(Failure::Content { .. }) => Ok(None),
        }
    };
    let archive = (ranged, Part::Unpacked);
    options.containers.bytes(archive, &options.room, unpack)
}

/// What is wanted of a text that lies in a compressed archive.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// The ranges that a profile is made of.
    Sampled,
    /// All of it.
    Whole,
}

/// An archive's bytes, read from the beginning on.
struct Archive {
    bytes: Unpacked,
    source: Source,
    size: u64,
    /// Where in the (unpacked) archive it is.
    at: u64,
}

enum Unpacked {
    Plain,
    Packed(Box<dyn Read>),
}

impl Archive {
    fn open(ranged: &Ranged) -> Result<Archive, Failure> {
        let mut source = Source::of(ranged);
        let beginning = source.fill_buf().map(<[u8]>::to_vec);
        let compression = match beginning {
            Ok(beginning) => Compression::of_content(&beginning),
            Err(error) => return Err(source.failure(&error)),
        };
        let bytes = match compression {
            Some(compression) => match compression.reader(source.clone()) {
                Ok(reader) => Unpacked::Packed(reader),
                Err(error) => return Err(source.failure(&error)),
            },
            None => Unpacked::Plain,
        };
        Ok(Archive {
            bytes,
            source,
            size: ranged.size(),
            at: 0,
        })
    }

    fn is_packed(&self) -> bool {
        matches!(self.bytes, Unpacked::Packed(_))
    }

    /// Reads up to this many bytes; fewer at the end.
    fn fill(&mut self, most: u64, into: &mut Vec<u8>) -> Result<(), Failure> {
        let before = into.len();
        let read = match &mut self.bytes {
            Unpacked::Plain => (&mut self.source).take(most).read_to_end(into),
            Unpacked::Packed(reader) => reader.take(most).read_to_end(into),
        };
        if let Err(error) = read {
            return Err(self.source.failure(&error));
        }
        self.at += (into.len() - before) as u64;
        if self.is_packed() && is_trap(self.at, self.source.taken.get()) {
            return Err(trap());
        }
        Ok(())
    }

    fn read(&mut self, length: u64, into: &mut Vec<u8>) -> Result<(), Failure> {
        self.fill(length, into)?;
        match into.len() as u64 == length {
            true => Ok(()),
            false => Err(damaged("tar data ends early")),
        }
    }

    /// The next header; nothing at the archive's end, which is a block of zeros, or where the file
    /// ends.
    fn header(&mut self, block: &mut [u8; BLOCK as usize]) -> Result<bool, Failure> {
        let mut bytes = Vec::with_capacity(BLOCK as usize);
        self.fill(BLOCK, &mut bytes)?;
        if bytes.is_empty() {
            return Ok(false);
        }
        let whole = <[u8; BLOCK as usize]>::try_from(bytes);
        *block = whole.map_err(|_| damaged("tar data ends early"))?;
        Ok(block.iter().any(|byte| *byte != 0))
    }

    fn extension(&mut self, size: u64) -> Result<Vec<u8>, Failure> {
        if size > MOST_EXTENSION {
            return Err(damaged(format!("tar header claims a name of {size} bytes")));
        }
        let mut text = Vec::new();
        self.read(size, &mut text)?;
        self.skip(padding(size))?;
        Ok(text)
    }

    fn skip(&mut self, length: u64) -> Result<(), Failure> {
        if !self.is_packed() {
            let to = self.at.checked_add(length).filter(|to| *to <= self.size);
            let to = to.ok_or_else(|| damaged("tar data ends early"))?;
            self.source.go_to(to);
            self.at = to;
            return Ok(());
        }
        let (mut left, mut chunk) = (length, Vec::new());
        while left > 0 {
            chunk.clear();
            let step = left.min(64 << 10);
            self.read(step, &mut chunk)?;
            left -= step;
        }
        Ok(())
    }
}

/// The object's own bytes, fetched as they are read; clones are the same one.
#[derive(Clone)]
struct Source {
    ranged: Ranged,
    /// Where the next fetch begins.
    next: Rc<Cell<u64>>,
    /// Bytes that a decoder has taken.
    taken: Rc<Cell<u64>>,
    /// What made a read fail.
    failed: Rc<RefCell<Option<Failure>>>,
    block: Bytes,
}

impl Source {
    fn of(ranged: &Ranged) -> Source {
        Source {
            ranged: ranged.clone(),
            next: Rc::default(),
            taken: Rc::default(),
            failed: Rc::default(),
            block: Bytes::new(),
        }
    }

    fn go_to(&mut self, to: u64) {
        let here = self.next.get() - self.block.len() as u64;
        match to
            .checked_sub(here)
            .filter(|skip| *skip <= self.block.len() as u64)
        {
            Some(skip) => self.block.advance(skip as usize),
            None => {
                self.block = Bytes::new();
                self.next.set(to);
            }
        }
    }

    fn failure(&self, error: &io::Error) -> Failure {
        if let Some(failure) = self.failed.borrow_mut().take() {
            return failure;
        }
        let error = one_line(&error.to_string());
        damaged(format!("packed data is damaged or ends early ({error})"))
    }
}

impl Read for Source {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut there = self.fill_buf()?;
        let read = there.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Source {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.block.is_empty() {
            let from = self.next.get();
            let to = from.saturating_add(FETCHED).min(self.ranged.size());
            if from < to {
                match self.ranged.get(from..to) {
                    Ok(bytes) => self.block = bytes,
                    Err(failure) => {
                        *self.failed.borrow_mut() = Some(failure);
                        return Err(io::Error::other("the object could not be read"));
                    }
                }
                self.next.set(to);
            }
        }
        Ok(&self.block)
    }

    fn consume(&mut self, bytes: usize) {
        let bytes = bytes.min(self.block.len());
        self.block.advance(bytes);
        self.taken.set(self.taken.get() + bytes as u64);
    }
}
