//! Which texts of a table the judge reads: those that match the question best, side by side.
//!
//! Content is the schema's best block and, beside it, the best block of rows or matching cells;
//! context is the best block of contexts. "Best" is what evidence means by it (`evidence.rs`).

use limn_segment::{BlockKind, SegmentError};

use super::prompt::TableText;
use crate::corpus::{Corpus, Table};
use crate::evidence::scored_texts;
use crate::lexical::KnownTerms;
use crate::sought::Sought;
use crate::texts::Texts;

/// The table's texts for a question.
pub(crate) fn table_text(
    corpus: &Corpus,
    texts: &Texts,
    table: &Table,
    vector: &[f32],
    known: &KnownTerms,
) -> Result<TableText, SegmentError> {
    let mut text = TableText::default();
    for found in scored_texts(corpus, texts, table, vector, &Sought::new(known))? {
        let side = match found.kind {
            BlockKind::Schema => &mut text.schema,
            BlockKind::Rows | BlockKind::Cells => &mut text.rows,
            BlockKind::Context => &mut text.context,
        };
        // The texts come best first.
        if side.is_empty() {
            *side = found.text(corpus, texts, table)?;
        }
    }
    Ok(text)
}
