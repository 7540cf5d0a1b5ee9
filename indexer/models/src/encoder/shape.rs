//! What an encoder's network is: its sizes, and how its layers are put together.

use super::misfit::Misfit;

/// The most numbers of a state, and so of a vector.
pub const MOST_HIDDEN: usize = 1024;
/// Encoders have 32 at most, as a rule; each has scores of its own in memory.
const MOST_HEADS: usize = 64;
/// Bounds of what a `config.json` may claim, so that it cannot ask for all memory.
const MOST_LAYERS: usize = 64;
const MOST_INNER: usize = 16_384;
const MOST_VOCABULARY: usize = 2_000_000;
const MOST_POSITIONS: usize = 131_072;
/// The most tokens of a text that are read, whatever the model could.
pub(crate) const MOST_WINDOW: usize = 8192;
/// The integer kernels compute so many outputs at a time.
const PANEL: usize = crate::kernels::PANEL;
const LANES: usize = crate::kernels::LANES;

/// Whose tensors' names and order of steps a network has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// BERT and RoBERTa: added first, normalised after.
    Bert,
    /// ModernBERT: normalised first, added after.
    ModernBert,
}

/// The function between the two halves of the inner layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activation {
    /// x·Φ(x).
    Gelu,
    /// The same by a hyperbolic tangent.
    GeluTanh,
    /// max(x, 0).
    Relu,
}

/// How far a token looks in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// At every token.
    All,
    /// At those that are at most so many tokens away.
    Around(usize),
}

/// The bases of the rotations that mark places.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RotationBases {
    pub global: f64,
    pub local: f64,
}

/// The sizes of an encoder and how its layers are put together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shape {
    pub family: Family,
    pub hidden: usize,
    pub heads: usize,
    pub inner: usize,
    pub vocabulary: usize,
    /// Rows of the matrix of learned positions; 0 where rotations mark places.
    pub positions: usize,
    /// The row of the first token: RoBERTa's come after that of padding.
    pub first_position: usize,
    /// Rows of the matrix of segment types, of which the first is used; 0 for none.
    pub segments: usize,
    pub rotation: Option<RotationBases>,
    pub activation: Activation,
    pub norm_epsilon: f32,
    /// The reach of each layer.
    pub reaches: Vec<Reach>,
}

impl Shape {
    /// That of all-MiniLM-L6-v2, as its `config.json` gives it.
    pub fn minilm() -> Self {
        Self {
            family: Family::Bert,
            hidden: 384,
            heads: 12,
            inner: 1536,
            vocabulary: 30522,
            positions: 512,
            first_position: 0,
            segments: 2,
            rotation: None,
            activation: Activation::Gelu,
            norm_epsilon: 1e-12,
            reaches: vec![Reach::All; 6],
        }
    }

    /// Numbers of a head.
    pub fn head(&self) -> usize {
        self.hidden / self.heads.max(1)
    }

    /// Whether each half of a layer normalises before it computes.
    pub fn normalises_first(&self) -> bool {
        self.family == Family::ModernBert
    }

    /// Outputs of the widening matrix: a gate beside each number, where there are gates.
    pub fn widened(&self) -> usize {
        match self.family {
            Family::Bert => self.inner,
            Family::ModernBert => 2 * self.inner,
        }
    }

    /// The most tokens that the positions suffice for.
    pub fn longest(&self) -> usize {
        let places = match self.rotation {
            Some(_) => MOST_WINDOW,
            None => self.positions.saturating_sub(self.first_position),
        };
        places.min(MOST_WINDOW)
    }

    /// Refuses a shape that no engine computes.
    pub fn check(&self) -> Result<(), Misfit> {
        let bounds = [
            ("hidden_size", self.hidden, MOST_HIDDEN),
            ("num_hidden_layers", self.reaches.len(), MOST_LAYERS),
            ("intermediate_size", self.inner, MOST_INNER),
            ("vocab_size", self.vocabulary, MOST_VOCABULARY),
            (
                "num_attention_heads",
                self.heads,
                self.hidden.min(MOST_HEADS),
            ),
        ];
        for (name, found, most) in bounds {
            if found == 0 || found > most {
                return Err(Misfit::Range {
                    name,
                    found,
                    expected: format!("1 to {most}"),
                });
            }
        }
        if self.positions > MOST_POSITIONS {
            return Err(Misfit::Range {
                name: "max_position_embeddings",
                found: self.positions,
                expected: format!("{MOST_POSITIONS} at most"),
            });
        }
        if !self.hidden.is_multiple_of(self.heads) || !self.head().is_multiple_of(2) {
            return Err(Misfit::Sizes(format!(
                "hidden_size {} is not {} heads of an even number of numbers",
                self.hidden, self.heads
            )));
        }
        if !(self.norm_epsilon > 0.0 && self.norm_epsilon < 1.0) {
            return Err(Misfit::Sizes(format!(
                "the layer norm's epsilon is {}; expected more than 0 and less than 1",
                self.norm_epsilon
            )));
        }
        let bases = self.rotation.iter();
        let mut bases = bases.flat_map(|it| [it.global, it.local]);
        if bases.any(|base| !(base > 1.0 && base.is_finite())) {
            return Err(Misfit::Sizes("a rope theta is not above 1".to_owned()));
        }
        Ok(())
    }

    /// Refuses a shape that the integer engine does not compute.
    pub fn check_for_integers(&self) -> Result<(), Misfit> {
        let fits = self.hidden.is_multiple_of(PANEL)
            && self.widened().is_multiple_of(PANEL)
            && self.inner.is_multiple_of(LANES)
            && self.head().is_multiple_of(LANES);
        if fits {
            return Ok(());
        }
        Err(Misfit::Sizes(format!(
            "hidden_size {}, intermediate_size {} and {} heads do not suit the 8-bit engine, which takes multiples of {PANEL} and heads of a multiple of {LANES} numbers; \"arithmetic\": \"f32\" in limn.json computes it",
            self.hidden, self.inner, self.heads
        )))
    }
}
