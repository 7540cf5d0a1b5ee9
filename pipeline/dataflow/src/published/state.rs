//! What a process keeps of its lake's catalog: a few facts of each row, and where each group, file
//! and context is among them; the whole rows lie on the disk.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use limn_lake::{Contexts, TableName};
use limn_segment::{HeldRows, REGISTERED, Snapshot, TableKey};

use super::places::Places;
use super::row::{Row, TakenIn};
use super::whole_rows::WholeRows;
use crate::changes::{GroupId, MemberId};
use crate::error::PipelineError;
use crate::graph::size::GraphSize;
use crate::share::Share;

/// The catalog of one lake in the newest snapshot that was looked at.
#[derive(Debug, Default)]
pub struct Published {
    state: RwLock<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// The snapshot, if the index has one.
    pub(super) snapshot: Option<Snapshot>,
    /// The lake's URL.
    pub(super) lake: String,
    pub(super) held: HeldRows<Row>,
    pub(super) whole: Arc<WholeRows>,
    /// The rows of tables that there are and of files that are passed over, in the order of their
    /// names.
    pub(super) groups: HashMap<GroupId, Vec<Arc<Row>>>,
    pub(super) places: Places,
    pub(super) registered: Contexts,
    /// The settings of all the lake's tables, if their file summaries may be used again.
    pub(super) reuse: Option<MemberId>,
    pub(super) narrates: bool,
    /// The part of the lake whose tables are known.
    pub(super) share: Share,
    /// Whether the index has the lake, of which another share may have all tables.
    pub(super) is_known: bool,
    /// How large the tables of the other shares are.
    pub(super) size_of_others: GraphSize,
}

impl Published {
    pub(super) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn change(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A table whose row is another now, and what was kept of the one before.
type ChangedRow = (TableKey, Option<Arc<Row>>);

impl State {
    pub(super) fn graph_size(&self) -> GraphSize {
        let own = self.held.live().filter(|(_, row)| row.is_ours);
        GraphSize::of(own.map(|(_, row)| row.columns))
    }

    /// The row of a table that there is, or of files that are passed over.
    pub(super) fn row(&self, name: &str) -> Option<&Arc<Row>> {
        let key = TableKey {
            lake: self.lake.clone(),
            name: name.to_owned(),
        };
        self.held.get(&key).filter(|it| it.is_known)
    }

    /// Takes in the rows of these tables, as they are held now; with them are the rows of before.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub(super) fn take_in(&mut self, changed: Vec<ChangedRow>) -> Result<(), PipelineError> {
        if changed.is_empty() {
            return Ok(());
        }
        let mut touched: HashSet<GroupId> = HashSet::new();
        let mut registered_differ = false;
        for (key, before) in changed {
            let now = self.held.get(&key);
            let mut both = before.iter().chain(now);
            registered_differ |= both.any(|it| it.is_registered);
            if let Some(group) = before.as_ref().and_then(|it| it.group)
                && let Some(tables) = self.groups.get_mut(&group)
            {
                tables.retain(|it| *it.name != *key.name);
            }
            if let Some(now) = now.filter(|it| it.is_known)
                && let Some(group) = now.group
            {
                self.groups.entry(group).or_default().push(Arc::clone(now));
                touched.insert(group);
            }
        }
        for group in touched {
            if let Some(tables) = self.groups.get_mut(&group) {
                tables.sort_unstable_by(|a, b| a.name.cmp(&b.name));
                tables.shrink_to_fit();
            }
        }
        self.groups.retain(|_, tables| !tables.is_empty());
        let known = self.held.iter().filter(|it| it.is_known);
        self.places = Places::of(known.cloned());
        if registered_differ {
            self.take_in_registered()?;
        }
        Ok(())
    }

    /// A context may be in the rows of several tables, those that its name meant one after the
    /// other.
    fn take_in_registered(&mut self) -> Result<(), PipelineError> {
        self.registered.clear();
        for row in self.held.iter().filter(|it| it.is_registered) {
            let row = row.head()?;
            let contexts = row.contexts.iter();
            for context in contexts.filter(|context| context.source == REGISTERED) {
                let name = context.registered_for.as_ref().unwrap_or(&row.name);
                if let Ok(name) = TableName::parse(name) {
                    let texts = self.registered.entry(name).or_default();
                    if !texts.contains(&context.text) {
                        texts.push(context.text.clone());
                    }
                }
            }
        }
        Ok(())
    }

    /// What rows are taken in with.
    pub(super) fn taken_in(&self) -> TakenIn {
        TakenIn {
            rows: Arc::clone(&self.whole),
            share: self.share.clone(),
        }
    }

    /// Keeps whole rows anew, if most of those that are kept are of rows that are others now.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub(super) fn tidy(&mut self) -> Result<(), PipelineError> {
        self.whole.check()?;
        if self.whole.is_wasteful() {
            let whole = Arc::new(WholeRows::default());
            for row in self.held.iter() {
                row.move_to(&whole)?;
            }
            whole.check()?;
            self.whole = whole;
            self.held = std::mem::take(&mut self.held).with(self.taken_in());
        }
        Ok(())
    }
}
