//! The lexical side: walks the postings of a question's terms over all segments.
//!
//! No block-max pruning: pruning bounds are computed with each segment's own average length, so
//! under global statistics they bound nothing (design, section 5). Document frequencies are counted
//! while walking, over live tables (or blocks) only, filters left aside: a filter changes who is
//! ranked, never what a word is worth.

use std::collections::BTreeSet;

use limn_models::Embedder;
use limn_segment::{BlockKind, Field};
use tracing::info_span;

use crate::TRACE;
use crate::corpus::{Corpus, DEAD, Looked};
use crate::deadline::Deadline;
use crate::error::RetrievalError;
use crate::inflected::languages;
use crate::question::{Question, Word};
use crate::scoring::{Formula, idf};
use crate::spelling::{Meant, corrected, meant};
use crate::wholes::{HeldValue, Wholes};

/// What a word counts that is searched as another, of what it counts where it is written so.
const MISSPELT: f32 = 0.5;
/// What an unknown word counts in the question, of what a word that one table has counts: a value
/// that the sample lacks is unknown, too.
const UNKNOWN: f32 = 0.5;
/// A part of a code of at most so many characters is short.
const SHORT_PART: usize = 2;

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

    /// Takes the place of a smaller sum.
    fn set(&mut self, id: u32, amount: f32) {
        if amount > 0.0 && self.values[id as usize] == 0.0 {
            self.touched.push(id);
        }
        self.values[id as usize] = amount;
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

/// Which of a question's words each table has; kept between questions, as [`Sums`] are.
#[derive(Default)]
pub(crate) struct Held {
    words: Vec<u64>,
    touched: Vec<u32>,
}

impl Held {
    fn reset(&mut self, size: usize) {
        for id in self.touched.drain(..) {
            self.words[id as usize] = 0;
        }
        if self.words.len() < size {
            self.words.resize(size, 0);
        }
    }

    fn add(&mut self, id: u32, word: u64) {
        // The 65th word and those after it have no bit.
        if word == 0 {
            return;
        }
        let words = &mut self.words[id as usize];
        if *words == 0 {
            self.touched.push(id);
        }
        *words |= word;
    }

    fn get(&self, id: u32) -> u64 {
        self.words.get(id as usize).copied().unwrap_or(0)
    }
}

/// What a question's walk needs; kept in a pool between questions.
#[derive(Default)]
pub(crate) struct Scratch {
    term: Sums,
    pub(crate) scores: Sums,
    /// Of `term` what texts about folders have.
    folder: Sums,
    /// As these two, of a form of the term.
    form: Sums,
    form_folder: Sums,
    /// What the question's words that it has are worth, by table.
    covered: Sums,
    /// Which words these are, by their places among the known terms; of more than 64 the first.
    held: Held,
    /// Which of them texts about the table have.
    contexts: Held,
}

impl Scratch {
    /// Which of the known terms texts about a table have, by their places.
    pub(crate) fn of_contexts(&self, table: u32) -> u64 {
        self.contexts.get(table)
    }
}

/// Terms of a question that occur in the index, with what each is worth: its inverse document
/// frequency, of which the parts of a code share one.
pub(crate) type KnownTerms = Vec<(String, f32)>;

/// What of a question the index has.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) known: KnownTerms,
    pub(crate) wholes: Wholes,
    /// Words that are searched as others.
    pub(crate) meant: Vec<Meant>,
    /// Words that occur nowhere, as written.
    pub(crate) unknown: Vec<String>,
    /// Whether all words of the question are codes or numbers, of which meaning says nothing.
    pub(crate) is_exact: bool,
    /// What the words of the question are worth.
    pub(crate) worth: f32,
}

impl Found {
    /// Whether a word is in a value that a table has as a whole.
    pub(crate) fn holds(&self, word: &Word) -> bool {
        let mut values = self.wholes.values.iter();
        values.any(|value| value.words.contains(&word.at))
    }

    /// Whether the question is nothing but values that tables have: one as a whole, or codes and
    /// numbers.
    pub(crate) fn is_all_values(&self, question: &Question) -> bool {
        let is_whole = |value: &HeldValue| value.words == (0..question.asked.words);
        let is_known = |word: &Word| {
            let mut known = self.known.iter();
            self.holds(word) || known.any(|(term, _)| word.terms.contains(term))
        };
        let is_word = question.asked.words == 1 && !self.wholes.words.is_empty();
        self.wholes.values.iter().any(is_whole)
            || is_word
            || (question.words.iter().all(Word::is_exact) && question.words.iter().any(is_known))
    }

    /// The share of the question, by what its words are worth, that are values which tables have:
    /// codes, numbers, names and what is quoted. 1 where it is nothing else.
    pub(crate) fn share_of_values(&self, question: &Question, tables: usize) -> f32 {
        if self.is_all_values(question) {
            return 1.0;
        }
        let values = self.wholes.values.iter().filter(|value| value.is_distinct);
        let is_within = |word: &Word| values.clone().any(|it| it.words.contains(&word.at));
        let mut worth: f32 = values.clone().map(|value| value.idf).sum();
        let mut others = 0.0;
        for word in question.words.iter().filter(|word| !is_within(word)) {
            let mut known = self.known.iter();
            let of_word = known.find(|(term, _)| word.terms.contains(term));
            let of_word = of_word.map_or(UNKNOWN * idf(tables as u64, 0), |(_, worth)| *worth);
            let mut held = self.wholes.words.iter();
            match held.any(|held| word.terms.contains(&held.term)) {
                true => worth += of_word,
                false => others += of_word,
            }
        }
        match worth > 0.0 {
            true => worth / (worth + others),
            false => 0.0,
        }
    }

    /// The share of the question's words, by what they are worth, that a table has: 0 to 1.
    pub(crate) fn covered(&self, scratch: &Scratch, table: u32) -> f32 {
        if self.worth > 0.0 {
            scratch.covered.get(table) / self.worth
        } else {
            0.0
        }
    }

    /// Which of the known terms a table itself has, by their places.
    pub(crate) fn held(&self, scratch: &Scratch, table: u32) -> u64 {
        scratch.held.get(table)
    }

    /// What such terms are worth, as a share of the question: 0 to 1.
    pub(crate) fn share_of(&self, held: u64) -> f32 {
        let terms = self.known.iter().take(64).enumerate();
        let worth = terms.map(|(at, (_, worth))| if held >> at & 1 == 1 { *worth } else { 0.0 });
        if self.worth > 0.0 {
            worth.sum::<f32>() / self.worth
        } else {
            0.0
        }
    }
}

/// Leaves every live table's BM25F score in `scratch.scores`, by table number.
pub(crate) fn score_tables(
    corpus: &Corpus,
    question: &Question,
    embedder: &dyn Embedder,
    deadline: Deadline,
    scratch: &mut Scratch,
) -> Result<Found, RetrievalError> {
    let _span = info_span!(target: TRACE, "lexical").entered();
    let formula = &Formula::LIMN;
    let tables = corpus.tables.len();
    scratch.covered.reset(tables);
    scratch.held.reset(tables);
    scratch.contexts.reset(tables);
    scratch.folder.reset(tables);
    scratch.form.reset(tables);
    scratch.form_folder.reset(tables);
    scratch.scores.reset(tables);
    scratch.term.reset(tables);
    let mut found = Found {
        wholes: Wholes::find(corpus, &question.asked, deadline)?,
        is_exact: !question.words.is_empty() && question.words.iter().all(Word::is_exact),
        ..Found::default()
    };
    for value in &found.wholes.values {
        let frequency = match value.is_distinct {
            true => formula.distinct,
            false => formula.whole,
        };
        let worth = value.idf * formula.saturate(frequency);
        for table in &value.tables {
            scratch.scores.add(*table, worth);
        }
    }
    let languages = languages(corpus, deadline)?;
    let idle = question
        .spellings
        .function_words(&question.wanted, languages);
    let is_idle = |term: &str| idle.iter().any(|it| it == term);
    for (term, share) in wanted(question, &found) {
        if is_idle(term) {
            continue;
        }
        let forms = question.spellings.marked(term, languages);
        score_term(corpus, (term, share), &forms, deadline, scratch, &mut found)?;
    }
    let no_forms = BTreeSet::new();
    for pair in &question.pairs {
        score_term(
            corpus,
            (pair, 1.0),
            &no_forms,
            deadline,
            scratch,
            &mut found,
        )?;
    }
    let is_looked_up = |term: &str| found.known.iter().any(|(known, _)| known == term);
    let is_known = |term: &str| is_looked_up(term) || is_idle(term);
    // Of a value among many no term may be known, but that tables have it is.
    for value in &found.wholes.values {
        let mut words = question.words.iter();
        let is_missing = |word: &Word| !word.terms.iter().all(|term| is_known(term));
        if words.any(|word| value.words.contains(&word.at) && is_missing(word)) {
            found.worth += value.idf;
            for table in &value.tables {
                scratch.covered.add(*table, value.idf);
            }
        }
    }
    let unknown = question.unknown_words(is_known, |word| {
        found.holds(word) || Question::has_pairs(&word.written, is_looked_up)
    });
    let unknown: Vec<Word> = unknown.into_iter().cloned().collect();
    for word in unknown {
        let Some(meant) = meant(corpus, &word, embedder, deadline)? else {
            found.worth += UNKNOWN * idf(tables as u64, 0);
            if !question.is_of_asking(&word) {
                found.unknown.push(word.written);
            }
            continue;
        };
        if !found.known.iter().any(|(term, _)| *term == meant.term) {
            score_term(
                corpus,
                (&meant.term, MISSPELT),
                &no_forms,
                deadline,
                scratch,
                &mut found,
            )?;
        }
        found.meant.push(meant);
    }
    // As it is meant, it may be a name.
    if found.wholes.names.is_empty()
        && let Some(text) = corrected(&question.text, &found.meant)
    {
        let meant = Question::new(&text, false);
        found.wholes.names = Wholes::find(corpus, &meant.asked, deadline)?.names;
    }
    Ok(found)
}

/// Adds a term, of which `share` counts, to the tables' scores. A table has it as often as it has
/// it or one of its `forms` in other languages, whichever is most.
fn score_term(
    corpus: &Corpus,
    (term, share): (&str, f32),
    forms: &BTreeSet<String>,
    deadline: Deadline,
    scratch: &mut Scratch,
    found: &mut Found,
) -> Result<(), RetrievalError> {
    let formula = &Formula::LIMN;
    let mut words = found.wholes.words.iter();
    let among_many = words.find(|word| word.term == term);
    for table in among_many.iter().flat_map(|word| word.tables()) {
        scratch.term.add(table, formula.distinct);
    }
    // Its bit, should it be known.
    let word = u32::try_from(found.known.len()).ok();
    let word = word.and_then(|at| 1_u64.checked_shl(at)).unwrap_or(0);
    if !corpus.is_absent(term, Looked::Term) {
        let into = (
            &mut scratch.term,
            &mut scratch.folder,
            &mut scratch.contexts,
        );
        sum_term(corpus, (term, word), deadline, into)?;
        if scratch.term.touched.is_empty() {
            corpus.found_absent(term, Looked::Term);
        }
    }
    for form in forms {
        if corpus.is_absent(form, Looked::Term) {
            continue;
        }
        let (sums, folder) = (&mut scratch.form, &mut scratch.form_folder);
        let into = (&mut *sums, &mut *folder, &mut scratch.contexts);
        sum_term(corpus, (form, word), deadline, into)?;
        if sums.touched.is_empty() {
            corpus.found_absent(form, Looked::Term);
        }
        for table in &sums.touched {
            if sums.get(*table) > scratch.term.get(*table) {
                scratch.term.set(*table, sums.get(*table));
                scratch.folder.set(*table, folder.get(*table));
            }
        }
        sums.reset(0);
        folder.reset(0);
    }
    let documents = corpus.tables.len() as u64;
    if !scratch.term.touched.is_empty() {
        let worth = share * idf(documents, scratch.term.touched.len() as u64);
        for table in &scratch.term.touched {
            // Where its folder's text alone has the word, the sums are the same.
            let is_own = scratch.folder.get(*table) < scratch.term.get(*table);
            let share = if is_own { 1.0 } else { formula.folder };
            scratch.covered.add(*table, worth * share);
            if is_own {
                scratch.held.add(*table, word);
            }
        }
        scratch.folder.reset(0);
        found.worth += worth;
    }
    finish_term(scratch, (term, share), documents, formula, &mut found.known);
    Ok(())
}

/// Adds how much of a term each table has to the first sums, to the second what of it texts about
/// folders have, and its bit where texts about the table have it.
fn sum_term(
    corpus: &Corpus,
    (term, word): (&str, u64),
    deadline: Deadline,
    (sums, folder, contexts): (&mut Sums, &mut Sums, &mut Held),
) -> Result<(), RetrievalError> {
    for segment in &corpus.segments {
        deadline.check()?;
        for field in Field::ALL {
            let at = field.index();
            if Formula::LIMN.weights[at] <= 0.0 {
                continue;
            }
            let norms = &corpus.norms[at];
            let is_of_folder =
                |block: u32| field == Field::Rows && is_of_folder(segment.reader.kind(block));
            segment
                .reader
                .posting_runs(field, term, &mut |blocks, frequencies| {
                    for (block, frequency) in blocks.iter().zip(frequencies) {
                        let table = segment.table_of[*block as usize];
                        if table != DEAD {
                            let amount = *frequency as f32 * norms[table as usize];
                            sums.add(table, amount);
                            if is_of_folder(*block) {
                                folder.add(table, amount);
                            }
                            if field == Field::Contexts {
                                contexts.add(table, word);
                            }
                        }
                    }
                })?;
        }
    }
    Ok(())
}

/// Whether a block whose words are searched as rows' is of a text about a folder.
fn is_of_folder(kind: BlockKind) -> bool {
    matches!(kind, BlockKind::Context | BlockKind::Cells)
}

/// The terms that are looked up, in order, with what share of a word each is: the parts of a code
/// that tables have as a whole are one word together, of another one two at most. Of a code in
/// three parts or more that no table has as a whole, parts of one or two characters are left out,
/// where it has others: they are everywhere.
fn wanted<'q>(question: &'q Question, found: &Found) -> Vec<(&'q str, f32)> {
    let share = |term: &String| {
        let words = question
            .words
            .iter()
            .filter(|word| word.terms.contains(term));
        let shares = words.map(|word| {
            let parts = word.terms.len();
            let is_long = |part: &String| part.chars().nth(SHORT_PART).is_some();
            if !word.is_code {
                1.0
            } else if found.holds(word) {
                1.0 / parts as f32
            } else if parts > 2 && !is_long(term) && word.terms.iter().any(is_long) {
                0.0
            } else {
                (2.0 / parts as f32).min(1.0)
            }
        });
        shares.reduce(f32::max).unwrap_or(1.0)
    };
    let terms = question.wanted.iter();
    let terms = terms.map(|term| (term.as_str(), share(term)));
    terms.filter(|(_, share)| *share > 0.0).collect()
}

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
        if corpus.is_absent(term, Looked::Plain) {
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
            corpus.found_absent(term, Looked::Plain);
        }
        finish_term(scratch, (term, 1.0), plain.blocks, formula, &mut known);
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

/// Moves a term's sums into the scores.
fn finish_term(
    scratch: &mut Scratch,
    (term, share): (&str, f32),
    documents: u64,
    formula: &Formula,
    known: &mut KnownTerms,
) {
    let containing = scratch.term.touched.len() as u64;
    if containing == 0 {
        return;
    }
    let weight = share * idf(documents, containing);
    for id in scratch.term.touched.drain(..) {
        let frequency = std::mem::take(&mut scratch.term.values[id as usize]);
        scratch.scores.add(id, weight * formula.saturate(frequency));
    }
    known.push((term.to_owned(), weight));
}
