//! Rows rounded to bytes, and how far the rounded inner product may be from the exact one.
//!
//! With `v = s·v̂ + e` and `q = t·q̂ + f` (hats are the rounded integers),
//! `|q·v − s·t·q̂·v̂| = |q·e + f·s·v̂| ≤ |q||e| + |f||s·v̂|`.

use std::io;
use std::ops::Range;

use tantivy::directory::OwnedBytes;

use super::products::{Kernel, STEP};
use crate::spill::Spill;

/// What f32 arithmetic itself may add to the bound, relative to the lengths of both vectors: well
/// above the rounding of a few thousand multiply-adds.
const ARITHMETIC: f32 = 1e-3;

/// Largest integer of a rounded row.
const LIMIT: f32 = 127.0;

/// A query that is shorter has no bound.
pub(super) const SMALLEST: f32 = 1e-15;

/// Added and taken away again, this rounds a small f32 to the nearest whole number.
const TO_WHOLE: f32 = 12_582_912.0;

/// Numbers that are summed side by side.
const LANES: usize = 16;

/// Rows whose products are made at a time: they stay in the first cache.
const BATCH: usize = 512;

/// Rounds to integers of at most `limit`; `values` and `out` are of one length, a multiple of
/// [`LANES`]. Returns the scale, `|x − scale·rounded|` and `|scale·rounded|`, the last two rounded
/// up. A vector that is not finite has an infinite error.
fn round(values: &[f32], limit: f32, out: &mut [i8]) -> (f32, f32, f32) {
    let mut largest = [0.0f32; LANES];
    for values in values.chunks_exact(LANES) {
        for (largest, x) in largest.iter_mut().zip(values) {
            *largest = largest.max(x.abs());
        }
    }
    let largest = largest.into_iter().fold(0.0, f32::max);
    if largest < f32::MIN_POSITIVE * limit {
        // Too small to divide by: rounded to nothing.
        let all = (values.len() as f32).sqrt() * largest;
        let error = if values.iter().any(|x| x.is_nan()) {
            f32::INFINITY
        } else {
            all
        };
        return (0.0, error, 0.0);
    }
    let scale = largest / limit;
    let (mut errors, mut squares) = ([0.0f32; LANES], [0.0f32; LANES]);
    for (values, out) in values.chunks_exact(LANES).zip(out.chunks_exact_mut(LANES)) {
        for j in 0..LANES {
            let whole = (values[j] / scale + TO_WHOLE) - TO_WHOLE;
            let stands_for = scale * whole;
            let error = values[j] - stands_for;
            out[j] = whole as i8;
            errors[j] += error * error;
            squares[j] += stands_for * stands_for;
        }
    }
    let length = |squares: [f32; LANES]| squares.iter().sum::<f32>().sqrt() * 1.001;
    let error = length(errors);
    let error = if error.is_nan() { f32::INFINITY } else { error };
    (scale, error, length(squares))
}

/// Rounded rows, all of one width.
#[derive(Debug)]
pub(super) struct Plane {
    /// Bytes of a row, a multiple of [`STEP`].
    width: usize,
    count: usize,
    /// The rows (signed bytes); then the [`Facts`] of all rows, column by column (f32).
    bytes: OwnedBytes,
}

/// What is known of a row beside its bytes.
struct Facts {
    scale: f32,
    /// The sum of its bytes (a whole number): what moving the query up by 1 adds to the inner
    /// product.
    sum: f32,
    error: f32,
    /// `|s·v̂|`
    length: f32,
}

const FACTS: usize = 4;

impl Facts {
    /// In the order of the columns.
    fn all(&self) -> [f32; FACTS] {
        [self.scale, self.sum, self.error, self.length]
    }
}

/// Takes rows one after the other.
pub(super) struct PlaneWriter {
    numbers: usize,
    rows: Spill,
    facts: Vec<Facts>,
    padded: Vec<f32>,
    rounded: Vec<i8>,
}

impl PlaneWriter {
    /// Of rows of so many numbers.
    pub(super) fn new(numbers: usize) -> io::Result<PlaneWriter> {
        let width = numbers.next_multiple_of(STEP);
        Ok(PlaneWriter {
            numbers,
            rows: Spill::new()?,
            facts: Vec::new(),
            padded: vec![0.0; width],
            rounded: vec![0; width],
        })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// Where it is not finite, or the temporary file cannot be written.
    pub(super) fn add(&mut self, numbers: &[f32]) -> io::Result<()> {
        self.padded[..self.numbers].copy_from_slice(numbers);
        self.rounded.fill(0);
        let (scale, error, length) = round(&self.padded, LIMIT, &mut self.rounded);
        if !(error + length).is_finite() {
            return Err(io::Error::other("a vector is not finite"));
        }
        self.rows.add(bytemuck::cast_slice(&self.rounded))?;
        self.facts.push(Facts {
            scale,
            sum: self.rounded.iter().map(|x| i32::from(*x)).sum::<i32>() as f32,
            error,
            length,
        });
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<Plane> {
        for column in 0..FACTS {
            for facts in &self.facts {
                self.rows.add(&facts.all()[column].to_ne_bytes())?;
            }
        }
        Ok(Plane {
            width: self.padded.len(),
            count: self.facts.len(),
            bytes: self.rows.finish()?,
        })
    }
}

/// A rounded query.
pub(super) struct Asked {
    kernel: Kernel,
    /// Moved up, so that no byte is below zero.
    bytes: Vec<u8>,
    up: f32,
    scale: f32,
    /// By how much a row's error and length may move the inner product.
    by_error: f32,
    by_length: f32,
}

impl Asked {
    /// The most that a row's exact inner product may be, by the rounded one.
    #[inline]
    fn most(&self, product: i32, row: &Facts) -> f32 {
        let score = (product as f32 - row.sum * self.up) * (row.scale * self.scale);
        score + (self.by_error * row.error + self.by_length * row.length)
    }
}

impl Plane {
    /// Rounds a query of as many numbers as the rows. `None` where it
    /// is not finite, or next to nothing: then nothing is known about any row.
    pub(super) fn ask(&self, kernel: Kernel, numbers: &[f32]) -> Option<Asked> {
        let mut padded = numbers.to_vec();
        padded.resize(self.width, 0.0);
        let mut rounded = vec![0i8; self.width];
        let (scale, error, length) = round(&padded, kernel.limit().into(), &mut rounded);
        let whole = length + error;
        // The squares of very small numbers are nothing, and the bound would be.
        if !whole.is_finite() || whole < SMALLEST {
            return None;
        }
        let arithmetic = ARITHMETIC * whole;
        // The processor multiplies unsigned by signed bytes: the query is moved up.
        let up = i32::from(kernel.limit()) + 1;
        Some(Asked {
            kernel,
            bytes: rounded.iter().map(|x| (i32::from(*x) + up) as u8).collect(),
            up: up as f32,
            scale,
            by_error: whole + arithmetic,
            by_length: error + arithmetic,
        })
    }

    /// The columns of some rows' facts, each as long as there are rows.
    fn columns(&self, rows: Range<usize>) -> [&[f32]; FACTS] {
        // A map begins at a page, and the rows fill multiples of four bytes.
        let facts: &[f32] = bytemuck::cast_slice(&self.bytes[self.count * self.width..]);
        [0, 1, 2, 3].map(|column| &facts[column * self.count..][rows.clone()])
    }

    fn rows(&self, rows: Range<usize>) -> &[u8] {
        &self.bytes[rows.start * self.width..rows.end * self.width]
    }

    /// Of each row a bound that its exact score does not exceed.
    pub(super) fn bounds(&self, asked: &Asked) -> Vec<f32> {
        let mut bounds = vec![0.0; self.count];
        let mut products = [0i32; BATCH];
        for (at, most) in bounds.chunks_mut(BATCH).enumerate() {
            let count = most.len();
            let rows = at * BATCH..at * BATCH + count;
            // Slices of one known length: several rows are bounded at a time.
            let products = &mut products[..count];
            let [scale, sum, error, length] = self.columns(rows.clone()).map(|it| &it[..count]);
            let bytes = self.rows(rows);
            asked.kernel.products(&asked.bytes, bytes, products);
            for row in 0..count {
                let facts = Facts {
                    scale: scale[row],
                    sum: sum[row],
                    error: error[row],
                    length: length[row],
                };
                most[row] = asked.most(products[row], &facts);
            }
        }
        bounds
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_row_scores_above_its_bound(
            rows in prop::collection::vec(prop::collection::vec(-1.0f32..1.0, 70), 1..20),
            query in prop::collection::vec(-1.0f32..1.0, 70),
        ) {
            let mut writer = PlaneWriter::new(70).unwrap();
            rows.iter().for_each(|row| writer.add(row).unwrap());
            let plane = writer.finish().unwrap();
            for kernel in Kernel::all() {
                let asked = plane.ask(kernel, &query).unwrap();
                let most = plane.bounds(&asked);
                for (at, row) in rows.iter().enumerate() {
                    let exact: f32 = row.iter().zip(&query).map(|(v, q)| v * q).sum();
                    prop_assert!(exact <= most[at], "{exact} above {}", most[at]);
                }
            }
        }
    }
}
