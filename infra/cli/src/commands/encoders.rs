//! Which embedder a name or an index means: one of limn's own, an endpoint, or an encoder of a
//! person's folder.
//!
//! An index says by its id which encoder made it, and only as a hint where its folder was. A folder
//! that holds another encoder is never used: its vectors could not be compared.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use limn_models::{
    Devices, Embedder, EncoderFolder, EncoderOverrides, ModelError, ModelKind, ModelStore,
};
use limn_pipeline::encoder_of;
use limn_segment::Snapshot;

use crate::args::EncoderPlace;
use crate::commands::endpoint_embedder;
use crate::progress::{model_progress, say};
use crate::text::one_line;

/// Names the embedder of `limn index`, and so the folder of an encoder for those that ask.
const VARIABLE: &str = "LIMN_EMBEDDER";

/// The embedder by name, fetched at first use, on these devices; of an encoder's folder perhaps
/// only the first `dimensions` of its vectors.
pub async fn embedder(
    name: &str,
    dimensions: Option<usize>,
    devices: Devices,
) -> anyhow::Result<Arc<dyn Embedder>> {
    let folder = folder_of(name);
    if dimensions.is_some() && folder.is_none() {
        bail!(
            "--embedder-dimensions is for an encoder's folder, and embedder '{name}' has a number of its own: leave it out, or name a folder"
        );
    }
    if name == endpoint_embedder::ENDPOINT {
        return endpoint_embedder::connect().await;
    }
    if let Some(folder) = folder {
        let opened = open(folder, dimensions).await?;
        return load(opened, devices).await;
    }
    let name = name.to_owned();
    tokio::task::spawn_blocking(move || {
        let progress = model_progress();
        let store = ModelStore::from_env().with_devices(devices);
        let embedder = store.embedder(&name, &|event| progress.on(&event));
        progress.finish();
        embedder
    })
    .await
    .context("the model loader died")?
    .map_err(|error| match error {
        ModelError::UnknownModel { name, known } => anyhow::anyhow!(
            "unknown embedder {name}: use one of {known}, endpoint, or the path of an encoder's folder, such as ./{name}"
        ),
        other => other.into(),
    })
}

/// The embedder that an index was made with. `place` says where the folder of an encoder is now.
pub async fn embedder_of(
    snapshot: &Snapshot,
    place: &EncoderPlace,
) -> anyhow::Result<Arc<dyn Embedder>> {
    let id = &snapshot.embedder;
    if let Some(given) = &place.embedder {
        check_is_of(id, &given.display().to_string())?;
    }
    if EncoderFolder::made(id) {
        let opened = find(snapshot, place).await?;
        // One question is embedded sooner than a GPU is ready.
        return load(opened, Devices::default()).await;
    }
    if endpoint_embedder::made(id) {
        return endpoint_embedder::connect_to(id).await;
    }
    embedder(&known_name(id)?, None, Devices::default()).await
}

/// Whether `--embedder` may name this where an index was made with the embedder of `id`. Which
/// encoder lies in a folder is seen when it is opened.
fn check_is_of(id: &str, given: &str) -> anyhow::Result<()> {
    let folder = folder_of(given);
    let is_own = if EncoderFolder::made(id) {
        folder.is_some() || !is_known(given)
    } else if endpoint_embedder::made(id) {
        given == endpoint_embedder::ENDPOINT
    } else {
        known_name(id).is_ok_and(|name| name == given)
    };
    if !is_own {
        let by = match folder {
            Some(_) => "by the encoder of",
            None => "with",
        };
        bail!(
            "the index was made with embedder '{id}', not {by} {given}: leave --embedder out, or index the lake again with `limn index --embedder {given} --index` another"
        );
    }
    Ok(())
}

/// What `--embedder` calls the embedder of a snapshot. The folder of an encoder is one that holds
/// it.
pub async fn embedder_name(snapshot: &Snapshot, place: &EncoderPlace) -> anyhow::Result<String> {
    let id = &snapshot.embedder;
    if endpoint_embedder::made(id) {
        return Ok(endpoint_embedder::ENDPOINT.to_owned());
    }
    if EncoderFolder::made(id) {
        return Ok(find(snapshot, place).await?.record().folder.clone());
    }
    known_name(id)
}

/// The name of limn's own embedder that has this id.
fn known_name(id: &str) -> anyhow::Result<String> {
    let Some(card) = ModelStore::card_of_id(id) else {
        let ids: Vec<String> = ModelStore::cards()
            .iter()
            .filter(|card| card.kind == ModelKind::Embedder)
            .map(|card| card.id().to_string())
            .collect();
        bail!(
            "the index was made with embedder '{id}', and this limn has {}; index the lake again with this limn",
            ids.join(", ")
        );
    };
    Ok(card.name.to_owned())
}

/// The folder that `--embedder` of a run names. A variable's is no such: it is tried beside the one
/// that the index has recorded.
pub fn given_place(embedder: &str) -> EncoderPlace {
    let is_variable = std::env::var(VARIABLE).is_ok_and(|it| it == embedder);
    let given = folder_of(embedder).filter(|_| !is_variable);
    EncoderPlace {
        embedder: given.map(Path::to_owned),
    }
}

/// Whether it is a name of limn's own.
fn is_known(name: &str) -> bool {
    name == endpoint_embedder::ENDPOINT || ModelStore::card(name).is_ok()
}

/// The folder that a name means: one that is no model's name and is a path or is there.
pub fn folder_of(name: &str) -> Option<&Path> {
    let path = Path::new(name);
    let is_known = is_known(name);
    let is_path = path.components().count() > 1 || name.starts_with('.') || path.is_dir();
    (!is_known && !name.contains("://") && is_path).then_some(path)
}

/// Where the folder of an index's encoder may be: as is said now, or else as it was recorded.
fn candidates(snapshot: &Snapshot, place: &EncoderPlace) -> Vec<PathBuf> {
    if let Some(folder) = &place.embedder {
        return vec![folder.clone()];
    }
    let named = std::env::var(VARIABLE).ok();
    let named = named.as_deref().and_then(folder_of).map(Path::to_owned);
    let recorded = encoder_of(snapshot).map(|record| PathBuf::from(record.folder));
    named.into_iter().chain(recorded).collect()
}

/// The folder that holds the encoder of an index.
async fn find(snapshot: &Snapshot, place: &EncoderPlace) -> anyhow::Result<EncoderFolder> {
    let id = &snapshot.embedder;
    let mut failures = Vec::new();
    for folder in candidates(snapshot, place) {
        match open(&folder, Some(snapshot.dimensions)).await {
            Ok(opened) if opened.id().as_str() == id => return Ok(opened),
            other => failures.push(held(&folder, other, snapshot.dimensions).await),
        }
    }
    if failures.is_empty() {
        bail!("{}", nowhere(id));
    }
    bail!(
        "the index was made with encoder '{id}', which is not found: {}; name the folder that made it with --embedder FOLDER, or index the lake again with `limn index --embedder FOLDER --index` another",
        one_line(&failures.join("; "))
    )
}

/// What a folder holds instead of the encoder of an index whose vectors have so many numbers, as it
/// was `opened` for that many.
async fn held(folder: &Path, opened: anyhow::Result<EncoderFolder>, dimensions: usize) -> String {
    // Cut to the index's numbers it would seem to have as many.
    if let Ok(own) = open(folder, None).await
        && own.record().dimensions != dimensions
    {
        return format!(
            "{} holds '{}', whose vectors have {} dimensions, and the index has {dimensions}",
            folder.display(),
            own.id(),
            own.record().dimensions
        );
    }
    match opened {
        Ok(opened) => format!("{} holds '{}'", folder.display(), opened.id()),
        Err(error) => format!("{error:#}"),
    }
}

fn nowhere(id: &str) -> String {
    format!(
        "the index was made with encoder '{id}' and does not say in which folder: name it with --embedder FOLDER"
    )
}

async fn open(folder: &Path, dimensions: Option<usize>) -> anyhow::Result<EncoderFolder> {
    let folder = folder.to_owned();
    let overrides = EncoderOverrides { dimensions };
    let opening = move || ModelStore::from_env().encoder_folder(&folder, overrides);
    let opened = tokio::task::spawn_blocking(opening).await;
    Ok(opened.context("the encoder's loader died")??)
}

async fn load(opened: EncoderFolder, devices: Devices) -> anyhow::Result<Arc<dyn Embedder>> {
    let has_gpus = !devices.gpu_names().is_empty();
    let id = opened.id().clone();
    let loading = move || ModelStore::from_env().with_devices(devices).load(opened);
    let loaded = tokio::task::spawn_blocking(loading).await;
    let encoder = loaded.context("the encoder's loader died")??;
    if has_gpus && !encoder.is_on_gpu() {
        say(&format!(
            "encoder {id} is computed by the processor: limn's GPU kernels compute encoders of the default's sizes only (docs/gpu.md)"
        ));
    }
    Ok(Arc::new(encoder))
}
