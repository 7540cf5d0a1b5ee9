//! What tables await, and what of it is still open: contexts, their columns, and the tables that
//! wait for them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::mpsc;

use super::awaiting::AwaitingTable;
use super::store::NarrationStore;
use super::{ContextId, context_of};

/// The contexts that published tables await, and these tables.
#[derive(Default)]
pub struct Wanted {
    contexts: BTreeMap<ContextId, Context>,
}

struct Context {
    names: Vec<String>,
    tables: Vec<AwaitingTable>,
    /// Columns that are not answered yet.
    open: usize,
}

impl Wanted {
    /// Notes a published table.
    pub fn add(&mut self, mut table: AwaitingTable) {
        // Those of one context have the same columns.
        let names = std::mem::take(&mut table.columns);
        let context = self.contexts.entry(context_of(&names));
        let context = context.or_insert_with(|| Context {
            names,
            tables: Vec::new(),
            open: 0,
        });
        context.tables.push(table);
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
    /// Tables that wait for no more narrations are sent here.
    ready: &'a mpsc::Sender<AwaitingTable>,
}

impl<'a> Open<'a> {
    /// What `store` lacks of what is wanted; tables that lack nothing are sent to `ready` at once.
    pub fn of(
        wanted: Wanted,
        store: &NarrationStore,
        ready: &'a mpsc::Sender<AwaitingTable>,
    ) -> Self {
        let mut contexts = wanted.contexts;
        for (id, context) in &mut contexts {
            // An alias may have come after the table was published.
            let known = store.known(*id, context.names.len());
            context.open = known.iter().filter(|known| known.is_none()).count();
            if context.open == 0 {
                context.close(ready);
            }
        }
        Self { contexts, ready }
    }

    /// Columns that are not answered.
    pub fn columns(&self) -> usize {
        self.contexts.values().map(|context| context.open).sum()
    }

    /// The contexts with open columns, those that the most tables share first.
    pub fn order(&self) -> Vec<ContextId> {
        let open = self.contexts.iter().filter(|(_, context)| context.open > 0);
        let mut order: Vec<_> = open
            .map(|(id, context)| (Reverse(context.tables.len()), *id))
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
                context.close(self.ready);
            }
        }
    }
}

impl Context {
    /// All columns were answered: its tables are ready.
    fn close(&mut self, ready: &mpsc::Sender<AwaitingTable>) {
        for table in std::mem::take(&mut self.tables) {
            // Nobody listens only when the run is being given up.
            let _ = ready.send(table);
        }
    }
}
