//! What a run does about a damaged catalog: it goes on from a snapshot without the damaged files,
//! and their tables are new to it (`limn_segment`'s `mend_catalog`).
//!
//! Each process of a cluster reads the whole catalog, so each meets the damage; one of them
//! publishes the mended snapshot, and the others go on from it, too.

use std::collections::HashSet;

use limn_segment::{IndexStore, Mended, Problem, Snapshot};

use crate::cluster::terms::Terms;
use crate::error::PipelineError;
use crate::published::Published;
use crate::published_vectors::PublishedVectors;
use crate::rebase::refusal;
use crate::share::Share;

/// Goes on to `snapshot`; if its catalog is damaged and the run `mends`, to one without the damaged
/// files. Gives what is to be said of that.
///
/// A run over a part of the lake does not mend: it would not find all that was lost.
///
/// # Errors
/// Those of [`Published::advance`] and of [`IndexStore::mend_catalog`]; another run has published
/// meanwhile, with other settings.
pub async fn advance(
    index: &IndexStore,
    (published, vectors): (&Published, &PublishedVectors),
    terms: &Terms,
    share: &Share,
    snapshot: Option<Snapshot>,
    mends: bool,
) -> Result<Vec<String>, PipelineError> {
    let go_on = async |snapshot| {
        published.restrict_to(share);
        let (lake, settings) = (&terms.lake, &terms.settings);
        let advanced = published.advance(index, snapshot, lake, settings, terms.narrates);
        advanced.await
    };
    vectors.advance(snapshot.clone()).await;
    let advanced = go_on(snapshot.clone()).await;
    let damage = match &advanced {
        Err(PipelineError::Segment(error)) if mends => Problem::of_catalog(error),
        _ => None,
    };
    let Some(damage) = damage else {
        return advanced.map(|()| Vec::new());
    };
    let mut mended = index.mend_catalog().await?;
    if mended.left_out.is_empty() {
        // Another process was faster.
        mended.left_out.push(damage);
    }
    let (newest, settings) = (&mended.snapshot, (&terms.settings, &terms.filters));
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
    Ok(notes(&mended, &terms.lake))
}

/// The mended snapshot with the segments that it left out of the one before: no text of theirs is
/// embedded again.
fn with_vectors(mended: &Snapshot, before: Option<&Snapshot>) -> Snapshot {
    let mut all = mended.clone();
    let before = before.filter(|before| mended.parent.as_ref() == Some(&before.writer));
    let named: HashSet<&str> = mended.segments.iter().map(|it| it.path.as_str()).collect();
    let left_out = before.into_iter().flat_map(|it| &it.segments);
    let left_out = left_out.filter(|it| !named.contains(it.path.as_str()));
    all.segments.extend(left_out.cloned());
    all
}

/// A line for each damaged file, and one for what another lake has lost.
fn notes(mended: &Mended, lake: &str) -> Vec<String> {
    let number = mended.snapshot.number;
    let files = mended.left_out.iter().map(|Problem { object, error }| {
        format!(
            "{object} is damaged: {error}; snapshot {number} goes on without this file of the catalog, and its tables are read again (texts that limn context add registered for them may be lost)"
        )
    });
    let mut notes: Vec<String> = files.collect();
    let elsewhere = mended.lost.iter().find(|table| table.lake != lake);
    notes.extend(elsewhere.map(|table| {
        format!(
            "tables of other lakes were in it, such as {} of {}: they come back when limn index is run over these lakes",
            table.name, table.lake
        )
    }));
    notes
}
