//! Sketches: distinct values as the catalog stores them, in binary (docs/index-format.md,
//! "Sketches").
//!
//! | bytes | what |
//! |---|---|
//! | 1 | [`VERSION`] |
//! | LEB128 | the limit |
//! | groups | the values of lowest hash |
//! | groups, registers | only beyond the exact case: other frequent values; then, to the end, the packed registers, if any |
//!
//! *Groups* are their number, then for each a count, the number of values that occur so often,
//! these in the order of their bytes, and [`END`]. A value begins with [`SAME`] plus the number of
//! bytes, eight at most, that it shares with the one before it in the group; the rest of its UTF-8
//! bytes follow. One that was cut is what is left of it, then [`CUT`] and the hash of the whole.
//! None of these bytes occurs in UTF-8, so the next one ends a value. Numbers are LEB128.
//!
//! Hashes of whole values are not stored: they are as long as most values, and nothing packs them.

use std::cmp::Reverse;

use super::{Counted, Frequent, HyperLogLog, by_count, counted};

const VERSION: u8 = 1;
/// Begins a value that shares no byte with the one before.
const SAME: u8 = 0xf5;
/// Begins a value that shares as many bytes with the one before as are left out.
const SAME_MOST: u8 = SAME + 8;
/// Ends what is left of a value that was cut; eight bytes of its hash follow.
const CUT: u8 = 0xfe;
/// Ends a group.
const END: u8 = 0xff;

/// A sketch that no version of limn has written, or a newer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SketchError {
    /// It breaks off, goes on beyond its end, or holds what no sketch does.
    #[error("a column's sketch is damaged; run limn index again")]
    Damaged,
    /// It is of another version.
    #[error("a column's sketch has version {0}, this limn reads {VERSION}; update limn")]
    OtherVersion(u8),
}

impl Frequent {
    /// The values as the catalog stores them; none where there are none, or where they are
    /// withheld.
    #[must_use]
    pub fn to_sketch(&self) -> Option<Vec<u8>> {
        if self.is_empty() || self.is_withheld() {
            return None;
        }
        let mut out = vec![VERSION];
        put_number(&mut out, u64::from(self.limit));
        put_groups(&mut out, &self.lowest);
        if !self.beyond.is_empty() || self.registers.is_some() {
            put_groups(&mut out, &self.beyond);
            let registers = self.registers.iter();
            out.extend(registers.flat_map(HyperLogLog::to_bytes));
        }
        Some(out)
    }

    /// Reads what [`Frequent::to_sketch`] wrote.
    ///
    /// # Errors
    /// [`SketchError`].
    pub fn from_sketch(sketch: &[u8]) -> Result<Frequent, SketchError> {
        let mut rest = Rest(sketch);
        match rest.byte()? {
            VERSION => {}
            other => return Err(SketchError::OtherVersion(other)),
        }
        let limit = u16::try_from(rest.number()?).map_err(|_| SketchError::Damaged)?;
        let lowest = rest.groups()?;
        let (mut beyond, mut registers) = (Vec::new(), None);
        if !rest.0.is_empty() {
            beyond = rest.groups()?;
        }
        if !rest.0.is_empty() {
            registers = Some(HyperLogLog::from_bytes(rest.0).ok_or(SketchError::Damaged)?);
        }
        Ok(Frequent::of_parts(limit, lowest, beyond, registers))
    }

    /// What was stored, in the order that it has in memory.
    pub(super) fn of_parts(
        limit: u16,
        mut lowest: Vec<Counted>,
        mut beyond: Vec<Counted>,
        registers: Option<HyperLogLog>,
    ) -> Frequent {
        if registers.is_none() && lowest.len() >= usize::from(limit) {
            // From before there were join keys: these are the lowest of the values' own hashes.
            for value in &mut lowest {
                value.place.0 = value.hash();
            }
        }
        lowest.sort_unstable_by_key(|c| c.place);
        beyond.sort_unstable_by_key(by_count);
        Frequent {
            limit,
            lowest,
            beyond,
            registers,
            withheld: None,
        }
    }
}

fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_groups(out: &mut Vec<u8>, values: &[Counted]) {
    let mut sorted: Vec<&Counted> = values.iter().collect();
    // Values that begin alike stand together: that packs.
    sorted.sort_unstable_by_key(|c| (Reverse(c.count), c.value.as_bytes(), c.hash()));
    let groups = || sorted.chunk_by(|a, b| a.count == b.count);
    put_number(out, groups().count() as u64);
    for group in groups() {
        put_number(out, group.first().map_or(0, |c| c.count));
        put_number(out, group.len() as u64);
        let mut before: &[u8] = &[];
        for value in group {
            let bytes = value.value.as_bytes();
            let pairs = bytes.iter().zip(before).take(usize::from(SAME_MOST - SAME));
            let same = pairs.take_while(|(a, b)| a == b).count();
            out.push(SAME + same as u8);
            out.extend(bytes.iter().skip(same));
            if value.is_cut() {
                out.push(CUT);
                out.extend_from_slice(&value.hash().to_le_bytes());
            }
            before = bytes;
        }
        out.push(END);
    }
}

/// What is left to be read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn bytes(&mut self, length: usize) -> Result<&'a [u8], SketchError> {
        let parts = self.0.split_at_checked(length);
        let (head, rest) = parts.ok_or(SketchError::Damaged)?;
        self.0 = rest;
        Ok(head)
    }

    fn byte(&mut self) -> Result<u8, SketchError> {
        self.bytes(1)?.first().copied().ok_or(SketchError::Damaged)
    }

    fn number(&mut self) -> Result<u64, SketchError> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if (bits << shift) >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(SketchError::Damaged)
    }

    /// Memory follows the bytes that are there, whatever the numbers say.
    fn groups(&mut self) -> Result<Vec<Counted>, SketchError> {
        let mut values = Vec::new();
        for _ in 0..self.number()? {
            let count = self.number()?;
            let mut text = Vec::new();
            for _ in 0..self.number()? {
                values.push(self.value(count, &mut text)?);
            }
            if self.byte()? != END {
                return Err(SketchError::Damaged);
            }
        }
        Ok(values)
    }

    /// The next value of a group; `text` has the one before, and then this one.
    fn value(&mut self, count: u64, text: &mut Vec<u8>) -> Result<Counted, SketchError> {
        let same = match self.byte()? {
            first @ SAME..=SAME_MOST => usize::from(first - SAME),
            _ => return Err(SketchError::Damaged),
        };
        let length = self.0.iter().position(|byte| *byte >= SAME);
        let rest = self.bytes(length.ok_or(SketchError::Damaged)?)?;
        if same > text.len() {
            return Err(SketchError::Damaged);
        }
        text.truncate(same);
        text.extend_from_slice(rest);
        let value = std::str::from_utf8(text).map_err(|_| SketchError::Damaged)?;
        if self.0.first() != Some(&CUT) {
            return Ok(counted(value, count));
        }
        self.byte()?;
        let hash: [u8; 8] = self
            .bytes(8)?
            .try_into()
            .map_err(|_| SketchError::Damaged)?;
        let hash = u64::from_le_bytes(hash);
        Ok(Counted {
            place: (hash, hash),
            count,
            value: value.to_owned(),
        })
    }
}
