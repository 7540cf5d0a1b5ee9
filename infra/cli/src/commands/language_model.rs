//! The language model that narrates or judges: an embedded one by name, or an endpoint.

use std::sync::{Arc, Once};
use std::time::Duration;

use anyhow::{Context, bail};
use limn_models::{
    Classified, Decoder, DecoderOptions, Devices, EndpointKey, EndpointModel, EndpointOptions,
    LanguageModel, LanguageModelFiles, ModelError, ModelId, ModelStore, Prompt,
};

use crate::args::{DeviceArg, ModelOptions};
use crate::progress::{Waiting, model_progress, say};
use crate::text::one_line;

/// Opens the model that the options name, fetched at first use; says so if loading takes a while.
pub async fn open(options: &ModelOptions) -> anyhow::Result<Arc<dyn LanguageModel>> {
    if let Some(missing) = options.half_an_endpoint() {
        bail!(missing);
    }
    if options.is_endpoint() {
        return connect(options);
    }
    let files = files(options).await?;
    let waiting = Waiting::start(format!("loading {}", one_line(options.name())));
    let loaded = load_files(options, files).await;
    waiting.finish();
    loaded
}

/// As [`open`], without a word: where bars are drawn already.
pub async fn load(options: &ModelOptions) -> anyhow::Result<Arc<dyn LanguageModel>> {
    if options.is_endpoint() {
        return connect(options);
    }
    load_files(options, files(options).await?).await
}

fn connect(options: &ModelOptions) -> anyhow::Result<Arc<dyn LanguageModel>> {
    Ok(Arc::new(EndpointModel::new(&endpoint(options)?)?))
}

async fn load_files(
    options: &ModelOptions,
    files: LanguageModelFiles,
) -> anyhow::Result<Arc<dyn LanguageModel>> {
    let mut decoder = DecoderOptions::default();
    decoder.threads = options.model_threads.unwrap_or(decoder.threads);
    decoder.sequences = options.model_batch.or(decoder.sequences);
    decoder.devices = devices(options.device).await?;
    let loaded = tokio::task::spawn_blocking(move || Decoder::load(&files, &decoder));
    Ok(Arc::new(loaded.await.context("the model loader died")??))
}

/// What [`try_out`] asks, and what a model may answer.
pub const TRIAL: &str = "Is water wet?";
pub const TRIAL_WORDS: [&str; 2] = ["yes", "no"];

/// A question that every model can answer, in the way in which a judge asks: is it there?
///
/// # Errors
/// It does not answer. [`ModelError::NoChoice`] is an answer, to another question.
pub async fn try_out(model: &dyn LanguageModel) -> Result<Classified, ModelError> {
    let prompt = Prompt {
        system: Arc::from("Answer with yes or no."),
        shared: Arc::from(""),
        own: TRIAL.to_owned(),
    };
    model.classify(&prompt, &TRIAL_WORDS).await
}

/// Fails where a model does not answer at all, before much is asked of it.
pub async fn check_answers(model: &dyn LanguageModel) -> anyhow::Result<()> {
    match try_out(model).await {
        Ok(_) | Err(ModelError::NoChoice { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The files of an embedded model, fetched now if they are not here.
pub async fn files(options: &ModelOptions) -> anyhow::Result<LanguageModelFiles> {
    let name = options.name().to_owned();
    let fetched = tokio::task::spawn_blocking(move || {
        let progress = model_progress();
        let files =
            ModelStore::from_env().language_model_files(&name, &|event| progress.on(&event));
        progress.finish();
        files
    });
    Ok(fetched.await.context("the model loader died")??)
}

/// The devices that are asked for; says once on standard error where a GPU was looked for in vain.
pub async fn devices(device: DeviceArg) -> anyhow::Result<Devices> {
    static SAID: Once = Once::new();
    let found = tokio::task::spawn_blocking(move || Devices::find(device.into()));
    let devices = found.await.context("the search for GPUs died")??;
    if let Some(notice) = devices.notice() {
        SAID.call_once(|| say(&one_line(notice)));
    }
    Ok(devices)
}

/// The id of the model that the options name, without loading or fetching it; `None` where it would
/// have to be fetched.
pub async fn id_if_here(options: &ModelOptions) -> anyhow::Result<Option<ModelId>> {
    if options.is_endpoint() {
        let model = EndpointModel::new(&endpoint(options)?)?;
        return Ok(Some(model.id().clone()));
    }
    let name = options.name().to_owned();
    let found = tokio::task::spawn_blocking(move || {
        let store = ModelStore::from_env();
        if let Ok(card) = ModelStore::card(&name) {
            return Ok(store.is_ready(card.name)?.then(|| card.id()));
        }
        // A user's own files: there is nothing to fetch.
        let files = store.language_model_files(&name, &|_| {})?;
        Ok::<_, ModelError>(Some(files.id().clone()))
    });
    Ok(found.await.context("the model finder died")??)
}

/// The endpoint that flags and environment describe; its key comes from the environment alone.
fn endpoint(options: &ModelOptions) -> anyhow::Result<EndpointOptions> {
    let url = options.endpoint.as_deref().filter(|url| !url.is_empty());
    let url = url.context(
        "--model endpoint needs an address: give --endpoint URL or set LIMN_ENDPOINT, such as http://localhost:8000/v1",
    )?;
    let model = options.endpoint_model.as_deref();
    let model = model.filter(|model| !model.is_empty()).context(
        "--model endpoint needs the model's name there: give --endpoint-model NAME or set LIMN_ENDPOINT_MODEL",
    )?;
    let settings = &options.endpoint_settings;
    Ok(EndpointOptions {
        key: EndpointKey::from_env(),
        window: settings.endpoint_window,
        concurrency: settings.endpoint_concurrency,
        attempts: settings.endpoint_attempts,
        timeout: Duration::from_secs(settings.endpoint_timeout),
        prices: settings.endpoint_prices,
        ..EndpointOptions::new(url, model)
    })
}
