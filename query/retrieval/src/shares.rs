//! Why a table has its score: the terms that it is the sum of.
//!
//! `(α·lexical + (1−α)·semantic + Σ wᵢ·fᵢ) / (1 + Σ wᵢ)`, see `scoring.rs` and `learned.rs`, is
//! written as a sum of values, each times its weight with the division done. What a score has
//! beyond that, because the question names the table, is a share of its own.

use serde::Serialize;

use crate::learned::Weights;
use crate::ranking::Ranked;

/// One term of a table's score: the contributions of all of them sum to it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Share {
    /// What it is of: `formula_words` and `formula_meaning` are the formula's two sides; `meaning`,
    /// `covered`, `name` and `contexts` features; `named` is what is missing to 1 where the
    /// question names the table.
    pub name: &'static str,
    /// The side's or the feature's value, 0 to 1; of `named` 1.
    pub value: f32,
    /// What the value counts, 0 to 1; of `named` the contribution.
    pub weight: f32,
    /// The product of both.
    pub contribution: f32,
}

impl Share {
    fn of(name: &'static str, value: f32, weight: f32) -> Share {
        Share {
            name,
            value,
            weight,
            contribution: value * weight,
        }
    }
}

/// What makes scores of what a table has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    /// The share of the words' side.
    pub(crate) alpha: f32,
    /// What features count.
    pub(crate) weights: Weights,
}

impl Terms {
    /// The terms of a table's score: the formula's sides, the features that contribute, and what
    /// the question's naming it adds.
    pub(crate) fn shares(&self, ranked: &Ranked) -> Vec<Share> {
        let whole = 1.0 + self.weights.sum();
        let mut shares = vec![
            Share::of("formula_words", ranked.lexical, self.alpha / whole),
            Share::of(
                "formula_meaning",
                ranked.semantic,
                (1.0 - self.alpha) / whole,
            ),
        ];
        let values = ranked.features.named();
        let features = self.weights.named().into_iter().zip(values);
        let counting = features.filter(|((_, weight), value)| weight * value > 0.0);
        shares
            .extend(counting.map(|((name, weight), value)| Share::of(name, value, weight / whole)));
        if ranked.is_named {
            let others: f32 = shares.iter().map(|share| share.contribution).sum();
            shares.push(Share::of("named", 1.0, (ranked.score - others).max(0.0)));
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learned::Features;
    use crate::scoring::fuse;

    proptest::proptest! {
        #[test]
        fn shares_sum_to_the_score(
            alpha in 0.0_f32..=1.0, sides in proptest::array::uniform2(0.0_f32..=1.0),
            f in proptest::array::uniform4(0.0_f32..=1.0),
            w in proptest::array::uniform4(0.0_f32..=1.0), is_named in proptest::bool::ANY,
        ) {
            let weights = Weights { meaning: w[0], covered: w[1], name: w[2], contexts: w[3] };
            let features = Features { meaning: f[0], covered: f[1], name: f[2], contexts: f[3] };
            let [lexical, semantic] = sides;
            let score = weights.score(fuse(alpha, lexical, semantic), &features);
            let ranked = Ranked {
                table: 0,
                score: if is_named { 1.0 } else { score },
                lexical,
                semantic,
                cosine: None,
                features,
                is_named,
            };
            let shares = Terms { alpha, weights }.shares(&ranked);
            let sum: f64 = shares.iter().map(|share| f64::from(share.contribution)).sum();
            proptest::prop_assert!((sum - f64::from(ranked.score)).abs() < 1e-6);
            proptest::prop_assert_eq!(shares.last().map(|it| it.name == "named"), Some(is_named));
        }
    }

    #[test]
    fn a_share_says_what_of_it_is() {
        let ranked = Ranked {
            table: 0,
            score: 0.0,
            lexical: 0.5,
            semantic: 0.25,
            cosine: None,
            features: Features {
                name: 0.5,
                ..Features::default()
            },
            is_named: false,
        };
        let weights = Weights {
            name: 1.0,
            ..Weights::FORMULA
        };
        let shares = Terms {
            alpha: 0.5,
            weights,
        }
        .shares(&ranked);
        let shares: Vec<(&str, f32, f32, f32)> = shares
            .iter()
            .map(|it| (it.name, it.value, it.weight, it.contribution))
            .collect();
        // Features that count nothing are none.
        let expected = [
            ("formula_words", 0.5, 0.25, 0.125),
            ("formula_meaning", 0.25, 0.25, 0.0625),
            ("name", 0.5, 0.5, 0.25),
        ];
        assert_eq!(shares, expected);
    }
}
