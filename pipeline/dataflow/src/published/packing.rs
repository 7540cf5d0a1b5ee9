//! A row in bytes, so that some of it can be read alone: a table may have very many files.
//!
//! First come the number of files, where the head ends, and where each file ends; then the head,
//! which is all of the row but its files, and what joins are found by; then the files. Records are
//! JSON; summaries and sketches, which are most, are as they are.

use std::io;

use limn_segment::{ColumnRecord, FileRecord, Sketches, TableRecord};

use crate::sketches::JoinColumns;

/// Some bytes of others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) at: u64,
    pub(super) bytes: u64,
}

/// Reads some bytes of a packed row.
type Read<'a> = dyn FnMut(Extent) -> io::Result<Vec<u8>> + 'a;

/// Bytes of a number.
const NUMBER: u64 = 8;
/// What stands for no file.
const NO_FILE: u64 = u64::MAX;

/// A row as far as a writer goes on from it, with what joins are found by if that is needed.
///
/// # Errors
/// A record is none in JSON.
pub(super) fn pack(row: TableRecord, joins: bool) -> io::Result<Vec<u8>> {
    let (columns, same) = match joins {
        true => JoinColumns::of(&row),
        false => Default::default(),
    };
    let mut row = needed(row);
    let files = std::mem::take(&mut row.files);
    let mut head = Vec::new();
    put_json(&mut head, &row)?;
    put_sketches(&mut head, &row.sketches);
    let (columns, sketches) = columns.pack();
    put(&mut head, &columns);
    // Most tables have one file, whose sketches are the table's.
    put_number(&mut head, same.map_or(NO_FILE, |file| file as u64));
    if same.is_none() {
        put_sketches(&mut head, sketches);
    }
    let begin = NUMBER * (2 + files.len() as u64);
    let mut out = Vec::new();
    put_number(&mut out, files.len() as u64);
    put_number(&mut out, begin + head.len() as u64);
    let mut parts = Vec::new();
    for mut file in files {
        let summary = file.summary.take();
        put_json(&mut parts, &file)?;
        parts.push(u8::from(summary.is_some()));
        put(&mut parts, summary.unwrap_or_default().as_bytes());
        put_sketches(&mut parts, &file.sketches);
        put_number(&mut out, begin + (head.len() + parts.len()) as u64);
    }
    Ok([out, head, parts].concat())
}

/// A packed row.
///
/// # Errors
/// It is none.
pub(super) fn unpack(packed: &[u8]) -> io::Result<TableRecord> {
    let mut of = |part| slice(packed, part);
    let mut row = head(&mut of)?;
    let files = numbers(&mut of, 0, 1)?[0];
    for at in 0..files as usize {
        row.files.extend(file(at, &mut of)?);
    }
    Ok(row)
}

/// Its head.
///
/// # Errors
/// It is none.
pub(super) fn head(read: &mut Read<'_>) -> io::Result<TableRecord> {
    let bytes = head_bytes(read)?;
    take_head(&mut &bytes[..])
}

/// Its head, and what joins are found by.
///
/// # Errors
/// It is none.
pub(super) fn joins(packed: &[u8]) -> io::Result<(TableRecord, JoinColumns)> {
    let mut of = |part| slice(packed, part);
    let bytes = head_bytes(&mut of)?;
    let mut bytes = &bytes[..];
    let row = take_head(&mut bytes)?;
    let columns = take(&mut bytes)?;
    let sketches = match take_number(&mut bytes)? {
        NO_FILE => take_sketches(&mut bytes)?,
        same => {
            let file = file(same as usize, &mut of)?;
            file.map(|it| it.sketches).unwrap_or_default()
        }
    };
    let columns = JoinColumns::unpack(columns, sketches);
    Ok((row, columns.ok_or(io::ErrorKind::InvalidData)?))
}

/// One of its files; none if it has fewer.
///
/// # Errors
/// It is none.
pub(super) fn file(file: usize, read: &mut Read<'_>) -> io::Result<Option<FileRecord>> {
    let files = numbers(read, 0, 1)?[0];
    if file as u64 >= files {
        return Ok(None);
    }
    // The end of the one before it, or of the head, which stands before the first.
    let ends = numbers(read, 1 + file as u64, 2)?;
    let bytes = read(extent(ends[0], ends[1])?)?;
    let mut bytes = &bytes[..];
    let mut record: FileRecord = serde_json::from_slice(take(&mut bytes)?)?;
    let is_some = take_flag(&mut bytes)?;
    let summary = String::from_utf8(take(&mut bytes)?.to_vec()).map_err(io::Error::other)?;
    record.summary = is_some.then_some(summary);
    record.sketches = take_sketches(&mut bytes)?;
    Ok(Some(record))
}

fn head_bytes(read: &mut Read<'_>) -> io::Result<Vec<u8>> {
    let numbers = numbers(read, 0, 2)?;
    let begin = numbers[0].saturating_add(2).saturating_mul(NUMBER);
    read(extent(begin, numbers[1])?)
}

fn take_head(bytes: &mut &[u8]) -> io::Result<TableRecord> {
    let mut row: TableRecord = serde_json::from_slice(take(bytes)?)?;
    row.sketches = take_sketches(bytes)?;
    Ok(row)
}

fn extent(begin: u64, end: u64) -> io::Result<Extent> {
    let bytes = end.checked_sub(begin).ok_or(io::ErrorKind::InvalidData)?;
    Ok(Extent { at: begin, bytes })
}

fn slice(packed: &[u8], part: Extent) -> io::Result<Vec<u8>> {
    let at = usize::try_from(part.at).map_err(io::Error::other)?;
    let bytes = usize::try_from(part.bytes).map_err(io::Error::other)?;
    let found = packed.get(at..).and_then(|it| it.get(..bytes));
    Ok(found.ok_or(io::ErrorKind::UnexpectedEof)?.to_vec())
}

/// So many of the numbers at the beginning, from this one on.
fn numbers(read: &mut Read<'_>, first: u64, count: u64) -> io::Result<Vec<u64>> {
    let bytes = read(Extent {
        at: first * NUMBER,
        bytes: count * NUMBER,
    })?;
    let mut bytes = &bytes[..];
    (0..count).map(|_| take_number(&mut bytes)).collect()
}

fn put_json(out: &mut Vec<u8>, record: &impl serde::Serialize) -> io::Result<()> {
    put(out, &serde_json::to_vec(record)?);
    Ok(())
}

fn put_sketches(out: &mut Vec<u8>, sketches: &Sketches) {
    let (bytes, is_packed) = sketches.as_bytes();
    out.push(u8::from(is_packed));
    put(out, bytes);
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend(bytes);
}

fn put_number(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

fn take_sketches(bytes: &mut &[u8]) -> io::Result<Sketches> {
    let is_packed = take_flag(bytes)?;
    Ok(Sketches::of_bytes(take(bytes)?.to_vec(), is_packed))
}

fn take_flag(bytes: &mut &[u8]) -> io::Result<bool> {
    let (flag, rest) = bytes.split_first().ok_or(io::ErrorKind::UnexpectedEof)?;
    *bytes = rest;
    Ok(*flag != 0)
}

fn take<'a>(bytes: &mut &'a [u8]) -> io::Result<&'a [u8]> {
    let length = usize::try_from(take_number(bytes)?).map_err(io::Error::other)?;
    let (taken, rest) = bytes
        .split_at_checked(length)
        .ok_or(io::ErrorKind::UnexpectedEof)?;
    *bytes = rest;
    Ok(taken)
}

fn take_number(bytes: &mut &[u8]) -> io::Result<u64> {
    let (number, rest) = bytes
        .split_first_chunk()
        .ok_or(io::ErrorKind::UnexpectedEof)?;
    *bytes = rest;
    Ok(u64::from_le_bytes(*number))
}

/// What a writer goes on from. What the catalog has of columns and sampled rows follows from the
/// files' summaries; it is kept only where the row itself is to be written again, with narrations.
fn needed(mut row: TableRecord) -> TableRecord {
    if !row.awaits_narration {
        row.sample = Vec::new();
        row.sketches = Sketches::default();
        // Columns without a narration have none to carry over into another schema.
        if row.columns.iter().any(|column| column.narration.is_some()) {
            row.columns = row.columns.into_iter().map(words_of).collect();
        } else {
            row.columns = Vec::new();
        }
    }
    row
}

/// The words of a column: its name and its narration.
fn words_of(column: ColumnRecord) -> ColumnRecord {
    ColumnRecord {
        name: column.name,
        narration: column.narration,
        ..ColumnRecord::default()
    }
}
