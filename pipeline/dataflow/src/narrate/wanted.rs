//! What tables await, and what of it is still open: contexts, their columns, and the groups of
//! tables that wait for them.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::mpsc;

use super::awaiting::{Answered, AwaitingTable};
use super::store::NarrationStore;
use super::{ContextId, context_of};
use crate::changes::GroupId;

/// The contexts that published tables await, and these tables.
#[derive(Default)]
pub struct Wanted {
    contexts: BTreeMap<ContextId, Context>,
    tables: HashMap<GroupId, Vec<AwaitingTable>>,
}

struct Context {
    names: Vec<String>,
    groups: HashSet<GroupId>,
    tables: usize,
    /// Columns that are not answered yet.
    open: usize,
}

impl Wanted {
    /// Notes a published table.
    pub fn add(&mut self, table: AwaitingTable) {
        let context = self
            .contexts
            .entry(context_of(&table.columns))
            .or_insert_with(|| Context {
                names: table.columns.clone(),
                groups: HashSet::new(),
                tables: 0,
                open: 0,
            });
        context.groups.insert(table.group);
        context.tables += 1;
        self.tables.entry(table.group).or_default().push(table);
    }

    /// Whether nothing is wanted.
    pub fn is_empty(&self) -> bool {
        self.contexts.is_empty()
    }

    /// The contexts.
    pub fn contexts(&self) -> impl Iterator<Item = ContextId> + '_ {
        self.contexts.keys().copied()
    }
}

/// What is not answered yet, and whom it concerns.
pub struct Open<'a> {
    contexts: BTreeMap<ContextId, Context>,
    /// How many contexts with open columns a group waits for, and its tables.
    groups: HashMap<GroupId, (usize, Vec<AwaitingTable>)>,
    /// Groups that wait for no more narrations are sent here.
    ready: &'a mpsc::Sender<Answered>,
}

impl<'a> Open<'a> {
    /// What `store` lacks of what is wanted; groups that lack nothing are sent to `ready` at once.
    pub fn of(
        Wanted {
            mut contexts,
            tables,
        }: Wanted,
        store: &NarrationStore,
        ready: &'a mpsc::Sender<Answered>,
    ) -> Self {
        let of_group = |(group, tables)| (group, (0, tables));
        let mut groups: HashMap<GroupId, (usize, Vec<AwaitingTable>)> =
            tables.into_iter().map(of_group).collect();
        let mut closed = Vec::new();
        for (id, context) in &mut contexts {
            for group in &context.groups {
                groups.entry(*group).or_default().0 += 1;
            }
            // An alias may have come after the table was published.
            let known = store.known(*id, context.names.len());
            context.open = known.iter().filter(|known| known.is_none()).count();
            if context.open == 0 {
                closed.push(*id);
            }
        }
        let mut open = Self {
            contexts,
            groups,
            ready,
        };
        for id in closed {
            open.close(id);
        }
        open
    }

    /// Columns that are not answered.
    pub fn columns(&self) -> usize {
        self.contexts.values().map(|context| context.open).sum()
    }

    /// The contexts with open columns, those that the most tables share first.
    pub fn order(&self) -> Vec<ContextId> {
        let open = self.contexts.iter().filter(|(_, context)| context.open > 0);
        let mut order: Vec<_> = open
            .map(|(id, context)| (Reverse(context.tables), *id))
            .collect();
        order.sort_unstable();
        order.into_iter().map(|(_, id)| id).collect()
    }

    /// A context's columns.
    pub fn names(&self, id: ContextId) -> &[String] {
        self.contexts.get(&id).map_or(&[], |context| &context.names)
    }

    /// A column of the context was answered.
    pub fn answered(&mut self, id: ContextId) {
        if let Some(context) = self.contexts.get_mut(&id) {
            context.open -= 1;
            if context.open == 0 {
                self.close(id);
            }
        }
    }

    /// All of a context's columns were answered: groups that wait for nothing else are ready.
    fn close(&mut self, id: ContextId) {
        let Some(context) = self.contexts.get_mut(&id) else {
            return;
        };
        for group in context.groups.drain() {
            let Entry::Occupied(mut waiting) = self.groups.entry(group) else {
                continue;
            };
            waiting.get_mut().0 -= 1;
            if waiting.get().0 == 0 {
                let (_, tables) = waiting.remove();
                // Nobody listens only when the run is being given up.
                let _ = self.ready.send(Answered { group, tables });
            }
        }
    }
}
