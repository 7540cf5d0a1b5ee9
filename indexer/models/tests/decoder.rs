//! The embedded language model on real weights: SmolLM2-135M, fetched at first use.

use std::sync::{Arc, OnceLock};

use futures::future::join_all;
use limn_models::{
    Decoder, DecoderOptions, LanguageModel, LanguageModelFiles, Limits, ModelStore, Prompt,
    SMOLLM2, conformance,
};

fn files() -> LanguageModelFiles {
    ModelStore::from_env()
        .language_model_files(SMOLLM2, &|_| {})
        .expect("the test model can be fetched")
}

fn model() -> &'static Decoder {
    static MODEL: OnceLock<Decoder> = OnceLock::new();
    MODEL.get_or_init(|| Decoder::load(&files(), &DecoderOptions::default()).unwrap())
}

fn prompt(own: &str) -> Prompt {
    Prompt {
        system: Arc::from("You describe columns of tables briefly."),
        shared: Arc::from("A table has the columns: `AddressID` | `City` | `PostalCode`. "),
        own: own.to_owned(),
    }
}

#[tokio::test]
async fn it_keeps_what_every_language_model_must() {
    let broken = conformance::language_model_violations(model()).await;
    assert!(broken.is_empty(), "{broken:#?}");
}

#[tokio::test]
async fn it_knows_the_capital_of_france() {
    let limits = Limits {
        max_tokens: 16,
        stop: vec![],
    };
    let question = Prompt {
        system: Arc::from("You are a helpful assistant."),
        shared: Arc::from(""),
        own: "What is the capital of France?".into(),
    };
    let answer = model().generate(&question, &limits).await.unwrap();
    assert!(answer.text.contains("Paris"), "{answer:?}");
    assert_eq!(answer.prompt_tokens, model().count_prompt(&question));
}

#[tokio::test]
async fn what_columns_share_is_computed_once() {
    let limits = Limits {
        max_tokens: 8,
        stop: vec!["\n".into()],
    };
    let model = Decoder::load(
        &files(),
        &DecoderOptions {
            threads: 2,
            ..DecoderOptions::default()
        },
    )
    .unwrap();
    let prompts: Vec<Prompt> = (0..20)
        .map(|i| prompt(&format!("What does column {i} hold?")))
        .collect();
    join_all(prompts.iter().map(|prompt| model.generate(prompt, &limits))).await;
    let usage = model.usage();
    assert_eq!(usage.prompts, 20);
    let shared = (usage.prompt_tokens - usage.computed_prompt_tokens) / 19;
    assert!(
        shared > 20 && usage.computed_prompt_tokens < usage.prompt_tokens / 2,
        "{usage:?}"
    );
}
