//! Hashes of a table's values, from its files' summaries to its segment.
//!
//! A file that is read brings its own. Of the others the catalog has the summaries, and the segment
//! that holds their table has the lists: they are taken from there once the table is described, so
//! that what is held of a lake is what is under way.

use std::collections::BTreeMap;

use limn_profile::TableSummary;
use limn_segment::{ColumnValues, PublishedFile, TableValues};
use serde::{Deserialize, Serialize};

use crate::position::Position;

/// The hashes of a draft's values, as far as they are known, and where the others are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftValues {
    /// `None` where all are as they are published.
    pub table: Option<TableValues>,
    /// Where the lists of files are that are missing; of a table that is as it was published, where
    /// it is.
    pub from: Vec<(Position, Vec<PublishedFile>)>,
}

impl DraftValues {
    /// No values at all.
    pub fn none() -> Self {
        Self {
            table: Some(TableValues::default()),
            from: Vec::new(),
        }
    }

    /// Those that the table at this position has.
    pub fn as_published(position: Option<Position>) -> Self {
        match position {
            Some(position) => Self {
                table: None,
                from: vec![(position, Vec::new())],
            },
            None => Self::none(),
        }
    }

    /// Whether they are those of a published table, as it is.
    pub fn are_published(&self) -> bool {
        self.table.is_none()
    }

    /// Those of a merged summary, which it has no more then: `most` of a file, and of the files
    /// with few values together. `holder` says where a file's lists are published, and which file
    /// that is there.
    ///
    /// # Errors
    /// The first of `holder`.
    pub fn taken<E>(
        summary: &mut TableSummary,
        most: u32,
        holder: impl Fn(u64) -> Result<Option<(Position, u64)>, E>,
    ) -> Result<Self, E> {
        let columns = summary.columns.iter_mut();
        let columns = columns.filter(|column| !column.hashes.is_empty());
        let columns = columns.map(|column| ColumnValues {
            name: column.name.clone(),
            withheld: false,
            lists: std::mem::take(&mut column.hashes),
        });
        let mut table = TableValues {
            columns: columns.collect(),
        };
        if most == 0 {
            return Ok(Self::none());
        }
        let lists = table
            .columns
            .iter_mut()
            .flat_map(|column| &mut column.lists);
        // A list that was made just now is read without an error.
        lists
            .filter(|it| it.is_of_few())
            .for_each(|it| it.thin(most).unwrap_or_default());
        let lists = table.columns.iter().flat_map(|column| &column.lists);
        let missing = lists.filter(|list| list.hashes.is_none());
        let mut missing: Vec<u64> = missing.map(|list| list.file).collect();
        missing.sort_unstable();
        missing.dedup();
        let mut from: BTreeMap<Position, Vec<PublishedFile>> = BTreeMap::new();
        for now in missing {
            if let Some((position, published)) = holder(now)? {
                let files = from.entry(position).or_default();
                files.push(PublishedFile { published, now });
            }
        }
        Ok(Self {
            table: Some(table),
            from: from.into_iter().collect(),
        })
    }

    /// Nobody finds columns by values that the table withholds.
    pub fn withhold(&mut self, summary: &TableSummary) {
        let Some(table) = &mut self.table else {
            return;
        };
        // Names may repeat: one that is withheld withholds all.
        let withheld = summary.columns.iter().filter(|it| it.is_withheld());
        let withheld: Vec<&str> = withheld.map(|column| column.name.as_str()).collect();
        for column in &mut table.columns {
            column.withheld = withheld.contains(&column.name.as_str());
            // It is made anew of the files' sketches, and no file needs it.
            column
                .lists
                .retain(|list| !(column.withheld && list.is_of_few()));
        }
        table.columns.retain(|column| !column.lists.is_empty());
    }

    /// About how many bytes of memory they take.
    pub fn held(&self) -> u64 {
        self.table.as_ref().map_or(0, TableValues::held)
    }
}
