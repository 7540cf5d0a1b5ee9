//! The end of a round: the join graph of what was published.

use limn_segment::{PublishError, SegmentError, Snapshot};

use crate::drive::Dataflow;
use crate::error::PipelineError;
use crate::round::Round;

/// Columns that a lake may have for each table that it may have.
const COLUMNS_A_TABLE: u64 = 10;
/// Tables of a lake whose graph is kept on without a word about it.
const KEPT_ON: u64 = 10_000;
/// What to do about a lake that is too large.
const REMEDY: &str = "--join-tables N raises that, at about 12 KB of memory a column";

impl Round {
    /// Brings the join graph to what this round has published, if anything: tables that changed are
    /// compared anew. What hinders it becomes a note, as what the run was for is published all the
    /// same.
    ///
    /// # Errors
    /// The dataflow fails.
    pub(super) async fn make_joins(
        &self,
        dataflow: &mut Dataflow,
        notes: &mut Vec<String>,
    ) -> Result<(), PipelineError> {
        let (index, committer) = (&self.opening.index, &self.opened.stages.committer);
        let Some(snapshot) = committer.snapshot().await else {
            return Ok(());
        };
        let before = snapshot.joins.get(&self.terms.lake);
        let wanted = self.opening.options.join_tables;
        let most = wanted.unwrap_or(if before.is_some() { KEPT_ON } else { 0 });
        let rows: u64 = snapshot.catalog.iter().map(|it| it.rows).sum();
        let is_as_wanted = match most {
            0 => before.is_none(),
            _ => before.is_some() && !self.has_published().await,
        };
        if is_as_wanted {
            return Ok(());
        }
        if rows > most || dataflow.graph().is_given_up() {
            if most > 0 {
                notes.push(format!(
                    "what joins is not looked for: the catalog has {rows} rows of tables, and {most} are allowed, with {COLUMNS_A_TABLE} columns each; {REMEDY}"
                ));
            }
            return self.keep_no_joins(&snapshot).await;
        }
        let shards = self.terms.shards;
        let made = async {
            let tables = dataflow.graph().advance(index, &snapshot).await?;
            let changed = tables.len();
            let columns = dataflow.graph().columns() as u64;
            if columns > most * COLUMNS_A_TABLE {
                dataflow.graph().give_up();
                notes.push(format!(
                    "what joins is not looked for: the tables have {columns} columns, more than {COLUMNS_A_TABLE} for each of {most} tables; {REMEDY}"
                ));
                return self.keep_no_joins(&snapshot).await;
            }
            let edges = dataflow.compare(tables).await?;
            tracing::info!(tables = changed, edges = edges.len(), "join graph");
            dataflow.graph().take_in(edges, shards);
            let known = before.map_or(&[][..], Vec::as_slice);
            let files = dataflow.graph().store(index, known, shards).await?;
            match before.is_some_and(|before| *before == files) {
                true => Ok(()),
                false => committer.publish_joins(Some(files)).await,
            }
        };
        let error = match made.await {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        let next = match &error {
            PipelineError::Segment(error)
            | PipelineError::Publish(PublishError::Segment(error))
                if error.is_damage() =>
            {
                "limn verify says what else is damaged"
            }
            PipelineError::Segment(error)
            | PipelineError::Publish(PublishError::Segment(error))
                if matches!(error, SegmentError::Store(_) | SegmentError::Io { .. }) =>
            {
                "the next run that publishes anything makes them"
            }
            PipelineError::Overtaken { .. } => "the next run that publishes anything makes them",
            _ => return Err(error),
        };
        notes.push(format!(
            "what this run found is published, and its joins are not: {error}; {next}"
        ));
        Ok(())
    }

    /// The lake has no join graph from here on.
    async fn keep_no_joins(&self, snapshot: &Snapshot) -> Result<(), PipelineError> {
        match snapshot.joins.get(&self.terms.lake) {
            Some(_) => self.opened.stages.committer.publish_joins(None).await,
            None => Ok(()),
        }
    }
}
