//! The plan: a listing, laid out into groups and cut into epochs.
//!
//! A group (a lone file, a directory of like files, a Hive-partitioned directory) is never split
//! over two epochs, so a table is published whole. A plan says what *may* have changed; which
//! groups did is found by the dataflow (`crate::changes`). A listing is looked through once, to
//! know which groups are several tables ([`arranged`]), what was removed and what differs
//! ([`survey`]); then epoch after epoch is made, when there is room for it ([`epochs`]). The memory
//! of a plan is the listing, in few bytes, and the groups of the epochs under way.

mod arranged;
mod cuts;
mod epochs;
mod group;
mod names;
mod planner;
mod sides;
mod survey;

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::{StreamExt, stream};
use limn_formats::FileError;
use limn_lake::Ignored;
use limn_lake::layout::layout_declared;

use self::arranged::Looked;
pub use self::epochs::Epochs;
pub use self::group::{GroupPlan, members};
pub use self::planner::Planner;
pub use self::sides::{EpochPlan, tombstone_group};
use self::survey::Survey;
use crate::changes::GroupId;
use crate::error::PipelineError;
use crate::listing::Listing;

/// Families that are probed at once.
const PROBED_AT_ONCE: usize = 16;

/// A listing turned into epochs.
#[derive(Debug, Default)]
pub struct Plan {
    /// The epochs, in the order they are fed.
    pub epochs: Epochs,
    /// Names of the tables that are looked at, where only some are.
    pub tables: BTreeSet<String>,
    /// Files of groups that differ from what is published.
    pub files_wanted: usize,
    /// Groups with a table that awaits a narration, where the run can give one.
    pub awaiting: usize,
    /// Contexts that name no table of the lake.
    pub orphans: Vec<String>,
    /// Objects that hold rows but whose names no table can have.
    pub refused: Vec<FileError>,
    /// Objects of the lake that hold nothing for an index, where the whole lake was listed.
    pub ignored: Ignored,
    /// Texts that reach no table, by path.
    pub unreached: Vec<String>,
    /// Published groups that are restated, because this run's settings cannot reach their files.
    pub restated: Vec<GroupId>,
    /// Tables that are one by their log now, and how many the index has had of the files in their
    /// folders.
    pub joined: Vec<(String, usize)>,
}

/// Lays out a listing, and finds out what differs from what is published. What is outside the
/// listed part, and what could not be listed of it, stays as it is.
///
/// # Errors
/// The temporary folder cannot be used.
pub async fn plan(planner: Arc<Planner>, mut listing: Listing) -> Result<Plan, PipelineError> {
    let part = listing.part;
    let boundary = std::mem::take(&mut listing.boundary);
    let of_others: BTreeSet<&str> = match listing.share.is_partial() {
        true => boundary.iter().map(|object| object.path).collect(),
        false => BTreeSet::new(),
    };
    listing
        .objects
        .extend(boundary.iter().map(|object| object.record()));
    let mut layout = layout_declared(
        listing.objects,
        listing.logged,
        &planner.contexts,
        listing.declared,
        &planner.root_name,
    );
    let unchosen = &listing.only_about_others;
    if !unchosen.is_empty() || !of_others.is_empty() {
        layout.retain_files(|path| !unchosen.contains(path) && !of_others.contains(path));
        layout
            .refused
            .retain(|it| !of_others.contains(it.object.as_str()));
    }
    if part.is_partial() {
        layout.retain(|path| part.has_path(path));
        layout.refused.retain(|error| part.has_path(&error.object));
        layout.orphans.clear();
        layout.unreached.clear();
        layout.ignored = Ignored::default();
    }
    let mut plan = Plan {
        orphans: std::mem::take(&mut layout.orphans),
        refused: std::mem::take(&mut layout.refused),
        ignored: std::mem::take(&mut layout.ignored),
        unreached: std::mem::take(&mut layout.unreached),
        ..Plan::default()
    };
    let mut survey = Survey::of(&planner, &part, &listing.unlisted)?;
    {
        let (planner, layout) = (&*planner, &layout);
        let looked = (0..layout.len()).map(|at| planner.look_at(layout, at, &part));
        let mut looked = stream::iter(looked).buffered(PROBED_AT_ONCE);
        while let Some(looked) = looked.next().await {
            match looked? {
                Looked::New(at, outline) => survey.look_at_new(at, &outline),
                Looked::Arranged(found, orphans) => {
                    found.into_iter().for_each(|it| survey.look_at(it));
                    if !part.is_partial() {
                        plan.orphans.extend(orphans);
                    }
                }
            }
        }
    }
    let mut found = survey.end()?;
    plan.tables = std::mem::take(&mut found.tables);
    plan.joined = std::mem::take(&mut found.joined);
    plan.restated.clone_from(&found.restated);
    (plan.files_wanted, plan.awaiting) = (found.files_wanted, found.awaiting);
    plan.epochs = Epochs::new(planner, layout, found)?;
    Ok(plan)
}
