//! How often sets are the tables that answer: precision, recall, F1 and full, as JAR (§4.1)
//! measures.

use serde::Serialize;

/// Measures of sets against the tables that are needed, fractions of 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SetShares {
    /// Mean share of a set's tables that are needed.
    pub precision: f64,
    /// Mean share of needed tables that are in the set.
    pub recall: f64,
    /// The mean of their harmonic means, question by question: the paper's.
    pub f1: f64,
    /// The share of questions with every needed table in the set.
    pub full: f64,
    /// Tables of a set, on average.
    pub tables: f64,
}

impl SetShares {
    /// Of sets, each with the names of the tables that are needed and of those that were found. A
    /// question that needs none does not count.
    pub fn of<'a>(sets: impl Iterator<Item = (&'a [String], &'a [String])>) -> SetShares {
        let (mut sum, mut count) = (SetShares::default(), 0);
        for (needed, found) in sets {
            let mut needed: Vec<&String> = needed.iter().collect();
            needed.sort_unstable();
            needed.dedup();
            if needed.is_empty() {
                continue;
            }
            let right = needed.iter().filter(|name| found.contains(name)).count();
            let precision = right as f64 / found.len().max(1) as f64;
            let recall = right as f64 / needed.len() as f64;
            sum.precision += precision;
            sum.recall += recall;
            // Where one of them is 0, both are.
            sum.f1 += 2.0 * precision * recall / (precision + recall).max(f64::MIN_POSITIVE);
            sum.full += f64::from(u8::from(right == needed.len()));
            sum.tables += found.len() as f64;
            count += 1;
        }
        let mean = |sum: f64| sum / f64::from(count.max(1));
        SetShares {
            precision: mean(sum.precision),
            recall: mean(sum.recall),
            f1: mean(sum.f1),
            full: mean(sum.full),
            tables: mean(sum.tables),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_measured_by_hand() {
        let names = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        let (both, one) = (names(&["a", "b"]), names(&["c", "c"]));
        let (half, four) = (names(&["a", "x"]), names(&["c", "x", "y", "z"]));
        let none = Vec::new();
        let sets = [(&both, &half), (&one, &four), (&none, &four)];
        let shares = SetShares::of(sets.iter().map(|(a, b)| (a.as_slice(), b.as_slice())));
        assert_eq!((shares.precision, shares.recall), (0.375, 0.75));
        assert_eq!((shares.f1, shares.full, shares.tables), (0.45, 0.5, 3.0));
        assert_eq!(SetShares::of(std::iter::empty()), SetShares::default());
    }
}
