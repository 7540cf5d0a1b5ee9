//! The sizes of a model of the Llama family (Touvron et al., 2023) or of Qwen2 (Yang et al., 2024):
//! the same network, but that Qwen2 adds a bias to queries, keys and values.

/// How positions turn queries and keys (RoPE, Su et al., 2021): which numbers make a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairs {
    /// Neighbours: GGUF files of Llama are permuted so.
    Neighbours,
    /// A number of the first half with its like of the second: Qwen2, and safetensors of both.
    Halves,
}

/// The sizes of a model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shape {
    pub layers: usize,
    pub hidden: usize,
    /// Heads of queries; each [`Shape::group`] of them shares a head of keys and values.
    pub heads: usize,
    pub kv_heads: usize,
    /// Numbers of a head.
    pub head: usize,
    pub inner: usize,
    pub vocabulary: usize,
    /// The most positions the model was made for.
    pub window: usize,
    pub rope_base: f64,
    /// What each pair's frequency is divided by; empty for 1.
    pub rope_factors: Vec<f32>,
    pub pairs: Pairs,
    pub norm_epsilon: f32,
}

impl Shape {
    /// Heads of queries that share a head of keys and values.
    pub fn group(&self) -> usize {
        self.heads / self.kv_heads
    }

    /// Bytes that a token's keys and values take.
    pub fn bytes_per_token(&self) -> usize {
        self.layers * self.kv_heads * self.head * 2 * size_of::<f32>()
    }

    /// Cosines, then sines, of each position's angles: `head` numbers a position (RoPE).
    pub fn turns(&self, positions: std::ops::Range<usize>) -> Vec<f32> {
        let pairs = self.head / 2;
        let angle = |position: usize, pair: usize| {
            let exponent = 2.0 * pair as f64 / self.head as f64;
            let factor = self.rope_factors.get(pair).map_or(1.0, |f| f64::from(*f));
            position as f64 / (self.rope_base.powf(exponent) * factor)
        };
        let turns = positions.flat_map(|position| {
            let cosines = (0..pairs).map(move |pair| angle(position, pair).cos() as f32);
            cosines.chain((0..pairs).map(move |pair| angle(position, pair).sin() as f32))
        });
        turns.collect()
    }

    /// Why this limn cannot compute a model of these sizes, if so.
    pub fn refusal(&self) -> Option<String> {
        let sizes = [
            ("layers", self.layers, 1..=512),
            ("hidden size", self.hidden, 1..=65_536),
            ("heads", self.heads, 1..=1024),
            ("key-value heads", self.kv_heads, 1..=1024),
            ("head size", self.head, 1..=512),
            ("inner size", self.inner, 1..=1 << 20),
            ("vocabulary", self.vocabulary, 1..=1 << 21),
            ("window", self.window, 1..=1 << 24),
        ];
        for (what, size, range) in sizes {
            if !range.contains(&size) {
                return Some(format!("{what} {size} is not within {range:?}"));
            }
        }
        if !self.head.is_multiple_of(crate::kernels::LANES) {
            return Some(format!(
                "a head of {} numbers is no multiple of 16",
                self.head
            ));
        }
        if !self.inner.is_multiple_of(8) {
            return Some(format!(
                "an inner size of {} is no multiple of 8",
                self.inner
            ));
        }
        if !self.heads.is_multiple_of(self.kv_heads) {
            return Some(format!(
                "{} heads do not share {} evenly",
                self.heads, self.kv_heads
            ));
        }
        if !self.rope_factors.is_empty() && self.rope_factors.len() != self.head / 2 {
            return Some(format!(
                "{} frequency factors for {} pairs",
                self.rope_factors.len(),
                self.head / 2
            ));
        }
        let divides = |factor: &f32| factor.is_finite() && *factor > 0.0;
        let sound = self.rope_factors.iter().all(divides)
            && self.rope_base.is_finite()
            && self.rope_base > 1.0
            && self.norm_epsilon > 0.0
            && self.norm_epsilon < 1.0;
        (!sound).then(|| {
            "its rope base, a rope factor or its norm's epsilon is out of range".to_owned()
        })
    }
}
