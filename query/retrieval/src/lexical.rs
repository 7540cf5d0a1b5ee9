//! The lexical side: walks the postings of a question's terms over all segments.
//!
//! No block-max pruning: pruning bounds are computed with each segment's own average length, so
//! under global statistics they bound nothing (design, section 5). Document frequencies are counted
//! while walking, over live tables (or blocks) only, filters left aside: a filter changes who is
//! ranked, never what a word is worth.

mod plain;

use std::collections::BTreeSet;

use limn_models::Embedder;
use limn_segment::languages::Language;
use limn_segment::{BlockKind, Field};
use tracing::info_span;

pub(crate) use self::plain::score_blocks;
use crate::TRACE;
use crate::absent_words::LookUp;
use crate::corpus::{Corpus, DEAD};
use crate::deadline::Deadline;
use crate::error::RetrievalError;
use crate::inflected::{forms, languages};
use crate::question::{Question, Word};
use crate::scoring::{Formula, idf};
use crate::scratch::{Scratch, TERM_BITS, TermSums};
use crate::shared::{Shared, long_texts, shared};
use crate::shortened::{ShortForm, add_short};
use crate::spelling::{Meant, corrected, meant};
use crate::wholes::Wholes;

/// What a word counts that is searched as another, of what it counts where it is written so.
const MISSPELT: f32 = 0.5;
/// What an unknown word counts in the question, of what a word that one table has counts: a value
/// that the sample lacks is unknown, too.
pub(crate) const UNKNOWN: f32 = 0.5;
/// What a text counts that all tables have: nothing, but that its words are known.
const NOTHING: f32 = f32::MIN_POSITIVE;
/// A part of a code of at most so many characters is short.
const SHORT_PART: usize = 2;

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
    /// Words that tables have in a short form.
    pub(crate) short: Vec<ShortForm>,
    /// Words that occur nowhere, as written.
    pub(crate) unknown: Vec<String>,
    /// Terms of function words of the index's languages, which are not searched.
    pub(crate) idle: Vec<String>,
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

    /// Which of the known terms a table has, by their places, those of values among many and of
    /// texts about its folders, too.
    pub(crate) fn held_anywhere(&self, scratch: &Scratch, question: &Question, table: u32) -> u64 {
        let matched = scratch.matched.get(table);
        let mut held = matched.own | matched.contexts | matched.indirect;
        for word in &question.words {
            if self.wholes.has_word(word, table) {
                let known = self.known.iter().take(TERM_BITS).enumerate();
                let own = known.filter(|(_, (term, _))| word.terms.contains(term));
                held |= own.fold(0u64, |own, (at, _)| own | 1 << at);
            }
        }
        held
    }

    /// The share of the question's words, by what they are worth, that a table has: 0 to 1.
    pub(crate) fn covered(&self, scratch: &Scratch, table: u32) -> f32 {
        if self.worth > 0.0 {
            scratch.matched.get(table).worth / self.worth
        } else {
            0.0
        }
    }

    /// Which of the known terms a table itself has, by their places.
    pub(crate) fn held(&self, scratch: &Scratch, table: u32) -> u64 {
        scratch.matched.get(table).own
    }

    /// What such terms are worth, as a share of the question: 0 to 1.
    pub(crate) fn share_of(&self, held: u64) -> f32 {
        let terms = self.known.iter().take(TERM_BITS).enumerate();
        let worth = terms.map(|(at, (_, worth))| if held >> at & 1 == 1 { *worth } else { 0.0 });
        if held != 0 && self.worth > 0.0 {
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
    scratch.reset(corpus.tables.len());
    let mut walk = Walk {
        corpus,
        shared: shared(corpus)?,
        deadline,
        scratch,
        found: Found {
            wholes: Wholes::find(corpus, &question.asked, deadline)?,
            is_exact: !question.words.is_empty() && question.words.iter().all(Word::is_exact),
            ..Found::default()
        },
    };
    walk.add_values();
    let languages = languages(corpus, deadline)?;
    let idle = question
        .spellings
        .function_words(&question.wanted, languages);
    for (term, share) in wanted(question, &walk.found) {
        if !idle.iter().any(|it| it == term) {
            let forms = forms(corpus, question, term, deadline)?;
            walk.add_term(term, share, &forms, Some(question))?;
        }
    }
    for pair in &question.pairs {
        walk.add_term(pair, 1.0, &BTreeSet::new(), None)?;
    }
    walk.add_unknown(question, (&idle, languages), embedder)?;
    let mut found = walk.found;
    found.idle.extend(idle);
    // As it is meant, it may be a name.
    if found.wholes.names.is_empty()
        && let Some(text) = corrected(&question.text, &found.meant)
    {
        let meant = Question::new(&text, false);
        found.wholes.names = Wholes::find(corpus, &meant.asked, deadline)?.names;
    }
    Ok(found)
}

/// A question's way through the postings.
struct Walk<'a> {
    corpus: &'a Corpus,
    shared: Option<&'a Shared>,
    deadline: Deadline,
    scratch: &'a mut Scratch,
    found: Found,
}

impl Walk<'_> {
    /// Adds what values are worth that tables have as a whole.
    fn add_values(&mut self) {
        let formula = &Formula::LIMN;
        for value in &self.found.wholes.values {
            let frequency = match value.is_distinct {
                true => formula.distinct,
                false => formula.whole,
            };
            let worth = value.idf * formula.saturate(frequency);
            for table in &value.tables {
                self.scratch.scores.add(*table, worth);
            }
        }
    }

    /// Adds a term, of which `share` counts, to the tables' scores. A table has it as often as it
    /// has it or one of its `forms` in other languages, whichever is most. Tables that have it only
    /// in a short form count, too, where it is a word of the `question`.
    fn add_term(
        &mut self,
        term: &str,
        share: f32,
        forms: &BTreeSet<String>,
        question: Option<&Question>,
    ) -> Result<(), RetrievalError> {
        let formula = &Formula::LIMN;
        let (corpus, scratch) = (self.corpus, &mut *self.scratch);
        let mut words = self.found.wholes.words.iter();
        let among_many = words.find(|word| word.term == term);
        for table in among_many.iter().flat_map(|word| word.tables()) {
            scratch.term.add(table, formula.distinct);
        }
        // Its bit, should it be known.
        let word = u32::try_from(self.found.known.len()).ok();
        let word = word.and_then(|at| 1_u64.checked_shl(at)).unwrap_or(0);
        if !corpus.is_absent(term, LookUp::Term) {
            let into = TermSums {
                sums: &mut scratch.term,
                folder: &mut scratch.folder,
                shared: &mut scratch.shared,
                long: &mut scratch.long,
                matched: &mut scratch.matched,
            };
            if !sum_term((corpus, self.shared), (term, word), self.deadline, into)? {
                corpus.found_absent(term, LookUp::Term);
            }
        }
        for form in forms {
            add_form((corpus, self.shared), (form, word), self.deadline, scratch)?;
        }
        let documents = corpus.tables.len() as u64;
        // A word is as rare as it is without the texts that many tables have, and in these as rare
        // as it is with them.
        let own = scratch.term.touched().len();
        let only_shared = scratch.only_shared();
        let containing = if own > 0 { own } else { only_shared };
        if containing > 0 {
            let worth = share * idf(documents, containing as u64);
            let worth_shared = share * idf(documents, (own + only_shared) as u64);
            for table in scratch.term.touched() {
                // Where its folder's text alone has the word, the sums are the same.
                let is_own = scratch.folder.get(*table) < scratch.term.get(*table);
                let share = if is_own { 1.0 } else { formula.folder };
                let matched = scratch.matched.at(*table);
                matched.worth += worth * share;
                match is_own {
                    true => matched.own |= word,
                    false => matched.indirect |= word,
                }
            }
            scratch.folder.clear();
            self.found.worth += worth;
            let asked = question.and_then(|question| question.word_of(term));
            if let Some(asked) = asked {
                let into = (&mut *scratch, word);
                let looked = (corpus, self.shared);
                add_short(looked, asked, into, self.deadline, &mut self.found.short)?;
            }
            let (own, matched, scores) = (&scratch.term, &mut scratch.matched, &mut scratch.scores);
            scratch.shared.drain(|table, amount| {
                if own.get(table) > 0.0 {
                    return;
                }
                let matched = matched.at(table);
                matched.indirect |= word;
                if amount > NOTHING {
                    matched.worth += worth_shared * formula.folder;
                    scores.add(table, worth_shared * formula.saturate(amount));
                }
            });
        }
        let known = &mut self.found.known;
        let counts = (documents, containing as u64);
        finish_term(scratch, (term, share), counts, formula, known);
        Ok(())
    }

    /// Adds the words of which no term is known, but for `idle` ones: as parts of values, as what
    /// they are meant to be, or else as what the question has and no table.
    fn add_unknown(
        &mut self,
        question: &Question,
        (idle, languages): (&[String], &[Language]),
        embedder: &dyn Embedder,
    ) -> Result<(), RetrievalError> {
        let found = &mut self.found;
        let is_looked_up = |term: &str| found.known.iter().any(|(known, _)| known == term);
        let is_known = |term: &str| is_looked_up(term) || idle.iter().any(|it| it == term);
        // Of a value among many no term may be known, but that tables have it is.
        for value in &found.wholes.values {
            let mut words = question.words.iter();
            let is_missing = |word: &Word| !word.terms.iter().all(|term| is_known(term));
            if words.any(|word| value.words.contains(&word.at) && is_missing(word)) {
                found.worth += value.idf;
                for table in &value.tables {
                    self.scratch.matched.at(*table).worth += value.idf;
                }
            }
        }
        let unknown = question.unknown_words(is_known, |word| {
            found.holds(word) || Question::has_pairs(&word.written, is_looked_up)
        });
        let unknown: Vec<Word> = unknown.into_iter().cloned().collect();
        let spellings = &question.spellings;
        let is_function_word = |term: &String| spellings.is_function_word(term, languages);
        for word in unknown {
            // It may be alone, and say nothing all the same.
            if word.terms.iter().all(is_function_word) {
                self.found.idle.extend(word.terms);
                continue;
            }
            let share = question.share_of(&word);
            let Some(meant) = meant(self.corpus, &word, embedder, self.deadline)? else {
                self.found.worth += share * UNKNOWN * idf(self.corpus.tables.len() as u64, 0);
                if question.is_of_asking(&word) {
                    continue;
                }
                let into = (&mut *self.scratch, 0);
                let short = &mut self.found.short;
                let looked = (self.corpus, self.shared);
                add_short(looked, &word, into, self.deadline, short)?;
                self.found.unknown.push(word.written);
                continue;
            };
            let mut known = self.found.known.iter();
            if !known.any(|(term, _)| *term == meant.term) {
                self.add_term(&meant.term, share * MISSPELT, &BTreeSet::new(), None)?;
            }
            self.found.meant.push(meant);
        }
        Ok(())
    }
}

/// Adds to a term's sums what tables have of one of its forms in another language, where that is
/// more.
fn add_form(
    (corpus, shared): (&Corpus, Option<&Shared>),
    (form, word): (&str, u64),
    deadline: Deadline,
    scratch: &mut Scratch,
) -> Result<(), RetrievalError> {
    if corpus.is_absent(form, LookUp::Form) {
        return Ok(());
    }
    let (sums, folder) = (&mut scratch.form, &mut scratch.form_folder);
    let into = TermSums {
        sums,
        folder,
        shared: &mut scratch.shared,
        long: &mut scratch.long,
        matched: &mut scratch.matched,
    };
    if !sum_term((corpus, shared), (form, word), deadline, into)? {
        corpus.found_absent(form, LookUp::Form);
    }
    for table in sums.touched() {
        if sums.get(*table) > scratch.term.get(*table) {
            scratch.term.set(*table, sums.get(*table));
            scratch.folder.set(*table, folder.get(*table));
        }
    }
    sums.clear();
    folder.clear();
    Ok(())
}

/// Sums up how much of a term each table has; whether any has it.
fn sum_term(
    (corpus, shared): (&Corpus, Option<&Shared>),
    (term, word): (&str, u64),
    deadline: Deadline,
    into: TermSums<'_>,
) -> Result<bool, RetrievalError> {
    let mut is_any = false;
    let long = long_texts(corpus, shared);
    for (number, segment) in corpus.segments.iter().enumerate() {
        deadline.check()?;
        for field in Field::ALL {
            let at = field.index();
            if Formula::LIMN.weights[at] <= 0.0 {
                continue;
            }
            let of_field = shared.filter(|_| field == Field::Contexts);
            let norms = of_field.map_or(&corpus.norms[at][..], Shared::norms);
            // What is said of columns is in schemas, whose words are searched as rows' are.
            let is_of_long = |block: u32, table: u32| {
                long.get(table as usize).is_some_and(|is_long| *is_long)
                    && match field {
                        Field::Contexts => true,
                        Field::Rows => segment.reader.kind(block) == BlockKind::Schema,
                        Field::Names | Field::Cells => false,
                    }
            };
            let is_of_folder =
                |block: u32| field == Field::Rows && is_of_folder(segment.reader.kind(block));
            segment
                .reader
                .posting_runs(field, term, &mut |blocks, frequencies| {
                    for (block, frequency) in blocks.iter().zip(frequencies) {
                        let table = segment.table_of[*block as usize];
                        if table == DEAD {
                            continue;
                        }
                        is_any = true;
                        if let Some(norm) = of_field.and_then(|it| it.norm_of(number, *block)) {
                            let amount = *frequency as f32 * norm;
                            into.shared.raise(table, amount.max(NOTHING));
                            continue;
                        }
                        let amount = *frequency as f32 * norms[table as usize];
                        if is_of_long(*block, table) {
                            into.long.add(table, amount);
                        } else {
                            into.sums.add(table, amount);
                        }
                        if is_of_folder(*block) {
                            into.folder.add(table, amount);
                        }
                        // The 65th word and those after it have no bit.
                        if field == Field::Contexts && word != 0 {
                            into.matched.at(table).contexts |= word;
                        }
                    }
                })?;
        }
    }
    let (long, shared) = (into.long, into.shared);
    long.drain(|table, amount| shared.raise(table, amount));
    Ok(is_any)
}

/// Whether a block whose words are searched as rows' is of a text about a folder.
fn is_of_folder(kind: BlockKind) -> bool {
    matches!(kind, BlockKind::Context | BlockKind::Cells)
}

/// The terms that are looked up, in order, with what share of a word each is: the parts of a code
/// that tables have as a whole are one word together, of another one two at most. Of a code in
/// three parts or more that no table has as a whole, parts of one or two characters are left out,
/// where it has others: they are everywhere. Asking words count less.
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
                question.share_of(word)
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

/// Moves a term's sums into the scores.
fn finish_term(
    scratch: &mut Scratch,
    (term, share): (&str, f32),
    (documents, containing): (u64, u64),
    formula: &Formula,
    known: &mut KnownTerms,
) {
    if containing == 0 {
        return;
    }
    let weight = share * idf(documents, containing);
    let (term_sums, scores) = (&mut scratch.term, &mut scratch.scores);
    term_sums.drain(|id, frequency| scores.add(id, weight * formula.saturate(frequency)));
    known.push((term.to_owned(), weight));
}
