//! The states of a text's tokens to one vector.

/// Which of a text's states make its vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pooling {
    /// The mean of all of them, the special tokens' included.
    Mean,
    /// That of the first token (`[CLS]`, `<s>`).
    First,
}

impl Pooling {
    /// Its word in a folder's `limn.json` and in fingerprints.
    pub fn word(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::First => "cls",
        }
    }

    /// The vector of a sequence's states, a row of `width` numbers a token: the first `dimensions`
    /// numbers, scaled to length one.
    pub fn pool(self, states: &[f32], width: usize, dimensions: usize) -> Vec<f32> {
        let mut vector = vec![0.0_f32; width];
        let tokens = match self {
            Self::Mean => states,
            Self::First => states.get(..width).unwrap_or_default(),
        };
        for state in tokens.chunks_exact(width) {
            vector
                .iter_mut()
                .zip(state)
                .for_each(|(sum, number)| *sum += number);
        }
        vector.truncate(dimensions);
        unit(vector)
    }
}

/// The vector scaled to length one.
pub(crate) fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x /= length);
    }
    vector
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// States of some tokens, the numbers of each, and how many of a vector's are kept.
    fn pooled() -> impl Strategy<Value = (usize, Vec<Vec<f32>>, usize)> {
        (1_usize..24).prop_flat_map(|width| {
            let state = prop::collection::vec(-4.0_f32..4.0, width);
            (Just(width), prop::collection::vec(state, 1..12), 1..=width)
        })
    }

    proptest! {
        #[test]
        fn a_vector_is_of_the_mean_or_the_first_state(
            (width, states, dimensions) in pooled(),
        ) {
            let flat = states.concat();
            for pooling in [Pooling::Mean, Pooling::First] {
                let read = match pooling {
                    Pooling::Mean => &states[..],
                    Pooling::First => &states[..1],
                };
                let number = |place: usize| {
                    let sum = read.iter().map(|state| f64::from(state[place])).sum::<f64>();
                    sum / read.len() as f64
                };
                let right: Vec<f64> = (0..dimensions).map(number).collect();
                let length = right.iter().map(|x| x * x).sum::<f64>().sqrt();
                prop_assume!(length > 1e-2);
                let found = pooling.pool(&flat, width, dimensions);
                prop_assert_eq!(found.len(), dimensions);
                for (found, right) in found.iter().zip(&right) {
                    let off = (f64::from(*found) - right / length).abs();
                    prop_assert!(off < 1e-4, "{:?} is off by {}", pooling, off);
                }
            }
        }
    }
}
