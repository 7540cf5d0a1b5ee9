//! From a question to its ranking, before a judge.

use std::iter;

use super::Searcher;
use crate::answer::{Mode, Query, RankedTable, Ranking};
use crate::aside::originals_first;
use crate::deadline::Deadline;
use crate::error::RetrievalError;
use crate::grade::Grading;
use crate::joined::{JoinedBy, SOUGHT, bring_joined};
use crate::known_joins::KnownJoins;
use crate::learned::Weights;
use crate::lexical::{Found, score_blocks, score_tables};
use crate::notes::of_words;
use crate::question::Question;
use crate::ranking::{Ranked, Request, rank_plain, rank_tables};
use crate::scoring::{Formula, alpha_of_values};
use crate::scratch::Scratch;
use crate::selection::Filter;
use crate::shares::Terms;
use crate::spelling::corrected;

/// The ranking of a question, and what it was made with.
pub(crate) struct Candidates {
    pub(crate) ranking: Ranking,
    pub(crate) vector: Vec<f32>,
    pub(crate) found: Found,
    pub(crate) question: Question,
    /// Where was searched, as notes say it.
    pub(crate) place: String,
}

impl Candidates {
    /// No table, and why; the question is not embedded for it.
    fn none(question: Question, note: String) -> Candidates {
        Candidates {
            ranking: Ranking {
                tables: Vec::new(),
                notes: vec![note],
                failures: Vec::new(),
                unknown: Vec::new(),
            },
            vector: Vec::new(),
            found: Found::default(),
            question,
            place: String::new(),
        }
    }
}

impl Searcher {
    /// The ranking before a judge: `k` tables, or `depth` where that is more.
    pub(crate) fn candidates(
        &self,
        query: &Query,
        depth: usize,
    ) -> Result<Candidates, RetrievalError> {
        check(query)?;
        // A vector that is given is wrong before anything is searched.
        let given = query.vector.as_ref().map(|_| self.vector(query));
        let given = given.transpose()?;
        let as_written = || given.clone().map_or_else(|| self.vector(query), Ok);
        let question = Question::new(&query.text, query.mode == Mode::Plain);
        let selection = query.selection.as_deref();
        let filter = Filter::new(&self.corpus, selection, query.prefix.as_deref())?;
        if let Some(note) = self.nothing_to_search(filter.as_ref()) {
            return Ok(Candidates::none(question, note));
        }
        let joins = query.joins.as_ref().filter(|_| query.mode == Mode::Limn);
        let kept = query.k.max(depth);
        let formula = match query.mode {
            Mode::Plain => &Formula::PLAIN,
            Mode::Limn => &Formula::LIMN,
        };
        let keep = kept.max(if joins.is_some() { SOUGHT } else { 0 });
        let asked = (query, filter.as_ref(), keep);
        let mut scratch = self.scratch.take();
        let close = |vector: Vec<f32>| {
            let request = self.request(asked, &vector, None);
            let near = request.first_nearest(formula)?;
            Ok::<_, RetrievalError>((vector, near))
        };
        let (found, near) = self.corpus.with(
            || self.score(query, &question, &mut scratch),
            || close(as_written()?),
        );
        let found = found?;
        let (vector, near) = match (corrected(&query.text, &found.meant), near) {
            (Some(text), _) => close(self.embed(&text)?)?,
            (None, Some(near)) => near?,
            (None, None) => close(as_written()?)?,
        };
        let request = self.request(asked, &vector, Some((&found, &question)));
        let mut outcome = match query.mode {
            Mode::Plain => rank_plain(&request, &scratch, near)?,
            Mode::Limn => rank_tables(&request, (&found, &scratch), near)?,
        };
        let terms = request.terms();
        let known = (&found, &scratch, &question);
        let joined = joins.map(|joins| self.follow_joins(joins, known, &mut outcome.ranked));
        outcome.ranked.truncate(kept);
        let mut notes = of_words(&found, self.corpus.values());
        let place = filter.as_ref().map(Filter::place).unwrap_or_default();
        let is_known = !found.known.is_empty() || !found.short.is_empty();
        let tables = if outcome.is_worth_showing(self.snapshot.dimensions, is_known) {
            let known = (query, &found, &scratch, &question);
            let ranked = (outcome.ranked, joined.unwrap_or_default());
            self.tables_of(ranked, &terms, known, filter.as_ref())
        } else {
            notes.push(format!(
                "nothing relevant was found{place}: no table has a word of the question, and no text is close to it in meaning"
            ));
            Vec::new()
        };
        self.scratch
            .give_back(scratch, self.most_numbers(query.mode));
        let ranking = Ranking {
            tables,
            notes,
            failures: Vec::new(),
            unknown: found.unknown.clone(),
        };
        Ok(Candidates {
            ranking,
            vector,
            found,
            question,
            place,
        })
    }

    /// Moves what joins the first table of a ranking right behind it, and originals before what is
    /// kept aside. Gives the joins of the tables behind the first, in their order.
    fn follow_joins(
        &self,
        joins: &KnownJoins,
        (found, scratch, question): (&Found, &Scratch, &Question),
        ranked: &mut [Ranked],
    ) -> Vec<JoinedBy> {
        let tables = &self.corpus.tables;
        let key = |table: u32| self.corpus.key(&tables[table as usize]).to_key();
        originals_first(joins, (found, scratch, question), key, ranked);
        bring_joined(joins, (found, scratch), key, ranked)
    }

    /// The tables of a ranking with what is to be said of each.
    fn tables_of(
        &self,
        (ranked, joined): (Vec<Ranked>, Vec<JoinedBy>),
        terms: &Terms,
        known: (&Query, &Found, &Scratch, &Question),
        filter: Option<&Filter>,
    ) -> Vec<RankedTable> {
        // The first table is brought by nothing.
        let mut joined = iter::once(None).chain(joined.into_iter().map(Some));
        let tables = ranked.into_iter().map(|ranked| RankedTable {
            joined: joined.next().flatten(),
            shares: terms.shares(&ranked),
            ..self.graded(ranked, known, filter)
        });
        tables.collect()
    }

    /// What of a query ranks tables: as far as is known without what its words found, or by all.
    fn request<'r>(
        &'r self,
        (query, filter, keep): (&Query, Option<&'r Filter>, usize),
        vector: &'r [f32],
        known: Option<(&Found, &Question)>,
    ) -> Request<'r> {
        let alpha = known.map_or(query.alpha, |(found, question)| {
            let share = found.share_of_values(question, self.corpus.tables.len());
            alpha_of_values(query.alpha, share)
        });
        Request {
            corpus: &self.corpus,
            vector,
            filter,
            k: query.k,
            keep,
            candidates: query.candidates,
            alpha,
            weights: match query.mode {
                Mode::Plain => Weights::FORMULA,
                Mode::Limn => self.weights(query),
            },
            named: known.map_or_else(Vec::new, |(found, _)| found.wholes.named()),
            deadline: Deadline(query.until),
        }
    }

    /// The lexical side of a query.
    fn score(
        &self,
        query: &Query,
        question: &Question,
        scratch: &mut Scratch,
    ) -> Result<Found, RetrievalError> {
        let deadline = Deadline(query.until);
        match query.mode {
            Mode::Plain => score_blocks(&self.corpus, question, deadline, scratch),
            Mode::Limn => {
                let embedder = self.embedder.as_ref();
                score_tables(&self.corpus, question, embedder, deadline, scratch)
            }
        }
    }

    /// The question's vector, of unit length.
    fn vector(&self, query: &Query) -> Result<Vec<f32>, RetrievalError> {
        let wrong = |reason: String| Err(RetrievalError::Query { reason });
        let mut vector = match &query.vector {
            Some(vector) => vector.clone(),
            None => self.embed(&query.text)?,
        };
        if vector.len() != self.snapshot.dimensions {
            return wrong(format!(
                "the question's vector has {} dimensions and the index {}",
                vector.len(),
                self.snapshot.dimensions
            ));
        }
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        if !length.is_finite() {
            return wrong("the question's vector holds values that are no numbers".to_owned());
        }
        // A vector that has unit length already keeps its bits.
        if length > 0.0 && (length - 1.0).abs() > 1e-4 {
            for x in &mut vector {
                *x /= length;
            }
        }
        Ok(vector)
    }

    fn nothing_to_search(&self, filter: Option<&Filter>) -> Option<String> {
        if self.corpus.tables.is_empty() {
            return Some("the index holds no tables".to_owned());
        }
        filter.and_then(Filter::nothing_left)
    }

    /// The names of a table's copies, of those that may be found.
    pub(crate) fn copies(&self, table: u32, allows: impl Fn(u32) -> bool) -> Vec<String> {
        let is_other = |copy: &u32| *copy != table && allows(*copy);
        let copies = self.corpus.copies.of_table(table).iter().copied();
        let name = |copy: u32| self.corpus.name(&self.corpus.tables[copy as usize]);
        copies
            .filter(is_other)
            .map(|copy| name(copy).to_owned())
            .collect()
    }

    /// A table of a ranking, with what is to be said of it and of the copies that it stands for:
    /// one of them may be what the question names.
    fn graded(
        &self,
        ranked: Ranked,
        (query, found, scratch, question): (&Query, &Found, &Scratch, &Question),
        filter: Option<&Filter>,
    ) -> RankedTable {
        let allows = |table: &u32| filter.is_none_or(|filter| filter.allows(*table));
        let copies = self.corpus.copies.of_table(ranked.table).iter().copied();
        let others = copies.filter(|copy| *copy != ranked.table && allows(copy));
        let all: Vec<u32> = std::iter::once(ranked.table).chain(others).collect();
        let covered = all.iter().map(|table| found.covered(scratch, *table));
        let covered = covered.fold(0.0, f32::max);
        let exact = all.iter().map(|table| {
            let column_name = |column| self.column_name(*table, column);
            found.wholes.of_table(*table, column_name)
        });
        let exact = exact.max_by_key(Vec::len).unwrap_or_default();
        let mut tables = all.iter();
        let words = question.asked.words;
        let is_named = tables.any(|table| found.wholes.is_named(*table, words));
        let cosine = ranked.cosine.filter(|_| !found.is_exact);
        let worth = Grading::worth(covered, cosine, self.table_count());
        RankedTable {
            grade: (query.mode == Mode::Limn).then(|| query.grading.of(worth, is_named)),
            covered,
            cosine: ranked.cosine,
            key: self
                .corpus
                .key(&self.corpus.tables[ranked.table as usize])
                .to_key(),
            score: ranked.score,
            lexical: ranked.lexical,
            semantic: ranked.semantic,
            features: ranked.features,
            shares: Vec::new(),
            judged: None,
            exact,
            copies: self.copies(ranked.table, |table| allows(&table)),
            joined: None,
            table: ranked.table,
            held: match query.mode {
                Mode::Limn => all.iter().fold(0, |held, it| {
                    held | found.held_anywhere(scratch, question, *it)
                }),
                Mode::Plain => u64::MAX,
            },
            is_named: ranked.is_named,
        }
    }

    /// The name of a column that has a value among many.
    fn column_name(&self, table: u32, column: u32) -> Option<String> {
        let table = &self.corpus.tables[table as usize];
        let reader = &self.corpus.segment_of(table).reader;
        let name = reader.value_column(table.at(), column);
        name.unwrap_or_else(|error| {
            tracing::warn!(%error, "a column that has a value is not named");
            None
        })
    }

    /// For how many numbers a question's scratch may have room and be kept. What is kept serves the
    /// whole index, also where this searcher sees little of it.
    fn most_numbers(&self, mode: Mode) -> usize {
        let segments = self.snapshot.segments.iter();
        match mode {
            Mode::Limn => {
                let tables: usize = segments.map(|it| it.tables as usize).sum();
                2 * tables.max(self.corpus.tables.len())
            }
            Mode::Plain => {
                let blocks: usize = segments.map(|it| it.blocks as usize).sum();
                blocks.max(self.corpus.blocks)
            }
        }
    }
}

/// Whether everything about a query but its vector makes sense.
fn check(query: &Query) -> Result<(), RetrievalError> {
    let wrong = |reason: String| Err(RetrievalError::Query { reason });
    if query.k == 0 || query.candidates == Some(0) {
        return wrong("k and candidates must be at least 1".to_owned());
    }
    if !(0.0..=1.0).contains(&query.alpha) {
        return wrong(format!("alpha is {}, it must be from 0 to 1", query.alpha));
    }
    if query.text.trim().is_empty() {
        return wrong("the question is empty; ask in plain words".to_owned());
    }
    Ok(())
}
