//! Aliases: columns of a changed schema keep their narrations.
//!
//! Another column, or another order, is another context, and no narration is known in it. Those of
//! a table's columns that its published version had under the same name, narrated in the context of
//! that version, are carried over: recorded again under the new context, so that only what really
//! changed is narrated. Two tables may come to one new schema from two old ones; then their carried
//! narrations meet here, and one is chosen by its text, whatever the order in which workers found
//! them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use limn_formats::Held;
use limn_segment::NarrationRecord;
use serde::{Deserialize, Serialize};
use timely::dataflow::Stream;
use timely::dataflow::channels::pact::Exchange;

use super::ContextId;
use super::store::{Narration, NarrationStore};
use crate::changes::Epoch;
use crate::draft::TableDraft;
use crate::epoch_end::{at_epoch_end, came_with};

/// A table with what is known of its columns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NarratedDraft {
    /// The table.
    pub draft: TableDraft,
    /// The context that its columns make.
    pub context: ContextId,
    /// What is known of each column; empty where columns are described by their names.
    pub columns: Vec<Known>,
}

/// What is known of one column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Known {
    /// Nothing: its narration is wanted.
    Nothing,
    /// Its narration.
    Narrated(Narration),
    /// The narration that it had in the table's published version.
    Carried(Narration),
}

impl NarratedDraft {
    fn carries(&self) -> bool {
        let mut columns = self.columns.iter();
        columns.any(|known| matches!(known, Known::Carried(_)))
    }

    /// The worker that settles what it carries; one that carries nothing stays where it is.
    fn route(&self, here: usize) -> u64 {
        if self.carries() {
            self.context.0 as u64
        } else {
            here as u64
        }
    }
}

/// For each column of `new`, its place in `old` if it is there under the same name. A name that
/// repeats stands for its columns in their order, if it repeats as often in both.
pub fn same_columns(old: &[&str], new: &[String]) -> Vec<Option<usize>> {
    let mut places: HashMap<&str, (Vec<usize>, usize)> = HashMap::new();
    for (at, name) in old.iter().enumerate() {
        places.entry(name).or_default().0.push(at);
    }
    for name in new {
        if let Some((_, times)) = places.get_mut(name.as_str()) {
            *times += 1;
        }
    }
    let mut seen: HashMap<&str, usize> = HashMap::new();
    new.iter()
        .map(|name| {
            let (places, times) = places.get(name.as_str())?;
            let nth = seen.entry(name).or_default();
            *nth += 1;
            (places.len() == *times).then(|| places[*nth - 1])
        })
        .collect()
}

/// Turns carried narrations into narrations of the new context. Tables that carry none pass at
/// once; the others wait for their epoch to be complete, since another table may carry another
/// text.
pub fn settle_aliases<'scope>(
    tables: Stream<'scope, Epoch, Vec<NarratedDraft>>,
    narrations: Option<Arc<NarrationStore>>,
) -> Stream<'scope, Epoch, Vec<NarratedDraft>> {
    let here = tables.scope().worker().index();
    at_epoch_end(
        tables,
        Exchange::new(move |table: &NarratedDraft| table.route(here)),
        "settle aliases",
        came_with,
        |_, waiting: &mut Vec<NarratedDraft>, mut table| {
            if !table.carries() {
                return Some(table);
            }
            // Files must be read for it to go on.
            table.draft.held = Held::default();
            waiting.push(table);
            None
        },
        move |_, mut tables| {
            if let Some(store) = narrations.as_ref().filter(|_| !tables.is_empty()) {
                settle(&mut tables, store);
            }
            tables
        },
    )
}

/// Chooses the least of the texts carried to a column, and records it.
fn settle(tables: &mut [NarratedDraft], store: &NarrationStore) {
    let mut chosen: BTreeMap<(ContextId, u32), (Narration, String)> = BTreeMap::new();
    for table in tables.iter() {
        let names = table.draft.column_names();
        for (position, (known, name)) in (0u32..).zip(table.columns.iter().zip(names)) {
            let Known::Carried(text) = known else {
                continue;
            };
            let choice = chosen
                .entry((table.context, position))
                .or_insert_with(|| (text.clone(), name.to_owned()));
            if *text < choice.0 {
                choice.0.clone_from(text);
            }
        }
    }
    for ((context, position), (narration, column)) in &mut chosen {
        // An earlier epoch may have settled the column.
        if let Some(known) = store.known_column(*context, *position) {
            *narration = known;
            continue;
        }
        store.record(NarrationRecord {
            context: context.0,
            position: *position,
            column: column.clone(),
            narration: narration.clone(),
        });
    }
    for table in tables {
        for (position, known) in (0u32..).zip(&mut table.columns) {
            if let Some((narration, _)) = chosen.get(&(table.context, position)) {
                *known = Known::Narrated(narration.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_the_same_by_name_and_repeated_ones_by_order() {
        let same = |old: &[&str], new: &[&str]| {
            let new: Vec<String> = new.iter().map(|name| (*name).to_owned()).collect();
            same_columns(old, &new)
        };
        assert_eq!(
            same(&["a", "b"], &["b", "c", "a"]),
            [Some(1), None, Some(0)]
        );
        assert_eq!(same(&["a", "x", "a"], &["a", "a"]), [Some(0), Some(2)]);
        // One of two columns of equal names was dropped: which one cannot be known.
        assert_eq!(same(&["a", "x", "a"], &["a", "x"]), [None, Some(1)]);
        assert_eq!(same(&["a"], &["a", "a"]), [None, None]);
        assert_eq!(same(&[], &["a"]), [None]);
    }
}
