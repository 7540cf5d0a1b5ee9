//! How a round begins: its terms, on which all processes agree, and what each opens for them.

use std::sync::Arc;

use limn_segment::{Snapshot, nonce};

use super::state::Round;
use crate::cluster::Cluster;
use crate::cluster::terms::Terms;
use crate::error::PipelineError;
use crate::filtering::remembered;
use crate::narrate::successor::try_out_successor;
use crate::open::{Opened, Opening, root_entries};
use crate::options::{Narrate, NarrateWith, shards};
use crate::plan::Planner;
use crate::settings::IndexSettings;
use crate::share::Assignment;

/// The planner of a process's share.
fn planner(opening: &Opening, terms: &Terms, opened: &Opened) -> Arc<Planner> {
    Arc::new(Planner::new(
        &terms.lake,
        Arc::clone(&opened.stages.reader),
        Arc::clone(&opening.known.published),
        (terms.settings.fingerprint(), terms.settings.redact),
        opened.is_uniform,
        &opening.options,
        &opening.share(terms),
    ))
}

/// The terms that the leader decides. `narrates` says whether it has a language model for this
/// lake.
async fn terms(
    opening: &Opening,
    snapshot: Option<&Snapshot>,
    settings: IndexSettings,
    narrates: bool,
) -> Result<Terms, PipelineError> {
    let (lake, options) = (opening.lake.url(), &opening.options);
    let cluster = options.cluster.as_ref();
    let filters = match &options.filters {
        Some(filters) => filters.clone(),
        None => remembered(snapshot, lake)?,
    };
    let index = &opening.index.store;
    let mut mark = None;
    if cluster.is_some() && index.local_root().is_some() {
        let path = format!("cache/probe/cluster-{}", nonce());
        index.put(&path, Default::default()).await?;
        mark = Some(path);
    }
    let assignment = match (cluster, options.scope.is_partial()) {
        (Some(cluster), false) => Assignment::of(&opening.lake, cluster.place().1).await,
        _ => Assignment::default(),
    };
    let root_entries = match cluster.is_some() {
        true => root_entries(&opening.lake).await,
        false => Vec::new(),
    };
    Ok(Terms {
        mark,
        root_entries,
        assignment,
        lake: lake.to_owned(),
        index: index.url().to_owned(),
        snapshot: snapshot.map(|snapshot| snapshot.number),
        filters,
        narrate: Terms::narrate(options),
        contexts: Terms::contexts(options),
        narrates,
        shards: shards(options, snapshot)?,
        resample_threshold: options.resample_threshold,
        workers: options.workers.max(1),
        settings,
    })
}

impl Round {
    /// Decides the round's terms, agrees on them with the other processes, and reads what the index
    /// has of this lake.
    ///
    /// # Errors
    /// Those of [`index_lake`](crate::index_lake).
    pub async fn open(mut opening: Opening) -> Result<Self, PipelineError> {
        let cluster = opening.options.cluster.clone();
        let lake = opening.lake.url().to_owned();
        let snapshot = opening.index.prepare().await?;
        let options = &mut opening.options;
        let stop = options.stop.clone();
        let successor =
            stop.run_until_cancelled(try_out_successor(options, snapshot.as_ref(), &lake));
        let (successor, mut notes) = successor.await.ok_or(PipelineError::Stopped)??;
        let before = snapshot
            .as_ref()
            .map(|snapshot| IndexSettings::intended(snapshot, &lake));
        let before = before.transpose()?.flatten();
        let settings = IndexSettings::of_run(options, opening.embedder.as_ref(), before.as_ref());
        if options.narrate == Narrate::Llm && options.narrator.is_none() {
            return Err(PipelineError::Settings(
                "a run that narrates with a language model was given none; --narrate names goes without".into(),
            ));
        }
        if let (Some(before), None) = (before.and_then(|it| it.narrator), &settings.narrator) {
            notes.push(format!(
                "the tables are not described by {} any more; its words are kept, and --narrate llm with that model brings them back without asking again",
                before.model
            ));
        }
        let with = options.narrator.clone();
        let with = with.filter(|with| settings.narrator == Some(with.narrator()));
        if let Some(snapshot) = &snapshot {
            settings.check_against(snapshot)?;
        }
        let terms = terms(&opening, snapshot.as_ref(), settings, with.is_some()).await?;
        if let Some(cluster) = &cluster {
            cluster.announce(&terms);
        }
        let opened = opening
            .open(&terms, snapshot, with.map(|with| (with, successor)))
            .await?;
        notes.extend(opened.notes.iter().cloned());
        let planner = planner(&opening, &terms, &opened);
        if let Some(cluster) = &cluster {
            cluster.agreed().await;
        }
        if let Some(mark) = &terms.mark {
            opening.index.store.delete(mark).await?;
        }
        Ok(Self {
            opening,
            opened,
            terms,
            planner,
            cluster,
            notes,
        })
    }

    /// A follower: agrees on the leader's terms, and reads what the index has of its share.
    ///
    /// # Errors
    /// Other options than the leader's; the index cannot be read.
    pub async fn join(opening: Opening, cluster: &Arc<Cluster>) -> Result<Self, PipelineError> {
        let terms = cluster.terms().await;
        opening.check(&terms).await?;
        let snapshot = match terms.snapshot {
            Some(number) => Some(opening.index.snapshot(number).await?),
            None => None,
        };
        let with = opening.options.narrator.clone();
        let is_asked = |with: &NarrateWith| terms.settings.narrator == Some(with.narrator());
        let with = with.filter(|with| terms.narrates && is_asked(with));
        let with = with.map(|with| (with, None));
        let opened = opening.open(&terms, snapshot, with).await?;
        let planner = planner(&opening, &terms, &opened);
        cluster.agree();
        Ok(Self {
            opening,
            opened,
            terms,
            planner,
            cluster: Some(Arc::clone(cluster)),
            notes: Vec::new(),
        })
    }
}
