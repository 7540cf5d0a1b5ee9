//! A question, answered by a set: in two steps, as the columns of the candidates are read between
//! them.

use std::collections::HashMap;
use std::sync::Arc;

use limn_retrieval::notes::listed;
use limn_retrieval::{Alike, Answer, Hit, KnownJoins, Query, RetrievalError, Searcher, is_aside};
use limn_segment::{TableKey, is_under};
use limn_store::one_line;
use serde::Serialize;

use crate::columns::{Family, TableColumns};
use crate::parts::{Part, parts};
use crate::plan::Plan;
use crate::set::{Candidate, SetSize, Sets};

/// Tables that the ranking gives, and among which a set is chosen: the first fifty hold all needed
/// tables four times as often as the first five.
const RANKED: usize = 100;
const CANDIDATES: usize = 50;
/// Of the ranking's first tables, those whose joins may lead to others, and how many others.
const CONNECTED: usize = 20;
const BRIDGES: usize = 10;
/// Columns of all candidates, at most: each is compared with all others.
const MOST_COLUMNS: usize = 2_000;
/// So many like tables of a folder are a family, of which the one that ranks first is a candidate.
const FAMILY: usize = 3;

/// The tables that answer a question together, as search answers, with how they join.
#[derive(Clone, Debug, Serialize)]
pub struct SetAnswer {
    /// The tables: first those that join, in the order of the plan, then those that nothing
    /// connects.
    #[serde(flatten)]
    pub answer: Answer,
    /// What the question was read as.
    pub parts: Vec<String>,
    /// How they join.
    pub plan: Plan,
    /// How much better another set of this size may be, as a share of this one's worth: 0 unless
    /// there was no time to look at all of them.
    pub gap: f64,
}

/// What a set is chosen among: the ranking, and tables that join its first ones.
#[derive(Clone, Debug)]
pub struct Ranked {
    answer: Answer,
    bridges: Vec<Hit>,
    /// The question's vector.
    vector: Vec<f32>,
}

impl Ranked {
    /// The tables whose columns are needed.
    pub fn tables(&self) -> impl Iterator<Item = TableKey> {
        self.answer
            .results
            .iter()
            .chain(&self.bridges)
            .map(Hit::key)
    }
}

/// What a set is asked for.
#[derive(Clone, Debug)]
pub struct SetQuery {
    /// The question and where it is asked. Its k does not count, and nothing is judged.
    pub query: Query,
    /// How many tables are wanted.
    pub size: SetSize,
    /// The question's parts; by rules, where they are not given.
    pub parts: Option<Vec<Part>>,
}

impl SetQuery {
    /// The first step: the ranking, without texts, and the tables that join two of its first ones
    /// though the question does not name them.
    ///
    /// # Errors
    /// As [`Searcher::search`].
    pub fn candidates(
        &self,
        searcher: &Searcher,
        known: &KnownJoins,
    ) -> Result<Ranked, RetrievalError> {
        let given = self.query.vector.clone();
        let vector = given.map_or_else(|| searcher.embed(&self.query.text), Ok)?;
        let answer = searcher.search(&Query {
            k: RANKED,
            candidates: self.query.candidates.or(Some(1)),
            vector: Some(vector.clone()),
            evidence: 0,
            judge: None,
            joins: None,
            ..self.query.clone()
        })?;
        let first = answer.results.iter().take(CONNECTED).map(Hit::key);
        let first: Vec<TableKey> = first.collect();
        // A copy joins what its original joins.
        let is_ranked = |key: &TableKey| {
            let is_it = |hit: &Hit| hit.table == key.name || hit.copies.contains(&key.name);
            answer
                .results
                .iter()
                .any(|hit| hit.lake == key.lake && is_it(hit))
        };
        let fits = |key: &TableKey| self.allows(searcher, key) && !is_ranked(key);
        let bridges = known.between(&first, BRIDGES, fits);
        let bridges = bridges.iter().filter_map(|key| searcher.unranked(key));
        let bridges = bridges.collect();
        Ok(Ranked {
            answer,
            bridges,
            vector,
        })
    }

    fn allows(&self, searcher: &Searcher, key: &TableKey) -> bool {
        let prefix = self.query.prefix.as_deref();
        let selected = |number| {
            self.query
                .selection
                .as_ref()
                .is_none_or(|it| it.contains(number))
        };
        let table = searcher.table(key);
        prefix.is_none_or(|prefix| is_under(&key.name, prefix))
            && table.is_some_and(|table| selected(table.number))
    }

    /// The second step: the set among the candidates, with the texts that make each of its tables
    /// match. A candidate without columns is none.
    ///
    /// # Errors
    /// As [`Searcher::search`].
    pub fn answer(
        &self,
        sets: &Sets,
        searcher: &Searcher,
        known: &KnownJoins,
        ranked: Ranked,
        columns: &HashMap<TableKey, Arc<TableColumns>>,
    ) -> Result<SetAnswer, RetrievalError> {
        let Ranked {
            answer: ranked,
            bridges,
            vector,
        } = ranked;
        let Candidates {
            mut hits,
            mut candidates,
            families,
            folded,
        } = candidates(ranked.results, columns, known);
        add_bridges(bridges, columns, &mut hits, &mut candidates);
        let given = self.parts.clone();
        let parts = given.unwrap_or_else(|| parts(&self.query.text));
        let found = sets.find(&candidates, &parts, self.size, known)?;
        let chosen = found.chosen.iter().map(|at| hits[*at].take());
        let mut results: Vec<Hit> = chosen.flatten().collect();
        let lacked = self.add_texts(searcher, vector, &mut results)?;
        let mut notes = ranked.notes;
        if !lacked.is_empty() {
            let words = listed(&lacked);
            notes.push(format!(
                "no table of the set has these words of the question, which others have: {words}"
            ));
        }
        for at in &found.chosen {
            let of_it = folded.iter().filter(|it| it.into == *at);
            notes.extend(of_it.map(|it| it.note(&candidates[*at].columns.table.name)));
            if let Some(size) = families.get(at) {
                notes.push(format!(
                    "'{}' stands for {size} tables of its folder with the same columns: limn tables --like lists them",
                    one_line(&candidates[*at].columns.table.name)
                ));
            }
        }
        if results.len() < found.chosen.len().max(self.least()) {
            notes.push(format!("there are {} candidates only", candidates.len()));
        }
        Ok(SetAnswer {
            answer: Answer {
                grade: results.iter().filter_map(|hit| hit.grade).max(),
                results,
                notes,
                lacked,
                ..ranked
            },
            parts: parts.iter().map(Part::to_string).collect(),
            plan: found.plan,
            gap: found.gap,
        })
    }

    fn least(&self) -> usize {
        match self.size {
            SetSize::Given(k) => k,
            SetSize::Auto => 0,
        }
    }

    /// Adds the texts that make tables match. Gives the question's words that none of them has and
    /// others have.
    fn add_texts(
        &self,
        searcher: &Searcher,
        vector: Vec<f32>,
        hits: &mut [Hit],
    ) -> Result<Vec<String>, RetrievalError> {
        if hits.is_empty() || self.query.evidence == 0 {
            return Ok(Vec::new());
        }
        let numbers = hits.iter().filter_map(|hit| searcher.table(&hit.key()));
        let numbers: Vec<u32> = numbers.map(|table| table.number).collect();
        let found = searcher.search(&Query {
            k: hits.len(),
            vector: Some(vector),
            judge: None,
            joins: None,
            selection: Some(searcher.select_numbers(numbers).into()),
            ..self.query.clone()
        })?;
        let texts = found.results.into_iter().map(|hit| (hit.key(), hit.blocks));
        let mut texts: HashMap<TableKey, _> = texts.collect();
        for hit in hits {
            hit.blocks = texts.remove(&hit.key()).unwrap_or_default();
        }
        Ok(found.lacked)
    }
}

/// Adds tables that join two candidates, with the least score of these, as far as there is room for
/// their columns.
fn add_bridges(
    bridges: Vec<Hit>,
    columns: &HashMap<TableKey, Arc<TableColumns>>,
    hits: &mut Vec<Option<Hit>>,
    candidates: &mut Vec<Candidate>,
) {
    let least = candidates.iter().map(|it| it.score).reduce(f32::min);
    let Some(score) = least else { return };
    let widths = candidates.iter().map(|it| it.columns.columns.len());
    let mut width: usize = widths.sum();
    for hit in bridges {
        let Some(columns) = columns.get(&hit.key()) else {
            continue;
        };
        width += columns.columns.len();
        if width > MOST_COLUMNS {
            return;
        }
        let columns = Arc::clone(columns);
        candidates.push(Candidate { score, columns });
        hits.push(Some(hit));
    }
}

/// What a set is chosen among.
#[derive(Default)]
struct Candidates {
    /// Each as it was found, and as a candidate.
    hits: Vec<Option<Hit>>,
    candidates: Vec<Candidate>,
    /// Of those that stand for a family, how many tables of it were ranked.
    families: HashMap<usize, usize>,
    /// The tables of the same columns that some stand for.
    folded: Vec<Folded>,
}

/// A table that another candidate stands for.
struct Folded {
    /// The number of the candidate.
    into: usize,
    table: String,
    /// What the candidate is to it.
    alike: Alike,
    /// Whether it gave way because it is kept aside.
    is_aside: bool,
}

impl Folded {
    /// What is said of it beside the candidate, of this name.
    fn note(&self, candidate: &str) -> String {
        let (table, candidate) = (one_line(&self.table), one_line(candidate));
        match self.alike {
            _ if self.is_aside => format!(
                "'{table}' is kept aside and has the same columns as '{candidate}', and is left out"
            ),
            Alike::Copy => {
                format!("'{table}' is a copy of '{candidate}', or nearly, and left out")
            }
            Alike::Whole => format!(
                "'{table}' has the same columns as '{candidate}' and hardly another value in any: it is taken for a part of it and left out"
            ),
            Alike::Part => format!(
                "'{candidate}', which fits the question better, has the same columns as '{table}' and hardly another value in any: that is left out"
            ),
        }
    }
}

impl Candidates {
    /// The candidate that has the same columns and rows of a table, and what it is to the table.
    fn alike(&self, table: &TableKey, known: &KnownJoins) -> Option<(usize, Alike)> {
        let alike: HashMap<&str, Alike> = known.alike(table).collect();
        let mut others = self.candidates.iter().map(|it| &it.columns.table);
        let found =
            others.position(|it| it.lake == table.lake && alike.contains_key(it.name.as_str()))?;
        let name = self.candidates[found].columns.table.name.as_str();
        Some((found, *alike.get(name)?))
    }

    /// Lets a candidate stand for a table, to which it is this, or the table for the candidate
    /// where only that is kept aside.
    fn fold(&mut self, (hit, columns): (Hit, Arc<TableColumns>), into: usize, alike: Alike) {
        let mut folded = Folded {
            into,
            table: hit.table.clone(),
            alike,
            is_aside: is_aside(&hit.table) && !is_aside(&self.candidates[into].columns.table.name),
        };
        let stands = &mut self.candidates[into];
        if is_aside(&stands.columns.table.name) && !is_aside(&hit.table) {
            folded.table = stands.columns.table.name.clone();
            folded.is_aside = true;
            // What it stood for is left out, too, and may be something else to the new one.
            let of_it = self.folded.iter_mut().filter(|it| it.into == into);
            of_it.for_each(|it| it.is_aside = is_aside(&it.table));
            stands.columns = columns;
            self.hits[into] = Some(hit);
        }
        self.folded.push(folded);
    }
}

/// The first tables that have columns, and of each family one. Of copies, and of a table and its
/// parts, that which ranks first takes part, or one that is not kept aside.
fn candidates(
    ranked: Vec<Hit>,
    columns: &HashMap<TableKey, Arc<TableColumns>>,
    known: &KnownJoins,
) -> Candidates {
    let ranked = ranked.into_iter().filter_map(|hit| {
        let columns = columns.get(&hit.key())?;
        Some((hit, Arc::clone(columns)))
    });
    let ranked: Vec<_> = ranked.collect();
    let mut sizes: HashMap<Family, usize> = HashMap::new();
    for (_, columns) in &ranked {
        *sizes.entry(columns.family).or_default() += 1;
    }
    let mut seen: HashMap<Family, usize> = HashMap::new();
    let (mut found, mut all_columns) = (Candidates::default(), 0);
    for (hit, columns) in ranked {
        let size = sizes.get(&columns.family).copied();
        let size = size.filter(|size| *size >= FAMILY);
        let before = seen.entry(columns.family).or_default();
        *before += 1;
        let width = columns.columns.len();
        let count = found.candidates.len();
        let is_full = count >= CANDIDATES || all_columns + width > MOST_COLUMNS;
        if let Some((into, alike)) = found.alike(&columns.table, known) {
            found.fold((hit, columns), into, alike);
            continue;
        }
        if (size.is_some() && *before > 1) || is_full && count > 0 {
            continue;
        }
        all_columns += width;
        found.families.extend(size.map(|size| (count, size)));
        found.candidates.push(Candidate {
            score: hit.score,
            columns,
        });
        found.hits.push(Some(hit));
    }
    found
}
