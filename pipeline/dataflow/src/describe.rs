//! Describing: a table's texts. The narrations of its columns are looked up in the index, the texts
//! are made with them, and a table that lacks some is marked.

use std::sync::Arc;

use limn_formats::Held;
use limn_lake::contexts::column_descriptions;
use limn_profile::TableSummary;
use limn_segment::{SegmentEntry, TableRecord};
use limn_summary::{TextBlock, TokenCounter};
use serde::{Deserialize, Serialize};

use crate::documents::describe;
use crate::draft::TableDraft;
use crate::error::PipelineError;
use crate::narrate::aliases::{Known, NarratedDraft, same_columns};
use crate::narrate::awaiting::AwaitingTable;
use crate::narrate::store::NarrationStore;
use crate::narrate::{ContextId, context_of};
use crate::position::Position;
use crate::progress::Progress;
use crate::report::Failure;
use crate::settings::Words;
use crate::values::DraftValues;
use crate::wire::{Wire, WireRow};

/// What becomes of one table in an epoch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TableChange {
    /// The catalog row to write; `removed` makes it a tombstone.
    pub row: Option<WireRow>,
    /// The texts of the table.
    pub blocks: Wire<Vec<TextBlock>>,
    /// Hashes of its values.
    pub values: Wire<DraftValues>,
    /// The blocks it had until now.
    pub replaces: Option<Position>,
    /// Whether the index had the table.
    pub known: bool,
    /// What could not be read of it.
    pub failures: Vec<Failure>,
    /// The segment that it has been in until now, if this run made that.
    pub published_in: Option<Wire<SegmentEntry>>,
    /// The table, if it awaits a narration.
    pub awaits: Option<AwaitingTable>,
    /// The memory that it takes in this process.
    #[serde(skip)]
    pub held: Held,
}

/// Makes the texts of tables; shared by the workers of a process.
pub struct Describer {
    /// The embedder's window.
    pub counter: Arc<dyn TokenCounter + Send + Sync>,
    /// Words of columns without a narration.
    pub words: Words,
    /// The narrations, where tables are narrated.
    pub narrations: Option<Arc<NarrationStore>>,
    /// Counters for people.
    pub progress: Arc<Progress>,
    /// Whether the run is of several processes: the one that asks the model may not know the row.
    pub is_of_several: bool,
}

impl Describer {
    /// What is known of a table's columns: their narrations in this schema, or else those that they
    /// had in the table's last one.
    ///
    /// # Errors
    /// The stored narrations cannot be read.
    pub async fn look_up(&self, draft: TableDraft) -> Result<Vec<NarratedDraft>, PipelineError> {
        let names: Vec<String> = draft.column_names().map(str::to_owned).collect();
        let Some(store) = self.narrations.as_ref().filter(|_| !names.is_empty()) else {
            return Ok(vec![NarratedDraft {
                draft,
                context: ContextId::default(),
                columns: Vec::new(),
            }]);
        };
        let context = context_of(&names);
        let found = store.look_up(context, names.len()).await?;
        let mut columns: Vec<Known> = found
            .into_iter()
            .map(|known| known.map_or(Known::Nothing, Known::Narrated))
            .collect();
        if columns.contains(&Known::Nothing)
            && let Some(before) = &draft.before
            && !before.is_current
        {
            let old: Vec<String> = before
                .columns
                .iter()
                .map(|(name, _)| name.clone())
                .collect();
            let known = store.look_up(context_of(&old), old.len()).await?;
            let old: Vec<&str> = old.iter().map(String::as_str).collect();
            for (column, place) in columns.iter_mut().zip(same_columns(&old, &names)) {
                if *column == Known::Nothing
                    && let Some(Some(narration)) = place.map(|place| known[place].clone())
                {
                    *column = Known::Carried(narration);
                }
            }
        }
        Ok(vec![NarratedDraft {
            draft,
            context,
            columns,
        }])
    }

    /// A table's texts; nothing where its words are those that are published.
    ///
    /// # Errors
    /// The index cannot be written.
    pub async fn describe(&self, table: NarratedDraft) -> Result<Vec<TableChange>, PipelineError> {
        if let Some(narrations) = &self.narrations {
            narrations.share().await?;
        }
        let NarratedDraft { draft, columns, .. } = table;
        let names: Vec<String> = draft.column_names().map(str::to_owned).collect();
        let awaits = columns.contains(&Known::Nothing);
        let narrations: Vec<Option<String>> = columns
            .into_iter()
            .map(|known| match known {
                Known::Nothing => None,
                Known::Narrated(narration) | Known::Carried(narration) => narration,
            })
            .collect();
        let mut change = TableChange {
            row: draft.row,
            blocks: Wire(Vec::new()),
            values: draft.values,
            replaces: draft.replaces,
            known: draft.known,
            failures: draft.failures,
            published_in: draft.published_in,
            awaits: None,
            held: draft.held,
        };
        let (Some(WireRow(row)), Some(summary)) = (&mut change.row, &draft.summary) else {
            return Ok(vec![change]);
        };
        if awaits {
            change.awaits = Some(AwaitingTable {
                group: draft.group,
                name: row.name.clone(),
                columns: names,
                row: None,
                segment: None,
            });
        }
        let is_published = draft.before.is_some_and(|before| {
            before.is_current
                && before.awaits_narration == awaits
                && narrations
                    .iter()
                    .eq(before.columns.iter().map(|(_, narration)| narration))
        });
        if is_published {
            let row = change.row.take().filter(|_| self.is_of_several);
            if let Some(awaits) = &mut change.awaits {
                awaits.row = row;
            }
            change.replaces = None;
            let says_nothing = change.failures.is_empty() && change.awaits.is_none();
            return Ok(if says_nothing {
                Vec::new()
            } else {
                vec![change]
            });
        }
        Progress::add(&self.progress.tables_described, 1);
        row.awaits_narration = awaits;
        change.blocks = Wire(self.texts(row, summary, narrations));
        Ok(vec![change])
    }

    /// A table's texts; what is said of its columns comes into its row.
    fn texts(
        &self,
        row: &mut TableRecord,
        summary: &TableSummary,
        narrations: Vec<Option<String>>,
    ) -> Vec<TextBlock> {
        let texts: Vec<&str> = row.contexts.iter().map(|it| it.text.as_str()).collect();
        let described = row.columns.iter().map(|column| column.name.as_str());
        // What people wrote beside the data holds; else what the files say themselves.
        let descriptions: Vec<Option<String>> =
            column_descriptions(&texts, &described.collect::<Vec<_>>())
                .into_iter()
                .zip(&summary.columns)
                .map(|(found, column)| found.or_else(|| column.description.clone()))
                .collect();
        let blocks = describe(
            &row.name,
            summary,
            &row.contexts,
            &narrations,
            &descriptions,
            self.counter.as_ref(),
            self.words,
        );
        for (column, narration) in row.columns.iter_mut().zip(narrations) {
            column.narration = narration;
        }
        for (column, description) in row.columns.iter_mut().zip(descriptions) {
            column.description = description;
        }
        blocks
    }
}
