//! What a column's values look like: dates of one form, e-mail addresses, codes such as `AA-9999`.
//!
//! Every value has one form at most: that of the first of the [`DETECTORS`] that knows it, or else
//! its *shape*, in which letters and digits are distinguished and everything else stands for itself
//! (`AA-9999`, `Aaa 9+`).
//!
//! Forms are found in the values that a profile keeps anyway
//! ([`Frequent::sample`](crate::values::Frequent::sample)), when they are asked for: nothing is
//! stored for them, reading costs nothing more, a new detector needs no file to be read again, and
//! they merge as profiles do. A form's share is of the *distinct* values: exact below 128 of them,
//! else seen in the 128 of lowest hash, a uniform sample that depends on nothing but the set of
//! values, with a standard error of at most 4.4 % (in tables of more than 512 columns up to 12.5
//! %). A form that fewer than one value in a hundred has may be missed. Texts of more than 200
//! characters have no form, but for URLs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::profile::{ColumnProfile, short};

mod detectors;
mod personal;
mod shape;

pub use detectors::{DETECTORS, Detector, detect};
use shape::Shape;

/// Forms that are kept of a column.
const MOST: usize = 3;
/// The least share of the distinct values that is kept.
const LEAST_SHARE: f64 = 0.05;

/// A form that some of a column's values have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pattern {
    /// A detector's name (`e-mail`, `DD.MM.YYYY`), or a shape: `A` is an upper-case letter, `a` a
    /// lower-case one, `9` a digit, `+` stands after what is repeated a varying number of times,
    /// everything else for itself.
    pub form: String,
    /// The share of the distinct values that have it, 0 to 1.
    pub share: f64,
}

impl ColumnProfile {
    /// The forms that at least one in twenty distinct values has, three at most, the most common
    /// first.
    pub fn patterns(&self) -> Vec<Pattern> {
        patterns(self.frequent.sample().map(|(value, _)| value))
    }
}

/// The forms of distinct values.
fn patterns<'a>(values: impl Iterator<Item = &'a str>) -> Vec<Pattern> {
    let mut all = 0u32;
    let mut named: BTreeMap<&str, u32> = BTreeMap::new();
    let mut shaped: BTreeMap<Vec<shape::Class>, (Shape, u32)> = BTreeMap::new();
    for value in values {
        all += 1;
        if let Some(detector) = detect(value) {
            *named.entry(detector.name).or_default() += 1;
        } else if let Some(shape) = Shape::of(value) {
            match shaped.get_mut(&shape.classes()) {
                Some((known, count)) => {
                    known.widen(&shape);
                    *count += 1;
                }
                None => {
                    shaped.insert(shape.classes(), (shape, 1));
                }
            }
        }
    }
    let named = named.into_iter().map(|(name, n)| (name.to_owned(), n));
    let shaped = shaped.into_values();
    let shaped = shaped.filter(|(shape, n)| *n > 1 && shape.is_specific());
    let shaped = shaped.map(|(shape, n)| (shape.to_string(), n));
    let mut found: Vec<Pattern> = named
        .chain(shaped)
        .map(|(form, n)| Pattern {
            form,
            share: short(f64::from(n) / f64::from(all)),
        })
        .filter(|pattern| pattern.share >= LEAST_SHARE)
        .collect();
    found.sort_by(|a, b| {
        b.share
            .total_cmp(&a.share)
            .then_with(|| a.form.cmp(&b.form))
    });
    found.truncate(MOST);
    found
}

#[cfg(test)]
mod tests;
