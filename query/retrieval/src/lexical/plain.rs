//! Plain mode's lexical side: BM25 over blocks as one field, by the question's terms as they are.

use limn_segment::Field;
use tracing::info_span;

use super::{Found, KnownTerms, finish_term};
use crate::TRACE;
use crate::absent_words::LookUp;
use crate::corpus::Corpus;
use crate::deadline::Deadline;
use crate::error::RetrievalError;
use crate::question::Question;
use crate::scoring::Formula;
use crate::scratch::Scratch;

/// Leaves every live block's BM25 score in `scratch.scores`, by block number: plain mode.
pub(crate) fn score_blocks(
    corpus: &Corpus,
    question: &Question,
    deadline: Deadline,
    scratch: &mut Scratch,
) -> Result<Found, RetrievalError> {
    let _span = info_span!(target: TRACE, "lexical").entered();
    let formula = &Formula::PLAIN;
    let plain = corpus.plain();
    scratch.scores.reset(corpus.blocks);
    scratch.term.reset(corpus.blocks);
    let mut known = KnownTerms::new();
    for term in &question.wanted {
        if corpus.is_absent(term, LookUp::Plain) {
            continue;
        }
        for (segment, norms) in corpus.segments.iter().zip(&plain.norms) {
            deadline.check()?;
            for field in Field::ALL {
                if formula.weights[field.index()] <= 0.0 {
                    continue;
                }
                let sums = &mut scratch.term;
                segment
                    .reader
                    .postings(field, term, &mut |block, frequency| {
                        let norm = norms[block as usize];
                        sums.add(
                            (segment.base + block as usize) as u32,
                            frequency as f32 * norm,
                        );
                    })?;
            }
        }
        if scratch.term.touched().is_empty() {
            corpus.found_absent(term, LookUp::Plain);
        }
        let counts = (plain.blocks, scratch.term.touched().len() as u64);
        finish_term(scratch, (term, 1.0), counts, formula, &mut known);
    }
    let is_known = |term: &str| known.iter().any(|(known, _)| known == term);
    let unknown = question.unknown_words(is_known, |_| false).into_iter();
    let unknown = unknown.filter(|word| !question.is_of_asking(word));
    Ok(Found {
        unknown: unknown.map(|word| word.written.clone()).collect(),
        known,
        ..Found::default()
    })
}
