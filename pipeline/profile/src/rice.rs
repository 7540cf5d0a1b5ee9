//! Rice's code (1971): ascending numbers as differences, of which the low bits are written as they
//! are and the rest in unary.
//!
//! Of `n` numbers spread evenly below 2^`bits` the code takes about `bits − log2 n + 1.5` bits
//! each; what the best one takes is `bits − log2 n + 1.44`.

/// Writes bits, the first of a byte lowest.
#[derive(Debug, Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    last: u64,
    filled: u32,
}

impl BitWriter {
    /// Writes the `count` low bits of a number, at most 48.
    pub fn put(&mut self, value: u64, count: u32) {
        self.last |= value << self.filled;
        self.filled += count;
        while self.filled >= 8 {
            self.bytes.push(self.last as u8);
            self.last >>= 8;
            self.filled -= 8;
        }
    }

    /// Writes a number in Rice's code with so many low bits.
    pub fn put_rice(&mut self, value: u64, low: u32) {
        for _ in 0..value >> low {
            self.put(1, 1);
        }
        self.put(0, 1);
        self.put(value & ((1 << low) - 1), low);
    }

    /// The bytes; the last is filled with zeros.
    pub fn finish(mut self) -> Vec<u8> {
        if self.filled > 0 {
            self.bytes.push(self.last as u8);
        }
        self.bytes
    }
}

/// Reads what [`BitWriter`] wrote; `None` beyond the end.
#[derive(Debug)]
pub struct BitReader<'a> {
    bytes: &'a [u8],
    next: u64,
    filled: u32,
}

impl<'a> BitReader<'a> {
    /// Reads these bytes from the first bit on.
    pub fn new(bytes: &'a [u8]) -> BitReader<'a> {
        BitReader {
            bytes,
            next: 0,
            filled: 0,
        }
    }

    fn fill(&mut self) {
        while self.filled <= 56
            && let Some((first, rest)) = self.bytes.split_first()
        {
            self.next |= u64::from(*first) << self.filled;
            self.filled += 8;
            self.bytes = rest;
        }
    }

    /// The next `count` bits, at most 48.
    pub fn get(&mut self, count: u32) -> Option<u64> {
        self.fill();
        let value = self.next & ((1 << count) - 1);
        self.next = self.next.checked_shr(count).unwrap_or(0);
        self.filled = self.filled.checked_sub(count)?;
        Some(value)
    }

    /// The next number in Rice's code.
    pub fn get_rice(&mut self, low: u32) -> Option<u64> {
        let mut high = 0u64;
        loop {
            self.fill();
            let ones = self.next.trailing_ones().min(self.filled);
            high += u64::from(ones);
            let is_over = ones < self.filled;
            // Of a register that is full of ones nothing is left.
            self.next = self.next.checked_shr(ones).unwrap_or(0);
            self.filled -= ones;
            if is_over {
                break;
            }
            if self.bytes.is_empty() && self.filled == 0 {
                return None;
            }
        }
        self.get(1)?;
        let value = high.checked_mul(1 << low)?;
        value.checked_add(self.get(low)?)
    }
}

/// How many low bits suit `count` differences that add up to `sum`.
pub fn low_bits(sum: u64, count: usize) -> u32 {
    let mean = sum / count.max(1) as u64;
    mean.checked_ilog2().unwrap_or(0).min(48)
}

/// Appends a list of ascending numbers below 2^`bits`: how many, as LEB128, and their differences.
pub(crate) fn put_list(out: &mut Vec<u8>, numbers: &[u64], bits: u32) {
    let mut count = numbers.len() as u64;
    while count >= 0x80 {
        out.push(count as u8 | 0x80);
        count >>= 7;
    }
    out.push(count as u8);
    let low = low_bits(1 << bits, numbers.len());
    let mut writer = BitWriter::default();
    let mut before = 0;
    for number in numbers {
        writer.put_rice(number - before, low);
        before = *number;
    }
    out.extend(writer.finish());
}

/// How many numbers a list says that it has.
pub(crate) fn count_of_list(mut bytes: &[u8]) -> Option<u64> {
    take_count(&mut bytes)
}

fn take_count(bytes: &mut &[u8]) -> Option<u64> {
    let mut count = 0u64;
    for shift in (0..35).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        count |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            break;
        }
    }
    Some(count)
}

/// Reads all of what [`put_list`] wrote; `None` if it is something else.
pub(crate) fn read_list(mut bytes: &[u8], bits: u32) -> Option<Vec<u64>> {
    let count = take_count(&mut bytes)?;
    // A number takes a bit at least.
    let count = usize::try_from(count)
        .ok()
        .filter(|it| it.div_ceil(8) <= bytes.len())?;
    let low = low_bits(1 << bits, count);
    let mut reader = BitReader::new(bytes);
    let mut numbers = Vec::with_capacity(count);
    let mut before = 0u64;
    for _ in 0..count {
        before = before.checked_add(reader.get_rice(low)?)?;
        numbers.push(before);
    }
    (before < 1 << bits || count == 0).then_some(numbers)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn even_lists_take_what_the_code_promises() {
        let numbers: Vec<u64> = (0..1000).map(|at| at << 34).collect();
        let mut bytes = Vec::new();
        put_list(&mut bytes, &numbers, 44);
        assert!(bytes.len() <= 1000 * 36 / 8 + 8, "{}", bytes.len());
        assert_eq!(read_list(&bytes, 44), Some(numbers));
    }

    proptest! {
        #[test]
        fn bits_are_read_as_they_were_written(
            values in proptest::collection::vec((0..1u64 << 20, 14..21u32), 0..50),
        ) {
            let mut writer = BitWriter::default();
            for (value, low) in &values {
                writer.put(value & ((1 << low) - 1), *low);
                writer.put_rice(*value, *low);
            }
            let bytes = writer.finish();
            let mut reader = BitReader::new(&bytes);
            for (value, low) in &values {
                prop_assert_eq!(reader.get(*low), Some(value & ((1 << low) - 1)));
                prop_assert_eq!(reader.get_rice(*low), Some(*value));
            }
            prop_assert!(reader.get(8).is_none());
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>, low in 0..48u32) {
            let mut reader = BitReader::new(&bytes);
            while reader.get_rice(low).is_some() {}
            let _ = read_list(&bytes, low);
        }
    }
}
