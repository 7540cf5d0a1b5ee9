//! From a question's ranking to the set of tables that answers it together.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use limn_models::{Embedder, ModelError};
use limn_retrieval::{KnownJoins, own_name};
use limn_segment::TableKey;

use crate::columns::TableColumns;
use crate::disjoint;
use crate::join::{Basis, ColumnOf, Joined};
use crate::likeness::Likeness;
use crate::names::{stems, words};
use crate::optimise::{Instance, Optimum};
use crate::parts::Part;
use crate::plan::Plan;
use crate::vectors::{cosine, embed_questions, prepare};

/// How many tables a set has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetSize {
    /// So many, where there are as many.
    Given(usize),
    /// As many as are worth it.
    Auto,
}

/// Tables that are chosen together, at most: of a larger set the others are those that are worth
/// most by themselves, as ten that join hang together by tables that nobody asked for. And what
/// each next one has to add to a set whose size is not given, chosen with all questions of
/// docs/decisions/050-sets-that-join.md in sight. That relevance, joins and ranks count alike was
/// fitted to half of them.
const MOST: usize = 6;
/// Tables of a set that is asked for, at most.
pub const MOST_TABLES: usize = 20;
const LEAST_GAIN: f64 = 1.35 + AT_HOME;
/// What a table counts more that lies where the first candidate does: of 0, 0.3, 0.6, 1 and 2 the
/// best on spider and bird_schema; 40 questions of adventureworks, which has one folder, are as
/// they were.
const AT_HOME: f64 = 0.3;
/// A join of the join graph from this weight on is as good as lying there: about 0.7 of its score,
/// between tables whose names have nothing in common.
const SURE: f64 = 0.5;
/// What it adds that a part of the question is what a table is called: the best of 0, 0.3 and 0.5.
const NAMED: f64 = 0.3;
/// The candidate that ranks first.
const FIRST: usize = 0;
/// How often a set is chosen anew because two of its joins leave no row together.
const RETRIES: usize = 2;
/// How long the best set of a size is searched.
const SEARCHED: Duration = Duration::from_millis(50);

/// A table that may be in the set.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its score among the question's candidates.
    pub score: f32,
    /// Its columns.
    pub columns: Arc<TableColumns>,
}

/// The tables that answer a question together.
#[derive(Clone, Debug, Default)]
pub struct TableSet {
    /// The candidates by number: first those that join, in the order of the plan, then those that
    /// nothing connects.
    pub chosen: Vec<usize>,
    /// How they join.
    pub plan: Plan,
    /// How much better another set of this size may be, as a share of this one's worth; 0 where
    /// none is.
    pub gap: f64,
}

/// Finds sets; keeps joins between questions. Shared by any number of threads.
pub struct Sets {
    embedder: Arc<dyn Embedder>,
    likeness: Likeness,
}

impl std::fmt::Debug for Sets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sets").finish_non_exhaustive()
    }
}

impl Sets {
    /// Finds sets by what the index holds of the columns.
    #[must_use]
    pub fn new(embedder: Arc<dyn Embedder>) -> Sets {
        let likeness = Likeness::new(Arc::clone(&embedder));
        Sets { embedder, likeness }
    }

    /// The best set among candidates, best first, for a question's parts, by the joins that are
    /// known and by likeness.
    ///
    /// # Errors
    /// Where the embedder fails.
    pub fn find(
        &self,
        candidates: &[Candidate],
        parts: &[Part],
        size: SetSize,
        known: &KnownJoins,
    ) -> Result<TableSet, ModelError> {
        let tables: Vec<Arc<TableColumns>> = candidates
            .iter()
            .map(|it| Arc::clone(&it.columns))
            .collect();
        let joins = self.likeness.joins(&tables, known)?;
        let mut instance = Instance::new(scores(candidates, &joins));
        self.add_parts(&mut instance, parts, &tables)?;
        for joined in &joins {
            instance.set_join(joined.first, joined.second, joined.join.weight);
        }
        let Some(mut found) = self::found(&instance, size, &joins, &tables) else {
            return Ok(TableSet::default());
        };
        // Joins that leave no row together are none.
        let mut left_out = Vec::new();
        for _ in 0..RETRIES {
            let Some(empty) = disjoint::weaker(&found.plan.joins, &tables) else {
                break;
            };
            let place = |of: &ColumnOf| tables.iter().position(|it| of.is_of(&it.table));
            if let Some((a, b)) = place(&empty.left).zip(place(&empty.right)) {
                instance.set_join(a, b, 0.0);
            }
            left_out.push(disjoint::warning(empty));
            found = self::found(&instance, size, &joins, &tables).unwrap_or_default();
        }
        let plan = &mut found.plan;
        let doubts = plan.joins.iter().filter_map(|join| join.doubt(known));
        let rows = plan.joins.iter().flat_map(|join| join.left_out(&tables));
        let kinds = plan.joins.iter().filter_map(|it| it.of_all_kinds(&tables));
        let warnings: Vec<String> = doubts.chain(kinds).chain(rows).chain(left_out).collect();
        plan.warnings.extend(warnings);
        Ok(found)
    }

    /// How well each column of tables matches texts, such as a question's parts: by table, column
    /// and text, 0 to 1.
    ///
    /// # Errors
    /// Where the embedder fails.
    pub fn relevance(
        &self,
        tables: &[Arc<TableColumns>],
        texts: &[&str],
    ) -> Result<Vec<Vec<Vec<f64>>>, ModelError> {
        let embedder = self.embedder.as_ref();
        prepare(embedder, tables)?;
        // As below, these are not kept.
        let texts = embed_questions(embedder, texts)?;
        let of = |column: &Vec<f32>| texts.iter().map(|text| cosine(text, column)).collect();
        let of_table = |table: &Arc<TableColumns>| {
            let columns = table.vectors.get().into_iter().flat_map(|it| &it.texts);
            columns.map(of).collect()
        };
        Ok(tables.iter().map(of_table).collect())
    }

    /// The embedder of the vectors.
    #[must_use]
    pub fn embedder(&self) -> &Arc<dyn Embedder> {
        &self.embedder
    }

    /// Adds how well the best column of each table matches each part.
    fn add_parts(
        &self,
        instance: &mut Instance,
        parts: &[Part],
        tables: &[Arc<TableColumns>],
    ) -> Result<(), ModelError> {
        let embedder = self.embedder.as_ref();
        prepare(embedder, tables)?;
        let own = tables
            .iter()
            .map(|table| stems(&words(own_name(&table.table.name))));
        let own: Vec<Vec<String>> = own.collect();
        let texts: Vec<String> = parts.iter().map(Part::to_string).collect();
        // These are not kept: how soon an answer comes says nothing of what others have asked.
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for (part, vector) in parts.iter().zip(embed_questions(embedder, &texts)?) {
            let named = stems(part.concept.as_ref().unwrap_or(&part.attribute));
            instance.add_part(tables.iter().zip(&own).map(|(table, own)| {
                let columns = table.vectors.get().into_iter().flat_map(|it| &it.texts);
                let best = columns.fold(0.0_f64, |best, it| best.max(cosine(&vector, it)));
                best + if *own == named { NAMED } else { 0.0 }
            }));
        }
        Ok(())
    }
}

/// The candidates' shares of scores, and what those count more that lie where the first one does:
/// the tables that a question needs together are mostly of one database. Not each folder is one:
/// what surely joins the first table counts as lying there.
fn scores(candidates: &[Candidate], joins: &[Joined]) -> Vec<f64> {
    let first = candidates.first().map(|it| home(&it.columns.table));
    let joined = joins
        .iter()
        .filter(|it| it.first == FIRST && it.join.basis == Basis::Graph && it.join.weight >= SURE);
    let joined: HashSet<usize> = joined.map(|it| it.second).collect();
    let shared = shares(candidates).into_iter().zip(candidates).enumerate();
    let score = |(at, (share, it)): (usize, (f64, &Candidate))| {
        let is_near = joined.contains(&at) || Some(home(&it.columns.table)) == first;
        share + if is_near { AT_HOME } else { 0.0 }
    };
    shared.map(score).collect()
}

/// The database of a table, as its name says it: its folder, and of `shop__orders` what is before
/// the last `__`.
fn home(table: &TableKey) -> (&str, &str) {
    let own = own_name(&table.name);
    (&table.lake, &table.name[..table.name.len() - own.len()])
}

/// The candidates' scores, from 0 for the least, or half of the best, to 1 for the best of them.
fn shares(candidates: &[Candidate]) -> Vec<f64> {
    let scores = || candidates.iter().map(|it| f64::from(it.score));
    let high = scores().fold(f64::NEG_INFINITY, f64::max);
    // The least of a handful may be as good as the best.
    let low = scores().fold(high / 2.0, f64::min);
    let share = |score: f64| match high > low {
        true => (score - low) / (high - low),
        false => 1.0,
    };
    scores().map(share).collect()
}

/// The best set with its plan, as yet without doubts.
fn found(
    instance: &Instance,
    size: SetSize,
    joins: &[Joined],
    tables: &[Arc<TableColumns>],
) -> Option<TableSet> {
    let best = best(instance, size)?;
    let (best, others) = with_first(instance, best, size);
    let (joined, others) = connected(instance, best.chosen, others);
    let (mut chosen, tree) = in_order(instance, joined);
    let connected: Vec<&TableKey> = chosen.iter().map(|at| &tables[*at].table).collect();
    let join_of = |(a, b): &(usize, usize)| {
        let pair = ((*a).min(*b), (*a).max(*b));
        let found = joins.iter().find(|it| (it.first, it.second) == pair)?;
        let earlier = chosen.iter().position(|at| at == a)?;
        Some((earlier, Arc::clone(&found.join)))
    };
    let mut plan = Plan::new(&connected, tree.iter().filter_map(join_of).collect());
    let names = others.iter().map(|at| tables[*at].table.name.clone());
    plan.disconnected = names.collect();
    chosen.extend(others);
    Some(TableSet {
        chosen,
        plan,
        gap: match best.value > 0.0 {
            true => best.gap / best.value,
            false => 0.0,
        },
    })
}

/// The best connected set: as large as is wanted, as far as so many are connected, [`MOST`] at
/// most.
fn best(instance: &Instance, size: SetSize) -> Option<Optimum> {
    let best = |k| instance.best(k, Some(Instant::now() + SEARCHED));
    match size {
        SetSize::Given(k) => (1..=k.min(MOST).min(instance.len())).rev().find_map(best),
        SetSize::Auto => {
            let mut found = best(1)?;
            // One that adds little may lead to one that adds much.
            let worth = |next: &Optimum, before: &Optimum| {
                let steps = next.chosen.len() - before.chosen.len();
                next.value - before.value >= LEAST_GAIN * steps as f64
            };
            let most = MOST.min(instance.len());
            while let k = found.chosen.len()
                && let Some(next) = (k + 1..=most.min(k + 2))
                    .find_map(|k| best(k).filter(|next| worth(next, &found)))
            {
                found = next;
            }
            Some(found)
        }
    }
}

/// A set with others beside it, of which one is the first candidate where the set is without it:
/// what fits a question best is an answer to it, whether or not something joins it.
fn with_first(instance: &Instance, best: Optimum, size: SetSize) -> (Optimum, Vec<usize>) {
    if best.chosen.contains(&FIRST) {
        let others = apart(instance, &best.chosen, size);
        return (best, others);
    }
    let fewer = |k: usize| {
        let smaller = (1..k).rev();
        smaller
            .take(MOST)
            .find_map(|k| instance.best(k, Some(Instant::now() + SEARCHED)))
    };
    let best = match size {
        SetSize::Given(1) => {
            let chosen = vec![FIRST];
            return (Optimum { chosen, ..best }, Vec::new());
        }
        SetSize::Given(k) if best.chosen.len() >= k => fewer(k).unwrap_or(best),
        SetSize::Given(_) | SetSize::Auto => best,
    };
    let mut others = apart(instance, &best.chosen, size);
    if !best.chosen.contains(&FIRST) && !others.contains(&FIRST) {
        others.insert(0, FIRST);
        if let SetSize::Given(k) = size {
            others.truncate(k.saturating_sub(best.chosen.len()));
        }
    }
    (best, others)
}

/// A connected set with those of some others that something connects to it, and the rest of them.
fn connected(
    instance: &Instance,
    mut set: Vec<usize>,
    mut others: Vec<usize>,
) -> (Vec<usize>, Vec<usize>) {
    let joins = |set: &[usize], at: usize| set.iter().any(|it| instance.join(*it, at) > 0.0);
    while let Some(next) = others.iter().position(|at| joins(&set, *at)) {
        set.push(others.remove(next));
    }
    (set, others)
}

/// A connected set from the one that ranks first on, and the joins that connect each next one.
fn in_order(instance: &Instance, mut set: Vec<usize>) -> (Vec<usize>, Vec<(usize, usize)>) {
    // Candidates are numbered by rank.
    set.sort_unstable();
    let tree = instance.tree(&set).unwrap_or_default();
    let first = set.first().copied();
    let order = first
        .into_iter()
        .chain(tree.iter().map(|(_, joined)| *joined));
    (order.collect(), tree)
}

/// Tables beside a set that are wanted all the same: each next one adds most by itself. Where the
/// size is not given, those are some that nothing connects.
fn apart(instance: &Instance, set: &[usize], size: SetSize) -> Vec<usize> {
    let most = match size {
        SetSize::Given(k) => k.min(instance.len()),
        SetSize::Auto => MOST.min(instance.len()),
    };
    let mut all = set.to_vec();
    while all.len() < most {
        let before = instance.value_apart(&all);
        let others = (0..instance.len()).filter(|at| !all.contains(at));
        let added = others.map(|at| {
            let with: Vec<usize> = all.iter().copied().chain([at]).collect();
            (instance.value_apart(&with) - before, at)
        });
        let best = added.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let Some((gain, at)) = best else { break };
        let joins = set.iter().any(|it| instance.join(*it, at) > 0.0);
        if size == SetSize::Auto && (joins || gain < LEAST_GAIN) {
            break;
        }
        all.push(at);
    }
    all.split_off(set.len())
}

#[cfg(test)]
mod tests;
