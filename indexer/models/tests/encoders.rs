//! Encoders of every architecture from folders, beside the vectors that sentence-transformers made
//! with the same files: `tests/reference/encoders.py` makes both. The weights are random numbers.

mod folders;
mod properties;

use std::fs;
use std::path::{Path, PathBuf};

use limn_models::{
    Devices, Embedder, Encoder, EncoderFolder, EncoderOverrides, ModelError, ModelStore,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

const ALL: [&str; 4] = ["bert", "roberta", "xlm-roberta", "modernbert"];

/// What the reference says of one of the folders.
#[derive(serde::Deserialize)]
struct Expected {
    window: usize,
    texts: Vec<String>,
    tokens: Vec<Vec<u32>>,
    passages: Vec<Vec<f32>>,
    questions: Vec<Vec<f32>>,
}

fn fixture(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/encoders");
    folder.join(name)
}

fn expected(name: &str) -> Expected {
    serde_json::from_slice(&fs::read(fixture(name).join("expected.json")).unwrap()).unwrap()
}

fn open(folder: &Path) -> Result<EncoderFolder, ModelError> {
    EncoderFolder::open(folder, EncoderOverrides::default(), None)
}

fn load(folder: &Path) -> Result<Encoder, ModelError> {
    open(folder)?.load(&Devices::default())
}

/// A copy of a folder, to be changed.
fn copy(name: &str) -> TempDir {
    let target = tempfile::tempdir().unwrap();
    copy_into(&fixture(name), target.path());
    target
}

fn copy_into(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&target).unwrap();
            copy_into(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn write(folder: &Path, file: &str, value: &Value) {
    fs::write(folder.join(file), value.to_string()).unwrap();
}

/// A copy with a `limn.json`, loaded.
fn with_card(name: &str, card: &Value) -> Encoder {
    let folder = copy(name);
    write(folder.path(), "limn.json", card);
    load(folder.path()).unwrap()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn bits(vectors: &[Vec<f32>]) -> Vec<Vec<u32>> {
    let bits = |vector: &Vec<f32>| vector.iter().map(|x| x.to_bits()).collect();
    vectors.iter().map(bits).collect()
}

/// The texts' vectors as passages, and as questions.
fn both(encoder: &Encoder, texts: &[String]) -> [Vec<Vec<f32>>; 2] {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    [
        encoder.embed(&texts).unwrap(),
        encoder.embed_questions(&texts, None).unwrap(),
    ]
}

#[test]
fn floats_give_the_references_vectors() {
    for name in ALL {
        let expected = expected(name);
        let encoder = with_card(name, &json!({"arithmetic": "f32"}));
        assert_eq!(encoder.window(), expected.window, "{name}");
        let found = both(&encoder, &expected.texts);
        for (found, right) in found.iter().zip([&expected.passages, &expected.questions]) {
            for ((text, found), right) in expected.texts.iter().zip(found).zip(right) {
                let pairs = found.iter().zip(right);
                let apart = pairs.map(|(x, y)| (x - y).abs()).fold(0.0, f32::max);
                assert!(apart < 1e-4, "{name}: {text:?} is off by {apart}");
            }
        }
    }
}

#[test]
fn integers_give_cosines_near_the_references() {
    let mut wrong = Vec::new();
    for name in ALL {
        let expected = expected(name);
        let encoder = load(&fixture(name)).unwrap();
        let found = both(&encoder, &expected.texts);
        let (mut own, mut pairs) = (0.0_f32, 0.0_f32);
        for (found, right) in found.iter().zip([&expected.passages, &expected.questions]) {
            for (one, right_one) in found.iter().zip(right) {
                own = own.max(1.0 - cosine(one, right_one));
                for (other, right_other) in found.iter().zip(right) {
                    let error = cosine(one, other) - cosine(right_one, right_other);
                    pairs = pairs.max(error.abs());
                }
            }
        }
        println!("{name}: a vector is {own:.5} from its own, cosines err by {pairs:.5}");
        if own > 1e-2 || pairs > 1e-2 {
            wrong.push(name);
        }
    }
    assert_eq!(wrong, Vec::<&str>::new());
}

#[test]
fn texts_are_cut_into_the_references_tokens() {
    for name in ALL {
        let expected = expected(name);
        // Without prefixes: the reference's token numbers have none.
        let encoder = with_card(name, &json!({"question": "", "passage": ""}));
        for (text, tokens) in expected.texts.iter().zip(&expected.tokens) {
            let count = encoder.count_tokens(text);
            assert_eq!(count.min(expected.window), tokens.len(), "{name}: {text:?}");
        }
        let marks = encoder.count_tokens("[SEP] </s> [MASK] <mask>");
        assert!(
            marks > 10,
            "{name} reads what looks like a special token as one"
        );
    }
}

#[test]
fn text_beyond_the_window_is_not_read() {
    let bare = |card: Value| {
        let mut whole = json!({"question": "", "passage": ""});
        whole["window"] = card;
        whole
    };
    for name in ALL {
        let encoder = with_card(name, &bare(Value::Null));
        let words = "lake river depth ".repeat(100);
        assert!(encoder.count_tokens(&words) > encoder.window());
        let more = format!("{words} and another end");
        let vectors = encoder.embed(&[&words, &more]).unwrap();
        assert!(bits(&vectors[..1]) == bits(&vectors[1..]), "{name}");
        let short = with_card(name, &bare(json!(12)));
        assert_eq!(short.window(), 12);
        assert_ne!(short.id(), encoder.id());
        let vectors = short.embed(&[&words, "lake river"]).unwrap();
        let full = encoder.embed(&[&words, "lake river"]).unwrap();
        assert!(bits(&vectors[..1]) != bits(&full[..1]), "{name}");
        assert!(bits(&vectors[1..]) == bits(&full[1..]), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_texts_vector_is_the_same_bits_in_every_batch(
        texts in prop::collection::vec(
            prop_oneof!["[ -~]{0,200}", "([a-z]{1,9} ){0,60}", "\\PC{0,40}"], 1..12),
        at in any::<prop::sample::Index>(),
    ) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let one = at.index(texts.len());
        for name in ALL {
            for arithmetic in ["int8", "f32"] {
                let encoder = with_card(name, &json!({"arithmetic": arithmetic}));
                let together = encoder.embed(&texts).unwrap();
                let alone = encoder.embed(&texts[one..=one]).unwrap();
                prop_assert_eq!(&bits(&together)[one], &bits(&alone)[0]);
                let shared = encoder.embed_together(&texts[one..=one], &pool).unwrap();
                prop_assert_eq!(bits(&shared), bits(&alone));
                for vector in &together {
                    prop_assert!((cosine(vector, vector) - 1.0).abs() < 1e-4);
                }
            }
        }
    }
}

#[test]
fn questions_and_passages_begin_as_the_model_was_trained() {
    let texts = ["how deep is the lake", ""];
    let encoder = load(&fixture("xlm-roberta")).unwrap();
    let record = encoder.record().unwrap();
    assert_eq!(
        (&*record.question, &*record.passage),
        ("query: ", "passage: ")
    );
    let plain = with_card("xlm-roberta", &json!({"question": "", "passage": ""}));
    for text in texts {
        let prefixed = |prefix: &str| plain.embed_one(&format!("{prefix}{text}")).unwrap();
        assert_eq!(encoder.embed_question(text).unwrap(), prefixed("query: "));
        assert_eq!(encoder.embed_one(text).unwrap(), prefixed("passage: "));
        let counted = plain.count_tokens(&format!("passage: {text}"));
        assert_eq!(encoder.count_tokens(text), counted);
    }
    // A person's own go before those of the files; what is not said stays.
    let own = with_card("xlm-roberta", &json!({"question": "ask: "}));
    let asked = plain.embed_one(&format!("ask: {}", texts[0])).unwrap();
    assert_eq!(own.embed_question(texts[0]).unwrap(), asked);
    assert_eq!(own.record().unwrap().passage, "passage: ");
    assert_ne!(own.id(), encoder.id());
}

#[test]
fn fewer_dimensions_are_the_first_ones_scaled_to_length_one() {
    for (name, arithmetic) in [("bert", "int8"), ("modernbert", "f32")] {
        let card = json!({"arithmetic": arithmetic});
        let whole = with_card(name, &card).embed_one("depth of lakes").unwrap();
        let cut = with_card(name, &json!({"arithmetic": arithmetic, "dimensions": 16}));
        assert_eq!(
            (cut.dimensions(), cut.record().unwrap().dimensions),
            (16, 16)
        );
        let short = cut.embed_one("depth of lakes").unwrap();
        let length = cosine(&whole[..16], &whole[..16]).sqrt();
        for (short, whole) in short.iter().zip(&whole) {
            assert!((short - whole / length).abs() < 1e-6);
        }
        assert_eq!(short.len(), 16);
    }
    let of = |dimensions| {
        let overrides = EncoderOverrides {
            dimensions: Some(dimensions),
        };
        EncoderFolder::open(&fixture("bert"), overrides, None)
    };
    assert_ne!(of(16).unwrap().id(), of(17).unwrap().id());
    assert_eq!(of(64).unwrap().id(), open(&fixture("bert")).unwrap().id());
    let error = of(65).unwrap_err().to_string();
    assert!(
        error.contains("65") && error.contains("expected 1 to 64"),
        "{error}"
    );
    let carded = copy("bert");
    write(carded.path(), "limn.json", &json!({"dimensions": 65}));
    let by_card = open(carded.path()).unwrap_err().to_string();
    assert!(
        by_card.contains("of which 65 are asked for; expected 1 to 64") && !by_card.contains('\n'),
        "{by_card}"
    );
}

#[test]
fn an_id_says_which_files_and_not_where_they_are() {
    let original = open(&fixture("roberta")).unwrap();
    let moved = copy("roberta");
    let elsewhere = open(moved.path()).unwrap();
    assert_eq!(elsewhere.id(), original.id());
    assert_ne!(elsewhere.record().folder, original.record().folder);
    assert!(EncoderFolder::made(original.id().as_str()));
    assert!(!EncoderFolder::made("all-MiniLM-L6-v2@53aa5117-int8"));
    for (file, card) in [
        ("limn.json", json!({"pooling": "mean"})),
        ("limn.json", json!({"arithmetic": "f32"})),
        ("limn.json", json!({"passage": "text: "})),
        ("sentence_bert_config.json", json!({"max_seq_length": 20})),
        ("sentence_bert_config.json", json!({"do_lower_case": true})),
    ] {
        let changed = copy("roberta");
        write(changed.path(), file, &card);
        assert_ne!(open(changed.path()).unwrap().id(), original.id(), "{card}");
    }
    let weights = moved.path().join("model.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&weights, bytes).unwrap();
    assert_ne!(open(moved.path()).unwrap().id(), original.id());
}

#[test]
fn a_prefix_that_fills_the_window_is_refused_when_the_folder_is_opened() {
    let card = |side: &str, words: usize| {
        let prefix = "lake ".repeat(words);
        let mut card = json!({"window": 12, "question": "", "passage": ""});
        card[side] = Value::from(prefix.trim_end());
        card
    };
    for name in ALL {
        let bare = with_card(name, &json!({"question": "", "passage": ""}));
        let fits = |words: usize| bare.count_tokens("lake ".repeat(words).trim_end()) < 12;
        let most = (0..12).rev().find(|words| fits(*words)).unwrap();
        for side in ["question", "passage"] {
            let folder = copy(name);
            write(folder.path(), "limn.json", &card(side, most));
            open(folder.path()).unwrap();
            write(folder.path(), "limn.json", &card(side, most + 1));
            let error = open(folder.path()).unwrap_err().to_string();
            for said in ["limn.json", side, "tokens", "window of 12"] {
                assert!(error.contains(said), "{name}: {said}: {error}");
            }
        }
    }
    // The file that has the prefix is named.
    let folder = copy("bert");
    write(folder.path(), "limn.json", &json!({"window": 12}));
    let prompts = json!({"prompts": {"query": "lake ".repeat(20)}});
    write(folder.path(), "config_sentence_transformers.json", &prompts);
    let error = open(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("config_sentence_transformers.json"),
        "{error}"
    );
}

#[test]
fn a_text_without_a_token_has_a_vector_of_zeros() {
    for name in ALL {
        for (arithmetic, pooling) in [("int8", "mean"), ("int8", "cls"), ("f32", "mean")] {
            let folder = copy(name);
            let tokenizer = folder.path().join("tokenizer.json");
            let mut json: Value = serde_json::from_slice(&fs::read(&tokenizer).unwrap()).unwrap();
            // Nothing is put around a text.
            json["post_processor"] = Value::Null;
            fs::write(&tokenizer, json.to_string()).unwrap();
            let card = json!({"arithmetic": arithmetic, "pooling": pooling, "question": "",
                "passage": "", "dimensions": 16});
            write(folder.path(), "limn.json", &card);
            let encoder = load(folder.path()).unwrap();
            assert_eq!(encoder.count_tokens(""), 0);
            let vectors = encoder.embed(&["", "lake", ""]).unwrap();
            assert_eq!(vectors[0], [0.0; 16], "{name} {arithmetic}");
            assert_eq!(vectors[2], vectors[0]);
            assert!((cosine(&vectors[1], &vectors[1]) - 1.0).abs() < 1e-4);
            assert_eq!(encoder.embed(&[""]).unwrap(), [[0.0; 16]]);
        }
    }
}

/// A hash is remembered until the file is another.
#[test]
fn a_store_remembers_hashes_and_notices_changes() {
    let (store, folder) = (tempfile::tempdir().unwrap(), copy("bert"));
    let open = || {
        let store = ModelStore::at(store.path());
        let opened = store.encoder_folder(folder.path(), EncoderOverrides::default());
        opened.unwrap().id().clone()
    };
    let first = open();
    assert_eq!(open(), first);
    assert!(store.path().join(".encoders-2.json").is_file());
    let weights = folder.path().join("model.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    bytes.push(0);
    fs::write(&weights, bytes).unwrap();
    assert_ne!(open(), first);
}
