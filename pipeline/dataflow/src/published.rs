//! What is published: the newest snapshot's catalog, as the dataflow needs it.
//!
//! Per group it gives the members that the tables were made from (the `published` side of
//! [`crate::changes`]), the summaries of files that need no second read, and where the tables'
//! blocks are, so that the next snapshot can delete them. A session keeps it, and reads what is new
//! before each listing.

mod files;
mod rows;
mod standing;
mod state;
mod texts;

use std::sync::Arc;

use limn_lake::Contexts;
use limn_lake::layout::describes_beside;
use limn_lake::reach::parent;
use limn_segment::{HeldRows, IndexStore, Snapshot, TableRecord};

use crate::changes::{GroupId, MemberId};
use crate::error::PipelineError;
use crate::graph::keeping::GraphRow;
use crate::graph::size::{GraphSize, MostTables};
use crate::listing::KnownPlaces;
use crate::settings::IndexSettings;
use crate::share::Share;

pub use limn_segment::REGISTERED;

pub use self::files::KnownFile;
pub use self::rows::{group_of, is_forgotten, is_searchable, members_of};
pub use self::standing::{Standing, failures_of, passed_over};
pub use self::state::Published;
use self::state::hash_of;

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
    /// lake at `lake_url`. `narrates` says whether there is a language model now. Of a lake that is
    /// larger than `most` its columns are counted, and nothing is kept by which they join.
    ///
    /// # Errors
    /// The index is unreadable, or was made with another embedder or number of shards. Nothing is
    /// published then, until it is called again.
    pub async fn advance(
        &self,
        index: &IndexStore,
        snapshot: Option<Snapshot>,
        lake_url: &str,
        settings: &IndexSettings,
        narrates: bool,
        most: MostTables,
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
            state.held = HeldRows::keeping(Some(lake_url));
            if share.is_partial() {
                state.held = state.held.only(move |name| share.may_have(name));
            }
        }
        let changed = state.held.advance(index, &snapshot).await?;
        state.keep_for_joins(most, &changed);
        state.take_in(changed);
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
    pub fn tombstones_with(&self, forget: &Contexts) -> Vec<Arc<TableRecord>> {
        if forget.is_empty() {
            return Vec::new();
        }
        let state = self.state();
        let rows = state.held.iter().map(|held| &held.0);
        let tombstones = rows.filter(|row| {
            let mut contexts = row.contexts.iter();
            row.removed
                && state.share.has_row(row)
                && !row.is_passed_over()
                && contexts.any(|context| is_forgotten(row, context, forget))
        });
        tombstones.cloned().collect()
    }

    /// The places that a part of the lake depends on, wherever they are.
    pub fn places(&self) -> KnownPlaces {
        let mut places = KnownPlaces::default();
        let groups = self.groups().into_iter();
        for table in groups.flat_map(|group| self.tables(group)) {
            let mut files = table.files_now();
            let log = files.find(|file| table.is_log(&file.path));
            places
                .logs
                .extend(log.map(|log| parent(&log.path).to_owned()));
            let of_table = table.contexts.iter().map(|it| &it.source);
            let describing = of_table.filter(|path| describes_beside(path));
            places.describing.extend(describing.cloned());
            // Others are files that hold no table.
            let passed_over = table.files.iter().filter(|file| file.no_table);
            let describing = passed_over.filter(|file| describes_beside(&file.path));
            places
                .describing
                .extend(describing.map(|file| file.path.clone()));
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

    /// The tables that a group has in the index; a row of files that are passed over is removed.
    pub fn tables(&self, group: GroupId) -> Vec<Arc<TableRecord>> {
        self.state().groups.get(&group).cloned().unwrap_or_default()
    }

    /// Whether a group has anything in the index.
    pub fn has(&self, group: GroupId) -> bool {
        let state = self.state();
        state.groups.get(&group).is_some_and(|it| !it.is_empty())
    }

    /// A table by its name, whatever group it is in.
    pub fn table(&self, name: &str) -> Option<Arc<TableRecord>> {
        self.state().by_name.get(&hash_of(name)).cloned()
    }

    /// Whether a table of the group awaits a narration that this run can give.
    pub fn awaits_narration(&self, group: GroupId) -> bool {
        let state = self.state();
        let mut tables = state.groups.get(&group).into_iter().flatten();
        state.narrates && tables.any(|table| table.awaits_narration)
    }

    /// The members that a group's published tables were made from, sorted.
    pub fn members(&self, group: GroupId) -> Vec<MemberId> {
        let tables = self.tables(group);
        let mut members: Vec<MemberId> =
            tables.iter().flat_map(|table| members_of(table)).collect();
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
    /// none where columns were only counted.
    pub fn graph_rows(&self) -> Option<HeldRows<GraphRow>> {
        let state = self.state();
        let is_known = state.snapshot.is_some() && !state.are_counted && !state.share.is_partial();
        is_known.then(|| state.held.map(|_, row| GraphRow::of(&row.0, &row.1)))
    }

    #[cfg(test)]
    pub(crate) fn has_join_columns(&self) -> bool {
        let state = self.state();
        state.held.live().any(|(_, row)| !row.1.names().is_empty())
    }
}
