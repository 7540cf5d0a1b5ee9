//! Decimal numbers as Arrow writes them, but without the texts that it makes on the way. Those of
//! more than 64 bits are left to it.

use arrow::array::Decimal128Array;

/// Numbers of which each has `scale` digits behind its point.
pub(crate) struct Decimals<'a> {
    pub(super) array: &'a Decimal128Array,
    precision: usize,
    scale: usize,
}

impl<'a> Decimals<'a> {
    /// Unless zeros are to be added in front of a point.
    pub(super) fn of(array: &'a Decimal128Array) -> Option<Decimals<'a>> {
        Some(Decimals {
            array,
            precision: usize::from(array.precision()),
            scale: usize::try_from(array.scale()).ok()?,
        })
    }

    /// Writes value `i`, if it has no more digits than it should.
    pub(super) fn write(&self, i: usize, out: &mut String) -> Option<()> {
        let value = i64::try_from(self.array.value(i)).ok()?;
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(value.unsigned_abs());
        if digits.len() > self.precision {
            return None;
        }
        let point = digits.len().saturating_sub(self.scale);
        let (whole, fraction) = digits.split_at(point);
        if value < 0 {
            out.push('-');
        }
        out.push_str(if whole.is_empty() { "0" } else { whole });
        if self.scale > 0 {
            out.push('.');
            out.extend(std::iter::repeat_n('0', self.scale - fraction.len()));
            out.push_str(fraction);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use arrow::util::display::{ArrayFormatter, FormatOptions};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn they_are_as_arrows(value: i128, by in 0u32..128, precision in 1u8..=38, scale in -3i8..=38) {
            let scale = scale.min(precision as i8);
            let array = Decimal128Array::from(vec![value >> by]).with_precision_and_scale(precision, scale).unwrap();
            let mut text = String::new();
            if Decimals::of(&array).is_some_and(|it| it.write(0, &mut text).is_some()) {
                let formatter = ArrayFormatter::try_new(&array, &FormatOptions::new()).unwrap();
                prop_assert_eq!(text, formatter.value(0).to_string());
            } else {
                let is_narrow = i64::try_from(value >> by).is_ok() && precision > 19;
                prop_assert!(scale < 0 || !is_narrow);
            }
        }
    }
}
