//! The lexical side: walks the postings of a question's terms over all segments.
//!
//! No block-max pruning: pruning bounds are computed with each segment's own average length, so under
//! global statistics they bound nothing (design, section 5). Document frequencies are counted while
//! walking, over live tables (or blocks) only, filters left aside: a filter changes who is ranked,
//! never what a word is worth.

use limn_segment::Field;
use tracing::info_span;

use crate::TRACE;
use crate::corpus::{Corpus, DEAD};
use crate::deadline::Deadline;
use crate::error::RetrievalError;
use crate::question::Question;
use crate::scoring::{Formula, idf};

/// Sparse sums over a dense array that is kept between questions.
#[derive(Default)]
pub(crate) struct Sums {
    values: Vec<f32>,
    touched: Vec<u32>,
}

impl Sums {
    /// Makes room for `size` numbers, all 0.
    fn reset(&mut self, size: usize) {
        for id in self.touched.drain(..) {
            self.values[id as usize] = 0.0;
        }
        if self.values.len() < size {
            self.values.resize(size, 0.0);
        }
    }

    fn add(&mut self, id: u32, amount: f32) {
        // Only positive amounts are ever added, so 0 means untouched.
        if amount > 0.0 {
            let value = &mut self.values[id as usize];
            if *value == 0.0 {
                self.touched.push(id);
            }
            *value += amount;
        }
    }

    /// A number's sum; 0 where nothing was added.
    pub(crate) fn get(&self, id: u32) -> f32 {
        self.values.get(id as usize).copied().unwrap_or(0.0)
    }

    /// The numbers with a sum above 0, in no particular order.
    pub(crate) fn touched(&self) -> &[u32] {
        &self.touched
    }
}

/// What a question's walk needs; kept in a pool between questions.
#[derive(Default)]
pub(crate) struct Scratch {
    term: Sums,
    pub(crate) scores: Sums,
}

/// Terms of a question that occur in the index, with their inverse document frequencies.
pub(crate) type KnownTerms = Vec<(String, f32)>;

/// Leaves every live table's BM25F score in `scratch.scores`, by table number.
pub(crate) fn score_tables(
    corpus: &Corpus,
    question: &Question,
    deadline: Deadline,
    scratch: &mut Scratch,
) -> Result<KnownTerms, RetrievalError> {
    let _span = info_span!(target: TRACE, "lexical").entered();
    let formula = &Formula::LIMN;
    let tables = corpus.tables.len();
    scratch.scores.reset(tables);
    scratch.term.reset(tables);
    let mut known = KnownTerms::new();
    for term in &question.wanted {
        if corpus.is_absent(term, false) {
            continue;
        }
        for segment in &corpus.segments {
            deadline.check()?;
            for field in Field::ALL {
                let at = field.index();
                if formula.weights[at] <= 0.0 {
                    continue;
                }
                let (sums, norms) = (&mut scratch.term, &corpus.norms[at]);
                segment
                    .reader
                    .posting_runs(field, term, &mut |blocks, frequencies| {
                        for (block, frequency) in blocks.iter().zip(frequencies) {
                            let table = segment.table_of[*block as usize];
                            if table != DEAD {
                                sums.add(table, *frequency as f32 * norms[table as usize]);
                            }
                        }
                    })?;
            }
        }
        if scratch.term.touched.is_empty() {
            corpus.found_absent(term, false);
        }
        finish_term(scratch, term, tables as u64, formula, &mut known);
    }
    Ok(known)
}

/// Leaves every live block's BM25 score in `scratch.scores`, by block number: plain mode.
pub(crate) fn score_blocks(
    corpus: &Corpus,
    question: &Question,
    deadline: Deadline,
    scratch: &mut Scratch,
) -> Result<KnownTerms, RetrievalError> {
    let _span = info_span!(target: TRACE, "lexical").entered();
    let formula = &Formula::PLAIN;
    let plain = corpus.plain();
    scratch.scores.reset(corpus.blocks);
    scratch.term.reset(corpus.blocks);
    let mut known = KnownTerms::new();
    for term in &question.wanted {
        if corpus.is_absent(term, true) {
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
        if scratch.term.touched.is_empty() {
            corpus.found_absent(term, true);
        }
        finish_term(scratch, term, plain.blocks, formula, &mut known);
    }
    Ok(known)
}

/// Moves a term's sums into the scores.
fn finish_term(
    scratch: &mut Scratch,
    term: &str,
    documents: u64,
    formula: &Formula,
    known: &mut KnownTerms,
) {
    let containing = scratch.term.touched.len() as u64;
    if containing == 0 {
        return;
    }
    let weight = idf(documents, containing);
    for id in scratch.term.touched.drain(..) {
        let frequency = std::mem::take(&mut scratch.term.values[id as usize]);
        scratch.scores.add(id, weight * formula.saturate(frequency));
    }
    known.push((term.to_owned(), weight));
}
