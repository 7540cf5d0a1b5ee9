//! Drafts: tables on their way from the files of a group to their texts.

use limn_formats::Held;
use limn_profile::TableSummary;
use limn_segment::{SegmentEntry, TableRecord};
use serde::{Deserialize, Serialize};

use crate::changes::GroupId;
use crate::position::Position;
use crate::report::Failure;
use crate::values::DraftValues;
use crate::wire::{Wire, WireRow};

/// A table of a changed group, before it is described.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TableDraft {
    /// The group whose work it came of.
    pub group: GroupId,
    /// The catalog row to write, as far as it is known without its texts; `removed` makes it a
    /// tombstone. Without one there are only failures to report.
    pub row: Option<WireRow>,
    /// What the files hold; `None` where nothing is to be described.
    pub summary: Option<TableSummary>,
    /// Hashes of its values.
    pub values: Wire<DraftValues>,
    /// The blocks it had until now, if they are to go.
    pub replaces: Option<Position>,
    /// How it was described until now.
    pub before: Option<Before>,
    /// Whether the index had the table.
    pub known: bool,
    /// What could not be read of it.
    pub failures: Vec<Failure>,
    /// The segment that it has been in until now, if this run made that.
    pub published_in: Option<Wire<SegmentEntry>>,
    /// The memory that it takes in this process.
    #[serde(skip)]
    pub held: Held,
}

/// How a table's published row describes it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Before {
    /// Its columns' names and narrations.
    pub columns: Vec<(String, Option<String>)>,
    /// Whether it awaited a narration.
    pub awaits_narration: bool,
    /// Whether it was made from the same members: only its texts may differ.
    pub is_current: bool,
}

impl Before {
    /// That of a published row.
    pub fn of(record: &TableRecord, is_current: bool) -> Self {
        let columns = record.columns.iter();
        Self {
            columns: columns
                .map(|column| (column.name.clone(), column.narration.clone()))
                .collect(),
            awaits_narration: record.awaits_narration,
            is_current,
        }
    }
}

impl TableDraft {
    /// The exchange key of a worker that can go on with it, `here` being this one. One that is
    /// described again stays: perhaps only this process, which asked the model, has its words.
    pub fn route(&self, here: u64) -> u64 {
        match self.values.0.are_published() {
            true => here,
            false => self.group.hash(),
        }
    }

    /// The names of the columns that are to be described.
    pub fn column_names(&self) -> impl Iterator<Item = &str> {
        let columns = self.summary.iter().flat_map(|summary| &summary.columns);
        columns.map(|column| column.name.as_str())
    }
}
