//! Language models behind an endpoint: llama.cpp's server with a small model, on this machine.

use std::sync::Arc;

use limn_models::conformance::language_model_violations;
use limn_models::{
    Decoder, DecoderOptions, EndpointKey, EndpointModel, EndpointOptions, Finish, LanguageModel,
    Limits, ModelError, ModelStore, Prompt, SMOLLM2,
};
use limn_tests::llama::{KEY, LlamaServer, WINDOW};
use limn_tests::{Run, lake, limn_command, run, text};
use tempfile::TempDir;

fn options(server: &LlamaServer) -> EndpointOptions {
    let mut options = EndpointOptions::new(&server.endpoint, "smollm2");
    options.key = Some(EndpointKey::new(KEY));
    options.window = WINDOW;
    options
}

fn prompt(own: &str) -> Prompt {
    Prompt {
        system: Arc::from("You answer in a few words."),
        shared: Arc::from(""),
        own: own.to_owned(),
    }
}

fn limits(max_tokens: usize, stop: &[&str]) -> Limits {
    Limits {
        max_tokens,
        stop: stop.iter().map(|&stop| stop.to_owned()).collect(),
    }
}

/// `limn models check` at the endpoint, everything logged that can be.
fn check(server: &LlamaServer, key: Option<&str>, more: &[&str]) -> Run {
    let arguments = [&["models", "check", "--model", "endpoint"], more].concat();
    let mut command = limn_command(&arguments);
    command
        .env(
            "LIMN_ENDPOINT",
            format!("{}?secret=s3cret", server.endpoint),
        )
        .env("LIMN_ENDPOINT_MODEL", "smollm2")
        .env("LIMN_LOG", "trace")
        .env_remove("OPENAI_API_KEY")
        .env_remove("LIMN_ENDPOINT_KEY");
    if let Some(key) = key {
        command.env("LIMN_ENDPOINT_KEY", key);
    }
    run(&mut command)
}

/// One server for all of these: loading the model takes longer than most of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_language_model_behind_a_real_server() {
    let server = LlamaServer::start();
    let model = EndpointModel::new(&options(&server)).unwrap();
    it_writes_and_chooses(&model).await;
    the_embedded_engine_agrees_with_it(&model).await;
    a_prompt_beyond_its_window_is_reported_as_such(&server).await;
    let mut violations = language_model_violations(&model).await;
    // This server's own sums depend on what else is in its batch, and a near tie falls either way.
    violations.retain(|violation| !violation.ends_with("in a crowd"));
    assert_eq!(violations, Vec::<String>::new());
    the_command_checks_it_and_reveals_no_secret(&server);
}

/// The same weights on limn's own engine: the same tokens, format and, nearly, probabilities.
async fn the_embedded_engine_agrees_with_it(server: &EndpointModel) {
    let files = ModelStore::from_env().language_model_files(SMOLLM2, &|_| {});
    let embedded = Decoder::load(&files.unwrap(), &DecoderOptions::default()).unwrap();
    for own in [
        "What is the capital of France?",
        "A table has the columns: `AddressID` | `StateProvinceID` | `rowguid2`. What is `AddressID`?",
        "In 2024, 1234567 people paid $3.50 (0.1 %) each -- didn't they?",
        "Größe, naïve façade; 数据湖中的表格 🦆 Łukasz",
        "def f(x):\n    return x  # two  spaces\n\n\nend",
        "UPPER lower CamelCase snake_case kebab-case a.b/c\\d",
    ] {
        let theirs = server
            .generate(&prompt(own), &limits(8, &[]))
            .await
            .unwrap();
        let ours = embedded
            .generate(&prompt(own), &limits(8, &[]))
            .await
            .unwrap();
        assert_eq!(ours.prompt_tokens, theirs.prompt_tokens, "{own}");
        let theirs = server.classify(&prompt(own), &["the", "it"]).await.unwrap();
        let ours = embedded
            .classify(&prompt(own), &["the", "it"])
            .await
            .unwrap();
        let (ours, theirs) = (
            ours.log_probabilities.unwrap(),
            theirs.log_probabilities.unwrap(),
        );
        // What is not among the server's likeliest tokens has a floor there.
        for (ours, theirs) in ours
            .iter()
            .zip(&theirs)
            .filter(|(_, theirs)| **theirs > -3.0)
        {
            assert!((ours - theirs).abs() < 0.5, "{own}: {ours} and {theirs}");
        }
    }
}

async fn it_writes_and_chooses(model: &EndpointModel) {
    let question = prompt("What is the capital of France?");
    let answer = model.generate(&question, &limits(12, &[])).await.unwrap();
    assert!(answer.text.contains("Paris"), "{answer:?}");
    assert!((20..60).contains(&answer.prompt_tokens), "{answer:?}");
    let stopped = model
        .generate(&question, &limits(12, &["Paris"]))
        .await
        .unwrap();
    assert_eq!(stopped.finish, Finish::Stopped);
    assert!(answer.text.starts_with(&stopped.text) && !stopped.text.contains("Paris"));
    let chosen = model.classify(&question, &["paris", "the"]).await.unwrap();
    // This server gives probabilities; a change of that is to be noticed here.
    let logs = chosen.log_probabilities.unwrap();
    assert!(
        logs[chosen.choice] >= logs[1 - chosen.choice] && logs[chosen.choice] > -1.0,
        "{logs:?}"
    );
    let usage = model.usage();
    assert_eq!((usage.prompts, usage.retries, usage.cost), (3, 0, None));
    assert!(usage.prompt_tokens >= 60 && usage.generated_tokens >= 3);
}

/// The server's own window counts where the settings promise more.
async fn a_prompt_beyond_its_window_is_reported_as_such(server: &LlamaServer) {
    let mut options = options(server);
    options.window = 100_000;
    let model = EndpointModel::new(&options).unwrap();
    let long = prompt(&"tables ".repeat(3000));
    let error = model.generate(&long, &limits(2, &[])).await.unwrap_err();
    assert!(
        matches!(
            error,
            ModelError::TooLong {
                tokens: 3000..,
                window: WINDOW,
                ..
            }
        ),
        "{error}"
    );
}

fn the_command_checks_it_and_reveals_no_secret(server: &LlamaServer) {
    let checked = check(server, Some(KEY), &["--json", "--endpoint-prices", "1,2"]);
    let got = checked.ok();
    let id = got["model"].as_str().unwrap();
    assert!(
        id.starts_with("endpoint:smollm2@127.0.0.1:") && id.ends_with("/v1"),
        "{id}"
    );
    assert!(got["cost"].as_f64().unwrap() > 0.0, "{got}");
    let shown = check(server, Some(KEY), &[]);
    assert!(
        shown.code == 0 && shown.stdout.contains("answers"),
        "{shown:?}"
    );
    let wrong = check(server, Some("limn-test-s3cret-wrong"), &[]);
    let none = check(server, None, &[]);
    for refused in [&wrong, &none] {
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
        assert!(refused.stderr.contains("LIMN_ENDPOINT_KEY"), "{refused:?}");
    }
    for run in [checked, shown, wrong, none] {
        assert!(!format!("{run:?}").contains("s3cret"), "{run:?}");
        assert!(
            run.stderr.contains("TRACE"),
            "everything was logged: {run:?}"
        );
    }
}

/// An index is searched with the endpoint it was made with, and with no other.
#[test]
fn an_index_of_an_endpoints_vectors_can_be_searched() {
    let server = LlamaServer::start_embedder();
    let scratch = TempDir::new().unwrap();
    let lake = scratch.path().join("lake");
    lake::write(&lake, "fish.csv", "species,depth\nperch,3\npike,4\n");
    lake::write(&lake, "moons.csv", "planet,moons\nMars,2\nJupiter,95\n");
    let index = scratch.path().join("index");
    let place = ["--index", text(&index), "--json"];
    let limn = |arguments: &[&str], more: &[(&str, &str)]| {
        let mut command = limn_command(&[arguments, &place].concat());
        command
            .env("LIMN_EMBED_ENDPOINT", &server.endpoint)
            .env("LIMN_EMBED_MODEL", "smollm2")
            .env("LIMN_ENDPOINT_KEY", KEY)
            .envs(more.iter().copied());
        run(&mut command)
    };
    let indexed = ["index", text(&lake), "--embedder", "endpoint"];
    assert_eq!(limn(&indexed, &[]).ok()["tables"]["added"], 2);
    let search = ["search", "which species of fish?"];
    let answer = limn(&search, &[]).ok();
    assert_eq!(answer["results"][0]["table"], "fish", "{answer}");
    for (more, part) in [
        (("LIMN_EMBED_MODEL", "another"), "set them as they were"),
        (("LIMN_EMBED_WINDOW", "64"), "set them as they were"),
        (("LIMN_EMBED_WINDOW", "many"), "LIMN_EMBED_WINDOW"),
        (("LIMN_EMBED_MODEL", ""), "set LIMN_EMBED_MODEL"),
        (
            ("LIMN_ENDPOINT_KEY", "limn-test-s3cret-wrong"),
            "LIMN_ENDPOINT_KEY",
        ),
    ] {
        let refused = limn(&search, &[more]);
        assert_eq!(
            (refused.code, refused.stderr.lines().count()),
            (2, 1),
            "{refused:?}"
        );
        assert!(refused.stderr.contains(part), "{part}: {refused:?}");
        assert!(!refused.stderr.contains("s3cret"), "{refused:?}");
    }
}

#[test]
fn what_is_missing_is_named() {
    let error_of = |more: &[&str]| {
        let arguments = [&["models", "check", "--model", "endpoint"], more].concat();
        let mut command = limn_command(&arguments);
        command
            .env_remove("LIMN_ENDPOINT")
            .env_remove("LIMN_ENDPOINT_MODEL");
        let got = run(&mut command);
        assert_eq!((got.code, got.stderr.lines().count()), (2, 1), "{got:?}");
        got.stderr
    };
    assert!(error_of(&[]).contains("--endpoint URL"));
    let url = ["--endpoint", "http://127.0.0.1:1/v1"];
    assert!(error_of(&url).contains("--endpoint-model NAME"));
    let odd = ["--endpoint", "127.0.0.1:1", "--endpoint-model", "m"];
    assert!(error_of(&odd).contains("http://localhost:8000/v1"));
    let nobody = [
        &url[..],
        &["--endpoint-model", "m", "--endpoint-attempts", "1"],
    ]
    .concat();
    assert!(error_of(&nobody).contains("http://127.0.0.1:1/v1"));
}
