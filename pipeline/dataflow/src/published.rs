//! What is published: the newest snapshot's catalog, as the dataflow needs it.
//!
//! Per group it gives the members that the tables were made from (the `published` side of
//! [`crate::changes`]), the summaries of files that need no second read, and where the tables'
//! blocks are, so that the next snapshot can delete them. A session keeps it, and reads what is new
//! before each listing.

mod catalog_rows;
mod files;
mod packing;
mod places;
mod row;
mod standing;
mod state;
mod texts;
mod whole_rows;

use std::sync::Arc;

use limn_lake::Contexts;
use limn_segment::{HeldRows, IndexStore, Snapshot, TableRecord};

use crate::changes::{GroupId, MemberId};
use crate::error::PipelineError;
use crate::graph::keeping::GraphRow;
use crate::graph::size::GraphSize;
use crate::listing::KnownPlaces;
use crate::settings::IndexSettings;
use crate::share::Share;

pub use limn_segment::REGISTERED;

pub use self::catalog_rows::{
    failures_of, group_of, is_forgotten, is_searchable, members_of, passed_over,
};
pub use self::files::KnownFile;
pub use self::row::Row;
pub use self::standing::Standing;
pub use self::state::Published;

impl Published {
    /// Knows only tables of this share. To be called before the first [`advance`](Self::advance).
    pub fn restrict_to(&self, share: &Share) {
        self.change().share = share.clone();
    }

    /// How large the tables of the other shares are.
    pub fn set_size_of_others(&self, size: GraphSize) {
        self.change().size_of_others = size;
    }

    /// Goes on to `snapshot`, the newest, of whose catalog it reads what it does not know of the
    /// lake at `lake_url`. `narrates` says whether there is a language model now.
    ///
    /// # Errors
    /// The index is unreadable, or was made with another embedder or number of shards; the
    /// temporary folder cannot be used. Nothing is published then, until it is called again.
    pub async fn advance(
        &self,
        index: &IndexStore,
        snapshot: Option<Snapshot>,
        lake_url: &str,
        settings: &IndexSettings,
        narrates: bool,
    ) -> Result<(), PipelineError> {
        let mut state = std::mem::take(&mut *self.change());
        let Some(snapshot) = snapshot else {
            return Ok(());
        };
        settings.check_against(&snapshot)?;
        state.reuse = IndexSettings::of_lake(&snapshot, lake_url)?
            .filter(|old| old.summaries_match(settings))
            .map(|old| old.fingerprint());
        state.narrates = narrates;
        state.is_known = IndexSettings::intended(&snapshot, lake_url)?.is_some();
        if state.snapshot.is_none() {
            let share = state.share.clone();
            lake_url.clone_into(&mut state.lake);
            state.held = HeldRows::keeping(Some(lake_url)).with(state.taken_in());
            if share.is_partial() {
                state.held = state.held.only(move |name| share.may_have(name));
            }
        }
        let changed = state.held.advance(index, &snapshot).await?;
        state.tidy()?;
        state.take_in(changed)?;
        state.snapshot = Some(snapshot);
        *self.change() = state;
        Ok(())
    }

    /// The snapshot, if the index has one.
    pub fn snapshot(&self) -> Option<Snapshot> {
        self.state().snapshot.clone()
    }

    /// Contexts registered by earlier runs, of tables present or removed.
    pub fn registered(&self) -> Contexts {
        self.state().registered.clone()
    }

    /// Tombstones that hold registered contexts that are to be forgotten.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub fn tombstones_with(&self, forget: &Contexts) -> Result<Vec<TableRecord>, PipelineError> {
        let mut tombstones = Vec::new();
        if forget.is_empty() {
            return Ok(tombstones);
        }
        let state = self.state();
        let removed = state
            .held
            .iter()
            .filter(|it| it.removed && it.is_registered && it.is_ours && !it.is_known);
        for row in removed {
            let row = row.head()?;
            let mut contexts = row.contexts.iter();
            if contexts.any(|context| is_forgotten(&row, context, forget)) {
                tombstones.push(row);
            }
        }
        Ok(tombstones)
    }

    /// The places that a part of the lake depends on, wherever they are.
    pub fn places(&self) -> KnownPlaces {
        let mut places = KnownPlaces::default();
        let state = self.state();
        let rows = state.groups.values().flatten();
        for more in rows.filter_map(|row| row.more.as_ref()) {
            places.logs.extend(more.log.clone());
            places.describing.extend(more.describing.iter().cloned());
        }
        places
    }

    /// The groups that have something published.
    pub fn groups(&self) -> Vec<GroupId> {
        self.state().groups.keys().copied().collect()
    }

    /// Whether nothing of the lake is published.
    pub fn is_empty(&self) -> bool {
        let state = self.state();
        state.groups.is_empty() && !(state.share.is_partial() && state.is_known)
    }

    /// Whether any group has something published.
    pub fn has_any(&self) -> bool {
        !self.state().groups.is_empty()
    }

    /// What is known of the tables that a group has in the index; a row of files that are passed
    /// over is removed.
    pub fn rows(&self, group: GroupId) -> Vec<Arc<Row>> {
        self.state().groups.get(&group).cloned().unwrap_or_default()
    }

    /// The whole rows of these.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub fn tables(&self, group: GroupId) -> Result<Vec<TableRecord>, PipelineError> {
        let rows = self.rows(group).into_iter();
        rows.map(|row| row.whole()).collect()
    }

    /// Whether a group has anything in the index.
    pub fn has(&self, group: GroupId) -> bool {
        self.state().groups.contains_key(&group)
    }

    /// What is known of a table, by its name, whatever group it is in.
    pub fn row(&self, name: &str) -> Option<Arc<Row>> {
        self.state().row(name).cloned()
    }

    /// The whole row of a table.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub fn table(&self, name: &str) -> Result<Option<TableRecord>, PipelineError> {
        self.row(name).map(|row| row.whole()).transpose()
    }

    /// Whether a table of the group awaits a narration that this run can give.
    pub fn awaits_narration(&self, group: GroupId) -> bool {
        let state = self.state();
        let mut tables = state.groups.get(&group).into_iter().flatten();
        state.narrates && tables.any(|table| table.awaits_narration)
    }

    /// The members that a group's published tables were made from, sorted.
    pub fn members(&self, group: GroupId) -> Vec<MemberId> {
        let state = self.state();
        let tables = state.groups.get(&group).into_iter().flatten();
        let mut members: Vec<MemberId> = tables.flat_map(|it| it.members.iter().copied()).collect();
        members.sort_unstable();
        members.dedup();
        members
    }

    /// How large the lake's join graph is.
    pub fn graph_size(&self) -> GraphSize {
        let state = self.state();
        let mut size = state.graph_size();
        size.add(state.size_of_others);
        size
    }

    /// The rows that the join graph is made of, so that the catalog need not be read again for it;
    /// none of a share.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub fn graph_rows(&self) -> Result<Option<HeldRows<GraphRow>>, PipelineError> {
        let state = self.state();
        let is_known = state.snapshot.is_some() && !state.share.is_partial();
        let row = |row: &Row| row.joins().map(|(row, joins)| GraphRow::of(&row, &joins));
        is_known.then(|| state.held.map(row)).transpose()
    }
}
