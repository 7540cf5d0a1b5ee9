//! all-MiniLM-L6-v2: a six-layer BERT that maps a text of up to 256 tokens to 384 numbers.
//!
//! One shape, two engines behind the same tokenizer: [`MiniLm`] computes in eight-bit integers on
//! kernels of this crate, [`MiniLmReference`] in candle's 32-bit floats. The first is what limn
//! runs; the second is the standard it is tested against.
//!
//! Sources: BERT (Devlin et al., NAACL 2019) for the encoder; MiniLM (Wang et al., NeurIPS 2020)
//! for the distilled weights; Sentence-BERT (Reimers and Gurevych, EMNLP 2019) for mean pooling.

pub(crate) mod int8;
pub(crate) mod reference;
pub(crate) mod tokens;

pub use int8::MiniLm;
pub use reference::MiniLmReference;

/// How an engine computes, as the ids of its vectors say.
pub(crate) mod arithmetic {
    pub const INT8: &str = "int8";
    pub const F32: &str = "f32";
}

/// Sizes of all-MiniLM-L6-v2, as its `config.json` and `sentence_bert_config.json` give them.
pub(crate) mod shape {
    pub const HIDDEN: usize = 384;
    pub const LAYERS: usize = 6;
    pub const HEADS: usize = 12;
    pub const HEAD: usize = HIDDEN / HEADS;
    pub const INNER: usize = 1536;
    pub const VOCABULARY: usize = 30522;
    pub const POSITIONS: usize = 512;
    /// The most tokens of a text that are read, the two special ones included.
    pub const WINDOW: usize = 256;
    pub const NORM_EPSILON: f64 = 1e-12;
}
