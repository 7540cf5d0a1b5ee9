//! How many distinct values a long column has: HyperLogLog over 64-bit hashes.
//!
//! Flajolet, Fusy, Gandouet & Meunier 2007, in the form of Heule, Nunkesser & Hall 2013 (64-bit
//! hashes, no correction for large numbers) with the estimator of Ertl 2017 ("New cardinality
//! estimation algorithms for HyperLogLog sketches", algorithm 6), which has no bias to correct by
//! tables and no switch between ranges.
//!
//! The registers are a function of the set of hashes: any split of the values and any order of
//! merging give the same. A hash's lowest bits choose the register, and the zeros above them its
//! rank, so a sketch of 2^p registers folds exactly into the one of 2^(p−1) that the same hashes
//! would have made.
//!
//! The relative standard error is about 1.04 / √registers: 3.25 % at 1024.

mod packed;

use packed::{pack, unpack};

/// log2 of the registers of a column that keeps as many values as any does.
const MOST: u8 = 10;
/// log2 of the registers of one that keeps as few as any does.
const FEWEST: u8 = 7;
/// Registers for a value that is kept.
const REGISTERS_A_VALUE: usize = 8;

/// Counts distinct hashes in a kilobyte at most.
#[derive(Clone, PartialEq, Eq)]
pub struct HyperLogLog {
    // A power of two of them: the highest rank among the hashes of each, 0 without one.
    registers: Vec<u8>,
}

impl HyperLogLog {
    /// An empty sketch for a column that keeps `kept` values: eight registers a value, so that
    /// sketches of many columns are bounded as their values are.
    pub(crate) fn for_kept(kept: usize) -> Self {
        let registers = (kept * REGISTERS_A_VALUE).clamp(1 << FEWEST, 1 << MOST);
        HyperLogLog {
            registers: vec![0; 1 << registers.ilog2()],
        }
    }

    /// Takes a hash; again changes nothing.
    #[inline]
    pub(crate) fn add(&mut self, hash: u64) {
        let bits = self.registers.len().trailing_zeros();
        let place = hash as usize & (self.registers.len() - 1);
        // A bit above the last one stops the count at the highest rank.
        let rank = ((hash >> bits) | 1 << (64 - bits)).trailing_zeros() as u8 + 1;
        if let Some(register) = self.registers.get_mut(place)
            && *register < rank
        {
            *register = rank;
        }
    }

    /// Takes all that `other` has taken. The result has the registers of the smaller one.
    pub(crate) fn merge(&mut self, other: &HyperLogLog) {
        while self.registers.len() > other.registers.len() {
            self.fold();
        }
        if self.registers.len() == other.registers.len() {
            for (register, other) in self.registers.iter_mut().zip(&other.registers) {
                *register = (*register).max(*other);
            }
        } else {
            let mut folded = other.clone();
            while folded.registers.len() > self.registers.len() {
                folded.fold();
            }
            self.merge(&folded);
        }
    }

    /// Halves the registers: the highest bit of a hash's place becomes the lowest of its rank.
    fn fold(&mut self) {
        let upper = self.registers.split_off(self.registers.len() / 2);
        for (lower, upper) in self.registers.iter_mut().zip(upper) {
            let of_lower = if *lower == 0 { 0 } else { *lower + 1 };
            *lower = of_lower.max(u8::from(upper > 0));
        }
    }

    /// About how many distinct hashes were taken.
    pub fn estimate(&self) -> f64 {
        let m = self.registers.len() as f64;
        let mut counts = [0.0; 65];
        for register in &self.registers {
            if let Some(count) = counts.get_mut(usize::from(*register)) {
                *count += 1.0;
            }
        }
        let highest = usize::from(highest_rank(self.registers.len()));
        let mut z = m * tau(1.0 - counts[highest] / m);
        for count in counts[1..highest].iter().rev() {
            z = 0.5 * (z + count);
        }
        z += m * sigma(counts[0] / m);
        m * m / (2.0 * std::f64::consts::LN_2 * z)
    }

    /// The [packed](pack) registers.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        pack(&self.registers)
    }

    /// Reads what [`HyperLogLog::to_bytes`] wrote; none for anything else.
    pub(super) fn from_bytes(packed: &[u8]) -> Option<HyperLogLog> {
        let registers = unpack(packed, FEWEST..=MOST)?;
        let highest = highest_rank(registers.len());
        let is_right = registers.iter().all(|rank| *rank <= highest);
        is_right.then_some(HyperLogLog { registers })
    }

    /// The standard error of [`HyperLogLog::estimate`], as a share of the true number (Flajolet et
    /// al. 2007, theorem 1).
    pub fn standard_error(&self) -> f64 {
        1.04 / (self.registers.len() as f64).sqrt()
    }
}

impl std::fmt::Debug for HyperLogLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HyperLogLog(about {:.0})", self.estimate())
    }
}

/// Rank of a hash that is zero above its place, in a sketch of `registers`.
fn highest_rank(registers: usize) -> u8 {
    65 - registers.trailing_zeros() as u8
}

/// σ of Ertl 2017, equation 19: what registers without a value contribute.
fn sigma(mut x: f64) -> f64 {
    if x >= 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z <= before {
            return z;
        }
    }
}

/// τ of Ertl 2017, equation 23: what registers at the highest rank contribute.
fn tau(mut x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x) * (1.0 - x) * y;
        if z >= before {
            return z / 3.0;
        }
    }
}

#[cfg(test)]
mod tests;
