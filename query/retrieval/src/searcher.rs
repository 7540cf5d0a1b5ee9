//! The searcher: one snapshot, opened for questions.

use std::collections::HashSet;
use std::sync::Arc;

use limn_models::Embedder;
use limn_segment::{KeyRef, SegmentCache, Snapshot, TableKey};
use tracing::info_span;

mod candidates;
mod judged;

pub(crate) use candidates::Candidates;

use crate::TRACE;
use crate::answer::{Answer, Hit, Mode, Query, RankedTable, Ranking, ScoredBy};
use crate::bringing::bring;
use crate::corpus::{Corpus, Opened, Segment, Values};
use crate::error::RetrievalError;
use crate::evidence::evidence;
use crate::grade::Grade;
use crate::judge::Verdicts;
use crate::learned::Weights;
use crate::notes::lacked;
use crate::scratch::ScratchPool;
use crate::selection::Selection;
use crate::shared::shared;
use crate::shortened::of_short;
use crate::texts::Texts;
use crate::tuned::Tuned;

/// A snapshot opened for questions. Shared by any number of threads.
pub struct Searcher {
    corpus: Corpus,
    snapshot: Arc<Snapshot>,
    /// The weights of its own that the index has.
    tuned: Option<Weights>,
    embedder: Arc<dyn Embedder>,
    /// Where bytes of remote segments are kept.
    cache: Option<SegmentCache>,
    /// Kept between questions, and shared by all searchers that come of one.
    scratch: Arc<ScratchPool>,
    texts: Arc<Texts>,
}

/// A live table of a searcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableRef<'a> {
    /// Its place among the searcher's tables in the order of their keys, from 0. Another searcher
    /// numbers others.
    pub number: u32,
    /// Its lake and name.
    pub key: KeyRef<'a>,
    /// The URL of its file or folder.
    pub location: &'a str,
}

impl std::fmt::Debug for Searcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Searcher")
            .field("snapshot", &self.snapshot.number)
            .field("tables", &self.corpus.tables.len())
            .field("segments", &self.corpus.segments.len())
            .finish_non_exhaustive()
    }
}

impl Searcher {
    /// A searcher over segments that are open already.
    pub(crate) fn from_segments(
        opened: Vec<Opened>,
        snapshot: Snapshot,
        embedder: Arc<dyn Embedder>,
    ) -> Searcher {
        Searcher {
            corpus: Corpus::new(opened),
            tuned: tuned(&snapshot),
            snapshot: Arc::new(snapshot),
            embedder,
            cache: None,
            scratch: Arc::default(),
            texts: Arc::default(),
        }
    }

    /// As this one, over other segments.
    pub(crate) fn with_segments(&self, opened: Vec<Opened>, snapshot: Snapshot) -> Searcher {
        Searcher {
            corpus: Corpus::new(opened),
            tuned: tuned(&snapshot),
            snapshot: Arc::new(snapshot),
            embedder: Arc::clone(&self.embedder),
            cache: self.cache.clone(),
            scratch: Arc::clone(&self.scratch),
            texts: Arc::clone(&self.texts),
        }
    }

    /// This one, which opens further segments through a cache.
    pub(crate) fn caching(self, cache: Option<SegmentCache>) -> Searcher {
        Searcher { cache, ..self }
    }

    pub(crate) fn cache(&self) -> Option<&SegmentCache> {
        self.cache.as_ref()
    }

    /// The segments that are open.
    pub(crate) fn opened(&self) -> Vec<Opened> {
        self.corpus.segments.iter().map(Segment::opened).collect()
    }

    pub(crate) fn embedder(&self) -> &Arc<dyn Embedder> {
        &self.embedder
    }

    /// A searcher that sees only the tables that are kept, and of them the texts that are made of
    /// rows only where [`Values::Searched`]: access control.
    ///
    /// It answers every question as one over an index that holds nothing else, bit by bit where
    /// vectors are searched exactly: what a word is worth, which words occur nowhere, how many
    /// tables there are. Nothing that it says depends on a table that is not kept. (Times may: it
    /// reads the same segments.)
    ///
    /// Open segments and the embedder are shared. Its own are about 28 bytes a kept table, 4 bytes
    /// a block of the segments that hold one, and 100 kB; others are not part of it. Making it
    /// looks at every table.
    #[must_use]
    pub fn restricted(&self, keep: impl Fn(&TableKey) -> bool, values: Values) -> Searcher {
        Searcher {
            corpus: self.corpus.restricted(keep, values),
            tuned: self.tuned,
            snapshot: Arc::clone(&self.snapshot),
            embedder: Arc::clone(&self.embedder),
            cache: self.cache.clone(),
            scratch: Arc::clone(&self.scratch),
            texts: Arc::clone(&self.texts),
        }
    }

    pub(crate) fn corpus(&self) -> &Corpus {
        &self.corpus
    }

    /// The snapshot that is searched: what was published, also where this searcher is restricted.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Bytes of its own that it takes beside what open segments hold, about: more than its tables'
    /// where these are few in large segments.
    pub fn own_bytes(&self) -> usize {
        self.corpus.own_bytes()
    }

    /// What features count for a query.
    pub(crate) fn weights(&self, query: &Query) -> Weights {
        let own = self.tuned.unwrap_or(Weights::LEARNED);
        query.weights.unwrap_or(own)
    }

    /// What scores the tables that a query finds.
    pub fn scored_by(&self, query: &Query) -> ScoredBy {
        match (query.mode, query.weights) {
            (Mode::Plain, _) => ScoredBy::Plain,
            _ if query.alpha <= 0.0 || query.alpha >= 1.0 => ScoredBy::Formula,
            (_, Some(given)) if given == Weights::FORMULA => ScoredBy::Formula,
            (_, Some(_)) => ScoredBy::Given,
            (_, None) if self.tuned.is_some() => ScoredBy::Tuned,
            (_, None) => ScoredBy::Learned,
        }
    }

    /// The number of live tables.
    pub fn table_count(&self) -> usize {
        self.corpus.tables.len()
    }

    /// The names of the live tables of all lakes.
    pub fn names(&self) -> HashSet<&str> {
        let tables = self.corpus.tables.iter();
        tables.map(|table| self.corpus.name(table)).collect()
    }

    /// The live tables, in the order of their numbers.
    pub fn tables(&self) -> impl ExactSizeIterator<Item = TableRef<'_>> {
        let numbered = self.corpus.tables.iter().enumerate();
        numbered.map(|(number, table)| TableRef {
            number: number as u32,
            key: self.corpus.key(table),
            location: self.corpus.location(table),
        })
    }

    /// The table with this key, if it is live (and kept, where this searcher is restricted).
    pub fn table(&self, key: &TableKey) -> Option<TableRef<'_>> {
        let number = self.corpus.number_of(key)?;
        let table = &self.corpus.tables[number as usize];
        Some(TableRef {
            number,
            key: self.corpus.key(table),
            location: self.corpus.location(table),
        })
    }

    /// A table as it is found without any word of a question, if it is live.
    #[must_use]
    pub fn unranked(&self, key: &TableKey) -> Option<Hit> {
        let table = self.table(key)?;
        Some(Hit {
            table: key.name.clone(),
            lake: key.lake.clone(),
            location: table.location.to_owned(),
            score: 0.0,
            grade: None,
            covered: 0.0,
            cosine: None,
            lexical: 0.0,
            semantic: 0.0,
            name_match: 0.0,
            context_match: 0.0,
            shares: Vec::new(),
            judged: None,
            exact: Vec::new(),
            copies: Vec::new(),
            joined: None,
            blocks: Vec::new(),
        })
    }

    /// The tables that fit, as a filter for questions to this searcher ([`Query::selection`]).
    pub fn select(&self, fits: impl Fn(&TableKey) -> bool) -> Selection {
        let mut key = TableKey {
            lake: String::new(),
            name: String::new(),
        };
        let fitting = self.tables().filter(|table| {
            table.key.write_to(&mut key);
            fits(&key)
        });
        self.select_numbers(fitting.map(|table| table.number))
    }

    /// As [`select`](Self::select), for callers that know the tables' numbers
    /// ([`TableRef::number`]).
    pub fn select_numbers(&self, numbers: impl IntoIterator<Item = u32>) -> Selection {
        Selection::new(&self.corpus, numbers.into_iter())
    }

    /// Whether a question takes a millisecond or two: it has few blocks to look at, and
    /// [`bring`](Self::bring) has brought them.
    pub fn is_quick(&self) -> bool {
        self.corpus.is_quick()
    }

    /// Brings what questions read of remote segments, many segments at a time, if all of them have
    /// room in the cache, and looks up which texts many tables have. Questions need not wait for
    /// it: they read what is not here yet. What cannot be read is logged.
    pub fn bring(&self) {
        if !bring(&self.corpus, self.cache.as_ref()) {
            return;
        }
        self.corpus.is_here();
        if let Err(error) = shared(&self.corpus) {
            tracing::warn!(%error, "the texts that many tables have are not known: questions look them up");
        }
    }

    /// A question's vector, of unit length.
    ///
    /// # Errors
    /// Where the model fails.
    pub fn embed(&self, text: &str) -> Result<Vec<f32>, RetrievalError> {
        Ok(self.embedder.embed_question(text)?)
    }

    /// The tables that answer a question, each with the texts that made it match.
    ///
    /// Computes and reads on the calling thread; on an async runtime use `spawn_blocking`.
    ///
    /// # Errors
    /// Where the query makes no sense, the embedder fails, a segment cannot be read, or time is up.
    /// A judge that fails is a note.
    pub fn search(&self, query: &Query) -> Result<Answer, RetrievalError> {
        self.search_knowing(query, &mut Verdicts::new())
    }

    /// As [`search`](Self::search), with verdicts that the query's judge gave on the same question
    /// before: tables whose text it judged are not asked about again. New ones are added, failures
    /// are not. The answer is that of `search`, but for the notes on what went wrong with the
    /// model, which are of the tables that were asked about.
    ///
    /// # Errors
    /// As [`search`](Self::search); verdicts that were given by then are added.
    pub fn search_knowing(
        &self,
        query: &Query,
        verdicts: &mut Verdicts,
    ) -> Result<Answer, RetrievalError> {
        let Candidates {
            ranking,
            vector,
            found,
            question,
            ..
        } = self.rank_with(query, verdicts)?;
        let grade = best_grade(&ranking.tables);
        let lacked = lacked(&question, &found, &ranking.tables);
        let mut results = Vec::with_capacity(ranking.tables.len());
        let sought = found.sought();
        let _span = info_span!(target: TRACE, "evidence").entered();
        for ranked in ranking.tables {
            let table = &self.corpus.tables[ranked.table as usize];
            results.push(Hit {
                table: ranked.key.name,
                lake: ranked.key.lake,
                location: self.corpus.location(table).to_owned(),
                score: ranked.score,
                grade: ranked.grade,
                covered: ranked.covered,
                cosine: ranked.cosine,
                lexical: ranked.lexical,
                semantic: ranked.semantic,
                name_match: ranked.features.name,
                context_match: ranked.features.contexts,
                shares: ranked.shares,
                judged: ranked.judged,
                exact: ranked.exact,
                copies: ranked.copies,
                joined: ranked.joined,
                blocks: evidence(
                    &self.corpus,
                    &self.texts,
                    table,
                    &vector,
                    &sought,
                    query.evidence,
                )?,
            });
        }
        let mut notes = of_short(&found, &results);
        notes.extend(ranking.notes);
        Ok(Answer {
            question: query.text.clone(),
            snapshot: self.snapshot.number,
            ranking: self.scored_by(query),
            grade,
            results,
            notes,
            failures: ranking.failures,
            unknown: ranking.unknown,
            lacked,
        })
    }

    /// The ranking alone, without reading any text: what measuring needs.
    ///
    /// # Errors
    /// As [`Searcher::search`].
    pub fn rank(&self, query: &Query) -> Result<Ranking, RetrievalError> {
        Ok(self.rank_with(query, &mut Verdicts::new())?.ranking)
    }
}

/// The weights of its own that a snapshot has. None where it has some that cannot be used: they
/// change an order, and are no reason not to answer.
fn tuned(snapshot: &Snapshot) -> Option<Weights> {
    let tuned = Tuned::of(snapshot).unwrap_or_else(|error| {
        tracing::warn!("limn's own weights rank: {error}");
        None
    });
    tuned.map(|it| it.weights)
}

/// The best grade of the tables of an answer; one that a judge rejected is unlikely.
pub(crate) fn best_grade(tables: &[RankedTable]) -> Option<Grade> {
    let grade = |table: &RankedTable| match table.judged {
        Some(false) => table.grade.map(|_| Grade::Unlikely),
        _ => table.grade,
    };
    tables.iter().filter_map(grade).max()
}
