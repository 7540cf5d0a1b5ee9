//! The end of a round: the join graph of what was published.

use limn_segment::{PublishError, SegmentError};

use crate::drive::Dataflow;
use crate::error::PipelineError;
use crate::round::Round;

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
        if before.is_some() && !self.has_published().await {
            return Ok(());
        }
        let most = self.opening.options.join_tables;
        let rows: u64 = snapshot.catalog.iter().map(|it| it.rows).sum();
        if rows > most {
            if most > 0 {
                notes.push(format!(
                    "what joins is not looked for: the catalog has {rows} rows of tables, more than {most}; --join-tables N raises that, at about 12 KB of memory a column"
                ));
            }
            return match before {
                Some(_) => committer.publish_joins(None).await,
                None => Ok(()),
            };
        }
        let shards = self.terms.shards;
        let made = async {
            let tables = dataflow.graph().advance(index, &snapshot).await?;
            let changed = tables.len();
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
}
