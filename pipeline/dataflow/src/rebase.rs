//! Rebasing: what other writers have published since this run began, and whether that concerns it.
//!
//! A run that loses the race for a snapshot number goes on from the newest snapshot, if nobody else
//! has written its tables: what it adds is named there as well, and what it replaces is looked up
//! where a compaction may have put it. Only catalog files that one of the two snapshots lacks are
//! read.

use std::collections::{HashMap, HashSet};

use limn_lake::Filters;
use limn_segment::{IndexStore, PublishError, Snapshot, TableRecord};

use crate::error::PipelineError;
use crate::filtering::remembered;
use crate::position::Position;
use crate::settings::IndexSettings;

/// What others have done to one lake's tables.
#[derive(Debug, Default)]
pub struct Others {
    /// Tables whose rows are another writer's now.
    written: HashSet<String>,
    /// Where the blocks of tables are that were moved and not changed.
    moved: HashMap<String, Position>,
}

impl Others {
    /// A table of `names` that another writer has written, if there is one.
    pub fn wrote_one_of<'a>(&self, names: impl IntoIterator<Item = &'a String>) -> Option<&'a str> {
        let mut names = names.into_iter();
        let found = names.find(|name| self.written.contains(*name));
        found.map(String::as_str)
    }

    /// Where a table's blocks were moved to from a segment that is no more.
    pub fn moved(&self, table: &str) -> Option<&Position> {
        self.moved.get(table)
    }

    /// Takes in what the lake's tables have become from `base` to `newest`.
    ///
    /// # Errors
    /// The catalogs cannot be read. [`PublishError::Lost`] if what `base` names was deleted
    /// already.
    pub async fn take_in(
        &mut self,
        index: &IndexStore,
        lake: &str,
        base: Option<&Snapshot>,
        newest: &Snapshot,
    ) -> Result<(), PipelineError> {
        let none = Snapshot {
            catalog: Vec::new(),
            ..newest.clone()
        };
        let base = base.unwrap_or(&none);
        let rows_now = only_in(index, lake, newest, base).await?;
        let rows_before = only_in(index, lake, base, newest).await;
        let rows_before = rows_before.map_err(|error| match error {
            // A garbage collection with a very short retention.
            PipelineError::Segment(error) if error.is_absence() => PublishError::Lost {
                location: index.store.url().to_owned(),
                number: base.number,
                newest: newest.number,
            }
            .into(),
            other => other,
        })?;
        let before: HashMap<&str, &TableRecord> = rows_before
            .iter()
            .map(|row| (row.name.as_str(), row))
            .collect();
        for row in &rows_now {
            if before
                .get(row.name.as_str())
                .is_some_and(|before| row.is_same_but_for_place(before))
            {
                let position = Position::of(row);
                self.moved
                    .extend(position.map(|position| (row.name.clone(), position)));
            } else {
                self.written.insert(row.name.clone());
            }
        }
        Ok(())
    }
}

/// The rows of the lake in catalog files that `this` names and `other` does not.
async fn only_in(
    index: &IndexStore,
    lake: &str,
    this: &Snapshot,
    other: &Snapshot,
) -> Result<Vec<TableRecord>, PipelineError> {
    let known: HashSet<&str> = other.catalog.iter().map(|it| it.path.as_str()).collect();
    let mut difference = this.clone();
    difference
        .catalog
        .retain(|entry| !known.contains(entry.path.as_str()));
    Ok(index.tables_with_removed(&difference, Some(lake)).await?)
}

/// Why a run cannot go on from `newest`, whoever's tables were written: its segments would not fit
/// there, or another run is changing what the lake's texts are made with.
pub fn refusal(
    base: Option<&Snapshot>,
    newest: &Snapshot,
    lake: &str,
    (settings, filters): (&IndexSettings, &Filters),
    shards: u32,
) -> Option<String> {
    if settings.check_against(newest).is_err() || newest.shards != shards {
        return Some("another run made the index with another embedder or number of shards".into());
    }
    let listed = |snapshot| remembered(snapshot, lake).ok();
    let (theirs, before) = (listed(Some(newest)), listed(base));
    if theirs.as_ref() != Some(filters) && theirs != before {
        return Some("another run indexed the lake with other filters meanwhile".into());
    }
    let before = base.map(|base| IndexSettings::intended(base, lake));
    let (Ok(theirs), Ok(before)) = (IndexSettings::intended(newest, lake), before.transpose())
    else {
        let reason = "another run gave the lake settings that this limn does not understand";
        return Some(reason.into());
    };
    let before = before.flatten();
    let is_other = theirs.as_ref().is_some_and(|theirs| theirs != settings);
    (is_other && theirs != before)
        .then(|| "another run indexed the lake with other settings meanwhile".into())
}
