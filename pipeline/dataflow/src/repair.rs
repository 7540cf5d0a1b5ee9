//! What a run does about a damaged catalog: it goes on from a snapshot without the damaged files,
//! and their tables are new to it (`limn_segment`'s `repair_catalog`).
//!
//! Each process of a cluster reads the whole catalog, so each meets the damage; one of them
//! publishes the repaired snapshot, and the others go on from it, too.

use std::collections::HashSet;

use limn_segment::{IndexStore, Problem, Repaired, Snapshot};

use crate::cluster::terms::Terms;
use crate::error::PipelineError;
use crate::published::Published;
use crate::published_vectors::PublishedVectors;
use crate::rebase::refusal;
use crate::settings::IndexSettings;
use crate::share::Share;

/// Goes on to `snapshot`; if its catalog is damaged and the run `repairs`, to one without the damaged
/// files. Gives what is to be said of that.
///
/// A run over a part of the lake does not repair: it would not find all that was lost.
///
/// # Errors
/// Those of [`Published::advance`] and of [`IndexStore::repair_catalog`]; another run has published
/// meanwhile, with other settings.
pub async fn advance(
    index: &IndexStore,
    (published, vectors): (&Published, &PublishedVectors),
    terms: &Terms,
    share: &Share,
    snapshot: Option<Snapshot>,
    repairs: bool,
) -> Result<Vec<String>, PipelineError> {
    let go_on = async |snapshot| {
        published.restrict_to(share);
        let (lake, settings) = (&terms.lake, &terms.settings);
        let advanced = published.advance(index, snapshot, lake, settings, terms.narrates);
        advanced.await
    };
    vectors.advance(snapshot.clone()).await;
    let advanced = go_on(snapshot.clone()).await;
    let is_damaged = matches!(&advanced, Err(PipelineError::Segment(error))
        if repairs && Problem::of_catalog(error).is_some());
    if !is_damaged {
        return advanced.map(|()| Vec::new());
    }
    let mut repaired = index.repair_catalog().await?;
    let was_faster = repaired.left_out.is_empty();
    let before = snapshot.as_ref();
    let before = before.filter(|it| repaired.snapshot.parent.as_ref() == Some(&it.writer));
    if let Some(before) = before.filter(|_| was_faster) {
        // Another process has left them out.
        let damaged = index.damaged_catalog_files(before).await?;
        repaired.left_out = damaged.into_iter().map(|(_, problem)| problem).collect();
    }
    let (newest, settings) = (&repaired.snapshot, (&terms.settings, &terms.filters));
    let refused = refusal(
        snapshot.as_ref(),
        newest,
        &terms.lake,
        settings,
        terms.shards,
    );
    if let Some(reason) = refused {
        return Err(PipelineError::Overtaken { reason });
    }
    go_on(Some(newest.clone())).await?;
    let all = with_vectors(newest, snapshot.as_ref());
    vectors.advance(Some(all)).await;
    Ok(notes(&repaired, &terms.lake, was_faster))
}

/// The repaired snapshot with the segments that it left out of the one before: no text of theirs is
/// embedded again.
fn with_vectors(repaired: &Snapshot, before: Option<&Snapshot>) -> Snapshot {
    let mut all = repaired.clone();
    let before = before.filter(|before| repaired.parent.as_ref() == Some(&before.writer));
    let named: HashSet<&str> = repaired
        .segments
        .iter()
        .map(|it| it.path.as_str())
        .collect();
    let left_out = before.into_iter().flat_map(|it| &it.segments);
    let left_out = left_out.filter(|it| !named.contains(it.path.as_str()));
    all.segments.extend(left_out.cloned());
    all
}

/// A line for each damaged file, and one for what other lakes have lost: who found that another
/// process `was_faster` does not know what that is.
fn notes(repaired: &Repaired, lake: &str, was_faster: bool) -> Vec<String> {
    let number = repaired.snapshot.number;
    let files = repaired.left_out.iter().map(|Problem { object, error }| {
        format!(
            "{object} is damaged: {error}; snapshot {number} goes on without this file of the catalog, and its tables are read again (texts that limn context add registered for them may be lost)"
        )
    });
    let mut notes: Vec<String> = files.collect();
    let elsewhere = repaired.lost.iter().find(|table| table.lake != lake);
    let may_be_elsewhere = was_faster && IndexSettings::has_others(&repaired.snapshot, lake);
    let such_as = match elsewhere {
        Some(table) => format!(" (such as {} of {})", table.name, table.lake),
        None if may_be_elsewhere && !notes.is_empty() => String::new(),
        None => return notes,
    };
    notes.push(format!(
        "tables of other lakes that were in it{such_as} come back when limn index is run over these lakes"
    ));
    notes
}
