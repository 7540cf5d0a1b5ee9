//! ORC's run-length encodings (ORC specification v1, "Run Length Encoding"): of bytes, of bits, and
//! two of whole numbers.

use super::corrupt;
use super::stream::Stream;
use crate::typed::Stopped;

/// Bytes.
pub(super) struct Bytes {
    stream: Stream,
    /// Of the run at hand: how many are left, and which byte it repeats, if it repeats one.
    left: usize,
    repeated: Option<u8>,
}

impl Bytes {
    pub(super) fn new(stream: Stream) -> Self {
        Bytes {
            stream,
            left: 0,
            repeated: None,
        }
    }

    pub(super) fn next(&mut self) -> Result<u8, Stopped> {
        if self.left == 0 {
            let control = self.stream.byte()?;
            if control < 0x80 {
                self.left = usize::from(control) + 3;
                self.repeated = Some(self.stream.byte()?);
            } else {
                self.left = 0x100 - usize::from(control);
                self.repeated = None;
            }
        }
        self.left -= 1;
        match self.repeated {
            Some(byte) => Ok(byte),
            None => self.stream.byte(),
        }
    }
}

/// Bits, the highest of each byte first.
pub(super) struct Bits {
    bytes: Bytes,
    byte: u8,
    left: u32,
}

impl Bits {
    pub(super) fn new(stream: Stream) -> Self {
        Bits {
            bytes: Bytes::new(stream),
            byte: 0,
            left: 0,
        }
    }

    pub(super) fn next(&mut self) -> Result<bool, Stopped> {
        if self.left == 0 {
            self.byte = self.bytes.next()?;
            self.left = 8;
        }
        self.left -= 1;
        Ok(self.byte >> self.left & 1 == 1)
    }
}

/// Whole numbers.
pub(super) struct Numbers {
    stream: Stream,
    version: Version,
    is_signed: bool,
    /// The run at hand, and how many of it were taken.
    run: Vec<i64>,
    taken: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

impl Numbers {
    pub(super) fn new(stream: Stream, version: Version, is_signed: bool) -> Self {
        Numbers {
            stream,
            version,
            is_signed,
            run: Vec::new(),
            taken: 0,
        }
    }

    pub(super) fn next(&mut self) -> Result<i64, Stopped> {
        if self.taken == self.run.len() {
            self.taken = 0;
            self.run.clear();
            match self.version {
                Version::One => self.first_version()?,
                Version::Two => self.second_version()?,
            }
            self.stream.worked(self.run.len() as u64 * 8);
        }
        let number = self.run.get(self.taken).copied();
        self.taken += 1;
        number.ok_or_else(|| corrupt("a run of numbers has none").into())
    }

    /// A length, or a place in a dictionary.
    pub(super) fn length(&mut self) -> Result<u64, Stopped> {
        u64::try_from(self.next()?).map_err(|_| corrupt("a length is negative").into())
    }

    fn first_version(&mut self) -> Result<(), Stopped> {
        let control = self.stream.byte()?;
        if control < 0x80 {
            let delta = i64::from(self.stream.byte()? as i8);
            let mut number = self.varint(self.is_signed)?;
            for _ in 0..usize::from(control) + 3 {
                self.run.push(number);
                number = number.wrapping_add(delta);
            }
        } else {
            for _ in 0..0x100 - usize::from(control) {
                let number = self.varint(self.is_signed)?;
                self.run.push(number);
            }
        }
        Ok(())
    }

    fn second_version(&mut self) -> Result<(), Stopped> {
        let first = self.stream.byte()?;
        match first >> 6 {
            0 => self.short_repeat(first),
            1 => {
                let (width, length) = self.header(first)?;
                let mut bits = Packed::new(width);
                for _ in 0..length {
                    let number = bits.next(&mut self.stream)?;
                    self.run.push(signed(number, self.is_signed));
                }
                Ok(())
            }
            2 => self.patched_base(first),
            _ => self.delta(first),
        }
    }

    fn short_repeat(&mut self, first: u8) -> Result<(), Stopped> {
        let width = u32::from(first >> 3 & 7) + 1;
        let length = usize::from(first & 7) + 3;
        let number = self.big_endian(width)?;
        self.run.resize(length, signed(number, self.is_signed));
        Ok(())
    }

    fn patched_base(&mut self, first: u8) -> Result<(), Stopped> {
        let (width, length) = self.header(first)?;
        let (third, fourth) = (self.stream.byte()?, self.stream.byte()?);
        let base_bytes = u32::from(third >> 5) + 1;
        let patch_width = wide(third & 31);
        let gap_width = u32::from(fourth >> 5) + 1;
        let patches = usize::from(fourth & 31);
        // The base has its sign in its highest bit.
        let base = self.big_endian(base_bytes)?;
        let sign = 1u64 << (8 * base_bytes - 1);
        let base = if base & sign == 0 {
            base as i64
        } else {
            ((base & (sign - 1)) as i64).wrapping_neg()
        };
        let mut bits = Packed::new(width);
        let mut numbers = Vec::with_capacity(length);
        for _ in 0..length {
            numbers.push(bits.next(&mut self.stream)?);
        }
        if gap_width + patch_width > 64 {
            return Err(corrupt("a run of numbers has patches that are too wide").into());
        }
        let mut bits = Packed::new(closest(gap_width + patch_width));
        let mut place = 0;
        for _ in 0..patches {
            let entry = bits.next(&mut self.stream)?;
            place += entry.checked_shr(patch_width).unwrap_or(0) as usize;
            let patch = entry & mask(patch_width);
            let Some(number) = numbers.get_mut(place) else {
                return Err(corrupt("a run of numbers has a patch beyond its end").into());
            };
            *number |= patch.checked_shl(width).unwrap_or(0);
        }
        let numbers = numbers.into_iter();
        self.run
            .extend(numbers.map(|number| base.wrapping_add(number as i64)));
        Ok(())
    }

    fn delta(&mut self, first: u8) -> Result<(), Stopped> {
        let fixed = first >> 1 & 31 == 0;
        let (width, length) = self.header(first)?;
        let mut number = self.varint(self.is_signed)?;
        self.run.push(number);
        let step = self.varint(true)?;
        let mut bits = Packed::new(width);
        for i in 1..length {
            let delta = if fixed || i == 1 {
                step
            } else {
                let delta = bits.next(&mut self.stream)? as i64;
                if step < 0 {
                    delta.wrapping_neg()
                } else {
                    delta
                }
            };
            number = number.wrapping_add(delta);
            self.run.push(number);
        }
        Ok(())
    }

    /// The width of a run's numbers in bits, and how many there are.
    fn header(&mut self, first: u8) -> Result<(u32, usize), Stopped> {
        let second = self.stream.byte()?;
        let length = (usize::from(first & 1) << 8 | usize::from(second)) + 1;
        Ok((wide(first >> 1 & 31), length))
    }

    fn big_endian(&mut self, bytes: u32) -> Result<u64, Stopped> {
        let mut number = 0;
        for _ in 0..bytes {
            number = number << 8 | u64::from(self.stream.byte()?);
        }
        Ok(number)
    }

    fn varint(&mut self, is_signed: bool) -> Result<i64, Stopped> {
        let mut number = 0u64;
        for shift in (0..70).step_by(7) {
            let byte = self.stream.byte()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(signed(number, is_signed));
            }
        }
        Err(corrupt("a number is too long").into())
    }
}

fn signed(number: u64, is_signed: bool) -> i64 {
    if is_signed {
        (number >> 1) as i64 ^ -((number & 1) as i64)
    } else {
        number as i64
    }
}

/// The width in bits that five bits encode.
fn wide(code: u8) -> u32 {
    match code {
        0..=23 => u32::from(code) + 1,
        24 => 26,
        25 => 28,
        26 => 30,
        27 => 32,
        28 => 40,
        29 => 48,
        30 => 56,
        _ => 64,
    }
}

/// The narrowest of those widths that is not less than this.
fn closest(width: u32) -> u32 {
    (0..32).map(wide).find(|wide| *wide >= width).unwrap_or(64)
}

fn mask(width: u32) -> u64 {
    1u64.checked_shl(width).map_or(u64::MAX, |bit| bit - 1)
}

/// Numbers of so many bits each, the highest bit first.
struct Packed {
    width: u32,
    byte: u8,
    left: u32,
}

impl Packed {
    fn new(width: u32) -> Self {
        Packed {
            width,
            byte: 0,
            left: 0,
        }
    }

    fn next(&mut self, stream: &mut Stream) -> Result<u64, Stopped> {
        let (mut number, mut wanted) = (0u64, self.width);
        while wanted > 0 {
            if self.left == 0 {
                self.byte = stream.byte()?;
                self.left = 8;
            }
            let bits = wanted.min(self.left);
            self.left -= bits;
            let taken = u64::from(self.byte >> self.left) & mask(bits);
            number = number.checked_shl(bits).unwrap_or(0) | taken;
            wanted -= bits;
        }
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use proptest::prelude::*;

    use super::*;

    fn numbers(bytes: &[u8], version: Version, is_signed: bool, count: usize) -> Vec<i64> {
        let mut numbers = Numbers::new(Stream::of(bytes.to_vec()), version, is_signed);
        let taken = (0..count).map(|_| numbers.next().ok().unwrap()).collect();
        assert!(numbers.next().is_err(), "there are more");
        taken
    }

    /// The examples of the specification.
    #[test]
    fn bytes_and_bits() {
        let take = |bytes: &[u8], count: usize| {
            let mut run = Bytes::new(Stream::of(bytes.to_vec()));
            (0..count)
                .map(|_| run.next().ok().unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(take(&[0x61, 0x00], 100), [0; 100]);
        assert_eq!(take(&[0xfe, 0x44, 0x45], 2), [0x44, 0x45]);
        let mut bits = Bits::new(Stream::of(vec![0xff, 0x80]));
        let bits: Vec<bool> = (0..8).map(|_| bits.next().ok().unwrap()).collect();
        assert_eq!(
            bits,
            [true, false, false, false, false, false, false, false]
        );
    }

    #[test]
    fn the_first_version_of_numbers() {
        assert_eq!(
            numbers(&[0x61, 0x00, 0x07], Version::One, false, 100),
            [7; 100]
        );
        let falling: Vec<i64> = (1..=100).rev().collect();
        assert_eq!(
            numbers(&[0x61, 0xff, 0x64], Version::One, false, 100),
            falling
        );
        assert_eq!(
            numbers(&[0xfb, 0x02, 0x03, 0x04, 0x07, 0xb], Version::One, false, 5),
            [2, 3, 4, 7, 11]
        );
        assert_eq!(numbers(&[0xfe, 0x01, 0x02], Version::One, true, 2), [-1, 1]);
    }

    #[test]
    fn the_second_version_of_numbers() {
        assert_eq!(
            numbers(&[0x0a, 0x27, 0x10], Version::Two, false, 5),
            [10_000; 5]
        );
        assert_eq!(
            numbers(
                &[0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef],
                Version::Two,
                false,
                4
            ),
            [23_713, 43_806, 57_005, 48_879]
        );
        let patched = [
            0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46,
            0x50, 0x5a, 0x64, 0x6e, 0x78, 0x82, 0x8c, 0x96, 0xa0, 0xaa, 0xb4, 0xbe, 0xfc, 0xe8,
        ];
        assert_eq!(
            numbers(&patched, Version::Two, false, 20),
            [
                2030, 2000, 2020, 1_000_000, 2040, 2050, 2060, 2070, 2080, 2090, 2100, 2110, 2120,
                2130, 2140, 2150, 2160, 2170, 2180, 2190
            ]
        );
        let primes = [0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46];
        assert_eq!(
            numbers(&primes, Version::Two, false, 10),
            [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
        );
    }

    proptest! {
        #[test]
        fn anything_goes(bytes in prop::collection::vec(any::<u8>(), 0..300), second: bool, is_signed: bool) {
            let version = if second { Version::Two } else { Version::One };
            let mut numbers = Numbers::new(Stream::of(bytes.clone()), version, is_signed);
            while numbers.next().is_ok() {}
            let mut bits = Bits::new(Stream::of(bytes));
            while bits.next().is_ok() {}
        }
    }
}
