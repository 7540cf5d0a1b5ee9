//! Both models as users load them, on emulated GPUs: the bits of the processor, and what happens
//! where a GPU has no room.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use futures::future::{join, join_all};

use super::emulated::Emulated;
use crate::{
    ALL_MINILM, Decoder, DecoderOptions, Devices, Embedder, LanguageModel, Limits, ModelError,
    ModelStore, Prompt, SMOLLM2,
};

fn gpus(count: usize, bytes: usize, required: bool) -> Devices {
    Devices::of(
        (0..count).map(|_| Emulated::with_bytes(bytes)).collect(),
        required,
    )
}

fn embedder(devices: Devices) -> Result<Arc<dyn Embedder>, ModelError> {
    let store = ModelStore::from_env().with_devices(devices);
    store.embedder(ALL_MINILM, &|_| {})
}

/// The texts' vectors on these devices are the processor's.
fn same_vectors(texts: &[&str], devices: Devices) {
    let expected = embedder(Devices::default()).unwrap().embed(texts).unwrap();
    let found = embedder(devices).unwrap().embed(texts).unwrap();
    assert!(found == expected);
}

/// On the machine's own GPUs: `-- --ignored` (docs/gpu.md).
#[test]
#[ignore = "needs a GPU"]
fn real_gpus_give_the_processors_bits() {
    let devices = Devices::find(crate::DeviceChoice::Cuda).unwrap();
    let texts: Vec<String> = (1..400)
        .map(|words| "lakes and 37 rivers, deep ".repeat(words % 60 + 1) + &words.to_string())
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    same_vectors(&texts, devices.clone());

    let files = ModelStore::from_env().language_model_files(SMOLLM2, &|_| {});
    let files = files.unwrap();
    let load = |devices| {
        let options = DecoderOptions {
            devices,
            ..DecoderOptions::default()
        };
        Decoder::load(&files, &options).unwrap()
    };
    let (on_cpu, on_gpus) = (load(Devices::default()), load(devices));
    let prompts: Vec<Prompt> = (0..300)
        .map(|column| Prompt {
            system: Arc::from("Answer briefly."),
            shared: Arc::from(format!("Table {} has columns. ", column / 12)),
            own: texts[column][..(column * 7 % 900).min(texts[column].len())].to_owned(),
        })
        .collect();
    let limits = Limits {
        max_tokens: 24,
        stop: vec![],
    };
    let answers = |model: &Decoder| {
        let asked = join_all(prompts.iter().map(|prompt| model.generate(prompt, &limits)));
        let answers = futures::executor::block_on(asked).into_iter();
        answers.map(Result::unwrap).collect::<Vec<_>>()
    };
    assert_eq!(answers(&on_gpus), answers(&on_cpu));
}

#[test]
fn vectors_are_the_processors_bits() {
    let long = "lake depth metres ".repeat(90);
    let texts = [
        "",
        "Which lakes are deepest?",
        "AddressID | City | PostalCode | 12 | Zug | 6300",
        "数据湖中的表格 naïve café",
        &long,
    ];
    let expected = embedder(Devices::default()).unwrap().embed(&texts).unwrap();
    let found = embedder(gpus(2, 1 << 30, true)).unwrap();
    assert!(found.batch_tokens() > crate::embedder::BATCH_TOKENS);
    assert!(found.embed(&texts).unwrap() == expected);
    // The weights take 102 MB; of what is left, one long text fits and not all together.
    let tight = embedder(gpus(1, 107 << 20, true)).unwrap();
    assert!(tight.embed(&texts).unwrap() == expected);
}

#[test]
fn a_gpu_without_room_is_left_out_unless_it_was_asked_for() {
    let error = embedder(gpus(1, 1 << 20, true)).map(|_| ()).unwrap_err();
    assert!(matches!(error, ModelError::OutOfMemory { .. }), "{error}");
    let on_cpu = embedder(gpus(1, 1 << 20, false)).unwrap();
    assert_eq!(on_cpu.batch_tokens(), crate::embedder::BATCH_TOKENS);
    assert_eq!(on_cpu.embed(&["a lake"]).unwrap().len(), 1);
}

#[tokio::test]
async fn answers_are_the_processors_on_two_gpus() {
    let files = ModelStore::from_env().language_model_files(SMOLLM2, &|_| {});
    let files = files.unwrap();
    let load = |devices| {
        let options = DecoderOptions {
            devices,
            cache_bytes: Some(64 << 20),
            ..DecoderOptions::default()
        };
        Decoder::load(&files, &options).unwrap()
    };
    let (on_cpu, on_gpus) = (load(Devices::default()), load(gpus(2, 1 << 30, true)));
    assert_eq!(on_gpus.kernels(), "cuda");
    assert_eq!(on_gpus.id(), on_cpu.id());
    let prompt = |shared: &str, own: &str| Prompt {
        system: Arc::from("Answer briefly."),
        shared: Arc::from(shared),
        own: own.to_owned(),
    };
    // Of two tables: each has a GPU of its own.
    let (city, lake) = (
        prompt("`City` | `Mayor`. ", "`City`?"),
        prompt("A lake: ", "deep?"),
    );
    let limits = Limits {
        max_tokens: 2,
        stop: vec![],
    };
    let words = ["yes", "no"];
    let expected = on_cpu.generate(&city, &limits).await.unwrap();
    let found = join(
        on_gpus.generate(&city, &limits),
        on_gpus.classify(&lake, &words),
    )
    .await;
    assert_eq!(found.0.unwrap(), expected);
    assert_eq!(
        found.1.unwrap(),
        on_cpu.classify(&lake, &words).await.unwrap()
    );
    assert_eq!(on_gpus.usage().prompts, 2);
}
