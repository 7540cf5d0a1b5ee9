//! The least and the greatest of a column's values.

use std::cmp::Ordering;

use crate::text::prefix;

/// They are cut at this many characters.
const BOUND_CHARS: usize = 200;

/// A value as far as it is kept as a bound.
pub(super) fn cut(value: &str) -> &str {
    prefix(value, BOUND_CHARS)
}

/// Two values, each with a key that orders most values without a look at their text.
#[derive(Debug)]
pub(super) struct Bounds<K> {
    least: Bound<K>,
    greatest: Bound<K>,
}

#[derive(Debug)]
struct Bound<K> {
    key: K,
    text: String,
}

impl<K> Bound<K> {
    fn set(&mut self, key: K, text: &str) {
        self.key = key;
        self.text.clear();
        self.text.push_str(text);
    }
}

impl<K: Copy> Bounds<K> {
    /// Takes a value. `by_text` decides between those of equal keys.
    #[inline]
    fn take(
        bounds: &mut Option<Bounds<K>>,
        key: K,
        value: &str,
        by_key: impl Fn(K, K) -> Ordering,
        by_text: impl Fn(&str, &str) -> Ordering,
    ) {
        let Some(Bounds { least, greatest }) = bounds else {
            let bound = || Bound {
                key,
                text: cut(value).to_owned(),
            };
            *bounds = Some(Bounds {
                least: bound(),
                greatest: bound(),
            });
            return;
        };
        let compare = |bound: &Bound<K>| {
            by_key(key, bound.key).then_with(|| by_text(cut(value), &bound.text))
        };
        if compare(least).is_lt() {
            least.set(key, cut(value));
        } else if compare(greatest).is_gt() {
            greatest.set(key, cut(value));
        }
    }

    /// The least and the greatest value.
    pub(super) fn texts(self) -> (String, String) {
        (self.least.text, self.greatest.text)
    }
}

/// In the order of bytes, which the first eight nearly always decide.
#[inline]
pub(super) fn by_bytes(bounds: &mut Option<Bounds<u64>>, value: &str) {
    let first = match value.as_bytes().first_chunk() {
        Some(first) => u64::from_be_bytes(*first),
        None => value
            .bytes()
            .rev()
            .fold(0, |rest, byte| rest >> 8 | u64::from(byte) << 56),
    };
    Bounds::take(bounds, first, value, |a, b| a.cmp(&b), |a, b| a.cmp(b));
}

/// In the order of what values mean. Their keys are rounded (integers beyond 2^53).
pub(super) fn by_value(
    bounds: &mut Option<Bounds<f64>>,
    key: f64,
    value: &str,
    by_text: impl Fn(&str, &str) -> Ordering,
) {
    Bounds::take(bounds, key, value, |a, b| a.total_cmp(&b), by_text);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn they_are_those_of_all_texts(values in proptest::collection::vec("[a-c\0é]{0,12}", 1..9)) {
            let mut bounds = None;
            for value in &values {
                by_bytes(&mut bounds, value);
            }
            let (least, greatest) = bounds.unwrap().texts();
            prop_assert_eq!(&least, values.iter().min().unwrap());
            prop_assert_eq!(&greatest, values.iter().max().unwrap());
        }
    }
}
