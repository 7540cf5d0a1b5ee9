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
