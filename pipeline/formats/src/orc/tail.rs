//! How an ORC file ends: the postscript, and the footer before it (ORC specification v1, "File
//! Tail"), not believed before they have been checked.

use std::ops::Range;

use bytes::Bytes;

use super::corrupt;
use super::proto::{Broken, Footer, PostScript, StripeFooter, StripeInfo, TypeInfo};
use super::stream::{Packing, unpacked};
use crate::codec::Codec;
use crate::error::FileErrorKind;
use crate::ranged::{Fetched, Ranged};
use crate::typed::MAX_ROWS;
use crate::{Failure, MAX_COLUMNS, sniff};

/// The first bytes of a file, and the last of its postscript.
pub(super) const MAGIC: &[u8] = b"ORC";
/// Of files that are not read whole, this much of the end: enough for most footers.
const TAIL: u64 = 64 << 10;
/// Of a file without the magic number, this much of the beginning shows what it is.
const HEAD: u64 = 1 << 10;
/// Footers up to this size are read whatever the budget.
const FOOTER: u64 = 1 << 20;
/// A footer unpacks to this many times as much at most, or to a budget.
const FOOTER_RATIO: u64 = 4;
/// Blocks are no longer than this when they are unpacked; writers' usual limit is 256 KiB.
const LONGEST_BLOCK: u64 = 16 << 20;
const USUAL_BLOCK: u64 = 256 << 10;
/// Bytes of a stripe's footer, packed and unpacked.
const MOST_FOOTER: u64 = 4 << 20;
/// Streams in a stripe, and columns with what is in them.
const MAX_STREAMS: usize = 1 << 18;
/// Parts of a file: stripes, or columns with what is in them.
const MAX_PARTS: usize = 4 * MAX_COLUMNS;
/// Levels of types within types.
const MAX_DEPTH: usize = 64;

/// What a file's end says.
pub(super) struct Tail {
    pub(super) packing: Option<Packing>,
    pub(super) footer: Footer,
    pub(super) rows: u64,
    /// How many types each consists of, itself included.
    pub(super) nodes: Vec<u64>,
}

/// Kinds of types, by number.
pub(super) mod kind {
    pub(in crate::orc) const BOOLEAN: u64 = 0;
    pub(in crate::orc) const BYTE: u64 = 1;
    pub(in crate::orc) const SHORT: u64 = 2;
    pub(in crate::orc) const INT: u64 = 3;
    pub(in crate::orc) const LONG: u64 = 4;
    pub(in crate::orc) const FLOAT: u64 = 5;
    pub(in crate::orc) const DOUBLE: u64 = 6;
    pub(in crate::orc) const STRING: u64 = 7;
    pub(in crate::orc) const BINARY: u64 = 8;
    pub(in crate::orc) const TIMESTAMP: u64 = 9;
    pub(in crate::orc) const LIST: u64 = 10;
    pub(in crate::orc) const MAP: u64 = 11;
    pub(in crate::orc) const STRUCT: u64 = 12;
    pub(in crate::orc) const UNION: u64 = 13;
    pub(in crate::orc) const DECIMAL: u64 = 14;
    pub(in crate::orc) const DATE: u64 = 15;
    pub(in crate::orc) const VARCHAR: u64 = 16;
    pub(in crate::orc) const CHAR: u64 = 17;
    pub(in crate::orc) const INSTANT: u64 = 18;
}

/// Reads a file's end. What was fetched of it is added to `fetched`.
pub(super) fn read(
    object: &Ranged,
    fetched: &mut Fetched,
    scan_budget: u64,
) -> Result<Tail, Failure> {
    let size = object.size();
    if fetched.get(&(0..size)).is_none() {
        let tail = size.saturating_sub(TAIL)..size;
        fetched.extend(object.get_all(std::iter::once(tail).collect(), 0)?);
    }
    let get = |range: Range<u64>| match fetched.get(&range) {
        Some(bytes) => Ok(bytes),
        None => object.get(range),
    };
    let head = get(0..HEAD.min(size))?;
    if !head.starts_with(MAGIC) {
        return Err(sniff::not_its_format(&head, "ORC"));
    }
    let length = get(size - 1..size)?.first().copied().map_or(0, u64::from);
    let cut = || corrupt("it begins as an ORC file but does not end as one: it is cut off");
    let start = (size - 1).checked_sub(length).ok_or_else(cut)?;
    let postscript = get(start..size - 1)?;
    // The magic number is the postscript's last field.
    if !postscript.ends_with(MAGIC) {
        return Err(cut());
    }
    let postscript = PostScript::parse(&postscript).map_err(|Broken| broken("postscript"))?;
    let packing = packing(&postscript)?;
    let end = start;
    let Some(start) = end.checked_sub(postscript.footer) else {
        return Err(corrupt(format!(
            "its footer claims {} bytes of a file of {size}",
            postscript.footer
        )));
    };
    let most = scan_budget.max(FOOTER);
    if postscript.footer > most {
        return Err(too_long(postscript.footer));
    }
    let footer = unpack(packing, get(start..end)?, most.max(FOOTER_RATIO * FOOTER))?;
    let footer = Footer::parse(&footer, MAX_PARTS).map_err(|Broken| broken("footer"))?;
    if footer.is_encrypted {
        let cause = "some of its columns are encrypted";
        return Err(Failure::new(FileErrorKind::Unsupported, cause));
    }
    check_types(&footer.types)?;
    let rows = check_stripes(&footer.stripes, start)?;
    if rows != footer.rows {
        return Err(corrupt(format!(
            "its stripes have {rows} rows and its footer {}",
            footer.rows
        )));
    }
    Ok(Tail {
        nodes: nodes(&footer.types),
        packing,
        footer,
        rows,
    })
}

/// The bytes of a stripe's footer, unpacked.
pub(super) fn footer_of(
    packing: Option<Packing>,
    info: &StripeInfo,
    get: impl FnOnce(Range<u64>) -> Result<Bytes, Failure>,
) -> Result<Bytes, Failure> {
    if info.footer > MOST_FOOTER {
        let cause = format!("a stripe's footer claims {} bytes", info.footer);
        return Err(corrupt(cause));
    }
    let start = info.offset + info.index + info.data;
    unpack(packing, get(start..start + info.footer)?, MOST_FOOTER)
}

/// A stripe's footer, of its bytes.
pub(super) fn stripe(bytes: &[u8]) -> Result<StripeFooter, Failure> {
    StripeFooter::parse(bytes, MAX_STREAMS).map_err(|Broken| corrupt("a stripe's footer is broken"))
}

fn broken(what: &str) -> Failure {
    corrupt(format!("its {what} is broken"))
}

fn too_long(length: u64) -> Failure {
    Failure::new(
        FileErrorKind::Unsupported,
        format!("its footer alone has {length} bytes"),
    )
    .with_remedy("write the file with fewer columns or larger stripes")
}

fn packing(postscript: &PostScript) -> Result<Option<Packing>, Failure> {
    let codec = match postscript.compression {
        0 => return Ok(None),
        1 => Codec::Deflate,
        2 => Codec::Snappy,
        4 => Codec::Lz4Block,
        5 => Codec::Zstd,
        3 => {
            let cause = "its stripes are packed with LZO";
            return Err(Failure::new(FileErrorKind::Unsupported, cause)
                .with_remedy("write it with zlib, snappy, lz4 or zstd"));
        }
        _ => return Err(broken("postscript")),
    };
    let block = postscript.block.unwrap_or(USUAL_BLOCK);
    Ok(Some(Packing {
        codec,
        block: block.min(LONGEST_BLOCK),
    }))
}

/// All of a packed part that is not read in pieces, if it has at most `most` bytes.
pub(super) fn unpack(packing: Option<Packing>, bytes: Bytes, most: u64) -> Result<Bytes, Failure> {
    let Some(packing) = packing else {
        return Ok(bytes);
    };
    let mut rest = &bytes[..];
    let mut whole = Vec::new();
    while !rest.is_empty() {
        let breaks_off = || corrupt("a footer's block breaks off");
        let (header, after) = rest.split_at_checked(3).ok_or_else(breaks_off)?;
        let number = header.iter().rev();
        let number = number.fold(0usize, |number, byte| number << 8 | usize::from(*byte));
        let (block, after) = after.split_at_checked(number >> 1).ok_or_else(breaks_off)?;
        if number & 1 == 1 {
            whole.extend_from_slice(block);
        } else {
            whole.extend(unpacked(packing, block)?);
        }
        if whole.len() as u64 > most {
            return Err(too_long(whole.len() as u64));
        }
        rest = after;
    }
    Ok(whole.into())
}

/// Checks that the types are a tree, in the order in which they number columns, and that each has
/// the parts that it needs.
fn check_types(types: &[TypeInfo]) -> Result<(), Failure> {
    let wrong = || corrupt("its types are no tree");
    let Some(root) = types.first() else {
        return Err(Failure::new(FileErrorKind::Empty, "it has no columns"));
    };
    if root.kind != kind::STRUCT {
        let cause = "its rows are no structs";
        return Err(Failure::new(FileErrorKind::Unsupported, cause)
            .with_remedy("write it with a schema of type struct"));
    }
    if root.parts.is_empty() {
        return Err(Failure::new(FileErrorKind::Empty, "it has no columns"));
    }
    if root.parts.len() > MAX_COLUMNS {
        return Err(Failure::too_many_columns(root.parts.len()));
    }
    let mut depths: Vec<Option<usize>> = vec![None; types.len()];
    depths[0] = Some(0);
    for (i, of) in types.iter().enumerate() {
        let depth = depths[i].ok_or_else(wrong)?;
        if depth > MAX_DEPTH {
            return Err(corrupt(format!(
                "its types nest more than {MAX_DEPTH} levels deep"
            )));
        }
        for part in &of.parts {
            let part = usize::try_from(*part).map_err(|_| wrong())?;
            let known = depths.get_mut(part).ok_or_else(wrong)?;
            // One parent each, which comes before.
            if part <= i || known.is_some() {
                return Err(wrong());
            }
            *known = Some(depth + 1);
        }
        let sound = match of.kind {
            kind::STRUCT => of.names.len() == of.parts.len(),
            kind::LIST => of.parts.len() == 1,
            kind::MAP => of.parts.len() == 2,
            kind::UNION => (1..=126).contains(&of.parts.len()),
            kind::DECIMAL => of.precision <= 38 && of.scale <= 38,
            kind::BOOLEAN..=kind::INSTANT => of.parts.is_empty(),
            _ => {
                let cause = format!("it has a type of kind {} that is not known", of.kind);
                return Err(Failure::new(FileErrorKind::Unsupported, cause)
                    .with_remedy("write it without that type, or as Parquet"));
            }
        };
        if !sound {
            return Err(wrong());
        }
    }
    Ok(())
}

/// How many types each of a tree consists of. Parts come behind what they are parts of.
fn nodes(types: &[TypeInfo]) -> Vec<u64> {
    let mut nodes = vec![1; types.len()];
    for (i, of) in types.iter().enumerate().rev() {
        nodes[i] += of
            .parts
            .iter()
            .map(|part| nodes[*part as usize])
            .sum::<u64>();
    }
    nodes
}

/// Checks that stripes lie before the footer, one behind another; returns their rows.
fn check_stripes(stripes: &[StripeInfo], end: u64) -> Result<u64, Failure> {
    let (mut at, mut rows) = (0u64, 0u64);
    for stripe in stripes {
        let lengths = [stripe.index, stripe.data, stripe.footer];
        let stops = lengths
            .iter()
            .try_fold(stripe.offset, |end, length| end.checked_add(*length));
        let Some(stops) = stops.filter(|stops| *stops <= end) else {
            return Err(corrupt("a stripe lies beyond the file's end"));
        };
        if stripe.offset < at {
            return Err(corrupt("its stripes overlap"));
        }
        at = stops;
        rows = rows
            .checked_add(stripe.rows)
            .filter(|rows| *rows <= MAX_ROWS)
            .ok_or_else(|| corrupt(format!("a stripe claims {} rows", stripe.rows)))?;
    }
    Ok(rows)
}
